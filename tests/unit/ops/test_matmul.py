"""poplite.ops.matmul: plans, where operands and products lie, what is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
import pytest

import poplite as pl
from poplite.ops.matmul.blocks import Blocks
from poplite.vertices.amp import amp_cycles

BOW = pl.Target(architecture="bow")


def operands(
    shape: tuple[int, int, int] = (8, 12, 20),
    element: type[pl.ElementType[Any]] = pl.FLOAT,
    tiles: int = 4,
) -> tuple[pl.Graph, pl.Tensor, pl.Tensor, pl.Sequence]:
    graph = pl.Graph(pl.Target(tiles=tiles))
    a = graph.add_variable(element, shape[:2], "a", mapping="linear")
    b = graph.add_variable(element, shape[1:], "b", mapping="linear")
    return graph, a, b, pl.Sequence()


# Plans


def test_a_plan_in_words() -> None:
    plan = pl.ops.plan_matmul(BOW, pl.HALF, 4096, 4096, 4096, partials=pl.HALF)
    assert str(plan).splitlines() == [
        "4,096 x 4,096 times 4,096 x 4,096, HALF with partials of HALF",
        "  grid    16 x 13 x 7, 1,456 tiles",
        "  block   64 x 320 times 320 x 293, 303,488 B",
        "  cycles  8 passes of 157,054 = exchange 33,415 + product 108,516 + addition 15,123",
    ]
    assert plan.cycles == 8 * 157_054


def cycles_of(target: pl.Target, block: list[int], grid: tuple[int, int, int]) -> int:
    """What a product of floats in one pass costs, piece by piece."""
    (height, deep, width), (tall, cuts, wide) = block, grid
    start = target.cost("sync_cycles") + target.cost("latency_cycles")
    left = height * deep * Fraction(wide - 1, wide)
    right = deep * width * Fraction(tall - 1, tall) / (1 if tall % 2 else 2)  # a pair shares it
    total = int(amp_cycles(height, deep, width, 4, target))
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
def test_a_plan_is_the_cheapest_of_all_grids(shape: tuple[int, int, int]) -> None:
    target = pl.Target(tiles=14)
    plan = pl.ops.plan_matmul(target, pl.FLOAT, *shape)
    costs = {}
    for grid in np.ndindex(15, 15, 15):
        if 0 < np.prod(grid) <= 14:
            parts = zip(shape, grid, (16, 8, 1), strict=True)
            block = [min(grain * -(-n // (grain * k)), n) for n, k, grain in parts]
            if all((k - 1) * size < n for n, k, size in zip(shape, grid, block, strict=True)):
                costs[grid] = cycles_of(target, block, grid)
    assert plan.passes == (1, 1)
    assert plan.cycles == min(costs.values()) == costs[plan.grid]


def test_a_plan_fits_its_memory_and_uses_the_machine() -> None:
    for n in (16, 256, 4096):
        plan = pl.ops.plan_matmul(BOW, pl.HALF, 2048, 2048, n)
        assert plan.bytes <= 0.6 * BOW.tile_memory_bytes
        assert 0.9 * BOW.tiles < plan.tiles <= BOW.tiles


def test_little_memory_takes_more_passes() -> None:
    passes = []
    for memory in (600_000, 60_000, 20_000):
        target = pl.Target(tiles=64, tile_memory_bytes=memory)
        plan = pl.ops.plan_matmul(target, pl.FLOAT, 512, 512, 512)
        assert plan.bytes <= 0.6 * memory
        passes.append(plan.passes[0] * plan.passes[1])
    assert passes[0] == 1 < passes[1] < passes[2]


def test_where_nothing_fits_the_plan_takes_the_least_memory() -> None:
    target = pl.Target(tiles=1, tile_memory_bytes=1_000)
    plan = pl.ops.plan_matmul(target, pl.FLOAT, 64, 64, 64)
    assert (plan.block, plan.passes) == ((16, 64, 1), (4, 64))


def test_partials_of_the_matrices_own_type_take_no_addition() -> None:
    target = pl.Target(tiles=1)
    wide, own = (
        pl.ops.plan_matmul(target, pl.HALF, 16, 16, 16, partials=p) for p in (pl.FLOAT, pl.HALF)
    )
    assert (wide.has_partials, own.has_partials) == (True, False)
    assert (wide.reduce_cycles > 0, own.reduce_cycles) == (True, 0)


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
        (pl.FLOAT, 4096, 2048, 57.0),
        (pl.FLOAT, 8192, 4, 7.7),
    ],
)
def test_plans_take_what_was_measured(
    element: type[pl.ElementType[float]], m: int, n: int, rate: float
) -> None:
    plan = pl.ops.plan_matmul(BOW, element, m, m, n, partials=element)
    measured = 2 * m * m * n / (rate * 1e12) * BOW.clock_hz
    assert plan.cycles == pytest.approx(measured, rel=0.1)


@pytest.mark.parametrize("shape", [(256, 512, 256), (48, 700, 20), (900, 64, 333)])
@pytest.mark.parametrize("partials", [pl.HALF, pl.FLOAT])
def test_a_plan_knows_what_the_engine_finds(
    shape: tuple[int, int, int], partials: type[pl.ElementType[float]]
) -> None:
    graph, program = pl.Graph(pl.Target(tiles=64)), pl.Sequence()
    plan = pl.ops.plan_matmul(graph.target, pl.HALF, *shape, partials=partials)
    a = pl.ops.create_matmul_input_lhs(graph, plan)
    b = pl.ops.create_matmul_input_rhs(graph, plan)
    pl.ops.matmul(graph, a, b, program, plan=plan)
    engine = pl.Engine(graph, program, checks="fast")
    engine.run()
    assert engine.report().cycles == pytest.approx(plan.cycles, rel=0.1)


# Where things lie


def test_created_operands_lie_where_they_are_used() -> None:
    graph = pl.Graph(pl.Target(tiles=24))
    plan = pl.ops.plan_matmul(graph.target, pl.FLOAT, 64, 96, 50)
    a = pl.ops.create_matmul_input_lhs(graph, plan)
    b = pl.ops.create_matmul_input_rhs(graph, plan)
    height, deep, width = plan.block
    assert plan.grid[0] * plan.grid[1] * plan.grid[2] == plan.tiles > 12
    for i in range(plan.left.down):
        for j in range(plan.left.across):
            block = a[i * height : (i + 1) * height, j * deep : min((j + 1) * deep, 96)]
            users = plan.tile(np.array(i), np.array(j), np.arange(plan.grid[2]))
            assert set(graph.tile_mapping(block).tiles.tolist()) <= set(users.tolist())
            assert block.num_regions() == 1
    for j in range(plan.right.down):
        for k in range(plan.right.across):
            block = b[j * deep : min((j + 1) * deep, 96), k * width : min((k + 1) * width, 50)]
            users = plan.tile(np.arange(plan.grid[0]), np.array(j), np.array(k))
            assert set(graph.tile_mapping(block).tiles.tolist()) <= set(users.tolist())
            assert block.num_regions() == 1


def test_the_product_lies_on_the_tiles_that_make_it() -> None:
    graph, a, b, program = operands((32, 64, 24), tiles=16)
    plan = pl.ops.plan_matmul(graph.target, pl.FLOAT, 32, 64, 24)
    c = pl.ops.matmul(graph, a, b, program, plan=plan, name="c")
    assert graph.tile_mapping(c).elements_per_tile.max() <= -(-32 * 24 // plan.tiles) + 2
    names = [compute_set.name for compute_set in graph.compute_sets]
    assert names == ["c/products", "c/sums"][: 1 + plan.has_partials]
    assert [v.name for v in graph.variables] == ["a", "b", "c", "c/partials"][
        : 3 + plan.has_partials
    ]


def test_created_operands_make_a_product_quicker() -> None:
    cycles = []
    for is_planned in (True, False):
        graph, a, b, program = operands((64, 256, 64), pl.HALF, tiles=32)
        if is_planned:
            plan = pl.ops.plan_matmul(graph.target, pl.HALF, 64, 256, 64)
            a = pl.ops.create_matmul_input_lhs(graph, plan)
            b = pl.ops.create_matmul_input_rhs(graph, plan)
        pl.ops.matmul(graph, a, b, program)
        engine = pl.Engine(graph, program)
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
    c = pl.ops.matmul(graph, a, a.T, program)
    assert set(top.tile_mapping(c).tiles.tolist()) <= {2, 3, 5}
    engine = pl.Engine(top, program)
    engine.run()
    assert (engine.read(c) == values @ values.T).all()


def test_blocks_are_found_and_put_back() -> None:
    graph = pl.Graph()
    blocks = Blocks(5, 7, 2, 3)
    x = graph.add_variable(
        pl.INT, (5, 7), "x", mapping=0, initial_value=np.arange(35).reshape(5, 7)
    )
    flat = graph.add_variable(pl.INT, (35,), "flat", mapping=0)
    engine = pl.Engine(graph, pl.Sequence(pl.Copy(blocks.flat(x), flat)))
    engine.run()
    got = engine.read(flat)
    for row, column in np.ndindex(blocks.down, blocks.across):
        begin, end = (int(n) for n in blocks.spans(np.array(row), np.array(column)))
        block = np.arange(35).reshape(5, 7)[2 * row : 2 * row + 2, 3 * column : 3 * column + 3]
        assert got[begin:end].tolist() == block.ravel().tolist()
    assert blocks.flat(blocks.matrix(flat)) == flat
    assert (engine.read(blocks.matrix(flat)) == np.arange(35).reshape(5, 7)).all()


# What is refused


@pytest.mark.parametrize(
    ("element", "partials", "message"),
    [
        (pl.INT, pl.FLOAT, "matmul of INT with partials of FLOAT"),
        (pl.FLOAT, pl.HALF, "matmul of FLOAT with partials of HALF"),
        (pl.HALF, pl.INT, "matmul of HALF with partials of INT"),
    ],
)
def test_types_that_the_unit_does_not_multiply(element: Any, partials: Any, message: str) -> None:
    with pytest.raises(pl.ElementTypeError, match=message):
        pl.ops.plan_matmul(BOW, element, 4, 4, 4, partials=partials)


@pytest.mark.parametrize("size", [-3, 2.5, "3", True])
def test_sizes_that_are_none(size: Any) -> None:
    with pytest.raises(
        pl.TensorCreationError, match=rf"matmul of \[2, {size!r}\] and \[{size!r}, 4\]"
    ) as caught:
        pl.ops.plan_matmul(BOW, pl.HALF, 2, size, 4)
    assert caught.value.fix == "plan_matmul(graph.target, HALF, *left.shape, right.shape[1])"


def test_sizes_whose_cycles_are_too_many() -> None:
    pl.ops.plan_matmul(BOW, pl.HALF, 2**20, 2**20, 2**10)
    with pytest.raises(pl.SizeOverflowError, match="1,126,999,418,470,400 times") as caught:
        pl.ops.plan_matmul(BOW, pl.HALF, 2**20, 2**20, 2**10 + 1)
    assert caught.value.what == "matmul of [1048576, 1048576] and [1048576, 1025]"


def test_a_graph_is_no_target() -> None:
    graph: Any = pl.Graph(pl.Target(tiles=4))
    with pytest.raises(
        pl.InvalidMachineModel, match="plan_matmul: <Graph .* is no target"
    ) as caught:
        pl.ops.plan_matmul(graph, pl.HALF, 2, 3, 4)
    assert caught.value.fix == "plan_matmul(graph.target, ...)"


def test_operands_must_fit() -> None:
    graph, a, b, program = operands()
    whole = graph.add_variable(pl.INT, (12, 20), "whole", mapping=0)
    unmapped = graph.add_variable(pl.FLOAT, (12, 20), "unmapped")
    other = operands()[2]
    with pytest.raises(pl.TensorCreationError, match=r"\(8, 12\) of 'a' and \(20, 12\) of 'b'"):
        pl.ops.matmul(graph, a, b.T, program)
    with pytest.raises(pl.TensorCreationError, match=r"\(8, 12\) of 'a' and \(20,\) of 'b"):
        pl.ops.matmul(graph, a, b[0], program)
    with pytest.raises(pl.ElementTypeError, match="'a' is FLOAT and 'whole' is INT"):
        pl.ops.matmul(graph, a, whole, program)
    with pytest.raises(pl.ElementTypeError, match="'whole' is INT and 'whole' is INT"):
        pl.ops.matmul(graph, whole.T, whole, program)
    with pytest.raises(pl.InvalidTileMapping, match="unmapped"):
        pl.ops.matmul(graph, a, unmapped, program)
    with pytest.raises(pl.GraphConnectionError, match="matmul"):
        pl.ops.matmul(graph, a, other, program)
    with pytest.raises(pl.ControlProgramError, match="matmul: <Execute .* is no sequence"):
        pl.ops.matmul(graph, a, b, pl.Execute(graph.add_compute_set("none")))  # type: ignore[arg-type]
    assert program.is_empty
    assert [v.name for v in graph.variables] == ["a", "b", "whole", "unmapped"]


@pytest.mark.parametrize(
    ("left", "right", "call", "product"),
    [
        ((4, 6), (5, 6), "a, b.T", (4, 5)),
        ((6, 4), (6, 5), "a.T, b", (4, 5)),
        ((6, 4), (5, 6), "a.T, b.T", (4, 5)),
        ((4, 6), (6,), "a, b.reshape((6, 1))", (4, 1)),
        ((6,), (4, 6), "a.reshape((1, 6)), b.T", (1, 4)),
        ((6,), (6,), "a.reshape((1, 6)), b.reshape((6, 1))", (1, 1)),
        ((2, 4, 6), (6, 5), "a.reshape((8, 6)), b", (8, 5)),
    ],
)
def test_a_remedy_for_shapes_that_do_not_fit_works(
    left: tuple[int, ...], right: tuple[int, ...], call: str, product: tuple[int, int]
) -> None:
    graph, program = pl.Graph(BOW), pl.Sequence()
    a = graph.add_variable(pl.FLOAT, left, "a", mapping="linear")
    b = graph.add_variable(pl.FLOAT, right, "b", mapping="linear")
    with pytest.raises(pl.TensorCreationError, match="of 'b' do not fit") as caught:
        pl.ops.matmul(graph, a, b, program)
    assert caught.value.fix.startswith(f"matmul(graph, {call}, program): ")
    known = {"matmul": pl.ops.matmul, "graph": graph, "a": a, "b": b, "program": program}
    assert eval(caught.value.fix.split(": ")[0], known).shape == product


def test_remedies_for_tensors_that_are_no_variables_are_words() -> None:
    graph = pl.Graph(BOW)
    a = graph.add_variable(pl.FLOAT, (4, 6), "a", mapping="linear")
    square = graph.add_variable(pl.FLOAT, (5, 6), "square", mapping="linear")
    keyword = graph.add_variable(pl.FLOAT, (5, 6), "lambda", mapping="linear")
    with graph.scope("blocks"):
        scoped = graph.add_variable(pl.FLOAT, (5, 6), "w", mapping="linear")
    joined = pl.concat([square[:2], scoped[:3]])
    for right in (scoped, keyword, square[:3], joined):
        with pytest.raises(pl.TensorCreationError) as caught:
            pl.ops.matmul(graph, a, right, pl.Sequence())
        assert caught.value.fix == (
            f"the left operand, by the right operand, transposed: (4, 6) by (6, {len(right)})"
        )
    with pytest.raises(pl.TensorCreationError) as caught:
        pl.ops.matmul(graph, a.T, square.T, pl.Sequence())
    assert caught.value.fix == (
        "the left operand, transposed, by the right operand: (4, 6) by (6, 5)"
    )
    with pytest.raises(pl.TensorCreationError) as caught:
        pl.ops.matmul(graph, a[0], square.T, pl.Sequence())
    assert caught.value.fix == (
        "the left operand, reshaped to (1, 6), by the right operand: (1, 6) by (6, 5)"
    )
    with pytest.raises(pl.TensorCreationError) as caught:
        pl.ops.matmul(graph, a, scoped[:, :5], pl.Sequence())
    assert caught.value.fix.startswith("a right operand of shape (6, columns); no transposition")


@pytest.mark.parametrize(
    ("left", "right", "remedy"),
    [
        ((4, 6), (5, 7), "'b' of shape (6, columns); no transposition of the two fits"),
        ((6, 4), (2, 4, 5), "one product for each pair of matrices, such as t[i] of a tensor"),
    ],
)
def test_shapes_that_nothing_makes_fit(
    left: tuple[int, ...], right: tuple[int, ...], remedy: str
) -> None:
    graph = pl.Graph(BOW)
    a = graph.add_variable(pl.FLOAT, left, "a", mapping="linear")
    b = graph.add_variable(pl.FLOAT, right, "b", mapping="linear")
    with pytest.raises(pl.TensorCreationError) as caught:
        pl.ops.matmul(graph, a, b, pl.Sequence())
    assert caught.value.fix.startswith(remedy)


def test_plans_must_fit() -> None:
    graph, a, b, program = operands((64, 96, 20))
    plan = pl.ops.plan_matmul(graph.target, pl.FLOAT, 64, 96, 21)
    with pytest.raises(pl.TensorCreationError, match=r"\(64, 96, 21\), but .* \(64, 96, 20\)"):
        pl.ops.matmul(graph, a, b, program, plan=plan)
    many = pl.ops.plan_matmul(pl.Target(tiles=64), pl.FLOAT, 64, 96, 20)
    with pytest.raises(pl.TensorCreationError, match=rf"takes {many.tiles} tiles, .* has 4"):
        pl.ops.matmul(graph, a, b, program, plan=many)
    fits = pl.ops.plan_matmul(graph.target, pl.FLOAT, 64, 96, 20)
    for cuts, tall, deep in ((1, 64, 95), (2, 64, 96), (1, 0, 96)):
        wrong = replace(fits, grid=(1, cuts, 1), block=(tall, deep, 20))
        with pytest.raises(pl.TensorCreationError, match="does not make the whole product"):
            pl.ops.matmul(graph, a, b, program, plan=wrong)
    with pytest.raises(pl.TensorCreationError, match="matmul: 'fast' is no plan"):
        pl.ops.matmul(graph, a, b, program, plan="fast")  # type: ignore[arg-type]
    assert [v.name for v in graph.variables] == ["a", "b"]


@pytest.mark.parametrize("side", ["lhs", "rhs"])
def test_operands_are_not_created_for_what_is_no_plan_here(side: str) -> None:
    create = getattr(pl.ops, f"create_matmul_input_{side}")
    graph = pl.Graph(pl.Target(tiles=4))
    many = pl.ops.plan_matmul(pl.Target(tiles=64), pl.FLOAT, 64, 96, 20)
    with pytest.raises(pl.TensorCreationError, match=rf"{side}: the plan takes {many.tiles} tiles"):
        create(graph, many)
    with pytest.raises(pl.TensorCreationError, match=f"{side}: None is no plan"):
        create(graph, None)
    assert not graph.variables


def test_a_sequence_that_is_used_takes_no_more() -> None:
    graph, a, b, program = operands()
    pl.Repeat(2, program)
    with pytest.raises(pl.ControlProgramError):
        pl.ops.matmul(graph, a, b, program)
    assert [v.name for v in graph.variables] == ["a", "b"]
