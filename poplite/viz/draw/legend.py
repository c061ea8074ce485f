"""What colours and characters mean: the entries of a legend, in SVG and on lines of text.

>>> fitted_lines([("# compute", 9), (". sync", 6)], 12)
['# compute', '. sync']
"""

from __future__ import annotations

from collections.abc import Iterable

from poplite.viz.draw.svg import Canvas, text_width


def draw_legend(canvas: Canvas, entries: Iterable[tuple[str, str]], left: float, y: float) -> None:
    """Draw what colours mean: words and their classes; y is the top."""
    for words, kind in entries:
        canvas.rect(left, y, 12, 12, kind)
        canvas.text(left + 17, y + 10, words, "soft")
        left += entry_width(words)


def entry_width(words: str) -> float:
    """Return how wide an entry is drawn, with the room behind it.

    >>> entry_width("code") > 50
    True
    """
    return 17 + text_width(words, 11) + 14


def fitted_lines(entries: Iterable[tuple[str, int]], columns: int) -> list[str]:
    """Return entries, each with the cells that it takes, on lines that fit."""
    lines, used = [""], 0
    for text, cells in entries:
        if used and used + 2 + cells > columns:
            lines.append("")
            used = 0
        lines[-1] += f"{'  ' * bool(used)}{text}"
        used += cells + 2 * bool(used)
    return lines
