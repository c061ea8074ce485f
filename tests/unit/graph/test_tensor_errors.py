"""What a tensor refuses: the class, both numbers, the tensor, and the way out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

import poplite as pl
from poplite import (
    BOOL,
    FLOAT,
    INT,
    ElementTypeError,
    Graph,
    PopliteError,
    Tensor,
    TensorCreationError,
    TensorIndexError,
)

REFUSED: list[tuple[Callable[[Any], object], type[PopliteError], str]] = [
    # Python indexing
    (lambda t: t[4], TensorIndexError, r"index 4 in dimension 0 of size 4"),
    (lambda t: t[-5], TensorIndexError, r"index -5 in dimension 0 of size 4"),
    (lambda t: t[1, 6], TensorIndexError, r"index 6 in dimension 1 of size 6(.|\n)*-6 to 5"),
    (lambda t: t[0:0][0], TensorIndexError, r"index 0 in dimension 0 of size 0"),
    (lambda t: t[0, 0, 0], TensorIndexError, r"3 indices for a tensor of rank 2"),
    (lambda t: t[0][0][0][0], TensorIndexError, r"1 index for a tensor of rank 0"),
    (lambda t: t[..., 0, ...], TensorIndexError, r"'...' occurs 2 times"),
    (lambda t: t[[0, 1]], TensorIndexError, r"with list \[0, 1\](.|\n)*ops.embedding"),
    (lambda t: t[np.array([0, 1])], TensorIndexError, r"with ndarray array\(\[0, 1\]\)"),
    (lambda t: t[np.array(1)], TensorIndexError, r"with ndarray array\(1\)"),
    (lambda t: t[True], TensorIndexError, r"with bool True"),
    (lambda t: t[np.True_, 0], TensorIndexError, r"with bool"),
    (lambda t: t[1.0], TensorIndexError, r"with float 1.0"),
    (lambda t: t["x" * 99], TensorIndexError, r"with str 'x{36}\.\.\."),
    (lambda t: t[::0], TensorIndexError, r"begin None, end None, step 0"),
    (lambda t: t[1.5:], TensorIndexError, r"begin 1.5, end None, step None"),
    (lambda t: t[pl.Interval(1, 5)], TensorIndexError, r"slice \[1, 5\) in dimension 0 of size 4"),
    (lambda t: t[pl.Interval(1, 3), 0], TensorIndexError, r"indexed with Interval Interval\(beg"),
    # Poplar's selections
    (lambda t: t.slice(0, 5), TensorIndexError, r"slice \[0, 5\) in dimension 0 of size 4"),
    (lambda t: t.slice(3, 2, 1), TensorIndexError, r"slice \[3, 2\) in dimension 1 of size 6"),
    (lambda t: t.slice(-1, 2), TensorIndexError, r"begin is -1, but the least is 0"),
    (lambda t: t.slice(0, 2, 2), TensorIndexError, r"dimension 2 of a tensor of rank 2"),
    (lambda t: t.slice(0, 2, -1), TensorIndexError, r"dim is -1, but the least is 0"),
    (lambda t: t.slice(0, 1.5), TensorIndexError, r"end is 1.5, not a whole number"),
    (lambda t: t.slice(True, 2), TensorIndexError, r"begin is True, not a whole number"),
    (lambda t: t.slice(1), TensorIndexError, r"end is None, not a whole number"),
    (lambda t: t.slice([0, 1]), TensorIndexError, r"\[0, 1\] is not an interval"),
    (lambda t: t.slice([0], [1, 2]), TensorIndexError, r"1 begin and 2 ends"),
    (lambda t: t.slice([0] * 3, [1] * 3), TensorIndexError, r"3 begins and 3 ends(.|\n)*most 2"),
    (lambda t: t.slice([0], [1], 1), TensorIndexError, r"1 begin and 1 end and dim=1"),
    (lambda t: t.slice([0, 0], [1, 7]), TensorIndexError, r"slice \[0, 7\) in dimension 1 of s"),
    (lambda t: t.slices([(0, 2), (3, 5)]), TensorIndexError, r"slice \[3, 5\) in dimension 0"),
    (lambda t: t.slices([0, 6], 1), TensorIndexError, r"index 6 in dimension 1 of size 6"),
    (lambda t: t.slices([[0, 2]]), TensorIndexError, r"0 is not an interval(.|\n)*pl.Interval"),
    (lambda t: t.slices(3), TensorIndexError, r"3 is not an interval"),
    (lambda t: t.index([1, 6]), TensorIndexError, r"index 6 in dimension 1 of size 6"),
    (lambda t: t.index([0, 0, 0]), TensorIndexError, r"3 indices for a tensor of rank 2"),
    (lambda t: t.index(1), TensorIndexError, r"indices is 1, not a list"),
    (lambda t: t.sub_sample(0, 0), TensorIndexError, r"stride 0, but the least is 1"),
    (lambda t: t.sub_sample(2, 5), TensorIndexError, r"dimension 5 of a tensor of rank 2"),
    (lambda t: t.dim(2), TensorIndexError, r"dimension 2 of a tensor of rank 2(.|\n)*dim 0 to 1"),
    (lambda t: t[0, 0].dim(0), TensorIndexError, r"dimension 0 of a tensor of rank 0"),
    # Reordering and reshaping
    (lambda t: t.reverse(2), TensorIndexError, r"dimension 2 of a tensor of rank 2"),
    (lambda t: t.dim_shuffle([0]), TensorCreationError, r"by \[0\] of a tensor of rank 2"),
    (lambda t: t.dim_shuffle([0, 0]), TensorCreationError, r"by \[0, 0\] of a tensor of rank 2"),
    (lambda t: t.dim_shuffle_partial([0], [0, 1]), TensorCreationError, r"\[0\] to \[0, 1\]"),
    (lambda t: t.dim_shuffle_partial([0, 0], [0, 1]), TensorCreationError, r"\[0, 0\] to \[0, 1"),
    (lambda t: t.dim_shuffle_partial([0, 1], [1, 1]), TensorCreationError, r"\[0, 1\] to \[1, 1"),
    (lambda t: t.dim_roll(2), TensorIndexError, r"dimension 2 of a tensor of rank 2"),
    (lambda t: t.dim_roll(0, 3), TensorIndexError, r"dimension 3 of a tensor of rank 2"),
    (lambda t: t[0].transpose(), TensorCreationError, r"of rank 1, but rank 2 is needed"),
    (lambda t: t.reshape((5, 5)), TensorCreationError, r"25 elements, but the tensor has 24"),
    (lambda t: t.reshape_partial(0, 1, [3, -1]), TensorCreationError, r"\(3, -1\): no size"),
    (lambda t: t.reshape((-1, -1)), TensorCreationError, r"\(-1, -1\): 2 sizes are -1, but"),
    (lambda t: t.reshape((4, 6.0)), TensorIndexError, r"shape\[1\] is 6.0, not a whole number"),
    (lambda t: t.reshape_partial(0, 1, [5]), TensorCreationError, r"5 elements, but 4 are rep"),
    (lambda t: t.reshape_partial(1, 1, [2]), TensorCreationError, r"2 elements, but 1 is repl"),
    (lambda t: t.reshape_partial(1, 3, [6]), TensorIndexError, r"\[1, 3\) of a tensor of rank 2"),
    (lambda t: t.flatten(2, 1), TensorIndexError, r"dimensions \[2, 1\) of a tensor of rank 2"),
    (lambda t: t.expand([3]), TensorIndexError, r"dimension 3 of a tensor of rank 2(.|\n)*0 to 2"),
    (lambda t: t.squeeze([1]), TensorIndexError, r"dimension 1 of size 6(.|\n)*t\[:, i\]"),
    (lambda t: t.squeeze([2]), TensorIndexError, r"dimension 2 of a tensor of rank 2"),
    (lambda t: t.broadcast(-1, 0), TensorIndexError, r"n is -1, but the least is 0"),
    (lambda t: t.broadcast(2, 2), TensorIndexError, r"dimension 2 of a tensor of rank 2"),
    (lambda t: t.upsample(-2, 0), TensorIndexError, r"scale is -2, but the least is 0"),
    (
        lambda t: t.upsample(2, 0, "cubic"),
        TensorCreationError,
        r"upsample: 'cubic' is not in Upsample",
    ),
    (lambda t: t.reinterpret(BOOL), ElementTypeError, r"FLOAT of 4 bytes as BOOL of 1"),
    # Several tensors
    (lambda t: pl.concat([]), TensorCreationError, r"concat of 0 tensors"),
    (lambda t: pl.concat([t, cast("Any", 3)]), ElementTypeError, r"concat: int is not a tensor"),
    (lambda t: pl.concat([t, t[0]]), TensorCreationError, r"tensor 1 has shape \(6,\), .*\(4, 6\)"),
    (lambda t: pl.concat([t, t, t[1:]], 1), TensorCreationError, r"tensor 2 has shape \(3, 6\)"),
    (lambda t: pl.concat([t, t.reinterpret(INT)]), ElementTypeError, r"1 is INT, tensor 0 is FLO"),
    (lambda t: pl.concat([t, t], 2), TensorIndexError, r"dimension 2 of a tensor of rank 2"),
    (lambda t: pl.concat([t[0, 0]]), TensorIndexError, r"dimension 0 of a tensor of rank 0"),
    (lambda t: pl.concat(t, Graph().add_variable(FLOAT, (4, 6))), TensorCreationError,
     r"tensor 1 belongs to another graph"),
    (lambda t: pl.append(t, t), TensorCreationError, r"rank 2 to one of rank 2(.|\n)*rank 1"),
    (lambda t: pl.append(t, t[:, 0]), TensorCreationError, r"shape \(1, 4\), tensor 0 has \(4, 6"),
    (lambda t: t[:0].slices([0, 1]), TensorIndexError, r"size 0  (.|\n)*  't' has shape \(0, 6\)"),
    (lambda t: t[4:].T.slices([(0, 7)]), TensorIndexError, r"size 6  (.|\n)*  't' has shape \(6"),
    (lambda t: t[2:2].slice(0, 1), TensorIndexError, r"size 0  (.|\n)*  't' has shape \(0, 6\)"),
    (lambda t: t[:, 3:3][0].slice(0, 1), TensorIndexError, r"  't' has shape \(0,\)"),
    (lambda t: pl.append(t, cast("Any", 1.0)), ElementTypeError, r"append: float is not a tensor"),
    (lambda t: t.intersects_with(3), ElementTypeError, r"intersects_with: int is not a tensor"),
    # What a tensor is not
    (bool, ElementTypeError, r"no truth value(.|\n)*engine.read\(t\)"),
    (np.asarray, ElementTypeError, r"not a NumPy array(.|\n)*engine.read\(t\)"),
    (lambda t: t @ t, TensorCreationError, r"shapes \(4, 6\)(.|\n)*ops.matmul\(t, t.T\)"),
    (round, ElementTypeError, r"round of a tensor(.|\n)*ops.round"),
    (lambda t: np.ones((4, 6)) + t, ElementTypeError, r"'\+': array(.|\n)*add_constant"),
    (lambda t: t + None, ElementTypeError, r"'\+': None is not a valid operand"),
    (lambda t: 1 in t, ElementTypeError, r"'in' a tensor"),
    (lambda t: t.__setitem__(0, 1), ElementTypeError, r"not set(.|\n)*set_initial_value"),
    (float, ElementTypeError, r"a tensor is not a float(.|\n)*ops.sqrt(.|\n)*engine.read\(t\)"),
    (int, ElementTypeError, r"a tensor is not an int"),
    (range, ElementTypeError, r"a tensor is not a whole number"),
    (lambda t: len(t[0, 0]), ElementTypeError, r"rank 0 has no length"),
    (lambda t: list(t[0, 0]), ElementTypeError, r"rank 0 has no length"),
]  # fmt: skip


@pytest.fixture
def t() -> Tensor:
    return Graph().add_variable(FLOAT, (4, 6), "t")


@pytest.mark.parametrize(("operation", "error", "message"), REFUSED)
def test_a_refusal_names_both_numbers(
    t: Tensor, operation: Callable[[Any], object], error: type[PopliteError], message: str
) -> None:
    with pytest.raises(error, match=message):
        operation(t)


def test_a_message_has_four_parts(t: Tensor) -> None:
    with pytest.raises(TensorIndexError) as caught:
        t.slice(2, 9, 1)
    first, found, fix = str(caught.value).splitlines()
    assert first.startswith("slice [2, 9) in dimension 1 of size 6  (")
    assert "test_tensor_errors.py:" in first
    assert found == "  't' has shape (4, 6)"
    assert fix == "  try: 0 <= begin <= end <= 6; t[begin:end] clamps instead"


def test_errors_are_also_the_built_in_that_fits(t: Tensor) -> None:
    with pytest.raises(IndexError, match="index 9"):
        t[9]
    with pytest.raises(ValueError, match="25 elements"):
        t.reshape((5, 5))
    with pytest.raises(TypeError, match="no truth value"):
        bool(t)


def test_numpy_operators_refuse_a_tensor(t: Tensor) -> None:
    with pytest.raises(
        ElementTypeError, match=r"(?s)^'-': array.*not a valid operand.*graph.add_constant"
    ):
        np.ones((4, 6)) - t
