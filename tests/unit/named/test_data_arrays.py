"""Results of computations as arrays of xarray."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import poplite.named as ng
from poplite.errors import AxisLengthError, ControlProgramError

H, W = ng.make_axis(2, "H"), ng.make_axis(3, "W")
VALUES = np.arange(6, dtype=np.float32).reshape(2, 3)


def computation(results: Any, *params: Any) -> ng.Computation:
    return ng.make_transformer(tiles=2, checks="fast").computation(results, *params, name="made")


def test_dimensions_have_the_names_of_axes() -> None:
    xarray = pytest.importorskip("xarray", reason="it needs the extra xarray")
    x = ng.placeholder([H, W], name="x")
    made = computation({"x": x, "sum": ng.sum(x, [H])}, x)
    found = made(VALUES)
    arrays = made.to_xarray(found)
    assert [*arrays] == ["x", "sum"]
    assert all(isinstance(each, xarray.DataArray) for each in arrays.values())
    assert (arrays["x"].dims, arrays["x"].name, arrays["sum"].dims) == (("H", "W"), "x", ("W",))
    assert dict(arrays["x"].coords) == {}
    np.testing.assert_array_equal(arrays["x"].values, VALUES)
    np.testing.assert_array_equal(arrays["x"].sum("H"), arrays["sum"])
    # Its dimensions are read back by name, in any order.
    np.testing.assert_array_equal(made(arrays["x"].transpose())["x"], VALUES)


def test_the_structure_is_that_of_the_results() -> None:
    pytest.importorskip("xarray", reason="it needs the extra xarray")
    w = ng.variable([W], 1, name="w")
    one = computation(w + 1)
    assert one.to_xarray(one()).dims == ("W",)
    update = ng.sequential([ng.assign(w, w + 1), w])
    several = computation([ng.assign(w, 2), update, ng.sum(w, ...)])
    nothing, after, total = several.to_xarray(several())
    assert nothing is None
    assert (after.dims, after.values.tolist(), total.dims, float(total)) == (("W",), [3] * 3, (), 9)
    empty = computation(None)
    assert empty.to_xarray(empty()) is None


def test_other_arrays_are_refused() -> None:
    pytest.importorskip("xarray", reason="it needs the extra xarray")
    x = ng.placeholder([H, W], name="x")
    made = computation(x * 2, x)
    wrongs: tuple[Any, ...] = np.ones(3), None, (VALUES, VALUES), {}
    for wrong in wrongs:
        with pytest.raises(AxisLengthError, match=r"^made\.to_xarray: .* is not a result of this"):
            made.to_xarray(wrong)


def test_without_xarray_the_message_has_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xarray", None)
    made = computation(ng.variable([W], 1, name="w"))
    with pytest.raises(ControlProgramError, match="xarray is not installed") as error:
        made.to_xarray(made())
    assert error.value.fix == "pip install 'poplite[xarray]'"
