"""Strict checks: reads of what nobody wrote, outputs that nobody writes."""
