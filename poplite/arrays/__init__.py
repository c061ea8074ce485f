"""Millions of integers as arrays: intervals, digits and series."""
