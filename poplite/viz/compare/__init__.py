"""Pictures of what changed between two reports."""
