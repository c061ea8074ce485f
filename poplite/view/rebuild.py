"""Recognising one number in pieces that follow each other.

    0 1 2 | 3 4 5 6 7 | 8            begins at 0, steps of 1: ((9, 1),)
    2 3 | 100 101 102 103 | 200 201  ((2, 100), (2, 98), (2, 1))

What a user cuts and joins again thus becomes the strided view it was.
"""

from __future__ import annotations

from poplite.arrays.digits import Digit, Digits, Piece, coalesce, cut_digits


def one_number(todo: list[Piece]) -> Digits | None:
    """Write pieces as the digits of one number, or return None.

    Place by place, innermost first: the stride is the first step, the extent is where
    equal steps end, and every piece must then consist of whole places and ends of them.

    Args:
        todo: at least one piece, in order.

    >>> one_number([((), 1, 7), (((2, 3),), 2, 10)])
    ((3, 3),)
    """
    places: list[Digit] = []
    while len(todo) > 1 or todo[0][1] > 1:
        place = _innermost(todo)
        stripped = _strip(todo, *place)
        if stripped is None:
            return None
        places.append(place)
        todo = stripped
    return tuple(coalesce(reversed(places)))


def _innermost(pieces: list[Piece]) -> Digit:
    digits, size, base = pieces[0]
    stride = digits[-1][1] if digits else pieces[1][2] - base
    position = 0
    for digits, size, off in pieces:
        if off != base + position * stride:
            return position, stride
        if digits and digits[-1][1] != stride:
            return position + 1, stride
        if len(digits) > 1:
            return position + digits[-1][0], stride
        position += size
    return position, stride


def _strip(pieces: list[Piece], extent: int, stride: int) -> list[Piece] | None:
    """Replace every run of `extent` elements by one, or return None.

    A piece may begin or end inside a run; it is cut there, though not without limit.
    """
    stripped: list[Piece] = []
    todo = pieces[::-1]
    cuts_left = 4 * len(pieces)
    filled, start = 0, 0
    while todo:
        digits, size, off = todo.pop()
        if filled == 0 and digits[-1:] == ((extent, stride),):
            stripped.append((digits[:-1], size // extent, off))
            continue
        room = extent - filled
        if size > room or digits not in ((), ((size, stride),)):
            cut = cut_digits(digits, 0, min(size, room), off)
            cut += cut_digits(digits, room, size, off) if size > room else []
            cuts_left -= 1
            if len(cut) == 1 or cuts_left < 0:
                return None
            todo += cut[::-1]
            continue
        if filled == 0:
            start = off
        if off != start + filled * stride:
            return None
        filled += size
        if filled == extent:
            stripped.append(((), 1, start))
            filled = 0
    return stripped if filled == 0 else None
