"""Element types of tensors.

They are classes, so that they serve both as type parameters (`Input[FLOAT]`) and as
values (`graph.add_variable(FLOAT, (4,))`).  Each has a NumPy storage type, so that
`np.zeros(4, FLOAT)` works, and names the Python type that `compute` sees.

    >>> FLOAT, FLOAT.size_bytes, np.zeros(2, FLOAT).dtype
    (FLOAT, 4, dtype('float32'))

QUARTER is an 8-bit float whose format and scale are stored separately as metadata.  An
element is a code of one sign bit and seven bits of exponent and mantissa; the metadata of its
tensor, one byte on the tile, determines its value::

    value = decode(code, format) * 2**scale

    F143   4 exponent bits, 3 mantissa bits, bias 8     up to 240
    F152   5 exponent bits, 2 mantissa bits, bias 16    up to 57,344

Both have one zero, one NaN (code 0x80) and no infinities.  The package ml_dtypes, which converts
them on the host, calls them `float8_e4m3fnuz` and `float8_e5m2fnuz`: rounding is to nearest, ties
to even, and values that are too large become NaN.

    >>> metadata = QuarterMetadata(QuarterFormat.F143, scale=-2)
    >>> codes = encode(np.array([0.25, 60.0, 1000.0], np.float32), metadata)
    >>> codes, decode(codes, metadata)
    (array([ 64, 127, 128], dtype=uint8), array([ 0.25, 60.  ,   nan], dtype=float32))

Sources: Poplar API reference, "Type", and user guide, "Supported types", for sizes and the
corresponding NumPy types; LONG and DOUBLE are listed there but cannot be stored on a tile, so they
are left out.  Noune et al., "8-bit Numerical Formats for Deep Neural Networks" (2022), for the
formats of QUARTER; Poplar API reference, "Quarter", for the metadata.  The packing of the byte
(format in the top bit, scale in the low six) is our own.
"""

from __future__ import annotations

import math
import zlib
from collections import UserList, deque
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    ForwardRef,
    Generic,
    TypeGuard,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

import numpy as np
import numpy.typing as npt

from poplite.errors import (
    ElementTypeError,
    Enumeration,
    TensorMetadataError,
    checked_member,
    did_you_mean,
)
from poplite.frozen import frozen
from poplite.text import amount, clipped, integer_or_none

P_co = TypeVar("P_co", covariant=True)
T = TypeVar("T")


class FieldKind(Generic[P_co]):
    """Anything a vertex field can hold; `P_co` is the type that `compute` sees."""


class _ElementTypeMeta(type):
    """Metaclass that prints an element type as its name and sorts by it, like a map in C++.

    Calling one without arguments returns it: `x.element_type()` is `x.element_type`.
    """

    def __call__(cls, *args: object, **kwargs: object) -> Any:
        if args or kwargs:
            raise ElementTypeError(
                f"{cls.__name__} is an element type, not a function",
                fix=f"pass {cls.__name__} itself, or use float(...) or int(...) in compute",
            )
        return cls

    def __lt__(cls, other: object) -> bool:
        return (
            cls.__name__ < other.__name__ if isinstance(other, _ElementTypeMeta) else NotImplemented
        )

    def __repr__(cls) -> str:
        return cls.__name__


class ElementType(FieldKind[P_co], metaclass=_ElementTypeMeta):
    """Base of the element types; never instantiated.

    Attributes:
        dtype: NumPy type of the stored element.
        size_bytes: bytes of one element on the device.
        is_floating_point: whether arithmetic on it is in float32.
        requires_metadata: whether its bits need a format and scale.
    """

    dtype: ClassVar[np.dtype[np.generic]]
    size_bytes: ClassVar[int]
    is_floating_point: ClassVar[bool]
    requires_metadata: ClassVar[bool]

    def __init_subclass__(cls, *, dtype: npt.DTypeLike, requires_metadata: bool = False) -> None:
        cls.dtype = np.dtype(dtype)
        cls.size_bytes = cls.dtype.itemsize
        cls.is_floating_point = cls.dtype.kind == "f" or requires_metadata
        cls.requires_metadata = requires_metadata

    if TYPE_CHECKING:  # `pl.FLOAT(x)` is valid only in `compute`

        def __new__(cls, *args: object, **kwargs: object) -> ElementType[P_co]:
            """Return a value that an element can hold."""

    # C++ spelling

    @classmethod
    def toString(cls) -> str:
        """Return the name in C++, such as "unsigned int" for UNSIGNED_INT."""
        return " ".join(_CPP_WORDS.get(word, word.lower()) for word in cls.__name__.split("_"))

    @classmethod
    def hash(cls) -> int:
        """Return a number that is the same in every process, and differs between types."""
        return zlib.crc32(cls.__name__.encode())

    @classmethod
    def isFloatingPoint(cls) -> bool:
        """C++ spelling of `is_floating_point`."""
        return cls.is_floating_point

    @classmethod
    def requiresMetadata(cls) -> bool:
        """C++ spelling of `requires_metadata`."""
        return cls.requires_metadata


