"""A running program: its memory, its launches, its host."""
