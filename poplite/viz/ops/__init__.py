"""What scopes of names take, as a tree."""