_CPP_WORDS = {"LONGLONG": "long long"}


class FLOAT(ElementType[float], dtype=np.float32):
    """32-bit IEEE float.

    >>> FLOAT.dtype, FLOAT.size_bytes
    (dtype('float32'), 4)
    """


class HALF(ElementType[float], dtype=np.float16):
    """16-bit IEEE float: two bytes in memory, float32 in arithmetic, rounded on each store.

    >>> HALF.size_bytes, float(HALF.dtype.type(2049))
    (2, 2048.0)
    """


class QUARTER(ElementType[float], dtype=np.uint8, requires_metadata=True):
    """8-bit float: a code whose format and scale are the tensor's metadata.

    >>> QUARTER.size_bytes, QUARTER.requires_metadata
    (1, True)
    """


class QUARTER_METADATA(ElementType[int], dtype=np.uint8):
    """Format and scale of a QUARTER tensor in one byte (`QuarterMetadata`).

    >>> QUARTER_METADATA.dtype
    dtype('uint8')
    """


class SIGNED_CHAR(ElementType[int], dtype=np.int8):
    """8-bit signed integer.

    >>> np.iinfo(SIGNED_CHAR.dtype).min, np.iinfo(SIGNED_CHAR.dtype).max
    (-128, 127)
    """


class CHAR(ElementType[int], dtype=np.int8):
    """8-bit signed integer; in Poplar distinct from SIGNED_CHAR.

    >>> CHAR.dtype, CHAR == SIGNED_CHAR
    (dtype('int8'), False)
    """


class UNSIGNED_CHAR(ElementType[int], dtype=np.uint8):
    """8-bit unsigned integer.

    >>> np.iinfo(UNSIGNED_CHAR.dtype).max
    255
    """


class SHORT(ElementType[int], dtype=np.int16):
    """16-bit signed integer.

    >>> np.iinfo(SHORT.dtype).max
    32767
    """


class UNSIGNED_SHORT(ElementType[int], dtype=np.uint16):
    """16-bit unsigned integer.

    >>> np.iinfo(UNSIGNED_SHORT.dtype).max
    65535
    """


class INT(ElementType[int], dtype=np.int32):
    """32-bit signed integer.

    >>> np.iinfo(INT.dtype).max
    2147483647
    """


class UNSIGNED_INT(ElementType[int], dtype=np.uint32):
    """32-bit unsigned integer.

    >>> np.iinfo(UNSIGNED_INT.dtype).max
    4294967295
    """


class LONGLONG(ElementType[int], dtype=np.int64):
    """64-bit signed integer.

    >>> np.iinfo(LONGLONG.dtype).max
    9223372036854775807
    """


class UNSIGNED_LONGLONG(ElementType[int], dtype=np.uint64):
    """64-bit unsigned integer, the one type whose arithmetic is unsigned.

    >>> np.iinfo(UNSIGNED_LONGLONG.dtype).max
    18446744073709551615
    """


class BOOL(ElementType[bool], dtype=np.bool_):
    """Truth value, one byte.

    >>> BOOL.dtype, BOOL.size_bytes
    (dtype('bool'), 1)
    """


INTEGERS_32: tuple[type[ElementType[Any]], ...] = (
    *(CHAR, SIGNED_CHAR, UNSIGNED_CHAR, SHORT, UNSIGNED_SHORT, INT, UNSIGNED_INT),
)
"""Integers of up to 32 bits."""

