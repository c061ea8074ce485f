"""Contiguous runs of addresses that a view reads: counted, listed, in parts."""
