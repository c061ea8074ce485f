"""The lines of the user's files, with their costs.

    cycles  of all  received B  memory B  line
    67,456   75.9%      12,288         0    31  dense: expand and 2 more
    67,456   75.9%      12,288         0    58  calls nets.py:31 in dense

Steps and things in memory belong to the line that made them, and to the line that called its
function: rows of calls are soft, as other rows have the same numbers.  Received are bytes that
tiles receive in the steps of a line; memory is that of all tiles, also where steps share it.

A report knows lines by number.  Their text is shown only if it is asked for, and only of files that
are the same as when the report was made, by their hash.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import ClassVar

from poplite.frozen import frozen
from poplite.report import Report
from poplite.source import SourceFile, SourceLocation, location_from, text_of
from poplite.text import amount
from poplite.viz.draw.words import name_text
from poplite.viz.marks import Gap, ListColumn, Listing, ListRow, Mark, Picture, Tone, Words, heading
from poplite.viz.names import note_of, noted
from poplite.viz.painters import PictureData, Table
from poplite.viz.steps import COST_TITLES, Cost, CostSum

AROUND = 5
"""Lines of text that are shown before and after a line that takes something."""

LONGEST = 200
"""Characters of a line of text."""

NOT_KNOWN = "its text is not shown: the report has no hash of this file"
NOT_HERE = "its text is not shown: the file is not in this folder"
CHANGED = "its text is not shown: the file has changed since the report was made"


@frozen
class LineCost(Cost):
    """The cost of a line.

    Attributes:
        number: its number in the file, from 1.
        names: what was made at it, or which lines it calls, each once.
        calls: whether all of it was made by functions that the line calls.
    """

    number: int
    names: tuple[str, ...]
    calls: bool


@frozen
class FileLines:
    """The lines of a file that take something.

    Attributes:
        name: the path of the file.
        lines: its lines, by number.
        note: why its text is not shown; empty if it is, or was not asked for.
        digest: the SHA-256 of its content; empty unless its text is shown.
        text: these lines, and some around each of them, each with its number before it.
    """

    name: str
    lines: tuple[LineCost, ...]
    note: str = ""
    digest: str = ""
    text: tuple[tuple[int, str], ...] = ()


@frozen
class LineList(PictureData):
    """The costs of lines.

    Attributes:
        note: the origin of the numbers, such as the number of runs.
        files: the files, those whose lines take most cycles first.
        cycles: of all steps.
    """

    note: str
    files: tuple[FileLines, ...]
    cycles: int

    KIND: ClassVar[str] = "lines"

    @property
    def heading(self) -> str:
        """The number of lines, and the cost of all steps."""
        lines = amount(sum(len(file.lines) for file in self.files), "line")
        of = amount(len(self.files), "file")
        return noted(f"lines: {lines} of {of}, {amount(self.cycles, 'cycle')}", self.note)

    def picture(self) -> Picture:
        """Return the lines of each file, or its text around them.

        >>> LineList("", (), 0).picture().title
        'lines: 0 lines of 0 files, 0 cycles'
        """
        marks: list[Mark] = [*heading(self.heading)]
        for file in self.files:
            said = file.note or (f"SHA-256 {file.digest}" if file.digest else "")
            marks += [Gap(), Words(name_text(file.name), "strong")]
            marks += [Words(said, "note")] if said else []
            marks.append(Listing(COLUMNS, tuple(_rows(file))))
        return Picture(self.heading, tuple(marks))

    def table(self) -> Table:
        """Return titles and rows of lines as comma-separated values."""
        rows = [
            (name_text(file.name), each.number, names_text(each), int(each.calls), *each.row())
            for file in self.files
            for each in file.lines
        ]
        return ["file", "line", "names", "calls", *COST_TITLES], rows


class _Sum(CostSum):
    """Things made at one line, or by the functions that it calls."""

    def __init__(self) -> None:
        super().__init__()
        self.names: dict[str, None] = {}
        self.calls = True

    def add(self, other: _Sum) -> None:
        """Add things made at a line with the same place or caller."""
        self.steps += other.steps
        self.cycles += other.cycles
        self.received += other.received
        self.memory += other.memory


def line_list(report: Report, *, source: bool = False) -> LineList:
    """Return the costs of lines; `source` is whether their text is shown.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> a, b = (graph.add_variable(pl.INT, (3,), name, mapping=0) for name in "ab")
    >>> found = line_list(pl.Engine(graph, pl.Copy(a, b)).report())
    >>> [line.names for file in found.files for line in file.lines]
    [('a to b',), ('a', 'b')]
    """
    cycles = sum(step.cycles for step in report.places)
    sums: dict[tuple[str, int], _Sum] = defaultdict(_Sum)
    for at, made in _made(report).items():
        _add(sums, at, made)
    rows: dict[str, list[LineCost]] = defaultdict(list)
    for (file, number), each in sorted(sums.items()):
        line = LineCost(*each.taken(cycles), number, tuple(each.names), each.calls)
        rows[file].append(line)
    known = {file.name: file for file in report.compilation.sources} if source else {}
    files = (
        FileLines(name, tuple(lines), *(_shown(known.get(name), lines) if source else ()))
        for name, lines in rows.items()
    )
    most = sorted(files, key=lambda file: -max(line.cycles for line in file.lines))
    return LineList(note_of(report), tuple(most), cycles)


def _made(report: Report) -> dict[str, _Sum]:
    """Return the things made at each line of a report; a line includes its caller."""
    made: dict[str, _Sum] = defaultdict(_Sum)
    for step in report.places:
        made[step.at].names[step.name] = None
        made[step.at].add_step(step)
    memory = report.compilation.modelled
    for held in () if memory is None else memory.held:
        made[held.at].names[held.name] = None
        made[held.at].memory += held.bytes.total
    return made


def _add(sums: dict[tuple[str, int], _Sum], at: str, made: _Sum) -> None:
    """Add a thing to the line that made it, and to the line that calls that line's function."""
    line, called, seen = location_from(at), "", set()
    while line is not None:
        if (key := (line.file, line.line)) not in seen:
            sums[key].add(made)
            sums[key].calls &= bool(called)
            sums[key].names |= {called: None} if called else made.names
        seen.add(key)
        called, line = _short(line), line.caller


