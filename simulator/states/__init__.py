"""What an engine holds between runs, as a file."""
