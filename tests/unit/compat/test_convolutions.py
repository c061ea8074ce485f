"""poplin: parameters and meanings of PopLibs' convolutions."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples, values_only
from poplite.compat import poplin, popnn

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
        ([5, 3], [2, 4], poplin.InputTransform(), "dimension 1 of the field, the kernel has 4 pla"),
        ([5], [2], poplin.InputTransform([2], [3]), "the kernel has 2 places, the input 0"),
        ([5], [2], poplin.InputTransform([2], [4]), "inputTransform leaves out 6 of 5"),
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
    assert caught.value.fix == "from 1 to 3"
    assert "tests/unit/compat/test_convolutions.py" in str(caught.value)


def hidden(value: object) -> Any:
    """A value of a type that is refused."""
    return value


IN: Any = poplin.InputTransform
OUT: Any = poplin.OutputTransform


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"kernelTransform": IN(flip=["no"])}, pl.ElementTypeError, "flip is 'no', not true or f"),
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
            "outputTransform leaves out 4",
        ),
        ({"kernelTransform": IN([3])}, pl.TensorCreationError, "the kernel has 0 places"),
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
            "is 'false', not tr",
        ),
        (
            lambda g, t, c, p: poplin.convolution(g, t[0], t[1], c, True, p),
            "has shape (1, 4, 2, 3), the parameters say (1, 2, 4, 3)",
        ),
        (
            lambda g, t, c, p: poplin.calculateWeightDeltas(g, t[2], t[2], c, p),
            "has shape (1, 4, 3), the parameters say (1, 2, 5)",
        ),
        (
            lambda g, t, c, p: poplin.calculateWeightDeltas(
                *(g, t[2], t[0], replace(c, inputType=pl.HALF, outputType=pl.HALF), p)
            ),
            "is FLOAT, the parameters say HALF",
        ),
        (
            lambda g, t, c, p: poplin.convolutionWeightUpdate(g, t[2], t[1], t[0], c, t[3], p),
            "convolutionWeightUpdate: scale 'biases' is float32[4]",
        ),
        (
            lambda g, t, c, p: poplin.convolutionBiasUpdate(g, t[2], t[2][0].T, 1.0, None, p),
            "has 4 channels",
        ),
        (lambda g, t, c, p: poplin.addBias(g, t[2], t[3][:1], p), "have shape (1,), 'out' has 4 c"),
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
    with pytest.raises(pl.TensorCreationError, match=r"has shape \(2, 5, 3, 2, 1\), the .* say"):
        poplin.convolution(graph, b, b, params, False, prog)
    other = graph.add_variable(pl.FLOAT, a.shape, "a", mapping="linear")
    wrong = poplin.InputTransform(dilation=[2])
    with pytest.raises(pl.ElementTypeError, match="'a' is FLOAT, the parameters say HALF"):
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
