"""Pictures of liveness: what a tile needs, step by step."""
