"""The exchange as SVG: what tiles receive and send, why, and who receives from whom."""

from __future__ import annotations

import re

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.report.execution import BetweenRanks
from poplite.viz.colours import RAMP, ramp_step
from poplite.viz.draw.columns import cut
from poplite.viz.draw.scene import ASIDE
from poplite.viz.draw.svg import LONGEST_HEADING, Canvas, SvgText, text_width
from poplite.viz.draw.units import name_text, share_text, size_text
from poplite.viz.exchange.traffic import Reason, Traffic

MARGIN = 20
ROW = 18
WIDE = 768
HIGH = 90
"""Height of the highest bar, up or down."""

MOST_BARS = 384
MATRIX = 384
LONGEST_REASON, LONGEST_PLACE, LONGEST_STEP = 80, 64, 40
FOLDERS = re.compile(r"(?<!\S)\S*/")
"""Folders before the name of a file; a tip has them."""


def draw_exchange_svg(traffic: Traffic, top: int) -> SvgText:
    """Draw the exchange as SVG, with the `top` largest reasons."""
    left = MARGIN + round(text_width(size_text(_most(traffic)), 11)) + 8
    moves = bool(_most(traffic))
    reasons = traffic.reasons[:top]
    more = len(traffic.reasons) - len(reasons)
    bars_top = MARGIN + 26 + ROW * len(traffic.facts) + 12
    reasons_top = bars_top + (2 * HIGH + 44 if moves else 0)
    matrix_top = reasons_top + ROW * (len(reasons) + bool(more)) + (30 if reasons else 0)
    bottom = matrix_top + (ROW if traffic.missing else 0)
    if traffic.matrix is not None and moves:
        bottom = matrix_top + MATRIX + 84
    ranks = traffic.between_ranks[:top]
    ranks_top = bottom
    bottom += ROW * (len(ranks) + 2 + (len(traffic.between_ranks) > top)) + 12 if ranks else 0
    widest = max((text_width("".join(_words(each)), 12) + ASIDE for each in reasons), default=0)
    named = (text_width("".join(_said(each)), 12) + ASIDE for each in ranks)
    width = max(left + WIDE, left + 132 + widest, left + 224 + max(named, default=0)) + MARGIN
    canvas = Canvas(round(width), bottom + 6, title=traffic.heading)
    canvas.text(MARGIN, MARGIN + 14, cut(traffic.heading, LONGEST_HEADING), "head ink")
    for number, fact in enumerate(traffic.facts):
        canvas.text(MARGIN, MARGIN + 36 + ROW * number, fact, "line soft")
    if moves:
        _bars(canvas, traffic, left, bars_top)
    if reasons:
        _reasons(canvas, traffic, top, left, reasons_top)
    if traffic.missing:
        canvas.text(MARGIN, matrix_top + 12, traffic.missing, "line soft")
    elif traffic.matrix is not None and moves:
        _matrix(canvas, traffic, traffic.matrix, left, matrix_top)
    if ranks:
        _ranks(canvas, traffic, top, left, ranks_top)
    return canvas.text_of()


def _most(traffic: Traffic) -> int:
    return int(max(traffic.received.max(initial=0), traffic.sent.max(initial=0)))


