"""A program as a tree: a row for each node, with step numbers, counts and the user's lines.

    step  program                                       where
          Sequence 'main'                           net.py:20
       1    Copy 'image' -> 'a'  12 elements, 48 B  net.py:21
            Repeat 100 times                        net.py:22
       2      Execute 'a to b'  96 vertices         net.py:14

A sub-tree that stands in several places is drawn in the first; where it is large, the others
refer to its steps.  So the drawing is about as large as what the user built, even where sharing
makes 2^60 steps of it.  The lines and runs of sub-trees are counted before, once for every
distinct one, from the leaves up.  Nothing is recursive: programs may be as deep as they are long.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from typing import ClassVar, NamedTuple

from poplite.errors import SHOWN_FAULTS, UnknownName
from poplite.frozen import frozen
from poplite.program import Program, children_first, distinct_steps
from poplite.program.base import checked
from poplite.source import SourceLocation
from poplite.viz.colours import KINDS, THINGS
from poplite.viz.draw.words import cut, filled, name_text
from poplite.viz.marks import Legend, ListColumn, Listing, ListRow, Picture, Words, composed
from poplite.viz.names import place_of
from poplite.viz.painters import PictureData, by_field
from poplite.viz.program_nodes import (
    MOST,
    Label,
    Times,
    compiled_text,
    count_text,
    label_of,
    line_of,
    line_text,
    many,
    product,
    roles_of,
    runs_text,
    step_numbers,
    times_of,
)

FEW_LINES = 3
"""Lines of a shared sub-tree that is drawn again rather than referred to."""

MOST_LINES = 300
"""Maximum lines of a picture; no one reads more."""

LONGEST_PLACE = 24
"""Units of a file and line."""

LEAST_TITLE, LEAST_FOR_HELPERS = 22, 44
"""Units that titles have before the user's lines, and those of helpers, are left out for them."""


@frozen(eq=False)
class TreeRow:
    """One node of a program, in one place.

    Attributes:
        is_leaf: whether it is a step.
        level: its depth; the root has depth 0.
        parent: position of its parent among the rows, -1 for none.
        label: its title.
        note: why its children are not drawn, if so.
        first_step: number of its first step.
        num_steps: steps in it.
        runs: total number of executions, at most `MOST`; None if it depends on data.
        as_compiled: the same of one run as compiled: with all branches, and once round loops that
            data end.
        location: the user's line that made it.
    """

    is_leaf: bool
    level: int
    parent: int
    label: Label
    note: str
    first_step: int
    num_steps: int
    runs: int | None
    as_compiled: int
    location: SourceLocation

    @property
    def steps(self) -> str:
        """The numbers of the steps that this row represents; empty if rows for them follow."""
        shown = self.num_steps and (self.is_leaf or self.note)
        return step_numbers(self.first_step, self.num_steps) if shown else ""


