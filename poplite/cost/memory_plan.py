"""Plan the memory of tiles, and reject programs that do not fit.

contents of tiles  ->  the maximum of live bytes over all steps
                   ->  addresses, for each kind of tiles with equal contents
                   ->  does everything fit?

The bytes of variables come from their mapping, and the steps that need them from
`poplite.cost.liveness`.  The buffers of a step's phases are live while the step runs.
In addition to the elements that it is connected to, a vertex needs memory:

    class Dot(Vertex):                                     bytes of a vertex
        x: Input[Vector[FLOAT]]                            8   pointer and count
        rows: Input[Vector[Vector[FLOAT]]]                 8   pointer and count, and a descriptor:
                                                               pointer and count for each row
        scale: State[FLOAT]                                4
        taps: State[Vector[HALF]]                          8   pointer and count, and the values
        total: Output[FLOAT]                               4   pointer

Fields are in the order of the class, each aligned to its own size, as in C++. A tile has one copy
of the code of a class, and a table with pointers to the state and code of each of its vertices.

Source: Poplar user guide, "Vertex vector types"; PopVision, "Vertex data".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import accumulate, chain, repeat
from math import isqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64, sorted_order
from poplite.arrays.series import Series, Steps, compact, constant
from poplite.cost.liveness import Lifetimes, lifetimes
from poplite.cost.step_cost import PhaseCost, StepCost, add_each_to, add_to, at_tile, few
from poplite.errors import SHOWN_FAULTS, GraphMemoryAllocationError, VertexCompileError
from poplite.graph.compute_sets.compute_set import ComputeSet, Vectors
from poplite.graph.compute_sets.vertex_block import VertexBlock, VertexTiles
from poplite.graph.tile_mapping import ranges
from poplite.jit.build import run_kernel
from poplite.jit.kernels_tiles import ALWAYS, aligned, first_fit
from poplite.machine.target import Target
from poplite.program import Execute, Program, Step, children_first
from poplite.program.control import runs_in_order
from poplite.report.execution import PhaseKind
from poplite.report.memory import (
    NO_STEP,
    Category,
    Held,
    Memory,
    MemoryStep,
    Steps as Stretches,
    changes,
    peaks_of,
    remedy_for,
)
from poplite.report.per_tile import PerTile
from poplite.source import SourceLocation, here
from poplite.text import amount
from poplite.vertex.compute.meaning import meaning_of
from poplite.vertex.fields import Field, VectorLayout, VectorListLayout
from poplite.vertex.vertex import Vertex

if TYPE_CHECKING:
    from poplite.graph.compute_sets.edge_table import EdgeTable
    from poplite.graph.graph import Graph
    from poplite.graph.space import Variable


class VertexBytes:
    """Adds up the bytes of vertices by class.

    Attributes:
        found: int64[tiles], bytes of each category, by class.
        at: the user's line that adds the first vertices of a class.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self.found: dict[type[Vertex], dict[Category, Int64]] = {}
        self.at: dict[type[Vertex], SourceLocation] = {}
        self._entry = int(target.cost("vertex_entry_bytes"))
        self._instance = cache(self._size)

    def add(self, table: EdgeTable) -> Int64:
        """Add the vertices of a compute set; return int64[n], the tiles that run any of them."""
        running = [np.zeros(0, np.int64)]
        for family in table.families:
            cls, tiles, made = family.cls, family.tiles(self._target.tiles), family.vertices
            first = made if isinstance(made, VertexBlock) else made[0]
            self.at.setdefault(cls, first.location)
            running.append(tiles.array() if tiles.count == 1 else tiles.used())
            each = constant(1, tiles.count)
            self._add(cls, "vertex_instance_state", tiles, each, self._instance(cls))
            self._add(cls, "control_table", tiles, each, self._entry)
            for part in family.fields:
                if part.field.depth == 2:
                    size = self._pointer(part.field, of_row=True)
                    self._add(cls, "vector_list_descriptor", tiles, part.edges.rows, size)
            for name, values in family.state.items():
                if isinstance(values, Vectors):
                    size = cls.fields[name].element.size_bytes
                    self._add(cls, "vertex_field_data", tiles, values.length, size)
        return running[-1] if len(running) == 2 else np.unique(np.concatenate(running))

    def _add(
        self, cls: type[Vertex], category: Category, tiles: VertexTiles, numbers: Series, size: int
    ) -> None:
        """Add bytes of vertices, each with a number of items of `size` bytes."""
        found = self.found.setdefault(cls, {})
        if category not in found:
            found[category] = np.zeros(self._target.tiles, np.int64)
        if tiles.count == 1:
            found[category][tiles.at(0)] += numbers.at(0) * size
        else:
            found[category] += by_tile(tiles, numbers) * size

    def _size(self, cls: type[Vertex]) -> int:
        """Return the bytes of a vertex, including the gaps between its fields."""
        end = widest = 0
        for field in cls.fields.values():
            if field.is_edge or field.depth:
                size = self._pointer(field)
                align = min(size, int(self._target.cost("pointer_bytes")))
            else:
                size = align = field.element.size_bytes
            end, widest = aligned(end, align) + size, max(widest, align)
        return aligned(end, max(widest, 1))

    def _pointer(self, field: Field, *, of_row: bool = False) -> int:
        """Return the bytes stored for an edge, a vector, or a row of a list of vectors."""
        pointer, count = (int(self._target.cost(name)) for name in ("pointer_bytes", "count_bytes"))
        if field.depth == 0:
            return pointer
        layout = field.layout.vector
        if isinstance(layout, VectorListLayout):
            delta = int(self._target.cost("delta_bytes"))
            return delta if of_row else pointer + pointer + count
        if field.depth == 2 and not of_row:
            return pointer + count
        if layout is VectorLayout.SPAN:
            return pointer + count
        if layout in (VectorLayout.SHORT_SPAN, VectorLayout.ONE_PTR, VectorLayout.COMPACT_PTR):
            return pointer
        return int(self._target.cost("scaled_pointer_bytes"))


