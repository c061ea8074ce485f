"""Answers that a report gives: words that must stand on one line of what is shown of it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

import numpy as np

from poplite.report import Report
from poplite.report.memory import Held
from poplite.viz.tile_map import quantity_map

Line = tuple[str, ...]
"""Words and numbers that stand on one line, in their order."""


def missing(shown: str, lines: Iterable[Line]) -> list[Line]:
    """Return the lines that nothing of what is shown has; numbers must be whole numbers there."""
    plain = [line.replace(" %", "%") for line in shown.splitlines()]
    return [line for line in lines if not any(map(re.compile(_pattern(line)).search, plain))]


def _pattern(line: Line) -> str:
    return ".*".join(rf"(?<![\d,.]){re.escape(word)}(?![\d]|[,.]\d)" for word in line)


def share(part: float, whole: float) -> str:
    """Return a share as pictures write it."""
    return f"{100 * part / whole:.1f}%"


def fullest(report: Report) -> int:
    """Return the tile that needs most."""
    tile = report.compilation.memory.including_gaps.worst_tile
    assert tile is not None
    return tile


def cycles_of(report: Report) -> int:
    """Return the cycles of a report that models them."""
    assert report.cycles is not None
    return report.cycles


def fit(report: Report) -> Line:
    """What the fullest tile needs, of how much."""
    needed = report.compilation.memory.including_gaps
    return f"tile {needed.worst_tile}", f"{needed.most:,} B", "638,976 B"


def on_tile(report: Report, tile: int) -> Iterator[tuple[Held, int, int]]:
    """Yield what lies on a tile, with its address and its bytes."""
    memory = report.compilation.memory
    for held, address in zip(memory.held, memory.addresses, strict=True):
        if held.bytes[tile]:
            yield held, address[tile], held.bytes[tile]


def live_bytes(report: Report, tile: int) -> list[int]:
    """Return the bytes that are live on a tile in each step of memory, and not always."""
    memory = report.compilation.memory
    steps = range(len(memory.steps))
    return [sum(each.bytes[tile] for each in memory.held if each.is_in(k)) for k in steps]


def peak(report: Report, tile: int) -> int:
    """Return the bytes that are live on a tile when it needs most."""
    return report.compilation.memory.always_live[tile] + max(live_bytes(report, tile))


def most_and_least(report: Report, by: str, unit: str) -> tuple[Line, Line]:
    """The most of a quantity and the least of it, each with its tile."""
    value = quantity_map(report, by).value  # type: ignore[arg-type]
    most, least = int(value.argmax()), int(value.argmin())
    return (
        ("most", f"{value[most]:,} {unit}", f"tile {most}"),
        ("least", f"{value[least]:,} {unit}", f"tile {least}"),
    )


def steps(report: Report) -> list[Line]:
    """Each step with its cycles and its share."""
    return [
        (f"{step.cycles:,}", share(step.cycles, cycles_of(report)), step.name)
        for step in report.execution.steps
    ]


def lines(report: Report) -> dict[str, int]:
    """Return the cycles of each line of the user's, without its folder."""
    found: dict[str, int] = defaultdict(int)
    for step in report.execution.steps:
        found[step.at.split(" ")[0].rpartition("/")[2]] += step.cycles
    return found


def received(report: Report) -> int:
    """Return the bytes that all tiles receive."""
    phases = [phase for step in report.execution.steps for phase in step.phases]
    return sum(phase.received.total for phase in phases)


def causes(report: Report) -> list[tuple[str, str, str]]:
    """Return what is exchanged and why, its bytes, and its line without the folder."""
    return [
        (f"{each.what} {each.why}", f"{each.bytes:,}", each.at.split(" ")[0].rpartition("/")[2])
        for step in report.execution.steps
        for phase in step.phases
        if phase.kind == "exchange"
        for each in phase.causes
    ]


def sources(report: Report, tile: int) -> list[int]:
    """Return the tiles that a tile receives from, of a report without blocks of tiles."""
    tiles = report.tiles
    total = np.zeros(tiles**2, np.int64)
    for step in report.execution.steps:
        for phase in step.phases:
            if phase.pairs is not None:
                assert phase.pairs.block == 1
                total += phase.pairs.bytes.array()
    found: list[int] = np.flatnonzero(total.reshape(tiles, tiles)[tile]).tolist()
    return found


def intervals(report: Report, name: str, tile: int) -> list[tuple[int, int]]:
    """Return the intervals of a variable's elements that lie on a tile."""
    variable = next(each for each in report.compilation.variables if each.name == name)
    assert variable.first is not None
    assert variable.tiles is not None
    begin = variable.first.array().tolist()
    end = [*begin[1:], int(np.prod(variable.shape))]
    own = variable.tiles.array().tolist()
    return [(a, b) for a, b, each in zip(begin, end, own, strict=True) if each == tile]
