"""Reductions, with their stages."""
