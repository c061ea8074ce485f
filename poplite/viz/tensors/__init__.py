"""Tensors: the tile of each element, and the intervals of variables that views consist of."""
