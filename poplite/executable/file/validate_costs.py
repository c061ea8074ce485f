"""Checks the costs of a loaded executable: tiles exist, vertices are those of the steps.

    numbers     tiles of the target, rising; no number below zero
    vertices    as many of each class as the step has; every tile and every shape exists
    shapes      as many words as the class has; no length beyond memory

Reports add up these numbers, partly in compiled code.  Numbers that the file does not list one by
one are not listed here either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Listed, Series
from poplite.codec.loading import Malformed, at
from poplite.cost.step_cost import StepCost, VertexCosts
from poplite.executable import opcodes as op
from poplite.executable.actions import Action, HostAction, Stamp
from poplite.executable.descriptor import COUNT
from poplite.executable.file.validate_vertices import check_vertex_tiles
from poplite.executable.opcodes import Code
from poplite.executable.step import ComputeStep, CopyStep
from poplite.graph.compute_sets.perf_estimates import MOST
from poplite.graph.compute_sets.shape_fields import WORDS, fields_of
from poplite.machine.target import Target
from poplite.vertex.vertex import Vertex

MOST_WORKERS = 1 << 28
"""Most workers of all tiles together: there is a number of each while vertices are shared out."""


def check_workers(target: Target) -> None:
    """Check that a target has no more workers than can be shared out."""
    if target.tiles * target.workers > MOST_WORKERS:
        raise Malformed(f"target: {target.tiles:,} tiles of {target.workers:,} workers")


def check_step_costs(
    costs: Sequence[StepCost], steps: Sequence[ComputeStep | CopyStep], *, tiles: int, arena: int
) -> None:
    """Check what the first steps cost, at least all compute sets; `steps` have been checked."""
    sets = sum(isinstance(step, ComputeStep) for step in steps)
    if not sets <= len(costs) <= len(steps):
        raise Malformed(f"costs of {len(costs):,} steps, there are {len(steps):,}")
    for number, (cost, step) in enumerate(zip(costs, steps, strict=False)):
        with at(f".costs[{number}]"):
            _check_families(cost, step if isinstance(step, ComputeStep) else None, tiles, arena)


def check_action_costs(costs: Sequence[StepCost | None], actions: Sequence[Action]) -> None:
    """Check what each action costs; None for those that cost nothing."""
    if len(costs) != len(actions):
        raise Malformed(f"costs of {len(costs):,} actions, there are {len(actions):,}")
    for number, (cost, action) in enumerate(zip(costs, actions, strict=True)):
        if cost is not None:
            with at(f".action_costs[{number}]"):
                if not isinstance(action, HostAction | Stamp):
                    raise Malformed(f"{type(action).__name__} takes nothing")
                _check_families(cost, None, 0, 0)


def check_copy_cost(cost: StepCost) -> None:
    """Check what a Copy costs."""
    if cost.vertices or cost.after:
        raise Malformed("a Copy runs vertices")


def check_slot_sums(code: Code) -> None:
    """Check that slots are summed for the step that was launched last; ops have been checked."""
    ops = code.ops
    sums = np.flatnonzero((ops[:, 0] == op.LAUNCH) & (ops[:, 2] == op.SUM_SLOTS))
    rows = np.sort(code.step_rows)
    before = np.searchsorted(rows, sums) - 1
    if (before < 0).any() or (ops[rows[before], 1] != ops[sums, 1]).any():
        raise Malformed("it counts what does not run")


def _check_families(cost: StepCost, step: ComputeStep | None, tiles: int, arena: int) -> None:
    if step is None:
        if cost.vertices:
            raise Malformed("vertices, where none run")
        return
    found = Counter[type[Vertex]]()
    for number, family in enumerate(cost.vertices):
        with at(f".vertices[{number}]"):
            found[family.cls] += _check_vertices(family, step.num_vertices, tiles, arena)
    there = Counter[type[Vertex]]()
    for group in step.groups:
        there[group.cls] += int(group.rows[:, COUNT].sum())
    if found != there:
        raise Malformed(f"vertices of other classes than the {step.num_vertices:,} of the step")
    # Counts of single vertices are written to a table of as many entries as there are vertices.
    if found and max(each.numbers.high for each in cost.vertices) < step.num_vertices - 1:
        raise Malformed(f"no vertex has number {step.num_vertices - 1:,}")


def _check_vertices(family: VertexCosts, num_vertices: int, num_tiles: int, arena: int) -> int:
    count = series_count(family.numbers)
    if not 1 <= count <= num_vertices:
        raise Malformed(f"{count:,} of {num_vertices:,} vertices")
    _check_within(family.numbers, num_vertices - 1)
    if family.tiles.num_tiles != num_tiles:
        raise Malformed(f"tiles of a target of {family.tiles.num_tiles:,}")
    with at(".tiles"):
        check_vertex_tiles(family.tiles, count, num_tiles)
    is_priced = family.slots is not None
    if is_priced == (family.source == "automatic"):
        raise Malformed(f"slots are said to be {family.source}")
    for name, series in (("slots", family.slots), ("flops", family.flops)):
        if series is not None:
            with at(f".{name}"):
                _check_series(series, count, MOST)
    if not is_priced:
        if family.shapes is None or family.shape is None:
            raise Malformed("neither slots nor shapes")
        with at(".shapes"):
            _check_shapes(family.cls, family.shapes, count, arena)
        with at(".shape"):
            _check_series(family.shape, count, len(family.shapes) - 1)
    elif family.shapes is not None or family.shape is not None:
        raise Malformed("slots and shapes")
    return count


def _check_shapes(cls: type[Vertex], shapes: Int64, count: int, arena: int) -> None:
    fields = fields_of(cls)
    words = sum(WORDS[field.kind] for field in fields)
    if shapes.ndim != 2 or shapes.shape[1] != words or not 1 <= len(shapes) <= count:
        raise Malformed(f"shape {shapes.shape}, {words} words are needed")
    if not shapes.flags.c_contiguous or (not words and len(shapes) > 1):
        raise Malformed("one shape several times")
    for field in fields:
        most = arena if field.kind == "length" else MOST
        for word in range(WORDS[field.kind] if field.kind != "value" else 0):
            own = shapes[:, field.first_word + word]
            if int(own.min()) < 0 or int(own.max()) > most:
                raise Malformed(f"'{field.name}' of {int(own.min()):,} to {int(own.max()):,}")


def _check_series(series: Series, count: int, most: int) -> None:
    """Check that there are as many numbers as needed, all of them in [0, most]."""
    if series_count(series) != count:
        raise Malformed(f"{series_count(series):,} of {count:,} vertices")
    _check_within(series, most)


def check_rising(series: Series, most: int, what: str) -> None:
    """Check that the numbers of a series, which is not empty, rise within [0, most]."""
    if isinstance(series, Listed):
        rise = _rise(series.offset)
        low, high = series.at(0), series.at(-1)
    else:
        low, high = series.low, series.high
        step = 1 if series.count == 1 else series.step
        rise = 0 <= low <= high <= most and (_rise(series.array()) if step is None else step > 0)
    if not rise and 0 <= low <= high <= most:
        raise Malformed(f"its {what} do not rise")
    _check_bounds(low, high, most)


def _rise(numbers: npt.NDArray[np.integer[Any]]) -> bool:
    return bool((numbers[1:] > numbers[:-1]).all())


def _check_within(series: Series, most: int) -> None:
    """Check that the numbers of a series, which is not empty, lie in [0, most]."""
    if isinstance(series, Listed) and series.offset.dtype.kind == "u":
        room = most - (1 << 8 * series.offset.itemsize)
        if 0 <= series.base <= room:  # whatever the offsets are
            return
    _check_bounds(series.low, series.high, most)


def _check_bounds(low: int, high: int, most: int) -> None:
    if not 0 <= low <= high <= most:
        raise Malformed(f"numbers {low:,} to {high:,} of 0 to {most:,}")


def series_count(series: Series) -> int:
    """Return how many numbers a series has; -1 for a malformed one."""
    if isinstance(series, Listed):
        return len(series.offset) if series.offset.ndim == 1 else -1
    return -1 if any(extent < 0 for extent, _ in series.digits) else series.count
