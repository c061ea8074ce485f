"""What moves between tiles, and what that takes."""
