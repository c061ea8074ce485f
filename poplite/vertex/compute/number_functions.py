"""Functions of `compute` beyond Python's: `pl.fma`, the bits of floats.

`pl.fma` is a product and a sum with a single rounding, used only where a vertex calls it::
    total = self.a[k] * self.b[k] + total          rounded twice, always
    total = pl.fma(self.a[k], self.b[k], total)    rounded once, always

Nothing else is contracted, so the bits depend only on the text. A processor with an FMA instruction
uses it; others call a library function with the same bits. Codelets on an IPU have no such
instruction (docs/arithmetic.md).

Other functions convert floats to their bits and back::
    bits = pl.float_bits(self.x[i])                    0x3FC00000 for 1.5
    self.y[i] = pl.float_from_bits(bits & 0xFFFF0000)  x without its low 16 bits

`pl.half_bits` and `pl.half_from_bits` do the same for HALF. For integers, `pl.UNSIGNED_INT(i)`
reinterprets an INT as unsigned, and `pl.INT(n)` converts back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.errors import ElementTypeError, TensorCreationError
from poplite.vertex.compute import arithmetic, lanes
from poplite.vertex.compute.arithmetic import Kind
from poplite.vertex.compute.lanes import no_number, number_of
from poplite.vertex.compute.mathematics import fused

# -- bits of floats --------------------------------------------------------------------------------


def float_bits(x: Any) -> Any:
    """Return the 32 bits of a number as FLOAT, an int from 0 to 2**32 - 1.

    The number is first rounded to float32. All NaNs have the bits 0x7FC00000, in every form.
    Outside of `compute`, arrays are also accepted, for a reference in NumPy.

    Args:
        x: a number, or outside of `compute` an array of numbers.

    Raises:
        ElementTypeError: for anything but a number or an array of numbers.
        SizeOverflowError: for an int that does not fit in 64 bits.

    >>> hex(float_bits(1.5)), hex(float_bits(-0.0))
    ('0x3fc00000', '0x80000000')
    """
    return _each("float_bits", arithmetic.float_bits, x)


def half_bits(x: Any) -> Any:
    """Return the 16 bits of a number as HALF, an int from 0 to 2**16 - 1.

    The number is rounded to float32, then to half. All NaNs have the bits 0x7E00, in every form.
    Outside of `compute`, arrays are also accepted.

    Args:
        x: a number, or outside of `compute` an array of numbers.

    Raises:
        ElementTypeError: for anything but a number or an array of numbers.
        SizeOverflowError: for an int that does not fit in 64 bits.

    >>> hex(half_bits(1.5)), hex(half_bits(1e6))
    ('0x3e00', '0x7c00')
    """
    return _each("half_bits", arithmetic.half_bits, x)


def float_from_bits(bits: Any) -> Any:
    """Return the float32 with the lowest 32 bits of an int.

    Outside of `compute`, arrays are also accepted.

    Args:
        bits: an int from 0 to 2**32 - 1, or outside of `compute` an array of them.

    Raises:
        ElementTypeError: for anything but an int or an array of ints.
        SizeOverflowError: for an int that does not fit in 64 bits.

    >>> float_from_bits(0x3FC00000)
    np.float32(1.5)
    """
    return _each("float_from_bits", arithmetic.float_from_bits, bits, of_ints=True)


def half_from_bits(bits: Any) -> Any:
    """Return the half with the lowest 16 bits of an int, as a float32; all NaNs become the same.

    Outside of `compute`, arrays are also accepted.

    Args:
        bits: an int from 0 to 2**16 - 1, or outside of `compute` an array of them.

    Raises:
        ElementTypeError: for anything but an int or an array of ints.
        SizeOverflowError: for an int that does not fit in 64 bits.

    >>> half_from_bits(0x3E00)
    np.float32(1.5)
    """
    return _each("half_from_bits", arithmetic.half_from_bits, bits, of_ints=True)


BITS: tuple[Callable[[Any], Any], ...] = (float_bits, half_bits, float_from_bits, half_from_bits)
"""Functions of `compute` between floats and their bits."""


def _each(name: str, function: Callable[[Any], Any], value: Any, *, of_ints: bool = False) -> Any:
    """Apply a function of the arithmetic to a number, or to each element of an array."""
    asked = "pass an int or an array of ints" if of_ints else "pass a number or an array of numbers"
    with np.errstate(all="ignore"):
        if isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray):
            if value.dtype.kind not in ("biu" if of_ints else "biuf"):
                raise ElementTypeError(
                    f"pl.{name} does not take an array of {value.dtype}", fix=asked
                )
            made = [function(number_of(each)) for each in value.reshape(-1)]
            dtype = np.float32 if of_ints else np.uint32 if name == "float_bits" else np.uint16
            return np.array(made, dtype).reshape(value.shape)
        number = number_of(value)
        if number is None or (of_ints and isinstance(number, float | np.float32)):
            raise no_number(f"pl.{name}: value", value, asked)
        return function(number)


# -- a product and a sum ---------------------------------------------------------------------------


def fma(x: Any, y: Any, z: Any) -> Any:
    """Return `x * y + z`, rounded once: numbers, lanes of float32, or NumPy arrays.

    For numbers, the result is a float32 if one of them is, else a Python float; weak numbers are
    first rounded to float32. A lane missing in x or y is that of z; one missing in z is `x * y`.
    Arrays must be all float32 or all float64, and numbers combined with them are converted; so a
    reference in NumPy is bit-identical to a vertex. float16 counts as float32, as HALF does. In
    `compute`, numbers and lanes are accepted.

    Poplar: `ipu::fma`. Python 3.13: `math.fma`, which raises where this returns an infinity or NaN;
    in `compute` it means this function.

    Args:
        x: the first factor.
        y: the second factor.
        z: the term.

    Raises:
        ElementTypeError: for tensors and anything that is not a number; for arrays of other types,
            or combined with lanes; and for lanes that are not float32.
        SizeOverflowError: for an int that does not fit in 64 bits.
        TensorCreationError: for arrays that do not broadcast.

    >>> import numpy as np
    >>> third = np.float32(1) / np.float32(3)
    >>> fma(third, 3.0, -1.0), third * 3 - 1
    (np.float32(2.9802322e-08), np.float32(0.0))
    """
    values = [_taken(*each) for each in (("x", x), ("y", y), ("z", z))]
    if any(isinstance(each, lanes.Lanes) for each in values):
        values = [lanes.operand_of_lanes("pl.fma", each) for each in values]
        kind = lanes.together("pl.fma", *values)
        if kind is not Kind.F32:
            raise lanes.of_kind("pl.fma", kind, "use x * y + z, which is exact for ints")
        return lanes.fused(arithmetic.fma, *values)
    arrays = [each for each in values if isinstance(each, np.ndarray)]
    with np.errstate(all="ignore"):
        if not arrays:
            return arithmetic.fma(*values)
        kind = _kind_of(arrays)
        columns = [
            np.asarray(each if isinstance(each, np.ndarray) else arithmetic.cast(each, kind))
            for each in values
        ]
        return fused(*columns)


def _taken(name: str, value: Any) -> Any:
    """Return lanes, an array or a number of the arithmetic; reject other values."""
    if isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray):
        return value.astype(np.float32) if value.dtype == np.float16 else value
    number = value if isinstance(value, lanes.Lanes) else number_of(value)
    if number is None:
        raise no_number(
            f"pl.fma: {name}", value, "pass a number, lanes of float32, or a NumPy array"
        )
    return number


def _kind_of(arrays: list[npt.NDArray[Any]]) -> Kind:
    """Return the kind of numbers that arrays have, or reject them."""
    types = {each.dtype for each in arrays}
    if types not in ({np.dtype(np.float32)}, {np.dtype(np.float64)}):
        raise ElementTypeError(
            f"pl.fma does not take arrays of {' and '.join(sorted(map(str, types)))}",
            found="arrays must be all float32 or all float64; float16 counts as float32",
            fix="convert them with x.astype(np.float32)",
        )
    try:
        np.broadcast_shapes(*(each.shape for each in arrays))
    except ValueError:
        raise TensorCreationError(
            f"pl.fma: shapes {' and '.join(str(each.shape) for each in arrays)} do not match",
            found="they do not broadcast",
            fix="pass arrays of one shape",
        ) from None
    return Kind.F32 if types == {np.dtype(np.float32)} else Kind.FLOAT