def by_tile(tiles: VertexTiles, numbers: Series) -> Int64:
    """Return int64[tiles], the sum of the numbers of the vertices on each tile.

    >>> from poplite.arrays.series import compact
    >>> tiles = VertexTiles.of(np.array([0, 2, 2]), 4)
    >>> by_tile(tiles, compact(np.array([5, 1, 7]))).tolist()
    [5, 0, 8, 0]
    """
    if (only := numbers.only) is not None:
        return tiles.counts() * only
    total = np.zeros(tiles.num_tiles, np.int64)
    np.add.at(total, tiles.array(), numbers.array())
    return total


BUFFERS: Mapping[PhaseKind, Category] = {
    "copy": "rearrangement",
    "exchange": "message",
    "global exchange": "global_message",
    "host exchange": "host_message",
    "compute": "rearrangement",
}
"""The kind of buffer that each kind of phase needs."""

Planned = tuple[Held, SourceLocation | None]
"""A thing in memory, and the user's line that made it."""

EdgesOf = Callable[["ComputeSet"], "EdgeTable"]
CostOf = Mapping[object, StepCost | None]


def contents(
    graph: Graph,
    programs: Mapping[str, Program],
    edges_of: EdgesOf,
    cost_of: CostOf,
    found: Lifetimes,
) -> Iterator[Planned]:
    """Yield everything on tiles, starting with always-live memory.

    `cost_of` contains the costs of steps by compute set or by program; `found` contains the
    lifetimes of variables.
    """
    target = graph.target
    align = int(target.cost("align_bytes"))
    stack = np.full(target.tiles, int(target.cost("stack_bytes")))
    yield _always("stacks", "stack", stack, align)
    leaves = dict.fromkeys(step.program for _, step in found.steps)
    executed = dict.fromkeys(leaf.compute_set for leaf in leaves if isinstance(leaf, Execute))
    tables = {compute_set: edges_of(compute_set) for compute_set in executed}
    vertices = VertexBytes(target)
    running = {compute_set: vertices.add(table) for compute_set, table in tables.items()}
    control = ControlCode(target)
    control.branch(len({id(node) for node in _branches(programs.values())}))
    idle = np.zeros(0, np.int64)
    for leaf in leaves:
        tiles = running[leaf.compute_set] if isinstance(leaf, Execute) else idle
        control.step(_cost(leaf, cost_of), tiles)
    for category, size in control.found().items():
        yield _always(category.replace("_", " "), category, size, align)
    for cls, sizes in vertices.found.items():
        there = sizes["control_table"] > 0
        code: Int64 = np.where(there, vertex_code_bytes(cls, target), 0)
        sizes["vertex_code"] = code
        for category, size in sizes.items():
            if size.any():
                yield _always(cls.__name__, category, size, align, vertices.at[cls])
    variables, usual = graph.variables, (align, False)
    lines: dict[int, str] = {}  # by object, since many variables share one line
    location, line = None, ""
    asked = _asked(tables.values(), variables, usual)
    always = zip(found.always, repeat(None), found.always.values())
    for number, steps, why in chain(always, zip(found.live, found.live.values(), repeat(""))):
        variable, (alignment, interleaved) = variables[number], asked.get(number, usual)
        if variable.num_elements:
            if location is not variable.location:
                location = variable.location
                if id(location) not in lines:
                    lines[id(location)] = location.portable  # queries the working directory
                line = lines[id(location)]
            held = Held(
                variable.name,
                bytes_of(variable, target.tiles),
                "constant" if variable.constant else "variable",
                steps,
                line,
                variable.shape,
                variable.element_type.__name__,
                alignment,
                interleaved,
                why,
            )
            yield held, location
    yield from _buffers(found, cost_of, align)


