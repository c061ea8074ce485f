"""Sorting, the largest elements, running sums and products."""
