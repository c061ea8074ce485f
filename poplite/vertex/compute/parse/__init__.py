"""From the text of `compute` to a syntax tree that is checked."""
