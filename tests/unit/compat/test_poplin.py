"""poplin: argument orders and meanings of PopLibs' products of matrices."""

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
    with pytest.raises(pl.ControlProgramError, match="poplin.matMul: no program"):
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
