"""Compiled code that moves bytes: within an arena, and to other ranks."""
