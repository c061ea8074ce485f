"""What the host accesses in a graph, as data: streams, remote buffers, functions, tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from poplite.graph.graph import Graph
from poplite.graph.host.handles import HostHandle, named, write_handle
from poplite.graph.host.remote import (
    HostFunction,
    RemoteBuffer,
    host_function_of,
    remote_buffer_of,
)
from poplite.graph.host.streams import (
    DataStream,
    DataStreamType,
    ReplicatedStreamMode,
    stream_of,
)
from poplite.graph.tensor.tensor import Tensor
from poplite.source import SourceLocation
from poplite.types import ElementType

Element = type[ElementType[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class SavedStream:
    """A stream."""

    handle: str
    element_type: Element
    num_elements: int
    type: DataStreamType
    replicated_mode: ReplicatedStreamMode
    buffering_depth: int
    location: SourceLocation


@dataclass(frozen=True, slots=True, eq=False)
class SavedBuffer:
    """A remote buffer."""

    handle: str
    element_type: Element
    num_elements: int
    repeats: int
    rearrange_on_host: bool
    optimise_memory: bool
    location: SourceLocation


@dataclass(frozen=True, slots=True, eq=False)
class SavedHostFunction:
    """A function of the host."""

    handle: str
    inputs: tuple[tuple[Element, int], ...]
    outputs: tuple[tuple[Element, int], ...]
    location: SourceLocation


@dataclass(frozen=True, slots=True, eq=False)
class SavedHost:
    """All that programs name by handle, in the order in which it was made."""

    streams: tuple[SavedStream, ...]
    remote_buffers: tuple[SavedBuffer, ...]
    functions: tuple[SavedHostFunction, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SavedHostTensors:
    """The tensors that the host reads and writes, by handle, each with its line."""

    reads: Mapping[str, tuple[Tensor, SourceLocation]]
    writes: Mapping[str, tuple[Tensor, SourceLocation]]


def saved_host(graph: Graph) -> SavedHost:
    """Return what programs name by handle as data."""
    handles = graph._parts.handles
    return SavedHost(
        tuple(
            SavedStream(
                each.handle,
                each.element_type,
                each.num_elements,
                each.type,
                each.replicated_mode,
                each.buffering_depth,
                each.location,
            )
            for each in handles.streams.values()
        ),
        tuple(
            SavedBuffer(
                each.handle,
                each.element_type,
                each.num_elements,
                each.repeats,
                each.rearrange_on_host,
                each.optimise_memory,
                each.location,
            )
            for each in handles.remote_buffers.values()
        ),
        tuple(
            SavedHostFunction(each.handle, each.inputs, each.outputs, each.location)
            for each in handles.host_functions.values()
        ),
    )


def saved_host_tensors(graph: Graph) -> SavedHostTensors:
    """Return the tensors that the host accesses as data."""
    reads, writes = (
        {name: (each.tensor, each.location) for name, each in handles.items()}
        for handles in (graph.host_reads, graph.host_writes)
    )
    return SavedHostTensors(reads, writes)


def add_host(graph: Graph, saved: SavedHost) -> dict[type, Mapping[str, Any]]:
    """Make all of it, and return it by handle, each kind by its class."""
    handles = graph._parts.handles
    for s in saved.streams:
        shape = s.element_type, s.num_elements
        mode = s.replicated_mode, s.buffering_depth
        stream = stream_of(graph, s.handle, *shape, s.type, *mode, s.location)
        named(handles.streams, "stream", s.handle, stream)
    for b in saved.remote_buffers:
        shape, wishes = (b.element_type, b.num_elements), (b.rearrange_on_host, b.optimise_memory)
        buffer = remote_buffer_of(graph, b.handle, *shape, b.repeats, *wishes, b.location)
        named(handles.remote_buffers, "remote buffer", b.handle, buffer)
    for f in saved.functions:
        function = host_function_of(graph, f.handle, f.inputs, f.outputs, f.location)
        named(handles.host_functions, "host function", f.handle, function)
    return {
        DataStream: handles.streams,
        RemoteBuffer: handles.remote_buffers,
        HostFunction: handles.host_functions,
    }


def add_host_tensors(graph: Graph, saved: SavedHostTensors) -> None:
    """Let the host access tensors by name."""
    handles = graph._parts.handles
    for name, (tensor, at) in saved.reads.items():
        named(handles.reads, "host read", name, HostHandle(tensor, at))
    for name, (tensor, at) in saved.writes.items():
        named(handles.writes, "host write", name, write_handle(tensor, name, at))
