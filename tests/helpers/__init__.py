"""What several test modules share; `pythonpath` of pyproject.toml makes it importable."""
