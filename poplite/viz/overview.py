"""The overview of a report: where a tile's time goes, what fills the fullest one, what comes first.

where a tile's time goes, on average
████████████████████▓▓▓▒▒▒▒ · .....
what fills tile 31, the fullest
vvvvvvvvmmsscckkkkkkkkkkkkk
23.8%  copied on its tile: 318 cycles ... (matvec.py:140)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from poplite.frozen import frozen
from poplite.report.findings import Finding
from poplite.report.memory import peaks_of
from poplite.report.report import Report
from poplite.viz.colours import SPENT
from poplite.viz.draw.columns import folded
from poplite.viz.draw.kinds import LOOKS as KIND_LOOKS
from poplite.viz.draw.legend import draw_legend, entry_width
from poplite.viz.draw.svg import Canvas, SvgText
from poplite.viz.draw.units import name_text, size_text

WIDTH, MARGIN, BAR = 760, 20, 22
MOST_FINDINGS = 6
SENTENCE = 100
"""Characters of a line of a finding."""


class OverviewPart(NamedTuple):
    """A part of a bar: what it is, its class in SVG, its length."""

    label: str
    kind: str
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
    OverviewPart(label='variables', kind='c0', size=2000)
    """
    memory, spent = report.compilation.modelled, report.shown.time_parts()
    time = [
        OverviewPart(SPENT[part].words, SPENT[part].kind, cycles) for part, cycles in spent.items()
    ]
    tile = None if memory is None else memory.including_gaps.worst_tile
    held = []
    if memory is not None and tile is not None:
        kinds = peaks_of(memory).kinds()
        held = [
            OverviewPart(name, KIND_LOOKS[name].kind, int(each[tile]))
            for name, each in kinds.items()
        ]
    return Overview(
        time=tuple(part for part in time if part.size > 0),
        tile=tile,
        memory=tuple(part for part in held if part.size > 0),
        findings=report.insights.findings[:MOST_FINDINGS],
        limit_bytes=report.compilation.target.tile_memory_bytes,
        note=report.run_note,
    )


def draw_overview_svg(shown: Overview) -> SvgText:
    """Draw the overview as SVG.

    >>> draw_overview_svg(Overview((OverviewPart("sync", "sync", 9),), None, (), (), 9))[:4]
    '<svg'
    """
    rows = [(each, folded(name_text(each.text), SENTENCE)) for each in shown.findings]
    lines = sum(len(sentence) for _, sentence in rows)
    bars = []
    if shown.time:
        bars.append(("where a tile's time goes, on average", shown.time))
    if shown.memory:
        needed = int(sum(part.size for part in shown.memory))
        over = "! over the limit, " if needed > shown.limit_bytes else ""
        heading = f"{over}what fills tile {shown.tile:,}, the fullest: {size_text(needed)}"
        bars.append((heading, shown.memory))
    legends = [_legend_lines(parts) for _, parts in bars]
    height = 2 * MARGIN + sum(BAR + 34 + 18 * len(each) for each in legends)
    height += 26 + 16 * lines + 6 * len(rows) if rows else 0
    notes = folded(name_text(shown.note), SENTENCE) if shown.note and shown.time else []
    height += 18 * len(notes)
    title = "where time and memory go, and what to look at first"
    canvas = Canvas(WIDTH, max(height, 2 * MARGIN), title=title)
    y = float(MARGIN)
    for words in notes:
        canvas.text(MARGIN, y + 10, words, "line ink")
        y += 18
    for (heading, parts), legend in zip(bars, legends, strict=True):
        canvas.text(MARGIN, y + 10, heading, "line ink")
        _draw_bar(canvas, parts, y + 18, shown.limit_bytes if parts is shown.memory else None)
        y += BAR + 24
        for line in legend:
            draw_legend(canvas, line, MARGIN, y)
            y += 18
        y += 10
    if rows:
        heading = "what to look at first; cycles are computed: what the remedy would save"
        canvas.text(MARGIN, y + 10, heading, "line ink")
        y += 32
        for finding, sentence in rows:
            share = f"{100 * finding.share:.1f}%" if finding.share else "!"
            canvas.text(MARGIN + 44, y, share, "line ink end")
            for words in sentence:
                canvas.text(MARGIN + 56, y, words, "soft")
                y += 16
            y += 6
    return canvas.text_of()


def _draw_bar(canvas: Canvas, parts: Sequence[OverviewPart], y: float, limit: int | None) -> None:
    whole, left = sum(part.size for part in parts), float(MARGIN)
    for part in parts:
        wide = (WIDTH - 2 * MARGIN) * part.size / whole
        canvas.rect(left, y, wide, BAR, part.kind, tip=_share(part, whole))
        left += wide
    if limit is not None and whole > limit:
        room = (WIDTH - 2 * MARGIN) * (1 - limit / whole)
        canvas.rect(left - room, y, room, BAR, "over", tip=f"over {size_text(limit)}")


def _legend_lines(parts: Sequence[OverviewPart]) -> list[list[tuple[str, str]]]:
    """Return what the colours of a bar mean, on lines that fit."""
    whole = sum(part.size for part in parts)
    lines: list[list[tuple[str, str]]] = [[]]
    used = 0.0
    for part in parts:
        words = _share(part, whole)
        if used and used + entry_width(words) > WIDTH - 2 * MARGIN:
            lines.append([])
            used = 0.0
        lines[-1].append((words, part.kind))
        used += entry_width(words)
    return lines


def _share(part: OverviewPart, whole: float) -> str:
    return f"{part.label} {100 * part.size / whole:.1f}%"
