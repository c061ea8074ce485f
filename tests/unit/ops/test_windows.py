"""Reductions of windows, against NumPy's sliding windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples, values_only
from helpers.running import both_forms
from poplite import ops
from poplite.ops.reductions.windows import neutral

Array = npt.NDArray[Any]

UFUNCS: dict[str, Any] = {
    "add": np.sum,
    "mul": np.prod,
    "min": np.min,
    "max": np.max,
}


def computed(
    values: Array, *window: Any, interpret: bool = True, of: Any = lambda x: x, **how: Any
) -> Array:
    graph = pl.Graph(pl.Target(tiles=5, workers=3))
    x = graph.add_variable(values.dtype, values.shape, "x", mapping="linear", initial_value=values)
    with graph.steps() as steps:
        result = ops.reduce_window(of(x), *window, **how)
    engine = pl.Engine(graph, steps, interpret=interpret, options=values_only())
    engine.run()
    return engine.read(result)


def expected(
    x: Array, window: list[int], op: str, stride: list[int], padding: list[tuple[int, int]]
) -> Array:
    """Return what NumPy makes of padded sliding windows."""
    element = _type(x)
    for dim, (before, after) in enumerate(padding):
        cut = slice(max(0, -before), x.shape[dim] - max(0, -after))
        x = x[(slice(None),) * dim + (cut,)]
        widths = [(0, 0)] * x.ndim
        widths[dim] = max(0, before), max(0, after)
        x = np.pad(x, widths, constant_values=neutral(op, element))
    shape = [max(0, (n - w) // s + 1) for n, w, s in zip(x.shape, window, stride, strict=True)]
    if 0 in shape:
        return np.zeros(shape, x.dtype)
    view = np.lib.stride_tricks.sliding_window_view(x, window)
    view = view[tuple(slice(None, None, step) for step in stride)]
    wide = view.astype(np.float32) if x.dtype == np.float16 else view
    axes = tuple(range(x.ndim, 2 * x.ndim))
    found: Array = UFUNCS[op](wide, axes, **({"dtype": wide.dtype} if op in ("add", "mul") else {}))
    return found.astype(x.dtype)


def _type(x: Array) -> Any:
    return {"f4": pl.FLOAT, "f2": pl.HALF, "i4": pl.INT, "u1": pl.UNSIGNED_CHAR}[x.dtype.str[1:]]


@st.composite
def drawn(draw: st.DrawFn) -> dict[str, Any]:
    rank = draw(st.integers(1, 3))

    def each(low: int, high: int) -> list[int]:
        return draw(st.lists(st.integers(low, high), min_size=rank, max_size=rank))

    shape = each(1, 12 if rank < 3 else 5)
    sides = draw(
        st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 3)), min_size=rank, max_size=rank)
    )
    return {"shape": shape, "window": each(1, 11), "stride": each(1, 3), "padding": sides}


@examples(60)
@given(
    drawn(),
    st.sampled_from([*UFUNCS]),
    st.sampled_from(["float32", "float16", "int32", "uint8"]),
    st.integers(0, 99),
)
def test_windows_are_those_of_numpy(case: dict[str, Any], op: str, dtype: str, seed: int) -> None:
    low, high = (1, 3) if op == "mul" else (0, 9)
    x = np.random.default_rng(seed).integers(low, high, case.pop("shape")).astype(dtype)
    with np.errstate(over="ignore"):
        wanted = expected(x, case["window"], op, case["stride"], case["padding"])
        window = case.pop("window")
        found = computed(x, window, op, **case)
    assert found.dtype == x.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-3 if dtype == "float16" else 1e-5)


@pytest.mark.parametrize("width", [8, 9, 63, 64, 65, 100])
def test_long_windows_are_made_of_shorter_ones(width: int) -> None:
    x = np.random.default_rng(width).integers(-9, 9, 130).astype(np.int32)
    for stride in (1, 3, width):
        found = computed(x, width, "add", stride=stride)
        assert found.tolist() == expected(x, [width], "add", [stride], [(0, 0)]).tolist()


@both_forms
def test_both_forms_have_equal_bits_and_nan_stays(interpret: bool) -> None:
    x = np.random.default_rng(0).normal(size=(6, 20)).astype(np.float32)
    x[2, 5] = np.nan
    found = computed(x, [1, 12], "add", interpret=interpret, of=lambda t: t * 2)
    assert found.tobytes() == computed(x * 2, (1, 12), "add").tobytes()
    most = computed(x, 2, "max", interpret=interpret, padding=1)
    np.testing.assert_array_equal(most, expected(x, [2, 2], "max", [1, 1], [(1, 1)] * 2))


X = pl.Graph(pl.Target(tiles=2)).add_variable(pl.FLOAT, (4, 6), "x", mapping=0)

REFUSED: dict[str, tuple[Callable[[Any], object], type[pl.PopliteError], str]] = {
    "op": (lambda p: ops.reduce_window(X, 2, "mean", program=p), pl.InvalidOption, "op is 'mean'"),
    "bool": (lambda p: ops.reduce_window(X > 0, 2, "max", program=p), pl.ElementTypeError, "BOOL"),
    "widths": (
        lambda p: ops.reduce_window(X, [2], "add", program=p),
        pl.TensorCreationError,
        r"window is \(2,\)",
    ),
    "width": (lambda p: ops.reduce_window(X, 0, "add", program=p), pl.SizeOverflowError, "window"),
    "stride": (
        lambda p: ops.reduce_window(X, 2, "add", stride=0, program=p),
        pl.InvalidOption,
        "stride is 0",
    ),
    "padding": (
        lambda p: ops.reduce_window(X, 2, "add", padding=[(-3, -2), 0], program=p),
        pl.TensorCreationError,
        r"\(-3, -2\) removes more than dimension 0 of 'x' has, 4",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_calls_that_do_not_fit_are_refused(case: str) -> None:
    call, error, text = REFUSED[case]
    program = pl.Sequence()
    with pytest.raises(error, match=text):
        call(program)
    assert program.is_empty
