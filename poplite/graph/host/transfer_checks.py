"""Checks of transfers between host and device: number and type of their elements.

Source: Poplar user guide, "Data streams".
"""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from poplite.errors import ElementTypeError, StreamMemoryAllocationError, TensorCreationError
from poplite.text import amount, clipped, integer_or_none, items_or_none
from poplite.types import QUARTER, ElementType, element_type

TypeLike = type[ElementType[Any]] | npt.DTypeLike
"""An element type, or a NumPy dtype of one."""

MAX_TRANSFER_BYTES = 128 << 20
"""Largest block of a stream, or row of a remote buffer; source: Poplar user guide."""


def positive(value: object, what: str, of: str) -> int:
    """Return an integer from 1, or refuse it; `of` says what it counts, `what` of which thing."""
    number = integer_or_none(value)
    if number is None or number < 1:
        raise TensorCreationError(
            f"{what}: {clipped(value)} {of}, but it has at least 1",
            fix="a whole number from 1",
        )
    return number


def check_size(what: str, count: int, element: type[ElementType[Any]]) -> None:
    """Refuse more elements than one transfer moves."""
    if count * element.size_bytes > MAX_TRANSFER_BYTES:
        most = MAX_TRANSFER_BYTES // element.size_bytes
        raise StreamMemoryAllocationError(
            f"{what}: {transfer_text(count, element)}, but one transfer has at most "
            f"{MAX_TRANSFER_BYTES:,} B",
            found=f"that is {most:,} elements of {element!r}",
            fix="transfer a part at a time, in a Repeat",
        )


def transfer_text(count: int, element: type[ElementType[Any]]) -> str:
    """Return the size of a block in words.

    >>> from poplite.types import FLOAT
    >>> transfer_text(2, FLOAT)
    '2 elements of FLOAT, 8 B'
    """
    size = count * element.size_bytes
    return f"{amount(count, 'element')} of {element!r}, {size:,} B"


def transferable_type(like: TypeLike, what: str) -> type[ElementType[Any]]:
    """Return an element type, or refuse one that needs metadata: QUARTER."""
    element = element_type(like)
    if element is QUARTER:
        raise ElementTypeError(
            f"{what}: QUARTER elements mean nothing without their metadata, which it does not hold",
            fix="UNSIGNED_CHAR, and t.reinterpret(pl.UNSIGNED_CHAR) for the codes of a tensor",
        )
    return element


def signature(side: object, what: str) -> tuple[tuple[type[ElementType[Any]], int], ...]:
    """Return element type and number of elements of each array of a host function."""
    pairs = items_or_none(side)
    made = []
    for pair in [side] if pairs is None else pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TensorCreationError(
                f"{what}: {clipped(pair)} is no (element type, number of elements)",
                fix="graph.add_host_function('sort', [(pl.INT, 8)], [(pl.INT, 8)])",
            )
        element = transferable_type(pair[0], what)
        count = positive(pair[1], what, "elements in an array")
        check_size(what, count, element)
        made.append((element, count))
    return tuple(made)