@frozen(eq=False)
class ProgramTree(PictureData):
    """The rows of a program.

    Attributes:
        rows: from top to bottom.
        hidden: rows that are left out at the end.
        num_steps: steps of the program, also those that are not drawn.
        match: the regular expression that chose steps, if any.
        matched: steps that it chose; all of them when there is none.
        runs: their total number of executions, at most `MOST`; None if it depends on data.
        name: of the program, empty if there is no other one.
        has_counts: whether the picture says how often each row runs.
    """

    rows: tuple[TreeRow, ...]
    hidden: int
    num_steps: int
    match: str | None
    matched: int
    runs: int | None
    name: str = ""
    has_counts: bool = False

    KIND: ClassVar[str] = "program"

    def notice(self) -> str:
        """Return the line below rows that are cut off; empty when nothing is left out."""
        if not self.hidden:
            return ""
        lines = f"{self.hidden:,} more {'line' if self.hidden == 1 else 'lines'}"
        return f"... {lines}; --depth N or --match REGEX draws a part, -o FILE.txt writes all"

    @property
    def heading(self) -> str:
        """How many steps there are, and how often they run."""
        steps = many(self.num_steps, "step")
        if self.match is not None:
            verb = "matches" if self.matched == 1 else "match"
            steps = f"{count_text(self.matched)} of {steps} {verb} {self.match!r}"
        program = f"program {self.name!r}" if self.name else "program"
        return f"{program}: {steps}{f', {runs_text(self.runs)}' if self.has_counts else ''}"

    def picture(self) -> Picture:
        """Return a row for each node of a program.

        >>> from poplite.program import Sequence
        >>> program_tree(Sequence(name="main")).picture().title
        'program: 0 steps'
        """
        present = {row.label.kind for row in self.rows}
        kinds = Legend(tuple(THINGS[kind] for kind in KINDS if kind in present), in_text=False)
        notice = Words(self.notice(), "soft") if self.hidden else ()
        return composed(self.heading, [kinds, self._listing()], notice)

    def _listing(self) -> Listing:
        """Return a row for each node, with the lines of helpers in a column of their own."""
        places = self._places()
        has_helpers = any(helper for _, helper in places)
        columns = (
            ListColumn("step"),
            *([ListColumn("runs")] * self.has_counts),
            ListColumn("program", "name", keeps_aside=True),
            ListColumn("where", spare=2, least=LEAST_TITLE),
            *([ListColumn("in helper", spare=1, least=LEAST_FOR_HELPERS)] * has_helpers),
        )
        rows = []
        for row, (place, helper) in zip(self.rows, places, strict=True):
            counts = [compiled_text(row.runs, row.as_compiled)] * self.has_counts
            label = row.label
            title = label.pattern.format(*(f"'{name_text(name)}'" for name in label.names))
            aside = ", ".join(filter(None, (label.detail, row.note)))
            said = (title, label.detail, row.note, name_text(line_text(row.location)))
            cells = (row.steps, *counts, title, place, *([helper] * has_helpers))
            tip = "\n".join(filter(None, said))
            rows.append(ListRow(cells, THINGS[label.kind], aside, row.level, tip=tip))
        return Listing(columns, tuple(rows))

    def _places(self) -> list[tuple[str, str]]:
        """Return the user's line of each row, and that of a helper that several lines call."""
        own = [place_of(line_text(row.location)) for row in self.rows]
        callers: dict[str, set[SourceLocation | None]] = defaultdict(set)
        for row, place in zip(self.rows, own, strict=True):
            callers[place].add(row.location.caller)
        found = []
        for row, place in zip(self.rows, own, strict=True):
            caller = row.location.caller if len(callers[place]) > 1 else None
            both = (place_of(caller.portable), place) if caller else (place, "")
            found.append((cut(both[0], LONGEST_PLACE), cut(both[1], LONGEST_PLACE)))
        return found

    def data(self) -> dict[str, object]:
        """Return the rows as a flat list, in which each names the position of its parent.

        >>> program_tree(Program()).data()["rows"][0]["title"]
        'Program'
        """
        rows = [
            by_field(row, "label", "location", "is_leaf")
            | by_field(row.label, "pattern", "detail")
            | {"title": row.label.title, "at": line_text(row.location)}
            for row in self.rows
        ]
        return by_field(self, "rows", "hidden", "has_counts") | {"rows": rows}


class _Pending(NamedTuple):
    """A node that is yet to be drawn, with its place and how often it runs."""

    node: Program
    role: str
    parent: int
    level: int
    runs: int | None
    as_compiled: int

    def below(self, place: int) -> Iterator[_Pending]:
        """Yield its children, if they are drawn."""
        node, level = self.node, self.level + 1
        for child, role, times in zip(node.children, roles_of(node), times_of(node), strict=True):
            planned = product(self.as_compiled, times if isinstance(times, int) else 1)
            runs = _whole(product(self.runs, times))
            yield _Pending(child, role, place, level, runs, _whole(planned) or 0)


