"""Everything that lies on tiles: variables, vertices, code, and the buffers of steps.

The bytes of variables come from their mapping, and the steps that need them from
`poplite.cost.memory.liveness`; vertices from `poplite.cost.memory.vertex_size`, code from
`poplite.cost.memory.code_size`.  The buffers of a step's phases are live while the step runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain, repeat
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.arrays.series import compact
from poplite.cost.memory.code_size import ControlCode, vertex_code_bytes
from poplite.cost.memory.liveness import Lifetimes
from poplite.cost.memory.vertex_size import VertexBytes
from poplite.cost.spread import at_tile
from poplite.cost.step_cost import StepCost
from poplite.program import Execute, Loop, Program, Repeat, children_first
from poplite.report.memory import Category, Held, Steps
from poplite.report.per_tile import PerTile
from poplite.report.phase_parts import PhaseKind
from poplite.source import SourceLocation

if TYPE_CHECKING:
    from poplite.graph.compute_sets.compute_set import ComputeSet
    from poplite.graph.compute_sets.edge_table import EdgeTable
    from poplite.graph.graph import Graph
    from poplite.graph.storage.variable import Variable

BUFFERS: Mapping[PhaseKind, Category] = {
    "copy": "rearrangement",
    "exchange": "message",
    "global exchange": "global_message",
    "host exchange": "host_message",
    "compute": "rearrangement",
}
"""The kind of buffer that a phase needs."""

Planned = tuple[Held, SourceLocation | None]
"""A thing, and the user's line that made it."""

EdgesOf = Callable[["ComputeSet"], "EdgeTable"]
CostOf = Mapping[object, StepCost | None]


def contents(
    graph: Graph,
    programs: Mapping[str, Program],
    edges_of: EdgesOf,
    cost_of: CostOf,
    found: Lifetimes,
) -> Iterator[Planned]:
    """Yield everything that lies on tiles, starting with what is always live.

    `cost_of` has the costs of steps by compute set or by program; `found` says when variables are
    needed.
    """
    target = graph.target
    align = int(target.cost("align_bytes"))
    stack = np.full(target.tiles, int(target.cost("stack_bytes")))
    yield _always("stacks", "stack", stack, align)
    leaves = dict.fromkeys(step.program for _, step in found.steps)
    tables = {leaf.compute_set: edges_of(leaf.compute_set) for leaf in _executes(leaves)}
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
    line_of = cache(attrgetter("portable"))  # which asks for the working directory each time
    asked = _asked(tables.values(), variables, usual)
    for number, steps in chain(zip(found.always, repeat(None)), found.live.items()):
        variable, (alignment, interleaved) = variables[number], asked.get(number, usual)
        if variable.num_elements:
            held = Held(
                variable.name,
                bytes_of(variable, target.tiles),
                "constant" if variable.constant else "variable",
                steps,
                line_of(variable.location),
                variable.shape,
                variable.element_type.__name__,
                alignment,
                interleaved,
                found.always.get(number, ""),
            )
            yield held, variable.location
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


@lru_cache(maxsize=1 << 14)
def _at_tile(num_tiles: int, tile: int, size: int) -> PerTile:
    """Return bytes on one tile; shared, as many variables have the same."""
    return at_tile(num_tiles, tile, size)


def _always(
    name: str, category: Category, size: Int64, align: int, line: SourceLocation | None = None
) -> Planned:
    at = "" if line is None else line.portable
    return Held(name, PerTile.of(size), category, None, at, align=align), line


def _executes(leaves: Iterable[Program]) -> Iterator[Execute]:
    yield from (leaf for leaf in leaves if isinstance(leaf, Execute))


def _branches(programs: Iterable[Program]) -> Iterator[Program]:
    """Yield the programs that decide or repeat; one may come more than once."""
    for program in programs:
        for node in children_first(program):
            if isinstance(node, Repeat | Loop) or node.decided_by is not None:
                yield node


def _cost(leaf: Program, cost_of: CostOf) -> StepCost:
    key = leaf.compute_set if isinstance(leaf, Execute) else leaf
    return cost_of.get(key) or StepCost()


def _asked(
    tables: Iterable[EdgeTable], variables: Sequence[Variable], usual: tuple[int, bool]
) -> dict[int, tuple[int, bool]]:
    """Return the alignment of variables, and whether they are in interleaved memory, by number.

    These are the variables for which fields ask for a layout; of the others they are `usual`.
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


def _stretches(numbers: Sequence[int]) -> Steps:
    """Return the first and the last of each stretch of consecutive numbers, which rise.

    >>> _stretches([0, 1, 2, 5])
    ((0, 2), (5, 5))
    """
    found: list[tuple[int, int]] = []
    for number in numbers:
        first = found.pop()[0] if found and found[-1][1] == number - 1 else number
        found.append((first, number))
    return tuple(found)
