"""Whole numbers by the million as arrays: intervals, progressions, digits."""