def bytes_of(variable: Variable, num_tiles: int) -> PerTile:
    """Return the bytes of a variable on each tile."""
    tile = variable.only_tile
    if tile is not None:
        return _at_tile(num_tiles, tile, variable.num_elements * variable.element_type.size_bytes)
    breaks, tiles = variable.mapping.pieces()
    if len(tiles) == 1 and tiles[0] >= 0:
        return at_tile(num_tiles, int(tiles[0]), int(breaks[1]) * variable.element_type.size_bytes)
    sizes = np.diff(breaks) * variable.element_type.size_bytes
    if (tiles[1:] > tiles[:-1]).all() and len(tiles) and tiles[0] >= 0:
        return PerTile(num_tiles, compact(tiles.astype(np.int64)), compact(sizes))
    total = np.zeros(num_tiles, np.int64)
    mapped = tiles >= 0
    np.add.at(total, tiles[mapped], sizes[mapped])
    return PerTile.of(total)


_at_tile = lru_cache(maxsize=1 << 14)(at_tile)
"""`at_tile` with a cache, since the numbers are equal for many variables."""


def _always(
    name: str, category: Category, size: Int64, align: int, line: SourceLocation | None = None
) -> Planned:
    at = "" if line is None else line.portable
    return Held(name, PerTile.of(size), category, None, at, align=align), line


def _branches(programs: Iterable[Program]) -> Iterator[Program]:
    """Yield the programs that branch or repeat; one may be yielded more than once."""
    for program in programs:
        for node in children_first(program):
            if node.decided_by is not None or not runs_in_order(node):
                yield node


def _cost(leaf: Program, cost_of: CostOf) -> StepCost:
    key = leaf.compute_set if isinstance(leaf, Execute) else leaf
    return cost_of.get(key) or StepCost()


def _asked(
    tables: Iterable[EdgeTable], variables: Sequence[Variable], usual: tuple[int, bool]
) -> dict[int, tuple[int, bool]]:
    """Return the alignment of variables, and whether they are in interleaved memory, by number.

    The result has only variables for which fields request a layout; others have the `usual` one.
    """
    asked: dict[int, tuple[int, bool]] = {}
    bases = np.array([variable.base for variable in variables], np.int64)
    for part in (part for table in tables for part in table.fields):
        layout = part.field.layout
        if layout.interleaved or layout.min_align > 1:
            owners = bases.searchsorted(part.runs.begin, side="right") - 1
            for number in np.unique(owners).tolist():
                alignment, interleaved = asked.get(number, usual)
                asked[number] = (
                    max(layout.min_align, alignment),
                    layout.interleaved or interleaved,
                )
    return asked


