"""What maps take: PopLibs' own estimates, worked out here from the numbers in its sources.

Loops are those of `unaryOpPerfInfo`, `binaryOpPerfInfo`, `broadcastOpPerfInfo` and their forms in
place (poplibs, lib/popops/popopsCycleEstimators.hpp), with what `unaryOpInnerLoopCycles`,
`binaryOpInnerLoopCycles` and `broadcastArithmetic1DCycleEstimate` add; what is before them is that
of the vertices in lib/popops/popopsCycleEstimators.cpp.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import poplite as pl
from poplite import ops
from poplite.cost.vertex_costs import vertex_costs
from poplite.cost.workers import tile_cycles
from poplite.graph.compute_sets.edge_table import edge_table

SIZE = 1536
WORKERS = 6
SHARE = SIZE // WORKERS

# Slots of FLOAT for two elements and of HALF for four: a new result, and one in place.
UNARY = {
    "negate": ((2, 2), (3, 3)),
    "relu": ((3, 3), (2, 2)),
    "exp": ((6, 4), (6, 4)),
    "log": ((12, 4), (14, 6)),
    "tanh": ((12, 4), (10, 2)),
    "sigmoid": ((12, 6), (10, 4)),
    "sqrt": ((10, 23), (10, 23)),
    "rsqrt": ((8, 19), (8, 19)),
}
BINARY = {
    "add": ((1 + 2, 1 + 2), (1 + 2, 1 + 2)),
    "multiply": ((1 + 2, 1 + 2), (1 + 2, 1 + 2)),
    "maximum": ((3, 4), (4, 4)),
    "divide": ((10, 21), (10, 21)),
}
BROADCAST = {"add": (1 + 1, 1 + 1), "multiply": (1 + 1, 1 + 1)}
MADE: dict[str, Callable[..., Any]] = {
    "negate": lambda a: -a,
    "relu": ops.relu,
    "exp": ops.exp,
    "log": ops.log,
    "tanh": ops.tanh,
    "sigmoid": ops.sigmoid,
    "sqrt": ops.sqrt,
    "rsqrt": ops.rsqrt,
    "add": lambda a, b: a + b,
    "multiply": lambda a, b: a * b,
    "maximum": ops.maximum,
    "divide": lambda a, b: a / b,
}
LAUNCH = 11
"""Of a vertex for all workers; 9 more of one with one argument. Here workers have their own."""


def loops(name: str, element: Any, in_place: bool = False) -> int:
    """Return the slots of a worker's loops, of an operation with vectors."""
    table = UNARY if name in UNARY else BINARY
    return table[name][in_place][element is pl.HALF] * SHARE // (4 if element is pl.HALF else 2)


def entry(name: str, element: Any, in_place: bool = False) -> int:
    """Return the slots of a worker before its loops."""
    if name in UNARY:
        return 55 if in_place else 33 if name == "exp" else 17
    return 58 if in_place else 29 if element is pl.FLOAT else 26


def by_formula(name: str, element: Any, in_place: bool = False) -> int:
    """Return the tile cycles of PopLibs' vertex, with its launch."""
    launch = LAUNCH + (9 if name in UNARY else 0)
    return launch + WORKERS * (entry(name, element, in_place) + loops(name, element, in_place))


def cycles(graph: pl.Graph) -> int:
    """Return what the vertices of all compute sets take on the busiest tile."""
    total = 0
    for work in graph.compute_sets:
        costs = vertex_costs(graph, work, edge_table(work))
        assert {each.source for each in costs} == {"formula"}
        slots = [each.slots for each in costs if each.slots is not None]
        total += int(tile_cycles(costs, slots, graph.target).dense(graph.target.tiles).max())
    return total


def mapped(formula: Callable[..., Any], element: Any, count: int, in_place: bool = False) -> int:
    """Return what a map of vectors on one tile takes."""
    graph = pl.Graph(pl.Target(tiles=1))
    given = [graph.add_variable(element, (SIZE,), name, mapping=0) for name in "abcd"[:count]]
    with graph.steps():
        ops.map(formula(*given), out=given[0] if in_place else None)
    return cycles(graph)


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("element", [pl.FLOAT, pl.HALF])
@pytest.mark.parametrize("name", MADE)
def test_an_operation_takes_what_its_vertex_does(name: str, element: Any, in_place: bool) -> None:
    found = mapped(MADE[name], element, 1 if name in UNARY else 2, in_place)
    formula = by_formula(name, element, in_place)
    assert found == formula - LAUNCH - (9 if name in UNARY else 0)
    assert abs(found / formula - 1) < 0.03


@pytest.mark.parametrize(("name", "ratio"), [("add", 0.53), ("tanh", 0.18), ("sqrt", 1.14)])
def test_halves_are_worked_on_by_four(name: str, ratio: float) -> None:
    count = 1 if name in UNARY else 2
    found = mapped(MADE[name], pl.HALF, count) / mapped(MADE[name], pl.FLOAT, count)
    assert found == pytest.approx(ratio, abs=0.01)


def test_in_place_takes_what_poplibs_says() -> None:
    taken = [mapped(MADE["add"], element, 2, True) + LAUNCH for element in (pl.FLOAT, pl.HALF)]
    assert taken == [2_663, 1_511]


