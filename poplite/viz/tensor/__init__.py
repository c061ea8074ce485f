"""The tensor picture."""