def program_tree(
    program: Program,
    *,
    name: str = "",
    depth: int | None = None,
    match: str | None = None,
    most: int | None = None,
    first: int = 1,
    counts: bool = False,
) -> ProgramTree:
    """Lay a program out as rows, of which at most `most` are kept; those after them are counted.

    Below `depth` levels, rows are counted instead of listed.  With `match`, a regular expression,
    only steps are kept whose line it is found in, with what they stand in.  Several programs of
    one graph have a `name` each, and numbers over all of them: `first` is that of the first step.
    With `counts`, the picture says how often each row runs.

    Raises UnknownName when no step matches, and re.error for a wrong expression.

    >>> from poplite.graph import Graph
    >>> from poplite.program import Execute, Repeat, Sequence
    >>> blur = Execute(Graph().add_compute_set("blur"))
    >>> tree = program_tree(Sequence(blur, Repeat(9, blur)), counts=True)
    >>> [(row.level, row.label.title, row.steps, row.runs) for row in tree.rows][2:]
    [(1, 'Repeat 9 times', '', 1), (2, "Execute 'blur'", '2', 9)]
    >>> tree.heading
    'program: 2 steps, run 10 times in all'
    """
    facts = facts_of(program, None if match is None else re.compile(match))
    whole = facts[id(program)]
    if match is not None and not whole.matched:
        raise _no_match(program, match)
    rows: list[TreeRow] = []
    hidden = 0
    drawn: dict[int, int] = {}  # first steps of what is drawn with its children
    number = first
    pending: list[_Pending] = [_Pending(program, "", -1, 0, 1, 1)]
    while pending:
        node, role, parent, level, runs, planned = above = pending.pop()
        fact, begin = facts[id(node)], number
        number += node.num_steps
        if match is not None and not fact.matched:
            continue
        is_deep = depth is not None and level >= depth
        note = _why_closed(node, fact.lines, drawn.get(id(node)), is_deep) if node.children else ""
        if node.children and not note:
            drawn.setdefault(id(node), begin)
            pending += reversed([*above.below(len(rows))])
            number = begin
        if len(rows) == most:
            hidden += 1
            continue
        label, steps = label_of(node, role), node.num_steps
        is_leaf, at = not node.children, node.location
        rows.append(TreeRow(is_leaf, level, parent, label, note, begin, steps, runs, planned, at))
    steps = program.num_steps
    total = _whole(whole.runs)
    return ProgramTree(tuple(rows), hidden, steps, match, whole.matched, total, name, counts)


def runs_of(program: Program) -> int | None:
    """Count the executions of a program's steps, `MOST` at most; None if it depends on data.

    >>> from poplite.graph import Graph
    >>> from poplite.program import Execute, Repeat
    >>> runs_of(Repeat(9, Execute(Graph().add_compute_set("blur"))))
    9
    """
    return _whole(facts_of(program)[id(program)].runs)


def _whole(runs: Times) -> int | None:
    """Return a count of a whole program, in which averages of its parts add up."""
    return None if runs is None else int(runs)


class TreeFacts(NamedTuple):
    """The facts about a sub-tree; no number is above `MOST`.

    Attributes:
        lines: nodes, each place counted.
        matched: steps whose line matches.
        runs: their executions, with repetitions in the sub-tree; None if it depends on data.
    """

    lines: int
    matched: int
    runs: Times


def facts_of(program: Program, pattern: re.Pattern[str] | None = None) -> dict[int, TreeFacts]:
    """Return the facts of every sub-tree by its `id`; without a pattern, all steps match.

    >>> from poplite.program import Sequence
    >>> facts_of(program := Sequence(Program()))[id(program)]
    TreeFacts(lines=2, matched=0, runs=0)
    """
    facts: dict[int, TreeFacts] = {}
    for node in children_first(program):
        if not node.children:
            matched = node.num_steps if pattern is None or pattern.search(line_of(node)) else 0
            facts[id(node)] = TreeFacts(1, matched, matched)
            continue
        below = [facts[id(child)] for child in node.children]
        lines, matched = (sum(each) for each in list(zip(*below, strict=True))[:2])
        each = [product(f.runs, times) for f, times in zip(below, times_of(node), strict=True)]
        known = [runs for runs in each if runs is not None]
        runs = product(sum(known), 1) if len(known) == len(each) else None
        facts[id(node)] = TreeFacts(min(lines + 1, MOST), min(matched, MOST), runs)
    return facts


def _why_closed(node: Program, lines: int, first: int | None, is_deep: bool) -> str:
    """Return why nothing is drawn below a node, "" when it is; `first` if it was drawn before."""
    count = node.num_steps
    if first is not None and lines > FEW_LINES:
        steps = f"{'step' if count == 1 else 'steps'} {step_numbers(first, count)}"
        return f"as {steps}" if count else "as above"
    return f"{many(count, 'step')} on {many(lines - 1, 'line')} folded" if is_deep else ""


def _no_match(program: Program, pattern: str) -> UnknownName:
    labels = [label_of(step.program) for step in islice(distinct_steps(program), SHOWN_FAULTS)]
    lines = [filled(label.pattern, label.names, 76) for label in labels]
    return UnknownName(
        f"no step matches {pattern!r}: {many(program.num_steps, 'step')} looked at",
        at=program.location,
        found="\n".join(["the first are:", *lines]) if lines else "the program is empty",
        fix="part of a step's line, for instance Execute, or (?i) in front to ignore case",
    )


def program_text(program: Program) -> str:
    """Return all steps of a program as text."""
    checked(program, "program")
    return program_tree(program).text()
