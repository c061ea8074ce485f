"""Sizes, shapes and names as words, the same in every picture.

>>> size_text(638_976), shape_text((64, 128))
('638,976 B', '[64, 128]')
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from poplite.text import printable


def size_text(size_bytes: int) -> str:
    """Return a size in bytes with separators and unit.

    >>> size_text(4096)
    '4,096 B'
    """
    return f"{size_bytes:,} B"


def shape_text(shape: Sequence[int]) -> str:
    """Return a shape as it follows an element type.

    >>> shape_text((64, 128))
    '[64, 128]'
    """
    return "[" + ", ".join(str(n) for n in shape) + "]"


def name_text(name: str) -> str:
    r"""Return a name on one line, with escapes for what cannot be printed.

    >>> print(name_text("two\nlines"))
    two\nlines
    """
    return printable(name)


def parts_of_name(name: str) -> list[str]:
    """Return the scopes in a name, and last its own part; what is in brackets is one part.

    >>> parts_of_name("net/layer/w"), parts_of_name("net/e[like net/mm]")
    (['net', 'layer', 'w'], ['net', 'e[like net/mm]'])
    """
    return re.split(r"/(?![^\[]*\])", name)


def share_text(share: float) -> str:
    """Return a part of a whole in percent, with one digit.

    >>> share_text(0.759), share_text(0.0002), share_text(0)
    ('75.9%', '<0.1%', '0.0%')
    """
    return "<0.1%" if 0 < share < 0.0005 else f"{100 * share:.1f}%"
