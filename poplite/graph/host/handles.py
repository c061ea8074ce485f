"""What a graph has for the host, by handle, and the checks of what is entered.

    handles.streams["images"]         DataStream
    handles.remote_buffers["table"]   RemoteBuffer

Every kind has handles of its own: a stream and a remote buffer may both be called "x".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy.typing as npt

from poplite.errors import (
    ElementTypeError,
    StreamConnectionError,
    StreamMemoryAllocationError,
    TensorCreationError,
)
from poplite.graph.host.remote import FunctionBuffer, HostFunction, RemoteBuffer
from poplite.graph.host.streams import MAX_TRANSFER_BYTES, DataStream, transfer_text
from poplite.graph.tensor.tensor import Tensor
from poplite.source import SourceLocation
from poplite.text import clipped, integer_or_none
from poplite.types import QUARTER, ElementType, element_type

TypeLike = type[ElementType[Any]] | npt.DTypeLike
"""What is taken as an element type."""


class _Located(Protocol):
    @property
    def location(self) -> SourceLocation: ...


T = TypeVar("T", bound=_Located)


@dataclass(frozen=True, slots=True, eq=False)
class HostHandle:
    """A tensor that the host reads or writes by name.

    Attributes:
        tensor: the tensor.
        location: the user's line that made it.
    """

    tensor: Tensor
    location: SourceLocation


@dataclass(slots=True)
class Handles:
    """What a graph has for the host, by handle; every kind has handles of its own."""

    streams: dict[str, DataStream] = field(default_factory=dict)
    remote_buffers: dict[str, RemoteBuffer] = field(default_factory=dict)
    host_functions: dict[str, HostFunction] = field(default_factory=dict)
    reads: dict[str, HostHandle] = field(default_factory=dict)
    writes: dict[str, HostHandle] = field(default_factory=dict)
    function_buffers: dict[str, FunctionBuffer] = field(default_factory=dict)


def named(taken: dict[str, T], kind: str, handle: object, made: T) -> T:
    """Enter something under its handle, and return it.

    Args:
        taken: what there is of its kind.
        kind: what it is, for the message.
        handle: what the user calls it.
        made: what is entered.

    Raises:
        TensorCreationError: when the handle is no text.
        StreamConnectionError: when the handle is taken, with both lines.
    """
    if not isinstance(handle, str) or not handle:
        raise TensorCreationError(
            f"{kind} {clipped(handle)}: a handle is text",
            at=made.location,
            found=f"its type is {type(handle).__name__}" if handle != "" else "it is empty",
            fix="graph.add_remote_buffer('table', pl.FLOAT, 64)"
            if kind == "remote buffer"
            else "name it, as 'images'",
        )
    if handle in taken:
        raise StreamConnectionError(
            f"{kind} {handle!r}: there is one of that name already",
            at=made.location,
            found=f"made at {taken[handle].location}",
            fix="use the one that was made, or another name",
        )
    taken[handle] = made
    return made


def positive(value: object, what: str, of: str, at: SourceLocation) -> int:
    """Return a whole number from 1.

    Args:
        value: what the user gave.
        what: what it is given for, for the message.
        of: what is counted.
        at: the user's line.

    Raises:
        TensorCreationError: when it is something else.
    """
    number = integer_or_none(value)
    if number is None or number < 1:
        raise TensorCreationError(
            f"{what}: {clipped(value)} {of}, but it has at least 1",
            at=at,
            fix="a whole number from 1",
        )
    return number


def check_size(what: str, count: int, element: type[ElementType[Any]], at: SourceLocation) -> None:
    """Refuse what is more than one transfer moves.

    Args:
        what: what has that size, for the message.
        count: elements.
        element: their type.
        at: the user's line.

    Raises:
        StreamMemoryAllocationError: when it is.
    """
    if count * element.size_bytes > MAX_TRANSFER_BYTES:
        most = MAX_TRANSFER_BYTES // element.size_bytes
        raise StreamMemoryAllocationError(
            f"{what}: {transfer_text(count, element)}, but one transfer has at most "
            f"{MAX_TRANSFER_BYTES:,} B",
            at=at,
            found=f"that is {most:,} elements of {element!r}",
            fix="transfer a part at a time, in a Repeat",
        )


def plain_type(like: TypeLike, what: str, at: SourceLocation) -> type[ElementType[Any]]:
    """Return an element type whose bits mean something by themselves.

    Args:
        like: what the user gave.
        what: what it is given for, for the message.
        at: the user's line.

    Raises:
        ElementTypeError: when it is none.
    """
    element = element_type(like)
    if element is QUARTER:
        raise ElementTypeError(
            f"{what}: QUARTER elements mean nothing without their metadata, which it does not hold",
            at=at,
            fix="UNSIGNED_CHAR, and t.reinterpret(pl.UNSIGNED_CHAR) for the codes of a tensor",
        )
    return element


def signature(
    side: object, what: str, at: SourceLocation
) -> tuple[tuple[type[ElementType[Any]], int], ...]:
    """Return element type and number of elements of each array of a host function.

    Args:
        side: what the user gave.
        what: the host function, for the message.
        at: the user's line.

    Raises:
        TensorCreationError: when it is no list of such pairs.
        ElementTypeError: when an element type is none, or QUARTER.
        StreamMemoryAllocationError: when an array is more than one transfer moves.
    """
    pairs = list(side) if isinstance(side, Iterable) and not isinstance(side, str) else [side]
    made = []
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TensorCreationError(
                f"{what}: {clipped(pair)} is no (element type, number of elements)",
                at=at,
                fix="graph.add_host_function('sort', [(pl.INT, 8)], [(pl.INT, 8)])",
            )
        element = plain_type(pair[0], what, at)
        count = positive(pair[1], what, "elements in an array", at)
        check_size(what, count, element, at)
        made.append((element, count))
    return tuple(made)
