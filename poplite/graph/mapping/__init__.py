"""The tile of each address."""
