"""Element types: what one element of a tensor is.

They are classes, so that they serve as type parameters (`Input[FLOAT]`) as well as
values (`graph.add_variable(FLOAT, (4,))`).  Each carries its NumPy storage type, so that
`np.zeros(4, FLOAT)` works, and each names the Python type that `compute` sees.

    >>> FLOAT, FLOAT.size_bytes, np.zeros(2, FLOAT).dtype
    (FLOAT, 4, dtype('float32'))

Sizes and NumPy twins: Poplar API reference, "Type"; user guide, "Supported types".
"""

from __future__ import annotations

from types import NoneType, UnionType
from typing import Any, ClassVar, ForwardRef, Generic, TypeVar, Union, get_args, get_origin

import numpy as np
import numpy.typing as npt

from poplite.errors import ElementTypeError
from poplite.source import here
from poplite.words import clipped

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
    """

    dtype: ClassVar[np.dtype[np.generic]]
    size_bytes: ClassVar[int]
    is_floating_point: ClassVar[bool]

    def __init_subclass__(cls, *, dtype: npt.DTypeLike) -> None:
        cls.dtype = np.dtype(dtype)
        cls.size_bytes = cls.dtype.itemsize
        cls.is_floating_point = cls.dtype.kind == "f"

    def __new__(cls, *args: object, **kwargs: object) -> ElementType[P_co]:
        """Refuse: an element type is used as it is, never called."""
        raise ElementTypeError(
            f"{cls.__name__} is an element type, not a function",
            at=here(),
            fix=f"pass {cls.__name__} itself, or use float(...) or int(...) in compute",
        )


class FLOAT(ElementType[float], dtype=np.float32):
    """32-bit IEEE float."""


class INT(ElementType[int], dtype=np.int32):
    """32-bit signed integer."""


class UNSIGNED_INT(ElementType[int], dtype=np.uint32):
    """32-bit unsigned integer."""


class BOOL(ElementType[bool], dtype=np.bool_):
    """Truth value, one byte."""


ELEMENT_TYPES: tuple[type[ElementType[object]], ...] = (FLOAT, INT, UNSIGNED_INT, BOOL)

ElementTypeLike = type[ElementType[object]] | npt.DTypeLike
"""What is accepted where an element type is asked for."""

_BY_DTYPE = {t.dtype: t for t in ELEMENT_TYPES}


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
        fix="one of " + ", ".join(f"{t!r} ({t.dtype})" for t in ELEMENT_TYPES),
    )


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
