"""What changes tensors: assignments, and the order in which they happen."""
