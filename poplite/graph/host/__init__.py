"""What a graph has for the host: streams, remote buffers, handles."""
