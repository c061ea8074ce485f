"""Conversion of host values to elements, with checks.

Initial values, constants, state fields and host writes follow one rule: NumPy's `same_kind`,
with an error where NumPy would wrap around::

    bool  ->  integer  ->  float      allowed, from left to right and within a kind
    float ->  integer                 refused, since it would round
    300   ->  a type that ends at 255 refused, since it would wrap around

    >>> from poplite.types import INT
    >>> element_array(INT, [1, 2], what="'a'")
    array([1, 2], dtype=int32)

Values that exceed the total memory of all tiles are refused before the host allocates them.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from poplite.errors import (
    ElementTypeError,
    GraphMemoryAllocationError,
    PopliteError,
    SizeOverflowError,
    TensorMetadataError,
)
from poplite.text import amount, clipped, shape_text
from poplite.types import (
    ELEMENT_TYPES,
    FLOAT,
    NAN_CODE,
    QUARTER,
    QUARTER_METADATA,
    ElementType,
    QuarterMetadata,
    as_double,
    encode,
    unmasked,
)

if TYPE_CHECKING:
    from poplite.graph.space import Space


ElementClass = type[ElementType[Any]]
Number = bool | int | float | np.generic

_KIND_ORDER = {"b": 0, "u": 1, "i": 1, "f": 2}

_CODES = {"f2": "<e", "f4": "<f", "i1": "<b", "i2": "<h", "i4": "<i", "i8": "<q"} | {
    "u1": "<B",
    "u2": "<H",
    "u4": "<I",
    "u8": "<Q",
}
"""Format codes of `struct`, of standard sizes, so that packing checks the range."""

_PACKED: Mapping[tuple[type, ElementClass], struct.Struct] = {
    (float if element.is_floating_point else int, element): struct.Struct(
        _CODES[element.dtype.str[1:]]
    )
    for element in ELEMENT_TYPES
    if element is not QUARTER and element.dtype.str[1:] in _CODES
}
"""Converters that round and check a plain number, by its type and element type."""


def element_array(
    element: ElementClass,
    value: npt.ArrayLike | QuarterMetadata,
    *,
    what: str,
    metadata: QuarterMetadata | None = None,
) -> npt.NDArray[Any]:
    """Return a copy of host values as a new C-contiguous array of `element.dtype`.

    `value` is a number or anything that NumPy converts to an array, also by `__dlpack__`; for
    QUARTER_METADATA a `QuarterMetadata` or its byte. QUARTER needs `metadata`. `what` names the
    target in messages.

    >>> from poplite.types import INT
    >>> element_array(INT, 2**31, what="'a'")
    Traceback (most recent call last):
    ...
    poplite.errors.SizeOverflowError: 'a': 2147483648 does not fit INT  (...)
      INT ranges from -2147483648 to 2147483647
      try: pass a value in that range, or use a wider element type
    """
    if isinstance(value, QuarterMetadata):
        if element is not QUARTER_METADATA:
            raise ElementTypeError(
                f"{what}: {value} cannot be stored as {element!r}",
                fix="write it to the metadata of a QUARTER tensor: t.metadata",
            )
        value = value.to_byte()
    if element is QUARTER:
        return _quarters(value, metadata, what)
    array = _as_array(element, value, what)
    if array.dtype == element.dtype:  # fast path
        return np.array(array, order="C")
    if array.dtype.kind in "ui" and element.dtype.kind in "ui" and array.size:
        limits = np.iinfo(element.dtype.name)
        for extreme in (int(array.min()), int(array.max())):
            if not limits.min <= extreme <= limits.max:
                raise _overflow(element, extreme, what)
    with np.errstate(over="ignore"):
        stored = np.array(array, element.dtype, order="C")
    if element.is_floating_point and not np.isfinite(stored).all():
        lost = np.isinf(stored) & np.isfinite(array)
        if lost.any():
            raise _overflow(element, array[lost].flat[0], what)
    return stored


def _quarters(
    value: npt.ArrayLike,
    metadata: QuarterMetadata | None,
    what: str,
) -> npt.NDArray[np.uint8]:
    if metadata is None:
        raise TensorMetadataError(
            f"{what}: a value for QUARTER needs metadata",
            found="the bits of a QUARTER element have no meaning without a format and a scale",
            fix="graph.add_constant(pl.QUARTER, (), value, metadata=pl.QuarterMetadata('F143'))",
        )
    values = _as_array(FLOAT, value, what).astype(np.float64)
    codes = encode(values, metadata)
    lost = (codes == NAN_CODE) & ~np.isnan(values)
    if lost.any():
        raise SizeOverflowError(
            f"{what}: {values[lost].flat[0]} does not fit QUARTER with {metadata}",
            found=f"it ranges from {-metadata.largest:g} to {metadata.largest:g}, and NaN",
            fix="pass a value in that range, or use a larger scale",
        )
    return codes


def scalar(element: ElementClass, value: Number, *, what: str) -> bool | int | float:
    """Return a host value, rounded as `element` stores it, as a Python number.

    >>> from poplite.types import FLOAT
    >>> scalar(FLOAT, 0.1, what="'a'")
    0.10000000149011612
    """
    converted = converted_number(element, value)
    if converted is not None:
        return converted
    stored = element_array(element, value, what=what)
    if stored.ndim:
        raise ElementTypeError(
            f"{what}: one {element!r} is needed, not an array of shape {stored.shape}",
            fix="pass a plain number",
        )
    number: bool | int | float = stored.item()
    return number


def converted_number(element: ElementClass, value: object) -> int | float | None:
    """Return a plain number, rounded as `element` stores it; None if `scalar` must decide.

    >>> from poplite.types import INT
    >>> converted_number(INT, 3), converted_number(INT, 2**31), converted_number(INT, 0.5)
    (3, None, None)
    """
    packed = _PACKED.get((type(value), element))
    try:
        if packed is None:
            if type(value) is not int or (float, element) not in _PACKED:
                return None
            packed, value = _PACKED[float, element], as_double(value)
        converted: int | float = packed.unpack(packed.pack(value))[0]
    except (OverflowError, struct.error):
        return None
    return converted


def _as_array(element: ElementClass, value: npt.ArrayLike, what: str) -> npt.NDArray[Any]:
    array = _read_by_numpy(value, what)
    if array.dtype.kind == "O" and element.dtype.kind != "b":
        array = _without_objects(element, array, what)
    kind = array.dtype.kind
    if not array.size and isinstance(value, list | tuple):
        kind = element.dtype.kind  # NumPy gives an empty list the type float64
    if _KIND_ORDER.get(kind, 9) > _KIND_ORDER[element.dtype.kind]:
        shown = clipped(value, 41)
        shown = shown if len(shown) <= 40 else type(value).__name__
        raise ElementTypeError(
            f"{what}: {shown} cannot be stored as {element!r}",
            found=f"{_values_text(array, element)}, elements of {element.dtype}",
            fix="convert it explicitly, e.g. with int(...) or array.astype(...)",
        )
    return array


def _read_by_numpy(value: npt.ArrayLike, what: str) -> npt.NDArray[Any]:
    """Return values as an array; an array of another library may be out of NumPy's reach."""
    try:
        unmasked(value, what)
        if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
            return np.from_dlpack(cast("Any", value))
        return np.asarray(value)
    except PopliteError:
        raise
    except ValueError:  # ragged lists
        array = np.empty(1, np.object_)
        array[0] = value
        return array
    except (BufferError, RuntimeError, TypeError) as error:
        raise ElementTypeError(
            f"{what}: NumPy cannot read the {type(value).__name__}",
            found=str(error),
            fix="copy it to a NumPy array first, in the memory of the host",
        ) from error


