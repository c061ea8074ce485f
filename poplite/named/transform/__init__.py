"""Computations: items on a graph of tiles, called like functions."""
