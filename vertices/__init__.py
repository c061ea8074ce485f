"""The vertex library: one file per family, each class beside its NumPy reference."""

if __name__ == "vertices":  # from a checkout: a second copy of its classes
    raise ImportError("vertices is a part of poplite: import poplite.vertices")

from poplite.vertices.counting import CountFrom, CountOn, count_reference
from poplite.vertices.elementwise import Add, add_reference

__all__ = ["Add", "CountFrom", "CountOn", "add_reference", "count_reference"]


def __dir__() -> list[str]:
    return __all__
