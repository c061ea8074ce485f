"""Sorting, the largest elements, and running sums and products."""
