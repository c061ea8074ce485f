"""Slices by index: rows of tensors that are read and changed at computed positions."""
