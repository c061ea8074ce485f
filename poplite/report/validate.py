"""Checks that the parts of a loaded report are consistent, so that pictures can be drawn.

    position    Access.variable            is less than the number of variables
    name        ExecutionStep.operation    is that of an operation
    length      Memory.addresses           is that of `Memory.held`
    total       Phase.cycles of all steps  fits 64 bits

Fields declare bounds with their types (`checked`), and classes declare relations of several fields
in `RULES`.  Types have been checked before, and integers are at least 0.
Numbers that are not used as indices may have any value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, NamedTuple, get_args, get_type_hints

from poplite.arrays.series import Listed, Steps, limits
from poplite.codec.file_formats import Malformed, at
from poplite.machine.target import Target
from poplite.report.per_tile import PerTile
from poplite.report.program_tree import Program, num_steps
from poplite.text import clipped
from poplite.types import ELEMENT_TYPES

MOST_TOTAL = 1 << 62
"""The sum of the numbers of one field must be less, so that the sum of two such totals fits 64
bits.
"""

LARGEST_ELEMENT = max(each.size_bytes for each in ELEMENT_TYPES)

ELEMENTS = frozenset(each.__name__ for each in ELEMENT_TYPES)


class Known(NamedTuple):
    """The counts with which the parts of a report are compared; for programs, steps and rows."""

    tiles: int
    variables: int
    compute_sets: int
    places: int
    memory_steps: int
    programs: Mapping[str, int]
    rows: frozenset[tuple[str, int]]
    operations: frozenset[str]

    @classmethod
    def of(cls, programs: Mapping[str, Program], memory: Any, **counted: Any) -> Known:
        """Return the known counts of programs and of a Memory or None; other counts are zero."""
        nothing = dict.fromkeys(("variables", "compute_sets", "places"), 0)
        return cls(
            memory_steps=0 if memory is None else len(memory.steps),
            programs={name: num_steps(tree) for name, tree in programs.items()},
            rows=frozenset(
                (name, node.row)
                for name, tree in programs.items()
                for node in tree.walk()
                if not node.children
            ),
            **{"operations": frozenset(), **nothing, **counted},
        )


Holds = Callable[[Any, Known], bool]

Rule = tuple[str, Holds]
"""A message, and the relation between fields of an object whose violation it reports."""


def checked(holds: Holds) -> dict[str, Holds]:
    """Return metadata of a field that restricts the values that a file may contain.

    `holds` takes a value and the known counts, and returns whether the value is valid.
    """
    return {"holds": holds}


def in_program(name: str, known: Known) -> bool:
    """Return whether a report has a program."""
    return name in known.programs


def in_compute_sets(number: int | None, known: Known) -> bool:
    """Return whether a report has a compute set with this number, or the number is None."""
    return number is None or number < known.compute_sets


def is_element_type(name: str, _: Known) -> bool:
    """Return whether an element type has this name."""
    return name in ELEMENTS


def check_report(report: Any) -> None:
    """Raise Malformed if a part of a Report refers to an item that is not in it."""
    compilation = report.compilation
    known = Known.of(
        compilation.programs,
        compilation.modelled,
        tiles=compilation.target.tiles,
        variables=len(compilation.variables),
        compute_sets=len(compilation.compute_sets),
        places=len(report.execution.steps),
        operations=frozenset(each.name for each in compilation.operations),
    )
    check_parts(report, known)


def check_parts(whole: Any, known: Known, names: Iterable[str] | None = None) -> None:
    """Raise Malformed, which names the field, if parts of a report or an executable are invalid.

    Args:
        whole: the report or the executable.
        known: its known counts.
        names: the names of the fields whose parts are checked; by default all, and `whole` itself.
    """
    try:
        _check_whole(whole, known, names, one_by_one=False)
    except Malformed:
        _check_whole(whole, known, names, one_by_one=True)
        raise


def _check_whole(
    whole: Any, known: Known, names: Iterable[str] | None, *, one_by_one: bool
) -> None:
    """Check all objects of a class together, or one by one to find the field for the message."""
    checks = _Checks(known, one_by_one)
    if names is None:
        checks.check([whole])
    else:
        checks.check_below([whole], names)
    for (cls, name), total in checks.totals.items():
        if total >= MOST_TOTAL:
            raise Malformed(
                f"the sum of {cls.__name__}.{name} must be less than {MOST_TOTAL:,}; "
                f"found {total:,}"
            )


class _Checks:
    """Checks of objects, and the sums of the numbers in their fields."""

    def __init__(self, known: Known, one_by_one: bool) -> None:
        self._known, self._one_by_one = known, one_by_one
        self.totals: Counter[tuple[type, str]] = Counter()

    def check(self, parts: Sequence[Any]) -> None:
        """Check objects of a class: fields, the objects below, then rules about several fields."""
        cls: Any = type(parts[0])
        rules = _rules(cls)
        for name, holds in rules.fields:
            for value in _distinct([getattr(part, name) for part in parts]):
                if not holds(value, self._known):
                    raise Malformed(f"{cls.__name__}.{name} cannot be {clipped(value)}")
        self.check_below(parts, rules.looked_at)
        for what, holds in getattr(cls, "RULES", ()):
            for part in parts:
                if not holds(part, self._known):
                    raise Malformed(f"in a {cls.__name__}, {what}")

    def check_below(self, parts: Sequence[Any], names: Iterable[str]) -> None:
        """Check the values of some fields of objects of a class, and sum their numbers."""
        cls = type(parts[0])
        for name in names:
            column = [getattr(part, name) for part in parts]
            kinds = dict.fromkeys(map(type, column))
            if int in kinds:
                self.totals[cls, name] += sum([each for each in column if type(each) is int])
            if is_tuple := tuple in kinds:
                column = [each for value in column for each in value or ()]
                kinds = dict.fromkeys(map(type, column))
            for kind in kinds:
                if kind is PerTile:
                    spreads = [each.values for each in column if type(each) is PerTile]
                    own = {id(values): values for values in spreads}  # of a file, often few
                    high = {key: limits(values)[1] for key, values in own.items()}
                    self.totals[cls, name] += sum([high[id(values)] for values in spreads])
                elif _is_object(kind):
                    self._check_each(column, kind, f".{name}", is_tuple=is_tuple)

    def _check_each(self, column: Sequence[Any], kind: type, name: str, *, is_tuple: bool) -> None:
        if not self._one_by_one:
            self.check([each for each in column if type(each) is kind])
            return
        for number, each in enumerate(column):
            if type(each) is kind:
                with at(f"{name}[{number}]" if is_tuple else name):
                    self.check([each])


def _distinct(values: Sequence[Any]) -> Iterable[Any]:
    """Return values without those that are equal to others, if all can be hashed."""
    try:
        return values if len(values) == 1 else dict.fromkeys(values)
    except TypeError:
        return values


class _Rules(NamedTuple):
    """The valid values of the fields of a class, and the names of those with numbers or objects."""

    fields: list[tuple[str, Holds]]
    looked_at: list[str]


@cache
def _rules(cls: Any) -> _Rules:
    every, types = fields(cls), get_type_hints(cls)
    holds = [(each.name, each.metadata["holds"]) for each in every if "holds" in each.metadata]
    saved = [each.name for each in every if each.metadata.get("saved", True)]
    return _Rules(holds, [name for name in saved if _has_parts(types[name])])


def _has_parts(annotation: Any) -> bool:
    """Return whether values of a type are numbers to be summed, or contain objects."""
    inner = get_args(annotation)
    return any(map(_has_parts, inner)) if inner else annotation is int or _is_object(annotation)


@cache
def _is_object(cls: Any) -> bool:
    return is_dataclass(cls) and cls not in (Target, Steps, Listed)
