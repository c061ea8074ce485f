"""What lies on tiles, when, and at which addresses."""
