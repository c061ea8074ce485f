"""Compute sets: vertices, their edges and their costs."""
