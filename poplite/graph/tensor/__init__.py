"""Tensors: views of variables, and queries about them."""
