"""Compute sets: vertices, their edges, and what is known of their cost."""
