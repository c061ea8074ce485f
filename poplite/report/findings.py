"""Findings: the largest costs of a run by cause, where to look first, and their sentences.

Their cycles are computed: those that the steps would take less if the remedy did away with the
cause.  `poplite.report.insights` makes them.

>>> print(*insights_text(Insights(None, None, (Finding("guessed", 90, 0.5, ("Search",), (0,)),))))
guessed: the cycles of Search depend on data that was not counted
"""

from __future__ import annotations

from dataclasses import field
from typing import Literal

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
"""Kinds of findings: tiles that wait for a slower one; idle workers of busy tiles; data that move;
data that are rearranged on their tile; adjacent Copies that could be one; unattributed cycles; a
tile with too little memory."""

MOST = 10
"""Most findings that are printed."""

GAINS = "cycles of the following are computed: what the remedy would save"
"""What the numbers of findings are."""

NAME = 40
"""Maximum number of characters of a name in a table."""


@frozen
class WorstTile:
    """The tile that has the most of something.

    Attributes:
        tile: its number.
        most: how much it has.
        mean: the average over tiles.
    """

    tile: int
    most: int
    mean: float


@frozen
class Finding:
    """Something that takes or loses cycles, summed over all places with the same cause and line.

    Attributes:
        kind: its kind.
        cycles: the expected gain: by how many cycles all its steps would be shorter without it; for
            "guessed" the cycles of the vertices, for "idle workers" what a tile's workers could
            have issued in addition.
        share: the share of these cycles in all cycles that ran.
        names: the names of its steps, each once; for "guessed" the vertex class.
        steps: their positions in `Execution.steps`, those that lose most first.
        tile: the slowest tile; None where nothing waits for a tile, or steps wait for different
            ones.
        tiles: the most tiles that are busy with it in one step; for "out of memory" those that need
            more than they have.
        bytes: total of bytes that move; for "out of memory" what the fullest tile lacks.
        what: the field or tensor, as named in messages; empty without one.
        why: why it moves, in words; how uneven or idle it is.
        at: the user's line; empty if unknown.
        of_tiles: number of tiles of the target.
        remedy: what can be done about it, in words; empty where unknown.
        tiles_without: for "waiting" for lack of work on other tiles, how many have none.
        vertices: for "idle workers", how many vertices a busy tile has on average.
        pieces: contiguous pieces that move in one execution of a step, in the step with the most;
            0 where not known.
        bytes_per_cycle: for exchanges, bytes a cycle of the tile, the IPU or the host that moves
            most of them, in the step that loses most.
        link_bytes_per_cycle: what a link could carry there.
        code_bytes: for exchanges, bytes of code on the tile that has most of it, in such a step.
        freed: for "out of memory", bytes that the fullest tile would have less of the variable if
            this were spread evenly over all tiles.
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
        """The same without its kind and its line."""
        return printable(_sentence(self))


@frozen
class Insights:
    """Where to look first.

    Attributes:
        busiest: the tile that computes longest; None if none computes.
        fullest: the tile that holds the most; None where memory is not modelled.
        findings: a tile with too little memory; causes that take or lose at least a hundredth of
            all cycles, the largest first; guesses.
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
    """Return the user's line in parentheses, as it follows a name; empty without one.

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
        over = f"{finding.bytes:,} B too many on tile {finding.tile:,}"
        of = f"{finding.tiles:,} of {amount(finding.of_tiles, 'tile')} over the limit"
        freed = f", which frees {finding.freed:,} B there if it is even" if finding.freed else ""
        return f"{over}, {of}: {finding.what} {finding.why}{do}{freed}"
    others = len(finding.steps) - 1
    took = f"{finding.cycles:,} cycles ({100 * finding.share:.1f}%)"
    inside = f"in {first}" + (f" and {amount(others, 'other step')}" if others else "")
    if finding.kind == "copies apart":
        return f"{took} {inside}, as they are apart: {finding.why}{do}"
    if finding.kind == "idle workers":
        return f"{took} {inside}, {finding.why}{do}"
    if finding.kind == "waiting":
        slowest = "the slowest of each" if finding.tile is None else f"tile {finding.tile:,}"
        waits = "" if finding.tiles_without else f" for {slowest}"
        return f"{took} {inside}{waits}, {finding.why}{do}"
    few = ""
    if finding.kind == "copied on its tile" and finding.tiles < finding.of_tiles:
        few = f", on {finding.tiles:,} of {finding.of_tiles:,} tiles while the others wait"
    due = f": {finding.what} {finding.why}" if finding.what else ""
    return f"{took} for {finding.bytes:,} B {inside}{few}{due}{_moves(finding)}{do}"


def _moves(finding: Finding) -> str:
    """Return how data move: in which pieces, how fast, by how much code."""
    words = ""
    if finding.pieces:
        words += f", in {amount(finding.pieces, 'piece')}"
    if finding.link_bytes_per_cycle:
        speed = (
            f"{finding.bytes_per_cycle:,.1f} of the {finding.link_bytes_per_cycle:,.1f} B a cycle"
        )
        words += f", at {speed} that a link carries"
    if finding.code_bytes:
        words += f"; its code takes {finding.code_bytes:,} B of a tile"
    return words
