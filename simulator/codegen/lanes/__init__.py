"""Lanes in compiled code: what they are, operations on them, loads and stores of fields."""
