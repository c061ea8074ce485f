"""Launches: bound to memory, run, counted."""
