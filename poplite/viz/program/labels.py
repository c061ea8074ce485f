"""What the nodes of a program are called, and how counts and places of them are written.

>>> label_of(Repeat(100, Program())).title
'Repeat 100 times'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TypeAlias

from poplite.errors import ControlProgramError
from poplite.frozen import frozen
from poplite.graph.tensor.tensor_text import type_and_shape
from poplite.program import (
    Block,
    Call,
    CodeCopy,
    Copy,
    Execute,
    HostCall,
    If,
    Loop,
    Mark,
    Program,
    Repeat,
    RepeatWhile,
    Sequence,
    Switch,
)
from poplite.program.base import title_parts, unknown_kind, words_of_parts
from poplite.program.control import runs_in_order
from poplite.source import SourceLocation
from poplite.text import amount
from poplite.viz.draw.columns import pattern_of
from poplite.viz.draw.units import name_text, size_text

Times: TypeAlias = int | Fraction | None
"""How often a part runs each time that what holds it runs; None where data decide.

A fraction is the average of a run that was counted.
"""

MOST = 10**12
"""Counts stop here: nested Repeats multiply without bound."""

_NO_PICTURE = "no picture shows what {} does"

LAST_STEP = 10**9
"""A range of steps that ends beyond this number is written as its beginning only."""


@frozen(eq=False)
class Label:
    """The description of a node.

    Attributes:
        kind: "compute", "copy", "host" or "control".
        pattern: its title, with `{}` for each name.
        names: the names in it, as the user wrote them.
        numbers: its counts: vertices; elements and bytes; times.
        detail: what is not in the pattern, in words.
    """

    kind: str
    pattern: str
    names: tuple[str, ...]
    numbers: Mapping[str, int]
    detail: str

    @property
    def title(self) -> str:
        """The pattern with the names filled in, as the user wrote them."""
        return self.pattern.format(*(f"'{name}'" for name in self.names))


NOWHERE = SourceLocation("", 0, "<module>")
"""The line of a node of a saved file that has none."""


@frozen(eq=False, repr=False)
class SavedNode(Program):
    """A node of a program of which only what a report says is known.

    Attributes:
        label: what it is.
        below: the nodes under it.
        roles: what each of them is for; empty where it needs no word.
        times: how often each of them runs each time that it runs.
    """

    label: Label
    below: tuple[SavedNode, ...]
    roles: tuple[str, ...]
    times: tuple[Times, ...]

    def __post_init__(self) -> None:
        """Leave location and number of steps to who makes it."""

    @property
    def children(self) -> tuple[Program, ...]:
        """The nodes under it."""
        return self.below


def label_of(node: Program, role: str = "") -> Label:
    """Return what a node of a program is, without what lies below it; its role is written before.

    Raises ControlProgramError when its kind is not known here.

    >>> label_of(Sequence(name="main")).names
    ('main',)
    """
    label = _label(node)
    return replace(label, pattern=f"{pattern_of(role)}: {label.pattern}") if role else label


def _label(node: Program) -> Label:
    if isinstance(node, SavedNode):
        return node.label
    if not node.num_steps and not node.children and not isinstance(node, Sequence | Switch):
        return Label("control", type(node).__name__, (), {}, "empty")
    pattern, names = title_parts(node)
    kind, numbers, detail = _facts(node)
    return Label(kind, name_text(pattern.replace("'{}'", "{}")), names, numbers, detail)


def _facts(node: Program) -> tuple[str, dict[str, int], str]:
    """Return kind, counts and detail of a node."""
    match node:
        case Execute(compute_set=compute_set):
            count = len(compute_set.vertices)
            return "compute", {"vertices": count}, amount(count, "vertex", "vertices")
        case CodeCopy():
            return "copy", {}, "code of a function"
        case Copy(num_elements=count, size_bytes=size):
            words = f"{amount(count, 'element')}, {size_text(size)}"
            return "copy", {"bytes": size, "elements": count}, words
        case HostCall():
            return "host", *_moved(node)
        case Repeat(count=count):
            return "control", {"times": count}, ""
        case RepeatWhile(times=int(times)):
            return "control", {"times": times}, amount(times, "time")
        case Loop():
            return "control", {}, "until it is stopped"
        case Switch(unmatched=unmatched):
            return "control", {}, _UNMATCHED[unmatched]
        case Sequence():
            return "control", {}, "" if node.children else "empty"
        case Block() | Call() | If() | RepeatWhile():
            return "control", {}, ""
    if node.children:
        raise no_picture(node)
    return leaf_kind(node), *_moved(node)


_UNMATCHED = {"default": "", "error": "bounds checked", "unreachable": "no default"}
"""What a Switch says of values without a case."""


def leaf_kind(leaf: Program) -> str:
    """Return the kind of a step other than an Execute, by what it touches.

    >>> leaf_kind(Program())
    'control'
    """
    if isinstance(leaf, Mark) or not (leaf.reads or leaf.writes):
        return "control"
    return "copy" if leaf.reads and leaf.writes else "host"


def _moved(leaf: Program) -> tuple[dict[str, int], str]:
    """Return what a step writes, or else reads: elements and bytes, and in words."""
    tensors = leaf.writes or leaf.reads
    if not tensors:
        return {}, ""
    count = sum(tensor.num_elements for tensor in tensors)
    size = sum(tensor.num_elements * tensor.element_type.size_bytes for tensor in tensors)
    if len(tensors) == 1 and not (leaf.writes and leaf.reads):
        return {"elements": count}, type_and_shape(tensors[0])
    return {"bytes": size, "elements": count}, f"{amount(count, 'element')}, {size_text(size)}"


def roles_of(node: Program) -> list[str]:
    """Return what each child of a node is for; empty where it needs no word.

    >>> roles_of(Sequence(Program(), Program()))
    ['', '']
    """
    if isinstance(node, SavedNode):
        return list(node.roles)
    if isinstance(node, Switch):
        return [*(f"case {value:,}" for value in node.cases), "default"][: len(node.children)]
    return words_of_parts(node)


def times_of(node: Program) -> list[Times]:
    """Return how often each child of a node runs each time that the node runs.

    None where data decide, or nothing ends it.  Raises ControlProgramError when its kind is not
    known here.

    >>> times_of(Repeat(9, Program())), times_of(Sequence(Program()))
    ([9], [1])
    """
    match node:
        case SavedNode(times=times):
            return list(times)
        case Repeat(count=count):
            return [count]
        case RepeatWhile(times=int(times)):
            return [times + 1, times]
    return [1 if runs_in_order(node, _NO_PICTURE) else None] * len(node.children)


def product(runs: Times, times: Times) -> Times:
    """Return how often something runs that is repeated, `MOST` at most; None where data decide.

    >>> product(3, 4), product(3, None), product(0, None), product(5, Fraction(12, 5))
    (12, None, 0, 12)
    """
    if 0 in (runs, times):
        return 0
    if runs is None or times is None:
        return None
    total = min(runs * times, MOST)
    return int(total) if total == int(total) else total


def compiled_text(runs: int | None, as_compiled: int) -> str:
    """Return how often something runs; where data decide, in one run as compiled, with a `?`.

    >>> compiled_text(1234, 1234), compiled_text(None, 1000)
    ('1,234', '1,000?')
    """
    return count_text(runs) if runs is not None else f"{count_text(as_compiled)}?"


def no_picture(node: Program) -> ControlProgramError:
    """Return the error for a node of an unknown kind: what it does cannot be guessed.

    >>> no_picture(Program()).what
    'no picture shows what a Program does'
    """
    return unknown_kind(node, _NO_PICTURE)


def line_of(node: Program) -> str:
    """Return the line of a step that a regular expression is searched in.

    >>> line_of(Program()).split()[:2]
    ['Program', 'empty']
    """
    label = label_of(node)
    return f"{label.title}  {label.detail}  {line_text(node.location)}"


def line_text(location: SourceLocation) -> str:
    """Return a line with its callers, without folders; empty where there is none.

    >>> line_text(NOWHERE)
    ''
    """
    return "" if location is NOWHERE else location.portable


def count_text(count: int | None) -> str:
    """Return a count with separators; one that stopped at `MOST` says so, None is `?`.

    >>> count_text(1234), count_text(MOST), count_text(None)
    ('1,234', '10^12 or more', '?')
    """
    if count is None:
        return "?"
    return f"{count:,}" if count < MOST else "10^12 or more"


def many(count: int, noun: str) -> str:
    """Return a count with its noun.

    >>> many(1, "step"), many(2000, "step")
    ('1 step', '2,000 steps')
    """
    return f"{count_text(count)} {noun if count == 1 else noun + 's'}"


def runs_text(runs: int | None) -> str:
    """Return how often all steps together run; None where data decide.

    >>> runs_text(200), runs_text(None)
    ('run 200 times in all', 'run as often as data decide')
    """
    return "run as often as data decide" if runs is None else f"run {many(runs, 'time')} in all"


def step_numbers(first: int, count: int) -> str:
    """Return the numbers of `count` steps that follow each other; `first` counts from 1.

    >>> step_numbers(3, 1), step_numbers(3, 4)
    ('3', '3-6')
    """
    last = first + count - 1
    if count > 1 and last >= LAST_STEP:
        return f"{count_text(first)} on"
    return count_text(first) if count == 1 else f"{first:,}-{last:,}"


def place_of(location: SourceLocation) -> str:
    """Return the file and line of a location, without the function.

    >>> place_of(SourceLocation("net.py", 7, "build"))
    'net.py:7'
    """
    if location is NOWHERE:
        return ""
    own = SourceLocation(location.file, location.line, location.function)
    return own.portable.removesuffix(f" in {location.function}")


def places_of(locations: list[SourceLocation]) -> list[tuple[str, ...]]:
    """Return file and line of each, and of its caller where that distinguishes it from another.

    >>> calls = [SourceLocation("net.py", line, "<module>") for line in (20, 21)]
    >>> places_of([SourceLocation("net.py", 7, "dense", call) for call in calls])
    [('net.py:7', 'net.py:20'), ('net.py:7', 'net.py:21')]
    """
    callers: dict[str, set[SourceLocation | None]] = {}
    for each in locations:
        callers.setdefault(place_of(each), set()).add(each.caller)
    return [
        (place, place_of(each.caller)) if each.caller and len(callers[place]) > 1 else (place,)
        for each, place in zip(locations, map(place_of, locations), strict=True)
    ]
