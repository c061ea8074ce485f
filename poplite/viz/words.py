"""Numbers and shapes as words, the same in every picture.

>>> size_text(638_976), count_text(1, "tile"), shape_text((64, 128))
('638,976 B', '1 tile', '[64, 128]')
"""

from __future__ import annotations

from collections.abc import Sequence


def size_text(size_bytes: int) -> str:
    """Return a size with separators and unit.

    Args:
        size_bytes: a number of bytes.

    Returns:
        For example `638,976 B`.

    >>> size_text(4096)
    '4,096 B'
    """
    return f"{size_bytes:,} B"


def count_text(count: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is one.

    Args:
        count: how many.
        noun: what, in the singular; its plural takes an s.

    Returns:
        For example `1,472 tiles`.

    >>> count_text(1472, "tile")
    '1,472 tiles'
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def shape_text(shape: Sequence[int]) -> str:
    """Return a shape as it follows an element type.

    Args:
        shape: extents.

    Returns:
        For example `[64, 128]`.

    >>> shape_text((64, 128))
    '[64, 128]'
    """
    return "[" + ", ".join(str(n) for n in shape) + "]"
