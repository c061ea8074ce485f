"""Convolutions, with plans of how tiles share them."""
