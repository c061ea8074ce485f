"""poplite.ops.matmul: plans, where operands and products lie, fused tails, what is refused."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import ceil
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import forms, interpreted, thinned, values_only
from poplite import ops
from poplite.ops.products.matmul_layout import MatrixBlocks
from poplite.vertices.amp import amp_cycles, amp_reference
from poplite.vertices.reduce import partials_reference

BOW = pl.Target(architecture="bow")

Element = type[pl.ElementType[Any]]


def plan_of(
    target: pl.Target, element: Element, m: int, k: int, n: int, **options: Any
) -> pl.ops.MatMulPlan:
    return ops.plan_matmul(pl.Graph(target), m=m, k=k, n=n, type=element, **options)


def operands(
    shape: tuple[int, int, int] = (8, 12, 20), element: Element = pl.FLOAT, tiles: int = 4
) -> tuple[pl.Graph, pl.Tensor, pl.Tensor]:
    graph = pl.Graph(pl.Target(tiles=tiles))
    a = graph.add_variable(element, shape[:2], "a", mapping="linear")
    b = graph.add_variable(element, shape[1:], "b", mapping="linear")
    return graph, a, b


# Plans


def test_a_plan_in_words() -> None:
    plan = plan_of(BOW, pl.HALF, 4096, 4096, 4096, partials=pl.HALF)
    lines = str(plan).splitlines()
    assert lines[:5] == [
        "4,096 x 4,096 times 4,096 x 4,096, HALF with partials of HALF",
        "  grid     16 x 13 x 7 over m, k, n, 4 x 2 passes over m and n, 1,456 tiles",
        "  block    64 x 320 times 320 x 293",
        f"  cycles   {plan.cycles:,}; by formulas exchange 33,415 + products 108,516 + sums 15,123 "
        "in each of 8 passes",
        "  memory   303,488 B on a tile = left 40,960 + right 187,520 + partials 37,504 + "
        "arriving partials 37,504",
    ]
    assert plan.cycles == pytest.approx(8 * 157_054, rel=0.02)
    assert lines[5].startswith("  or       ")
    assert lines[5].endswith(
        f": {plan.runners_up[0].total_cycles:,} cycles, {plan.runners_up[0].bytes:,} B"
    )
    assert len(plan.runners_up) == 7
    assert [*map(id, plan.runners_up)] == [
        *map(id, plan_of(BOW, pl.HALF, 4096, 4096, 4096, partials=pl.HALF).runners_up)
    ]


def cycles_of(target: pl.Target, block: list[int], grid: tuple[int, int, int]) -> int:
    """What a product of floats in one pass costs, piece by piece."""
    (height, deep, width), (tall, cuts, wide) = block, grid
    start = target.cost("sync_cycles") + target.cost("latency_cycles")
    left = height * deep * Fraction(wide - 1, wide)
    right = deep * width * Fraction(tall - 1, tall) / (1 if tall % 2 else 2)  # a pair shares it
    total = int(amp_cycles(height, deep, width, pl.FLOAT, pl.FLOAT, target))
    total += ceil(left + right) + int(start) if left + right else 0
    own = height * deep * Fraction(wide > 1, wide) + deep * width * Fraction(tall > 1, tall)
    total += ceil(own * 4 / 8) + 288 if own else 0
    if cuts > 1:
        outputs = height * width
        total += ceil(outputs * Fraction(cuts - 1, cuts)) + int(start)
        loops = ceil(Fraction(ceil(Fraction(outputs, cuts)), 4 * 6))  # of four floats, by a worker
        total += 33 + 6 * (20 + loops * (8 + 2 * (cuts - 1)))
    return total


@pytest.mark.parametrize("shape", [(48, 64, 40), (16, 800, 8), (500, 8, 9), (33, 100, 200)])
def test_plans_are_the_cheapest_of_all_grids(shape: tuple[int, int, int]) -> None:
    target = pl.Target(tiles=14)
    plan = plan_of(target, pl.FLOAT, *shape)
    costs = {}
    for grid in np.ndindex(15, 15, 15):
        if 0 < np.prod(grid) <= 14:
            parts = zip(shape, grid, (16, 8, 1), strict=True)
            block = [min(grain * -(-n // (grain * k)), n) for n, k, grain in parts]
            if all((k - 1) * size < n for n, k, size in zip(shape, grid, block, strict=True)):
                costs[grid] = cycles_of(target, block, grid)
    assert plan.passes == (1, 1)
    kept = [plan.layout, *plan.runners_up]
    formulas = [each.num_passes * sum(each.cycles) for each in kept]
    assert min(formulas) == min(costs.values())
    for each, cycles in zip(kept, formulas, strict=True):
        assert each.num_passes > 1 or cycles == costs[each.grid]
    missing = sorted(costs[grid] for grid in {*costs} - {each.grid for each in kept})
    assert not missing or missing[0] >= max(formulas)
    exact = [each.total_cycles for each in kept]
    assert exact == sorted(exact)


def test_a_plan_fits_its_memory_and_uses_the_machine() -> None:
    for n in (16, 256, 4096):
        plan = plan_of(BOW, pl.HALF, 2048, 2048, n)
        assert plan.bytes <= 0.6 * BOW.tile_memory_bytes
        assert 0.8 * BOW.tiles < plan.tiles <= BOW.tiles


def test_little_memory_takes_more_passes() -> None:
    passes = []
    for memory in (1.0, 0.1, 0.035):
        target = pl.Target(tiles=64, tile_memory_bytes=600_000)
        plan = plan_of(target, pl.FLOAT, 512, 512, 512, memory=memory)
        assert plan.bytes <= memory * 600_000
        passes.append(plan.passes[0] * plan.passes[1])
    assert passes[0] == 1 < passes[1] < passes[2]


def test_what_does_not_fit_says_which_term_is_largest() -> None:
    target = pl.Target(tiles=1, tile_memory_bytes=1_600)
    with pytest.raises(pl.GraphMemoryAllocationError, match="at least 1,184 B of 960 B") as caught:
        plan_of(target, pl.HALF, 64, 64, 64)
    assert caught.value.found == (
        "left 1,024 + right 128 + partials 32 B; the largest term is left, 1,024 B"
    )
    assert caught.value.fix.startswith("use memory=0.74, or more tiles")


def test_partials_of_the_matrices_own_type_take_no_addition() -> None:
    target = pl.Target(tiles=1)
    wide, own = (plan_of(target, pl.HALF, 16, 16, 16, partials=p) for p in (pl.FLOAT, pl.HALF))
    assert (wide.layout.has_partials, own.layout.has_partials) == (True, False)
    assert (wide.layout.cycles[2] > 0, own.layout.cycles[2]) == (True, 0)


@pytest.mark.parametrize(
    ("constraints", "grid", "passes"),
    [
        ({"pk": 1}, (None, 1, None), (1, 1)),
        ({"pm": 2, "pn": 3}, (2, None, 3), (1, 1)),
        ({"split_m": 2}, (None, None, None), (2, 1)),
        ({"split_n": 3}, (None, None, None), (1, 3)),
    ],
)
def test_constraints_hold(
    constraints: dict[str, int], grid: tuple[int | None, ...], passes: tuple[int, int]
) -> None:
    plan = plan_of(pl.Target(tiles=24), pl.FLOAT, 64, 96, 60, constraints=constraints)
    assert all(wanted in (None, found) for wanted, found in zip(grid, plan.grid, strict=True))
    assert plan.passes == passes


def test_groups_share_the_tiles() -> None:
    target = pl.Target(tiles=24)
    many = plan_of(target, pl.FLOAT, 32, 32, 16, groups=24)
    assert many.layout.sets > 1
    held = plan_of(target, pl.FLOAT, 32, 32, 16, groups=24, constraints={"pg": 3})
    assert (held.layout.sets, held.layout.slots) == (3, 8)
    assert held.tiles <= 24
    assert many.cycles <= held.cycles


# Hardware: graphcore-research/sparsity-benchmarks, [m, m] times [m, n] on a Bow, in TFLOP/s.


@pytest.mark.parametrize(
    ("element", "m", "n", "rate"),
    [
        (pl.HALF, 1024, 4096, 180.8),
        (pl.HALF, 2048, 256, 134.5),
        (pl.HALF, 4096, 16, 61.7),
        (pl.HALF, 8192, 64, 158.1),
        (pl.FLOAT, 1024, 4096, 55.5),
        (pl.FLOAT, 2048, 512, 49.9),
        (pl.FLOAT, 8192, 4, 7.7),
    ],
)
def test_plans_take_what_was_measured(element: Element, m: int, n: int, rate: float) -> None:
    plan = plan_of(BOW, element, m, m, n, partials=element)
    measured = 2 * m * m * n / (rate * 1e12) * BOW.clock_hz
    assert plan.cycles == pytest.approx(measured, rel=0.15)


@pytest.mark.parametrize(
    ("shape", "partials", "groups"),
    thinned(
        product([(256, 512, 256), (48, 700, 20), (900, 64, 333)], [pl.HALF, pl.FLOAT], [1, 5]),
        [
            ((256, 512, 256), pl.HALF, 1),
            ((48, 700, 20), pl.FLOAT, 1),
            ((48, 700, 20), pl.HALF, 5),
            ((900, 64, 333), pl.FLOAT, 5),
        ],
    ),
)
def test_a_plan_knows_what_the_engine_finds(
    shape: tuple[int, int, int], partials: Element, groups: int
) -> None:
    graph, program = pl.Graph(pl.Target(tiles=64)), pl.Sequence()
    m, k, n = shape
    plan = ops.plan_matmul(graph, m=m, k=k, n=n, type=pl.HALF, partials=partials, groups=groups)
    ops.map(ops.matmul(plan.create_left(), plan.create_right(), plan), program=program)
    engine = pl.Engine(graph, program, checks="fast")
    engine.run()
    assert engine.report().cycles == pytest.approx(plan.cycles, rel=0.1)


# Where things lie


def test_created_operands_lie_where_they_are_used() -> None:
    graph = pl.Graph(pl.Target(tiles=24))
    plan = ops.plan_matmul(graph, m=64, k=96, n=50)
    a, b, layout = plan.create_left("a"), plan.create_right("b"), plan.layout
    height, deep, width = plan.block
    zero = np.array(0)
    assert plan.grid[0] * plan.grid[1] * plan.grid[2] == plan.tiles > 12
    for i in range(layout.left.down):
        for j in range(layout.left.across):
            block = a[i * height : (i + 1) * height, j * deep : min((j + 1) * deep, 96)]
            users = layout.tile(zero, np.array(i), np.array(j), np.arange(plan.grid[2]))
            assert set(graph.tile_mapping(block).tiles.tolist()) <= set(users.tolist())
            assert block.num_regions() == 1
    for j in range(layout.right.down):
        for k in range(layout.right.across):
            block = b[j * deep : min((j + 1) * deep, 96), k * width : min((k + 1) * width, 50)]
            users = layout.tile(zero, np.arange(plan.grid[0]), np.array(j), np.array(k))
            assert set(graph.tile_mapping(block).tiles.tolist()) <= set(users.tolist())
            assert block.num_regions() == 1


def test_the_product_lies_on_the_tiles_that_make_it() -> None:
    graph, a, b = operands((32, 64, 24), tiles=16)
    plan = ops.plan_matmul(graph, m=32, k=64, n=24, constraints={"pk": 2})
    c = ops.map(ops.matmul(a, b, plan), name="c", program=pl.Sequence())
    assert graph.tile_mapping(c).elements_per_tile.max() <= -(-32 * 24 // plan.tiles) + 4
    assert [each.name for each in graph.compute_sets] == ["c/products", "c/sums"]
    assert [v.name for v in graph.variables] == ["a", "b", "c", "c/partials"]


def test_created_operands_make_a_product_quicker() -> None:
    cycles = []
    for is_planned in (True, False):
        graph, a, b = operands((64, 256, 64), pl.HALF, tiles=32)
        plan = ops.plan_matmul(graph, m=64, k=256, n=64, type=pl.HALF)
        if is_planned:
            a, b = plan.create_left("a"), plan.create_right("b")
        with graph.steps() as step:
            ops.map(ops.matmul(a, b, plan))
        engine = pl.Engine(graph, step)
        engine.write(a, np.ones(a.shape))
        engine.write(b, np.ones(b.shape))
        engine.run()
        cycles.append(engine.report().cycles or 0)
    assert cycles[0] < cycles[1]


def test_a_virtual_graph_multiplies_on_its_own_tiles() -> None:
    top = pl.Graph(pl.Target(tiles=8))
    graph = top.create_virtual_graph([2, 3, 5])
    values = np.arange(48.0).reshape(6, 8)
    a = graph.add_variable(pl.FLOAT, (6, 8), "a", mapping="linear", initial_value=values)
    program = pl.Sequence()
    c = ops.map(ops.matmul(a, a.T, ops.plan_matmul(graph, m=6, k=8, n=6)), program=program)
    assert set(top.tile_mapping(c).tiles.tolist()) <= {2, 3, 5}
    engine = pl.Engine(top, program, **interpreted())
    engine.run()
    assert (engine.read(c) == values @ values.T).all()


def test_blocks_are_found_and_put_back() -> None:
    graph = pl.Graph()
    blocks = MatrixBlocks(2, 5, 7, 2, 3)
    numbers = np.arange(70).reshape(2, 5, 7)
    x = graph.add_variable(pl.INT, (2, 5, 7), "x", mapping=0, initial_value=numbers)
    flat = graph.add_variable(pl.INT, (70,), "flat", mapping=0)
    engine = pl.Engine(graph, pl.Sequence(pl.Copy(blocks.flat(x), flat)), options=values_only())
    engine.run()
    got = engine.read(flat)
    for group, row, column in zip(*(each.tolist() for each in blocks.all()), strict=True):
        begin, end = (int(n) for n in blocks.spans(*map(np.array, (group, row, column))))
        block = numbers[group, 2 * row : 2 * row + 2, 3 * column : 3 * column + 3]
        assert got[begin:end].tolist() == block.ravel().tolist()
    assert blocks.flat(blocks.matrices(flat)) == flat
    assert (engine.read(blocks.matrices(flat)) == numbers).all()


# In expressions


def drawn(graph: pl.Graph, shape: tuple[int, ...], name: str, element: Element = pl.FLOAT) -> Any:
    rng = np.random.default_rng(len(name) + sum(shape))
    values = rng.standard_normal(shape).astype(element.dtype)
    return graph.add_variable(element, shape, name, mapping="linear", initial_value=values), values


def order_of_sums(a: Any, b: Any, plan: pl.ops.MatMulPlan) -> Any:
    """The product in the documented order: slices of k by themselves, then their sum."""
    deep = plan.block[1]
    partials = plan.layout.request.partials.dtype
    slices = [
        amp_reference(a[:, j : j + deep], b[j : j + deep], partials)
        for j in range(0, a.shape[1], deep)
    ]
    return partials_reference(np.array(slices), a.dtype)


@pytest.mark.parametrize(
    ("element", "partials"),
    thinned([(pl.FLOAT, pl.FLOAT), (pl.HALF, pl.HALF), (pl.HALF, pl.FLOAT)], keep=1),
)
@pytest.mark.parametrize(
    ("cuts", "interpret"), thinned([(3, False), (1, True), (3, True), (1, False)], keep=3)
)
def test_sums_are_made_in_the_documented_order(
    element: Element, partials: Element, cuts: int, interpret: bool
) -> None:
    graph = pl.Graph(pl.Target(tiles=12))
    (a, x), (b, y) = drawn(graph, (20, 90), "a", element), drawn(graph, (90, 19), "b", element)
    plan = ops.plan_matmul(
        graph, m=20, k=90, n=19, type=element, partials=partials, constraints={"pk": cuts}
    )
    assert plan.grid[1] == cuts
    with graph.steps() as step:
        c = ops.map(ops.matmul(a, b, plan))
        fused = ops.map(-ops.matmul(a, b, plan))
        out = graph.add_variable(element, (20, 19), "out", mapping="linear")
        ops.assign(out, ops.matmul(a, b, plan))
    engine = pl.Engine(graph, step, interpret=interpret, options=values_only())
    engine.run()
    expected = order_of_sums(x, y, plan)
    assert engine.read(c).tobytes() == expected.tobytes()
    assert engine.read(out).tobytes() == expected.tobytes()
    assert (-engine.read(fused)).tobytes() == expected.tobytes()


def test_what_follows_a_product_is_computed_where_its_sums_end() -> None:
    for cuts, names in ((2, ["h/products", "h/sums"]), (1, ["h/products", "h[out]"])):
        graph = pl.Graph(pl.Target(tiles=8))
        (a, x), (b, y) = drawn(graph, (16, 64), "a"), drawn(graph, (64, 24), "b")
        bias, z = drawn(graph, (24,), "bias")
        plan = ops.plan_matmul(graph, m=16, k=64, n=24, constraints={"pk": cuts})
        with graph.steps() as step:
            h = ops.map(ops.maximum(ops.matmul(a, b, plan) + bias, 0), name="h")
        assert [each.name for each in graph.compute_sets] == names
        engine = pl.Engine(graph, step, **interpreted())
        engine.run()
        assert np.array_equal(engine.read(h), np.maximum(order_of_sums(x, y, plan) + z, 0))
        lines = ops.explain(h).splitlines()
        assert lines[0].startswith("multiplied: a @ b, ")
        assert ("by the vertices that add up 2 slices of k" in lines[1]) == (cuts == 2)
        assert lines[1].startswith("stored: maximum(a @ b + bias, 0.0), by ")
        assert graph.tile_mapping(h).elements_per_tile.max() <= -(-16 // cuts) * plan.block[2]


def test_few_rows_are_added_up_by_all_tiles_before_what_follows() -> None:
    # Complete rows of blocks of 2 rows and 8 slices would be on 16 tiles of 64, and take 2.3 times
    # as long, with the step of the rest.
    graph = pl.Graph(pl.Target(tiles=64))
    (a, x), (b, y) = drawn(graph, (2, 256), "a"), drawn(graph, (256, 2048), "b")
    bias, z = drawn(graph, (2048,), "bias")
    plan = ops.plan_matmul(graph, m=2, k=256, n=2048, constraints={"pk": 8})
    with graph.steps() as step:
        h = ops.map(ops.maximum(ops.matmul(a, b, plan) + bias, 0), name="h")
    assert [each.name for each in graph.compute_sets] == ["h/products", "h/sums", "h[out]"]
    assert np.count_nonzero(graph.tile_mapping(h).elements_per_tile) == 64
    engine = pl.Engine(graph, step, **interpreted())
    engine.run()
    assert np.array_equal(engine.read(h), np.maximum(order_of_sums(x, y, plan) + z, 0))


@pytest.mark.parametrize("outs", [False, True])
def test_so_is_what_follows_a_product_within_an_expression(outs: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=8))
    (a, x), (b, y) = drawn(graph, (16, 64), "a"), drawn(graph, (64, 24), "b")
    c, z = drawn(graph, (24, 5), "c")
    plan = ops.plan_matmul(graph, m=16, k=64, n=24, constraints={"pk": 2})
    with graph.steps() as step:
        hidden = ops.exp(ops.matmul(a, b, plan) * 0.01 + 1)  # stored, as two roots read it
        roots = [ops.sum(hidden, 0), hidden @ c, hidden + 1]
        if outs:
            into = [
                graph.add_variable(pl.FLOAT, each.shape, "out", mapping="linear") for each in roots
            ]
            made = ops.lower(graph, [ops.Root(*each) for each in zip(roots, into, strict=True)])
        else:
            made = ops.lower(graph, [ops.Root(each) for each in roots])
    text = ops.explain(made[0])
    assert text.count("multiplied: a @ b, ") == 1
    assert "by the vertices that add up 2 slices of k" in text
    own = [each.name.rpartition("/")[2] for each in graph.compute_sets if "/exp/" in each.name]
    assert own == ["products", "sums"]
    engine = pl.Engine(graph, step, **interpreted())
    engine.run()
    exact = np.exp(order_of_sums(x, y, plan).astype(np.float64) * 0.01 + 1)
    for tensor, expected in zip(made, [exact.sum(0), exact @ z, exact + 1], strict=True):
        assert np.allclose(engine.read(tensor), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("others", ["product", "map", "sum"])
def test_a_product_that_something_else_reads_is_stored(others: str) -> None:
    graph = pl.Graph(pl.Target(tiles=8))
    (a, x), (b, y) = drawn(graph, (16, 64), "a"), drawn(graph, (64, 24), "b")
    plan = ops.plan_matmul(graph, m=16, k=64, n=24, constraints={"pk": 2})
    made = ops.matmul(a, b, plan)
    other = {"product": made, "map": -made, "sum": ops.sum(made, 0)}[others]
    with graph.steps() as step:
        found = ops.lower(graph, [ops.Root(made * 2), ops.Root(other)])
    assert "slices of k" not in ops.explain(found[0])
    engine = pl.Engine(graph, step, **interpreted())
    engine.run()
    expected = order_of_sums(x, y, plan)
    assert np.array_equal(engine.read(found[0]), 2 * expected)
    wanted = {"product": expected, "map": -expected, "sum": expected.sum(0)}[others]
    assert np.allclose(engine.read(found[1]), wanted)


BESIDE: dict[str, Any] = {
    "a row": lambda c, x: c + x[0],
    "a column": lambda c, x: c * x[:, :1],
    "a number": lambda c, x: c - x[2, 3],
    "elements": lambda c, x: x + c,
    "all of them": lambda c, x: (c + x[1]) * x[:, 2:3] + x * x[0, 0],
    "the product twice": lambda c, x: c * c + x,
    "one of another shape": lambda c, x: c + x[:1, :1],
    "nothing": lambda c, x: -c,
}


PLACES = list(product(BESIDE, [pl.FLOAT, pl.HALF], ["new", "out", "in place", "mapping"]))
"""What stands beside a product, in which type, and where the result goes."""


@pytest.mark.parametrize(
    ("beside", "element", "where"),
    thinned(
        PLACES,
        [
            ("all of them", pl.HALF, "out"),
            ("the product twice", pl.FLOAT, "in place"),
        ],
    ),
)
def test_all_operands_beside_sums(beside: str, element: Element, where: str) -> None:
    graph = pl.Graph(pl.Target(tiles=12))
    (a, x), (b, y) = drawn(graph, (20, 90), "a", element), drawn(graph, (90, 70), "b", element)
    t, z = drawn(graph, (20, 70), "t", element)
    out = graph.add_variable(element, (20, 70), "out")
    plan = ops.plan_matmul(graph, m=20, k=90, n=70, type=element, constraints={"pk": 3, "pm": 2})
    same = where == "in place" and beside in ("elements", "the product twice")
    with graph.steps() as step:
        expr = BESIDE[beside](ops.matmul(a, b, plan), t)
        into = (t if same else out) if where in ("out", "in place") else None
        made = ops.map(expr, out=into, mapping="linear" if where == "mapping" else None)
    assert sum(each.name.endswith("sums") for each in graph.compute_sets) == 1
    expected = BESIDE[beside](order_of_sums(x, y, plan), z)
    for interpret in forms():
        engine = pl.Engine(graph, step, interpret=interpret, options=values_only())
        engine.run()
        assert engine.read(made).tobytes() == expected.astype(element.dtype).tobytes()


@pytest.mark.parametrize(
    "shapes", [((3, 5, 40), (3, 40, 6)), ((3, 5, 40), (40, 6)), ((9, 40), (40,))]
)
def test_operands_beside_products_of_groups_and_vectors(shapes: Any) -> None:
    graph = pl.Graph(pl.Target(tiles=12))
    (a, x), (b, y) = drawn(graph, shapes[0], "a"), drawn(graph, shapes[1], "b")
    shape = (x @ y).shape
    for small in (
        (),
        shape[-1:],
        shape,
        (1, *shape[1:]),
        (*shape[:-1], 1),
        (shape[0], *[1] * (len(shape) - 1)),
    ):
        t, z = drawn(graph, small, "t")
        with graph.steps() as step:
            made = ops.map((a @ b) * 0.5 + t)
            cut = ops.map(ops.matmul(a, b, constraints={"pk": 2}) * 0.5 + t)
        engine = pl.Engine(graph, step, **interpreted())
        engine.run()
        for each in (made, cut):
            assert np.allclose(engine.read(each), (x @ y) * 0.5 + z, rtol=1e-4, atol=1e-4)


def test_sums_become_truth_values_and_integers() -> None:
    graph = pl.Graph(pl.Target(tiles=8))
    (a, x), (b, y) = drawn(graph, (16, 64), "a"), drawn(graph, (64, 24), "b")
    product = ops.matmul(a, b, constraints={"pk": 2})
    with graph.steps() as step:
        positive = ops.map(product > 0)
        whole = ops.map(ops.cast(product, pl.INT))
    engine = pl.Engine(graph, step, **interpreted())
    engine.run()
    plan = ops.plan_matmul(graph, m=16, k=64, n=24, constraints={"pk": 2})
    expected = order_of_sums(x, y, plan)
    assert np.array_equal(engine.read(positive), expected > 0)
    assert np.array_equal(engine.read(whole), expected.astype(np.int32))


def test_what_follows_costs_little() -> None:
    cycles = []
    for tail in (lambda c: c, lambda c: ops.maximum(c + 1, 0)):
        graph = pl.Graph(pl.Target(tiles=64))
        plan = ops.plan_matmul(graph, m=128, k=512, n=64, constraints={"pk": 4})
        with graph.steps() as step:
            ops.map(tail(ops.matmul(plan.create_left(), plan.create_right(), plan)))
        engine = pl.Engine(graph, step, checks="fast")
        engine.run()
        cycles.append(engine.report().cycles or 0)
    assert cycles[0] < cycles[1] < 1.05 * cycles[0]


def test_a_program_with_sums_is_saved(tmp_path: Any) -> None:
    graph = pl.Graph(pl.Target(tiles=8))
    (a, x), (b, y) = drawn(graph, (16, 64), "a"), drawn(graph, (64, 24), "b")
    bias, z = drawn(graph, (24,), "bias")
    plan = ops.plan_matmul(graph, m=16, k=64, n=24, constraints={"pk": 2})
    with graph.steps() as step:
        h = ops.map(ops.exp(ops.matmul(a, b, plan) * 0.1 + bias), name="h")
    graph.create_host_read("h", h)
    executable = pl.compile_graph(graph, step)
    executable.save(tmp_path / "h.poplite")
    engine = pl.Engine(pl.Executable.load(tmp_path / "h.poplite"), **interpreted())
    engine.run()
    expected = np.exp(order_of_sums(x, y, plan) * np.float32(0.1) + z)
    assert np.allclose(engine.read("h"), expected, rtol=1e-6)


def test_a_product_that_several_read_is_stored_once() -> None:
    graph = pl.Graph(pl.Target(tiles=8))
    (a, x), (b, y) = drawn(graph, (16, 64), "a"), drawn(graph, (64, 24), "b")
    with graph.steps() as step:
        c = a @ b
        shares, total = ops.lower(graph, [c / ops.sum(abs(c), 1, keepdims=True), ops.sum(c)])
    assert sum(each.name.endswith("/products") for each in graph.compute_sets) == 1
    engine = pl.Engine(graph, step, **interpreted())
    engine.run()
    product = x @ y
    assert np.allclose(engine.read(shares), product / abs(product).sum(1, keepdims=True), rtol=1e-3)
    assert np.isclose(engine.read(total), product.sum(), rtol=1e-3)


def test_products_of_products_and_in_place() -> None:
    graph = pl.Graph(pl.Target(tiles=8))
    (h, x), (w, y) = drawn(graph, (16, 16), "h"), drawn(graph, (16, 16), "w2")
    with graph.steps() as step, ops.repeat(2):
        ops.assign(h, (h + 1) @ w @ w * 0.125)
        ops.assign(h, h @ w)
    engine = pl.Engine(graph, step, **interpreted())
    engine.run()
    for _ in range(2):
        x = (x + 1) @ y @ y * np.float32(0.125)
        x = x @ y
    assert np.allclose(engine.read(h), x, rtol=1e-3, atol=1e-3)


def test_products_that_run_together() -> None:
    graph = pl.Graph(pl.Target(tiles=8))
    (a, x), (b, y) = drawn(graph, (16, 64), "a"), drawn(graph, (64, 24), "b")
    with graph.steps() as step, ops.together():
        one, other = ops.map(a @ b), ops.map(b.T @ a.T)
    engine = pl.Engine(graph, step, **interpreted())
    engine.run()
    assert np.allclose(engine.read(one), x @ y, rtol=1e-4, atol=1e-4)
    assert np.allclose(engine.read(other), (x @ y).T, rtol=1e-4, atol=1e-4)


def test_arguments_stand_for_matrices() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    (a, x), (b, y) = drawn(graph, (6, 8), "a"), drawn(graph, (8, 5), "b")
    layer = ops.maximum(ops.arg(0) @ ops.arg(1), 0)
    with graph.steps() as step:
        made = ops.map(layer, [a, b])
    engine = pl.Engine(graph, step, **interpreted())
    engine.run()
    assert np.allclose(engine.read(made), np.maximum(x @ y, 0), rtol=1e-4, atol=1e-5)
    assert repr(a @ b @ b.T) == "<Expr a @ b @ b.T float32[6, 8]>"
    assert repr((a @ b) * 2.0) == "<Expr a @ b * 2.0 float32[6, 5]>"
    assert repr(a @ (b + 1)) == "<Expr a @ (b + 1.0) float32[6, 5]>"


def test_a_second_layer_of_other_numbers_makes_no_other_class() -> None:
    graph = pl.Graph(pl.Target(tiles=8))
    (a, _), (b, _) = drawn(graph, (16, 64), "a"), drawn(graph, (64, 24), "b")
    plan = ops.plan_matmul(graph, m=16, k=64, n=24, constraints={"pk": 2})
    classes = []
    for number in (2, 3):
        with graph.steps():
            made = ops.map(ops.matmul(a, b, plan) * number)
        classes.append(ops.explain(made).splitlines()[1].partition(", by ")[2][:12])
    assert classes[0] == classes[1]


# What is refused


@pytest.mark.parametrize(
    ("element", "partials", "message"),
    [
        (pl.INT, pl.FLOAT, "plan_matmul: cannot multiply INT with partials of FLOAT"),
        (pl.FLOAT, pl.HALF, "plan_matmul: cannot multiply FLOAT with partials of HALF"),
        (pl.HALF, pl.INT, "plan_matmul: cannot multiply HALF with partials of INT"),
    ],
)
def test_types_that_the_unit_does_not_multiply(element: Any, partials: Any, message: str) -> None:
    with pytest.raises(pl.ElementTypeError, match=message):
        plan_of(BOW, element, 4, 4, 4, partials=partials)


@pytest.mark.parametrize("size", [-3, 2.5, "3", True])
def test_sizes_that_are_none(size: Any) -> None:
    with pytest.raises(
        pl.TensorCreationError, match=rf"plan_matmul: \[2, {size!r}\] by \[{size!r}, 4\]"
    ) as caught:
        plan_of(BOW, pl.HALF, 2, size, 4)
    assert caught.value.fix == "plan_matmul(graph, m=64, k=128, n=32, type=pl.HALF)"


def test_sizes_whose_cycles_are_too_many() -> None:
    with pytest.raises(
        pl.SizeOverflowError, match="1,126,999,418,470,400 multiplications"
    ) as caught:
        plan_of(BOW, pl.HALF, 2**20, 2**20, 2**10 + 1)
    assert caught.value.what == "ops.plan_matmul: [1048576, 1048576] by [1048576, 1025]"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"memory": 0}, "ops.plan_matmul: memory must be greater than 0 and at most 1; found 0"),
        (
            {"memory": 1.5},
            "ops.plan_matmul: memory must be greater than 0 and at most 1; found 1.5",
        ),
        ({"constraints": 3}, "ops.plan_matmul: constraints is 3"),
        ({"constraints": {"kp": 3}}, "'kp' is not a constraint"),
        ({"constraints": {"pk": 0}}, "constraint pk is 0"),
    ],
)
def test_options_that_are_none(options: dict[str, Any], message: str) -> None:
    with pytest.raises(pl.InvalidOption, match=message):
        plan_of(BOW, pl.HALF, 2, 2, 2, **options)


def test_constraints_that_nothing_keeps_to() -> None:
    with pytest.raises(pl.GraphMemoryAllocationError, match="no plan satisfies the") as caught:
        plan_of(pl.Target(tiles=4), pl.FLOAT, 64, 64, 64, constraints={"pm": 4, "pk": 4})
    assert caught.value.found.startswith("pk=4, pm=4; 4 tiles")
    assert caught.value.fix == "use fewer constraints, which together need no more than all tiles"
    with pytest.raises(pl.GraphMemoryAllocationError, match="no plan satisfies the") as caught:
        plan_of(pl.Target(tiles=40), pl.FLOAT, 64, 64, 96, constraints={"pm": 5, "pn": 15})
    assert caught.value.fix == (
        "pm can be 1, 2, 4; pn can be 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ... 32"
    )


def test_operands_must_fit() -> None:
    graph, a, b = operands()
    whole = graph.add_variable(pl.INT, (12, 20), "whole", mapping=0)
    unmapped = graph.add_variable(pl.FLOAT, (12, 20), "unmapped")
    number = graph.add_variable(pl.FLOAT, (), "number", mapping=0)
    other = operands()[2]
    with pytest.raises(
        pl.TensorCreationError,
        match=r"\(8, 12\) of 'a' and \(20, 12\) of 'b.T' do(?s:.)*matmul\(a, b\)",
    ):
        _ = a @ b.T
    with pytest.raises(pl.TensorCreationError, match=r"\(8, 12\) of 'a' and \(20,\) of 'b"):
        _ = a @ b[0]
    with pytest.raises(pl.TensorCreationError, match=r"\(8, 12\) of 'a' and \(\) of 'number'"):
        _ = a @ number
    with pytest.raises(pl.ElementTypeError, match="'a' is FLOAT, 'whole' is INT") as caught:
        _ = a @ whole
    assert caught.value.fix == "ops.cast(whole, FLOAT)"
    with pytest.raises(pl.ElementTypeError, match="'whole.T' is INT, 'whole' is INT"):
        _ = whole.T @ whole
    with pytest.raises(pl.ElementTypeError, match="ops.matmul: 2.0 is not a matrix"):
        ops.matmul(a, 2.0)  # type: ignore[arg-type]
    with pytest.raises(
        pl.ElementTypeError, match="ops.matmul: cannot multiply FLOAT with partials of HALF"
    ):
        ops.matmul(a, b, partials=pl.HALF)
    program = pl.Sequence()
    with pytest.raises(pl.InvalidTileMapping, match="unmapped"):
        ops.map(a @ unmapped, program=program)
    with pytest.raises(pl.GraphConnectionError, match="'b' belongs to another graph"):
        ops.map(a @ other, program=program)
    with pytest.raises(
        pl.TensorCreationError, match="'a @ b' is not a vector|a @ b is not a vector"
    ):
        ops.outer(a @ b, b[0])
    assert program.is_empty
    assert len(graph.variables) == 5


@pytest.mark.parametrize(
    ("left", "right", "call", "product"),
    [
        ((4, 6), (5, 6), "a, b.T", (4, 5)),
        ((6, 4), (6, 5), "a.T, b", (4, 5)),
        ((6, 4), (5, 6), "a.T, b.T", (4, 5)),
        ((6,), (4, 6), "a.reshape((1, 6)), b.T", (1, 4)),
        ((2, 4, 6), (5, 6), "a.reshape((8, 6)), b.T", (8, 5)),
    ],
)
def test_a_remedy_for_shapes_that_do_not_fit_works(
    left: tuple[int, ...], right: tuple[int, ...], call: str, product: tuple[int, int]
) -> None:
    graph = pl.Graph(BOW)
    a = graph.add_variable(pl.FLOAT, left, "a", mapping="linear")
    b = graph.add_variable(pl.FLOAT, right, "b", mapping="linear")
    with pytest.raises(pl.TensorCreationError, match="of 'b' do not match") as caught:
        _ = a @ b
    assert caught.value.fix.startswith(f"ops.matmul({call}): ")
    assert eval(caught.value.fix.split(": ")[0], {"ops": ops, "a": a, "b": b}).shape == product


def test_remedies_for_expressions_are_words() -> None:
    graph = pl.Graph(BOW)
    a = graph.add_variable(pl.FLOAT, (4, 6), "a", mapping="linear")
    square = graph.add_variable(pl.FLOAT, (5, 6), "square", mapping="linear")
    with pytest.raises(pl.TensorCreationError) as caught:
        _ = (a + 1) @ square
    assert caught.value.fix == (
        "the left operand, by the right operand, transposed: (4, 6) by (6, 5)"
    )
    with pytest.raises(pl.TensorCreationError) as caught:
        _ = a @ square[:, :5]
    assert caught.value.fix.startswith(
        "use a right operand of shape (6, columns); no transposition"
    )


def test_plans_must_fit() -> None:
    graph, a, b = operands((64, 96, 20))
    plan = ops.plan_matmul(graph, m=64, k=96, n=21)
    with pytest.raises(
        pl.TensorCreationError, match=r"\(1, 64, 96, 21\), but the .* of \(1, 64, 96, 20\)"
    ) as caught:
        ops.map(ops.matmul(a, b, plan), program=pl.Sequence())
    assert caught.value.fix == "ops.plan_matmul(graph, m=64, k=96, n=20, type=pl.FLOAT)"
    many = ops.plan_matmul(pl.Graph(pl.Target(tiles=64)), m=64, k=96, n=20)
    with pytest.raises(pl.TensorCreationError, match="made for another graph"):
        ops.map(ops.matmul(a, b, many), program=pl.Sequence())
    with pytest.raises(pl.TensorCreationError, match="ops.matmul: 'fast' is not a plan"):
        ops.matmul(a, b, "fast")  # type: ignore[arg-type]
    with pytest.raises(pl.InvalidOption, match="options cannot be given with a plan"):
        ops.matmul(a, b, plan, memory=0.5)
    assert [v.name for v in graph.variables] == ["a", "b"]


def test_integers_are_multiplied_by_the_sum_that_the_error_writes() -> None:
    graph = pl.Graph(pl.Target(tiles=8))
    rng = np.random.default_rng(2)
    x, y = (rng.integers(-(2**31), 2**31, shape).astype(np.int32) for shape in ((5, 7), (7, 3)))
    a = graph.add_variable(pl.INT, x.shape, "a", mapping="linear", initial_value=x)
    b = graph.add_variable(pl.INT, y.shape, "b", mapping="linear", initial_value=y)
    with pytest.raises(pl.ElementTypeError) as error:
        a @ b
    assert "ops.sum(a[:, :, None] * b, 1)" in error.value.fix
    program = pl.Sequence()
    product = ops.map(ops.sum(a[:, :, None] * b, 1), program=program)
    engine = pl.Engine(graph, program, interpret=True)
    engine.run()
    assert np.array_equal(engine.read(product), x @ y)
