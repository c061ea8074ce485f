"""Reductions of expressions: what they cost beside vertices by hand, in which order, and where."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pytest

import poplite as pl
from helpers.depth import interpreted, thinned
from poplite import ops
from poplite.ops.fuse import contractions, lowering
from poplite.ops.fuse.contractions import ProductPrices
from poplite.ops.fuse.pricing import (
    Bound,
    ReadOperand,
    Remembered,
    VectorReads,
    compared,
    gathering_cycles,
)
from poplite.ops.reductions import build
from poplite.ops.reductions.plan import Plan, Problem, plan_for
from poplite.vertices.estimators import reduce_one

pytestmark = pytest.mark.priced

TILES = 64
TARGET = pl.Target(tiles=TILES)

Array = npt.NDArray[Any]
Form = Callable[[Any, Any], pl.Expr]
Place = Literal["linear"] | int

FORMS: dict[str, Form] = {
    "sum(p * q)": lambda p, q: ops.sum(p * q),
    "p @ q": lambda p, q: p @ q,
    "norm(p)": lambda p, _: ops.norm(p),
    "sum(p ** 2)": lambda p, _: ops.sum(p**2),
}


@pytest.fixture
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let prices that other tests found be found anew."""
    monkeypatch.setattr(lowering, "_PRICES", Remembered[ProductPrices](most=9))
    monkeypatch.setattr(build, "_IN_ONE", Remembered[bool](most=9))


class Dot(pl.Vertex):
    """A worker's part of a product of two vectors, as a user writes it."""

    a: pl.Input[pl.Vector[pl.FLOAT]]
    b: pl.Input[pl.Vector[pl.FLOAT]]
    out: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        total = 0.0
        for i in range(len(self.a)):
            total += self.a[i] * self.b[i]
        self.out = total


def operands(
    element: type[pl.ElementType[Any]],
    shape: tuple[int, ...],
    tiles: int = TILES,
    values: tuple[npt.ArrayLike, npt.ArrayLike] = (1, 2),
) -> tuple[pl.Graph, pl.Tensor, pl.Tensor]:
    graph = pl.Graph(pl.Target(tiles=tiles))
    p, q = (
        graph.add_variable(element, shape, name, mapping="linear", initial_value=value)
        for name, value in zip("pq", values, strict=True)
    )
    return graph, p, q


def ran(graph: pl.Graph, program: pl.Program, result: pl.Tensor) -> tuple[Array, int]:
    """Return a result and the cycles of the program."""
    engine = pl.Engine(graph, program)
    engine.run()
    cycles = engine.report().cycles
    assert cycles
    return np.asarray(engine.read(result)), cycles


def computed(
    expr: Form,
    element: type[pl.ElementType[Any]],
    shape: tuple[int, ...],
    tiles: int = TILES,
    values: tuple[npt.ArrayLike, npt.ArrayLike] = (1, 2),
) -> tuple[Array, int]:
    graph, p, q = operands(element, shape, tiles, values)
    with graph.steps() as steps:
        result = ops.map(expr(p, q))
    return ran(graph, steps, result)


