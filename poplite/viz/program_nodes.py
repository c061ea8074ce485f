"""Nodes of a program: their titles, and how often their children run.

A live program has its nodes itself.  A report says what was compiled: its programs are made into
nodes here, without the names of blocks and sequences, and without what does nothing.  How often
parts ran that data decide comes from the report of one run::

    RepeatWhile 'go_on'      entered 5 times
      body: Execute 'step'   ran 12 times, so 12/5 times each time that the loop is entered

What no step shows is left open: parts without steps of their own, and functions that several calls
share, whose steps are counted for all of them together.

>>> label_of(Repeat(100, Program())).title
'Repeat 100 times'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Literal, TypeAlias

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
from poplite.program.base import fill, title_parts, unknown_kind, words_of_parts
from poplite.program.control import runs_in_order
from poplite.report import Report
from poplite.report.compilation import Compilation, StepAccesses
from poplite.report.program_tree import (
    BY_DATA,
    Program as CompiledProgram,
    ProgramType,
    children_first,
    repeats,
    steps_below,
)
from poplite.source import SourceLocation, location_from
from poplite.text import amount
from poplite.viz.draw.words import name_text, names_in, pattern_of, size_text

Times: TypeAlias = int | Fraction | None
"""How often a part runs per run of its parent; None if it depends on data.

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
        detail: facts that are not in the pattern, in words.
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
    """A node of a program that is known only from a report.

    Attributes:
        label: its title.
        below: the nodes under it, each with what it is for, empty if it needs no word, and how
            often it runs each time that this one runs.
    """

    label: Label
    below: tuple[tuple[SavedNode, str, Times], ...]

    def __post_init__(self) -> None:
        """Leave location and number of steps to the caller."""

    @property
    def children(self) -> tuple[Program, ...]:
        """The nodes under it."""
        return tuple(node for node, _, _ in self.below)


def label_of(node: Program, role: str = "") -> Label:
    """Return the description of a node, without its children, after its role.

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
"""Text of a Switch for values without a case."""


def leaf_kind(leaf: Program) -> Literal["copy", "control", "host"]:
    """Return the kind of a step other than an Execute, from its accesses.

    >>> leaf_kind(Program())
    'control'
    """
    if isinstance(leaf, Mark) or not (leaf.reads or leaf.writes):
        return "control"
    return "copy" if leaf.reads and leaf.writes else "host"


def _moved(leaf: Program) -> tuple[dict[str, int], str]:
    """Return the elements and bytes that a step writes, or else reads, also in words."""
    tensors = leaf.writes or leaf.reads
    if not tensors:
        return {}, ""
    count = sum(tensor.num_elements for tensor in tensors)
    size = sum(tensor.num_elements * tensor.element_type.size_bytes for tensor in tensors)
    if len(tensors) == 1 and not (leaf.writes and leaf.reads):
        return {"elements": count}, type_and_shape(tensors[0])
    return {"bytes": size, "elements": count}, f"{amount(count, 'element')}, {size_text(size)}"


def roles_of(node: Program) -> list[str]:
    """Return the role of each child of a node; empty if it needs no word.

    >>> roles_of(Sequence(Program(), Program()))
    ['', '']
    """
    if isinstance(node, SavedNode):
        return [role for _, role, _ in node.below]
    if isinstance(node, Switch):
        return [*(f"case {value:,}" for value in node.cases), "default"][: len(node.children)]
    return words_of_parts(node)


def times_of(node: Program) -> list[Times]:
    """Return how often each child of a node runs per run of the node.

    None if it depends on data, or nothing ends it.  Raises ControlProgramError when its kind is not
    known here.

    >>> times_of(Repeat(9, Program())), times_of(Sequence(Program()))
    ([9], [1])
    """
    match node:
        case SavedNode(below=below):
            return [times for _, _, times in below]
        case Repeat(count=count):
            return [count]
        case RepeatWhile(times=int(times)):
            return [times + 1, times]
    return [1 if runs_in_order(node, _NO_PICTURE) else None] * len(node.children)


def product(runs: Times, times: Times) -> Times:
    """Return a product of execution counts, `MOST` at most; None if it depends on data.

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
    """Return an execution count; if it depends on data, that of one run as compiled, with a `?`.

    >>> compiled_text(1234, 1234), compiled_text(None, 1000)
    ('1,234', '1,000?')
    """
    return count_text(runs) if runs is not None else f"{count_text(as_compiled)}?"