def _values_text(array: npt.NDArray[Any], element: ElementClass) -> str:
    """Describe the type of values: NumPy's, or Python's for an array of objects."""
    if array.dtype.kind == "U":
        return "strings"
    kinds = {"b": bool, "f": int | float}
    valid, values = kinds.get(element.dtype.kind, int), array.ravel()
    odd = [v for v in values.tolist() if not isinstance(v, valid)] if values.dtype == object else []
    if not odd:
        return f"values of {array.dtype}"
    if isinstance(odd[0], list | tuple):
        return "lists of different lengths"
    return f"{clipped(odd[0])} of type {type(odd[0]).__name__}"


def _without_objects(element: ElementClass, array: npt.NDArray[Any], what: str) -> npt.NDArray[Any]:
    """Convert an array of objects, which NumPy creates for integers beyond 64 bits, to numbers."""
    numbers = array.ravel().tolist()
    if not all(isinstance(number, int | float | np.number) for number in numbers):
        return array
    integers = [number for number in numbers if isinstance(number, int)]
    if element.is_floating_point or len(integers) == len(numbers):
        limits = _limits(element)
        for number in integers:
            if not int(limits.min) <= number <= int(limits.max):
                raise _overflow(element, number, what)
    if not element.is_floating_point:
        return array
    rounded_later = [as_double(int(n)) if isinstance(n, int | np.integer) else n for n in numbers]
    return np.array(rounded_later, np.float64).reshape(array.shape)


def _overflow(element: ElementClass, value: object, what: str) -> SizeOverflowError:
    limits = _limits(element)
    return SizeOverflowError(
        f"{what}: {value} does not fit {element!r}",
        found=f"{element!r} ranges from {limits.min} to {limits.max}",
        fix="pass a value in that range, or use a wider element type",
    )


def _limits(element: ElementClass) -> Any:
    """Return NumPy's description of the range of a type."""
    return np.finfo(element.dtype) if element.is_floating_point else np.iinfo(element.dtype.name)


ALWAYS_ALLOWED = 1 << 28
"""Bytes of values that are always allowed on the host, however little memory the tiles have."""


def check_room(space: Space, kind: ElementClass, shape: tuple[int, ...], what: str) -> None:
    """Refuse values that exceed the total memory of all tiles, before they are allocated.

    >>> from poplite.graph.graph import Graph
    >>> from poplite.types import INT
    >>> check_room(Graph().space, INT, (2**40,), "'table'")
    Traceback (most recent call last):
    poplite.errors.GraphMemoryAllocationError: 'table': 1,099,511,627,776 values of INT take ...
      shape (1099511627776,); a tile has 638,976 B
      try: use fewer values, or a target with more tiles
    """
    size = math.prod(shape) * kind.size_bytes
    if size <= max(space.memory_bytes, ALWAYS_ALLOWED):
        return
    raise GraphMemoryAllocationError(
        f"{what}: {amount(math.prod(shape), 'value')} of {kind!r} take {size:,} B, but "
        f"{_tiles(space.num_tiles)} {space.memory_bytes:,} B",
        found=f"shape {shape_text(shape)}; a tile has {space.memory_bytes // space.num_tiles:,} B",
        fix="use fewer values, or a target with more tiles",
    )


def _tiles(number: int) -> str:
    return "1 tile has" if number == 1 else f"{number:,} tiles together have"
