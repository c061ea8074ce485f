"""The error of tiles that have not enough memory.

tile 2 is out of memory: it needs 9,768 B, and has 8,192 B  (model.py:4)
  at step 1 of 2: Copy 'weights' -> 'scratch'
  4,000 B: variable 'weights' (model.py:4)
  3,168 B: stacks
  ...
  not enough on 1 of 4 tiles: 2
  try: spread 'weights' over more of the 4 tiles than 1; ...
"""

from __future__ import annotations

from poplite.cost.memory.contents import BUFFERS
from poplite.cost.memory.plan import NO_STEP, Held, MemoryPlan
from poplite.errors import SHOWN_FAULTS, GraphMemoryAllocationError
from poplite.graph.mapping.tile_mapping import ranges
from poplite.source import here
from poplite.text import counted

UNEVEN = 1.25
"""More than so many times the average is told to be less when it is spread evenly."""


def overflow_error(plan: MemoryPlan) -> GraphMemoryAllocationError:
    """Return the error of a plan that needs more than there is: about the fullest tile.

    Args:
        plan: of which some tile overflows.
    """
    tile, overflowing = plan.fullest, plan.overflowing
    step = int(plan.peak_step[tile])
    always = [(held, held.bytes.at(tile)) for held in plan.held if held.steps is None]
    there = [pair for pair in (*always, *plan.live_in(step, tile)) if pair[1]]
    there.sort(key=lambda pair: -pair[1])
    lines = [f"{size:,} B: {_told(held)}" for held, size in there[:SHOWN_FAULTS]]
    if others := [size for _, size in there[SHOWN_FAULTS:]]:
        lines.append(f"{sum(others):,} B: {counted(len(others), 'other thing')}")
    needed = int(plan.with_gaps()[tile])
    if gaps := needed - sum(size for _, size in there):
        lines.append(f"{gaps:,} B: gaps between them")
    of = f"{len(overflowing):,} of {counted(plan.num_tiles, 'tile')}"
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


def _told(held: Held) -> str:
    what = held.category.replace("_", " ")
    if held.category in BUFFERS.values():
        return f"{what} buffer of {held.name} ({held.at})"
    return held.name if held.at is None else f"{what} '{held.name}' ({held.at})"


def _advice(largest: Held, tile: int, num_tiles: int) -> str:
    """Return what makes less of the largest thing of a tile."""
    tiles, on = counted(num_tiles, "tile"), largest.bytes.tiles.count
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
