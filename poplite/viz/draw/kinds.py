"""How the kinds of things in memory look in every picture: characters and colours.

>>> LOOKS["messages"].kind, marked("messages", 3, Style())
('c2', 'mmm')
>>> legend_lines(["variables"], Style(), free=True)
['v variables  . free']
"""

from __future__ import annotations

from collections.abc import Collection

from poplite.report.memory import KIND_NAMES
from poplite.viz.colours import MEMORY
from poplite.viz.draw.legend import fitted_lines
from poplite.viz.draw.terminal import Style

LOOKS = MEMORY


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
