"""Matrix products, with a plan of how they are cut."""
