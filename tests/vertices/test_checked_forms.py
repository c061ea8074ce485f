"""Every faster form of the repository does what the `compute` of its class does, on drawn fields.

A class with a faster form that is not in `CHECKED` fails the first test, and so does a key without
one: nobody can forget to check a form.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import pytest

import poplite as pl
from helpers.depth import deep
from helpers.vertex_classes import Key
from poplite.testing import check_faster
from poplite.vertex.faster import faster_method
from poplite.vertices.amp import AmpMatMul

PRODUCT: Mapping[str, Any] = {"shapes": lambda n: {"a": (3, n), "b": (n, 65), "c": (3, 65)}}
"""Matrices that fit each other."""

BLOCKS: Mapping[str, Any] = {
    "shapes": lambda n: {"weights": 14 * 7, "x": 7 * max(1, n), "out": 14 * max(1, n)},
    "values": {"columns": [1, 7, 15, 16, 31, 32, 33, 63, 64, 65]},
}
"""Blocks row by row, of which some have as many columns as `columns` says."""

WINDOWS: Mapping[str, Any] = {
    "shapes": lambda n: {"weights": 5 * 17, "x": 40, "out": 14 * max(1, n), "taps": 3, "rows": 5},
    "values": {
        "taps": [0, 1, 2, 5],
        "rows": [0, 3, 4, 9],
        "columns": [1, 2, 7],
        "step": [1, 2],
        "outputs": [1, 3, 4, 7, 15, 16, 17],
        "inputs": [0, 1, 2, 3],
    },
}
"""Places of x, most of which are there."""

COLUMNS: Mapping[str, Any] = {
    "shapes": lambda n: ({"x": 65 * 8 + 7, "out": 65}, {"x": 27 * 7, "out": 27})[n % 2],
    "values": {"stride": [27, 65], "first": [0, 0, 5, 26, 64], "share": [5, 11]},
}
"""Columns of a matrix, or of a run of its elements."""

PARTIALS: Mapping[str, Any] = {"shapes": lambda n: {"partials": (3, n), "out": n}}
"""Partial results of some outputs."""

NON_ZEROS: Mapping[str, Any] = {
    "shapes": lambda n: dict(values=9, x=(4, 113), starts=4, places=9, shares=7, out=3 * 113),  # noqa: C408
    "values": {
        "starts": [0, 1, 3, 7, 9],
        "places": [0, 1, 2, 3],
        "shares": [0, 1, 2, 3],
        "columns": [1, 7, 15, 16, 33, 48, 63, 64, 65, 113],
    },
}
"""Rows of a sparse matrix, some empty, and what workers have of them."""

CHECKED: Mapping[Key, Mapping[str, Any]] = {
    ("benchmarks/engine_faster.py", "AddProduct"): PRODUCT,
    ("docs/vertices.md", "AddProduct"): PRODUCT,
    ("vertices/amp.py", "AmpMatMul"): BLOCKS,
    ("vertices/convolution.py", "AmpConvolution"): WINDOWS,
    ("vertices/reduce.py", "AddPartials"): PARTIALS,
    **{
        ("vertices/reduce.py", f"{how}ColumnsOfTile"): COLUMNS
        for how in ("All", "Any", "Max", "Min", "Product", "Sum")
    },
    ("vertices/sparse.py", "SparseRows"): NON_ZEROS,
}
"""The arguments of `check_faster` for each class, by file and name, beside those by default."""


def test_every_faster_form_is_checked(classes: dict[Key, type[pl.Vertex]]) -> None:
    with_form = [key for key, cls in classes.items() if faster_method(cls) is not None]
    assert sorted(with_form) == sorted(CHECKED)


OFTEN_RUN = {
    key for key in CHECKED if key[0][9:-3] in ("convolution", "reduce", "slices", "sparse")
}
"""Classes that many other tests compare with NumPy, and whose form takes long to draw for."""


def name_of(key: object) -> str | None:
    """Name a case by file and class."""
    return ":".join(key) if isinstance(key, tuple) else None


@pytest.mark.parametrize(
    "key",
    [pytest.param(k, marks=deep) if k in OFTEN_RUN else k for k in sorted(CHECKED)],
    ids=name_of,
)
def test_a_faster_form_does_what_compute_does(
    classes: dict[Key, type[pl.Vertex]], key: Key
) -> None:
    check_faster(classes[key], **CHECKED[key])


@deep
def test_so_does_one_for_registers_that_this_processor_has_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Others(AmpMatMul[pl.FLOAT]):
        """The same, of which no form is known."""

    module = import_module("poplite.vertex.compute.compiled")
    is_long = not module.has_long_registers()
    monkeypatch.setattr(module, "has_long_registers", lambda: is_long)
    form = module.faster_form(Others)
    assert (32 if is_long else 16) == form.vertex.LANES
    assert Others.LANES == 16
    check_faster(Others, **BLOCKS)


@deep
@pytest.mark.parametrize("key", sorted(CHECKED), ids=name_of)
def test_a_faster_form_does_so_for_any_shapes(
    classes: dict[Key, type[pl.Vertex]], key: Key
) -> None:
    check_faster(classes[key])
