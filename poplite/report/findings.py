"""Findings: the largest costs of a run by cause, where to look first, and their sentences.

Their cycles are computed: the cycles that the steps would save if the remedy removed the cause.
`poplite.report.insights` creates findings.

>>> print(*insights_text(Insights(None, None, (Finding("guessed", 90, 0.5, ("Search",), (0,)),))))
guessed: the cycles of Search depend on data that was not counted
"""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from poplite.display import ReportPart
from poplite.frozen import frozen
from poplite.text import amount, printable, shortened

FindingKind = Literal[
    "waiting",
    "idle workers",
    "exchange",
    "global exchange",
    "host exchange",
    "copied on its tile",
    "copies apart",
    "guessed",
    "out of memory",
]
"""Kinds of findings: tiles that wait for a slower one; idle workers on busy tiles; data that move;
data that are rearranged on their tile; adjacent Copies that could be one; guessed cycles; a tile
with too little memory."""

MOST = 10
"""Maximum number of findings that are printed."""

GAINS = "the cycles below are computed: what each remedy would save"
"""The meaning of the cycles of findings."""

NAME = 40
"""Maximum number of characters of a name in a table."""


@frozen
class WorstTile:
    """The tile that has the most of something.

    Attributes:
        tile: its number.
        most: its amount.
        mean: the average over tiles.
    """

    tile: int
    most: int
    mean: float


@frozen
class Finding(ReportPart):
    """Something that takes or loses cycles, summed over all places with the same cause and line.

    Attributes:
        kind: its kind.
        cycles: the expected gain: the cycles that all its steps would save without it; for
            "guessed" the cycles of the vertices, for "idle workers" the cycles that the workers of
            a tile are idle.
        share: these cycles as a share of all cycles that ran.
        names: the names of its steps, each once; for "guessed" the vertex class.
        steps: their positions in `Execution.steps`, those that lose most first.
        tile: the slowest tile; None where nothing waits for a tile, or steps wait for different
            ones.
        tiles: the maximum number of tiles that are busy with it in one step; for "out of memory"
            the number of tiles that need more than they have.
        bytes: total of bytes that move; for "out of memory" the bytes that the fullest tile lacks.
        what: the field or tensor, as named in messages; empty without one.
        why: why it moves, in words; how uneven or idle it is.
        at: the user's line; empty if unknown.
        of_tiles: number of tiles of the target.
        remedy: advice, in words; empty where unknown.
        tiles_without: for "waiting" because other tiles have no work, the number of those tiles.
        vertices: for "idle workers", the average number of vertices on a busy tile.
        pieces: contiguous pieces that move in one execution, in the step with the most; 0 where
            unknown.
        bytes_per_cycle: for exchanges, bytes per cycle on the tile, IPU or host that moves the
            most, in the step that loses most.
        link_bytes_per_cycle: bytes per cycle that a link can carry there.
        code_bytes: for exchanges, the maximum bytes of their code on a tile in one step.
        freed: for "out of memory", bytes that the fullest tile would save if the variable were
            spread evenly over all tiles.
    """

    kind: FindingKind
    cycles: int
    share: float
    names: tuple[str, ...]
    steps: tuple[int, ...]
    tile: int | None = None
    tiles: int = 0
    bytes: int = 0
    what: str = ""
    why: str = ""
    at: str = ""
    of_tiles: int = field(default=0, repr=False)
    remedy: str = field(default="", repr=False)
    tiles_without: int = field(default=0, repr=False)
    vertices: float = field(default=0.0, repr=False)
    pieces: int = field(default=0, repr=False)
    bytes_per_cycle: float = field(default=0.0, repr=False)
    link_bytes_per_cycle: float = field(default=0.0, repr=False)
    code_bytes: int = field(default=0, repr=False)
    freed: int = field(default=0, repr=False)

    @property
    def text(self) -> str:
        """The finding as a sentence."""
        return f"{self.kind}: {self.sentence}{printable(where(self.at))}"

    @property
    def sentence(self) -> str:
        """The finding as a sentence, without its kind and its line."""
        return printable(_sentence(self))


