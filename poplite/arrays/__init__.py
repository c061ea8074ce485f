"""Whole numbers by the million as arrays: intervals, digits, series."""
