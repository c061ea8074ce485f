"""Pictures of steps: a row each, and all tiles in time."""
