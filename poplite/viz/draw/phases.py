"""How phases look in every picture: words, characters and colours.

>>> [look.words for look in LOOKS.values()][:3]
['compute', 'copied on its tile', 'exchange']
>>> legend_lines(["compute", "exchange"], Style())
['█ compute  ▒ exchange']
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal, TypeAlias

from poplite.frozen import frozen
from poplite.report.execution import PhaseKind
from poplite.viz.draw.legend import fitted_lines
from poplite.viz.draw.terminal import Style

Part: TypeAlias = PhaseKind | Literal["sync"]
"""What a tile does at some time: a phase, or nothing until all tiles meet."""


@frozen
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
    shown = [
        (f"{marked(part, 1, style)} {LOOKS[part].words}", len(LOOKS[part].words) + 2)
        for part in LOOKS
        if part in parts
    ]
    if blank:
        shown.append((f"blank {blank}", len(blank) + 6))
    return fitted_lines(shown, style.columns)


def entries(parts: Collection[Part], blank: str = "") -> list[tuple[str, str]]:
    """Return the entries of a legend: words and classes of these phases, and of what is blank.

    >>> entries(["copy"], "waiting")
    [('copied on its tile', 'c1'), ('waiting', 'none')]
    """
    shown = [(look.words, look.kind) for part, look in LOOKS.items() if part in parts]
    return [*shown, (blank, "none")] if blank else shown