INTEGERS: tuple[type[ElementType[Any]], ...] = (*INTEGERS_32, LONGLONG, UNSIGNED_LONGLONG)

NUMPY_TYPES: tuple[type[ElementType[object]], ...] = (
    *(FLOAT, HALF),
    *(SIGNED_CHAR, UNSIGNED_CHAR, SHORT, UNSIGNED_SHORT, INT, UNSIGNED_INT),
    *(LONGLONG, UNSIGNED_LONGLONG, BOOL),
)
"""The element type of each NumPy type; int8 means SIGNED_CHAR."""

ELEMENT_TYPES: tuple[type[ElementType[object]], ...] = (
    *NUMPY_TYPES,
    *(CHAR, QUARTER, QUARTER_METADATA),
)

ElementTypeLike = type[ElementType[object]] | npt.DTypeLike
"""Values accepted as an element type."""

_BY_DTYPE = {t.dtype: t for t in NUMPY_TYPES}
_BY_NAME = {repr(t): t for t in ELEMENT_TYPES}


def element_type(like: ElementTypeLike) -> type[ElementType[object]]:
    """Return the element type for a type or NumPy dtype.

    Args:
        like: an element type or its name, or anything NumPy takes as a dtype.

    Raises:
        ElementTypeError: when no element type stores that dtype.

    >>> element_type(np.int32), element_type("float32"), element_type("HALF")
    (INT, FLOAT, HALF)
    """
    if isinstance(like, type) and issubclass(like, ElementType) and like is not ElementType:
        return like
    if isinstance(like, str) and like in _BY_NAME:
        return _BY_NAME[like]
    dtype = _dtype_of(like)
    if dtype is not None and dtype in _BY_DTYPE:
        return _BY_DTYPE[dtype]
    near = did_you_mean(like, [name for t in NUMPY_TYPES for name in (repr(t), str(t.dtype))])
    raise ElementTypeError(
        f"{spelled(like)} is not an element type{near}",
        found="" if dtype is None else f"NumPy's {dtype}, which no element type stores",
        fix="one of " + ", ".join(f"{t!r} ({t.dtype})" for t in NUMPY_TYPES),
    )


def type_text(element: type[ElementType[object]]) -> str:
    """Return the text of an element type before a shape: its NumPy type, if it has one.

    Args:
        element: the element type.

    >>> type_text(FLOAT), type_text(QUARTER)
    ('float32', 'QUARTER')
    """
    return str(element.dtype) if _BY_DTYPE.get(element.dtype) is element else repr(element)


def spelled(annotation: object) -> str:
    """Return a type as users write it, without the modules of its names.

    Args:
        annotation: a type, a generic type with its arguments, or any other object.

    >>> spelled(dict[str, list[FLOAT] | None]), spelled("float")
    ('dict[str, list[FLOAT] | None]', "'float'")
    """
    if isinstance(annotation, ForwardRef):
        return repr(annotation.__forward_arg__)
    arguments = [spelled(argument) for argument in get_args(annotation)]
    if get_origin(annotation) in (Union, UnionType):
        return " | ".join(arguments)
    name = (
        "None" if annotation is NoneType else getattr(annotation, "__name__", clipped(annotation))
    )
    return f"{name}[{', '.join(arguments)}]" if arguments else str(name)


SCALES = range(-32, 32)
"""Scales that the metadata of QUARTER can hold."""

FORMAT_BIT = 0x80
"""The bit that is set in metadata with the format F152."""

SCALE_BITS = 6

NAN_CODE = 0x80
"""The only NaN of both QUARTER formats, at the code that is negative zero in other formats."""

AS_CODES = (
    "connect x.reinterpret(pl.UNSIGNED_CHAR) to a field of UNSIGNED_CHAR: its elements are codes"
)
"""The remedy for the bits of a QUARTER number, which depend on the metadata of its tensor."""


class QuarterFormat(Enumeration):
    """Sign, exponent and mantissa bits of a QUARTER element."""

    F143 = "F143"
    """4 bits of exponent and 3 of mantissa: more precise."""
    F152 = "F152"
    """5 bits of exponent and 2 of mantissa: a wider range."""

    @property
    def mantissa_bits(self) -> int:
        """Bits of the mantissa."""
        return 3 if self is QuarterFormat.F143 else 2

    @property
    def bias(self) -> int:
        """The number subtracted from the exponent field."""
        return 8 if self is QuarterFormat.F143 else 16

    @property
    def largest(self) -> float:
        """The largest value at scale 0."""
        return 240.0 if self is QuarterFormat.F143 else 57344.0


