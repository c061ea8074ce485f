"""The kind of every number in `compute`."""
