"""Floating-point numbers of the machine: modes of arithmetic, and conversion for the host.

    FloatingPointBehaviour(inv=True, div0=True, oflo=True, esr=False, nanoo=True)

A tile stores this behaviour as a mode, a number made of these bits::

    INVALID  DIVIDE_BY_ZERO  OVERFLOW     stop the program
    STOCHASTIC                            stores round up or down at random
    OVERFLOW_NAN, OVERFLOW_MAX            result for a value that is too large, else an infinity

HALF and QUARTER are converted at the boundary to the host::

    copy_float_to_device_half(target, values, bits)       float32 to bits of HALF, as uint16
    copy_device_half_to_float(target, bits, values)       and back
    convert_to_quarter(values, metadata)                  float32 to codes of QUARTER
    convert_from_quarter(codes, metadata)                 and back

`engine.write` and `read` convert automatically; these functions are for stream buffers.

Sources: poplibs, include/popsys/CSRFunctions.hpp, for modes; Poplar API reference,
"copyFloatToDeviceHalf" and others, for the names for HALF. The names for QUARTER are our own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import astuple, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from poplite.errors import (
    ControlProgramError,
    ElementTypeError,
    TensorCreationError,
    TensorMetadataError,
    checked_truth,
)
from poplite.frozen import frozen
from poplite.text import clipped, integer_or_none, of_type
from poplite.types import SCALES, QuarterFormat, QuarterMetadata, decode, encode, unmasked
from poplite.walks import top_down

if TYPE_CHECKING:
    import numpy.typing as npt

    from poplite.machine.target import Target

    Array = npt.NDArray[Any]

INVALID, DIVIDE_BY_ZERO, OVERFLOW, STOCHASTIC, OVERFLOW_NAN, OVERFLOW_MAX = (
    1 << bit for bit in range(6)
)

TRAPS = INVALID | DIVIDE_BY_ZERO | OVERFLOW
"""The bits that stop a program."""

STORES = STOCHASTIC | OVERFLOW_NAN | OVERFLOW_MAX
"""The bits that change the values stored in HALF and QUARTER elements."""


@frozen
class FloatingPointBehaviour:
    """The behaviour of floating-point arithmetic.

    Args:
        inv: an invalid operation stops the program: one whose result is NaN, one with NaN as an
            operand, a comparison with NaN, or a conversion to int that does not fit.
        div0: division of a number by zero, or the logarithm of zero, stops the program.
        oflo: a result that is too large for its type stops the program.
        esr: values stored as HALF or QUARTER are rounded up or down at random, so that they are
            correct on average; otherwise they are rounded to nearest.
        nanoo: a value too large for HALF or QUARTER is stored as NaN, which is also an invalid
            operation; otherwise as the largest number.

    Raises:
        ControlProgramError: when an argument is not True or False.

    >>> FloatingPointBehaviour(esr=False)
    FloatingPointBehaviour(inv=True, div0=True, oflo=True, esr=False, nanoo=True)
    """

    inv: bool = True
    div0: bool = True
    oflo: bool = True
    esr: bool = True
    nanoo: bool = True

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, bool):
                raise ControlProgramError(
                    f"FloatingPointBehaviour: {field.name}={clipped(value, 60)} "
                    "is not True or False",
                    fix=f"FloatingPointBehaviour({field.name}=True)",
                )

    @property
    def bits(self) -> int:
        """The mode for this behaviour."""
        return sum(1 << bit for bit, chosen in enumerate(astuple(self)) if chosen)


def reachable(initial: int, steps: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    """Return the modes that a program may be in: the initial one, then the others, ascending.

    Each step clears some bits and then sets others; steps may run in any order, any number of
    times.

    >>> reachable(0, [(STORES, STOCHASTIC), (STOCHASTIC, 0)])
    (0, 8)
    """
    changes = dict.fromkeys(steps)
    found = top_down([initial], lambda mode: [mode & ~clear | set_ for clear, set_ in changes])
    return initial, *sorted({*found} - {initial})


# -- conversion at the boundary to the host --------------------------------------------------------


def copy_float_to_device_half(
    target: Target, source: npt.ArrayLike, destination: Array, n: int | None = None
) -> None:
    """Round numbers to HALF, to nearest and ties to even, and store their bits.

    Args:
        target: the machine; all machines store HALF in the same way.
        source: numbers; an array has type float32 or float64.
        destination: C-contiguous array of float16, or of uint16 for the bits.
        n: number of elements; by default all elements of the source.

    Raises:
        TensorCreationError: when an array is too short, has a wrong type or is not C-contiguous, or
            the destination is read-only.
        ElementTypeError: for a destination that is not an array, or an `n` that is not a whole
            number.

    >>> import poplite as pl
    >>> bits = np.zeros(2, np.uint16)
    >>> pl.copy_float_to_device_half(pl.Target(), np.float32([1, -2]), bits)
    >>> [hex(each) for each in bits.tolist()]
    ['0x3c00', '0xc000']
    """
    call = "copy_float_to_device_half"
    given = source if isinstance(source, np.ndarray) else _floats(source, call)
    values, bits = _flat(given, _FLOATS, call, "source"), _written(destination, _HALVES, call)
    count = _count(values, bits, n, call)
    with np.errstate(over="ignore"):
        halves = values[:count].astype(np.float16)
    bits[:count] = halves.view(bits.dtype)


def copy_device_half_to_float(
    target: Target, source: Array, destination: Array, n: int | None = None
) -> None:
    """Store the values of HALF elements as float32 or float64.

    Args:
        target: the machine; all machines store HALF in the same way.
        source: C-contiguous array of float16, or of uint16 for the bits.
        destination: C-contiguous array of float32 or float64.
        n: number of elements; by default all elements of the source.

    Raises:
        TensorCreationError: when an array is too short, has a wrong type or is not C-contiguous, or
            the destination is read-only.
        ElementTypeError: for anything but arrays, or an `n` that is not a whole number.

    >>> import poplite as pl
    >>> values = np.zeros(1, np.float32)
    >>> pl.copy_device_half_to_float(pl.Target(), np.uint16([0x3C00]), values)
    >>> values.tolist()
    [1.0]
    """
    call = "copy_device_half_to_float"
    bits, values = _flat(source, _HALVES, call, "source"), _written(destination, _FLOATS, call)
    count = _count(bits, values, n, call)
    values[:count] = bits[:count].view(np.float16)


def convert_to_quarter(
    values: npt.ArrayLike, metadata: QuarterMetadata, saturate: bool = False
) -> npt.NDArray[np.uint8]:
    """Return the codes of numbers, rounded to nearest, ties to even.

    Args:
        values: numbers.
        metadata: format and scale.
        saturate: whether values that are too large become the largest number instead of NaN.

    Raises:
        ElementTypeError: for anything but numbers.
        TensorMetadataError: for anything but the metadata of QUARTER.

    >>> import poplite as pl
    >>> metadata = pl.QuarterMetadata("F143")
    >>> codes = pl.convert_to_quarter([1.0, 1e6], metadata, saturate=True)
    >>> pl.convert_from_quarter(codes, metadata).tolist()
    [1.0, 240.0]
    """
    call = "convert_to_quarter"
    _check_metadata(metadata, call)
    numbers = _real(values, call).astype(np.float64)
    if checked_truth(saturate, f"{call}: saturate"):
        numbers = np.clip(numbers, -metadata.largest, metadata.largest)
    return encode(numbers, metadata)


def quarter_metadata_for(
    values: npt.ArrayLike, format: QuarterFormat | str = QuarterFormat.F143
) -> QuarterMetadata:
    """Return the metadata with the smallest scale that can represent the largest of the numbers.

    Args:
        values: numbers; infinities and NaN are ignored.
        format: format of the codes.

    Raises:
        ElementTypeError: for anything but numbers.
        TensorMetadataError: when no scale is large enough.

    >>> quarter_metadata_for([3.0, -1000.0])
    QuarterMetadata('F143', scale=3)
    """
    numbers = np.abs(_real(values, "quarter_metadata_for").astype(np.float64)).reshape(-1)
    greatest = float(np.max(numbers, initial=0.0, where=np.isfinite(numbers)))
    plain = QuarterMetadata(format)
    if greatest == 0.0:
        return plain
    scale = math.ceil(math.log2(greatest / plain.largest))
    return QuarterMetadata(format, max(scale, SCALES[0]))


def convert_from_quarter(
    codes: npt.ArrayLike, metadata: QuarterMetadata
) -> npt.NDArray[np.float32]:
    """Return the numbers that QUARTER codes represent.

    Args:
        codes: whole numbers from 0 to 255.
        metadata: format and scale.

    Raises:
        ElementTypeError: for anything but such numbers.
        TensorMetadataError: for anything but the metadata of QUARTER.

    >>> import poplite as pl
    >>> metadata = pl.QuarterMetadata("F143", scale=3)
    >>> pl.convert_from_quarter([0x40], metadata).tolist()
    [8.0]
    """
    call = "convert_from_quarter"
    _check_metadata(metadata, call)
    numbers = _real(codes, call)
    numbers = numbers if numbers.size else numbers.astype(np.uint8)
    if numbers.dtype.kind not in "iu" or np.any((numbers < 0) | (numbers > 0xFF)):
        raise ElementTypeError(
            f"{call}: {clipped(codes, 60)} are not codes of QUARTER",
            found=f"an array of {numbers.dtype}",
            fix="pass whole numbers from 0 to 255, such as the result of convert_to_quarter",
        )
    return decode(numbers.astype(np.uint8), metadata)


def _check_metadata(metadata: object, call: str) -> None:
    """Refuse anything but QUARTER metadata."""
    if not isinstance(metadata, QuarterMetadata):
        raise TensorMetadataError(
            f"{call}: {clipped(metadata, 60)} is not a QuarterMetadata",
            found=of_type(metadata),
            fix='pl.QuarterMetadata("F143", scale=0)',
        )


def _real(values: npt.ArrayLike, call: str) -> Array:
    """Return real numbers as an array, or refuse anything else."""
    try:
        array = np.asarray(unmasked(values, call))
        found = f"an array of {array.dtype}"
    except ValueError:
        array, found = np.array(None), "rows of different lengths"
    if array.dtype.kind not in "biuf":
        raise ElementTypeError(
            f"{call}: {clipped(values, 60)} are not real numbers",
            found=found,
            fix=f"{call}([1.0, -2.0], ...)",
        )
    return array


_HALVES = (np.dtype(np.float16), np.dtype(np.uint16))
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def _floats(numbers: npt.ArrayLike, call: str) -> Array:
    """Return numbers as an array."""
    try:
        array = np.asarray(unmasked(numbers, call))
    except ValueError:  # rows of different lengths
        array = np.array(None)
    return array.astype(np.float64) if array.dtype.kind in "iu" else array


def _written(array: Array, types: tuple[np.dtype[Any], ...], call: str) -> Array:
    """Return a writable destination as one dimension."""
    flat = _flat(array, types, call, "destination")
    if not flat.flags.writeable:
        raise TensorCreationError(
            f"{call}: the destination is read-only", fix="pass a writable array"
        )
    return flat


def _flat(array: Any, types: tuple[np.dtype[Any], ...], call: str, role: str) -> Array:
    """Return a one-dimensional view of an array; refuse an array of any other type."""
    names = " or ".join(map(str, types))
    unmasked(array, f"{call}, {role}")
    if not isinstance(array, np.ndarray):
        raise ElementTypeError(
            f"{call}: {role} {clipped(array, 60)} is not an array",
            found=of_type(array),
            fix=f"pass an array of {names}",
        )
    if array.dtype not in types:
        halves = "HALF is float16, or uint16 for its bits" if types is _HALVES else ""
        raise TensorCreationError(
            f"{call}: {role} has type {array.dtype}, not {names}",
            found=halves,
            fix=f"array.astype(np.{types[0]})",
        )
    if not array.flags.c_contiguous:
        raise TensorCreationError(
            f"{call}: {role} is not C-contiguous",
            found=f"shape {array.shape}, strides {array.strides}",
            fix="np.ascontiguousarray(array)",
        )
    return array.reshape(-1)


def _count(source: Array, destination: Array, n: int | None, call: str) -> int:
    """Return the number of elements to convert, which both arrays must have."""
    count = source.size if n is None else integer_or_none(n)
    if count is None or count < 0:
        raise ElementTypeError(
            f"{call}: n is {clipped(n)}, not a non-negative whole number",
            fix=f"{call}(target, source, destination, {min(source.size, destination.size)})",
        )
    if count > source.size or count > destination.size:
        raise TensorCreationError(
            f"{call}: {count:,} elements, but the source has {source.size:,} and the destination "
            f"{destination.size:,}",
            fix=f"{call}(target, source, destination, {min(source.size, destination.size)})",
        )
    return count
