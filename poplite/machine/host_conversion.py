"""Conversion between what the host computes with and what tiles store: HALF and QUARTER.

    copy_float_to_device_half(target, values, bits)       float32 to the bits of HALF, as uint16
    copy_device_half_to_float(target, bits, values)       and back
    convert_to_quarter(values, metadata)                  float32 to codes of QUARTER
    convert_from_quarter(codes, metadata)                 and back

`engine.write` and `read` convert by themselves; these are for buffers of streams.
Source of the names of HALF: Poplar API reference, "copyFloatToDeviceHalf" and others. Those of
QUARTER are ours.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from poplite.errors import TensorCreationError
from poplite.source import here
from poplite.types import SCALES, QuarterFormat, QuarterMetadata, decode, encode

if TYPE_CHECKING:
    import numpy.typing as npt

    from poplite.machine.target import Target

    Array = npt.NDArray[Any]


def copy_float_to_device_half(
    target: Target, source: npt.ArrayLike, destination: Array, n: int | None = None
) -> None:
    """Round numbers to HALF, to nearest and ties to even, and store their bits.

    Args:
        target: the machine; all store HALF alike.
        source: numbers, of float32 or float64.
        destination: array of float16, or of uint16 for the bits.
        n: how many; by default all of the source.

    Raises:
        TensorCreationError: when an array is too short, or the destination of another type.

    >>> import poplite as pl
    >>> bits = np.zeros(2, np.uint16)
    >>> pl.copy_float_to_device_half(pl.Target(), np.float32([1, -2]), bits)
    >>> [hex(each) for each in bits.tolist()]
    ['0x3c00', '0xc000']
    """
    values = np.asarray(source).reshape(-1)
    count = _count(values, destination, n, "copy_float_to_device_half")
    if destination.dtype not in (np.float16, np.uint16):
        raise _wrong_type("copy_float_to_device_half: destination", destination)
    with np.errstate(over="ignore"):
        halves = values[:count].astype(np.float16)
    destination.reshape(-1)[:count] = halves.view(destination.dtype)


def copy_device_half_to_float(
    target: Target, source: Array, destination: Array, n: int | None = None
) -> None:
    """Store the values of HALF elements as float32 or float64.

    Args:
        target: the machine; all store HALF alike.
        source: array of float16, or of uint16 for the bits.
        destination: array of float32 or float64.
        n: how many; by default all of the source.

    Raises:
        TensorCreationError: when an array is too short, or the source of another type.

    >>> import poplite as pl
    >>> values = np.zeros(1, np.float32)
    >>> pl.copy_device_half_to_float(pl.Target(), np.uint16([0x3C00]), values)
    >>> values.tolist()
    [1.0]
    """
    count = _count(source, destination, n, "copy_device_half_to_float")
    if source.dtype not in (np.float16, np.uint16):
        raise _wrong_type("copy_device_half_to_float: source", source)
    destination.reshape(-1)[:count] = source.reshape(-1)[:count].view(np.float16)


def convert_to_quarter(
    values: npt.ArrayLike, metadata: QuarterMetadata, saturate: bool = False
) -> npt.NDArray[np.uint8]:
    """Return the codes of numbers, rounded to nearest and ties to even.

    Args:
        values: numbers.
        metadata: format and scale.
        saturate: whether what is too large becomes the greatest number, and not NaN.

    >>> import poplite as pl
    >>> metadata = pl.QuarterMetadata("F143")
    >>> codes = pl.convert_to_quarter([1.0, 1e6], metadata, saturate=True)
    >>> pl.convert_from_quarter(codes, metadata).tolist()
    [1.0, 240.0]
    """
    numbers = np.asarray(values, np.float32)
    if saturate:
        numbers = np.clip(numbers, -metadata.largest, metadata.largest)
    return encode(numbers, metadata)


def quarter_metadata_for(
    values: npt.ArrayLike, format: QuarterFormat | str = QuarterFormat.F143
) -> QuarterMetadata:
    """Return the metadata with the least scale that holds the greatest of some numbers.

    Args:
        values: numbers; infinities and NaN do not count.
        format: of the codes.

    Raises:
        TensorMetadataError: when no scale is large enough.

    >>> quarter_metadata_for([3.0, -1000.0])
    QuarterMetadata('F143', scale=3)
    """
    numbers = np.abs(np.asarray(values, np.float64)).reshape(-1)
    greatest = float(np.max(numbers, initial=0.0, where=np.isfinite(numbers)))
    plain = QuarterMetadata(format)
    if greatest == 0.0:
        return plain
    scale = math.ceil(math.log2(greatest / plain.largest))
    return QuarterMetadata(format, max(scale, SCALES[0]))


def convert_from_quarter(
    codes: npt.ArrayLike, metadata: QuarterMetadata
) -> npt.NDArray[np.float32]:
    """Return the numbers that codes of QUARTER stand for.

    Args:
        codes: one byte each.
        metadata: format and scale.

    >>> import poplite as pl
    >>> metadata = pl.QuarterMetadata("F143", scale=3)
    >>> pl.convert_from_quarter([0x40], metadata).tolist()
    [8.0]
    """
    return decode(np.asarray(codes, np.uint8), metadata)


def _count(source: Array, destination: Array, n: int | None, call: str) -> int:
    """Return how many elements are converted; both arrays have as many."""
    count = source.size if n is None else n
    if count > source.size or count > destination.size:
        raise TensorCreationError(
            f"{call}: {count:,} elements, but the source has {source.size:,} and the destination "
            f"{destination.size:,}",
            at=here(),
            fix=f"{call}(target, source, destination, {min(source.size, destination.size)})",
        )
    return count


def _wrong_type(what: str, array: Array) -> TensorCreationError:
    return TensorCreationError(
        f"{what} is of {array.dtype}",
        at=here(),
        found="HALF is float16, or uint16 for its bits",
        fix="array.view(np.float16)",
    )
