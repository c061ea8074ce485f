"""The codec for all saved files: dataclasses as JSON with arrays."""
