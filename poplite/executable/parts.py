"""The parts of an executable: the layout of its arena, its steps, and its actions of Python.

A step has no addresses. A compute set becomes up to six launches, which run in this order::

    gather       copy fields whose elements are not contiguous to temporaries
    save         with strict checks: copy the elements that vertices write in place
    count        if slots depend on data: run drivers that only count them
    vertices     run the drivers
    scatter      copy written temporaries back
    sum slots    if slots depend on data: add up the slots of all vertices

A Copy becomes one launch. The engine turns launches into chunks once it knows the addresses of
the arena and of the compiled drivers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Series
from poplite.errors import SizeOverflowError
from poplite.executable.encoding import Columns, Forms, Moves, bound_rows, forms_of
from poplite.frozen import frozen
from poplite.graph.compute_sets.vertex_block import VertexTiles
from poplite.graph.space import COMMON
from poplite.program import PrintTensorFormat
from poplite.report.per_tile import MOST_PIECES as MOST_PIECES
from poplite.source import SourceLocation
from poplite.types import ElementType
from poplite.vertex.vertex import Vertex, vertex_label
from poplite.view import Storage

# -- steps -----------------------------------------------------------------------------------------


@frozen(eq=False)
class Vertices:
    """Runs of vertices of one class, for one driver.

    Attributes:
        cls: the vertex class.
        columns: the meaning of the words of a row (`poplite.executable.encoding`).
        rows: int64[runs, width], descriptor rows.
        tables: the tables of flat and table columns, by column number; shared with the graph if
            it has the same numbers.
        weights: int64[runs], the work of each run, in elements.
    """

    cls: type[Vertex]
    columns: Columns
    rows: Int64
    tables: Mapping[int, npt.NDArray[Any]]
    weights: Int64

    @property
    def forms(self) -> Forms:
        """The forms of the rows of list fields."""
        return forms_of(self.columns, len(self.cls.fields))

    def words(self) -> Int64:
        """Return the rows in the form that the driver reads; the tables must outlive them."""
        return bound_rows(self.rows, self.columns, self.tables)


@frozen(eq=False)
class ComputeStep:
    """A lowered compute set.

    Attributes:
        gather: copies to temporaries.
        save: copies of the elements that vertices write in place; empty if no vertex may fault, or
            if they only copy rows.
        scatter: copies back from temporaries.
        restore: copies of the saved elements back, after a fault.
        may_fault: whether the elements that vertices write are saved: with strict checks, and if
            a `compute` raises exceptions.
    """

    name: str
    num_vertices: int
    gather: Moves
    save: Moves
    groups: tuple[Vertices, ...]
    scatter: Moves
    restore: Moves
    may_fault: bool


@frozen(eq=False)
class CopyStep:
    """A lowered Copy.

    Attributes:
        replica_map: for each replica, the replica whose memory it writes; None if each replica
            writes its own memory.
    """

    name: str
    moves: Moves
    replica_map: tuple[int, ...] | None = None


def phases_of(step: ComputeStep | CopyStep) -> list[tuple[Moves | Vertices, ...]]:
    """Return the parts that each launch of a step runs, in order; empty for counting."""
    if isinstance(step, CopyStep):
        return [(step.moves,)]
    return [(step.gather,), (step.save,), (), step.groups, (step.scatter,), ()]


def vertex_classes(steps: Iterable[ComputeStep | CopyStep]) -> list[type[Vertex]]:
    """Return the classes of all vertices, each once, in step order."""
    groups = (group for step in steps if isinstance(step, ComputeStep) for group in step.groups)
    return list(dict.fromkeys(group.cls for group in groups))


@frozen(eq=False)
class NamedVertex:
    """The name of a vertex in messages; `index` is its position in the compute set.

    >>> from poplite.source import here
    >>> print(NamedVertex(Vertex, 5, 2, here()))
    vertex 5 of 'Vertex' on tile 2
    """

    vertex_class: type[Vertex]
    index: int
    tile: int
    location: SourceLocation

    def __str__(self) -> str:
        return f"{vertex_label(self.vertex_class, self.index)} on tile {self.tile}"


@frozen(eq=False)
class Origins:
    """Class, tile and line of all vertices of a compute set.

    Attributes:
        locations: the user's lines that added vertices.
        class_of: number of the class of each vertex.
        tile_of: tile of each vertex.
        location_of: number of the line of each vertex.
    """

    classes: tuple[type[Vertex], ...]
    locations: tuple[SourceLocation, ...]
    class_of: VertexTiles
    tile_of: VertexTiles
    location_of: VertexTiles

    def __getitem__(self, number: int) -> NamedVertex:
        return NamedVertex(
            self.classes[self.class_of.at(number)],
            number,
            self.tile_of.at(number),
            self.locations[self.location_of.at(number)],
        )

    def __len__(self) -> int:
        return self.tile_of.count


# -- actions ---------------------------------------------------------------------------------------
# The work of Python during a program. The interpreter returns to Python at a CALLBACK op, which
# names an action. Actions contain no tensors, only the positions of their elements:
#
#     PrintTensor("loss", loss)   ->   Print("loss", HostTensor("loss", FLOAT, (), ...), ...)
# Their data are blocks of bytes in the arena, dense and in row-major order; copies before and after
# an action move tensors to and from these blocks (`poplite.compile.program_parts`).
# `poplite.simulator.run.host_actions` runs actions.


@frozen(eq=False)
class Stream:
    """A stream without its graph.

    Attributes:
        num_elements: number of elements of one block.
        is_broadcast: whether all replicas get the same block.
        buffering_depth: number of blocks that may be filled ahead.
    """

    handle: str
    element_type: type[ElementType[Any]]
    num_elements: int
    to_device: bool
    is_broadcast: bool
    buffering_depth: int
    location: SourceLocation


@frozen(eq=False)
class ArenaBlock:
    """A dense array in the arena that starts at byte `at`."""

    element_type: type[ElementType[Any]]
    num_elements: int
    at: int


@frozen(eq=False)
class Transfer:
    """Fills or reads a block of a stream.

    Attributes:
        program: the name of the Copy in messages.
        metadata: byte position of the tensor's QUARTER metadata, if it has one.
    """

    program: str
    location: SourceLocation
    stream: Stream
    block: ArenaBlock
    metadata: int | None


@frozen(eq=False)
class Remote:
    """A remote buffer without its graph: `repeats` rows of `num_elements` elements."""

    handle: str
    element_type: type[ElementType[Any]]
    num_elements: int
    repeats: int
    location: SourceLocation


@frozen(eq=False)
class RowTransfer:
    """Moves rows of a remote buffer to or from a block, in which they are contiguous.

    Attributes:
        program: the name of the Copy in messages.
        offset: the numbers of the rows; None for row 0.
    """

    program: str
    location: SourceLocation
    buffer: Remote
    to_device: bool
    block: ArenaBlock
    offset: HostTensor | None


@frozen(eq=False)
class HostFunctionCall:
    """Calls a function of the host.

    Attributes:
        program: the name of the Call in messages.
        made_at: the user's line that made the function.
    """

    program: str
    location: SourceLocation
    handle: str
    made_at: SourceLocation
    inputs: tuple[ArenaBlock, ...]
    outputs: tuple[ArenaBlock, ...]


@frozen(eq=False)
class CodeLoad:
    """Loads the code of a function, by its name."""

    function: str


@frozen(eq=False)
class CodeUse:
    """Checks that the code of a function has been loaded.

    Attributes:
        program: the name of the Call in messages.
        made_at: the user's line that made its function buffer.
    """

    program: str
    location: SourceLocation
    function: str
    made_at: SourceLocation


HostAction = Transfer | RowTransfer | HostFunctionCall | CodeLoad | CodeUse


@frozen(eq=False)
class HostTensor:
    """A tensor as the host sees it.

    Attributes:
        moves: copies from its elements in the arena to a block of bytes that starts at 0, in
            row-major order.
        metadata: byte position of its QUARTER metadata, if it has one.
    """

    name: str
    element_type: type[ElementType[Any]]
    shape: tuple[int, ...]
    moves: Moves
    metadata: int | None


@frozen(eq=False)
class Print:
    """Prints a tensor, with its title before the values."""

    title: str
    tensor: HostTensor
    format: PrintTensorFormat


@frozen(eq=False)
class Fail:
    """Ends the run with an error.

    Attributes:
        program: its name in messages.
        message: the text of the error.
        shown: the tensor that the error shows.
        predicate: the condition on which it runs, if there is one.
    """

    program: str
    location: SourceLocation
    message: str
    shown: HostTensor | None
    predicate: HostTensor | None


@frozen(eq=False)
class NoCase:
    """Stops the run, because no case of a Switch matches.

    Attributes:
        switch: its name in messages.
        cases: the values of its cases, for the message.
        was_unreachable: whether the user declared that this cannot happen.
    """

    switch: str
    location: SourceLocation
    control: HostTensor
    cases: str
    was_unreachable: bool


@frozen(eq=False)
class Equal:
    """Stops the run if a tensor is not equal in all replicas.

    Attributes:
        program: its name in messages.
        kind: "truth" or "value" of a scalar that control flow depends on, or "assumption".
    """

    program: str
    location: SourceLocation
    tensor: HostTensor
    kind: Literal["truth", "value", "assumption"]


@frozen(eq=False)
class Undefine:
    """Marks a whole tensor as unwritten for strict checks; memory does not change."""

    tensor: HostTensor


@frozen(eq=False)
class Stamp:
    """Stores the cycle counter in a tensor.

    Attributes:
        program: its name in messages.
        since: an earlier stamp that is subtracted, if there is one.
    """

    program: str
    location: SourceLocation
    tensor: HostTensor
    since: HostTensor | None


Action = Print | NoCase | Fail | Equal | Undefine | Stamp | HostAction


def action_text(action: Action) -> str:
    """Return the name of an action's step in messages."""
    match action:
        case Print(title=title):
            return f"PrintTensor '{title}'"
        case NoCase(switch=switch):
            return switch
        case Undefine(tensor=tensor):
            return f"WriteUndef '{tensor.name}'"
        case CodeLoad(function=function):
            return f"loading '{function}'"
    return action.program


# -- the layout of the arena -----------------------------------------------------------------------
# The arena is one block of bytes with all data of an engine. Variables come first, each contiguous
# and aligned, so that a field can point directly to its elements on any tile; then blocks that the
# host reads and writes; then the values of vertex state; then temporaries, which every compute set
# reuses:
#
#     | variable | variable | ... | block | ... | state | ... | temporaries of the running step |
#
# Only `ArenaLayout` converts element addresses (of views) to byte positions.

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
