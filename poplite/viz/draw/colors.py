"""The colours of every picture.

Categories are Okabe and Ito's set, which most colour-blind readers can distinguish; its
vermilion is kept for one thing, "over the limit".  Quantities take one ramp in equal steps of
lightness (OKLCH, lightness 0.93 to 0.33, hue 150 to 272).  Its lowest step is the one nearest
to the background: it runs from pale to deep on a light page and from deep to pale on a dark one.

Source: Okabe and Ito, "Color Universal Design" (2008).
"""

from __future__ import annotations

CATEGORIES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#f0e442")
"""Okabe-Ito without vermilion and black."""

CATEGORY_INK = ("#ffffff", "#1b1b1b", "#ffffff", "#1b1b1b", "#1b1b1b", "#1b1b1b")
"""Readable text colour upon each category."""

KINDS = {"compute": 0, "copy": 1, "control": 2, "host": 3, "variable": 4, "constant": 5}
"""The category of each kind of thing in a program or graph, the same in every picture."""

OVER_LIMIT = "#d55e00"

ADDITIONAL = {
    "olive": ("#8f8f2b", "#a3a33c"),
    "other": ("#8b98a1", "#74828b"),
    "gaps": ("#dfe5e9", "#2c3840"),
    "idle": ("#a9bdf2", "#5874b8"),
    "sync": ("#a9b4bb", "#5a6872"),
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


def ramp_step(value: int, largest: int, base: int = 0) -> int:
    """Return the position in `RAMP` of a value up to `largest`, which takes the last one.

    The first one begins at `base`.

    >>> ramp_step(1, 1200), ramp_step(100, 1200), ramp_step(101, 1200), ramp_step(1200, 1200)
    (0, 0, 1, 11)
    >>> ramp_step(1000, 1200, 1000), ramp_step(1100, 1200, 1000)
    (0, 5)
    """
    return max(0, -(-(value - base) * len(RAMP) // (largest - base)) - 1)
