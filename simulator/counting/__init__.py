"""Vertices whose cycles depend on data: their slots are counted while they run."""
