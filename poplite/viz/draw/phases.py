"""How phases look in every picture: words, characters and colours.

>>> [look.words for look in LOOKS.values()][:3]
['compute', 'copied on its tile', 'exchange']
>>> legend_lines(["compute", "exchange"], Style())
['█ compute  ▒ exchange']
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from poplite.report.phase_kinds import PhaseKind
from poplite.viz.draw.svg import Canvas, text_width
from poplite.viz.draw.terminal import Style

Part: TypeAlias = PhaseKind | Literal["sync"]
"""What a tile does at some time: a phase, or nothing until all tiles meet."""


@dataclass(frozen=True, slots=True)
class Look:
    """How a phase looks.

    Attributes:
        words: what it is called.
        mark: its character.
        plain: its character where only ASCII can be written.
        kind: its class in SVG.
        category: its colour in a terminal, by number; None for faint.
    """

    words: str
    mark: str
    plain: str
    kind: str
    category: int | None


LOOKS: Mapping[Part, Look] = {
    "compute": Look("compute", "█", "#", "c0", 0),
    "copy": Look("copied on its tile", "▓", "%", "c1", 1),
    "exchange": Look("exchange", "▒", "=", "c2", 2),
    "global exchange": Look("between IPUs", "░", "~", "c4", 4),
    "host exchange": Look("from and to the host", "▚", "@", "c3", 3),
    "sync": Look("sync", "·", ".", "sync", None),
}


def marked(part: Part, count: int, style: Style) -> str:
    """Return this many characters of a phase.

    >>> marked("copy", 3, Style(ascii_only=True))
    '%%%'
    """
    look = LOOKS[part]
    text = (look.plain if style.ascii_only else look.mark) * count
    return style.faint(text) if look.category is None else style.category(text, look.category)


def legend_lines(parts: Collection[Part], style: Style, *, blank: str = "") -> list[str]:
    """Return what the characters of these phases mean, and what is blank, on lines that fit."""
    shown = [(LOOKS[part].words, marked(part, 1, style)) for part in LOOKS if part in parts]
    shown += [(blank, "blank")] if blank else []
    lines, used, room = [""], 0, style.columns
    for words, mark in shown:
        length = len(words) + (6 if mark == "blank" else 2)
        if used and used + 2 + length > room:
            lines.append("")
            used = 0
        lines[-1] += f"{'  ' * bool(used)}{mark} {words}"
        used += length + 2 * bool(used)
    return lines


def draw_legend(
    canvas: Canvas, parts: Collection[Part], left: float, y: float, *, blank: str = ""
) -> None:
    """Draw what the colours of these phases mean, and what is blank; y is the top."""
    for kind, words in _entries(parts, blank):
        canvas.rect(left, y, 12, 12, kind)
        canvas.text(left + 17, y + 10, words, "soft")
        left += _entry_width(words)


def legend_width(parts: Collection[Part]) -> float:
    """Return how wide `draw_legend` draws these phases.

    >>> legend_width([]) == 0 < legend_width(["sync"]) < legend_width(["sync", "copy"])
    True
    """
    return sum(_entry_width(words) for _, words in _entries(parts, ""))


def _entries(parts: Collection[Part], blank: str) -> list[tuple[str, str]]:
    shown = [(look.kind, look.words) for part, look in LOOKS.items() if part in parts]
    return [*shown, ("none", blank)] if blank else shown


def _entry_width(words: str) -> float:
    return 17 + text_width(words, 11) + 14
