"""Checks what the parts of a loaded report say of each other, so that all can be made of it.

    position    Access.variable            is below the number of variables
    name        ExecutionStep.operation    is that of an operation
    length      Memory.addresses           is that of `Memory.held`
    total       Phase.cycles of all steps  is what 64 bits hold

`FIELDS` and `OBJECTS` have them by name of the class.  Types have been looked at before, and whole
numbers are at least 0.  Numbers that nothing is looked up by may be any: a report may say nonsense.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from poplite.arrays.series import Listed
from poplite.codec.loading import Malformed
from poplite.machine.replicas import MOST_REPLICAS
from poplite.machine.target import Target
from poplite.report.accesses import MOST_PIECES, Variable
from poplite.report.execution import TilePairs
from poplite.report.per_tile import PerTile
from poplite.report.program_tree import num_steps
from poplite.text import clipped
from poplite.types import ELEMENT_TYPES

MOST_TOTAL = 1 << 62
"""Numbers of one kind add up to less, so that two such totals together have 64 bits."""

MOST_ORDERED = 1 << 27
"""Most steps in an order: as many as `Engine.tracing` records."""

LARGEST_ELEMENT = max(each.size_bytes for each in ELEMENT_TYPES)

ELEMENTS = frozenset(each.__name__ for each in ELEMENT_TYPES)


class Known(NamedTuple):
    """What a report has, by which its other parts are judged; of programs their steps and rows."""

    tiles: int
    variables: int
    compute_sets: int
    places: int
    memory_steps: int
    programs: Mapping[str, int]
    rows: frozenset[tuple[str, int]]
    operations: frozenset[str]


Holds = Callable[[Any, Known], bool]


def _compute_set(number: int | None, known: Known) -> bool:
    return number is None or number < known.compute_sets


def _program(name: str, known: Known) -> bool:
    return name in known.programs


def _shape(shape: Sequence[int] | None, _: Known) -> bool:
    return math.prod(shape or ()) < MOST_TOTAL


def _stretches(steps: Sequence[tuple[int, int]] | None, known: Known) -> bool:
    """Return whether stretches of steps rise, each to its last step."""
    before = -1
    for first, last in steps or ():
        if not before < first <= last < known.memory_steps:
            return False
        before = last
    return True


def _order(order: Sequence[tuple[int, int]], known: Known) -> bool:
    are_there = all(place < known.places and times for place, times in order)
    return are_there and sum(times for _, times in order) <= MOST_ORDERED


def _pieces(variable: Variable, known: Known) -> bool:
    """Return whether the pieces of a variable rise within it, each on a tile or on none."""
    if variable.first is None or variable.tiles is None:
        return variable.first is variable.tiles
    first, tiles = variable.first, variable.tiles
    if (
        len(first) != len(tiles)
        or not 0 < len(first) <= MOST_PIECES
        or first.num_used < len(first) - 1
    ):
        return False  # all but the first begin behind 0
    if first.num_used > 2 and first.values.only is not None:
        return False  # many that are written as one number, which do not rise
    ends = np.append(first.array(), math.prod(variable.shape))
    return bool(ends[0] == 0 and (np.diff(ends) > 0).all()) and tiles.most < known.tiles


def _of_blocks(pairs: TilePairs, known: Known) -> bool:
    """Return whether there is a number for each pair of blocks of tiles."""
    return pairs.block > 0 and pairs.bytes.num_tiles == (-(-known.tiles // pairs.block)) ** 2


FIELDS: dict[str, dict[str, Holds]] = {
    "Access": {"variable": lambda number, known: number < known.variables},
    "Compilation": {"replicas": lambda number, _: 1 <= number <= MOST_REPLICAS},
    "ExecutionStep": {
        "compute_set": _compute_set,
        "executions": lambda number, _: number > 0,
        "operation": lambda name, known: not name or name in known.operations,
        "program_name": _program,
    },
    "Held": {
        "align": lambda number, _: number > 0,
        "element_type": lambda name, _: not name or name in ELEMENTS,
        "shape": _shape,
        "steps": _stretches,
    },
    "JoinedCopies": {"program_name": _program},
    "Measured": {"program": _program},
    "MemoryStep": {
        "number": lambda number, known: number <= sum(known.programs.values()),
        "program": _program,
        "tile": lambda number, known: number < known.tiles,
    },
    "Operation": {
        "compute_sets": lambda numbers, known: all(n < known.compute_sets for n in numbers)
    },
    "Report": {"order": _order},
    "StepAccesses": {
        "compute_set": _compute_set,
        "places": lambda places, known: all(
            # What decides in all replicas alike may stand before the first step, at 0.
            0 <= number <= known.programs.get(name, -1)
            for name, number in places
        ),
    },
    "TilePairs": {
        "largest": lambda pairs, known: all(max(pair[:2]) < known.tiles for pair in pairs)
    },
    "Variable": {"element_type": lambda name, _: name in ELEMENTS},
}
"""By class and field: whether a value can be looked up."""

OBJECTS: dict[str, list[tuple[str, Holds]]] = {
    "Compilation": [
        (
            "variables are not as many as are counted",
            lambda each, _: len(each.variables) in (0, each.graph.num_variables),
        ),
        (
            "variables have more bytes than are counted",
            lambda each, _: (
                sum(math.prod(one.shape) for one in each.variables) * LARGEST_ELEMENT < MOST_TOTAL
            ),
        ),
    ],
    "Execution": [
        ("cycles are of no step", lambda each, _: bool(each.steps) or not each.cycles),
    ],
    "ExecutionStep": [
        (
            "the row is not one of its program",
            lambda each, known: (each.program_name, each.row) in known.rows,
        )
    ],
    "Memory": [
        (
            "addresses are not as many as things in memory",
            lambda each, _: len(each.addresses) in (0, len(each.held)),
        )
    ],
    "Report": [
        (
            "memory is not modelled where cycles are",
            lambda each, _: (
                each.instrumentation.is_modelled == (each.compilation.modelled is not None)
            ),
        )
    ],
    "TilePairs": [("numbers are not those of pairs of blocks", _of_blocks)],
    "Variable": [("pieces do not rise, or are on no tile of the target", _pieces)],
}
"""By class: what is true of several of its fields, and what to say where it is not."""


def check_report(report: Any) -> None:
    """Raise Malformed where a part of a Report says what cannot be looked up in the others."""
    compilation = report.compilation
    programs = compilation.programs
    memory = compilation.modelled
    known = Known(
        tiles=compilation.target.tiles,
        variables=len(compilation.variables),
        compute_sets=len(compilation.compute_sets),
        places=len(report.execution.steps),
        memory_steps=0 if memory is None else len(memory.steps),
        programs={name: num_steps(tree) for name, tree in programs.items()},
        rows=frozenset(
            (name, node.row)
            for name, tree in programs.items()
            for node in tree.walk()
            if not node.children
        ),
        operations=frozenset(each.name for each in compilation.operations),
    )
    check_parts([report], known)


def check_parts(parts: Iterable[Any], known: Known) -> None:
    """Raise Malformed where parts of a report, or what is below them, cannot be."""
    totals: Counter[tuple[type, str]] = Counter()
    pending: list[Any] = list(parts)
    while pending:
        each = pending.pop()
        cls: Any = type(each)
        rules = _rules(cls)
        for name, holds in rules.fields:
            if not holds(value := getattr(each, name), known):
                raise Malformed(f"{cls.__name__}.{name} cannot be {clipped(value)}")
        for what, holds in rules.objects:
            if not holds(each, known):
                raise Malformed(f"in a {cls.__name__}, {what}")
        for name in rules.saved:
            value = getattr(each, name)
            if type(value) is int:
                totals[cls, name] += value
                continue
            some = value if type(value) is tuple and value else (value,)
            kind: Any = type(some[0])
            if kind is PerTile:
                totals[cls, name] += sum(map(_most, some))
            elif _is_object(kind):
                pending += some
    for (cls, name), total in totals.items():
        if total >= MOST_TOTAL:
            raise Malformed(f"{cls.__name__}.{name} adds up to {total:,}")


class _Rules(NamedTuple):
    """What is checked of the objects of a class, and the names of its fields that are saved."""

    fields: list[tuple[str, Holds]]
    objects: list[tuple[str, Holds]]
    saved: list[str]


@cache
def _rules(cls: Any) -> _Rules:
    saved = [each.name for each in fields(cls) if each.metadata.get("saved", True)]
    name = cls.__name__
    return _Rules(list(FIELDS.get(name, {}).items()), OBJECTS.get(name, []), saved)


@cache
def _is_object(cls: Any) -> bool:
    return is_dataclass(cls) and cls is not Target


def _most(value: PerTile) -> int:
    """Return a number that none of those of tiles exceeds."""
    numbers = value.values
    if isinstance(numbers, Listed) and numbers.offset.dtype.kind == "u":
        return numbers.base + int(np.iinfo(numbers.offset.dtype).max)
    return value.most
