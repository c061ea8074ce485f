"""The memory of tiles, by category, step and tile.

    always live        code, constants, variables that keep their values
    not always live    shares memory with the data of other steps; counted in the fullest step

>>> used = PerTile.of(np.array([640, 320]))
>>> plan = Memory(used, PerTile.nothing(2), (Held("x", used, "variable", None, ""),), ())
>>> tile = plan.tiles()[0]
>>> tile.total.including_gaps, tile.category.variable.total, tile.always_live_bytes
(640, 640, 640)
>>> tile.variables
(MemoryVariable(name='x', bytes=640, category='variable', is_always_live=True, at=''),)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import pairwise
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.errors import UnknownName, did_you_mean
from poplite.frozen import frozen
from poplite.report.per_tile import LazySequence, PerTile
from poplite.report.validate import MOST_TOTAL, Known, Rule, checked, in_program, is_element_type
from poplite.source import Line
from poplite.text import amount

Steps = tuple[tuple[int, int], ...]
"""First and last step of each range of steps."""

Category = Literal[
    "variable",
    "constant",
    "message",
    "rearrangement",
    "global_message",
    "host_message",
    "vertex_instance_state",
    "vertex_field_data",
    "vector_list_descriptor",
    "control_table",
    "control_code",
    "vertex_code",
    "internal_exchange_code",
    "global_exchange_code",
    "host_exchange_code",
    "stack",
]
"""Categories of memory: elements of tensors; buffers in which a step receives or rearranges data;
vertices; code; stacks.

