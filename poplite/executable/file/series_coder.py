"""Writes and reads numbers as `poplite.arrays.series` keeps them.

    Steps(5, ((3, 1),))     [5, 3, 1]
    Listed(5, offset)       [5, ["uint32", 0, [3]]]

Costs of ten thousand steps have a hundred thousand of these, so they are short.
"""

from __future__ import annotations

from itertools import chain
from operator import index as whole_number
from typing import Any

import numpy as np

from poplite.arrays.series import Listed, Steps
from poplite.executable.file.archive import Malformed, told
from poplite.executable.file.coders import WHOLE, ArrayCoder, Coder, Json, Reader, Writer


class SeriesCoder(Coder):
    """Series of numbers, of either kind."""

    name = "series"

    def __init__(self) -> None:
        self.offset = ArrayCoder(np.integer)

    def fits(self, value: Any) -> bool:
        """Tell whether a value is one of these."""
        return isinstance(value, Steps | Listed)

    def encode(self, value: Any, to: Writer) -> Json:
        """Return a value as JSON."""
        if isinstance(value, Listed):
            return [whole_number(value.base), self.offset.encode(value.offset, to)]
        return [*map(whole_number, chain((value.first,), *value.digits))]

    def decode(self, data: Json, of: Reader) -> Any:
        """Return the value of JSON."""
        match data:
            case [int(base), list(offset)] if _is_whole(base):
                return Listed(base, self.offset.decode(offset, of))
            case [first, *rest] if len(rest) % 2 == 0 and all(map(_is_whole, data)):
                return Steps(first, tuple(zip(rest[::2], rest[1::2], strict=True)))
        raise Malformed(f"{told(data)} is no series")


def _is_whole(data: Json) -> bool:
    return type(data) is int and data in WHOLE
