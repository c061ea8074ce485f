"""A tensor as the host sees it: where its elements lie, without the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from poplite.executable.moves import Moves
from poplite.types import ElementType


@dataclass(frozen=True, slots=True, eq=False)
class HostTensor:
    """A tensor as the host sees it.

    Attributes:
        moves: from its elements in the arena to a block of bytes that begins at 0, in row-major
            order.
        metadata: byte position of its QUARTER metadata, if it has one.
    """

    name: str
    element_type: type[ElementType[Any]]
    shape: tuple[int, ...]
    moves: Moves
    metadata: int | None
