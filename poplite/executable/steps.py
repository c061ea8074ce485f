"""The steps of an executable, without addresses: launches of drivers, actions of Python.

A compute set becomes up to six launches, which run in this order::

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

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy.typing as npt  # noqa: TC002 - files are read by it

from poplite.arrays.intervals import Int64
from poplite.executable.encoding import (
    Columns,
    Forms,
    Moves,
    bound_rows,
    forms_of,
)
from poplite.frozen import frozen
from poplite.graph.compute_sets.vertex_block import VertexTiles
from poplite.program import PrintTensorFormat
from poplite.source import SourceLocation
from poplite.types import ElementType
from poplite.vertex.vertex import Vertex, vertex_label


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
        save: copies of the elements that vertices write in place; empty if no vertex may fault.
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
