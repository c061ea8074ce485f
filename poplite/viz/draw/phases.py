"""How phases look in every picture: words, characters and colours.

>>> [look.words for look in LOOKS.values()][:3]
['compute', 'copied on its tile', 'exchange']
>>> legend_lines(["compute", "exchange"], Style())
['█ compute  ▒ exchange']
"""

from __future__ import annotations

from collections.abc import Collection

from poplite.viz.colours import PHASES, Part
from poplite.viz.draw.legend import fitted_lines
from poplite.viz.draw.terminal import Style

LOOKS = PHASES


def marked(part: Part, count: int, style: Style) -> str:
    """Return this many characters of a phase.

    >>> marked("copy", 3, Style(ascii_only=True))
    '%%%'
    """
    look = LOOKS[part]
    text = look.character(ascii_only=style.ascii_only) * count
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
