"""The layout of the arena, one block of bytes with all data of an engine.

Variables come first, each contiguous and aligned, so that a field can point directly to its
elements on any tile; then blocks that the host reads and writes; then the values of vertex state;
then temporaries, which every compute set reuses::

    | variable | variable | ... | block | ... | state | ... | temporaries of the running step |

Only this module converts element addresses (of views) to byte positions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Series
from poplite.errors import SizeOverflowError
from poplite.frozen import frozen
from poplite.graph.space import COMMON
from poplite.report.per_tile import MOST_PIECES as MOST_PIECES
from poplite.source import SourceLocation
from poplite.types import ElementType
from poplite.view import Storage

ALIGNMENT = 64
"""Alignment of variables, state and the block of temporaries in bytes: a cache line."""

MAX_BYTES = 1 << 62
"""Maximum size of an arena in bytes, for computation of positions in 64-bit integers."""


@frozen(eq=False)
class ElementTiles:
    """The tiles of a variable's elements, in pieces that are each on one tile.

    Attributes:
        first: the first element of each piece, ascending from 0.
        tile: the tile of each piece, -1 for none.
    """

    first: Series
    tile: Series


@dataclass(slots=True, eq=False)  # there are many, and frozen ones take twice as long to make
class StoredVariable:
    """A variable without its graph.

    Attributes:
        base: address of its first element in the graph.
        constant: whether programs may only read it.
        initial_value: its contents when a program is loaded; None for zeros.
        replica_values: initial values of the replicas whose values differ, by replica number.
        with_value: which elements have an initial value, as bits from `np.packbits`, by replica or
            `COMMON`; all elements if there is no entry.
        pieces: the tiles of its elements; None if it has no elements or more than `MOST_PIECES`
            pieces, and in files that were written without tiles.
    """

    name: str
    element_type: type[ElementType[Any]]
    shape: tuple[int, ...]
    base: int
    num_elements: int
    constant: bool
    location: SourceLocation
    initial_value: npt.NDArray[Any] | None
    replica_values: Mapping[int, npt.NDArray[Any]]
    pieces: ElementTiles | None = None
    with_value: Mapping[int, npt.NDArray[Any]] | None = None

    @property
    def size_bytes(self) -> int:
        """Size of all elements in bytes."""
        return self.num_elements * self.element_type.size_bytes


@dataclass(slots=True, eq=False)
class ArenaLayout:
    """Byte positions of variables, state and temporaries in the address space.

    Attributes:
        variables: the variables, in ascending order of element address.
        replicas: number of copies of the graph, each with its own memory.
        block_bytes: size of the blocks that the host reads and writes, in bytes.
        state: values of vertex state, as consecutive arrays.
    """

    variables: tuple[StoredVariable, ...]
    replicas: int = 1
    block_bytes: int = 0
    state: list[npt.NDArray[Any]] = field(default_factory=list)
    temporary_bytes: int = 0
    _bases: Int64 = field(init=False)
    _element_bytes: Int64 = field(init=False)
    _offsets: Int64 = field(init=False)
    _initialised: list[int] = field(init=False)
    _end: int = field(init=False)

    def __post_init__(self) -> None:
        widths = [v.element_type.size_bytes for v in self.variables]
        sizes = [v.num_elements * width for v, width in zip(self.variables, widths, strict=True)]
        total = sum(sizes) + ALIGNMENT * len(sizes)
        if total > MAX_BYTES:
            largest = max(self.variables, key=lambda v: v.size_bytes)
            raise SizeOverflowError(
                f"the graph's variables take {total:,} B, but at most {MAX_BYTES:,} B can be "
                "addressed",
                at=largest.location,
                found=f"the largest is '{largest.name}' with {largest.num_elements:,} elements",
                fix="make it smaller",
            )
        self._bases = np.array([v.base for v in self.variables], np.int64)
        self._element_bytes = np.array(widths, np.int64)
        offsets = np.zeros(len(sizes) + 1, np.int64)
        np.cumsum(_aligned(np.array(sizes, np.int64)), out=offsets[1:])
        self._offsets = offsets[:-1]
        self._initialised = [
            number
            for number, v in enumerate(self.variables)
            if v.initial_value is not None or v.replica_values
        ]
        state_bytes = sum(_aligned(values.nbytes) for values in self.state)
        self._end = int(offsets[-1]) + self.block_bytes + state_bytes

    @property
    def temporary_base(self) -> int:
        """First byte of the temporaries; final once all state is placed."""
        return self._end

    @property
    def size_bytes(self) -> int:
        """Size of the arena of one replica in bytes; a multiple of the alignment."""
        return self._end + self.temporary_bytes

    def initial_values(self, replica: int) -> Iterator[tuple[int, npt.NDArray[Any]]]:
        """Yield first byte and values of a replica's initial memory, except for zeros."""
        for number in self._initialised:
            variable = self.variables[number]
            values = variable.replica_values.get(replica, variable.initial_value)
            if values is not None:
                yield int(self._offsets[number]), np.ascontiguousarray(values)
        at = self._end - sum(_aligned(values.nbytes) for values in self.state)
        for values in self.state:
            yield at, values
            at += _aligned(values.nbytes)

    def with_values(self, replica: int) -> Iterator[tuple[int, npt.NDArray[np.uint8]]]:
        """Yield first byte and a mask of bytes with a value (1) of partly initialized variables."""
        for number in self._initialised:
            variable = self.variables[number]
            of = replica if replica in variable.replica_values else COMMON
            if (packed := (variable.with_value or {}).get(of)) is not None:
                has = np.unpackbits(packed, count=variable.num_elements)
                yield int(self._offsets[number]), has.repeat(variable.element_type.size_bytes)

    def constants(self, replica: int) -> Iterator[tuple[int, npt.NDArray[Any]]]:
        """Yield first byte and values of the constants of a replica."""
        for number in self._initialised:
            variable = self.variables[number]
            values = variable.replica_values.get(replica, variable.initial_value)
            if variable.constant and values is not None:
                yield int(self._offsets[number]), np.ascontiguousarray(values)

    def end_of_variables(self, count: int) -> int:
        """Return the byte after the first `count` variables."""
        if not count:
            return 0
        return int(self._offsets[count - 1]) + int(_aligned(self.variables[count - 1].size_bytes))

    def byte_positions(self, addresses: Int64) -> Int64:
        """Return the byte position of each element address."""
        if not len(addresses):
            return addresses
        variable: Any = self._one_variable(int(addresses.min()), int(addresses.max()))
        if variable is None:
            variable = np.searchsorted(self._bases, addresses, side="right") - 1
        within = (addresses - self._bases[variable]) * self._element_bytes[variable]
        return np.asarray(self._offsets[variable] + within)

    def byte_position(self, address: int) -> int:
        """Return the byte position of one element address."""
        variable = int(self._bases.searchsorted(address, "right")) - 1
        within = (address - int(self._bases[variable])) * int(self._element_bytes[variable])
        return int(self._offsets[variable]) + within

    def shift(self, low: int, high: int) -> int | None:
        """Return the positions of elements minus their addresses, in elements.

        Returns None if the range, which includes `high`, is in several variables.
        """
        variable = self._one_variable(low, high)
        if variable is None:
            return None
        offset = int(self._offsets[variable]) // int(self._element_bytes[variable])
        return offset - int(self._bases[variable])

    def _one_variable(self, low: int, high: int) -> int | None:
        """Return the number of the variable that contains a whole range, or None."""
        first, last = np.searchsorted(self._bases, [low, high], side="right").tolist()
        return first - 1 if first == last else None

    def holds(self, storage: Storage) -> bool:
        """Return whether a storage belongs to one of the variables."""
        position = int(self._bases.searchsorted(storage.base))
        return position < len(self._bases) and int(self._bases[position]) == storage.base

    @property
    def blocks(self) -> slice:
        """The bytes of all blocks that the host reads and writes."""
        end = self._end - sum(_aligned(values.nbytes) for values in self.state)
        return slice(end - self.block_bytes, end)

    def reserve_block(self, size_bytes: int) -> int:
        """Reserve a block for the host, before any state, and return its first byte."""
        at = self._end
        self._end += _aligned(size_bytes)
        self.block_bytes += _aligned(size_bytes)
        return at

    def variable_at(self, position: int) -> tuple[StoredVariable, int]:
        """Return the variable of a byte, and the position of the byte's element in it."""
        number = int(np.searchsorted(self._offsets, position, side="right")) - 1
        within = (position - int(self._offsets[number])) // int(self._element_bytes[number])
        return self.variables[number], within

    def owners(self, positions: Int64) -> Int64:
        """Return the numbers of the variables that bytes belong to; -1 after all variables."""
        if not self.variables:
            return np.full(len(positions), -1)
        owner = np.searchsorted(self._offsets, positions, side="right") - 1
        end = self.end_of_variables(len(self.variables))
        return np.where(positions < end, owner, -1)

    def place_state(self, values: npt.NDArray[Any]) -> int:
        """Reserve room for state values, and return its first byte."""
        at = self._end
        self.state.append(values)
        self._end += _aligned(values.nbytes)
        return at

    def state_at(self, places: Int64, dtype: npt.DTypeLike) -> Int64:
        """Return values of state at positions, which are in elements of the type.

        For positions out of range, which only a file can contain, values are arbitrary.
        """
        begin = self._end - sum(_aligned(values.nbytes) for values in self.state)
        held = np.zeros(self._end - begin, np.uint8)
        at = 0
        for values in self.state:
            held[at : at + values.nbytes] = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
            at += _aligned(values.nbytes)
        numbers = held.view(dtype)
        within = np.clip(places - begin // numbers.itemsize, 0, max(len(numbers) - 1, 0))
        return np.asarray(numbers[within], np.int64)

    def reserve_temporaries(self, size_bytes: int) -> None:
        """Make sure that there are at least `size_bytes` bytes of temporaries."""
        self.temporary_bytes = max(self.temporary_bytes, _aligned(size_bytes))


def _aligned(size: Any) -> Any:
    return (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
