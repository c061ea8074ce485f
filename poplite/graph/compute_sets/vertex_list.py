"""The vertices of a compute set: single ones, and blocks of many, as one list.

parts        [v0, v1]   <VertexBlock of 1,000,000>   [v1000002]
vertices[1]  v1         vertices[5]  made by the block when asked
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain
from operator import index as whole_number
from typing import TYPE_CHECKING, overload

from poplite.errors import TensorIndexError
from poplite.source import here
from poplite.text import counted

if TYPE_CHECKING:
    from poplite.graph.compute_sets.compute_set import VertexInstance
    from poplite.graph.compute_sets.vertex_block import VertexBlock


class VertexList(Sequence["VertexInstance"]):
    """The vertices of a compute set: single ones, and blocks of many.

    Attributes:
        parts: lists of single vertices, and blocks, in the order they were added.
    """

    __slots__ = ("_ends", "parts")
    __hash__ = None  # type: ignore[assignment]  # like a list

    def __init__(self) -> None:
        self.parts: list[list[VertexInstance] | VertexBlock] = []
        self._ends: list[int] = []

    def append(self, vertex: VertexInstance) -> None:
        """Add a single vertex."""
        if self.parts and isinstance(self.parts[-1], list):
            self.parts[-1].append(vertex)
            self._ends[-1] += 1
        else:
            self.parts.append([vertex])
            self._ends.append(len(self) + 1)

    def append_block(self, block: VertexBlock) -> None:
        """Add the vertices of a block."""
        self.parts.append(block)
        self._ends.append(len(self) + len(block))

    def singles(self) -> Iterator[VertexInstance]:
        """Yield the vertices that were added one by one."""
        return chain.from_iterable(part for part in self.parts if isinstance(part, list))

    def blocks(self) -> Iterator[VertexBlock]:
        """Yield the blocks."""
        return (part for part in self.parts if not isinstance(part, list))

    def items(self) -> Iterator[VertexInstance | VertexBlock]:
        """Yield single vertices, and blocks as wholes: few, however many vertices there are."""
        for part in self.parts:
            if isinstance(part, list):
                yield from part
            else:
                yield part

    def tiles(self) -> set[int]:
        """Return the tiles that vertices run on."""
        found = {vertex.tile for vertex in self.singles() if vertex.tile is not None}
        return found.union(*(block.tiles.used().tolist() for block in self.blocks()))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, key: int) -> VertexInstance: ...
    @overload
    def __getitem__(self, key: slice) -> list[VertexInstance]: ...

    def __getitem__(self, key: int | slice) -> VertexInstance | list[VertexInstance]:
        if isinstance(key, slice):
            return [self[k] for k in range(len(self))[key]]
        number = vertex_number(key, len(self))
        part = bisect_right(self._ends, number)
        return self.parts[part][number - (self._ends[part - 1] if part else 0)]

    def __iter__(self) -> Iterator[VertexInstance]:
        return chain.from_iterable(self.parts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, VertexList | list | tuple):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __repr__(self) -> str:
        return f"<VertexList {counted(len(self), 'vertex', 'vertices')}>"


def vertex_number(key: int, count: int) -> int:
    """Return the number of a vertex, counted from the end where it is negative.

    Args:
        key: what the user gave.
        count: vertices there are.

    Raises:
        TensorIndexError: when there is no such vertex.

    >>> vertex_number(-1, 4)
    3
    """
    number = whole_number(key)
    if not -count <= number < count:
        raise TensorIndexError(
            f"vertex {number:,} of {count:,}",
            at=here(),
            fix=f"use a number from {-count} to {count - 1}" if count else "add vertices first",
        )
    return number % count
