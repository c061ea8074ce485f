"""Compilation of a graph and its programs to an executable: checks, races, lowering, ops."""
