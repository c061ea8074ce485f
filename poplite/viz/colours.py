"""Roles and their colours: the meaning of marks, and their appearance in every picture.

A `Role` contains the words of a legend, a character for text, one for ASCII, a class for SVG and a
terminal colour.  Pictures name roles; only painters know their appearance.

>>> [role.words for role in PHASES.values()][:3]
['compute', 'copied on its tile', 'exchange']
>>> MEMORY["messages"].kind, MEMORY["messages"].mark
('c2', 'm')

Categories are Okabe and Ito's set, which most colour-blind readers can distinguish; its
vermilion is kept for one thing, "over the limit".  Quantities take one ramp in equal steps of
lightness (OKLCH, lightness 0.93 to 0.33, hue 150 to 272).  Its lowest step is the one nearest
to the background: it runs from pale to deep on a light page and from deep to pale on a dark one.

Source: Okabe and Ito, "Color Universal Design" (2008).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, TypeAlias

from poplite.frozen import frozen
from poplite.report.execution import PHASE_KINDS, PhaseKind, TimePart
from poplite.report.memory import GAPS, OTHER

CATEGORIES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#f0e442")
"""Okabe-Ito without vermilion and black."""

DARK_CATEGORIES = ("#3d9be0", "#f0b429", "#1dbf90", "#dd94bf", "#7cc9f2", "#f0e442")
"""The same on a dark page."""

CATEGORY_INK = ("#ffffff", "#1b1b1b", "#ffffff", "#1b1b1b", "#1b1b1b", "#1b1b1b")
"""Readable text colour upon each category."""

DARK_CATEGORY_INK = ("#06222f", "#06222f", *CATEGORY_INK[3:4] * 4)

KINDS = {"compute": 0, "copy": 1, "control": 2, "host": 3, "variable": 4, "constant": 5}
"""The category of each kind of thing in a program or graph, the same in every picture."""

OVER_LIMIT = "#d55e00"

ADDITIONAL = {
    "brown": ("#5c3d1e", "#8c564b"),
    "other": ("#56626b", "#5c6a74"),
    "gaps": ("#dfe5e9", "#2c3840"),
    "waiting": ("#6c767c", "#6c767c"),
    "idle": ("#0b3d66", "#7565d8"),
    "sync": ("#2a343a", "#dbe5eb"),
}
"""Further classes, on a light and on a dark page; only pictures that use them declare them."""

RAMP = (
    "#c4f3cd", "#90e8c8", "#58dac6", "#23cac7", "#00b7c7", "#00a3c4",
    "#008ebd", "#0079b1", "#00659f", "#1d528b", "#284372", "#29335a",
)  # fmt: skip
"""Pale to deep, in equal steps of lightness."""

RAMP_INK = ("#14323a",) * 6 + ("#ffffff",) * 6
"""Readable text colour upon each step of the ramp."""

LIGHT = {
    "page": "#ffffff",
    "ink": "#1f2933",
    "soft": "#5b6770",
    "line": "#c9d1d6",
    "empty": "#f1f4f5",
    "mark": "#111111",
}
DARK = {
    "page": "#12181d",
    "ink": "#e6ebee",
    "soft": "#9aa8b1",
    "line": "#3b4750",
    "empty": "#1c252c",
    "mark": "#ffffff",
}


@frozen
class Role:
    """The meaning of a mark.

    Attributes:
        words: its name in a legend.
        mark: its character.
        kind: its class in SVG, which `style_sheet` gives a colour.
        category: its colour in a terminal, by number; None for faint.
        ascii: its character where only ASCII can be written; empty: `mark`.
    """

    words: str
    mark: str
    kind: str
    category: int | None = None
    ascii: str = ""

    def character(self, *, ascii_only: bool) -> str:
        """Return one cell of it in text.

        >>> PHASES["copy"].character(ascii_only=True)
        '%'
        """
        return self.ascii or self.mark if ascii_only else self.mark

    @property
    def ink(self) -> str:
        """The class in SVG of text on it.

        >>> MEMORY["code"].ink, MEMORY["stacks"].ink
        ('k3', 'on-brown')
        """
        return f"k{self.kind[1:]}" if self.kind[1:].isdecimal() else f"on-{self.kind}"

    def solid(self) -> Role:
        """Return the role as a full block in text, for bars with its words next to them.

        >>> MEMORY["code"].solid().mark
        '█'
        """
        return replace(self, mark="█", ascii="#")


Part: TypeAlias = PhaseKind | Literal["sync"]
"""The activity of a tile: a phase, or waiting for all other tiles."""

PHASES: Mapping[Part, Role] = {
    "compute": Role("compute", "█", "c0", 0, "#"),
    "copy": Role("copied on its tile", "▓", "c1", 1, "%"),
    "exchange": Role("exchange", "▒", "c2", 2, "="),
    "global exchange": Role("exchange between IPUs", "░", "c4", 4, "~"),
    "host exchange": Role("exchange with the host", "▚", "c3", 3, "@"),
    "sync": Role("sync", "·", "sync", None, "."),
}

IDLE = Role("idle workers", "▔", "idle", ascii="-")
"""The part of a tile's compute in which its workers are idle."""