def _buffers(found: Lifetimes, cost_of: CostOf, align: int) -> Iterator[Planned]:
    """Yield the buffers of steps, each live while its step runs."""
    places: dict[Program, list[int]] = {}
    for number, (_, step) in enumerate(found.steps):
        places.setdefault(step.program, []).append(number)
    for leaf, numbers in places.items():
        cost = _cost(leaf, cost_of)
        for phase in (*cost.before, *cost.after):
            if phase.buffers.num_used:
                at, steps, category = (
                    leaf.location.portable,
                    _stretches(numbers),
                    BUFFERS[phase.kind],
                )
                yield (
                    Held(str(leaf), phase.buffers, category, steps, at, align=align),
                    leaf.location,
                )


def _stretches(numbers: Sequence[int]) -> Stretches:
    """Return the first and the last of each stretch of consecutive ascending numbers.

    >>> _stretches([0, 1, 2, 5])
    ((0, 2), (5, 5))
    """
    found: list[tuple[int, int]] = []
    for number in numbers:
        first = found.pop()[0] if found and found[-1][1] == number - 1 else number
        found.append((first, number))
    return tuple(found)


def memory_of(
    graph: Graph,
    programs: Mapping[str, Program],
    edges_of: EdgesOf,
    cost_of: CostOf,
    *,
    may_overflow: bool,
) -> Memory:
    """Plan the memory of every tile; the variables that programs use have tiles.

    `cost_of` contains the costs of steps by compute set or by program. Steps get their rows once
    there is code. Raises GraphMemoryAllocationError if a tile has too little memory, unless
    `may_overflow` is set.

    >>> import poplite as pl
    >>> from poplite.graph.compute_sets.edge_table import edge_table
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> a, b = (graph.add_variable(pl.INT, (5,), name, mapping=1) for name in "ab")
    >>> memory = memory_of(graph, {"main": pl.Copy(a, b)}, edge_table, {}, may_overflow=False)
    >>> [(each.name, each.bytes) for each in memory.variables(1)]
    [('stacks', 3168), ('control code', 4), ('a', 20), ('b', 20)]
    >>> list(memory.excluding_gaps), list(memory.including_gaps)
    ([3172, 3212], [3172, 3220])
    """
    target = graph.target
    found = lifetimes(graph, programs, edges_of)
    held = tuple([each for each, _ in contents(graph, programs, edges_of, cost_of, found)])
    steps, peak = _steps(held, found.steps, programs, target.tiles)
    where = placed(held, target)
    used = PerTile.of(where.used[where.kinds])
    memory = Memory(used, PerTile.of(peak), held, steps)
    if not may_overflow and used.most > target.tile_memory_bytes:
        lines = [line for _, line in contents(graph, programs, edges_of, cost_of, found)]
        raise _overflow_error(memory, lines, target)
    return memory


def _steps(
    held: Sequence[Held],
    steps: Sequence[tuple[str, Step]],
    programs: Mapping[str, Program],
    num_tiles: int,
) -> tuple[tuple[MemoryStep, ...], Int64]:
    """Return the steps, and int64[num_tiles], the peak of live bytes of each tile."""
    begins, ends = changes(held)
    live, peak = np.zeros(num_tiles, np.int64), np.zeros(num_tiles, np.int64)
    counts = accumulate((each.num_steps for each in programs.values()), initial=0)
    before = dict(zip(programs, counts, strict=False))
    found, most, tile = [], 0, 0
    for number, (name, step) in enumerate(steps):
        ended, begun = ends.get(number, ()), begins.get(number, ())
        for spread in ended:
            add_to(live, spread, -1)
        for spread in begun:
            add_to(live, spread)
        if ended or begun:
            tile = int(live.argmax())
            most = int(live[tile])
            _raise(peak, live, begun)
        what = f"{step}, of program '{name}'" if len(programs) > 1 else str(step)
        at = step.program.location.portable
        found.append(MemoryStep(name, what, at, most, tile, before[name] + step.number))
    return tuple(found), peak


