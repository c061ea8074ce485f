"""Strict checks: reads of unwritten elements, outputs left unwritten, races."""
