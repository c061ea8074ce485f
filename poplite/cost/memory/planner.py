"""Plans the memory of tiles, and refuses what does not fit.

contents of tiles (`contents`)  ->  the most bytes that are live at a time, step by step
                                ->  addresses, for each kind of tiles that hold the same
                                ->  does everything fit?
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.cost.memory.addresses import placed
from poplite.cost.memory.contents import BUFFERS, CostOf, EdgesOf, contents
from poplite.cost.memory.liveness import lifetimes
from poplite.cost.memory.plan import NO_STEP, LiveStep, MemoryPlan, PlannedItem, stretches
from poplite.cost.spread import Spread
from poplite.errors import SHOWN_FAULTS, GraphMemoryAllocationError
from poplite.graph.mapping.tile_mapping import ranges
from poplite.source import here
from poplite.text import amount

if TYPE_CHECKING:
    from poplite.graph.graph import Graph
    from poplite.program import Program, Step


UNEVEN = 1.25
"""Beyond this many times the average, the advice is to spread a variable evenly."""


def memory_of(
    graph: Graph,
    programs: Mapping[str, Program],
    edges_of: EdgesOf,
    cost_of: CostOf,
    *,
    may_overflow: bool,
) -> MemoryPlan:
    """Plan the memory of every tile; the variables that programs use have tiles.

    `cost_of` has the costs of steps by compute set or by program. Raises GraphMemoryAllocationError
    where a tile has too little memory, unless `may_overflow`.

    >>> import poplite as pl
    >>> from poplite.graph.compute_sets.edge_table import edge_table
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> a, b = (graph.add_variable(pl.INT, (5,), name, mapping=1) for name in "ab")
    >>> plan = memory_of(graph, {"main": pl.Copy(a, b)}, edge_table, {}, may_overflow=False)
    >>> [(each.held.name, each.bytes, each.address) for each in plan.on_tile(1)]
    [('stacks', 3168, 0), ('control code', 4, 3168), ('a', 20, 3176), ('b', 20, 3200)]
    >>> plan.excluding_gaps().tolist(), plan.with_gaps().tolist()
    ([3172, 3212], [3172, 3220])
    """
    target = graph.target
    found = lifetimes(graph, programs, edges_of)
    held = tuple(contents(graph, programs, edges_of, cost_of, found))
    steps, peak, peak_step = _peaks(held, found.steps, target.tiles, several=len(programs) > 1)
    border = int(target.cost("interleaved_begin_bytes"))
    if border >= target.tile_memory_bytes:
        border = 0  # a model of a small tile: all of its memory is the same
    where = placed(held, target.tiles, border, target.tile_memory_bytes)
    plan = MemoryPlan(
        num_tiles=target.tiles,
        tile_bytes=target.tile_memory_bytes,
        element_bytes=int(target.cost("memory_element_bytes")),
        interleaved_begin=border,
        held=held,
        steps=steps,
        peak=Spread.of(peak),
        peak_step=peak_step,
        including_gaps=Spread.of(where.used[where.kinds]),
    )
    if len(plan.overflowing) and not may_overflow:
        raise _overflow_error(plan)
    return plan


def _peaks(
    held: Sequence[PlannedItem], steps: Sequence[tuple[str, Step]], num_tiles: int, *, several: bool
) -> tuple[tuple[LiveStep, ...], Int64, Int64]:
    """Return the steps, the peak of each tile, and the step of that peak, both int64[num_tiles]."""
    begins: dict[int, list[Spread]] = {}
    ends: dict[int, list[Spread]] = {}
    for each in held:
        for first, last in stretches(each.steps):
            begins.setdefault(first, []).append(each.bytes)
            ends.setdefault(last + 1, []).append(each.bytes)
    live, peak = np.zeros(num_tiles, np.int64), np.zeros(num_tiles, np.int64)
    peak_step = np.full(num_tiles, NO_STEP, np.int64)
    live_steps, most, tile = [], 0, 0
    for number, (name, step) in enumerate(steps):
        ended, begun = ends.get(number, ()), begins.get(number, ())
        for spread in ended:
            spread.add_to(live, -1)
        for spread in begun:
            spread.add_to(live)
        if ended or begun:
            tile = int(live.argmax())
            most = int(live[tile])
            _raise(peak, peak_step, live, begun, number)
        what = f"{step}, of program '{name}'" if several else str(step)
        live_steps.append(LiveStep(name, what, step.program.location, most, tile, step.number))
    return tuple(live_steps), peak, peak_step


def _raise(
    peak: Int64, peak_step: Int64, live: Int64, begun: Iterable[Spread], number: int
) -> None:
    """Note where more is live in a step than before: only where something begins in the step."""
    few: list[int] = []
    for spread in begun:
        some = spread.few()
        if some is None:
            higher = live > peak
            peak[higher], peak_step[higher] = live[higher], number
            return
        few += [tile for tile, _ in some]
    for tile in few:
        if live[tile] > peak[tile]:
            peak[tile], peak_step[tile] = live[tile], number


# -- what does not fit -----------------------------------------------------------------------


def _overflow_error(plan: MemoryPlan) -> GraphMemoryAllocationError:
    """Return the error of a plan that needs more than there is: about the fullest tile.

    tile 2 is out of memory: it needs 9,768 B, and has 8,192 B  (model.py:4)
      at step 1 of 2: Copy 'weights' -> 'scratch'
      4,000 B: variable 'weights' (model.py:4)
      3,168 B: stacks
      ...
      not enough on 1 of 4 tiles: 2
      try: spread 'weights' over more of the 4 tiles than 1; ...
    """
    tile, overflowing = plan.fullest, plan.overflowing
    step = int(plan.peak_step[tile])
    always = [(held, held.bytes.at(tile)) for held in plan.held if held.steps is None]
    there = [pair for pair in (*always, *plan.live_in(step, tile)) if pair[1]]
    there.sort(key=lambda pair: -pair[1])
    lines = [f"{size:,} B: {_described(held)}" for held, size in there[:SHOWN_FAULTS]]
    if others := [size for _, size in there[SHOWN_FAULTS:]]:
        lines.append(f"{sum(others):,} B: {amount(len(others), 'other thing')}")
    needed = int(plan.with_gaps()[tile])
    if gaps := needed - sum(size for _, size in there):
        lines.append(f"{gaps:,} B: gaps between them")
    of = f"{len(overflowing):,} of {amount(plan.num_tiles, 'tile')}"
    lines.append(f"not enough on {of}: {ranges(overflowing)}")
    largest, _ = there[0]
    return GraphMemoryAllocationError(
        f"tile {tile:,} is out of memory: it needs {needed:,} B, and has {plan.tile_bytes:,} B",
        at=here() if largest.at is None else largest.at,
        where="" if step == NO_STEP else plan.steps[step].name,
        found="\n".join(lines),
        fix=f"{_advice(largest, tile, plan.num_tiles)}; to run on regardless, "
        'options={"debug.allowOutOfMemory": True}',
    )


def _described(held: PlannedItem) -> str:
    what = held.category.replace("_", " ")
    if held.category in BUFFERS.values():
        return f"{what} buffer of {held.name} ({held.at})"
    return held.name if held.at is None else f"{what} '{held.name}' ({held.at})"


def _advice(largest: PlannedItem, tile: int, num_tiles: int) -> str:
    """Return a way to make the largest thing on a tile smaller."""
    tiles, on = amount(num_tiles, "tile"), largest.bytes.tiles.count
    name, category = f"'{largest.name}'", largest.category
    if category in BUFFERS.values():
        return f"let {largest.name} move less at a time, or to more tiles"
    if category == "stack":
        return "model a tile with more memory: Target(tile_memory_bytes=...)"
    if category == "vertex_code":
        return f"make the code of {name} shorter"
    if largest.at is None:
        return "write fewer steps: loops as Repeat(count, body)"
    if category not in ("variable", "constant"):
        if on < num_tiles:
            return f"spread the vertices {name} over more of the {tiles}"
        return f"make fewer vertices {name}, each of more elements"
    if on < num_tiles:
        return f"spread {name} over more of the {tiles} than {on:,}"
    size, total = largest.bytes.at(tile), largest.bytes.total
    if size > UNEVEN * total / num_tiles:
        return f'spread {name} evenly, mapping="linear": {size:,} of its {total:,} B are there'
    return f"make {name} smaller, or use more than {tiles}"
