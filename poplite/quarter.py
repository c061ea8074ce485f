"""QUARTER: 8-bit floats, whose format and scale stand beside them as metadata.

An element is a code of one sign bit and seven bits of exponent and mantissa; the metadata
of its tensor, one byte on the tile, says how to read it::

    value = decode(code, format) * 2**scale

    F143   4 exponent bits, 3 mantissa bits, bias 8     up to 240
    F152   5 exponent bits, 2 mantissa bits, bias 16    up to 57,344

Both have one zero, one NaN (code 0x80) and no infinities.  They are what ml_dtypes calls
`float8_e4m3fnuz` and `float8_e5m2fnuz`, and it does the conversions on the host: nearest,
ties to even, NaN for what is too large.

Sources: Noune et al., "8-bit Numerical Formats for Deep Neural Networks" (2022), for the
formats; Poplar API reference, "Quarter", for the metadata; how the byte is packed (format in
the top bit, scale in the low six) is ours.

    >>> metadata = QuarterMetadata(QuarterFormat.F143, scale=-2)
    >>> codes = encode(np.array([0.25, 60.0, 1000.0], np.float32), metadata)
    >>> codes, decode(codes, metadata)
    (array([ 64, 127, 128], dtype=uint8), array([ 0.25, 60.  ,   nan], dtype=float32))
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.errors import TensorMetadataError
from poplite.source import here

SCALES = range(-32, 32)
"""Scales that the metadata can hold."""

FORMAT_BIT = 0x80
"""Set in the metadata of F152."""

SCALE_BITS = 6

NAN_CODE = 0x80
"""The one NaN of both formats, where other formats have the negative zero."""


class QuarterFormat(Enum):
    """Sign, exponent and mantissa bits of a QUARTER element."""

    F143 = "F143"
    F152 = "F152"

    @property
    def mantissa_bits(self) -> int:
        """Bits of the mantissa."""
        return 3 if self is QuarterFormat.F143 else 2

    @property
    def bias(self) -> int:
        """What is subtracted from the exponent field."""
        return 8 if self is QuarterFormat.F143 else 16

    @property
    def largest(self) -> float:
        """The largest value at scale 0."""
        return 240.0 if self is QuarterFormat.F143 else 57344.0


@dataclass(frozen=True, slots=True)
class QuarterMetadata:
    """Format and scale of a QUARTER tensor.

    Args:
        format: `QuarterFormat.F143` or `F152`, or its name.
        scale: power of two that decoded values are multiplied by, from -32 to 31.

    Raises:
        TensorMetadataError: for another format or scale.

    >>> QuarterMetadata("F152", scale=3).to_byte()
    131
    """

    format: QuarterFormat
    scale: int = 0

    def __init__(self, format: QuarterFormat | str, scale: int = 0) -> None:
        if format not in [*QuarterFormat, *(known.name for known in QuarterFormat)]:
            raise TensorMetadataError(
                f"{format!r} is no format of QUARTER",
                at=here(),
                found="F143 has 4 exponent and 3 mantissa bits, F152 has 5 and 2",
                fix="QuarterMetadata('F143', scale=0)",
            )
        whole = isinstance(scale, int | np.integer) and not isinstance(scale, bool)
        if not whole or scale not in SCALES:
            raise TensorMetadataError(
                f"scale {scale!r} of QUARTER metadata is not a whole number from "
                f"{SCALES[0]} to {SCALES[-1]}",
                at=here(),
                fix="the scale is a power of two: scale=-3 multiplies by 1/8",
            )
        object.__setattr__(self, "format", QuarterFormat(format))
        object.__setattr__(self, "scale", int(scale))

    @property
    def largest(self) -> float:
        """The largest value that can be stored."""
        return self.format.largest * 2.0**self.scale

    def to_byte(self) -> int:
        """Return the byte that stands on the tile."""
        low = self.scale & ((1 << SCALE_BITS) - 1)
        return low | (FORMAT_BIT if self.format is QuarterFormat.F152 else 0)

    @classmethod
    def from_byte(cls, byte: int) -> QuarterMetadata:
        """Return what a byte on the tile means.

        Args:
            byte: from 0 to 255; the bit between format and scale counts for nothing.

        Raises:
            TensorMetadataError: for any other number.

        >>> QuarterMetadata.from_byte(131)
        QuarterMetadata('F152', scale=3)
        """
        if not 0 <= byte < 256:
            raise TensorMetadataError(
                f"{byte} is not the metadata of a QUARTER tensor",
                at=here(),
                found="format and scale are one byte, 0 to 255",
                fix="QuarterMetadata('F143', scale=0)",
            )
        low = byte & ((1 << SCALE_BITS) - 1)
        scale = low - (1 << SCALE_BITS) if low >> (SCALE_BITS - 1) else low
        return cls(QuarterFormat.F152 if byte & FORMAT_BIT else QuarterFormat.F143, scale)

    def __repr__(self) -> str:
        return f"QuarterMetadata({self.format.name!r}, scale={self.scale})"

    # C++ spelling

    getBinary = to_byte


def metadata_edge(field: str) -> str:
    """Return the name of the edge that brings the metadata of a QUARTER field to its vertex.

    Args:
        field: the field's name.

    >>> metadata_edge("x")
    'x.metadata'
    """
    return f"{field}.metadata"


def decode(codes: npt.NDArray[np.uint8], metadata: QuarterMetadata) -> npt.NDArray[np.float32]:
    """Return the values of codes; every one is exact.

    Args:
        codes: uint8, any shape.
        metadata: their format and scale.

    Returns:
        float32 of the same shape.
    """
    values = np.asarray(codes, np.uint8).view(_dtype(metadata.format)).astype(np.float32)
    return np.asarray(np.ldexp(values, metadata.scale), np.float32)


def encode(values: npt.NDArray[np.float32], metadata: QuarterMetadata) -> npt.NDArray[np.uint8]:
    """Return the codes nearest to values, ties to even; NaN for what is too large.

    Args:
        values: float32, any shape.
        metadata: format and scale to encode for.

    Returns:
        uint8 of the same shape.
    """
    with np.errstate(over="ignore", under="ignore"):
        scaled = np.ldexp(np.asarray(values, np.float32), -metadata.scale)
        return np.asarray(scaled.astype(_dtype(metadata.format)).view(np.uint8))


def _dtype(format: QuarterFormat) -> Any:
    import ml_dtypes  # at the host boundary only, and only where there are quarters

    if format is QuarterFormat.F143:
        return ml_dtypes.float8_e4m3fnuz
    return ml_dtypes.float8_e5m2fnuz
