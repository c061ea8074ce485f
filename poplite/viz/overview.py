"""The overview of a report: where a tile's time goes, what fills the fullest one, what comes first.

where a tile's time goes, on average
████████████████████▓▓▓▒▒▒▒ · .....
what fills tile 31, the fullest
vvvvvvvvmmsscckkkkkkkkkkkkk
23.8%  copied on its tile: 318 cycles ... (matvec.py:140)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from poplite.frozen import frozen
from poplite.report.findings import Finding
from poplite.report.memory import peaks_of
from poplite.report.report import Report
from poplite.viz.colours import MEMORY, SPENT, Role
from poplite.viz.draw.units import name_text, share_text, size_text
from poplite.viz.marks import FactList, Gap, Legend, LengthStrip, Mark, Picture, StripPart, Words

MOST_FINDINGS = 6


class OverviewPart(NamedTuple):
    """A part of a bar, and its length."""

    role: Role
    size: float


@frozen
class Overview:
    """What is drawn.

    Attributes:
        time: cycles of a tile on average; they add up to all cycles.
        tile: the fullest tile; None where memory is not modelled.
        memory: bytes on it at its peak; they add up to what it needs.
        findings: what takes or loses most cycles, the most first.
        limit_bytes: memory of a tile.
        note: what the cycles are of; empty where they are those of a run.
    """

    time: tuple[OverviewPart, ...]
    tile: int | None
    memory: tuple[OverviewPart, ...]
    findings: tuple[Finding, ...]
    limit_bytes: int
    note: str = ""


def overview_of(report: Report) -> Overview:
    """Gather the overview of a report; of programs that did not run, as one run of each.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> x = graph.add_variable(pl.INT, (500,), "x", mapping=1)
    >>> overview_of(pl.Engine(graph, pl.Sequence()).report()).memory[0]
    OverviewPart(role=Role(words='variables', ...), size=2000)
    """
    memory, spent = report.compilation.modelled, report.shown.time_parts()
    time = [OverviewPart(SPENT[part], cycles) for part, cycles in spent.items()]
    tile = None if memory is None else memory.including_gaps.worst_tile
    held = []
    if memory is not None and tile is not None:
        kinds = peaks_of(memory).kinds()
        held = [OverviewPart(MEMORY[name], int(each[tile])) for name, each in kinds.items()]
    return Overview(
        time=tuple(part for part in time if part.size > 0),
        tile=tile,
        memory=tuple(part for part in held if part.size > 0),
        findings=report.insights.findings[:MOST_FINDINGS],
        limit_bytes=report.compilation.target.tile_memory_bytes,
        note=report.run_note,
    )


def overview_picture(shown: Overview) -> Picture:
    """Return a strip of time, a strip of memory, and what to look at first.

    >>> overview_picture(Overview((OverviewPart(SPENT["sync"], 9),), None, (), (), 9)).marks[0].text
    "where a tile's time goes, on average"
    """
    marks: list[Mark] = []
    if shown.time:
        marks += [Words(name_text(shown.note))] if shown.note else []
        marks += [Words("where a tile's time goes, on average", "strong"), *_strip(shown.time)]
    if shown.memory:
        needed = int(sum(part.size for part in shown.memory))
        over = "! over the limit, " if needed > shown.limit_bytes else ""
        said = f"{over}what fills tile {shown.tile:,}, the fullest: {size_text(needed)}"
        marks += [Words(said, "strong"), *_strip(shown.memory, shown.limit_bytes)]
    if shown.findings:
        said = "what to look at first; cycles are computed: what the remedy would save"
        facts = [(_share(each.share), name_text(each.text)) for each in shown.findings]
        marks += [Words(said, "strong"), FactList(tuple(facts))]
    return Picture("where time and memory go, and what to look at first", tuple(marks))


def _share(share: float) -> str:
    return f"{100 * share:.1f}%" if share else "!"


def _strip(parts: Sequence[OverviewPart], limit: int | None = None) -> tuple[Mark, ...]:
    """Return parts one after the other, and the share of each."""
    whole, end, lain, roles = sum(part.size for part in parts), 0.0, [], []
    for role, size in parts:
        words = f"{role.words} {share_text(size / whole)}"
        begin, end = end, end + size
        lain.append(StripPart(round(begin), round(end) - round(begin), role, role.words, words))
        roles.append(replace(role, words=words))
    return LengthStrip(tuple(lain), round(whole), limit), Legend(tuple(roles)), Gap()
