"""The exchange as text: bars by tile, reasons, and who receives from whom in shades."""

from __future__ import annotations

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.viz.draw.columns import cut, wrapped
from poplite.viz.draw.terminal import DEFAULT_STYLE, Style
from poplite.viz.draw.units import name_text, share_text, size_text
from poplite.viz.exchange.traffic import Traffic

BLOCKS = " ▁▂▃▄▅▆▇█"
ASCII_BLOCKS = " .:-=+*%#"
SHADES = " ░▒▓█"
ASCII_SHADES = " .+%#"

HIGH = 2
"""Lines of a bar."""

MOST_BARS = 64


def draw_exchange_text(traffic: Traffic, top: int, style: Style = DEFAULT_STYLE) -> str:
    """Draw the exchange as text, with the `top` largest reasons."""
    width = style.columns
    lines = [style.bold(line) for line in wrapped(traffic.heading, width)]
    lines += [line for fact in traffic.facts for line in wrapped(fact, width)]
    if traffic.received.any() or traffic.sent.any():
        lines += ["", *_bars(traffic, style)]
    if traffic.reasons:
        lines += ["", *_reasons(traffic, top, style)]
    if traffic.missing:
        lines += ["", *wrapped(traffic.missing, width)]
    elif traffic.matrix is not None and traffic.matrix.any():
        lines += ["", *_matrix(traffic, traffic.matrix, style)]
    if traffic.between_ranks:
        lines += ["", *_ranks(traffic, top, style)]
    return "\n".join(lines) + "\n"


def _bars(traffic: Traffic, style: Style) -> list[str]:
    """Draw what tiles receive and send; a bar is of several tiles where there is no room."""
    most = int(max(traffic.received.max(), traffic.sent.max()))
    side = max(len("received"), len(size_text(most)))
    tiles = len(traffic.sent)
    block = -(-tiles // min(MOST_BARS, style.columns - side - 3))
    starts = np.arange(0, tiles, block)
    edge = "|" if style.ascii_only else "│"
    lines = []
    for name, numbers in (("received", traffic.received), ("sent", traffic.sent)):
        rows = _bar_rows(np.maximum.reduceat(numbers, starts), most, style)
        labels = [name, size_text(int(numbers.max()))]
        for label, row in zip(labels, rows, strict=True):
            frame = style.faint(f"{label:>{side}} {edge}")
            lines.append(f"{frame}{style.shade(row)}{style.faint(edge)}")
    end = f"{tiles - 1:,}" if tiles > 1 else ""
    what = "tile" if block == 1 else f"{block} tiles a bar, the most of them"
    room = len(starts) - 1 - len(end)
    axis = f"0{what:^{room}}{end}" if len(what) + 2 <= room else f"0 {end:>{room + len(end)}}"
    lines.append(style.faint(f"{'tile' if len(what) + 2 > room else '':>{side}}  {axis}".rstrip()))
    return lines


def _bar_rows(numbers: Int64, most: int, style: Style) -> list[str]:
    """Draw bars on lines, the top one first."""
    marks = ASCII_BLOCKS if style.ascii_only else BLOCKS
    eighths = len(marks) - 1
    levels = -(-numbers * HIGH * eighths // max(1, most))
    rows = [np.clip(levels - row * eighths, 0, eighths) for row in reversed(range(HIGH))]
    return ["".join(marks[level] for level in row.tolist()) for row in rows]


def _reasons(traffic: Traffic, top: int, style: Style) -> list[str]:
    total = sum(reason.bytes for reason in traffic.reasons)
    shown = traffic.reasons[:top]
    sizes = [f"{reason.bytes:,}" for reason in shown]
    size_width = max(len("bytes"), *map(len, sizes))
    lines = [style.faint(f"{'bytes':>{size_width}}  of all  what moves, and why")]
    room = style.columns - size_width - 10
    for reason, size in zip(shown, sizes, strict=True):
        at = f" ({reason.at})" if reason.at else ""
        text = name_text(f"{reason.what} {reason.why}{at}".strip())
        first, *rest = wrapped(text, room)
        lines.append(f"{size:>{size_width}}  {share_text(reason.bytes / total):>6}  {first}")
        lines += [f"{'':>{size_width + 8}}  {line}" for line in rest]
    if (more := len(traffic.reasons) - len(shown)) > 0:
        lines.append(style.faint(f"{'':>{size_width + 8}}  ... {more:,} more"))
    return lines


def _ranks(traffic: Traffic, top: int, style: Style) -> list[str]:
    """List what ranks sent each other, step by step."""
    rows = [("bytes", "messages", "times")]
    shown = traffic.between_ranks[:top]
    rows += [(f"{each.bytes:,}", f"{each.messages:,}", f"{each.executions:,}") for each in shown]
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    numbers = ["  ".join(f"{n:>{w}}" for n, w in zip(row, wide, strict=True)) for row in rows]
    lines = [style.bold(line) for line in wrapped(traffic.ranks, style.columns)]
    lines.append(style.faint(f"{numbers[0]}  step"))
    room = style.columns - len(numbers[0]) - 2
    for each, row in zip(shown, numbers[1:], strict=True):
        at = f" ({each.at})" if each.at else ""
        first, *rest = wrapped(name_text(f"{each.name}{at}"), room)
        lines += [f"{row}  {first}", *(f"{'':>{len(row)}}  {line}" for line in rest)]
    if (more := len(traffic.between_ranks) - len(shown)) > 0:
        lines.append(style.faint(f"{'':>{len(numbers[0])}}  ... {more:,} more"))
    return lines


def _matrix(traffic: Traffic, matrix: Int64, style: Style) -> list[str]:
    """Draw who receives from whom: receivers down, sources across."""
    most = int(matrix.max())
    marks = ASCII_SHADES if style.ascii_only else SHADES
    labels = [traffic.label(block) for block in range(len(matrix))]
    if max(map(len, labels)) + 3 + len(matrix) > style.columns:
        labels = [label.partition("-")[0] for label in labels]  # where each row begins
    side = max(len("tile"), *map(len, labels))
    across = 2 if side + 3 + 2 * len(matrix) <= style.columns else 1
    edge = "|" if style.ascii_only else "│"
    levels = -(-matrix * (len(marks) - 1) // most)
    title = "who receives (down) from whom (across), by bytes"
    if traffic.block > 1:
        title += f"; {traffic.block} tiles a row"
    lines = [style.bold(line) for line in wrapped(title, style.columns)]
    room = across * len(matrix)
    last = labels[-1]
    axis = f"{labels[0]:<{room - len(last)}}{last}" if room > len(labels[0] + last) else labels[0]
    lines.append(style.faint(f"{'tile':>{side}}  {axis}"))
    for label, row in zip(labels, levels.tolist(), strict=True):
        drawn = "".join(marks[level] * across for level in row)
        frame = style.faint(f"{cut(label, side):>{side}} {edge}")
        lines.append(f"{frame}{style.shade(drawn)}{style.faint(edge)}")
    low = max(1, most // (len(marks) - 1))
    scale = [f"blank {size_text(0)}"]
    if low < most:
        scale.append(f"{marks[-(-low * (len(marks) - 1) // most)]} up to {size_text(low)}")
    scale.append(f"{marks[-1]} up to {size_text(most)}")
    return [*lines, *map(style.faint, wrapped(f"scale: {', '.join(scale)}", style.columns))]
