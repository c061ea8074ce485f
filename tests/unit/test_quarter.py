"""QUARTER on the host: formats, the metadata byte, encoding and decoding."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from poplite.types import NAN_CODE, SCALES, QuarterFormat, QuarterMetadata, decode, encode

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
