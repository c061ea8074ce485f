"""Plans the memory of tiles, and refuses what does not fit.

contents of tiles (`contents`)  ->  the most bytes that are live at a time, step by step
                                ->  addresses, for each kind of tiles that hold the same
                                ->  does everything fit?
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.cost.memory.addresses import placed
from poplite.cost.memory.contents import BUFFERS, CostOf, EdgesOf, contents
from poplite.cost.memory.liveness import lifetimes
from poplite.cost.spread import add_to, few
from poplite.errors import SHOWN_FAULTS, GraphMemoryAllocationError
from poplite.graph.mapping.tile_mapping import ranges
from poplite.report.memory import Held, Memory, MemoryStep
from poplite.report.peaks import NO_STEP, changes, peaks_of
from poplite.report.per_tile import PerTile
from poplite.source import SourceLocation, here
from poplite.text import amount

if TYPE_CHECKING:
    from poplite.graph.graph import Graph
    from poplite.machine.target import Target
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
) -> Memory:
    """Plan the memory of every tile; the variables that programs use have tiles.

    `cost_of` has the costs of steps by compute set or by program. Steps get their rows when there
    is code. Raises GraphMemoryAllocationError where a tile has too little memory, unless
    `may_overflow`.

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
    planned = list(contents(graph, programs, edges_of, cost_of, found))
    held = tuple([each for each, _ in planned])
    steps, peak = _steps(held, found.steps, programs, target.tiles)
    where = placed(held, target)
    used = PerTile.of(where.used[where.kinds])
    memory = Memory(used, PerTile.of(peak), held, steps)
    if not may_overflow and used.most > target.tile_memory_bytes:
        raise _overflow_error(memory, [line for _, line in planned], target)
    return memory


def _steps(
    held: Sequence[Held],
    steps: Sequence[tuple[str, Step]],
    programs: Mapping[str, Program],
    num_tiles: int,
) -> tuple[tuple[MemoryStep, ...], Int64]:
    """Return the steps, and int64[num_tiles], the most bytes of a tile that are live in a step."""
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
    """Note where more is live in a step than before: only where something begins in the step."""
    for spread in begun:
        some = few(spread)
        if some is None:
            np.maximum(peak, live, out=peak)
            return
        for tile, _ in some:
            peak[tile] = max(peak[tile], live[tile])


# -- what does not fit -----------------------------------------------------------------------


def _overflow_error(
    memory: Memory, lines: Sequence[SourceLocation | None], target: Target
) -> GraphMemoryAllocationError:
    """Return the error of what needs more than there is: about the fullest tile.

    `lines` are the user's lines of what lies there.

    tile 2 is out of memory: it needs 9,768 B, and has 8,192 B  (model.py:4)
      at step 1 of 2: Copy 'weights' -> 'scratch'
      4,000 B: variable 'weights' (model.py:4)
      3,168 B: stacks
      ...
      not enough on 1 of 4 tiles: 2
      try: spread 'weights' over more of the 4 tiles than 1; ...
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
        found.append(f"{sum(others):,} B: {amount(len(others), 'other thing')}")
    needed = int(sizes[tile])
    if gaps := needed - sum(size for size, *_ in there):
        found.append(f"{gaps:,} B: gaps between them")
    of = f"{len(overflowing):,} of {amount(target.tiles, 'tile')}"
    found.append(f"not enough on {of}: {ranges(overflowing)}")
    _, largest, line = there[0]
    return GraphMemoryAllocationError(
        f"tile {tile:,} is out of memory: it needs {needed:,} B, and has {limit:,} B",
        at=here() if line is None else line,
        where="" if step == NO_STEP else memory.steps[step].name,
        found="\n".join(found),
        fix=f"{_advice(largest, tile, target.tiles)}; to run on regardless, "
        'options={"debug.allowOutOfMemory": True}',
    )


def _described(held: Held, line: SourceLocation | None) -> str:
    what = held.category.replace("_", " ")
    if held.category in BUFFERS.values():
        return f"{what} buffer of {held.name} ({line})"
    return held.name if line is None else f"{what} '{held.name}' ({line})"


def _advice(largest: Held, tile: int, num_tiles: int) -> str:
    """Return a way to make the largest thing on a tile smaller."""
    tiles, on = amount(num_tiles, "tile"), largest.bytes.tiles.count
    name, category = f"'{largest.name}'", largest.category
    if category in BUFFERS.values():
        return f"let {largest.name} move less at a time, or to more tiles"
    if category == "stack":
        return "model a tile with more memory: Target(tile_memory_bytes=...)"
    if category == "vertex_code":
        return f"make the code of {name} shorter"
    if not largest.at:
        return "write fewer steps: loops as Repeat(count, body)"
    if category not in ("variable", "constant"):
        if on < num_tiles:
            return f"spread the vertices {name} over more of the {tiles}"
        return f"make fewer vertices {name}, each of more elements"
    if on < num_tiles:
        return f"spread {name} over more of the {tiles} than {on:,}"
    size, total = largest.bytes[tile], largest.bytes.total
    if size > UNEVEN * total / num_tiles:
        return f'spread {name} evenly, mapping="linear": {size:,} of its {total:,} B are there'
    return f"make {name} smaller, or use more than {tiles}"
