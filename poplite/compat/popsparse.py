"""popsparse: nothing of it is here; each name says what to use instead.

Products of patterns that are known when a graph is built are `poplite.ops.sparse_matmul`.
"""

from typing import TYPE_CHECKING

from poplite.poplar.absent import absent_library_names as _absent_library_names

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:  # for which an unknown name is an error
    __getattr__ = _absent_library_names("popsparse", __all__)