Source of the terms: PopVision analysis library, "Memory".
"""


def _are_stretches(steps: Steps | None, known: Known) -> bool:
    """Return whether ranges of steps are valid: ascending, each from its first to its last step."""
    before = -1
    for first, last in steps or ():
        if not before < first <= last < known.memory_steps:
            return False
        before = last
    return steps is None or bool(steps)


@frozen
class Held:
    """An item in the memory of some tiles.

    Attributes:
        name: the name of the variable, unique in `Compilation.variables`, or a description of the
            item.
        bytes: its bytes on each tile.
        category: its `Category`; a report of a later version may have further ones.
        steps: the steps in which it is needed; None if it is always live.
        at: the user's line; empty if there is none.
        shape: the shape of a variable or constant; None for other items.
        element_type: the type of its elements, such as "FLOAT"; empty if it has no shape.
        align: its address is a multiple of this number of bytes.
        interleaved: whether it is in interleaved memory.
        why: why a variable is always live; empty if it is not.
    """

    name: str
    bytes: PerTile
    category: str
    steps: Steps | None = field(metadata=checked(_are_stretches))
    at: Line
    shape: tuple[int, ...] | None = field(
        default=None, metadata=checked(lambda shape, _: math.prod(shape or ()) < MOST_TOTAL)
    )
    element_type: str = field(
        default="", metadata=checked(lambda name, known: not name or is_element_type(name, known))
    )
    align: int = field(default=8, metadata=checked(lambda number, _: number > 0))
    interleaved: bool = False
    why: str = ""

    def is_in(self, step: int) -> bool:
        """Return whether it is live in a step, and not always."""
        return any(first <= step <= last for first, last in self.steps or ())


@frozen
class MemoryStep:
    """A step of a program; a step in several places of the program is listed once.

    Attributes:
        program: the name of the program.
        name: the name of the step.
        at: the user's line.
        most: bytes that are live in it but not always, on the tile with the most such bytes.
        tile: the number of that tile.
        number: the number of its first place, counted from 1 over all programs.
        rows: the rows of all its places in the program's code, as in `ExecutionStep.row`.
    """

    program: str = field(metadata=checked(in_program))
    name: str
    at: Line
    most: int
    tile: int = field(metadata=checked(lambda number, known: number < known.tiles))
    number: int = field(
        default=0,
        metadata=checked(lambda number, known: 1 <= number <= sum(known.programs.values())),
    )
    rows: tuple[int, ...] = ()


@frozen
class Memory:
    """The memory of all tiles.

    Attributes:
        including_gaps: bytes that each tile needs, with the gaps between items.
        not_always_live: bytes of each tile that are not always live, in the step that needs the
            most.
        held: all items in memory.
        steps: the steps of all programs, one program after the other.
        addresses: the address of each item of `held` on each tile, counted from the beginning of
            its memory.
    """

    RULES: ClassVar[tuple[Rule, ...]] = (
        (
            "there must be addresses for each item",
            lambda each, _: len(each.addresses) in (0, len(each.held)),
        ),
        (
            "no item may be larger than the memory of the fullest tile",
            lambda each, _: (
                max([one.bytes.most for one in each.held], default=0) <= each.including_gaps.most
            ),
        ),
        (
            "the numbers of steps must ascend",
            lambda each, _: all(a.number < b.number for a, b in pairwise(each.steps)),
        ),
    )

    including_gaps: PerTile
    not_always_live: PerTile
    held: tuple[Held, ...]
    steps: tuple[MemoryStep, ...]
    addresses: Sequence[PerTile] = field(default=(), repr=False)

    @property
    def always_live(self) -> PerTile:
        """Bytes of each tile that are always live."""
        return self._sum(each for each in self.held if each.steps is None)

    @property
    def excluding_gaps(self) -> PerTile:
        """Bytes that each tile needs, without gaps."""
        return PerTile.of(self.always_live.array() + self.not_always_live.array())

    def not_always_live_in(self, step: int) -> PerTile:
        """Return the bytes that each tile needs in a step, besides always-live memory."""
        return self._sum(each for each in self.held if each.is_in(step))

    def categories(self) -> dict[str, PerTile]:
        """Return the bytes of each category by name, without any sharing of memory."""
        kinds = dict.fromkeys(each.category for each in self.held)
        return {kind: self._sum(h for h in self.held if h.category == kind) for kind in kinds}

    def tiles(self) -> Sequence[TileMemory]:
        """Return the memory of each tile."""
        gaps, other = self.including_gaps.array(), self.not_always_live.array()
        always = self.always_live.array()

        def of_tile(tile: int) -> TileMemory:
            sizes = int(always[tile]), int(other[tile])
            total = MemoryTotal(int(gaps[tile]), sum(sizes))
            return TileMemory(total, *sizes, lambda: self.variables(tile))

        return LazySequence(len(gaps), of_tile)

    def variables(self, tile: int) -> tuple[MemoryVariable, ...]:
        """Return the contents of a tile."""
        return _on_tile(self.held, tile)

    def liveness(self) -> Sequence[LivenessStep]:
        """Return the memory that each step needs besides always-live memory."""
        return LazySequence(
            len(self.steps), lambda number: LivenessStep(number, self.steps[number], self.held)
        )

    def num_over(self, limit: int) -> int:
        """Return the number of tiles that need more bytes than a limit."""
        return int((self.including_gaps.array() > limit).sum())

    def _sum(self, some: Iterable[Held]) -> PerTile:
        total: Int64 = np.zeros(len(self.including_gaps), np.int64)
        on_one: dict[int, int] = {}
        for each in some:
            tiles, values = each.bytes.tiles, each.bytes.values
            if tiles.count == 1:
                on_one[tiles.at(0)] = on_one.get(tiles.at(0), 0) + values.at(0)
            else:
                total[tiles.array()] += values.array()
        for tile, size in on_one.items():
            total[tile] += size
        return PerTile.of(total)


@frozen
class Operation:
    """An operation of `poplite.ops`, and the memory of the variables that it created.

    Attributes:
        name: its name, with scopes.
        at: the user's line that recorded it.
        compute_sets: numbers of its compute sets, in `Compilation.compute_sets`.
        result_bytes: bytes of the variables with its results, on all tiles.
        temporary_bytes: bytes of the other variables that it created; they share memory with those
            of steps that run at other times.
    """

    name: str
    at: Line
    compute_sets: tuple[int, ...] = field(
        metadata=checked(
            lambda numbers, known: all(number < known.compute_sets for number in numbers)
        )
    )
    result_bytes: int
    temporary_bytes: int


@frozen
class LivenessStep:
    """Memory that a step of a program needs besides always-live memory.

    Attributes:
        number: the number of the step.
        step: the step.
        held: all items in memory.
    """

    number: int
    step: MemoryStep
    held: tuple[Held, ...] = field(repr=False)

    @property
    def program(self) -> str:
        """The name of the step."""
        return self.step.name

    def not_always_live_memory_for_tile(self, tile: int) -> NotAlwaysLive:
        """Return the memory that a tile needs in the step besides always-live memory."""
        found = _on_tile((each for each in self.held if each.is_in(self.number)), tile)
        return NotAlwaysLive(sum(each.bytes for each in found), found)


class NotAlwaysLive(NamedTuple):
    """Memory that a tile needs in one step besides always-live memory.

    Attributes:
        bytes: the total.
        variables: its contents.
    """

    bytes: int
    variables: tuple[MemoryVariable, ...]


@frozen
class TileMemory:
    """The memory of one tile.

    Attributes:
        total: bytes that it needs.
        always_live_bytes: bytes that are always live.
        not_always_live_bytes: the other bytes, in the step with the most of them.
    """

    total: MemoryTotal
    always_live_bytes: int
    not_always_live_bytes: int
    _variables: Callable[[], tuple[MemoryVariable, ...]] = field(repr=False, compare=False)

    @property
    def variables(self) -> tuple[MemoryVariable, ...]:
        """The contents of the memory."""
        return self._variables()

    @property
    def vertices(self) -> tuple[VertexCode, ...]:
        """The vertex classes whose code is on the tile."""
        code = (each for each in self.variables if each.category == "vertex_code")
        return tuple(VertexCode(each.name, each.bytes) for each in code)

    @property
    def category(self) -> MemoryCategories:
        """Bytes of each category."""
        found: dict[str, list[int]] = {}
        for each in self.variables:
            total = found.setdefault(each.category, [0, 0])
            total[0] += each.bytes
            total[1] += each.bytes if each.is_always_live else 0
        return MemoryCategories({name: MemoryCategory(*total) for name, total in found.items()})


class MemoryVariable(NamedTuple):
    """An item in the memory of a tile.

    Attributes:
        name: the name of the variable, or a description of the item.
        bytes: its bytes on the tile.
        category: its category.
        is_always_live: whether it never shares its memory.
        at: the user's line; empty if there is none.
    """

    name: str
    bytes: int
    category: str
    is_always_live: bool
    at: str


class MemoryTotal(NamedTuple):
    """Bytes of a tile.

    Attributes:
        including_gaps: with the gaps between items.
        excluding_gaps: without them.
    """

    including_gaps: int
    excluding_gaps: int


class MemoryCategory(NamedTuple):
    """The bytes of one category.

    Attributes:
        total: bytes, without any sharing of memory.
        always_live: the bytes that are always live.
    """

    total: int
    always_live: int


@frozen
class MemoryCategories(Mapping[str, MemoryCategory]):
    """The bytes of each category, as attributes and by name."""

    found: Mapping[str, MemoryCategory]

    def __getitem__(self, name: str) -> MemoryCategory:
        return self.found[name]

    def __getattr__(self, name: str) -> MemoryCategory:
        if name.startswith("__"):  # looked up by `copy` and the like
            raise AttributeError(name)
        if name not in self.found:
            raise UnknownName(
                f"memory has no category {name!r}{did_you_mean(name, self.found)}",
                found=f"categories of this report: {', '.join(self.found) or 'none'}",
                fix=f"category.{next(iter(self.found), 'variable')}.total",
            )
        return self.found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)


class VertexCode(NamedTuple):
    """The code of a vertex class on a tile.

    Attributes:
        type: the name of the class.
        code_bytes: bytes of its code, which all its vertices share.
    """

    type: str
    code_bytes: int


def _on_tile(some: Iterable[Held], tile: int) -> tuple[MemoryVariable, ...]:
    sized = ((each, each.bytes[tile]) for each in some)
    return tuple(
        MemoryVariable(each.name, size, each.category, each.steps is None, each.at)
        for each, size in sized
        if size
    )


# -- when tiles need the most memory ---------------------------------------------------------------
# The fullest step of each tile, and its contents by kind.  Memory that several steps share
# counts once, as each tile is considered in its fullest step.
#
#     needed   = always live + live in the fullest step + gaps
#              = the sum of its stack
# One pass over all steps updates the sums of all tiles: items that begin in a step are added, and
# items that have ended are subtracted.  This takes milliseconds for 1,472 tiles and 200 steps.

KINDS = {
    "variable": "variables",
    "constant": "variables",
    "message": "messages",
    "global_message": "messages",
    "host_message": "messages",
    "rearrangement": "rearranged copies",
    "vertex_instance_state": "vertex state and lists",
    "vertex_field_data": "vertex state and lists",
    "vector_list_descriptor": "vertex state and lists",
    "control_table": "vertex state and lists",
    "control_code": "code",
    "vertex_code": "code",
    "internal_exchange_code": "code",
    "global_exchange_code": "code",
    "host_exchange_code": "code",
    "stack": "stacks",
}
"""The kind of each category, by which pictures and tables group items."""

OTHER, GAPS = "other", "gaps"

KIND_NAMES = (*dict.fromkeys(KINDS.values()), OTHER, GAPS)
"""All kinds, in the order in which they are stacked, from the bottom."""

BUFFERS = "messages", "rearranged copies"
"""Kinds that exist only while a step runs."""

UNEVEN = 1.25
"""If a tile has more than this multiple of a variable's average bytes, the advice is to spread it
evenly."""

NO_STEP = -1
"""The fullest step of a tile on which all items are always live."""


def thing_kind(category: str) -> str:
    """Return the kind of a category; an unknown category is "other".

    >>> thing_kind("constant"), thing_kind("new_in_version_9")
    ('variables', 'other')
    """
    return KINDS.get(category, OTHER)


@frozen(eq=False)
class Peaks:
    """The fullest step of every tile.

    Attributes:
        memory: the memory of all tiles.
        step: int64[tiles], the first step that needs the most, as a position in `memory.steps`;
            `NO_STEP` if all items are always live.
    """

    memory: Memory
    step: Int64

    def bytes_of(self, held: Held) -> Int64:
        """Return int64[tiles]: the bytes of an item on each tile in its fullest step."""
        found = np.zeros(len(self.step), np.int64)
        tiles, sizes = held.bytes.tiles.array(), held.bytes.values.array()
        if held.steps is not None:
            live = self._is_live(held, tiles)
            tiles, sizes = tiles[live], sizes[live]
        found[tiles] = sizes
        return found

    def kinds(self) -> dict[str, Int64]:
        """Return the bytes of each tile by kind, with gaps, in the order of stacks.

        On each tile their sum is the bytes that it needs.
        """
        found = {name: np.zeros(len(self.step), np.int64) for name in KIND_NAMES}
        for held in self.memory.held:
            found[thing_kind(held.category)] += self.bytes_of(held)
        found[GAPS] = self.memory.including_gaps.array() - sum(found.values())
        return {name: sizes for name, sizes in found.items() if sizes.any()}

    def _is_live(self, held: Held, tiles: Int64) -> npt.NDArray[np.bool_]:
        before = NO_STEP - 1  # an empty first range, so that each step is at or after some begin
        first, last = np.array([(before, before), *(held.steps or ())]).T
        step = self.step[tiles]
        is_live: npt.NDArray[np.bool_] = step <= last[np.searchsorted(first, step, "right") - 1]
        return is_live


def peaks_of(memory: Memory) -> Peaks:
    """Return the fullest step of every tile.

    >>> x = Held("x", PerTile.of(np.array([64, 0])), "variable", None, "")
    >>> m = Held("m", PerTile.of(np.array([0, 16])), "message", ((1, 1),), "")
    >>> steps = tuple(MemoryStep("main", name, "", 0, 0) for name in "ab")
    >>> used = PerTile.of(np.array([64, 16])), PerTile.of(np.array([0, 16]))
    >>> peaks = peaks_of(Memory(*used, (x, m), steps))
    >>> peaks.step.tolist(), {name: size.tolist() for name, size in peaks.kinds().items()}
    ([-1, 1], {'variables': [64, 0], 'messages': [0, 16]})
    """
    tiles = len(memory.including_gaps)
    begin, end = changes(memory.held)
    now, most = np.zeros(tiles, np.int64), np.zeros(tiles, np.int64)
    step = np.full(tiles, NO_STEP)
    for number in sorted(begin.keys() | end.keys()):
        for held in end.get(number, ()):
            now[held.tiles.array()] -= held.values.array()
        for held in begin.get(number, ()):
            now[held.tiles.array()] += held.values.array()
        if number in begin:  # in other steps no tile has more than before
            more = now > most
            step[more] = number
            np.maximum(most, now, out=most)
    return Peaks(memory, step)


def bytes_by_step(memory: Memory, tile: int) -> Int64:
    """Return int64[steps]: the bytes of a tile that are live in each step, but not always."""
    change = np.zeros(len(memory.steps) + 1, np.int64)
    for held, first, last in _stretches(memory.held):
        size = held.bytes[tile]
        change[first] += size
        change[last + 1] -= size
    return np.cumsum(change)[:-1]


def changes(things: Iterable[Held]) -> tuple[dict[int, list[PerTile]], dict[int, list[PerTile]]]:
    """Return the items that begin in each step, and those that ended in the step before."""
    begin: dict[int, list[PerTile]] = {}
    end: dict[int, list[PerTile]] = {}
    for held, first, last in _stretches(things):
        begin.setdefault(first, []).append(held.bytes)
        end.setdefault(last + 1, []).append(held.bytes)
    return begin, end


def _stretches(things: Iterable[Held]) -> Iterator[tuple[Held, int, int]]:
    for held in things:
        for first, last in held.steps or ():
            yield held, first, last


def freed_by_spreading(largest: Held, tile: int, num_tiles: int) -> int:
    """Return the bytes that a tile saves if a variable is spread evenly over all tiles."""
    if largest.category not in ("variable", "constant"):
        return 0
    return max(0, largest.bytes[tile] - -(-largest.bytes.total // num_tiles))


def remedy_for(largest: Held, tile: int, num_tiles: int) -> str:
    """Return advice to make the largest item on a tile smaller."""
    tiles, on = amount(num_tiles, "tile"), largest.bytes.tiles.count
    name, category = f"'{largest.name}'", largest.category
    if thing_kind(category) in BUFFERS:
        return f"make {largest.name} move less data at a time, or to more tiles"
    if category == "stack":
        return "model a tile with more memory: Target(tile_memory_bytes=...)"
    if category == "vertex_code":
        return f"make the code of {name} shorter"
    if not largest.at:
        return "use fewer steps: write loops as Repeat(count, body)"
    if category not in ("variable", "constant"):
        if on < num_tiles:
            return f"spread the vertices {name} over more of the {tiles}"
        return f"add fewer vertices {name}, each with more elements"
    if on < num_tiles:
        return f"spread {name} over more than {on:,} of the {tiles}"
    size, total = largest.bytes[tile], largest.bytes.total
    if size > UNEVEN * total / num_tiles:
        return f'spread {name} evenly with mapping="linear": {size:,} of its {total:,} B are there'
    return f"make {name} smaller, or use more than {tiles}"
