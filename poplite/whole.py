"""Whole numbers as users give them: of Python or of NumPy, but no truth values.

whole_or_none(3), whole_or_none(np.int32(3))        3
whole_or_none(True), whole_or_none(3.0)             None: the caller refuses them in its own words
"""

from __future__ import annotations

from operator import index


def whole_or_none(value: object) -> int | None:
    """Return a whole number that is no bool; None for anything else.

    Args:
        value: anything.

    >>> whole_or_none(2), whole_or_none(True), whole_or_none(2.0)
    (2, None, None)
    """
    try:
        return None if isinstance(value, bool) else index(value)  # type: ignore[arg-type]
    except TypeError:
        return None
