"""Strict checks for reads of unwritten elements, outputs left unwritten, and races."""