@frozen
class QuarterMetadata:
    """Format and scale of a QUARTER tensor.

    Args:
        format: `QuarterFormat.F143` or `F152`, or its name.
        scale: power of two that decoded values are multiplied by, from -32 to 31.

    Raises:
        TensorMetadataError: for an invalid format or scale.

    >>> QuarterMetadata("F152", scale=3).to_byte()
    131
    """

    Format: ClassVar[type[QuarterFormat]] = QuarterFormat
    format: QuarterFormat
    scale: int = 0

    def __init__(self, format: QuarterFormat | str, scale: int = 0) -> None:
        kind = checked_member(format, QuarterFormat, "QuarterMetadata", error=TensorMetadataError)
        whole = isinstance(scale, int | np.integer) and not isinstance(scale, bool)
        if not whole or scale not in SCALES:
            raise TensorMetadataError(
                f"scale {clipped(scale)} of QUARTER metadata is not a whole number from "
                f"{SCALES[0]} to {SCALES[-1]}",
                fix="pass the exponent of a power of two: scale=-3 multiplies by 1/8",
            )
        object.__setattr__(self, "format", kind)
        object.__setattr__(self, "scale", int(scale))

    @property
    def largest(self) -> float:
        """The largest value that can be stored."""
        return self.format.largest * 2.0**self.scale

    def to_byte(self) -> int:
        """Return the byte stored on the tile."""
        low = self.scale & ((1 << SCALE_BITS) - 1)
        return low | (FORMAT_BIT if self.format is QuarterFormat.F152 else 0)

    @classmethod
    def from_byte(cls, byte: int) -> QuarterMetadata:
        """Return the metadata that a byte on the tile represents.

        Args:
            byte: from 0 to 255; the bit between format and scale is ignored.

        Raises:
            TensorMetadataError: for any other number.

        >>> QuarterMetadata.from_byte(131)
        QuarterMetadata('F152', scale=3)
        """
        number = integer_or_none(byte)
        if number is None or not 0 <= number < 256:
            raise TensorMetadataError(
                f"{clipped(byte)} is not the metadata of a QUARTER tensor",
                found="format and scale are stored in one byte, from 0 to 255",
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
    """Return the name of the edge that passes the metadata of a QUARTER field to its vertex.

    Args:
        field: the field's name.

    >>> metadata_edge("x")
    'x.metadata'
    """
    return f"{field}.metadata"


def decode(codes: npt.NDArray[np.uint8], metadata: QuarterMetadata) -> npt.NDArray[np.float32]:
    """Return the exact values of codes.

    Args:
        codes: uint8, any shape.
        metadata: their format and scale.

    Returns:
        float32 of the same shape.
    """
    values = np.asarray(codes, np.uint8).view(_float8(metadata.format)).astype(np.float32)
    return np.asarray(np.ldexp(values, metadata.scale), np.float32)


def encode(
    values: npt.NDArray[np.float32] | npt.NDArray[np.float64], metadata: QuarterMetadata
) -> npt.NDArray[np.uint8]:
    """Return the codes nearest to values, ties to even; NaN for values too large.

    Args:
        values: float32 or float64, any shape; either is rounded once.
        metadata: format and scale to encode for.

    Returns:
        uint8 of the same shape.
    """
    with np.errstate(over="ignore", under="ignore"):
        scaled = np.ldexp(_to_be_rounded(np.asarray(values)), -metadata.scale)
        return np.asarray(scaled.astype(_float8(metadata.format)).view(np.uint8))


def _to_be_rounded(values: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """Convert floats to float32 so that rounding to a shorter type gives the same result.

    The last bit of a result is set if any of the bits that float32 drops was set.
    """
    if values.dtype == np.float32:
        return values
    with np.errstate(over="ignore"):
        nearest = np.array(values, np.float32)
    is_further = np.abs(nearest.astype(values.dtype)) > np.abs(values)
    bits = nearest.view(np.uint32)
    bits -= is_further
    bits |= nearest != values
    return nearest


_DOUBLE_BITS = 53


def as_double(number: int) -> float:
    """Convert an integer to a float so that rounding to a shorter type gives the same result.

    Raises OverflowError if it is beyond the range of a float.

    >>> halfway = 2**60 + 2**36  # between two numbers of float32
    >>> [float(np.float32(as_double(n))) - 2**60 for n in (halfway, halfway + 1)]
    [0.0, 137438953472.0]
    """
    excess = abs(number).bit_length() - _DOUBLE_BITS
    if excess <= 0:
        return float(number)
    high, low = divmod(abs(number), 1 << excess)
    return math.copysign(math.ldexp(high | (low > 0), excess), number)


def _dtype_of(like: Any) -> np.dtype[np.generic] | None:
    if like is None:  # NumPy's default, float64
        return None
    try:
        dtype: np.dtype[np.generic] = np.dtype(like)
    except (TypeError, ValueError, SyntaxError, RecursionError):  # SyntaxError for "i4,,"
        return None
    return None if dtype.hasobject else dtype  # any class at all is an object to NumPy


def _float8(format: QuarterFormat) -> Any:
    import ml_dtypes  # needed only for QUARTER, at the host boundary

    if format is QuarterFormat.F143:
        return ml_dtypes.float8_e4m3fnuz
    return ml_dtypes.float8_e5m2fnuz


# -- values that are refused as elements -----------------------------------------------------------


class HoldsNoValues:
    """An object that users may mistake for values; its class says what to use instead."""

    __slots__ = ()

    def refused(self, what: str) -> ElementTypeError:
        """Return the error for passing such an object to the call `what`."""
        raise NotImplementedError


_PLAIN = frozenset({np.ndarray, int, float, bool})
_LISTS = (list, tuple, deque, UserList)
_NESTS = (*_LISTS, HoldsNoValues)
_DEEPEST = 65
"""Levels of nested lists that can become an array: NumPy's maximum, plus the innermost items."""


def unmasked(value: T, what: str) -> T:
    """Return a user's numbers; refuse masked arrays, also inside nested lists.

    An object without values, such as the `==` of two tensors, is refused, too.

    >>> unmasked([1, 2], "engine.write")
    [1, 2]
    """
    if type(value) in _PLAIN:
        return value
    part = _refused_part(value)
    if isinstance(part, HoldsNoValues):
        raise part.refused(what)
    if part is not None:
        raise ElementTypeError(
            f"{what}: a masked array is not supported, since elements have no mask",
            found=f"{int(np.ma.getmaskarray(part).sum()):,} of {amount(part.size, 'element')} "
            "masked",
            fix="pass array.filled(0), with the number that replaces masked elements",
        )
    return value


def _may_be_refused(kind: type) -> bool:
    """Return whether objects of this class are refused, or may contain or become such objects."""
    is_plain = kind is np.ndarray or issubclass(kind, np.generic)
    return issubclass(kind, _NESTS) or (not is_plain and hasattr(kind, "__array__"))


def _is_masked(value: object) -> TypeGuard[np.ma.MaskedArray[Any, Any]]:
    """Return whether an array has a mask; naming `np.ma` loads it, which takes 10 ms."""
    is_of_subclass = isinstance(value, np.ndarray) and type(value) is not np.ndarray
    return is_of_subclass and isinstance(value, np.ma.MaskedArray)


def _refused_part(value: object) -> np.ma.MaskedArray[Any, Any] | HoldsNoValues | None:
    """Return the first part that is refused; lists of numbers are recognised by their types."""
    level: list[Any] = [value]
    for _ in range(_DEEPEST):
        below: dict[int, Any] = {}  # a list may contain a row several times, or itself
        for part in level:
            if isinstance(part, HoldsNoValues) or _is_masked(part):
                return part
            if not isinstance(part, _LISTS) and _may_be_refused(type(part)):
                made = part.__array__()  # np.asarray would drop its mask
                if _is_masked(made):
                    return made
            if isinstance(part, _LISTS) and any(
                _may_be_refused(kind) for kind in set(map(type, part))
            ):
                below |= {id(each): each for each in part if _may_be_refused(type(each))}
        level = list(below.values())
        if not level:
            break
    return None
