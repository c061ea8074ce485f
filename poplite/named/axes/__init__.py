"""Axes: what the dimensions of named tensors are."""
