"""The picture of one tile: its memory by address, its vertices, its cycles."""
