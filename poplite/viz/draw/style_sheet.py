"""What the classes of shapes look like: one table, as CSS and by class.

Colours differ between a light and a dark page; everything else is the same on both.

>>> look(("soft", "end"), "text")
{'font-family': ..., 'font-size': '11px', 'fill': '#5b6770', 'text-anchor': 'end'}
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TypeAlias

from poplite.viz.colours import (
    ADDITIONAL,
    CATEGORIES,
    DARK,
    LIGHT,
    OVER_LIMIT,
    RAMP,
    RAMP_INK,
    color_of,
    ink_on,
)

FONT = "ui-sans-serif,system-ui,'Segoe UI',Roboto,'Helvetica Neue',Arial,'DejaVu Sans',sans-serif"

Rules: TypeAlias = list[tuple[str, str]]
"""Selectors and their declarations, in the order of the sheet: later ones win."""


def _themed(*, dark: bool) -> Rules:
    """Return the rules that differ between a light and a dark page."""
    colors = DARK if dark else LIGHT
    ramp, ramp_ink = (each[::-1] if dark else each for each in (RAMP, RAMP_INK))
    rules = [
        (".page", f"fill:{colors['page']}"),
        (".veil", f"fill:{colors['page']}"),
        (".seam", f"stroke:{colors['page']}"),
        (".ink", f"fill:{colors['ink']}"),
        (".soft", f"fill:{colors['soft']}"),
        (".dots", f"fill:{colors['soft']}"),
        (".hatch", f"stroke:{colors['soft']}"),
        (".none", f"fill:{colors['empty']}"),
        (".rule", f"stroke:{colors['line']}"),
        (".mark", f"stroke:{colors['mark']}"),
        (".halo", f"stroke:{colors['page']};fill:{colors['page']}"),
    ]
    rules += [(f".q{step}", f"fill:{color}") for step, color in enumerate(ramp)]
    rules += [(f".i{step}", f"fill:{color}") for step, color in enumerate(ramp_ink)]
    for k in range(len(CATEGORIES)):
        rules.append((f".c{k}", f"fill:{color_of(f'c{k}', dark=dark)}"))
        rules.append((f".k{k}", f"fill:{ink_on(f'c{k}', dark=dark)}"))
    return rules


def _fixed() -> Rules:
    """Return the rules that hold on every page."""
    return [
        ("text", f"font-family:{FONT};font-size:11px"),
        (".head", "font-size:15px;font-weight:600"),
        (".line", "font-size:12px"),
        (".small", "font-size:10px"),
        (".mid", "text-anchor:middle"),
        (".end", "text-anchor:end"),
        (".over", f"fill:{OVER_LIMIT}"),
        (".bang", "fill:#fff;font-weight:700"),
        (".rule", "fill:none;stroke-width:1"),
        (".mark", "fill:none;stroke-width:1.6"),
        (".fine", "stroke-width:.8"),
        (".halo", "stroke-width:4;stroke-linejoin:round"),
        (".flush", "shape-rendering:crispEdges"),
        (".seam", "stroke-width:.75"),
        (".hatch", "stroke-width:1.2"),
        (".veil", "fill-opacity:.72;fill-rule:evenodd;pointer-events:none"),
    ]


FAINT = {"ribbon": ".4", "haze": ".12"}
"""How much areas cover that not every picture has."""


def _css(rules: Rules) -> str:
    """Keep rules to our pictures: a page may hold other drawings, with other classes."""
    return "".join(f".poplite {selector}{{{declared}}}\n" for selector, declared in rules)


_LIGHT = _themed(dark=False)

STYLE = (
    _css(_LIGHT)
    + _css(_fixed())
    + "@media (prefers-color-scheme:dark){\n"
    + _css(_themed(dark=True))
    + "}\n"
)
"""The style sheet of every picture, for light and dark pages."""


def additional(kinds: Iterable[str]) -> str:
    """Return the rules of those of these classes that not every picture has.

    >>> print(additional(["gaps", "q3"]), end="")
    .poplite .gaps{fill:#dfe5e9}
    @media (prefers-color-scheme:dark){
    .poplite .gaps{fill:#2c3840}
    }
    """
    light, dark = (_added(set(kinds), page) for page in (0, 1))
    return f"{_css(light)}@media (prefers-color-scheme:dark){{\n{_css(dark)}}}\n" if light else ""


def _added(kinds: Iterable[str], page: int) -> Rules:
    colors = [
        (f".{kind}", f"fill:{ADDITIONAL[kind][page]}") for kind in ADDITIONAL if kind in kinds
    ]
    colors += [
        (f".on-{kind}", f"fill:{ink_on(kind, dark=bool(page))}")
        for kind in ADDITIONAL
        if f"on-{kind}" in kinds
    ]
    return colors + [(f".{kind}", f"fill-opacity:{FAINT[kind]}") for kind in FAINT if kind in kinds]


def look(kinds: Iterable[str], element: str = "") -> dict[str, str]:
    """Return what a light page declares for an element of these classes, property by property.

    >>> look(("none",)), look(("mark", "fine"))["stroke-width"]
    ({'fill': '#f1f4f5'}, '.8')
    """
    found: dict[str, str] = {}
    selectors = {element, *(f".{kind}" for kind in kinds)}
    for selector, declared in _sheet():
        if selector in selectors:
            found |= declared
    return found


@cache
def _sheet() -> list[tuple[str, dict[str, str]]]:
    """Return the rules of a light page with their declarations apart, those of elements first."""
    rules = sorted(
        [
            *_LIGHT,
            *_fixed(),
            *_added([*ADDITIONAL, *(f"on-{kind}" for kind in ADDITIONAL), *FAINT], 0),
        ],
        key=lambda rule: rule[0].startswith("."),
    )
    return [
        (selector, {name: value for name, _, value in _parted(declared)})
        for selector, declared in rules
    ]


def _parted(declared: str) -> list[tuple[str, str, str]]:
    return [each.partition(":") for each in declared.split(";")]
