"""Where the edges of a compute set are in the arena, and what is copied for them."""
