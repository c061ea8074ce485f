"""Bits of floats in `compute`: the integer that an element holds, and the number that bits mean.

    bits = pl.float_bits(self.x[i])                    0x3FC00000 for 1.5
    self.y[i] = pl.float_from_bits(bits & 0xFFFF0000)  x without its low 16 bits

`pl.half_bits` and `pl.half_from_bits` are those of HALF. Integers have their bits already:
`pl.UNSIGNED_INT(i)` is an INT without its sign, `pl.INT(n)` the way back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from poplite.errors import ElementTypeError
from poplite.vertex.compute import arithmetic
from poplite.vertex.compute.outside import no_number, number_of


def float_bits(x: Any) -> Any:
    """Return the 32 bits of a number as FLOAT, an int from 0 to 2**32 - 1.

    The number is rounded to float32 before. Each NaN has the bits 0x7FC00000, in every form.
    Outside of `compute` arrays are taken, too, for a reference in NumPy.

    Raises:
        ElementTypeError: for anything but a number or an array of numbers.
        SizeOverflowError: for an int that does not fit 64 bits.

    >>> hex(float_bits(1.5)), hex(float_bits(-0.0))
    ('0x3fc00000', '0x80000000')
    """
    return _each("float_bits", arithmetic.float_bits, x)


def half_bits(x: Any) -> Any:
    """Return the 16 bits of a number as HALF, an int from 0 to 2**16 - 1.

    The number is rounded to float32, then to half. Each NaN has the bits 0x7E00, in every form.
    Outside of `compute` arrays are taken, too.

    Raises:
        ElementTypeError: for anything but a number or an array of numbers.
        SizeOverflowError: for an int that does not fit 64 bits.

    >>> hex(half_bits(1.5)), hex(half_bits(1e6))
    ('0x3e00', '0x7c00')
    """
    return _each("half_bits", arithmetic.half_bits, x)


def float_from_bits(bits: Any) -> Any:
    """Return the float32 that the lowest 32 bits of an int mean.

    Outside of `compute` arrays are taken, too.

    Raises:
        ElementTypeError: for anything but an int or an array of ints.
        SizeOverflowError: for an int that does not fit 64 bits.

    >>> float_from_bits(0x3FC00000)
    np.float32(1.5)
    """
    return _each("float_from_bits", arithmetic.float_from_bits, bits, of_ints=True)


def half_from_bits(bits: Any) -> Any:
    """Return the half that the lowest 16 bits of an int mean, as a float32; one NaN for all.

    Outside of `compute` arrays are taken, too.

    Raises:
        ElementTypeError: for anything but an int or an array of ints.
        SizeOverflowError: for an int that does not fit 64 bits.

    >>> half_from_bits(0x3E00)
    np.float32(1.5)
    """
    return _each("half_from_bits", arithmetic.half_from_bits, bits, of_ints=True)


BITS: tuple[Callable[[Any], Any], ...] = (float_bits, half_bits, float_from_bits, half_from_bits)
"""Functions of `compute` between floats and their bits."""


def _each(name: str, function: Callable[[Any], Any], value: Any, *, of_ints: bool = False) -> Any:
    """Return a function of the arithmetic of a number, or of each one of an array."""
    asked = "an int, or an array of ints" if of_ints else "a number, or an array of numbers"
    with np.errstate(all="ignore"):
        if isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray):
            if value.dtype.kind not in ("biu" if of_ints else "biuf"):
                raise ElementTypeError(f"pl.{name} of an array of {value.dtype}", fix=asked)
            made = [function(number_of(each)) for each in value.reshape(-1)]
            dtype = np.float32 if of_ints else np.uint32 if name == "float_bits" else np.uint16
            return np.array(made, dtype).reshape(value.shape)
        number = number_of(value)
        if number is None or (of_ints and isinstance(number, float | np.float32)):
            raise no_number(f"pl.{name}: value", value, asked)
        return function(number)