def _raise(peak: Int64, live: Int64, begun: Iterable[PerTile]) -> None:
    """Update the peak with the live bytes of a step, on tiles where a lifetime starts in it."""
    for spread in begun:
        some = few(spread)
        if some is None:
            np.maximum(peak, live, out=peak)
            return
        for tile, _ in some:
            peak[tile] = max(peak[tile], live[tile])


# -- programs that do not fit ----------------------------------------------------------------------


def _overflow_error(
    memory: Memory, lines: Sequence[SourceLocation | None], target: Target
) -> GraphMemoryAllocationError:
    """Return the error for a graph that needs too much memory, which describes the fullest tile.

    `lines` are the user's lines for the contents of that tile.

    tile 2 is out of memory: it needs 9,768 B, but has 8,192 B  (model.py:4)
      at step 1 of 2: Copy 'weights' -> 'scratch'
      4,000 B: variable 'weights' (model.py:4)
      3,168 B: stacks
      ...
      out of memory on 1 of 4 tiles: 2
      try: spread 'weights' over more than 1 of the 4 tiles; ...
    """
    sizes, limit = memory.including_gaps.array(), target.tile_memory_bytes
    tile, overflowing = int(sizes.argmax()), np.flatnonzero(sizes > limit)
    step = int(peaks_of(memory).step[tile])
    there = [
        (size, held, line)
        for held, line in zip(memory.held, lines, strict=True)
        if (held.steps is None or held.is_in(step)) and (size := held.bytes[tile])
    ]
    there.sort(key=lambda each: -each[0])
    found = [f"{size:,} B: {_described(held, at)}" for size, held, at in there[:SHOWN_FAULTS]]
    if others := [size for size, *_ in there[SHOWN_FAULTS:]]:
        found.append(f"{sum(others):,} B: {amount(len(others), 'other object')}")
    needed = int(sizes[tile])
    if gaps := needed - sum(size for size, *_ in there):
        found.append(f"{gaps:,} B: gaps between them")
    of = f"{len(overflowing):,} of {amount(target.tiles, 'tile')}"
    found.append(f"out of memory on {of}: {ranges(overflowing)}")
    _, largest, line = there[0]
    return GraphMemoryAllocationError(
        f"tile {tile:,} is out of memory: it needs {needed:,} B, but has {limit:,} B",
        at=here() if line is None else line,
        where="" if step == NO_STEP else memory.steps[step].name,
        found="\n".join(found),
        fix=f"{remedy_for(largest, tile, target.tiles)}; to run on regardless, "
        'options={"debug.allowOutOfMemory": True}',
    )


def _described(held: Held, line: SourceLocation | None) -> str:
    what = held.category.replace("_", " ")
    if held.category in BUFFERS.values():
        return f"{what} buffer of {held.name} ({line})"
    return held.name if line is None else f"{what} '{held.name}' ({line})"


# -- bytes of code ---------------------------------------------------------------------------------
# These are estimates, since poplite compiles no programs for the machine. Vertex code is estimated
# from the operations in the source of `compute` and of the functions that it calls; control and
# exchange code from the work of the tile in each step. The numbers of instructions are assumptions
# (`poplite.machine.facts`), which do not depend on the program.

EXCHANGE_CODE: Mapping[PhaseKind, Category] = {
    "exchange": "internal_exchange_code",
    "global exchange": "global_exchange_code",
    "host exchange": "host_exchange_code",
}