def no_picture(node: Program) -> ControlProgramError:
    """Return the error for a node of an unknown kind.

    >>> no_picture(Program()).what
    'no picture shows what a Program does'
    """
    return unknown_kind(node, _NO_PICTURE)


def line_of(node: Program) -> str:
    """Return the line of a step in which a regular expression is searched.

    >>> line_of(Program()).split()[:2]
    ['Program', 'empty']
    """
    label = label_of(node)
    return f"{label.title}  {label.detail}  {line_text(node.location)}"


def line_text(location: SourceLocation) -> str:
    """Return a line with its callers, without folders; empty if there is none.

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
    """Return how often all steps together run; None if it depends on data.

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


# -- programs of reports ---------------------------------------------------------------------------

KINDS = {
    ProgramType.EXECUTE: "compute",
    ProgramType.COPY: "copy",
    ProgramType.HOST_COPY: "copy",
    ProgramType.HOST_CALL: "host",
    ProgramType.HOST_ACTION: "host",
}
"""The appearance of steps; all other nodes look like control."""


def saved_programs(report: Report) -> dict[str, SavedNode]:
    """Return the programs of a report by name, as pictures draw them.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> x, y = (graph.add_variable(pl.INT, (4,), name, mapping=1) for name in "xy")
    >>> programs = saved_programs(pl.Engine(graph, pl.Copy(x, y)).report())
    >>> programs["0"].label.title
    "Copy 'x' -> 'y'"
    """
    compilation = report.compilation
    trees = compilation.programs
    return {
        name: _tree(compilation, name, trees[name], times_of_run(report, name, trees[name]))
        for name in compilation.program_names
    }


def _tree(
    compilation: Compilation, name: str, root: CompiledProgram, counted: Mapping[int, list[Times]]
) -> SavedNode:
    known = {
        number: step
        for step in compilation.accesses
        for program, number in step.places
        if program == name and step.kind != "control"
    }
    counts = steps_below(root)
    numbers = _first_numbers(root, counts)
    made: dict[int, SavedNode] = {}
    for node in children_first(root):
        step = None if node.children else known.get(numbers[id(node)])
        parts: list[tuple[SavedNode, str, Times]] = []
        each_times = counted.get(id(node)) or [times_below(node)] * len(node.children)
        for child, runs in zip(node.children, each_times, strict=True):
            under = made[id(child)].below
            is_group = child.type is ProgramType.SEQUENCE
            if is_group and node.type is ProgramType.CALL:  # the body of the function
                parts += [(each, "", runs) for each, _, _ in under]
            else:  # a group of one is that one
                only = under[0][0] if is_group and len(under) == 1 else made[id(child)]
                parts.append((only, child.role, runs))
        label = _compiled_label(node, step, compilation)
        new = SavedNode(label, tuple(parts))
        steps, location = counts[id(node)], location_from(node.at) or NOWHERE
        fill(new, num_steps=steps, is_empty=not steps, location=location)
        made[id(node)] = new
    whole = made[id(root)]
    return made[id(root.children[0])] if len(root.children) == 1 else whole


def _first_numbers(root: CompiledProgram, counts: Mapping[int, int]) -> dict[int, int]:
    """Return the number of the first step of each program, where it first occurs."""
    found: dict[int, int] = {}
    pending = [(root, 1)]
    while pending:
        node, number = pending.pop()
        if id(node) in found:
            continue
        found[id(node)] = number
        below = []
        for child in node.children:
            below.append((child, number))
            number += counts[id(child)]
        pending.extend(reversed(below))
    return found


