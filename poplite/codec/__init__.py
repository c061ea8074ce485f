"""The codec of all saved files: dataclasses as JSON with arrays."""