def vertex_code_bytes(cls: type[Vertex], target: Target) -> int:
    """Return an estimate of the bytes of code of a vertex class.

    >>> import poplite as pl
    >>> class Double(pl.Vertex):
    ...     x: pl.InOut[pl.FLOAT]
    ...     def compute(self) -> None:
    ...         self.x = 2.0 * self.x
    >>> vertex_code_bytes(Double, pl.Target())      # entry, and 4 operations: = . * .
    64
    """
    try:
        operations = meaning_of(cls).operations
    except VertexCompileError:
        operations = 0  # the engine rejects the class with an error that says why
    instructions = target.cost("slot_entry") + operations * target.cost("operation_instructions")
    return int(instructions * target.cost("instruction_bytes"))


class ControlCode:
    """Adds up the code that controls the sequence of steps on tiles."""

    def __init__(self, target: Target) -> None:
        self._control = np.zeros(target.tiles, np.int64)
        self._on_all = 0
        self._exchanges: dict[tuple[object, ...], tuple[PhaseCost, int]] = {}
        each = target.cost("instruction_bytes")
        self._target = target
        self._bytes = {
            name: int(each * target.cost(f"{name}_instructions"))
            for name in ("sync", "run", "branch")
        }

    def branch(self, count: int) -> None:
        """Add a number of programs that branch or repeat, which run on all tiles."""
        self._on_all += count * self._bytes["branch"]

    def step(self, cost: StepCost, running: Int64) -> None:
        """Add a step; `running` is int64[n], the tiles that run vertices in it."""
        phases = (*cost.before, *cost.after)
        self._on_all += (1 + sum([phase.sync > 0 for phase in phases])) * self._bytes["sync"]
        if len(running):
            self._control[running] += self._bytes["run"]
        for phase in phases:
            if phase.kind in EXCHANGE_CODE:
                moved = phase.kind, id(phase.received), id(phase.sent), id(phase.controls)
                known = self._exchanges.get(moved)
                self._exchanges[moved] = phase, 1 if known is None else known[1] + 1
            else:
                add_each_to(self._control, phase.copied, self._bytes["run"])

    def found(self) -> dict[Category, Int64]:
        """Return the bytes of each category, int64[tiles]."""
        found: dict[Category, Int64] = {"control_code": self._control + self._on_all}
        for phase, times in self._exchanges.values():
            category = EXCHANGE_CODE[phase.kind]
            if category not in found:
                found[category] = np.zeros_like(self._control)
            add_exchange_code(found[category], phase, self._target, times)
        return found


def add_exchange_code(total: Int64, phase: PhaseCost, target: Target, times: int = 1) -> None:
    """Add the code of an exchange to the bytes of each tile, int64[tiles]."""
    each = target.cost("instruction_bytes")
    setup = int(each * target.cost("exchange_instructions"))
    # Code that prepares receiving and sending, then code that controls the transfers.
    for moved in (phase.received, phase.sent):
        add_each_to(total, moved, times * setup)
    add_to(total, phase.controls, times * int(each))


# -- addresses -------------------------------------------------------------------------------------
# Each thing on a tile has an address; tiles with equal contents have equal addresses::
#
#     held     on tiles 0 1 2 3      kinds of tiles      addresses on tile 0 and on tile 2
#     code        64 64 64 64        0 0 1 1              0    0
#     weights     80 80  0  0                            64
#     out          0  0 16 16                                 64
# Each thing gets the lowest address at which it fits. Things that are always live come first,
# consecutively; things that are needed only in some steps share the remaining memory. Things that
# are needed in the same step never overlap::
#
#     step 0   |always|  a  |        |
#     step 1   |always|  a  |   b    |
#     step 2   |always| c   |   b    |        c gets the address of a
# Things that need interleaved memory are in its region; others may follow them in that region.


