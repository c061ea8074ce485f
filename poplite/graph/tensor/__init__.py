"""Tensors: views of variables, and what they tell."""
