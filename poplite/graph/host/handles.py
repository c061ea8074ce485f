"""Everything in a graph that the host finds by handle.

    handles.streams["images"]         DataStream
    handles.remote_buffers["table"]   RemoteBuffer

Each kind has its own handles: a stream and a remote buffer may both be named "x".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from poplite.errors import GraphConnectionError, StreamConnectionError, TensorCreationError
from poplite.graph.host.remote import HostFunction, RemoteBuffer
from poplite.graph.host.streams import DataStream
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_text import why_not_writeable
from poplite.source import SourceLocation
from poplite.text import clipped, of_type


class _Located(Protocol):
    @property
    def location(self) -> SourceLocation: ...


T = TypeVar("T", bound=_Located)


@dataclass(frozen=True, slots=True, eq=False)
class HostHandle:
    """A tensor that the host reads or writes by name, and the user's line that says so."""

    tensor: Tensor
    location: SourceLocation


@dataclass(slots=True, eq=False)
class Handles:
    """Everything in a graph that the host finds by handle; each kind has its own handles."""

    streams: dict[str, DataStream] = field(default_factory=dict)
    remote_buffers: dict[str, RemoteBuffer] = field(default_factory=dict)
    host_functions: dict[str, HostFunction] = field(default_factory=dict)
    reads: dict[str, HostHandle] = field(default_factory=dict)
    writes: dict[str, HostHandle] = field(default_factory=dict)


def named(taken: dict[str, T], kind: str, handle: object, made: T) -> T:
    """Register something of a kind under its handle, and return it."""
    if not isinstance(handle, str) or not handle:
        raise TensorCreationError(
            f"{kind} {clipped(handle)}: a handle is text",
            found="it is empty" if isinstance(handle, str) else of_type(handle),
            fix="graph.add_remote_buffer('table', pl.FLOAT, 64)"
            if kind == "remote buffer"
            else "name it, as 'images'",
        )
    if handle in taken:
        raise StreamConnectionError(
            f"{kind} {handle!r}: there is one of that name already",
            found=f"made at {taken[handle].location}",
            fix="use the one that was made, or another name",
        )
    taken[handle] = made
    return made


def write_handle(tensor: Tensor, handle: object, at: SourceLocation) -> HostHandle:
    """Return a tensor for the host to write; its handle is not registered yet."""
    if not tensor.is_parallel_writeable():
        reason, fact = why_not_writeable(tensor)
        raise GraphConnectionError(
            f"host write {clipped(handle)}: '{tensor.name}' {reason}",
            found=fact,
            fix="graph.create_host_read for a tensor that is only read",
        )
    return HostHandle(tensor, at)
