"""gcl: nothing of it is here; each name says what to use instead.

What moves between replicas is `poplite.program.CrossReplicaCopy`.
"""

from typing import TYPE_CHECKING

from poplite.poplar.absent import absent_library_names as _absent_library_names

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:  # for which an unknown name is an error
    __getattr__ = _absent_library_names("gcl", __all__)
