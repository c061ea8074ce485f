"""Slices by number: reading and changing rows of tensors by what the program computes."""
