"""Tensors: which tile owns which elements, and of which intervals of variables views consist."""
