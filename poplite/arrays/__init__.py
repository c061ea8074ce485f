"""Millions of integers as arrays: intervals, digits, series."""
