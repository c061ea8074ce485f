"""Dataclasses as JSON and arrays, and back: the one codec of all saved files."""
