"""The tile map."""
