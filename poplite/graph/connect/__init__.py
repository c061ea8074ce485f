"""What may stand behind the fields of vertices, checked and connected."""
