"""Maps: what they take, where their results lie, and numbers that no tensor takes part in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples, interpreted, thinned
from poplite import ops
from poplite.cost.model import vertex_costs
from poplite.cost.step_cost import tile_cycles
from poplite.graph.compute_sets.edge_table import edge_table
from poplite.ops.fuse.classes import class_text, recipe_of

# -- prices ----------------------------------------------------------------------------------------
# Loops are those of `unaryOpPerfInfo`, `binaryOpPerfInfo`, `broadcastOpPerfInfo` and their forms
# in place (poplibs, lib/popops/popopsCycleEstimators.hpp), with what `unaryOpInnerLoopCycles`,
# `binaryOpInnerLoopCycles` and `broadcastArithmetic1DCycleEstimate` add; what is before them is
# that of the vertices in lib/popops/popopsCycleEstimators.cpp.


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
        costs = vertex_costs(graph, edge_table(work))
        assert {each.source for each in costs} == {"formula"}
        slots = [each.slots for each in costs if each.slots is not None]
        total += int(tile_cycles(costs, slots, graph.target).array().max())
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
        (lambda a, b: ops.exp(a - b), [(12, 40), (12, 1)], 33 + 2 * (7 + 20 * (1 + 1 + 5))),
    ],
)
def test_rows_take_what_theirs_do(
    formula: Callable[..., Any], shapes: list[tuple[int, ...]], worker: int
) -> None:
    assert of_rows(formula, pl.FLOAT, *shapes) == WORKERS * worker


@pytest.mark.parametrize(
    ("element", "formula", "columns", "worker"),
    [
        # BroadcastVectorInner2D of two rows.
        (pl.HALF, lambda a, b: a + b, 64, 22 + 12 + 8 * (13 + 2 * 2)),
        (pl.HALF, lambda a, b: b + a, 20, 22 + 15 + 5 * (11 + 2 * 1)),
        (pl.HALF, lambda a, b: a - b, 64, 23 + 12 + 8 * (13 + 2 * 2)),
        (pl.HALF, lambda a, b: a * b, 64, 19 + 13 + 16 * (9 + 2)),
        (pl.FLOAT, lambda a, b: a / b, 40, 19 + 10 + 20 * (5 + 2 * 6)),
        (pl.FLOAT, lambda a, b: a / b, 7, 19 + 9 + 7 * (5 + 2 * 4)),
        (pl.HALF, lambda a, b: a / b, 40, 25 + 14 + 20 * (5 + 2 * 8)),
        # Less the loads of the sum, which it has already, and 3 slots for each vector.
        (pl.HALF, lambda a, b: ops.relu(a + b), 64, 22 + 148 - 32 + 3 * 32),
    ],
)
def test_one_row_for_all_is_joined_by_vertices_of_its_own(
    element: Any, formula: Callable[..., Any], columns: int, worker: int
) -> None:
    assert of_rows(formula, element, (12, columns), (columns,)) == WORKERS * worker


def test_a_product_with_one_row_in_place_loads_and_stores_apart() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x, row = (graph.add_variable(pl.HALF, shape, mapping=0) for shape in ((12, 64), (64,)))
    with graph.steps():
        ops.assign(x, x * row)
    assert cycles(graph) == WORKERS * (19 + 9 + 16 * (7 + 2 * 2))


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
        (pl.INT, lambda a, b: a * 3 + b, 26 + (2 + (2 * 6 - 1) + (2 * 7 - 2)) * SHARE // 2),
        (pl.LONGLONG, lambda a, b: a + b, 26 + 11 * SHARE),
        (pl.INT, lambda a, b: a < b, 26 + 22 * SHARE // 4),
        (pl.FLOAT, lambda a, b: ops.cast(a, pl.HALF), 37 + 2 * SHARE // 4),
        (
            pl.FLOAT,
            lambda a, b: ops.where(a < b, a, b),
            29 + (4 + (14 - 4) + (4 * 5 - 6)) * SHARE // 4,
        ),
        (pl.HALF, lambda a, b: ops.sin(a), 17 + 25 * SHARE),
        (pl.HALF, lambda a, b: ops.gelu(a), 17 + 5 * SHARE // 4),
        (pl.FLOAT, lambda a, b: ops.erf(a), 17 + 41 * SHARE),
    ],
)
def test_other_types_and_operations(element: Any, formula: Callable[..., Any], worker: int) -> None:
    assert mapped(formula, element, 2) == WORKERS * worker


def test_the_price_of_a_class_comes_from_its_recipe_again(tmp_path: Path) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    a, b = (graph.add_variable(pl.HALF, (48,), mapping=0, initial_value=1) for _ in "ab")
    with graph.steps() as steps:
        ops.map(ops.tanh(a * b), out=a)
    pl.compile_graph(graph, steps).save(tmp_path / "maps.poplite")
    work = next(iter(graph.compute_sets)).vertices[0].vertex_class
    recipe = recipe_of(work)
    assert recipe is not None
    assert class_text(recipe).text.count("def cycles") == 1
    engine = pl.Engine(pl.Executable.load(tmp_path / "maps.poplite"), interpret=True)
    engine.run()
    # Two vectors of each worker: two loads, a product, and tanh without its load.
    assert engine.report().execution.cycles == WORKERS * (58 + 2 * (2 + 1 + 3))


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
    (costs,) = vertex_costs(graph, edge_table(work))
    assert (costs.source, costs.slots) == ("automatic", None)


ONE: list[Callable[..., Any]] = [ops.negative, ops.relu, ops.tanh, ops.square, abs, ops.sqrt]
TWO: list[Callable[..., Any]] = [
    *(ops.add, ops.subtract, ops.multiply, ops.divide, ops.maximum, ops.power),
    lambda a, b: ops.where(a < b, a, b),
]
SHAPES = [(12, 64), (12, 64), (64,), (12, 1), (1,)]

Drawn = tuple[Any, ...]
trees: st.SearchStrategy[Drawn] = st.recursive(
    st.tuples(st.sampled_from("abcde")),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(ONE), inner), st.tuples(st.sampled_from(TWO), inner, inner)
    ),
    max_leaves=6,
)


def made(tree: Drawn, given: dict[str, pl.Tensor], stored: Callable[[Any], Any]) -> Any:
    """Return what a tree stands for; `stored` does something with each of its nodes."""
    if isinstance(tree[0], str):
        return given[tree[0]]
    return stored(tree[0](*(made(each, given, stored) for each in tree[1:])))


@examples(200, quick=20)
@hypothesis.given(trees, st.sampled_from([pl.FLOAT, pl.HALF]))
def test_a_fused_map_is_never_dearer_than_one_that_stores_its_parts(
    tree: Drawn, element: Any
) -> None:
    taken = []
    for stored in (lambda node: node, ops.map):
        graph = pl.Graph(pl.Target(tiles=1))
        given = {
            name: graph.add_variable(element, shape, name, mapping=0)
            for name, shape in zip("abcde", SHAPES, strict=True)
        }
        with graph.steps():
            root = made(tree, given, stored)
            if stored is not ops.map:
                ops.map(root)
        taken.append(cycles(graph))
    fused, apart = taken
    assert fused <= apart or isinstance(tree[0], str)


@pytest.mark.parametrize(("shape", "most"), [((5, 1276), 64_230), ((26, 819), 98_568)])
def test_parts_of_rows_fill_what_whole_rows_leave_of_the_time_of_workers(
    shape: tuple[int, int], most: int
) -> None:
    """Six workers on one tile have 10 and 32 parts of rows, as even as ranges of one vector."""
    graph = pl.Graph(pl.Target(tiles=1))
    p = graph.add_variable(pl.FLOAT, shape, "p", mapping=0, initial_value=1)
    column = graph.add_variable(pl.FLOAT, (shape[0], 1), "column", mapping=0, initial_value=2)
    with graph.steps() as steps:
        if shape[0] == 5:
            row = graph.add_variable(pl.FLOAT, (1, shape[1]), "row", mapping=0, initial_value=2)
            ops.map(ops.tanh(p * row + column))
        else:
            ops.map(ops.exp(p - column))
    engine = pl.Engine(graph, steps)
    engine.run()
    cycles = engine.report().cycles
    assert cycles is not None
    assert cycles <= most  # of the same in two maps, the second of vectors


# -- numbers that no tensor takes part in ----------------------------------------------------------


TYPES = [pl.FLOAT, pl.HALF, pl.CHAR, pl.UNSIGNED_SHORT, pl.INT, pl.LONGLONG, pl.UNSIGNED_LONGLONG]


def stored(graph: pl.Graph, program: pl.Sequence, tensor: pl.Tensor, **options: Any) -> Any:
    """Run a program once and return what a tensor holds."""
    engine = pl.Engine(graph, program, **options)
    engine.run()
    return engine.read(tensor)


@pytest.mark.parametrize(("element", "most"), [(pl.FLOAT, 700), (pl.HALF, 450)])
def test_a_zero_of_all_tiles_sends_nothing(element: Any, most: int) -> None:
    graph, program = pl.Graph(pl.Target(tiles=1472)), pl.Sequence()
    x = graph.add_variable(element, (1472, 1000), "x", mapping="linear", initial_value=3)
    ops.zero(x, program=program)
    assert [variable.name for variable in graph.variables] == ["x"]
    engine = pl.Engine(graph, program, interpret=False)
    engine.run()
    report = engine.report()
    assert not engine.read(x).any()
    assert 0 < (report.execution.cycles or 0) <= most
    assert report.execution.bytes_copied == 0


@pytest.mark.parametrize("element", thinned([*TYPES, pl.BOOL], [pl.HALF, pl.LONGLONG, pl.BOOL]))
@pytest.mark.parametrize("how", ["all", "few", "columns", "transposed", "rows apart"])
def test_fill_stores_one_number_in_any_view(element: Any, how: str) -> None:
    graph, program = pl.Graph(pl.Target(tiles=3)), pl.Sequence()
    zeros = np.zeros((10, 24), element.dtype)
    x = graph.add_variable(element, zeros.shape, "x", mapping="linear", initial_value=zeros)
    views: dict[str, Callable[[Any], Any]] = {
        "all": lambda t: t,
        "few": lambda t: t[0, :1],
        "columns": lambda t: t[:, 3:9],
        "transposed": lambda t: t.T,
        "rows apart": lambda t: t[::4, ::2],
    }
    value = True if element is pl.BOOL else 7
    ops.fill(views[how](x), value, program=program)
    expected = zeros.copy()
    views[how](expected)[...] = value
    assert np.array_equal(stored(graph, program, x, **interpreted()), expected)


@examples(30, quick=5)
@given(
    element=st.sampled_from(TYPES),
    shape=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    start=st.integers(-40, 40),
    view=st.sampled_from(["whole", "transposed", "odd columns"]),
)
def test_iota_counts_by_position(
    element: Any, shape: tuple[int, int], start: int, view: str
) -> None:
    start = abs(start) if np.dtype(element.dtype).kind == "u" else start
    graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    rows, columns = shape
    whole = graph.add_variable(element, (rows, 2 * columns), "x", mapping="linear")
    square = graph.add_variable(element, (columns, rows), "y", mapping="linear")
    outs = {"whole": whole[:, :columns], "transposed": square.T, "odd columns": whole[:, 1::2]}
    ops.assign(outs[view], ops.iota(shape, element, start=start), program=program)
    expected = (np.arange(rows * columns) + start).astype(element.dtype).reshape(shape)
    found = stored(graph, program, outs[view], interpret=True)
    assert np.array_equal(found, expected)


def test_iota_of_floats_beyond_24_bits_is_rounded_once() -> None:
    graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    x = graph.add_variable(pl.FLOAT, (100,), "x", mapping="linear")
    ops.assign(x, ops.iota(100, pl.FLOAT, start=2**25 + 1), program=program)
    expected = (np.arange(100) + float(2**25 + 1)).astype(np.float32)
    assert np.array_equal(stored(graph, program, x), expected)


def test_iota_that_is_broadcast_starts_again_in_each_row() -> None:
    graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    x = graph.add_variable(pl.INT, (3, 40), "x", mapping="linear")
    ops.assign(x, ops.iota(40), program=program)
    assert np.array_equal(stored(graph, program, x), np.tile(np.arange(40), (3, 1)))


def test_a_number_of_four_bytes_is_copied_on_its_tile() -> None:
    """As PopLibs does (lib/popops/Fill.cpp): no vertex, and nothing sent."""
    graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    x = graph.add_variable(pl.FLOAT, (), "x", mapping=3)
    ops.fill(x, 0.5, program=program)
    engine = pl.Engine(graph, program)
    engine.run()
    assert engine.read(x) == 0.5
    (step,) = engine.report().execution.steps
    assert not any(phase.received.array().any() for phase in step.phases)


# -- where results lie -----------------------------------------------------------------------------


def on_tiles(graph: pl.Graph, size: int, first: int, last: int, name: str) -> pl.Tensor:
    """A variable spread over the tiles from `first` up to `last`."""
    made = graph.add_variable(pl.FLOAT, (size,), name, initial_value=np.arange(size))
    count = last - first
    for k in range(count):
        part = made[k * size // count : (k + 1) * size // count]
        graph.set_tile_mapping(part, first + k)
    return made


def tiles_of(graph: pl.Graph, made: pl.Tensor) -> int:
    return len(graph.tile_mapping(made).tiles)


def test_the_sum_of_two_halves_uses_all_tiles() -> None:
    graph, program = pl.Graph(pl.Target(tiles=64)), pl.Sequence()
    x = on_tiles(graph, 16_384, 0, 64, "x")
    y = ops.map(x[:8192] + x[8192:], program=program)
    assert graph.tile_mapping(y).elements_per_tile.tolist() == [128] * 64
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    assert (engine.read(y) == 2 * np.arange(8192) + 8192).all()


@pytest.mark.parametrize(
    ("function", "used"),
    [
        (lambda x: -x, 32),  # sending takes as long as negating
        (lambda x: x + x, 32),
        (lambda x: x + ops.cast(x > 3, pl.FLOAT), 32),
    ],
)
def test_a_map_of_one_operand_stays_on_half_of_the_tiles(
    function: Callable[[pl.Tensor], pl.Expr], used: int
) -> None:
    graph, program = pl.Graph(pl.Target(tiles=64)), pl.Sequence()
    x = on_tiles(graph, 8192, 0, 32, "x")
    assert tiles_of(graph, ops.map(function(x), program=program)) == used


@pytest.mark.parametrize(("last", "used"), [(31, 64), (33, 33)])
def test_operands_on_few_tiles_are_not_followed(last: int, used: int) -> None:
    graph, program = pl.Graph(pl.Target(tiles=64)), pl.Sequence()
    x = on_tiles(graph, 8192, 0, last, "x")
    assert tiles_of(graph, ops.map(-x, program=program)) == used


def test_an_uneven_operand_beside_others_is_not_followed() -> None:
    graph, program = pl.Graph(pl.Target(tiles=8)), pl.Sequence()
    x, y = (graph.add_variable(pl.FLOAT, (8192,), name, initial_value=1) for name in "xy")
    for each, tile in ((x, 0), (y, 7)):
        graph.set_tile_mapping(each[:7000], tile)
        for k in range(8):
            graph.set_tile_mapping(each[7000 + 149 * k : 7149 + 149 * k], k)
    total = ops.map(x + y, program=program)
    assert graph.tile_mapping(total).elements_per_tile.max() == 1024
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    assert (engine.read(total) == 2).all()


def test_the_stages_of_a_transform_by_views_use_all_tiles() -> None:
    graph, size = pl.Graph(pl.Target(tiles=16)), 1024
    values = np.random.default_rng(3).integers(-3, 4, size).astype(np.float32)
    x = graph.add_variable(pl.FLOAT, (size,), "x", mapping="linear", initial_value=values)
    right = values
    with graph.steps("sums and differences") as program:
        for _ in range(4):
            low, high = x[: size // 2], x[size // 2 :]
            parts = [ops.map(each) for each in (low + high, low - high)]
            assert [tiles_of(graph, each) for each in parts] == [16, 16]
            x = pl.concat([part.expand([1]) for part in parts], 1).flatten()
            a, b = np.split(right, 2)
            right = np.stack([a + b, a - b], 1).ravel()
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    assert (engine.read(x) == right).all()
