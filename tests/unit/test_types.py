"""Element types: what stands for one, and what does not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from poplite.types import (
    ELEMENT_TYPES,
    NAN_CODE,
    NUMPY_TYPES,
    SCALES,
    ElementType,
    QuarterFormat,
    QuarterMetadata,
    decode,
    element_type,
    encode,
)


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
        ("float", "pl.FLOAT, with 32 bits"),
        ("float64", "pl.FLOAT, since tiles cannot store 64-bit floats"),
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


# -- QUARTER on the host ---------------------------------------------------------------------------


CODES = np.arange(256, dtype=np.uint8)
TWINS = {
    QuarterFormat.F143: ml_dtypes.float8_e4m3fnuz,
    QuarterFormat.F152: ml_dtypes.float8_e5m2fnuz,
}

metadata = st.builds(QuarterMetadata, st.sampled_from(QuarterFormat), st.sampled_from(SCALES))


@given(metadata=metadata)
def test_the_byte_is_taken_back(metadata: QuarterMetadata) -> None:
    byte = metadata.to_byte()
    assert 0 <= byte < 256
    assert QuarterMetadata.from_byte(byte) == metadata
    assert repr(metadata) == f"QuarterMetadata('{metadata.format.name}', scale={metadata.scale})"


@given(metadata=metadata)
def test_codes_are_values_times_a_power_of_two(metadata: QuarterMetadata) -> None:
    exact = CODES.view(TWINS[metadata.format]).astype(np.float64) * 2.0**metadata.scale
    found = decode(CODES, metadata)
    assert found.dtype == np.float32
    assert np.array_equal(found, exact, equal_nan=True)
    assert np.nanmax(found) == metadata.largest
    assert np.isnan(found).nonzero()[0].tolist() == [NAN_CODE]


@given(metadata=metadata)
def test_every_value_is_encoded_as_its_code(metadata: QuarterMetadata) -> None:
    assert encode(decode(CODES, metadata), metadata).tolist() == CODES.tolist()


@given(metadata=metadata, value=st.floats(-1, 1, width=32))
def test_the_nearest_code_is_taken(metadata: QuarterMetadata, value: float) -> None:
    exact = np.float32(value * metadata.largest)
    values = np.sort(decode(CODES, metadata)[~np.isnan(decode(CODES, metadata))])
    found = decode(encode(np.array([exact]), metadata), metadata)[0]
    assert abs(float(found) - float(exact)) == np.abs(values - np.float64(exact)).min()


def test_halves_go_to_the_even_code() -> None:
    plain = QuarterMetadata("F143")
    between = np.array([17.0, 19.0, 232.0, 248.0], np.float32)
    assert decode(encode(between, plain), plain).tolist()[:3] == [16.0, 20.0, 224.0]
    assert encode(between, plain)[3] == NAN_CODE  # 240 is the largest, 256 would be even


@given(metadata=metadata, code=st.integers(0, 125), bits=st.integers(30, 45))
def test_doubles_are_rounded_once(metadata: QuarterMetadata, code: int, bits: int) -> None:
    """By way of float32 all three would be halfway between two codes."""
    low, high = decode(np.array([code, code + 1], np.uint8), metadata).astype(float)
    halfway = (low + high) / 2
    more = np.array([halfway * (1 - 2.0**-bits), halfway, halfway * (1 + 2.0**-bits)])
    expected = [code, code + code % 2, code + 1]
    assert encode(more, metadata).tolist() == expected
    assert pl.convert_to_quarter(more, metadata).tolist() == expected
    signs = [0x80 if each else 0 for each in expected]
    assert encode(-more, metadata).tolist() == [c | s for c, s in zip(expected, signs, strict=True)]


def test_what_the_host_writes_is_rounded_once() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    plain, halfway = QuarterMetadata("F143"), 1 + 2**-4
    above = halfway * (1 + 2**-40)
    q = graph.add_variable(pl.QUARTER, (2,), "q", mapping=0, metadata=plain, initial_value=above)
    engine = pl.Engine(graph, pl.Copy(q[:1], q[1:]))
    assert engine.read(q).tolist() == [1.125, 1.125]
    engine.write(q, [above, halfway])
    assert engine.read(q).tolist() == [1.125, 1]
    with pytest.raises(pl.SizeOverflowError, match=r"1e\+300 does not fit QUARTER"):
        engine.write(q, 1e300)


def test_what_no_code_stands_for() -> None:
    plain = QuarterMetadata("F152")
    lost = np.array([np.inf, -np.inf, np.nan, 1e30], np.float32)
    assert encode(lost, plain).tolist() == [NAN_CODE] * 4
    assert encode(np.array([-0.0], np.float32), plain).tolist() == [0]


def test_other_formats_and_scales_are_refused() -> None:
    with pytest.raises(pl.TensorMetadataError, match=r"'F134' is not in QuarterFormat"):
        QuarterMetadata("F134")
    for scale in (32, -33):
        message = f"scale {scale} of QUARTER metadata is not a whole number from -32 to 31"
        with pytest.raises(pl.TensorMetadataError, match=message):
            QuarterMetadata("F143", scale)
    with pytest.raises(pl.TensorMetadataError, match=r"scale 0\.5 of QUARTER"):
        QuarterMetadata("F143", 0.5)  # type: ignore[arg-type]
    with pytest.raises(pl.TensorMetadataError, match="scale True of QUARTER"):
        QuarterMetadata("F143", True)
    with pytest.raises(pl.TensorMetadataError, match="^1000 is not the metadata of a QUARTER"):
        QuarterMetadata.from_byte(1000)