def cycles_by_hand(size: int) -> int:
    """Return the cycles of six vertices a tile, and of the sum of what they come to."""
    graph, p, q = operands(pl.FLOAT, (TILES * size,))
    parts, dots = graph.add_variable(pl.FLOAT, (TILES, 6), "parts"), graph.add_compute_set("dots")
    for tile in range(TILES):
        graph.set_tile_mapping(parts[tile], tile)
        for worker in range(6):
            begin, end = (tile * size + size * (worker + k) // 6 for k in (0, 1))
            graph.add_vertex(
                dots, Dot, tile=tile, a=p[begin:end], b=q[begin:end], out=parts[tile, worker]
            )
    with graph.steps() as steps:
        steps.add(pl.Execute(dots))
        total = ops.map(ops.sum(parts))
    return ran(graph, steps, total)[1]


BY_HAND = {64: 1329, 600: 3465, 6000: 25065}
"""Cycles of six vertices a tile, by elements a tile."""


@pytest.mark.parametrize("size", thinned(BY_HAND, keep=1))
def test_what_vertices_by_hand_take(size: int) -> None:
    assert cycles_by_hand(size) == BY_HAND[size]


@pytest.mark.parametrize(("size", "most"), [(64, 1.0), (600, 1.0), (6000, 0.5)])
@pytest.mark.parametrize("form", FORMS)
def test_no_dearer_than_vertices_by_hand_and_than_storing_the_product(
    form: str, size: int, most: float
) -> None:
    value, cycles = computed(FORMS[form], pl.FLOAT, (TILES * size,))
    root = {"norm(p)": np.sqrt}.get(form, lambda x: x)
    assert value == pytest.approx(root(TILES * size * (2 if "q" in form else 1)))
    assert cycles <= most * BY_HAND[size]
    stored: Form = lambda p, q: ops.sum(ops.map(p * q))  # noqa: E731
    assert cycles <= computed(stored, pl.FLOAT, (TILES * size,))[1]


def test_a_row_that_is_computed_is_cut_among_workers_as_its_price_says() -> None:
    """64 products on one worker take 113 slots; on five 38, and 20 to join what they come to."""
    graph, p, q = operands(pl.FLOAT, (64,), tiles=1)
    with graph.steps() as steps:
        product, plain = ops.map(ops.sum(p * q), name="a"), ops.map(ops.sum(p), name="b")
    vertices = {each.name: len(each.vertices) for each in graph.compute_sets}
    assert vertices == {"a/tiles": 5, "a/workers": 1, "b/tiles": 1}
    engine = pl.Engine(graph, steps)
    engine.run()
    assert (float(engine.read(product)), float(engine.read(plain))) == (128, 64)


@pytest.mark.parametrize("length", [2, 11, 64, 1000])
def test_the_price_is_that_of_a_reduction_and_of_what_is_computed(length: int) -> None:
    """One worker: PopLibs' `Reduce`, one more load of 64 bits and one product of two FLOAT."""
    graph, p, q = operands(pl.FLOAT, (1, length), tiles=1)
    with graph.steps() as steps:
        squares = ops.map(ops.sum(p**2, 1), name="squares")
        products = ops.map(ops.sum(p * q, 1), name="products")
    engine = pl.Engine(graph, steps)
    engine.run()
    assert (float(engine.read(squares)[0]), float(engine.read(products)[0])) == (length, 2 * length)
    prices = {each.name: each.cycles for each in engine.report().execution.steps}
    vertices = {each.name: [*each.vertices] for each in graph.compute_sets}
    for name, more in (("squares", 0), ("products", 2)):
        fields = [each.connections["x0"] for each in vertices[f"{name}/tiles"]]
        own = max(each.num_elements for each in fields if isinstance(each, pl.Tensor))
        slots = reduce_one(pl.FLOAT, pl.FLOAT, own, TARGET) + more * -(-own // 2)
        assert prices[f"{name}/tiles"] == 6 * slots


DOTS = [
    ((50,), (50,)),
    ((1, 50), (50,)),
    ((50,), (50, 1)),
    ((1, 50), (50, 1)),
    ((3, 1, 50), (3, 50, 1)),
    ((2, 3, 1, 50), (3, 50, 1)),
    ((50,), (3, 50, 1)),
    ((1, 1), (1, 1)),
]


@pytest.mark.parametrize("element", [pl.FLOAT, pl.HALF])
@pytest.mark.parametrize(("left", "right"), thinned(DOTS, keep=[DOTS[0], DOTS[3], DOTS[5]]))
def test_a_product_of_one_row_by_one_column_is_a_sum(
    left: tuple[int, ...], right: tuple[int, ...], element: type[pl.ElementType[Any]]
) -> None:
    graph = pl.Graph(pl.Target(tiles=7))
    rng = np.random.default_rng(1)
    given = [rng.integers(-9, 9, shape).astype(element.dtype) for shape in (left, right)]
    a, b = (
        graph.add_variable(element, each.shape, name, mapping="linear", initial_value=each)
        for name, each in zip("ab", given, strict=True)
    )
    with graph.steps() as steps:
        product = ops.map(a @ b)
        wide = ops.map(ops.matmul(a, b, result=pl.FLOAT) + 1)
    engine = pl.Engine(graph, steps, **interpreted())
    engine.run()
    expected = given[0].astype(np.float32) @ given[1].astype(np.float32)
    assert engine.read(product).dtype == element.dtype
    np.testing.assert_array_equal(engine.read(product), expected.astype(element.dtype))
    np.testing.assert_array_equal(engine.read(wide), expected + 1)
    assert not any("Amp" in name for name in classes(graph))


def test_a_product_and_a_wider_sum_of_the_same_products_keep_their_types() -> None:
    values = np.array([100.1, 3.3, 7.7], np.float16)
    graph = pl.Graph(pl.Target(tiles=2))
    a = graph.add_variable(pl.HALF, (3,), "a", mapping="linear", initial_value=values)
    wide = ops.cast(a, pl.FLOAT)
    product, total = ops.cast(a @ a, pl.FLOAT), ops.sum(wide * wide)
    with graph.steps() as steps:
        results = [ops.map(product - total), ops.map(total - product)]
    engine = pl.Engine(graph, steps, **interpreted())
    engine.run()
    exact = np.sum(values.astype(np.float32) ** 2)
    error = np.float32(np.float16(exact)) - exact
    found = [engine.read(each) for each in results]
    np.testing.assert_allclose(found, [error, -error], rtol=0.01)  # sums may differ in a last bit


VECTORS = [
    (64, pl.FLOAT, (300, 200), (200,), True),
    (64, pl.HALF, (512, 48), (48, 1), True),
    (16, pl.FLOAT, (40,), (40, 300), False),
    (16, pl.HALF, (1, 20), (20, 700), False),
    (7, pl.FLOAT, (3, 25, 60), (60,), True),
    (1, pl.FLOAT, (50, 48), (48,), True),
    (256, pl.HALF, (300, 64), (64,), False),
    (64, pl.FLOAT, (20, 640), (640,), True),
    (16, pl.HALF, (30,), (30, 5), False),
    (1472, pl.FLOAT, (1000, 1000), (1000,), False),  # each tile receives v from 680 others
]


@pytest.mark.parametrize(
    ("tiles", "element", "left", "right", "is_sum"),
    thinned(VECTORS, keep=[VECTORS[0], VECTORS[2], VECTORS[5], VECTORS[-1]]),
)
def test_a_product_by_one_row_or_column_is_what_takes_fewer_cycles(
    tiles: int,
    element: type[pl.ElementType[Any]],
    left: tuple[int, ...],
    right: tuple[int, ...],
    is_sum: bool,
) -> None:
    rng = np.random.default_rng(4)
    one, other = (rng.integers(-3, 4, shape).astype(np.float32) for shape in (left, right))
    rows, columns = left[-2] if len(left) > 1 else 1, right[-1] if len(right) > 1 else 1

    def made(expr: Form) -> tuple[Array, int, str]:
        graph = pl.Graph(pl.Target(tiles=tiles))
        a, b = (
            graph.add_variable(element, value.shape, name, mapping="linear", initial_value=value)
            for name, value in zip("ab", (one, other), strict=True)
        )
        with graph.steps() as steps:
            result = ops.map(expr(a, b))
        return *ran(graph, steps, result), ops.explain(result)

    def planned(a: pl.Tensor, b: pl.Tensor) -> pl.Expr:
        m = rows * (left[0] if len(left) > 2 else 1)
        plan = ops.plan_matmul(a.graph, m=m, k=left[-1], n=columns, type=element)
        return ops.matmul(a, b, plan)

    def summed(a: pl.Tensor, b: pl.Tensor) -> pl.Expr:
        if columns == 1:
            return ops.sum(a * b.flatten(), -1)
        return ops.sum(a.reshape((left[-1], 1)) * b, 0)

    value, cycles, why = made(lambda a, b: a @ b)
    np.testing.assert_array_equal(value, one @ other)
    assert cycles <= 1.05 * min(made(planned)[1], made(summed)[1])
    assert why.startswith("reduced: a @ b" if is_sum else "multiplied: a @ b")
    assert "cycles by a plan" in why
    assert "as a sum" in why


USED = [
    (1472, pl.HALF, (3, 1, 500), (3, 500, 1), "linear", 1745, 1589),
    (64, pl.HALF, (57, 1, 2), (57, 2, 1), "linear", 1073, 996),
    (64, pl.HALF, (2, 1, 1000), (2, 1000, 1), "linear", 1421, 1022),
    (1472, pl.HALF, (59, 121), (121, 1), "linear", 1426, 1467),
    (1472, pl.FLOAT, (7,), (7, 600), "linear", 1571, 1148),
    (1472, pl.HALF, (1318, 2), (2, 1), 0, 1932, 1908),
]


@pytest.mark.parametrize(
    ("tiles", "element", "left", "right", "place", "behind", "stored"),
    thinned(USED, keep=[USED[0]]),
)
def test_a_product_is_priced_with_what_becomes_of_it(
    tiles: int,
    element: type[pl.ElementType[Any]],
    left: tuple[int, ...],
    right: tuple[int, ...],
    place: Place,
    behind: int,
    stored: int,
) -> None:
    graph = pl.Graph(pl.Target(tiles=tiles))
    a = graph.add_variable(element, left, "a", mapping="linear", initial_value=1)
    b = graph.add_variable(element, right, "b", mapping="linear", initial_value=2)
    shape = (a @ b).shape
    c = graph.add_variable(element, shape, "c", mapping=place, initial_value=3)
    with graph.steps() as steps:
        made = ops.map(ops.relu(a @ b + c))
    value, cycles = ran(graph, steps, made)
    np.testing.assert_array_equal(value, np.full(shape, 2 * left[-1] + 3))
    assert cycles == behind
    with graph.steps() as steps:
        ops.assign(c, a @ b)
    value, cycles = ran(graph, steps, c)
    np.testing.assert_array_equal(value, np.full(shape, 2 * left[-1]))
    assert cycles == stored


@pytest.mark.parametrize(
    ("tiles", "element", "size", "is_sum"),
    [
        (1, pl.HALF, 500, False),  # 500,000 B, and 167,000 of the vector, repeated
        (1, pl.FLOAT, 350, False),
        (1, pl.HALF, 450, True),
        (4, pl.HALF, 1000, True),  # most of the vector comes from other tiles
    ],
)
def test_a_product_is_no_sum_where_its_repeated_vector_does_not_fit(
    tiles: int, element: type[pl.ElementType[Any]], size: int, is_sum: bool
) -> None:
    graph = pl.Graph(pl.Target(tiles=tiles))
    a = graph.add_variable(element, (size, size), "a", mapping="linear")
    v = graph.add_variable(element, (size,), "v", mapping="linear")
    with graph.steps() as steps:
        result = ops.map(a @ v)
    why = ops.explain(result)
    assert why.startswith("reduced: a @ v" if is_sum else "multiplied: a @ v")
    assert ("which needs more memory than the product may take" in why) != is_sum
    pl.Engine(graph, steps)  # fits


@pytest.mark.usefixtures("nothing_known")
def test_products_that_lie_as_others_are_priced_once(monkeypatch: pytest.MonkeyPatch) -> None:
    priced = []

    def counted(one: Iterator[Bound], other: Iterator[Bound]) -> tuple[Bound, Bound]:
        priced.append(1)
        return compared(one, other)

    monkeypatch.setattr(contractions, "compared", counted)

    def made(mapping: Any, element: type[pl.ElementType[Any]] = pl.FLOAT) -> str:
        graph = pl.Graph(pl.Target(tiles=4))
        a = graph.add_variable(element, (40, 30), "a", mapping="linear")
        v = graph.add_variable(element, (30,), "v", mapping=mapping)
        with graph.steps():
            return ops.explain(ops.map(a @ v)).splitlines()[0]

    others = [("linear", pl.FLOAT), (2, pl.FLOAT), (2, pl.HALF)]
    found = [made(*each) for each in others]
    assert len(priced) == 3
    assert [made(*each) for each in others] == found
    assert len(priced) == 3


def test_what_follows_a_product_by_a_column_is_a_map_behind_its_sum() -> None:
    values = np.arange(-7, 8, dtype=np.float32)
    graph = pl.Graph(pl.Target(tiles=4))
    a = graph.add_variable(pl.FLOAT, (15, 15), "a", mapping="linear")
    v, w = (
        graph.add_variable(pl.FLOAT, (15,), name, mapping="linear", initial_value=values)
        for name in "vw"
    )
    out = graph.add_variable(pl.FLOAT, (15,), "out", mapping=1)
    with graph.steps() as steps:
        ops.assign(a, ops.cast(ops.iota((15, 15)), pl.FLOAT))
        made = ops.map(ops.maximum(a @ v + w @ a, w) * 2)
        ops.assign(out, a @ (a @ v) - w)
    engine = pl.Engine(graph, steps, **interpreted())
    engine.run()
    matrix = np.arange(225, dtype=np.float32).reshape(15, 15)
    expected = np.maximum(matrix @ values + values @ matrix, values) * 2
    np.testing.assert_array_equal(engine.read(made), expected)
    np.testing.assert_array_equal(engine.read(out), matrix @ (matrix @ values) - values)
    reasons = ops.explain(made)
    assert "reduced: a @ v (" in reasons
    assert "multiplied: w @ a, " in reasons
    assert "by the vertices that add up 2 slices of k" in reasons


def classes(graph: pl.Graph) -> set[str]:
    return {str(v.vertex_class) for each in graph.compute_sets for v in each.vertices}


def test_what_is_asked_of_a_plan_is_kept() -> None:
    graph, p, q = operands(pl.HALF, (64,), tiles=4)
    plan = ops.plan_matmul(graph, m=1, k=64, n=1, type=pl.HALF)
    tried: list[dict[str, Any]] = [
        {"plan": plan},
        {"partials": pl.HALF},
        {"constraints": {"pk": 2}},
    ]
    for options in tried:
        before = len(graph.compute_sets)
        with graph.steps():
            ops.map(ops.matmul(p, q, **options))
        made = graph.compute_sets[before:]
        assert any("Amp" in str(v.vertex_class) for each in made for v in each.vertices)


@pytest.mark.parametrize("element", [pl.FLOAT, pl.HALF, pl.INT, pl.UNSIGNED_CHAR])
@pytest.mark.parametrize(("shape", "dim"), [((1, 77), 1), ((77, 1), 0), ((9, 31), 0), ((9, 31), 1)])
def test_sums_of_products_are_those_of_numpy(
    shape: tuple[int, ...], dim: int, element: type[pl.ElementType[Any]]
) -> None:
    given = np.random.default_rng(2).integers(0, 5, (2, *shape)).astype(element.dtype)
    graph = pl.Graph(pl.Target(tiles=5))
    p = graph.add_variable(element, shape[::-1], "p", mapping="linear", initial_value=given[0].T)
    q = graph.add_variable(element, shape, "q", initial_value=given[1])
    graph.set_tile_mapping(q.flatten()[::2], 3)
    graph.set_tile_mapping(q.flatten()[1::2], 1)
    with graph.steps() as steps:
        total = ops.map(ops.sum(p.T * q, dim))
        most = ops.map(ops.max(p.T * q - q, dim))
    engine = pl.Engine(graph, steps, **interpreted())
    engine.run()
    products = given[0] * given[1]
    expected = products.sum(dim, dtype=element.dtype)
    np.testing.assert_array_equal(engine.read(total), expected)
    np.testing.assert_array_equal(engine.read(most), (products - given[1]).max(dim))


def test_an_expression_is_stored_where_that_takes_fewer_cycles() -> None:
    """Of a field of 6 x 1,000 a tile has 94 elements of as many sums, and joins none of them."""
    for shape, why in (((6, 1000), "stored"), ((6000, 10), "reduced")):
        graph, p, q = operands(pl.FLOAT, shape)
        with graph.steps():
            total = ops.map(ops.sum(p * q, 0))
        assert f"{why}: " in ops.explain(total)
        held = sum(each.num_elements >= p.num_elements for each in graph.variables)
        assert held == (3 if why == "stored" else 2)


@pytest.mark.parametrize(
    ("dim", "is_row", "why"), [(1, True, "reduced"), (0, True, "stored"), (0, False, "stored")]
)
def test_operands_that_are_stretched_are_priced(dim: int, is_row: bool, why: str) -> None:
    """A vertex of columns would get each element of `w` again for all that it is multiplied by."""
    taken = []
    for is_map in (False, True):
        graph, p, _ = operands(pl.FLOAT, (100, 1000))
        w = graph.add_variable(
            pl.FLOAT, (1, 1000) if is_row else (100, 1), "w", mapping="linear", initial_value=3
        )
        with graph.steps() as steps:
            product = ops.map(p * w) if is_map else p * w
            total = ops.map(ops.sum(product, dim), name="total")
        value, cycles = ran(graph, steps, total)
        assert (value == 3 * p.shape[dim]).all()
        assert is_map or f"{why}: " in ops.explain(total)
        taken.append(cycles)
    assert taken[0] <= taken[1]


STRETCHED = [
    ((64, 100), (64, 1), 64, 1),
    ((6400, 10), (6400, 1), 64, 1),
    ((6400, 10), (1, 10), 64, 1),
    ((10, 600), (10, 1), 1, 1),
    ((10, 600), (1, 600), 1, 1),
    ((10, 600), (10, 1), 1, 0),
    ((10, 600), (10, 1), 2, 1),
    ((37, 10), (37, 1), 64, 1),
    ((600, 33), (600, 1), 16, None),
]
"""Shapes of an operand and of one that is stretched, tiles, and the dimension that is reduced."""


@pytest.mark.parametrize("element", [pl.FLOAT, pl.HALF])
@pytest.mark.parametrize(
    ("shape", "small", "tiles", "dim"), thinned(STRETCHED, keep=[STRETCHED[0], STRETCHED[7]])
)
def test_repeated_values_are_never_dearer_than_storing_the_product(
    shape: tuple[int, int],
    small: tuple[int, int],
    tiles: int,
    dim: int | None,
    element: type[pl.ElementType[Any]],
) -> None:
    taken, values = [], []
    for is_stored in (False, True):
        graph, p, _ = operands(element, shape, tiles)
        w = graph.add_variable(element, small, "w", mapping=0, initial_value=3)
        with graph.steps() as steps:
            product = ops.map(p * w) if is_stored else p * w
            total = ops.map(ops.sum(product, dim))
        value, cycles = ran(graph, steps, total)
        taken.append(cycles)
        values.append(value)
    np.testing.assert_array_equal(values[0], values[1])
    assert taken[0] <= taken[1]


def test_what_is_reduced_along_dimensions_apart_is_copied_stored_or_not() -> None:
    squares: Form = lambda p, _: ops.sum(p**2, [1, 3])  # noqa: E731
    stored: Form = lambda p, _: ops.sum(ops.map(p**2), [1, 3])  # noqa: E731
    shape = (16, 64, 8, 4)
    assert computed(squares, pl.HALF, shape)[1] < computed(stored, pl.HALF, shape)[1]


@pytest.mark.parametrize("size", thinned(BY_HAND, keep=1))
def test_half_takes_no_longer_than_float(size: int) -> None:
    for form in ("p @ q", "sum(p * q)"):
        taken = {
            element: computed(FORMS[form], element, (TILES * size,))[1]
            for element in (pl.FLOAT, pl.HALF)
        }
        assert taken[pl.HALF] <= taken[pl.FLOAT]


def test_sums_of_columns_of_half_are_shared_among_workers() -> None:
    """Of ten columns a load brings two in every row: five workers have two each."""
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.HALF, (100, 10), "x", mapping=0, initial_value=1)
    with graph.steps() as steps:
        total = ops.map(ops.sum(x, 0), name="total")
    (tiles,) = (each for each in graph.compute_sets if each.name == "total/tiles")
    assert len(tiles.vertices) == 5
    assert (ran(graph, steps, total)[0] == 100).all()


def test_operations_without_a_published_loop_are_priced_by_their_code() -> None:
    graph, p, _ = operands(pl.FLOAT, (600,), tiles=2)
    with graph.steps() as steps:
        ops.map(ops.sum(ops.acos(p)))
        ops.map(ops.sum(ops.exp(p)))
        ops.map(ops.sum(p * ops.acos(p[0])))
    engine = pl.Engine(graph, steps)
    engine.run()
    text = str(engine.report()).split("Cycles by vertex type:\n")[1].split("\n\n")[0]
    found = dict(line.strip().rsplit("  ", 1) for line in text.splitlines())
    sources = {name.split(" (")[0]: source for name, source in found.items()}
    assert sources == {
        "SumRows[FLOAT, FLOAT]": "formula",
        "sum(exp(x0)) of rows": "formula",
        "sum(acos(x0)) of rows": "estimated",
        "sum(x0 * acos(x1)) of rows": "estimated",
    }


def test_columns_of_an_operand_on_other_tiles_are_stored_first_where_joining_copies_them() -> None:
    """A map reads what it was sent as it lies; vertices that join columns would read copies."""
    takes = {}
    for is_stored in (False, True):
        graph = pl.Graph(pl.Target(tiles=16))
        p = graph.add_variable(pl.HALF, (150, 64), "p", mapping="linear", initial_value=1)
        q = graph.add_variable(pl.HALF, (150, 64), "q", initial_value=2)
        for tile in range(16):
            graph.set_tile_mapping(q.flatten()[600 * tile : 600 * tile + 600], 15 - tile)
        with graph.steps() as steps:
            product = ops.map(p * q) if is_stored else p * q
            result = ops.map(ops.sum(product, 0))
        value, takes[is_stored] = ran(graph, steps, result)
        assert (value == 300).all()
    assert takes[False] <= takes[True]


@pytest.mark.parametrize(("dims", "least"), [(None, 12_355), (0, 13_317), (1, 12_372)])
def test_an_operand_on_one_tile_is_read_by_a_map_on_all_where_that_is_cheaper(
    dims: int | None, least: int
) -> None:
    """On its own tile, an exponential of 9,600 elements takes twice as long."""
    takes = {}
    for formula in ("exp", "square"):
        graph = pl.Graph(pl.Target(tiles=16))
        p = graph.add_variable(pl.FLOAT, (150, 64), "p", mapping=3, initial_value=1)
        with graph.steps() as steps:
            result = ops.map(ops.sum(ops.exp(p) if formula == "exp" else p * p, dims))
        value, takes[formula] = ran(graph, steps, result)
        one = np.exp(np.float32(1)) if formula == "exp" else 1
        np.testing.assert_allclose(value, one * (9_600 // value.size), rtol=1e-5)
    assert takes["exp"] <= least
    assert takes["square"] < 7_000  # few slots an element, which no exchange beats


OPERANDS: dict[str, Callable[..., Any]] = {
    "p * q": lambda x: x["p"] * x["q"],
    "p * column": lambda x: x["p"] * x["column"],
    "p * row": lambda x: x["p"] * x["row"],
    "(p - column) ** 2": lambda x: (x["p"] - x["column"]) ** 2,
    "exp(p - column)": lambda x: ops.exp(x["p"] - x["column"]),
    "p * row * column": lambda x: x["p"] * x["row"] * x["column"],
    "p * transposed": lambda x: x["p"] * x["transposed"],
    "p * part": lambda x: x["p"] * x["part"],
}


def reduced(
    form: str,
    shape: tuple[int, int],
    tiles: int,
    element: type[pl.ElementType[Any]],
    dim: int | None,
    places: tuple[Place, Place, Place],
) -> int:
    """Return the cycles of the sum of an expression of a matrix and of what is beside it."""
    graph, (rows, columns) = pl.Graph(pl.Target(tiles=tiles)), shape
    own, other, small = places

    def tensor(name: str, shape: tuple[int, int], mapping: Place) -> pl.Tensor:
        return graph.add_variable(element, shape, name, mapping=mapping, initial_value=1)

    read = {
        "p": tensor("p", shape, own),
        "q": tensor("q", shape, other),
        "transposed": tensor("t", (columns, rows), other).T,
        "part": tensor("w", (rows, columns + 3), other)[:, 1 : columns + 1],
        "column": tensor("c", (rows, 1), small),
        "row": tensor("r", (1, columns), small),
    }
    with graph.steps() as steps:
        total = ops.map(ops.sum(OPERANDS[form](read), dim))
    value, cycles = ran(graph, steps, total)
    assert np.sum(value) in (0, rows * columns)
    return cycles


SMALL: list[tuple[Any, ...]] = [
    ("p * column", (43, 10), 64, pl.HALF, 0, (0, 0, 0)),
    ("p * column", (22, 21), 16, pl.HALF, None, (0, "linear", "linear")),
    ("(p - column) ** 2", (3, 14), 64, pl.HALF, 0, ("linear", 0, 0)),
    ("exp(p - column)", (4, 2), 64, pl.FLOAT, None, ("linear", 0, "linear")),
    ("exp(p - column)", (2, 39), 64, pl.FLOAT, None, ("linear", 0, "linear")),
    ("exp(p - column)", (31, 8), 2, pl.FLOAT, None, (0, 0, "linear")),
    ("p * row * column", (5, 13), 64, pl.HALF, 1, ("linear", 0, 0)),
    ("p * row", (39, 6), 64, pl.HALF, 0, (0, 0, "linear")),
    ("p * row", (5, 600), 1, pl.FLOAT, 0, ("linear", "linear", "linear")),
    ("p * transposed", (8, 3), 1, pl.FLOAT, 0, ("linear", 0, "linear")),
    ("p * transposed", (13, 2), 4, pl.FLOAT, 0, (0, "linear", "linear")),
    ("p * part", (9, 30), 1, pl.HALF, 1, ("linear", "linear", "linear")),
    ("p * part", (4, 7), 1, pl.FLOAT, 0, ("linear", 0, 0)),
    ("p * row", (3, 8), 4, pl.FLOAT, None, ("linear", 0, "linear")),
    ("p * row", (26, 29), 64, pl.FLOAT, 1, (0, 0, "linear")),
]
"""Form, shape, tiles, type, dimension, where the matrix, another one, and rows and columns lie."""


@pytest.mark.parametrize("number", thinned(range(len(SMALL)), keep=[0, 8, 10, 13]))
def test_small_matrices_are_stored_where_that_is_cheaper_and_only_there(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen, taken = reduced(*SMALL[number]), []
    for in_one in (True, False):
        monkeypatch.setattr(build, "is_cheaper_in_one", lambda *_, made=in_one: made)
        taken.append(reduced(*SMALL[number]))
    assert chosen == min(taken)


def test_elements_that_a_stored_map_gathers_are_priced_as_the_model_has_them() -> None:
    """Of a matrix, transposed: 20 single elements for each of three vertices of two rows."""
    target, ones = pl.Target(tiles=1), np.zeros(3, np.int64)
    reads = VectorReads(ones, np.arange(4), np.arange(0, 60, 20), np.arange(20, 80, 20))
    graph = pl.Graph(target)
    matrix = graph.add_variable(pl.FLOAT, (10, 6), "matrix", mapping=0, initial_value=1).T.flatten()
    out = graph.add_variable(pl.FLOAT, (3,), "out", mapping=0)
    compute_set = graph.add_compute_set("sums")
    for k in range(3):
        graph.add_vertex(compute_set, Total, tile=0, a=matrix[20 * k : 20 * k + 20], out=out[k])
    engine = pl.Engine(graph, pl.Execute(compute_set))
    engine.run()
    (step,) = engine.report().execution.steps
    copied = next(each.cycles for each in step.phases if each.kind == "copy")
    operand = ReadOperand(tuple(matrix.view.flat_digits()), 4)
    assert gathering_cycles(target, [(reads, operand)]) == copied


class Total(pl.Vertex):
    """A sum of a vector, as a user writes it."""

    a: pl.Input[pl.Vector[pl.FLOAT]]
    out: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        total = 0.0
        for i in range(len(self.a)):
            total += self.a[i]
        self.out = total


@pytest.mark.usefixtures("nothing_known")
def test_a_sum_that_is_cheaper_in_one_makes_one_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[Problem] = []

    def counted(target: pl.Target, problem: Problem) -> Plan:
        planned.append(problem)
        return plan_for(target, problem)

    monkeypatch.setattr(build, "plan_for", counted)
    for tiles, sizes in (1, range(50, 60)), (16, range(64, 300, 60)), (64, range(1000, 1004)):
        graph = pl.Graph(pl.Target(tiles=tiles))
        with graph.steps():
            for size in sizes:
                p, q = (graph.add_variable(pl.FLOAT, (size,), n, mapping="linear") for n in "pq")
                planned.clear()
                ops.map(ops.sum(p * q))
                assert len(planned) == 1, (tiles, size)


@pytest.mark.usefixtures("nothing_known")
def test_a_product_that_is_a_sum_is_planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[Problem] = []

    def counted(target: pl.Target, problem: Problem) -> Plan:
        planned.append(problem)
        return plan_for(target, problem)

    monkeypatch.setattr(build, "plan_for", counted)
    graph = pl.Graph(pl.Target(tiles=64))
    a = graph.add_variable(pl.FLOAT, (300, 200), "a", mapping="linear")
    v = graph.add_variable(pl.FLOAT, (200,), "v", mapping="linear")
    with graph.steps():
        assert ops.explain(ops.map(a @ v)).startswith("reduced: a @ v")
        assert len({id(each) for each in planned}) == 2  # in one, and stored
        planned.clear()
        b = graph.add_variable(pl.HALF, (4096, 64), "b", mapping="linear")
        w = graph.add_variable(pl.HALF, (4096,), "w", mapping="linear")
        reason = ops.explain(ops.map(w @ b))
    assert re.search(r"multiplied: .* cycles by a plan, at least [\d,]+ as a sum", reason)
    assert not planned
