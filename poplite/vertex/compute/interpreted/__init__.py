"""`compute` as Python that gives the bits of the compiled form."""