def _compiled_label(
    node: CompiledProgram, step: StepAccesses | None, compilation: Compilation
) -> Label:
    kind, name = node.type, node.name
    look = KINDS.get(kind, "control")
    if kind is ProgramType.REPEAT:
        return Label("control", f"Repeat {name}", (), {"times": repeats(node)}, "")
    if kind is ProgramType.EXECUTE:
        numbers, words = _compiled_vertices(step, compilation)
        return Label(look, "Execute {}", (name,), numbers, words)
    if kind is ProgramType.COPY:
        return Label(look, *of_copy(name), *_compiled_bytes(step))
    if node.children or kind.value in ("Loop", "If", "Switch", "Sequence", "RepeatWhile", "Call"):
        detail = "until it is stopped" if kind is ProgramType.LOOP else ""
        if not node.children:
            detail = "empty"
        is_named = name and kind is not ProgramType.SEQUENCE  # else a program's, or a case's
        names = (name,) if is_named else ()
        return Label("control", kind.value + " {}" * bool(names), names, {}, detail)
    text = step.name if step is not None else name or kind.value
    if kind is ProgramType.HOST_COPY and "'" not in text:
        text = f"Copy the code of '{text}'"
    return Label(look, *names_in(text), *_compiled_bytes(step))


def _compiled_vertices(
    step: StepAccesses | None, compilation: Compilation
) -> tuple[dict[str, int], str]:
    if step is None or step.compute_set is None:
        return {}, ""
    found = compilation.compute_sets[step.compute_set]
    count = sum(each.count_by_tile.total for each in found.vertices)
    return {"vertices": count}, amount(count, "vertex", "vertices")


def _compiled_bytes(step: StepAccesses | None) -> tuple[dict[str, int], str]:
    """Return the bytes that a step writes, or else reads."""
    if step is None:
        return {}, ""
    size = sum(each.written for each in step.accesses) or sum(e.read for e in step.accesses)
    return ({"bytes": size}, size_text(size)) if size else ({}, "")


def of_copy(name: str) -> tuple[str, tuple[str, ...]]:
    """Return the pattern and the names of a copy, by its name.

    >>> of_copy("x to y"), of_copy("Copy 'images' -> 'x'")
    (('Copy {} -> {}', ('x', 'y')), ('Copy {} -> {}', ('images', 'x')))
    """
    if name.startswith("Copy '"):
        return names_in(name)
    ends = name.split(" to ")
    return ("Copy {} -> {}", tuple(ends)) if len(ends) == 2 else ("Copy {}", (name,))


# -- counts of a run -------------------------------------------------------------------------------


def times_below(node: CompiledProgram) -> int | None:
    """Return how often the children of a program run per run; None if it depends on data."""
    if node.type is ProgramType.REPEAT:
        return repeats(node)
    return None if node.type in BY_DATA else 1


def times_of_run(report: Report, name: str, root: CompiledProgram) -> dict[int, list[Times]]:
    """Return how often each part of data-dependent programs ran, by the `id` of the program.

    Empty if the report is not that of one run, or costs are not modelled.
    """
    ran = {
        step.row: step.executions for step in report.execution.steps if step.program_name == name
    }
    if report.execution.runs != 1 or not any(ran.values()):
        return {}
    below_first = children_first(root)
    places = dict.fromkeys(map(id, below_first), 0)
    for node in below_first:
        for child in node.children:
            places[id(child)] += 1
    counts: dict[int, int | None] = {}
    for node in below_first:
        counts[id(node)] = _count(node, ran, counts) if places[id(node)] < 2 else None
    found: dict[int, list[Times]] = {}
    total: dict[int, Times] = dict.fromkeys(counts) | {id(root): 1}
    for node in reversed(below_first):
        entered, times = total[id(node)], times_below(node)
        each: list[Times] = [times] * len(node.children)
        if times is None and entered:
            found[id(node)] = each = _shares(node, counts, entered)
        for child, runs in zip(node.children, each, strict=True):
            total[id(child)] = product(entered, runs) if places[id(child)] == 1 else None
    return found


def _count(
    node: CompiledProgram, ran: Mapping[int, int], counts: Mapping[int, int | None]
) -> int | None:
    """Return how often a program ran, derived from a step in it; None if no step tells."""
    if not node.children:
        return ran.get(node.row)
    times, below = times_below(node), [counts[id(child)] for child in node.children]
    known = next((each for each in below if each is not None), None)
    return known // times if times and known is not None else None


def _shares(
    node: CompiledProgram, counts: Mapping[int, int | None], entered: int | Fraction
) -> list[Times]:
    """Return how often each part ran per run; parts with the same role run equally often."""
    by_role: dict[str, int] = {}
    for child in node.children:
        count = counts[id(child)]
        if count is not None:
            by_role.setdefault(child.role, count)
    known = (by_role.get(child.role) for child in node.children)
    return [None if count is None else Fraction(count) / entered for count in known]
