"""Pictures of the exchange: who sends, who receives, why, and from where to where."""
