"""Sums of products, wherever their operands are: in one, or of a stored product, by cycles."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest

import poplite as pl
from helpers.depth import thinned
from poplite import ops
from poplite.ops.reductions.build import FusedReduction

pytestmark = pytest.mark.priced

Place = Literal["linear", "backwards", "few", "blocks", "first", "last"]

PLACES: list[Place] = ["linear", "linear", "backwards", "few", "blocks", "first", "last"]

AT_ONCE = 60
"""Programs that a test draws."""


def laid(tensor: pl.Tensor, place: Place, rng: np.random.Generator) -> None:
    """Put the elements of a tensor on tiles."""
    tiles, flat = tensor.graph.target.tiles, tensor.flatten()
    if place == "linear":
        pl.map_linearly(tensor.graph, tensor)
        return
    if place in ("first", "last"):
        tensor.graph.set_tile_mapping(tensor, 0 if place == "first" else tiles - 1)
        return
    count = min(tiles, int(rng.integers(2, 6))) if place == "few" else tiles
    size = 8 if place == "blocks" else -(-len(flat) // count)
    first = int(rng.integers(tiles)) if place == "few" else 0
    for number, begin in enumerate(range(0, len(flat), size)):
        tile = tiles - 1 - number if place == "backwards" else (first + number) % tiles
        tensor.graph.set_tile_mapping(flat[begin : begin + size], tile)


def operand(
    graph: pl.Graph,
    element: type[pl.ElementType[Any]],
    length: int,
    place: Place,
    rng: np.random.Generator,
) -> pl.Tensor:
    """Return a vector: a variable or a constant, a part of one or one of its columns."""
    form = rng.choice(["variable", "variable", "constant", "part", "column"])
    if form == "constant":
        made = graph.add_constant(element, (length,), 1)
    else:
        shape = {"part": (2 * length,), "column": (length, 2)}.get(str(form), (length,))
        made = graph.add_variable(element, shape, "x")
    laid(made, place, rng)
    return {"part": lambda: made[length:], "column": lambda: made[:, 0]}.get(
        str(form), lambda: made
    )()


def cycles(seed: int) -> int:
    """Return the cycles of a program that is drawn: its sums are as `FusedReduction` has them."""
    rng = np.random.default_rng(seed)
    graph = pl.Graph(pl.Target(tiles=int(rng.choice([1, 4, 16, 64, 256]))))
    element = pl.FLOAT if rng.random() < 0.5 else pl.HALF
    length = int(2 ** rng.uniform(2, 11))
    places = [PLACES[int(rng.integers(len(PLACES)))] for _ in range(2)]
    a, b = (operand(graph, element, length, place, rng) for place in places)
    forms = (lambda: a @ b, lambda: ops.sum(a * b), lambda: ops.norm(a - b))
    with graph.steps() as steps:
        ops.map(forms[int(rng.integers(3))]())
    engine = pl.Engine(graph, steps, checks="none")
    engine.run()
    found = engine.report().cycles
    assert found is not None
    return found


@pytest.mark.parametrize("first", thinned([0, 60, 120, 180, 240], keep=[0]))
def test_sums_take_what_the_cheaper_way_takes(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = range(first, first + AT_ONCE)
    chosen = [cycles(seed) for seed in seeds]
    forced = []
    for is_in_one in (True, False):
        monkeypatch.setattr(FusedReduction, "is_in_one", is_in_one)
        forced.append([cycles(seed) for seed in seeds])
    over = np.array(chosen) / np.min(forced, axis=0)
    assert forced[0] != forced[1]
    assert over.max() < 1.2, (seeds[int(over.argmax())], over.max())
    assert over.mean() < 1.003