class Placing:
    """Things to place, independently of their sizes on a tile.

    `aligns` are alignments of addresses in bytes; `steps` are the steps in which each thing is
    needed, or None if it is always needed. Interleaved memory starts at the address `border`;
    `limit` is the size of a tile's memory in bytes.

    Attributes:
        order: int64[things], the numbers of the things in the order in which they are placed.

    >>> steps = [((0, 1),), None, ((2, 2),)]
    >>> placing = Placing([8, 8, 8], [False] * 3, steps, 1024, 4096)
    >>> placing.order.tolist()
    [1, 0, 2]
    >>> [found.tolist() for found in placing.addresses(np.array([20, 100, 50]), [3])]
    [[0, 24, 24], [124]]
    """

    def __init__(
        self,
        aligns: Sequence[int],
        interleaved: Sequence[bool],
        steps: Sequence[Stretches | None],
        border: int,
        limit: int,
    ) -> None:
        first = np.array([ALWAYS if each is None else each[0][0] for each in steps], np.int64)
        last = np.array([ALWAYS if each is None else each[-1][1] for each in steps], np.int64)
        upper = np.array(interleaved, np.int64)
        # Always-live things come first; interleaved ones among them stay in their region.
        self.order: Int64 = np.lexsort((1 - upper, first))
        columns = np.array(aligns, np.int64), upper, first, last
        self._columns = tuple(each[self.order] for each in columns)
        self._border, self._limit = border, limit

    def addresses(
        self, sizes: Int64, counts: Sequence[int], places: Int64 | None = None
    ) -> tuple[Int64, Int64]:
        """Return addresses of things, int64[n], and bytes in use including gaps, int64[tiles].

        `sizes` is int64[n], bytes of the things on the first tile, then on the next one, and so on;
        `counts` contains the number of things on each tile. `places`, int64[n], identifies the
        things by their positions in `order`, ascending on each tile; by default there is one tile
        with all things.
        """
        found, used, stop = np.zeros(len(sizes), np.int64), [], 0
        # The time for a tile is at most quadratic in its number of things.
        work = isqrt(sum([count * count for count in counts]))
        active = np.empty(max(counts, default=0), np.int64)
        for count in counts:
            here = slice(stop, stop := stop + count)
            things = slice(None) if places is None else places[here]
            own = sizes[here], *(column[things] for column in self._columns)
            room = count, self._border, self._limit
            used.append(run_kernel(first_fit, work, *own, *room, active, found[here]))
        return found, np.array(used, np.int64)


def alike(spreads: Sequence[PerTile], num_tiles: int) -> tuple[Int64, Int64]:
    """Group the tiles that have equal numbers in every spread.

    Returns one tile of each kind, and int64[num_tiles], the kind of each tile.

    >>> halves, last = PerTile.of(np.array([4, 4, 4, 4])), PerTile.of(np.array([0, 0, 0, 8]))
    >>> [found.tolist() for found in alike([halves, last], 4)]
    [[0, 3], [0, 0, 0, 1]]
    """
    kinds, sizes = np.zeros(num_tiles, np.int64), [num_tiles]
    seen: set[object] = set()
    for spread in spreads:
        if len(sizes) == num_tiles:
            break  # no two tiles are equal
        some = few(spread)
        if some is not None:
            _part_few(kinds, sizes, some)
            continue
        regular = isinstance(spread.tiles, Steps) and isinstance(spread.values, Steps)
        key = (spread.tiles, spread.values) if regular else spread.array().tobytes()
        if key in seen:
            continue
        seen.add(key)
        _, number = np.unique(spread.array(), return_inverse=True)
        _, kinds = np.unique(kinds * (int(number.max()) + 1) + number, return_inverse=True)
        sizes = np.bincount(kinds).tolist()
    _, tiles, kinds = np.unique(kinds, return_index=True, return_inverse=True)
    return tiles, kinds


def _part_few(kinds: Int64, sizes: list[int], few: Sequence[tuple[int, int]]) -> None:
    """Split kinds of tiles, and their sizes, by the numbers of a few tiles."""
    alike: dict[tuple[int, int], list[int]] = {}
    for tile, value in few:
        alike.setdefault((int(kinds[tile]), value), []).append(tile)
    for (kind, _), tiles in alike.items():
        if len(tiles) < sizes[kind]:
            kinds[tiles] = len(sizes)
            sizes[kind] -= len(tiles)
            sizes.append(len(tiles))


