"""What Python does for a running program: streams, buffers, tensors, prints."""
