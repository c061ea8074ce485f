"""What functions of PopLibs make lies where PopLibs puts it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import values_only
from poplite.compat import poplin, popnn, popops, poputil
from poplite.compat.popops import expr as pe


def held(graph: pl.Graph, tensor: pl.Tensor) -> dict[int, list[int]]:
    """Return the elements of each tile that has some."""
    mapping = graph.tile_mapping(tensor)
    return {
        tile: [each for begin, end in mapping[tile] for each in range(begin, end)]
        for tile in mapping.tiles.tolist()
    }


@pytest.fixture
def graph() -> pl.Graph:
    return pl.Graph(pl.Target(tiles=4))


def test_results_lie_as_the_input_that_is_spread_best(graph: pl.Graph) -> None:
    prog = pl.Sequence()
    few, many, pieces = (
        graph.add_variable(pl.FLOAT, (8,), "x", mapping=mapping)
        for mapping in (
            [[(0, 8)]],
            [[(0, 4)], [], [(4, 6)], [(6, 8)]],
            [[(0, 1), (2, 4), (6, 7)], [(1, 2), (4, 6), (7, 8)]],
        )
    )
    half = graph.add_variable(pl.FLOAT, (8,), "half", mapping=[[(0, 4)], [(4, 8)]])
    row, one = (graph.add_variable(pl.FLOAT, size, "s", mapping=3) for size in ((1,), ()))
    made = {
        "alone": popops.exp(graph, few, prog),
        "cast": popops.cast(graph, few, pl.INT, prog),
        "less on a tile": popops.add(graph, few, many, prog),
        "more tiles": popops.add(graph, half, many, prog),
        "fewer pieces": popops.map(graph, pe._1 * pe._2 - pe._3, [pieces, half, row], prog),
        "first": popops.add(graph, pieces, pieces, prog),
        "type": popnn.nonLinearity(graph, popnn.NonLinearityType.TANH, few, prog),
        "scalar": popops.square(graph, one, prog),
        "broadcast": popops.add(graph, row.broadcast(8, 0), row, prog),
    }
    places = {name: held(graph, each) for name, each in made.items()}
    assert places["alone"] == places["cast"] == places["type"] == held(graph, few)
    assert places["less on a tile"] == places["more tiles"] == held(graph, many)
    assert places["fewer pieces"] == held(graph, half)
    assert places["first"] == held(graph, pieces)
    assert places["scalar"] == {3: [0]}
    assert places["broadcast"] == {0: [0, 1], 1: [2, 3], 2: [4, 5], 3: [6, 7]}


def test_broadcast_operands_are_shared_among_their_users(graph: pl.Graph) -> None:
    def made(dim: int, mapping: Any, shape: tuple[int, ...], dither: bool = False) -> Any:
        x = graph.add_variable(pl.FLOAT, shape, "x", mapping=mapping)
        return held(graph, poputil.createBroadcastOperand(graph, x, pl.FLOAT, dim, dither))

    # All tiles use all columns, so each gets some of them, two at a time.
    assert made(1, "linear", (4, 8)) == {0: [0, 1], 1: [2, 3], 2: [4, 5], 3: [6, 7]}
    assert made(0, "linear", (4, 8)) == {0: [0], 1: [1], 2: [2], 3: [3]}
    # A tile begins in the middle of row 1: both tiles share all that either uses.
    assert made(0, [[(0, 6)], [(6, 16)]], (4, 4)) == {0: [0, 1], 1: [2, 3]}
    # Columns of a tile of their own stay there.
    columns = [[(0, 2), (6, 8)], [], [], [(2, 6), (8, 12)]]
    assert made(1, columns, (2, 6)) == {0: [0, 1], 3: [2, 3, 4, 5]}
    plain, moved = (made(1, "linear", (2, 6), dither) for dither in (False, True))
    assert sorted(map(len, plain.values())) == sorted(map(len, moved.values()))
    assert made(1, "linear", (0, 6)) == {0: [*range(6)]}


def test_parameters_of_norms_lie_where_activations_use_them(graph: pl.Graph) -> None:
    acts = graph.add_variable(pl.HALF, (2, 32, 4), "acts")
    for tile in range(4):
        graph.set_tile_mapping(acts[:, 8 * tile : 8 * tile + 8], tile)
    gamma, beta = popnn.bn.createBatchNormParams(graph, acts)
    own = poputil.createBroadcastOperand(graph, acts, pl.HALF, 1, True)
    assert held(graph, gamma) == held(graph, beta) == held(graph, own)
    assert sorted(held(graph, gamma).values()) == [[*range(a, a + 8)] for a in (0, 8, 16, 24)]


def test_operands_of_solutions(graph: pl.Graph) -> None:
    small = poplin.createTriangularSolveInputLHS(graph, pl.FLOAT, pl.FLOAT, (4, 4), (4, 3), True)
    assert held(graph, small)[1] == [4, 5, 6, 7]
    blocks = poplin.createTriangularSolveInputLHS(
        graph, pl.FLOAT, pl.FLOAT, (4, 4), (4, 3), True, 2, "a"
    )
    assert held(graph, blocks)[1] == [2, 3, 6, 7]
    turned = poplin.createTriangularSolveInputLHS(
        graph, pl.FLOAT, pl.FLOAT, (4, 4), (3, 4), False, 2, "a"
    )
    assert held(graph, turned)[1] == [8, 9, 12, 13]
    odd = poplin.createTriangularSolveInputLHS(
        graph, pl.FLOAT, pl.FLOAT, (2, 5, 5), (2, 5, 3), True, 2, "a"
    )
    assert odd.shape == (2, 5, 5)
    with pytest.raises(pl.TensorCreationError, match="a shape of"):
        poplin.createTriangularSolveInputLHS(graph, pl.FLOAT, pl.FLOAT, (4,), (4,), True)
    right = poplin.createTriangularSolveInputRHS(graph, pl.HALF, pl.FLOAT, (4, 4), (4, 32), True)
    assert (right.element_type, right.shape) == (pl.FLOAT, (4, 32))
    assert held(graph, right)[0] == [r * 32 + c for r in range(4) for c in range(8)]
    a, q = poplin.experimental.createQRFactorizationMatrices(graph, pl.FLOAT, 5, 3)
    assert (a.shape, q.shape) == ((5, 3), (5, 5))
    assert held(graph, a) == {0: [0, 1, 3, 4, 6, 7, 9, 10, 12, 13], 1: [2, 5, 8, 11, 14]}
    assert held(graph, q)[3] == [*range(15, 25)]
    assert held(graph, poplin.linspace(graph, pl.FLOAT, 0, 1, 9)) == {0: [*range(9)]}


def test_a_solution_with_operands_of_blocks(graph: pl.Graph) -> None:
    prog, rng = pl.Sequence(), np.random.default_rng(0)
    a = poplin.createTriangularSolveInputLHS(graph, pl.FLOAT, pl.FLOAT, (5, 5), (5, 3), True, 2)
    b = poplin.createTriangularSolveInputRHS(graph, pl.FLOAT, pl.FLOAT, (5, 5), (5, 3), True, 2)
    left = np.tril(rng.uniform(1, 2, (5, 5))).astype(np.float32)
    right = rng.uniform(-1, 1, (5, 3)).astype(np.float32)
    x = poplin.triangularSolve(graph, a, b, True, True, False, prog)
    engine = pl.Engine(graph, prog, interpret=True, options=values_only())
    engine.write(a, left)
    engine.write(b, right)
    engine.run()
    np.testing.assert_allclose(left @ engine.read(x), right, atol=1e-5)
