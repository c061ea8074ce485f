"""`poplite`: exports graphs for real IPUs, tests an SDK, and draws pictures."""

from poplite.tools.command.main import main

__all__ = ["main"]


def __dir__() -> list[str]:
    return __all__
