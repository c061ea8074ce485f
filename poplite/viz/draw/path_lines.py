"""Path commands of SVG as points: curves and arcs become short straight lines.

>>> path_lines("M1 2h3v4h-3z")
[([(1.0, 2.0), (4.0, 2.0), (4.0, 6.0), (1.0, 6.0)], True)]
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import TypeAlias

Point: TypeAlias = tuple[float, float]
Line: TypeAlias = tuple[list[Point], bool]
"""Points, and whether the last one is joined to the first."""

PIECES = 16
"""Straight lines that a curve or an arc is drawn as."""

_TOKENS = re.compile(r"[A-Za-z]|-?(?:\d+\.?\d*|\.\d+)")

_TAKES = {"M": 2, "L": 2, "H": 1, "V": 1, "C": 6, "A": 7, "Z": 0}


def path_lines(data: str) -> list[Line]:
    """Return the lines of a path, one for each that begins with M.

    >>> path_lines("M0 0C0 8 8 8 8 0")[0][0][8]
    (4.0, 6.0)
    """
    lines: list[Line] = []
    for name, numbers in _commands(data):
        if name == "M":
            lines.append(([(numbers[0], numbers[1])], False))
            continue
        points, _ = lines[-1]
        if name == "Z":
            lines[-1] = points, True
        else:
            points += _points(name, numbers, points[-1])
    return lines


def _commands(data: str) -> Iterator[tuple[str, list[float]]]:
    """Yield the commands in capitals, with all positions as such."""
    tokens = _TOKENS.findall(data)
    x = y = 0.0
    start, name, at = (x, y), "", 0
    while at < len(tokens):
        if tokens[at].isalpha():
            name, at = tokens[at], at + 1
        takes = _TAKES[name.upper()]
        numbers = [float(token) for token in tokens[at : at + takes]]
        at += takes
        capital = name.upper()
        if name != capital:
            numbers = _moved(capital, numbers, x, y)
        yield capital, numbers
        if capital == "Z":
            x, y = start
        elif capital == "H":
            x = numbers[0]
        elif capital == "V":
            y = numbers[0]
        else:
            x, y = numbers[-2:]
        start = (x, y) if capital == "M" else start
        name = {"M": "L", "m": "l"}.get(name, name)  # further points of a beginning are lines


def _moved(name: str, numbers: list[float], x: float, y: float) -> list[float]:
    """Return positions that were relative to a point; those of an arc are its last two."""
    if name == "A":
        return [*numbers[:5], numbers[5] + x, numbers[6] + y]
    if name == "V":
        return [numbers[0] + y]
    return [each + (y if k % 2 else x) for k, each in enumerate(numbers)]


def _points(name: str, numbers: list[float], begin: Point) -> list[Point]:
    x, y = begin
    match name:
        case "H":
            return [(numbers[0], y)]
        case "V":
            return [(x, numbers[0])]
        case "C":
            a, b, c, d, e, f = numbers
            return [
                (_bezier(k / PIECES, x, a, c, e), _bezier(k / PIECES, y, b, d, f))
                for k in range(1, PIECES + 1)
            ]
        case "A":
            return _arc(begin, (numbers[5], numbers[6]), numbers[0], bool(numbers[4]))
        case _:
            return [(numbers[0], numbers[1])]


def _bezier(t: float, *points: float) -> float:
    a, b, c, d = points
    s = 1 - t
    return a * s**3 + 3 * b * s**2 * t + 3 * c * s * t**2 + d * t**3


def _arc(begin: Point, end: Point, radius: float, clockwise: bool) -> list[Point]:
    """Return the points of the short arc of a circle; of radius 0 it is a straight line."""
    across, down = end[0] - begin[0], end[1] - begin[1]
    apart = math.hypot(across, down)
    if not radius or not apart:
        return [end]
    radius = max(radius, apart / 2)
    height = math.sqrt(radius**2 - (apart / 2) ** 2) * (1 if clockwise else -1)
    x = (begin[0] + end[0]) / 2 - height * down / apart
    y = (begin[1] + end[1]) / 2 + height * across / apart
    first = math.atan2(begin[1] - y, begin[0] - x)
    turn = (math.atan2(end[1] - y, end[0] - x) - first) % (2 * math.pi)
    turn -= 0 if clockwise else 2 * math.pi
    angles = [first + turn * k / PIECES for k in range(1, PIECES)]
    return [*((x + radius * math.cos(a), y + radius * math.sin(a)) for a in angles), end]
