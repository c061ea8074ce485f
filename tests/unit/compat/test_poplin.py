"""poplin: argument orders and meanings of PopLibs' products, factorisations and convolutions."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples, interpreted, values_only
from poplite.compat import poplin, popnn

# -- products, factorisations, grids ---------------------------------------------------------------


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
    with pytest.raises(
        pl.TensorCreationError, match=r"expected two shapes of 2 sizes each; found \(6, 9\), \(9,\)"
    ):
        poplin.createMatMulInputLHS(graph, pl.HALF, (6, 9), (9,))
    with pytest.raises(pl.TensorCreationError, match=r"\(6, 9\) and \(8, 4\) do not match"):
        poplin.createMatMulInputLHS(graph, pl.HALF, (6, 9), (8, 4))
    with pytest.raises(
        pl.ElementTypeError, match="poplin.matMul: the result cannot be HALF for matrices of FLOAT"
    ):
        poplin.matMul(graph, a, b, prog, pl.HALF)
    with pytest.raises(pl.TensorCreationError, match="poplin.matMul: shapes") as raised:
        poplin.matMul(graph, a, b.transpose(), prog)
    assert raised.value.fix.startswith(f"poplin.matMul(graph, {a.name}, ")
    with pytest.raises(pl.GraphConnectionError, match="belongs to another graph"):
        poplin.matMul(pl.Graph(), a, b, prog)
    with pytest.raises(
        pl.ControlProgramError, match="poplin.matMul: it is called outside its graph's steps"
    ):
        poplin.matMul(graph, a, b, None)
    with pytest.raises(pl.InvalidOption, match="poplin.matMul: availableMemoryProportion is 2"):
        poplin.matMul(graph, a, b, prog, "", {"availableMemoryProportion": 2})
    with pytest.raises(pl.TensorCreationError, match=r"matMulAcc: '.*' has shape \(6, 9\)"):
        poplin.matMulAcc(graph, a, 1.0, a, b, prog)
    with pytest.raises(pl.InvalidOption, match="poplin.matMulAcc: k is <Tensor"):
        poplin.matMulAcc(graph, pl.ops.map(a @ b, program=prog), a, a, b, prog)
    with pytest.raises(
        pl.ElementTypeError, match="poplin.createMatMulInputRHS: cannot multiply INT"
    ):
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
        (
            lambda g, a, p: poplin.cholesky(g, a, True),
            pl.ElementTypeError,
            "a program for its steps is missing",
        ),
        (lambda g, a, p: cholesky(g, a, True, p, "", None, None, 1), pl.ElementTypeError, "too"),
        (
            lambda g, a, p: cholesky(g, a, True, p, "", {"blockSise": "1"}),
            pl.InvalidOption,
            "blockSize",
        ),
        (lambda g, a, p: cholesky(g, a, True, p, "", {"blockSize": "x"}), pl.InvalidOption, "'x'"),
        (lambda g, a, p: cholesky(g, a, True, p, "", {"blockSize": 2.5}), pl.InvalidOption, "2.5"),
        (lambda g, a, p: cholesky(g, a, True, p, "", {"blockSize": True}), pl.InvalidOption, "ue"),
        (
            lambda g, a, p: poplin.linspace(g, pl.FLOAT, np.nan, 1, 5),
            pl.InvalidOption,
            "found nan and 1",
        ),
        (
            lambda g, a, p: poplin.experimental.QRFactorization(g, a, a[:2], p),
            pl.TensorCreationError,
            "Q has shape",
        ),
    ],
)
def test_what_factorisations_refuse(call: Any, error: type[Exception], text: str) -> None:
    graph, prog = pl.Graph(pl.Target(tiles=1)), pl.Sequence()
    a = graph.add_variable(pl.FLOAT, (3, 3), "a", mapping=0)
    with pytest.raises(error, match=text):
        call(graph, a, prog)
    assert prog.num_steps == 0


# -- convolutions ----------------------------------------------------------------------------------


Doubles = npt.NDArray[np.float64]


def transformed(x: Doubles, how: dict[str, Any]) -> Doubles:
    """Truncate, dilate, pad, flip, as PopLibs does, along one dimension."""
    x = x[how["truncationLower"] : len(x) - how["truncationUpper"]]
    wide = np.zeros(1 + (len(x) - 1) * how["dilation"] if len(x) else 0)
    wide[:: how["dilation"]] = x
    wide = np.pad(wide, (how["paddingLower"], how["paddingUpper"]))
    return wide[::-1] if how["flip"] else wide


FEW = st.integers(0, 2)
TRANSFORMS = st.fixed_dictionaries(
    {
        "truncationLower": st.integers(0, 1),
        "truncationUpper": st.integers(0, 1),
        "dilation": st.integers(1, 3),
        "paddingLower": FEW,
        "paddingUpper": FEW,
        "flip": st.booleans(),
    }
)


def check_transforms(
    size: int,
    taps: int,
    own: dict[str, Any],
    kernel: dict[str, Any],
    out: dict[str, Any],
    transpose: bool,
    seed: int,
) -> bool:
    """Compare a convolution and its gradients with NumPy; False where PopLibs refuses it."""
    rng = np.random.default_rng(seed)
    x, w = (rng.integers(-9, 10, n).astype(np.float32) for n in (size, taps))
    if any(
        how["truncationLower"] + how["truncationUpper"] > n
        for how, n in ((own, size), (kernel, taps))
    ):
        return False
    one, other = transformed(x.astype(float), own), transformed(w.astype(float), kernel)
    raw = len(one) - len(other) + 1 - out["truncationLower"] - out["truncationUpper"]
    if not 0 < len(other) <= len(one) or raw < 0:
        return False
    exact = np.correlate(one, other, "valid")[out["truncationLower"] :][:raw][:: out["stride"]]
    exact = np.pad(exact, (out["paddingLower"], out["paddingUpper"]))

    def listed(given: dict[str, Any]) -> dict[str, Any]:
        return {name: [value] for name, value in given.items()}

    params = poplin.ConvParams(
        *(pl.FLOAT, 1, [size], [taps], 1, 1, 1),
        poplin.InputTransform(**listed(own)),
        poplin.InputTransform(**listed(kernel)),
        poplin.OutputTransform(**listed(out)),
    )
    graph, prog = pl.Graph(pl.Target(tiles=3)), pl.Sequence()
    a, b = poplin.createInput(graph, params, "a"), poplin.createWeights(graph, params, "b")
    made = poplin.convolution(graph, a, b, params, transpose, prog, "conv")
    # What is linear in x and w: <z, conv(x, w)> = <x, by_x(z)> = <w, by_w(z)>.
    z = poplin.createConvOutput(graph, params, "z")
    deltas = rng.integers(-9, 10, z.shape).astype(np.float32)
    by_x = poplin.convolution(
        graph, z, b, poplin.getGradientParams(params), not transpose, prog, "by x"
    )
    by_w = poplin.calculateWeightDeltas(graph, z, a, params, prog, "by w")
    engine = pl.Engine(graph, prog, interpret=True, options=values_only())
    engine.write(a, x.reshape(a.shape))
    engine.write(b, (w[::-1] if transpose else w).reshape(b.shape))
    engine.write(z, deltas)
    engine.run()
    assert params.getOutputFieldShape() == [len(exact)]
    assert np.array_equal(engine.read(made)[0, 0], exact)
    product = (deltas[0, 0] * exact).sum()
    assert (engine.read(by_x)[0, 0] * x).sum() == product
    assert (engine.read(by_w)[0, 0, 0] * w).sum() == product
    return True


@examples(60, quick=6)
@given(
    size=st.integers(1, 9),
    taps=st.integers(1, 4),
    own=TRANSFORMS,
    kernel=TRANSFORMS,
    out=st.fixed_dictionaries(
        {
            "truncationLower": FEW,
            "truncationUpper": FEW,
            "stride": st.integers(1, 2),
            "paddingLower": st.integers(0, 1),
            "paddingUpper": st.integers(0, 1),
        }
    ),
    transpose=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_all_transforms_of_poplibs(**drawn: Any) -> None:
    check_transforms(**drawn)


NO_TRANSFORM = {**dict.fromkeys(poplin.InputTransform.__slots__, 0), "dilation": 1}
NO_CHANGE = {**dict.fromkeys(poplin.OutputTransform.__slots__, 0), "stride": 1}


@pytest.mark.parametrize(
    ("own", "kernel", "out"),
    [
        ({}, {}, {"truncationLower": 3, "paddingUpper": 2}),  # no output but zeros
        ({}, {"truncationLower": 2, "paddingLower": 2}, {"stride": 2}),  # a kernel of zeros
        ({"truncationUpper": 4, "dilation": 3, "paddingLower": 4}, {}, {"stride": 2}),
        ({"paddingLower": 6}, {}, {"truncationUpper": 5}),  # what is left reads padding
    ],
)
def test_outputs_that_read_no_element(own: Any, kernel: Any, out: Any) -> None:
    transforms = {**NO_TRANSFORM, **own}, {**NO_TRANSFORM, **kernel}, {**NO_CHANGE, **out}
    assert check_transforms(4, 2, *transforms, transpose=False, seed=1)


@pytest.mark.parametrize(
    ("field", "kernel", "transform", "message"),
    [
        (
            [5, 3],
            [2, 4],
            poplin.InputTransform(),
            "dimension 1 of the field, the kernel has size 4",
        ),
        (
            [5],
            [2],
            poplin.InputTransform([2], [3]),
            "the kernel has size 2, but the input has size 0",
        ),
        ([5], [2], poplin.InputTransform([2], [4]), "inputTransform truncates 6 of 5"),
        ([5], [2, 2], poplin.InputTransform(), "kernelShape is (2, 2)"),
    ],
)
def test_kernels_that_do_not_fit_have_no_output(
    field: list[int], kernel: list[int], transform: poplin.InputTransform, message: str
) -> None:
    params = poplin.ConvParams(pl.HALF, 1, field, kernel, 1, 1, 1, transform)
    with pytest.raises(pl.TensorCreationError, match=re.escape(message)):
        params.getOutputFieldShape()


@pytest.mark.parametrize("kind", [poplin.InputTransform, poplin.OutputTransform])
@pytest.mark.parametrize("rank", [-1, 0, 4, 2**31, 2**40, 2**70])
def test_a_field_has_one_to_three_dimensions(kind: Any, rank: int) -> None:
    with pytest.raises(pl.SizeOverflowError) as caught:
        kind(rank)
    assert f"poplin.{kind.__name__}: the number of dimensions is {rank}" in str(caught.value)
    assert caught.value.fix == "pass a number from 1 to 3"
    assert "tests/unit/compat/test_poplin.py" in str(caught.value)


def hidden(value: object) -> Any:
    """A value of a type that is refused."""
    return value


IN: Any = poplin.InputTransform
OUT: Any = poplin.OutputTransform


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"kernelTransform": IN(flip=["no"])}, pl.ElementTypeError, "flip is 'no', not True or F"),
        ({"inputTransform": "a"}, pl.ElementTypeError, "inputTransform is 'a'"),
        ({"inputTransform": IN([-1])}, pl.InvalidOption, "InputTransform.truncationLower is [-1]"),
        ({"kernelTransform": IN(paddingUpper=[-1])}, pl.InvalidOption, "paddingUpper is [-1]"),
        (
            {"outputTransform": OUT(paddingLower=[-2])},
            pl.InvalidOption,
            "OutputTransform.paddingLow",
        ),
        (
            {"outputTransform": OUT([3], [1])},
            pl.TensorCreationError,
            "outputTransform truncates 4",
        ),
        ({"kernelTransform": IN([3])}, pl.TensorCreationError, "the kernel has size 0"),
        ({"numConvGroups": True}, pl.InvalidOption, "numConvGroups is True"),
    ],
)
def test_parameters_that_are_refused(
    changed: dict[str, Any], error: type[Exception], message: str
) -> None:
    params = replace(poplin.ConvParams(pl.FLOAT, 1, [5], [3], 2, 4, 1), **changed)
    with pytest.raises(error, match=re.escape(message)):
        params.getOutputFieldShape()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda g, t, c, p: poplin.convolution(g, t[0], t[1], c, hidden("false"), p),
            "is 'false', not Tr",
        ),
        (
            lambda g, t, c, p: poplin.convolution(g, t[0], t[1], c, True, p),
            "has shape (1, 4, 2, 3), but the parameters say (1, 2, 4, 3)",
        ),
        (
            lambda g, t, c, p: poplin.calculateWeightDeltas(g, t[2], t[2], c, p),
            "has shape (1, 4, 3), but the parameters say (1, 2, 5)",
        ),
        (
            lambda g, t, c, p: poplin.calculateWeightDeltas(
                *(g, t[2], t[0], replace(c, inputType=pl.HALF, outputType=pl.HALF), p)
            ),
            "is FLOAT, but the parameters say HALF",
        ),
        (
            lambda g, t, c, p: poplin.convolutionWeightUpdate(g, t[2], t[1], t[0], c, t[3], p),
            "convolutionWeightUpdate: scale 'biases' is float32[4]",
        ),
        (
            lambda g, t, c, p: poplin.convolutionBiasUpdate(g, t[2], t[2][0].T, 1.0, None, p),
            "has 4 channels",
        ),
        (
            lambda g, t, c, p: poplin.addBias(g, t[2], t[3][:1], p),
            "have shape (1,), but 'out' has 4 c",
        ),
        (lambda g, t, c, p: poplin.addBias(g, t[2], t[3].reshape((4, 1)), p), "biases of shape (4"),
    ],
)
def test_operands_that_parameters_do_not_describe(call: Any, message: str) -> None:
    params = poplin.ConvParams(pl.FLOAT, 1, [5], [3], 2, 4, 1)
    graph, prog = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    shapes = {"in": (1, 2, 5), "weights": (1, 4, 2, 3), "out": (1, 4, 3), "biases": (4,)}
    tensors = [
        graph.add_variable(pl.FLOAT, shape, name, mapping="linear")
        for name, shape in shapes.items()
    ]
    with pytest.raises(pl.PopliteError, match=re.escape(message)):
        call(graph, tensors, params, prog)
    assert prog.num_steps == 0


def test_groups_and_channels() -> None:
    params = poplin.ConvParams(pl.HALF, 2, [4, 3], [2, 1], 3, 5, 2)
    graph, prog = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    a, b = poplin.createInput(graph, params), poplin.createWeights(graph, params)
    assert (a.shape, b.shape) == ((2, 6, 4, 3), (2, 5, 3, 2, 1))
    options = {"availableMemoryProportion": "0.3", "partialsType": "half"}
    made = poplin.convolution(graph, a, b, params, False, prog, "conv", options)
    assert made.shape == (2, 10, *params.getOutputFieldShape()) == (2, 10, 3, 3)
    with pytest.raises(pl.InvalidOption, match="availableMemoryProportion"):
        poplin.convolution(graph, a, b, params, False, prog, "", {"availableMemory": "1"})
    none: Any = {"availableMemoryProportion": None}
    with pytest.raises(pl.InvalidOption, match="availableMemoryProportion is None"):
        poplin.convolution(graph, a, b, params, False, prog, "", none)
    with pytest.raises(
        pl.TensorCreationError, match=r"has shape \(2, 5, 3, 2, 1\), but the .* say"
    ):
        poplin.convolution(graph, b, b, params, False, prog)
    other = graph.add_variable(pl.FLOAT, a.shape, "a", mapping="linear")
    wrong = poplin.InputTransform(dilation=[2])
    with pytest.raises(pl.ElementTypeError, match="'a' is FLOAT, but the parameters say HALF"):
        poplin.convolution(graph, other, b, params, False, prog)
    with pytest.raises(pl.TensorCreationError, match=r"InputTransform.dilation is \[2\]"):
        poplin.createInput(graph, poplin.ConvParams(pl.HALF, 2, [4, 3], [2, 1], 3, 5, 2, wrong))


def test_a_step_of_training() -> None:
    params = poplin.ConvParams(pl.FLOAT, 2, [4], [3], 2, 1, 2)
    graph, prog = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    a, b = poplin.createInput(graph, params), poplin.createWeights(graph, params)
    out = poplin.createConvOutput(graph, params)
    biases = poplin.createBiases(graph, out)
    turned = graph.add_variable(pl.FLOAT, (2, 2, 1, 3), "turned", mapping="linear")
    poplin.convolutionWithOutput(graph, a, b, out, params, False, prog)
    poplin.addBias(graph, out, biases, prog)
    poplin.weightsTransposeChansFlipXY(graph, b, turned, prog)
    scale = graph.add_constant(pl.FLOAT, (1,), -0.5, mapping=0)
    poplin.convolutionWeightUpdate(graph, out, b, a, params, scale, prog)
    poplin.convolutionBiasUpdate(graph, out, biases, 2.0, None, prog)
    engine = pl.Engine(graph, prog, interpret=True, options=values_only())
    rng = np.random.default_rng(3)
    x, w = rng.integers(-3, 4, a.shape), rng.integers(-3, 4, b.shape)
    for tensor, values in ((a, x), (b, w), (biases, [1, 2])):
        engine.write(tensor, values)
    engine.run()
    seen = np.lib.stride_tricks.sliding_window_view(x.reshape(2, 2, 2, 4), 3, 3)
    y = np.einsum("bgcpt,goct->bgop", seen, w) + np.array([1, 2])[:, None, None]
    assert np.array_equal(engine.read(out), y.reshape(out.shape))
    assert np.array_equal(engine.read(turned), w.swapaxes(1, 2)[..., ::-1])
    assert np.array_equal(engine.read(b), w - 0.5 * np.einsum("bgop,bgcpt->goct", y, seen))
    assert np.array_equal(engine.read(biases), [1, 2] + 2 * y.sum((0, 2, 3)))
    with pytest.raises(pl.InvalidOption, match="no option 'fast'"):
        poplin.createBiases(graph, out, "", {"fast": "true"})
    with pytest.raises(pl.TensorCreationError, match="batch, channels"):
        poplin.createBiases(graph, biases)


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        (popnn.PoolingType.MAX, [2, 4, 5]),
        (popnn.PoolingType.SUM, [3, 7, 5]),
        (popnn.PoolingType.AVG, [1.5, 3.5, 5]),
    ],
)
def test_pool(how: popnn.PoolingType, expected: list[float]) -> None:
    graph, prog = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    values = np.array([[[1, 2, 3, 4, 5]]], np.float32)
    x = graph.add_variable(pl.FLOAT, (1, 1, 5), "x", mapping="linear", initial_value=values)
    params = popnn.PoolParams(how, [5], [2], [2], [0], [1], 1, 1, pl.FLOAT)
    made = popnn.pool(graph, params, x, prog, "pool", {"optimizeForSpeed": "true"})
    engine = pl.Engine(graph, prog, interpret=True, options=values_only())
    engine.run()
    assert engine.read(made).tolist() == [[expected]]
    assert list(made.shape[2:]) == params.getOutputFieldShape()
    with pytest.raises(pl.InvalidOption, match="no option 'fast'"):
        popnn.pool(graph, params, x, prog, "pool", {"fast": "true"})
    with pytest.raises(pl.TensorCreationError, match="the parameters say"):
        popnn.pool(graph, params, x[:, :, 1:], prog)
