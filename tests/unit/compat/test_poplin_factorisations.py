"""poplin: argument orders and meanings of PopLibs' factorisations and grids."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import interpreted
from poplite.compat import poplin

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
def test_what_is_refused(call: Any, error: type[Exception], text: str) -> None:
    graph, prog = pl.Graph(pl.Target(tiles=1)), pl.Sequence()
    a = graph.add_variable(pl.FLOAT, (3, 3), "a", mapping=0)
    with pytest.raises(error, match=text):
        call(graph, a, prog)
    assert prog.num_steps == 0