class TileAddresses(NamedTuple):
    """The address of each thing, on one tile of each kind.

    Attributes:
        kinds: int64[tiles], the kind of each tile.
        kind: int64[n], the kind of the tile that a thing is on; ascending.
        thing: int64[n], its position among all things.
        address: int64[n], its first address.
        used: int64[kinds], bytes in use on a tile, including gaps.
    """

    kinds: Int64
    kind: Int64
    thing: Int64
    address: Int64
    used: Int64

    def of_each(self, num_things: int) -> tuple[PerTile, ...]:
        """Return the address of each thing on each tile; 0 if it is absent."""
        order = np.argsort(self.thing, kind="stable")
        kind, address = self.kind[order], self.address[order]
        ends = np.cumsum(np.bincount(self.thing, minlength=num_things)).tolist()
        found, of_kind = [], np.zeros(len(self.used), np.int64)
        for begin, end in zip([0, *ends], ends, strict=False):
            there = kind[begin:end]
            of_kind[there] = address[begin:end]
            found.append(PerTile.of(of_kind[self.kinds]))
            of_kind[there] = 0
        return tuple(found)


def addresses_of(held: Sequence[Held], target: Target) -> tuple[PerTile, ...]:
    """Return the address of each thing on each tile; 0 if it is absent."""
    return placed(held, target).of_each(len(held))


def placed(held: Sequence[Held], target: Target) -> TileAddresses:
    """Place all things in the memory of the tiles."""
    sizes = [each.bytes for each in held]
    number = defaultdict[int, int]()  # by the id of the object, since many things share one
    number.default_factory = number.__len__
    which = np.fromiter(map(number.__getitem__, map(id, sizes)), np.int64, len(sizes))
    firsts = np.flatnonzero(np.diff(np.maximum.accumulate(which), prepend=-1))
    several = [sizes[first] for first in firsts.tolist()]
    tiles, kinds = alike(several, target.tiles)
    row = np.full(target.tiles, -1)
    row[tiles] = np.arange(len(tiles))
    placing = placing_of(held, target)
    on, place, size = _listed(several, which[placing.order], row)
    counts = np.bincount(on, minlength=len(tiles)).tolist()
    addresses, used = placing.addresses(size, counts, place)
    return TileAddresses(kinds, on, placing.order[place], addresses, used)


def placing_of(held: Sequence[Held], target: Target) -> Placing:
    """Return the placing of things in the memory of a tile."""
    border, limit = int(target.cost("interleaved_begin_bytes")), target.tile_memory_bytes
    if border >= limit:
        border = 0  # for a model of a small tile, all of whose memory is of one kind
    return Placing(
        [each.align for each in held],
        [each.interleaved for each in held],
        [each.steps for each in held],
        border,
        limit,
    )


def _listed(spreads: Sequence[PerTile], which: Int64, row: Int64) -> tuple[Int64, Int64, Int64]:
    """Return the numbers of many things on the tiles that have a row.

    `which`, int64[things], is the spread of each thing. Returns, for each nonzero number, its row,
    its thing and its value, sorted by row, then by thing.
    """
    found_few: list[int] = []  # row, number and value of each, concatenated
    many = [np.zeros((3, 0), np.int64)]
    row_of = row.tolist()
    for number, spread in enumerate(spreads):
        some = few(spread)
        if some is not None:
            for tile, value in some:
                if row_of[tile] >= 0:
                    found_few += (row_of[tile], number, value)
        else:
            on = row[spread.tiles.array()]
            chosen = np.flatnonzero(on >= 0)
            values = spread.values.array()[chosen]
            many.append(np.stack([on[chosen], np.full(len(chosen), number), values]))
    found = np.concatenate([np.array(found_few, np.int64).reshape(-1, 3).T, *many], axis=1)
    found = found[:, sorted_order(found[1])]
    end = np.cumsum(np.bincount(found[1], minlength=len(spreads)))
    count = np.diff(end, prepend=0)[which]
    thing = np.repeat(np.arange(len(which)), count)
    of_thing = np.repeat(end[which] - np.cumsum(count), count) + np.arange(len(thing))
    on, value = found[0][of_thing], found[2][of_thing]
    order = sorted_order(on)
    return on[order], thing[order], value[order]
