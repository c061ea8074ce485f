"""`poplite-viz`: pictures of graphs from the command line."""

from poplite.tools.viz.main import main

__all__ = ["main"]


def __dir__() -> list[str]:
    return __all__
