"""Compilation of a graph and its programs to an executable: checks, lowering, and ops."""