WAITING = Role("waiting for other tiles", ":", "waiting")
"""Waiting of a tile that has finished before others; hatched to distinguish it from a track."""

TIME: Mapping[str, Role] = {
    "compute": PHASES["compute"],
    "idle workers": IDLE,
    **{part: role for part, role in PHASES.items() if part not in ("compute", "sync")},
    "waiting": WAITING,
    "sync": PHASES["sync"],
}
"""All activities of a tile, by the names of phases."""

SPENT: Mapping[TimePart, Role] = {
    "work": replace(PHASES["compute"], words="work"),
    "idle workers": IDLE,
    "waiting": WAITING,
    **{kind: PHASES[kind] for kind in PHASE_KINDS if kind != "compute"},
    "sync": PHASES["sync"],
}
"""The same as `Execution.time_parts` names and orders it."""

MEMORY: Mapping[str, Role] = {
    "variables": Role("variables", "v", "c0", 0),
    "messages": Role("messages", "m", "c2", 2),
    "rearranged copies": Role("rearranged copies", "r", "c1", 1),
    "vertex state and lists": Role("vertex state and lists", "s", "c4", 4),
    "code": Role("code", "c", "c3", 3),
    "stacks": Role("stacks", "k", "brown", 5),
    OTHER: Role(OTHER, "o", "other"),
    GAPS: Role(GAPS, ".", "gaps"),
}
"""By kind of thing; messages and rearranged copies have the colours of what fills them."""


def category_role(words: str, number: int) -> Role:
    """Return the role of the thing with a number, each with a separate colour.

    >>> category_role("'x'", 1).kind
    'c1'
    """
    number %= len(CATEGORIES)
    return Role(words, "█", f"c{number}", number, "#")


THINGS: Mapping[str, Role] = {
    **{kind: category_role(kind, number) for kind, number in KINDS.items()},
    "scope": Role("scope", "·", "dots"),
}
"""By kind of node in a program or a dataflow graph."""


def color_of(kind: str, *, dark: bool = False) -> str:
    """Return the colour of a class, on a light or on a dark page.

    >>> color_of("c1"), color_of("gaps", dark=True)
    ('#e69f00', '#2c3840')
    """
    if kind in ADDITIONAL:
        return ADDITIONAL[kind][dark]
    return (DARK_CATEGORIES if dark else CATEGORIES)[int(kind[1:])]


def ink_on(kind: str, *, dark: bool = False) -> str:
    """Return a readable text colour on a class.

    >>> ink_on("c0"), ink_on("brown", dark=True)
    ('#ffffff', '#ffffff')
    """
    if kind in ADDITIONAL:
        return "#1b1b1b" if kind == ("sync" if dark else "gaps") else "#ffffff"
    return (DARK_CATEGORY_INK if dark else CATEGORY_INK)[int(kind[1:])]


def ramp_step(value: int, largest: int, base: int = 0) -> int:
    """Return the position in `RAMP` of a value up to `largest`, which takes the last one.

    The first one begins at `base`.

    >>> ramp_step(1, 1200), ramp_step(100, 1200), ramp_step(101, 1200), ramp_step(1200, 1200)
    (0, 0, 1, 11)
    >>> ramp_step(1000, 1200, 1000), ramp_step(1100, 1200, 1000)
    (0, 5)
    """
    return max(0, -(-(value - base) * len(RAMP) // (largest - base)) - 1)
