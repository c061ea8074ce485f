"""Host services for a running program: streams, buffers, tensors, prints."""
