"""What the host accesses in a graph: streams, remote buffers, functions, tensors.

Each is a list of what it is made of, and made by the function that a user's call makes it with.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

from poplite.codec.codec import coder_of
from poplite.codec.coders import Coder, ItemsCoder, PartsCoder
from poplite.graph.graph import Graph
from poplite.graph.host.handles import HostHandle, named, write_handle
from poplite.graph.host.remote import (
    HostFunction,
    RemoteBuffer,
    host_function_of,
    remote_buffer_of,
)
from poplite.graph.host.streams import DataStream, stream_of
from poplite.source import SourceLocation


def _made_by(cls: type, make: Callable[..., Any]) -> Coder:
    """Return the coder of objects of a graph that `make` makes of it and their other fields."""
    hints = get_type_hints(cls, localns={"Graph": Graph, "SourceLocation": SourceLocation})
    names = [each.name for each in dataclasses.fields(cls) if each.name != "graph"]
    coders = {name: coder_of(hints[name]) for name in names}
    return ItemsCoder(tuple, PartsCoder(cls, coders, lambda of, *parts: make(of.graph, *parts)))


PARTS: dict[str, Coder] = {
    "streams": _made_by(DataStream, stream_of),
    "remote_buffers": _made_by(RemoteBuffer, remote_buffer_of),
    "host_functions": _made_by(HostFunction, host_function_of),
}
"""Coders of all that programs name by handle, by what `Handles` calls it."""

HANDLES = Mapping[str, HostHandle]
"""The tensors that the host reads or writes, by handle."""


def add_host(graph: Graph, part: Callable[[str], Any]) -> dict[type, Mapping[str, Any]]:
    """Name what `part` returns, and return it by handle, each kind by its class."""
    handles = graph._parts.handles
    for name in PARTS:
        kind, known = name.removesuffix("s").replace("_", " "), getattr(handles, name)
        for each in part(name):
            named(known, kind, each.handle, each)
    return {
        DataStream: handles.streams,
        RemoteBuffer: handles.remote_buffers,
        HostFunction: handles.host_functions,
    }


def add_host_tensors(graph: Graph, reads: HANDLES, writes: HANDLES) -> None:
    """Let the host access tensors by name."""
    handles = graph._parts.handles
    for name, handle in reads.items():
        named(handles.reads, "host read", name, handle)
    for name, handle in writes.items():
        checked = write_handle(handle.tensor, name, handle.location)
        named(handles.writes, "host write", name, checked)
