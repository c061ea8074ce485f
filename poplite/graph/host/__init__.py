"""Everything in a graph that the host accesses: streams, remote buffers, handles."""
