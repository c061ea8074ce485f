"""When each tile needs most memory, and what lies there then, by kind of thing.

Room that several steps share counts once: a tile is looked at in its own fullest step.

    needed   = always live + live in the fullest step + gaps
             = the sum of its stack

All steps are gone through once, with the running sum of all tiles: what begins in a step is added,
what has ended is taken off.  So a machine of 1,472 tiles and 200 steps takes milliseconds.

>>> from poplite.report.memory import MemoryStep
>>> x = Held("x", PerTile.of(np.array([64, 0])), "variable", None, "")
>>> m = Held("m", PerTile.of(np.array([0, 16])), "message", ((1, 1),), "")
>>> steps = tuple(MemoryStep("main", name, "", 0, 0) for name in "ab")
>>> used = PerTile.of(np.array([64, 16])), PerTile.of(np.array([0, 16]))
>>> peaks = peaks_of(Memory(*used, (x, m), steps))
>>> peaks.step.tolist(), {name: size.tolist() for name, size in peaks.kinds().items()}
([-1, 1], {'variables': [64, 0], 'messages': [0, 16]})
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.frozen import frozen
from poplite.report.memory import Held, Memory
from poplite.report.per_tile import PerTile

KINDS = {
    "variable": "variables",
    "constant": "variables",
    "message": "messages",
    "global_message": "messages",
    "host_message": "messages",
    "rearrangement": "rearranged copies",
    "vertex_instance_state": "vertex state and lists",
    "vertex_field_data": "vertex state and lists",
    "vector_list_descriptor": "vertex state and lists",
    "control_table": "vertex state and lists",
    "control_code": "code",
    "vertex_code": "code",
    "internal_exchange_code": "code",
    "global_exchange_code": "code",
    "host_exchange_code": "code",
    "stack": "stacks",
}
"""The kind of thing of each category, as pictures and tables group them."""

OTHER, GAPS = "other", "gaps"

KIND_NAMES = (*dict.fromkeys(KINDS.values()), OTHER, GAPS)
"""All kinds of thing, in the order of stacks from below."""

NO_STEP = -1
"""The fullest step of a tile on which everything is always live."""


def kind_of(category: str) -> str:
    """Return the kind of thing of a category; one that is not known is "other".

    >>> kind_of("constant"), kind_of("new_in_version_9")
    ('variables', 'other')
    """
    return KINDS.get(category, OTHER)


@frozen(eq=False)
class Peaks:
    """The fullest step of every tile.

    Attributes:
        memory: of all tiles.
        step: int64[tiles], the first step that needs most, as position in `memory.steps`;
            `NO_STEP` where everything is always live.
    """

    memory: Memory
    step: Int64

    def bytes_of(self, held: Held) -> Int64:
        """Return int64[tiles]: the bytes of a thing that lie on each tile in its fullest step."""
        found = np.zeros(len(self.step), np.int64)
        tiles, sizes = held.bytes.tiles.array(), held.bytes.values.array()
        if held.steps is not None:
            live = self._is_live(held, tiles)
            tiles, sizes = tiles[live], sizes[live]
        found[tiles] = sizes
        return found

    def kinds(self) -> dict[str, Int64]:
        """Return the bytes of each tile by kind of thing, with gaps, in the order of stacks.

        On each tile they add up to what it needs.
        """
        found = {name: np.zeros(len(self.step), np.int64) for name in KIND_NAMES}
        for held in self.memory.held:
            found[kind_of(held.category)] += self.bytes_of(held)
        found[GAPS] = self.memory.including_gaps.array() - sum(found.values())
        return {name: sizes for name, sizes in found.items() if sizes.any()}

    def _is_live(self, held: Held, tiles: Int64) -> npt.NDArray[np.bool_]:
        before = NO_STEP - 1  # a stretch before all others: every step has one that began
        first, last = np.array([(before, before), *(held.steps or ())]).T
        step = self.step[tiles]
        is_live: npt.NDArray[np.bool_] = step <= last[np.searchsorted(first, step, "right") - 1]
        return is_live


def peaks_of(memory: Memory) -> Peaks:
    """Return the fullest step of every tile."""
    tiles = len(memory.including_gaps)
    begin, end = changes(memory.held)
    now, most = np.zeros(tiles, np.int64), np.zeros(tiles, np.int64)
    step = np.full(tiles, NO_STEP)
    for number in sorted(begin.keys() | end.keys()):
        for held in end.get(number, ()):
            now[held.tiles.array()] -= held.values.array()
        for held in begin.get(number, ()):
            now[held.tiles.array()] += held.values.array()
        if number in begin:  # elsewhere no tile has more than before
            more = now > most
            step[more] = number
            np.maximum(most, now, out=most)
    return Peaks(memory, step)


def bytes_by_step(memory: Memory, tile: int) -> Int64:
    """Return int64[steps]: the bytes of a tile that are live in each step, but not always."""
    change = np.zeros(len(memory.steps) + 1, np.int64)
    for held, first, last in _stretches(memory.held):
        size = held.bytes[tile]
        change[first] += size
        change[last + 1] -= size
    return np.cumsum(change)[:-1]


def step_of_memory(memory: Memory, program: str, row: int) -> int | None:
    """Return the position in `memory.steps` of the step that a row of a program's code is.

    >>> from poplite.report.memory import MemoryStep
    >>> nothing = PerTile.nothing(2)
    >>> steps = MemoryStep("main", "a", "", 0, 0), MemoryStep("main", "b", "", 0, 0, 2, (5, 9))
    >>> step_of_memory(Memory(nothing, nothing, (), steps), "main", 9)
    1
    """
    places = (
        k for k, each in enumerate(memory.steps) if each.program == program and row in each.rows
    )
    return next(places, None)


def changes(things: Iterable[Held]) -> tuple[dict[int, list[PerTile]], dict[int, list[PerTile]]]:
    """Return what begins in each step, and what ended in the step before."""
    begin: dict[int, list[PerTile]] = {}
    end: dict[int, list[PerTile]] = {}
    for held, first, last in _stretches(things):
        begin.setdefault(first, []).append(held.bytes)
        end.setdefault(last + 1, []).append(held.bytes)
    return begin, end


def _stretches(things: Iterable[Held]) -> Iterator[tuple[Held, int, int]]:
    for held in things:
        for first, last in held.steps or ():
            yield held, first, last
