"""Per-tile numbers, stored in few bytes.

A report of a thousand steps contains tens of thousands of numbers for each tile.  Most are equal
over a range of tiles, and are expanded only on demand.

>>> received = PerTile.of(np.array([0, 64, 64, 0]))
>>> received.total, received.most, received.worst_tile, received[2]
(128, 64, 1, 64)
>>> np.asarray(received)
array([ 0, 64, 64,  0])

The details of each tile or step in a report are created on demand.

>>> squares = LazySequence(1_000_000, lambda number: number * number)
>>> squares[12], len(squares), list(squares[:3])
(144, 1000000, [0, 1, 4])
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property, lru_cache
from typing import Annotated, Any, ClassVar, TypeVar, overload

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.arrays.series import LikeList, Rising, Runs, Series, compact, constant
from poplite.frozen import frozen

BYTES_A_PAIR = 24
"""Numbers per pair in the expanded form: two blocks of tiles, and a number."""

MOST_PIECES = 1 << 20
"""Maximum total number of mapping pieces that an executable stores: those of the first variables,
up to this number."""

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@frozen(eq=False, repr=False)
class PerTile(Sequence[int]):
    """A number for each tile.

    Attributes:
        num_tiles: tiles of the target.
        tiles: the tiles whose number is nonzero, ascending.
        values: their numbers.
    """

    num_tiles: int
    tiles: Series | Runs | Rising
    values: Series

    @classmethod
    def of(cls, dense: Int64) -> PerTile:
        """Return the shortest form of int64[tiles]."""
        tiles = np.flatnonzero(dense)
        return cls(len(dense), compact(tiles), compact(dense[tiles]))

    @classmethod
    def nothing(cls, num_tiles: int) -> PerTile:
        """Return zero on every tile."""
        return _nothing(num_tiles)

    def array(self) -> Int64:
        """Return int64[tiles], read-only."""
        dense = np.zeros(self.num_tiles, np.int64)
        if self.tiles.count == 1:
            dense[self.tiles.at(0)] = self.values.at(0)
        else:
            dense[self.tiles.array()] = self.values.array()
        dense.flags.writeable = False
        return dense

    @property
    def total(self) -> int:
        """The sum over all tiles."""
        return self.values.total()

    @property
    def most(self) -> int:
        """The greatest number; 0 if there are no numbers."""
        return max(0, self.values.high) if self.values.count else 0

    @property
    def mean(self) -> float:
        """The mean over all tiles."""
        return self.total / self.num_tiles

    @property
    def worst_tile(self) -> int | None:
        """The first tile that has the greatest number; None if all are zero."""
        if not self.values.count:
            return None
        return self.tiles.at(int(np.argmax(self.values.array())))

    @property
    def num_used(self) -> int:
        """The number of tiles that have a nonzero number."""
        return self.tiles.count

    def __len__(self) -> int:
        return self.num_tiles

    @overload
    def __getitem__(self, tile: int) -> int: ...
    @overload
    def __getitem__(self, tile: slice) -> list[int]: ...
    def __getitem__(self, tile: int | slice) -> int | list[int]:
        # With Python's IndexError and negative indices, without creating the array.
        numbers = range(self.num_tiles)[tile]
        if isinstance(numbers, range):
            return [self[number] for number in numbers]
        if self.tiles.count == 1:
            return self.values.at(0) if self.tiles.at(0) == numbers else 0
        tiles = self.tiles.array()
        place = int(np.searchsorted(tiles, numbers))
        return self.values.at(place) if place < len(tiles) and tiles[place] == numbers else 0

    def __iter__(self) -> Iterator[int]:
        return iter(self.array().tolist())

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        return np.array(self.array(), dtype)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PerTile) or self.num_tiles != other.num_tiles:
            return False
        return all(map(np.array_equal, self._used(), other._used()))

    def _used(self) -> tuple[Int64, Int64]:
        """Return the tiles whose number is nonzero, and their numbers, as files may list zeros."""
        tiles, values = self.tiles.array(), self.values.array()
        return tiles[values != 0], values[values != 0]

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<PerTile {self.total:,} on {self.num_used:,} of {self.num_tiles:,} tiles>"


@lru_cache(maxsize=64)
def _nothing(num_tiles: int) -> PerTile:
    return PerTile(num_tiles, constant(0, 0), constant(0, 0))


PerPair = Annotated[PerTile, "pair"]
"""A number for each pair of blocks of tiles."""

PerPiece = Annotated[PerTile, "piece"]
"""A number for each piece of a variable."""

TilePerPiece = Annotated[PerTile, "piece or none"]
"""A number for each piece, -1 for no tile."""


class LazySequence(LikeList[T]):
    """Items by number; `make` is called once for each."""

    def __init__(self, length: int, make: Callable[[int], T]) -> None:
        self._length, self._make = length, cache(make)

    def _item(self, key: int) -> T:
        return self._make(range(self._length)[key])

    def __len__(self) -> int:
        return self._length

    def __reduce__(self) -> tuple[object, ...]:
        """Return the items, as `make` cannot be pickled."""
        return _of_items, (tuple(self),)


class LateSequence(Sequence[T_co]):
    """Items that are all created at the first access.

    >>> late = LateSequence(lambda: tuple(range(3)))
    >>> len(late), late[1:]
    (3, (1, 2))
    """

    def __init__(self, make: Callable[[], tuple[T_co, ...]]) -> None:
        self._make = make

    @cached_property
    def _items(self) -> tuple[T_co, ...]:
        return self._make()

    @overload
    def __getitem__(self, index: int) -> T_co: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T_co]: ...
    def __getitem__(self, index: int | slice) -> T_co | Sequence[T_co]:
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._items == tuple(other)

    def __reduce__(self) -> tuple[object, ...]:
        """Return the items, as `make` cannot be pickled."""
        return tuple, (self._items,)

    __hash__: ClassVar[None] = None  # type: ignore[assignment]


def _of_items(items: tuple[T, ...]) -> LazySequence[T]:
    return LazySequence(len(items), items.__getitem__)
