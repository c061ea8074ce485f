"""Connecting the fields of vertices, and the rules for it."""
