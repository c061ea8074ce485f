"""Element types: what one element of a tensor is.

They are classes, so that they serve as type parameters (`Input[FLOAT]`) as well as
values (`graph.add_variable(FLOAT, (4,))`).  Each carries its NumPy storage type, so that
`np.zeros(4, FLOAT)` works, and each names the Python type that `compute` sees.

    >>> FLOAT, FLOAT.size_bytes, np.zeros(2, FLOAT).dtype
    (FLOAT, 4, dtype('float32'))

Sizes and NumPy twins: Poplar API reference, "Type"; user guide, "Supported types".  LONG and
DOUBLE have names there and no storage on a tile, so they are not here.
"""

from __future__ import annotations

from types import NoneType, UnionType
from typing import Any, ClassVar, ForwardRef, Generic, TypeVar, Union, get_args, get_origin

import numpy as np
import numpy.typing as npt

from poplite.errors import ElementTypeError
from poplite.source import here
from poplite.text import clipped

P_co = TypeVar("P_co", covariant=True)


class FieldKind(Generic[P_co]):
    """Anything a vertex field can hold; `P_co` is what `compute` sees."""


class _ElementTypeMeta(type):
    """Prints an element type as its name."""

    def __repr__(cls) -> str:
        return cls.__name__


class ElementType(FieldKind[P_co], metaclass=_ElementTypeMeta):
    """Base of the element types; never instantiated.

    Attributes:
        dtype: NumPy type of the stored element.
        size_bytes: bytes of one element on the device.
        is_floating_point: whether arithmetic on it is float32.
        requires_metadata: whether its bits mean something only beside a format and scale.
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

    def __new__(cls, *args: object, **kwargs: object) -> ElementType[P_co]:
        """Refuse: an element type is used as it is, never called."""
        raise ElementTypeError(
            f"{cls.__name__} is an element type, not a function",
            at=here(),
            fix=f"pass {cls.__name__} itself, or use float(...) or int(...) in compute",
        )


class FLOAT(ElementType[float], dtype=np.float32):
    """32-bit IEEE float."""


class HALF(ElementType[float], dtype=np.float16):
    """16-bit IEEE float: two bytes in memory, float32 in arithmetic, rounded on each store."""


class QUARTER(ElementType[float], dtype=np.uint8, requires_metadata=True):
    """8-bit float: a code whose format and scale stand in the tensor's metadata."""


class QUARTER_METADATA(ElementType[int], dtype=np.uint8):
    """Format and scale of a QUARTER tensor in one byte (`poplite.QuarterMetadata`)."""


class SIGNED_CHAR(ElementType[int], dtype=np.int8):
    """8-bit signed integer."""


class CHAR(ElementType[int], dtype=np.int8):
    """8-bit signed integer; in Poplar a type of its own beside SIGNED_CHAR."""


class UNSIGNED_CHAR(ElementType[int], dtype=np.uint8):
    """8-bit unsigned integer."""


class SHORT(ElementType[int], dtype=np.int16):
    """16-bit signed integer."""


class UNSIGNED_SHORT(ElementType[int], dtype=np.uint16):
    """16-bit unsigned integer."""


class INT(ElementType[int], dtype=np.int32):
    """32-bit signed integer."""


class UNSIGNED_INT(ElementType[int], dtype=np.uint32):
    """32-bit unsigned integer."""


class LONGLONG(ElementType[int], dtype=np.int64):
    """64-bit signed integer."""


class UNSIGNED_LONGLONG(ElementType[int], dtype=np.uint64):
    """64-bit unsigned integer, the one type whose arithmetic is unsigned."""


class BOOL(ElementType[bool], dtype=np.bool_):
    """Truth value, one byte."""


NUMPY_TYPES: tuple[type[ElementType[object]], ...] = (
    *(FLOAT, HALF),
    *(SIGNED_CHAR, UNSIGNED_CHAR, SHORT, UNSIGNED_SHORT, INT, UNSIGNED_INT),
    *(LONGLONG, UNSIGNED_LONGLONG, BOOL),
)
"""The element type that stands for each NumPy type; int8 means SIGNED_CHAR."""

ELEMENT_TYPES: tuple[type[ElementType[object]], ...] = (
    *NUMPY_TYPES,
    *(CHAR, QUARTER, QUARTER_METADATA),
)

ElementTypeLike = type[ElementType[object]] | npt.DTypeLike
"""What is accepted where an element type is asked for."""

_BY_DTYPE = {t.dtype: t for t in NUMPY_TYPES}


def element_type(like: ElementTypeLike) -> type[ElementType[object]]:
    """Return the element type for a type or NumPy dtype.

    Args:
        like: an element type, or anything NumPy takes as a dtype.

    Raises:
        ElementTypeError: when no element type stores that dtype.

    >>> element_type(np.int32), element_type("float32")
    (INT, FLOAT)
    """
    if isinstance(like, type) and issubclass(like, ElementType) and like is not ElementType:
        return like
    dtype = _dtype_of(like)
    if dtype is not None and dtype in _BY_DTYPE:
        return _BY_DTYPE[dtype]
    raise ElementTypeError(
        f"{spelled(like)} is no element type",
        at=here(),
        found="" if dtype is None else f"NumPy's {dtype}, which no element type stores",
        fix="one of " + ", ".join(f"{t!r} ({t.dtype})" for t in NUMPY_TYPES),
    )


def type_text(element: type[ElementType[object]]) -> str:
    """Return an element type as it stands before a shape: by its NumPy twin, if it has one.

    Args:
        element: the element type.

    >>> type_text(FLOAT), type_text(QUARTER)
    ('float32', 'QUARTER')
    """
    return str(element.dtype) if _BY_DTYPE.get(element.dtype) is element else repr(element)


def spelled(annotation: object) -> str:
    """Spell a type as users write it, without the modules of its names.

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


def _dtype_of(like: Any) -> np.dtype[np.generic] | None:
    if like is None:  # NumPy's default, float64
        return None
    try:
        dtype: np.dtype[np.generic] = np.dtype(like)
    except (TypeError, ValueError, SyntaxError):  # the last for "i4,,"
        return None
    return None if dtype.hasobject else dtype  # any class at all is an object to NumPy
