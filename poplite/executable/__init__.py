"""A compiled program as data: what compiling makes and every device runs."""
