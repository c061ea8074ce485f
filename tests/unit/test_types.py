"""Element types: what stands for one, and what does not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
from poplite.types import ELEMENT_TYPES, NUMPY_TYPES, ElementType, element_type


class Unrelated:
    """No element type, and to NumPy an object."""


@pytest.mark.parametrize("known", ELEMENT_TYPES)
def test_an_element_type_stands_for_itself(known: type[ElementType[object]]) -> None:
    assert element_type(known) is known
    assert known.size_bytes == np.zeros(1, known).nbytes


@pytest.mark.parametrize("known", NUMPY_TYPES)
def test_a_numpy_type_stands_for_its_element_type(known: type[ElementType[object]]) -> None:
    assert element_type(known.dtype) is known
    assert element_type(known.dtype.name) is known
    assert element_type(known.dtype.type) is known


def test_int8_means_signed_char() -> None:
    assert [t for t in ELEMENT_TYPES if t.dtype == np.int8] == [pl.SIGNED_CHAR, pl.CHAR]
    assert element_type(np.int8) is pl.SIGNED_CHAR
    assert element_type(np.uint8) is pl.UNSIGNED_CHAR


@pytest.mark.parametrize(
    ("like", "shown", "stored"),
    [
        (np.float64, "float64", "float64"),
        (float, "float", "float64"),
        (complex, "complex", "complex128"),
        (np.dtype(">f4"), "dtype('>f4')", ">f4"),
        ("U3", "'U3'", "<U3"),
    ],
)
def test_dtypes_that_no_element_type_stores(like: Any, shown: str, stored: str) -> None:
    message = f"^{re.escape(shown)} is not an element type  "
    with pytest.raises(pl.ElementTypeError, match=message) as caught:
        element_type(like)
    assert caught.value.found == f"NumPy's {stored}, which no element type stores"


@pytest.mark.parametrize(
    ("like", "shown"),
    [
        (None, "None"),
        (5, "5"),
        ("flaot", "'flaot'"),
        ("i4,,", "'i4,,'"),
        (("i4", "a"), "('i4', 'a')"),
        (object, "object"),
        (Unrelated, "Unrelated"),
        (ElementType, "ElementType"),
        (pl.Vector[pl.FLOAT], "Vector[FLOAT]"),
        (np.zeros(2), "array([0., 0.])"),
    ],
)
def test_what_is_no_dtype(like: Any, shown: str) -> None:
    with pytest.raises(
        pl.ElementTypeError, match=f"^{re.escape(shown)} is not an element"
    ) as caught:
        element_type(like)
    assert caught.value.found == ""
    assert caught.value.fix == (
        "one of FLOAT (float32), HALF (float16), SIGNED_CHAR (int8), UNSIGNED_CHAR (uint8), "
        "SHORT (int16), UNSIGNED_SHORT (uint16), INT (int32), UNSIGNED_INT (uint32), "
        "LONGLONG (int64), UNSIGNED_LONGLONG (uint64), BOOL (bool)"
    )


@pytest.mark.parametrize(("like", "near"), [("flaot16", "float16"), ("UNSIGNED", "UNSIGNED_INT")])
def test_names_that_are_nearly_those_of_element_types(like: str, near: str) -> None:
    with pytest.raises(pl.ElementTypeError) as caught:
        element_type(like)
    assert caught.value.what == f"'{like}' is not an element type (did you mean '{near}'?)"


@pytest.mark.parametrize("known", ELEMENT_TYPES)
def test_names_of_element_types_stand_for_them(known: Any) -> None:
    assert element_type(repr(known)) is known
    with pytest.raises(pl.ElementTypeError):
        element_type(repr(known).title())


def test_names_are_taken_wherever_element_types_are() -> None:
    x = pl.Graph().add_variable("FLOAT", (4,), "x")
    assert x.element_type is pl.FLOAT
    assert x.reinterpret("INT").element_type is pl.INT
    assert (x.astype("HALF").element_type, pl.ops.cast(x, "CHAR").element_type) == (
        *(pl.HALF, pl.CHAR),
    )


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("float32", "pl.FLOAT"),
        ("int32", "pl.INT"),
        ("uint8", "pl.UNSIGNED_CHAR"),
        ("float", "pl.FLOAT, of 32 bits"),
        ("float64", "pl.FLOAT: no tile stores floats of 64 bits"),
    ],
)
def test_names_of_other_libraries_lead_to_element_types(name: str, instead: str) -> None:
    with pytest.raises(pl.AbsentMember, match=f"poplite has no pl.{name}") as caught:
        getattr(pl, name)
    assert caught.value.fix == instead


def test_errors_name_the_line_that_asked() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    with pytest.raises(pl.ElementTypeError, match="float64 is not an element type") as caught:
        graph.add_variable(np.float64, (4,), "x")
    assert caught.value.at is not None
    assert Path(caught.value.at.file).name == "test_types.py"
    assert caught.value.at.function == "test_errors_name_the_line_that_asked"


@pytest.mark.parametrize("known", ELEMENT_TYPES)
@pytest.mark.parametrize(("args", "kwargs"), [((3,), {}), ((1, 2), {"copy": True})])
def test_element_types_are_not_called(
    known: Any, args: tuple[object, ...], kwargs: dict[str, object]
) -> None:
    message = rf"^{known!r} is an element type, not a function  \(.*test_types\.py:\d+ in test_ele"
    with pytest.raises(pl.ElementTypeError, match=message) as caught:
        known(*args, **kwargs)
    assert caught.value.fix.startswith(f"pass {known!r} itself, or use float(...) or int(...)")