FUSED: dict[str, tuple[Callable[..., Any], list[str]]] = {
    "tanh(a * b + c)": (lambda a, b, c: ops.tanh(a * b + c), ["multiply", "add", "tanh"]),
    "sqrt(a * a + b * b)": (
        lambda a, b, c: ops.sqrt(a * a + b * b),
        ["multiply", "multiply", "add", "sqrt"],
    ),
    "sigmoid(a) * b": (lambda a, b, c: ops.sigmoid(a) * b, ["sigmoid", "multiply"]),
    "relu(a * 0.5 + b)": (lambda a, b, c: ops.relu(a * 0.5 + b), ["* number", "add", "relu"]),
    "max(a, b) / c": (lambda a, b, c: ops.maximum(a, b) / c, ["maximum", "divide"]),
    "exp(-(a * b)) + 2": (
        lambda a, b, c: ops.exp(-(a * b)) + 2,
        ["multiply", "negate", "exp", "+ number"],
    ),
    "log(a) - log(b)": (lambda a, b, c: ops.log(a) + ops.log(b), ["log", "log", "add"]),
}


@pytest.mark.parametrize("element", [pl.FLOAT, pl.HALF])
@pytest.mark.parametrize("form", FUSED)
def test_a_fused_map_takes_its_parts_without_stores_between(form: str, element: Any) -> None:
    formula, parts = FUSED[form]
    width = 4 if element is pl.HALF else 2
    slots = 0
    for part in parts:
        if "number" in part:
            slots += 20 + 2 * SHARE // width
        else:
            slots += entry(part, element) + loops(part, element)
    slots -= (len(parts) - 1) * SHARE // width
    found = mapped(formula, element, 3)
    assert found <= 1.05 * WORKERS * slots
    # Nor less than the loops without stores and loads, once entered.
    assert found > WORKERS * (slots - 2 * len(parts) * SHARE // width - 33 * len(parts))


@pytest.mark.parametrize("element", [pl.FLOAT, pl.HALF])
def test_tanh_of_a_product_and_a_sum(element: Any) -> None:
    found = mapped(FUSED["tanh(a * b + c)"][0], element, 3)
    # Three loads, a product, a sum, and tanh without its load.
    each, entry = (3 + 1 + 1 + 11, 29) if element is pl.FLOAT else (3 + 1 + 1 + 3, 26)
    assert found == WORKERS * (entry + each * SHARE // (2 if element is pl.FLOAT else 4))


def of_rows(formula: Callable[..., Any], element: Any, *shapes: tuple[int, ...]) -> int:
    """Return what a map of 12 rows on one tile takes, two for each worker."""
    graph = pl.Graph(pl.Target(tiles=1))
    given = [graph.add_variable(element, shape, mapping=0) for shape in shapes]
    with graph.steps():
        ops.map(formula(*given))
    return cycles(graph)


@pytest.mark.parametrize(
    ("formula", "shapes", "worker"),
    [
        # Numbers of rows: BroadcastVectorOuterByRow1D, BroadcastScalar2D.
        (lambda a, b: a - b, [(12, 40), (12, 1)], 15 + 2 * (7 + 20 * 2)),
        (lambda a, b: a - b, [(12, 41), (12, 1)], 15 + 2 * (25 + 21 * 2)),
        (lambda a, b: a / b, [(12, 40), (12, 1)], 20 + 2 * (28 + 20 * 6)),
        # One row: PopLibs copies it for each, and takes BinaryOp2D.
        (lambda a, b: a + b, [(12, 40), (40,)], 5 + 2 * 20 * 3),
        (lambda a, b: ops.exp(a - b), [(12, 40), (12, 1)], 20 + 2 * (7 + 20 * (1 + 1 + 5))),
    ],
)
def test_rows_take_what_theirs_do(
    formula: Callable[..., Any], shapes: list[tuple[int, ...]], worker: int
) -> None:
    assert of_rows(formula, pl.FLOAT, *shapes) == WORKERS * worker


def test_ranges_that_lie_apart_are_one_vertex_of_several() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (24, 12))
    graph.set_tile_mapping(x[:, :6], 0)
    graph.set_tile_mapping(x[:, 6:], 1)
    with graph.steps():
        ops.map(ops.tanh(x), out=x)
    assert cycles(graph) == WORKERS * (20 + 4 * 3 * 10)  # UnaryOp2DInPlace


@pytest.mark.parametrize(
    ("element", "formula", "worker"),
    [
        (pl.INT, lambda a, b: a + b, 26 + 7 * SHARE),
        (pl.INT, lambda a, b: a * 3 + b, 26 + (2 + (6 - 1) + (7 - 2)) * SHARE),
        (pl.LONGLONG, lambda a, b: a + b, 26 + 11 * SHARE),
        (pl.INT, lambda a, b: a < b, 26 + 22 * SHARE // 4),
        (pl.FLOAT, lambda a, b: ops.cast(a, pl.HALF), 37 + 2 * SHARE // 4),
        (
            pl.FLOAT,
            lambda a, b: ops.where(a < b, a, b),
            29 + 6 + (4 + (14 - 4) + 4 * (5 - 3)) * SHARE // 4,
        ),
        (pl.HALF, lambda a, b: ops.sin(a), 17 + 25 * SHARE),
        (pl.HALF, lambda a, b: ops.gelu(a), 17 + 5 * SHARE // 4),
        (pl.FLOAT, lambda a, b: ops.erf(a), 17 + 41 * SHARE),
    ],
)
def test_other_types_and_operations(element: Any, formula: Callable[..., Any], worker: int) -> None:
    assert mapped(formula, element, 2) == WORKERS * worker


@pytest.mark.parametrize(
    ("element", "formula"),
    [
        (pl.FLOAT, lambda a: ops.acos(a)),
        (pl.FLOAT, lambda a: ops.acos(a) * 2 + 1),
        (pl.CHAR, lambda a: a + a),
    ],
)
def test_what_has_no_published_price_is_estimated(
    element: Any, formula: Callable[..., Any]
) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    a = graph.add_variable(element, (12,), mapping=0)
    with graph.steps():
        ops.map(formula(a))
    (work,) = graph.compute_sets
    (costs,) = vertex_costs(graph, work, edge_table(work))
    assert (costs.source, costs.slots) == ("automatic", None)
