"""What a sweep found, by one or two of its parameters."""
