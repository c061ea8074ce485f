"""The regions picture: how operations of tensors map to intervals of variables."""