@frozen
class Insights(ReportPart):
    """Where to look first.

    Attributes:
        busiest: the tile that computes longest; None if none computes.
        fullest: the tile that needs the most memory; None where memory is not modelled.
        findings: a tile with too little memory; then causes that take or lose at least a hundredth
            of all cycles, the largest first; then guesses.
    """

    busiest: WorstTile | None
    fullest: WorstTile | None
    findings: tuple[Finding, ...]


def insights_text(insights: Insights) -> list[str]:
    """Return insights as text, a line each."""
    lines = []
    if (busiest := insights.busiest) is not None:
        mean = f"{busiest.mean:,.1f} on average"
        lines.append(f"busiest: tile {busiest.tile:,} computes {busiest.most:,} cycles; {mean}")
    if (fullest := insights.fullest) is not None:
        mean = f"{fullest.mean:,.1f} B on average"
        lines.append(f"fullest: tile {fullest.tile:,} holds {fullest.most:,} B; {mean}")
    shown = insights.findings[:MOST]
    if any(each.kind not in ("guessed", "out of memory") for each in shown):
        lines.append(GAINS)
    lines += [each.text for each in shown]
    if (more := len(insights.findings) - MOST) > 0:
        lines.append(f"... {more:,} more")
    return lines or ["none"]


def where(line: str) -> str:
    """Return the user's line in parentheses, to follow a name; empty without one.

    >>> f"sums{where('model.py:12')}"
    'sums (model.py:12)'
    """
    return f" ({line})" if line else ""


# -- as text ---------------------------------------------------------------------------------------


def _sentence(finding: Finding) -> str:
    """Return a finding as a sentence, without its kind and its line."""
    first = shortened(finding.names[0], NAME)
    do = f": {finding.remedy}" if finding.remedy else ""
    if finding.kind == "guessed":
        return f"the cycles of {first} depend on data that was not counted{do}"
    if finding.kind == "out of memory":
        over = f"tile {finding.tile:,} needs {finding.bytes:,} B more than it has"
        of = f"{finding.tiles:,} of {amount(finding.of_tiles, 'tile')} over the limit"
        freed = f" (if even, this frees {finding.freed:,} B there)" if finding.freed else ""
        return f"{over}, {of}: {finding.what} {finding.why}{do}{freed}"
    others = len(finding.steps) - 1
    took = f"{finding.cycles:,} cycles ({100 * finding.share:.1f}%)"
    inside = f"in {first}" + (f" and {amount(others, 'other step')}" if others else "")
    if finding.kind == "copies apart":
        return f"{took} {inside}, as they are separate: {finding.why}{do}"
    if finding.kind == "idle workers":
        return f"{took} {inside}, {finding.why}{do}"
    if finding.kind == "waiting":
        slowest = "the slowest tile of each" if finding.tile is None else f"tile {finding.tile:,}"
        waits = "" if finding.tiles_without else f" for {slowest}"
        return f"{took} {inside}{waits}, {finding.why}{do}"
    few = ""
    if finding.kind == "copied on its tile" and finding.tiles < finding.of_tiles:
        few = f", on {finding.tiles:,} of {finding.of_tiles:,} tiles while the others wait"
    due = f": {finding.what} {finding.why}" if finding.what else ""
    return f"{took} for {finding.bytes:,} B {inside}{few}{due}{_moves(finding)}{do}"


def _moves(finding: Finding) -> str:
    """Return the number of pieces, the speed and the code size of a move, as words."""
    words = ""
    if finding.pieces:
        words += f", in {amount(finding.pieces, 'piece')}"
    if finding.link_bytes_per_cycle:
        speed, most = finding.bytes_per_cycle, finding.link_bytes_per_cycle
        words += f", at {speed:,.1f} of the {most:,.1f} B per cycle that a link can carry"
    if finding.code_bytes:
        words += f"; its code takes {finding.code_bytes:,} B on a tile"
    return words