def _bars(canvas: Canvas, traffic: Traffic, left: float, top: float) -> None:
    """Draw what tiles receive, upwards, and what they send, downwards."""
    tiles = len(traffic.sent)
    block = -(-tiles // MOST_BARS)
    starts = np.arange(0, tiles, block)
    step, scale = WIDE / len(starts), HIGH / _most(traffic)
    gap = 1 if step >= 4 else 0
    middle = top + HIGH
    canvas.rect(left, top, WIDE, 2 * HIGH, "none")
    received, sent = (
        np.maximum.reduceat(numbers, starts).tolist()
        for numbers in (traffic.received, traffic.sent)
    )
    for number, (first, up, down) in enumerate(zip(starts.tolist(), received, sent, strict=True)):
        last = min(first + block, tiles) - 1
        name = f"tile {first:,}" if first == last else f"the most of tiles {first:,} to {last:,}"
        tip = f"{name}: receives {size_text(up)}, sends {size_text(down)}"
        x, width = left + number * step, step - gap
        if up:
            canvas.rect(x, middle - up * scale, width, up * scale, "q8 flush", tip=tip)
        if down:
            canvas.rect(x, middle, width, down * scale, "q4 flush", tip=tip)
    canvas.path(f"M{left} {middle}h{WIDE}", "rule")
    most = size_text(_most(traffic))
    for y, text in ((top + 10, most), (middle + 4, "0 B"), (top + 2 * HIGH, most)):
        canvas.text(left - 6, y, text, "small soft end")
    below = top + 2 * HIGH + 15
    canvas.text(left, below, "0", "small soft")
    canvas.text(left + WIDE / 2, below, "tile; received upwards, sent downwards", "small soft mid")
    if tiles > 1:
        canvas.text(left + WIDE, below, f"{tiles - 1:,}", "small soft end")


def _words(reason: Reason) -> tuple[str, str]:
    """Return what moves and why, and which line is the cause."""
    what = name_text(f"{reason.what} {reason.why}".strip())
    return cut(what, LONGEST_REASON), _place(reason.at)


def _place(at: str) -> str:
    """Return a line without folders.

    >>> _place("examples/photo.py:147 in blur, called at examples/photo.py:115 in build")
    'photo.py:147 in blur, called at photo.py:115 in build'
    """
    return cut(name_text(FOLDERS.sub("", at)), LONGEST_PLACE)


def _reasons(canvas: Canvas, traffic: Traffic, top: int, left: float, y: float) -> None:
    total = sum(reason.bytes for reason in traffic.reasons)
    canvas.text(left + 60, y + 12, "bytes", "line soft end")
    canvas.text(left + 118, y + 12, "of all", "line soft end")
    canvas.text(left + 132, y + 12, "what moves, and why", "line soft")
    for reason in traffic.reasons[:top]:
        y += ROW
        at = f" ({reason.at})" if reason.at else ""
        text = name_text(f"{reason.what} {reason.why}{at}".strip())
        canvas.text(left + 60, y + 12, f"{reason.bytes:,}", "line ink end")
        canvas.text(left + 118, y + 12, share_text(reason.bytes / total), "line ink end")
        what, place = _words(reason)
        canvas.text(left + 132, y + 12, what, "line ink", aside=place, tip=text)
    if (more := len(traffic.reasons) - top) > 0:
        canvas.text(left + 132, y + ROW + 12, f"... {more:,} more", "line soft")


def _said(sent: BetweenRanks) -> tuple[str, str]:
    """Return what a step of ranks is called, and its line."""
    return cut(name_text(sent.name), LONGEST_STEP), _place(sent.at)


def _ranks(canvas: Canvas, traffic: Traffic, top: int, left: float, y: float) -> None:
    """List what ranks sent each other, step by step."""
    canvas.text(MARGIN, y + 12, traffic.ranks, "line ink")
    y += ROW
    right = left + 80, left + 150, left + 210
    for x, words in zip(right, ("bytes", "messages", "times"), strict=True):
        canvas.text(x, y + 12, words, "line soft end")
    canvas.text(left + 224, y + 12, "step", "line soft")
    for each in traffic.between_ranks[:top]:
        y += ROW
        for x, count in zip(right, (each.bytes, each.messages, each.executions), strict=True):
            canvas.text(x, y + 12, f"{count:,}", "line ink end")
        name, place = _said(each)
        tip = name_text(f"{each.name} ({each.at})" if each.at else each.name)
        canvas.text(left + 224, y + 12, name, "line ink", aside=place, tip=tip)
    if (more := len(traffic.between_ranks) - top) > 0:
        canvas.text(left + 224, y + ROW + 12, f"... {more:,} more", "line soft")


def _matrix(canvas: Canvas, traffic: Traffic, matrix: Int64, left: float, top: float) -> None:
    """Draw who receives from whom: receivers down, sources across."""
    blocks, most = len(matrix), int(matrix.max())
    side = min(24, MATRIX // blocks)
    title = "who receives (down) from whom (across), by bytes"
    if traffic.block > 1:
        title += f"; {traffic.block} tiles a square"
    canvas.text(MARGIN, top + 12, title, "line ink")
    y0 = top + 38
    labels = [traffic.label(block) for block in range(blocks)]
    every = 1 if side >= 20 and traffic.block == 1 else 4
    for number in range(0, blocks, every):
        middle = number * side + side / 2
        first = f"{number * traffic.block:,}"
        canvas.text(left + middle, y0 - 6, first, "small soft mid")
        canvas.text(left - 6, y0 + middle + 4, labels[number], "small soft end")
    canvas.rect(left, y0, blocks * side, blocks * side, "none")
    for to, source in zip(*(axis.tolist() for axis in np.nonzero(matrix)), strict=True):
        size = int(matrix[to, source])
        tip = f"{_tiles(labels[to])} from {_tiles(labels[source])}: {size_text(size)}"
        kind = f"q{ramp_step(size, most)}"
        canvas.rect(left + source * side, y0 + to * side, side - 1, side - 1, kind, tip=tip)
    _scale(canvas, most, left + blocks * side + 24, y0)


def _tiles(label: str) -> str:
    return f"tiles {label}" if "-" in label else f"tile {label}"


def _scale(canvas: Canvas, most: int, left: float, top: float) -> None:
    """Draw what the shades mean, the most on top."""
    low = max(1, most // len(RAMP))
    first = ramp_step(low, most)
    for number, step in enumerate(range(len(RAMP) - 1, first - 1, -1)):
        canvas.rect(left, top + 14 * number, 14, 14, f"q{step}")
    bottom = top + 14 * (len(RAMP) - first)
    canvas.text(left + 20, top + 11, size_text(most), "soft")
    if low < most:
        label = f"up to {size_text(low)}" if first == 0 else size_text(low)
        canvas.text(left + 20, bottom - 3, label, "soft")
    canvas.rect(left, bottom + 6, 14, 14, "none")
    canvas.text(left + 20, bottom + 17, size_text(0), "soft")
