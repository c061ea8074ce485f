"""Where data of streams, functions of the host and handles lie in the shared mapping."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from poplite.types import ElementType


@dataclass(frozen=True, slots=True)
class Place:
    """Elements in the shared mapping.

    Attributes:
        offset: first byte.
        is_input: of a stream or a function, whether they go from the host to the device.

    >>> from poplite.types import FLOAT
    >>> Place(0, FLOAT, (4, 6)).size_bytes
    96
    """

    offset: int
    element_type: type[ElementType[Any]]
    shape: tuple[int, ...]
    is_input: bool = False

    @property
    def num_elements(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def size_bytes(self) -> int:
        """Bytes of all elements."""
        return self.num_elements * self.element_type.size_bytes
