"""poplin: argument orders and meanings of PopLibs' products, factorisations and grids."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import interpreted
from poplite.compat import poplin

RNG = np.random.default_rng(4)


def drawn(graph: pl.Graph, shape: tuple[int, ...], kind: Any = pl.FLOAT) -> tuple[pl.Tensor, Any]:
    values = RNG.integers(-4, 5, shape).astype(kind.dtype)
    return graph.add_variable(kind, shape, mapping="linear", initial_value=values), values


def after(graph: pl.Graph, prog: pl.Sequence, tensor: pl.Tensor) -> Any:
    engine = pl.Engine(graph, prog, **interpreted())
    engine.run()
    return engine.read(tensor)


@pytest.mark.parametrize("before", [(), (3,)])
def test_products(before: tuple[int, ...]) -> None:
    graph, prog = pl.Graph(pl.Target(tiles=8)), pl.Sequence()
    (a, x), (b, y) = drawn(graph, (*before, 6, 9)), drawn(graph, (*before, 9, 4))
    out, _ = drawn(graph, (*before, 6, 4))
    c, z = drawn(graph, (*before, 6, 4))
    scale, _ = graph.add_variable(pl.FLOAT, (1,), mapping=0, initial_value=0.5), None
    if before:
        product = poplin.matMulGrouped(graph, a, b, prog, "ab")
        poplin.matMulGroupedWithOutput(graph, a, b, out, prog)
        poplin.matMulGroupedAcc(graph, c, scale, a, b, prog)
    else:
        product = poplin.matMul(graph, a, b, prog, pl.FLOAT, "ab", {"partialsType": "float"})
        poplin.matMulWithOutput(graph, a, b, out, prog)
        poplin.matMulAcc(graph, c, 0.5, a, b, prog)
    engine = pl.Engine(graph, prog, **interpreted())
    engine.run()
    assert product.name == "ab"
    assert np.array_equal(engine.read(product), x @ y)
    assert np.array_equal(engine.read(out), x @ y)
    assert np.array_equal(engine.read(c), z + 0.5 * (x @ y))


def test_a_product_of_halves_may_be_of_floats() -> None:
    graph, prog = pl.Graph(pl.Target(tiles=8)), pl.Sequence()
    a, x = drawn(graph, (6, 9), pl.HALF)
    a = graph.add_variable(pl.HALF, (2, 30), mapping=0, initial_value=np.full((2, 30), 60.5))
    wide = poplin.matMul(graph, a, a.transpose(), prog, pl.FLOAT)
    narrow = poplin.matMul(graph, a, a.transpose(), prog)
    engine = pl.Engine(graph, prog, **interpreted())
    engine.run()
    assert engine.read(wide).tolist() == [[30 * 60.5**2] * 2] * 2
    assert np.isinf(engine.read(narrow)).all()


@pytest.mark.parametrize("options", [None, {"availableMemoryProportion": "0.1"}])
def test_operands_lie_where_a_plan_wants_them(options: Any) -> None:
    graph, prog = pl.Graph(pl.Target(tiles=8)), pl.Sequence()
    left, right = (32, 64), (64, 24)
    cache = poplin.PlanningCache()
    a = poplin.createMatMulInputLHS(graph, pl.HALF, left, right, "a", options, cache)
    b = poplin.createMatMulInputRHS(graph, pl.HALF, pl.HALF, left, right, "b", options, cache)
    out = poplin.createMatMulOutput(graph, pl.HALF, left, right)
    poplin.matMulWithOutput(graph, a, b, out, prog, "ab", options, cache)
    assert [a.name, b.name, out.name] == ["a", "b", "out"]
    assert [a.shape, b.shape, out.shape] == [left, right, (32, 24)]
    engine = pl.Engine(graph, prog, **interpreted())
    engine.write(a, np.eye(32, 64))
    engine.write(b, np.arange(64 * 24).reshape(64, 24))
    engine.run()
    assert np.array_equal(engine.read(out), np.arange(32 * 24).reshape(32, 24))
    page = io.StringIO()
    poplin.matMulReportPlan(page, graph, pl.HALF, pl.HALF, left, right, options)
    assert page.getvalue().startswith("32 x 64 times 64 x 24, HALF with partials of FLOAT")


@pytest.mark.parametrize("groups", [1, 4])
def test_operands_of_groups(groups: int) -> None:
    graph, prog = pl.Graph(pl.Target(tiles=8)), pl.Sequence()
    left, right = (groups, 16, 20), (groups, 20, 8)
    a = poplin.createMatMulGroupedInputLHS(graph, pl.FLOAT, left, right)
    b = poplin.createMatMulGroupedInputRHS(graph, pl.FLOAT, left, right)
    out = poplin.createMatMulGroupedOutput(graph, pl.FLOAT, left, right)
    c = poplin.matMulGrouped(graph, a, poplin.transposeGroupedMatrix(a), prog)
    assert [each.shape for each in (a, b, out, c)] == [
        left,
        right,
        (groups, 16, 8),
        (groups, 16, 16),
    ]
    values = RNG.integers(-4, 5, left)
    engine = pl.Engine(graph, prog, **interpreted())
    engine.write(a, values)
    engine.run()
    assert np.array_equal(engine.read(c), values @ values.transpose(0, 2, 1))


def test_what_is_refused() -> None:
    graph, prog = pl.Graph(pl.Target(tiles=8)), pl.Sequence()
    (a, _), (b, _) = drawn(graph, (6, 9)), drawn(graph, (9, 4))
    with pytest.raises(pl.InvalidOption, match="no option 'partialType'.*partialsType"):
        poplin.matMul(graph, a, b, prog, "", {"partialType": "half"})
    with pytest.raises(pl.InvalidOption, match="partialsType is 'double'"):
        poplin.matMul(graph, a, b, prog, "", {"partialsType": "double"})
    with pytest.raises(pl.InvalidOption, match="matMul: availableMemoryProportion is 'half'"):
        poplin.matMul(graph, a, b, prog, "", {"availableMemoryProportion": "half"})
    with pytest.raises(pl.TensorCreationError, match=r"matMulGrouped: .* has shape \(6, 9\)"):
        poplin.matMulGrouped(graph, a, b, prog)
    with pytest.raises(pl.ElementTypeError, match="poplin.matMul: 1 argument too many"):
        poplin.matMul(graph, a, b, prog, "", None, None, None)
    with pytest.raises(pl.TensorCreationError, match=r"shapes \(6, 9\), \(9,\)"):
        poplin.createMatMulInputLHS(graph, pl.HALF, (6, 9), (9,))
    with pytest.raises(pl.TensorCreationError, match=r"\(6, 9\) and \(8, 4\) do not fit"):
        poplin.createMatMulInputLHS(graph, pl.HALF, (6, 9), (8, 4))
    with pytest.raises(pl.ElementTypeError, match="poplin.matMul of FLOAT with a result of HALF"):
        poplin.matMul(graph, a, b, prog, pl.HALF)
    with pytest.raises(pl.TensorCreationError, match="poplin.matMul: shapes") as raised:
        poplin.matMul(graph, a, b.transpose(), prog)
    assert raised.value.fix.startswith(f"poplin.matMul(graph, {a.name}, ")
    with pytest.raises(pl.GraphConnectionError, match="belongs to another graph"):
        poplin.matMul(pl.Graph(), a, b, prog)
    with pytest.raises(pl.ControlProgramError, match="poplin.matMul: outside its graph's steps"):
        poplin.matMul(graph, a, b, None)
    with pytest.raises(pl.InvalidOption, match="poplin.matMul: availableMemoryProportion is 2"):
        poplin.matMul(graph, a, b, prog, "", {"availableMemoryProportion": 2})
    with pytest.raises(pl.TensorCreationError, match=r"matMulAcc: '.*' has shape \(6, 9\)"):
        poplin.matMulAcc(graph, a, 1.0, a, b, prog)
    with pytest.raises(pl.InvalidOption, match="poplin.matMulAcc: k is <Tensor"):
        poplin.matMulAcc(graph, pl.ops.map(a @ b, program=prog), a, a, b, prog)
    with pytest.raises(pl.ElementTypeError, match="poplin.createMatMulInputRHS of INT"):
        poplin.createMatMulInputRHS(graph, pl.INT, (6, 9), (9, 4))
    with pytest.raises(pl.SizeOverflowError, match="poplin.createMatMulOutput: "):
        poplin.createMatMulOutput(graph, pl.HALF, (2**20, 2**20), (2**20, 2**20))


# -- poplin factorisations -------------------------------------------------------------------------
#
# poplin: argument orders and meanings of PopLibs' factorisations and grids.


cholesky = poplin.cholesky

NUMBERS = np.array([[4.0, 2, 0], [2, 10, 3], [0, 3, 5]])


def test_functions_have_poplibs_arguments() -> None:
    graph, prog = pl.Graph(pl.Target(tiles=3)), pl.Sequence()
    cache = poplin.PlanningCache()
    a = poplin.createCholeskyInput(graph, pl.FLOAT, (3, 3), True, "a", {"blockSize": "2"}, cache)
    lhs = poplin.createTriangularSolveInputLHS(
        graph, pl.FLOAT, pl.FLOAT, (3, 3), (2, 3), False, np.int64(8), "lhs"
    )
    rhs = poplin.createTriangularSolveInputRHS(
        graph, pl.FLOAT, pl.FLOAT, (3, 3), (2, 3), False, "rhs"
    )
    tall, q = poplin.experimental.createQRFactorizationMatrices(graph, pl.FLOAT, 4, 3, "qr")
    factor = poplin.cholesky(graph, a, True, 2, prog, "factor")
    upper = poplin.triangularMask(graph, a, False, True, prog)
    x = poplin.triangularSolve(graph, lhs, rhs, False, True, False, prog, "x", {}, cache)
    poplin.choleskyInPlace(graph, a, False, prog, "", {"blockSize": "2"})
    poplin.experimental.QRFactorization(graph, tall, q, prog, "qr", {"rowsPerIteration": "2"})
    low, upright = poplin.experimental.LUFactorization(graph, lhs, prog, "lu")
    engine = pl.Engine(graph, prog, **interpreted())
    right, high = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(4, 3) ** 2
    given = (a, NUMBERS), (lhs, NUMBERS), (rhs, right), (tall, high), (q, np.eye(4))
    for tensor, values in given:
        engine.write(tensor, values)
    engine.run()
    expected = np.linalg.cholesky(NUMBERS)
    assert (factor.name, x.name) == ("factor", "x")
    assert np.allclose(engine.read(factor), expected, atol=1e-6)
    assert np.allclose(engine.read(a), expected.T, atol=1e-6)
    assert engine.read(upper).tolist() == [[1, 2, 0], [0, 1, 3], [0, 0, 1]]
    assert np.allclose(engine.read(x) @ np.tril(NUMBERS), right, atol=1e-5)
    assert np.allclose(engine.read(low) @ engine.read(upright), NUMBERS, atol=1e-5)
    made = np.linalg.qr(high, mode="complete")
    assert np.allclose(engine.read(tall), made.R, atol=2e-4)
    assert np.allclose(engine.read(q)[:, :3], made.Q[:, :3], atol=1e-4)


def test_grids() -> None:
    graph = pl.Graph(pl.Target(tiles=3))
    x = poplin.linspace(graph, pl.FLOAT, -1, 1, 5, "x")
    y = poplin.linspace(graph, pl.HALF, 0, 3, 4)
    columns, rows = poplin.meshgrid2d(graph, x, y)
    engine = pl.Engine(graph, pl.Sequence())
    expected = np.meshgrid(np.linspace(-1, 1, 5), np.linspace(0, 3, 4))
    assert np.array_equal(engine.read(columns), expected[0])
    assert np.array_equal(engine.read(rows), expected[1])
    with pytest.raises(pl.TensorCreationError, match="two vectors"):
        poplin.meshgrid2d(graph, x, rows)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda g, a, p: cholesky(g, a, True, p, "", ["blockSize"]), pl.InvalidOption, "mapping"),
        (lambda g, a, p: poplin.linspace(g, pl.FLOAT, 0, 1, -1), pl.SizeOverflowError, "-1"),
        (lambda g, a, p: poplin.cholesky(g, a, True), pl.ElementTypeError, "no program"),
        (lambda g, a, p: cholesky(g, a, True, p, "", None, None, 1), pl.ElementTypeError, "too"),
        (
            lambda g, a, p: cholesky(g, a, True, p, "", {"blockSise": "1"}),
            pl.InvalidOption,
            "blockSize",
        ),
        (lambda g, a, p: cholesky(g, a, True, p, "", {"blockSize": "x"}), pl.InvalidOption, "'x'"),
        (lambda g, a, p: cholesky(g, a, True, p, "", {"blockSize": 2.5}), pl.InvalidOption, "2.5"),
        (lambda g, a, p: cholesky(g, a, True, p, "", {"blockSize": True}), pl.InvalidOption, "ue"),
        (lambda g, a, p: poplin.linspace(g, pl.FLOAT, np.nan, 1, 5), pl.InvalidOption, "from nan"),
        (
            lambda g, a, p: poplin.experimental.QRFactorization(g, a, a[:2], p),
            pl.TensorCreationError,
            "Q of",
        ),
    ],
)
def test_what_factorisations_refuse(call: Any, error: type[Exception], text: str) -> None:
    graph, prog = pl.Graph(pl.Target(tiles=1)), pl.Sequence()
    a = graph.add_variable(pl.FLOAT, (3, 3), "a", mapping=0)
    with pytest.raises(error, match=text):
        call(graph, a, prog)
    assert prog.num_steps == 0