def _short(line: SourceLocation) -> str:
    return f"{line.file.rpartition('/')[2]}:{line.line} in {line.function}"


def _shown(
    file: SourceFile | None, lines: list[LineCost]
) -> tuple[str, str, tuple[tuple[int, str], ...]]:
    """Return why the text of a file is not shown, else its hash and the text around lines."""
    if file is None:
        return NOT_KNOWN, "", ()
    content = text_of(file)
    if not content:
        return NOT_HERE if content is None else CHANGED, "", ()
    text = re.split(r"\r\n?|\n", content.decode(errors="replace"))
    near = range(-AROUND, AROUND + 1)
    wanted = {line.number + distance for line in lines for distance in near}
    shown = sorted(wanted & set(range(1, len(text) + 1)))
    return "", file.digest, tuple((number, _text(text[number - 1])) for number in shown)


def _text(line: str) -> str:
    shown = name_text(line.expandtabs(4).rstrip())
    return shown if len(shown) <= LONGEST else shown[: LONGEST - 3] + "..."


# -- picture ---------------------------------------------------------------------------------------

FEW_NAMES = 3

COLUMNS = (
    ListColumn("cycles"),
    ListColumn("of all", spare=1),
    ListColumn("received B", spare=2),
    ListColumn("memory B", spare=3),
    ListColumn("line"),
    ListColumn("", "name", least=44),
)


def _rows(file: FileLines) -> Iterator[ListRow]:
    lines, texts, last = {line.number: line for line in file.lines}, dict(file.text), 0
    for number in sorted({*lines, *texts}):
        if texts and last and number != last + 1:
            yield ListRow(("", "", "", "", "", "..."), tone="soft")
        last, line, text = number, lines.get(number), texts.get(number, "")
        shown, level = text.lstrip(), _level(text)
        if line is None:
            yield ListRow(("", "", "", "", f"{number}", shown), level=level, tone="soft")
            continue
        names = names_text(line)
        tone: Tone = "soft" if line.calls else "plain"
        cells = (*line.texts(), f"{number}", shown or names)
        tip = f"{name_text(file.name)}:{number}: {names}"
        yield ListRow(cells, None, names if text else "", level, tone, tip)


def _level(text: str) -> int:
    return (len(text) - len(text.lstrip())) // 4


def names_text(line: LineCost) -> str:
    """Return the first names of what was made at a line, and how many more there are.

    >>> names_text(LineCost(1, 348, 1.0, 8, 24, 3, ("a to b", "a", "b", "c"), False))
    'a to b, a, b and 1 more'
    """
    more = len(line.names) - FEW_NAMES
    shown = name_text(", ".join(line.names[:FEW_NAMES]))
    calls = "calls " if line.calls else ""
    return f"{calls}{shown} and {more:,} more" if more > 0 else f"{calls}{shown}"
