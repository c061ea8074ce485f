"""Strict checks: reads of elements that nothing has written, outputs left unwritten, races."""
