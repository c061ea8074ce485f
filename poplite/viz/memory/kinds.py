"""How the kinds of things in memory look in every picture: characters and colours.

>>> LOOKS["messages"].kind, marked("messages", 3, Style())
('c2', 'mmm')
>>> legend_lines(["variables"], Style(), free=True)
['v variables  . free']
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from poplite.frozen import frozen
from poplite.report.memory import GAPS, KIND_NAMES, OTHER
from poplite.viz.draw.legend import fitted_lines
from poplite.viz.draw.terminal import Style


@frozen
class KindLook:
    """How a kind of thing looks.

    Attributes:
        mark: its character.
        kind: its class in SVG.
        category: its colour in a terminal, by number; None for faint.
    """

    mark: str
    kind: str
    category: int | None


LOOKS: Mapping[str, KindLook] = {
    "variables": KindLook("v", "c0", 0),
    "messages": KindLook("m", "c2", 2),
    "rearranged copies": KindLook("r", "c1", 1),
    "vertex state and lists": KindLook("s", "c4", 4),
    "code": KindLook("c", "c3", 3),
    "stacks": KindLook("k", "olive", 5),
    OTHER: KindLook("o", "other", None),
    GAPS: KindLook(".", "gaps", None),
}
"""By kind of thing; messages and rearranged copies have the colours of what fills them."""


def marked(name: str, count: int, style: Style) -> str:
    """Return this many characters of a kind of thing."""
    return painted(LOOKS[name].mark * count, LOOKS[name].category, style)


def painted(text: str, category: int | None, style: Style) -> str:
    """Return text in a category's colour, or faint.

    >>> painted("##", None, Style())
    '##'
    """
    return style.faint(text) if category is None else style.category(text, category)


def legend_lines(names: Collection[str], style: Style, *, free: bool = False) -> list[str]:
    """Return what the characters of these kinds mean, and of free room, on lines that fit."""
    shown = [(marked(name, 1, style), name) for name in KIND_NAMES if name in names]
    if free:
        shown.append((style.faint("."), "free"))
    return fitted_lines(((f"{mark} {name}", len(name) + 2) for mark, name in shown), style.columns)
