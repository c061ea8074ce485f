"""Launches, which are bound to memory, run and counted."""
