"""Peaks of tiles against their definition: every step, every tile, every thing."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from poplite.report.memory import (
    GAPS,
    NO_STEP,
    Held,
    Memory,
    MemoryStep,
    bytes_by_step,
    peaks_of,
    thing_kind,
)
from poplite.report.per_tile import PerTile

CATEGORIES = ("variable", "constant", "message", "rearrangement", "vertex_code", "stack", "new")


@st.composite
def stretches(draw: st.DrawFn, steps: int) -> tuple[tuple[int, int], ...] | None:
    """Always, or some stretches of steps that do not touch."""
    live = draw(st.none() | st.lists(st.booleans(), min_size=steps, max_size=steps))
    if live is None:
        return None
    edges = np.flatnonzero(np.diff([False, *live, False]))
    return tuple((int(first), int(stop) - 1) for first, stop in edges.reshape(-1, 2))


@st.composite
def memories(draw: st.DrawFn) -> Memory:
    """The memory of a few tiles, with gaps."""
    tiles, steps = draw(st.integers(1, 5)), draw(st.integers(0, 6))
    sizes = st.lists(st.integers(0, 9), min_size=tiles, max_size=tiles)
    held = tuple(
        Held(f"h{k}", PerTile.of(np.array(draw(sizes))), category, draw(stretches(steps)), "")
        for k, category in enumerate(draw(st.lists(st.sampled_from(CATEGORIES), max_size=6)))
    )
    named = tuple(MemoryStep("main", f"s{k}", "", 0, 0, k + 1, (k,)) for k in range(steps))
    beside = [[sum(_live(held, step, tile)) for tile in range(tiles)] for step in range(steps)]
    most = np.array([*beside, [0] * tiles]).max(axis=0)
    always = np.array([sum(h.bytes[t] for h in held if h.steps is None) for t in range(tiles)])
    needed = always + most + np.array(draw(sizes))
    return Memory(PerTile.of(needed), PerTile.of(most), held, named)


def _live(held: tuple[Held, ...], step: int, tile: int) -> list[int]:
    return [each.bytes[tile] for each in held if each.is_in(step)]


@given(memories())
def test_fullest_step_of_each_tile_is_the_first_with_the_most(memory: Memory) -> None:
    peaks = peaks_of(memory)
    for tile in range(len(memory.including_gaps)):
        sizes = [sum(_live(memory.held, step, tile)) for step in range(len(memory.steps))]
        most = max(sizes, default=0)
        assert peaks.step[tile] == (sizes.index(most) if most else NO_STEP)
        assert bytes_by_step(memory, tile).tolist() == sizes


@given(memories())
def test_stacks_hold_what_lies_there_in_the_fullest_step(memory: Memory) -> None:
    peaks = peaks_of(memory)
    kinds = peaks.kinds()
    for tile, step in enumerate(peaks.step.tolist()):
        expected: dict[str, int] = {}
        for held in memory.held:
            if held.steps is None or held.is_in(step):
                kind = thing_kind(held.category)
                expected[kind] = expected.get(kind, 0) + held.bytes[tile]
                assert peaks.bytes_of(held)[tile] == held.bytes[tile]
            else:
                assert peaks.bytes_of(held)[tile] == 0
        expected[GAPS] = memory.including_gaps[tile] - sum(expected.values())
        found = {name: int(sizes[tile]) for name, sizes in kinds.items() if sizes[tile]}
        assert found == {name: size for name, size in expected.items() if size}


def test_kinds_of_a_report_add_up_to_what_tiles_need() -> None:
    import poplite as pl

    graph = pl.Graph(pl.Target(tiles=4))
    a, b = (graph.add_variable(pl.FLOAT, (400,), name, mapping=t) for t, name in enumerate("ab"))
    engine = pl.Engine(graph, pl.Sequence(pl.Copy(a, b), pl.Copy(b[:10], a[5:15])))
    memory = engine.report().compilation.memory
    total = np.sum([*peaks_of(memory).kinds().values()], axis=0)
    assert total.tolist() == memory.including_gaps.array().tolist()
    assert {"variables", "code", "stacks"} <= peaks_of(memory).kinds().keys()
