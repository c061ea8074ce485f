"""The host's access to tensors, by view if there is a graph, else by handle.

Both are places in an arena::

    ByView(x)                         engine.write(x, array)
    ByMoves(HostTensor("x", ...))     engine.write("x", array)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.errors import (
    ElementTypeError,
    GraphConnectionError,
    TensorCreationError,
    UnknownName,
    did_you_mean,
)
from poplite.executable.executable import Executable
from poplite.executable.parts import ArenaLayout, HostTensor
from poplite.expr.tree import stored_first
from poplite.frozen import frozen
from poplite.graph.graph import Graph
from poplite.graph.host_values import element_array
from poplite.graph.space import variable_named
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_text import why_not_writeable
from poplite.machine.target import replica_number
from poplite.simulator.run.arena import Arena, Bytes
from poplite.simulator.run.interpreted_vertices import move_between
from poplite.simulator.run.touched import moved_from
from poplite.text import clipped
from poplite.types import QUARTER_METADATA, ElementType, QuarterMetadata, decode
from poplite.view import addresses, storages


@frozen(eq=False)
class _OfTensor:
    """The properties of a place that come from its tensor."""

    tensor: Tensor | HostTensor

    @property
    def name(self) -> str:
        """Name of the tensor in messages."""
        return self.tensor.name

    @property
    def element_type(self) -> type[ElementType[Any]]:
        """Element type of the tensor."""
        return self.tensor.element_type

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the tensor."""
        return self.tensor.shape


@frozen(eq=False)
class ByView(_OfTensor):
    """The place of a tensor of the graph, found by its view."""

    tensor: Tensor

    def read(self, arena: Arena, replica: int) -> npt.NDArray[Any]:
        """Return a copy of the data of a replica."""
        return arena.read(self.tensor.view, self.element_type, replica)

    def write(self, arena: Arena, values: npt.NDArray[Any], replica: int) -> None:
        """Overwrite the data of a replica."""
        arena.write(self.tensor.view, self.element_type, values, replica)

    def bytes_of(self, layout: ArenaLayout, number: Int64) -> Int64:
        """Return the first bytes in the arena of elements, by number in row-major order."""
        return layout.byte_positions(addresses(self.tensor.view).reshape(-1)[number])

    def metadata(self, arena: Arena, replica: int) -> QuarterMetadata | None:
        """Return the format and scale that it has now."""
        at = self.tensor.metadata
        byte = None if at is None else arena.read(at.view, QUARTER_METADATA, replica).item()
        return _metadata_of(self.element_type, byte)


@frozen(eq=False)
class ByMoves(_OfTensor):
    """The place of a tensor that is recorded in an executable."""

    tensor: HostTensor

    def read(self, arena: Arena, replica: int) -> npt.NDArray[Any]:
        """Return a copy of the data of a replica."""
        return _stored(self.tensor, arena.parts[replica])

    def write(self, arena: Arena, values: npt.NDArray[Any], replica: int) -> None:
        """Overwrite the data of a replica."""
        dense = np.ascontiguousarray(np.broadcast_to(values, self.shape))
        source = dense.reshape(-1).view(np.uint8)
        move_between(self.tensor.moves.reversed(), arena.parts[replica], source)

    def bytes_of(self, layout: ArenaLayout, number: Int64) -> Int64:
        """Return the first bytes in the arena of elements, by number in row-major order."""
        return bytes_of(self.tensor, number)

    def metadata(self, arena: Arena, replica: int) -> QuarterMetadata | None:
        """Return the format and scale that it has now."""
        return _metadata(self.tensor, arena.parts[replica])


TensorPlace = ByView | ByMoves
"""The place of a tensor in an arena."""


def bytes_of(tensor: HostTensor, number: Int64) -> Int64:
    """Return the first bytes in the arena of elements of a tensor, by number."""
    return moved_from(tensor.moves, number * tensor.element_type.size_bytes)


@frozen(eq=False)
class HostAccess:
    """The tensor and replicas that one user's call accesses; messages name `call`."""

    place: TensorPlace
    replicas: Sequence[int]
    call: str


MOST_KNOWN = 256
"""Maximum number of cached accesses; loops read and write the same tensors repeatedly."""


class HostTensors:
    """The tensors of an engine that the host reads and writes.

    Without a graph, only the handles of the executable are known.
    """

    def __init__(self, executable: Executable, graph: Graph | None, arena: Arena) -> None:
        self._executable, self._graph, self._arena = executable, graph, arena
        self._reads: dict[int, HostAccess] = {}  # for all replicas, by the id of the tensor
        self._writes: dict[int, HostAccess] = {}

    def to_read(self, tensor: object, replica: int | None) -> HostAccess:
        """Return the access for a call to `Engine.read`, or reject it; None means all replicas."""
        found = None if replica is not None else self._reads.get(id(tensor))
        return found or _kept(self._reads, self._to_read(tensor, replica), replica)

    def to_write(self, tensor: object, replica: int | None) -> HostAccess:
        """Return the access for a call to `Engine.write`, or reject it; None means all replicas."""
        found = None if replica is not None else self._writes.get(id(tensor))
        return found or _kept(self._writes, self._to_write(tensor, replica), replica)

    def _to_read(self, tensor: object, replica: int | None) -> HostAccess:
        place = self._place(tensor, "read", self._executable.host_reads)
        call = f"engine.read of '{place.name}'"
        return HostAccess(place, self._replicas(replica, call), call)

    def _to_write(self, tensor: object, replica: int | None) -> HostAccess:
        place = self._place(tensor, "write", self._executable.host_writes)
        call = f"engine.write to '{place.name}'"
        if isinstance(place, ByView) and not place.tensor.is_parallel_writeable():
            reason, fact = why_not_writeable(place.tensor)
            fix = "write to the variable itself"
            if place.tensor.contains_constant():
                kind = repr(place.element_type)
                fix = f"make it a variable: graph.add_variable({kind}, {place.shape}, mapping=...)"
            raise GraphConnectionError(f"{call}: the tensor {reason}", found=fact, fix=fix)
        return HostAccess(place, self._replicas(replica, call), call)

    def read(self, access: HostAccess) -> npt.NDArray[Any]:
        """Return a copy of the values, several replicas along a new first dimension."""
        found = [self._read(access.place, number) for number in access.replicas]
        return found[0] if len(found) == 1 else np.stack(found)

    def write(self, access: HostAccess, array: npt.ArrayLike | QuarterMetadata) -> None:
        """Overwrite the values with the user's array, or reject it like `Engine.write`."""
        place, replicas = access.place, access.replicas
        if (
            type(array) is np.ndarray
            and array.dtype == place.element_type.dtype
            and array.shape == place.shape
            and not place.element_type.requires_metadata
        ):
            for number in replicas:
                place.write(self._arena, array, number)
            return
        metadata = {number: place.metadata(self._arena, number) for number in replicas}
        stored = {
            each: element_array(place.element_type, array, what=access.call, metadata=each)
            for each in dict.fromkeys(metadata.values())
        }
        shape = next(iter(stored.values())).shape
        is_each = len(replicas) > 1 and shape == (len(replicas), *place.shape)
        if shape not in ((), place.shape) and not is_each:
            raise TensorCreationError(
                f"{access.call}: the array must have the tensor's shape {place.shape}; found "
                f"{shape}",
                found=f"or shape {(len(replicas), *place.shape)}, with values for each replica"
                if len(replicas) > 1
                else "",
                fix=_reshaped(shape, place.shape),
            )
        for number in replicas:
            values = stored[metadata[number]]
            place.write(self._arena, values[number] if is_each else values, number)

    def _read(self, place: TensorPlace, replica: int) -> npt.NDArray[Any]:
        stored = place.read(self._arena, replica)
        metadata = place.metadata(self._arena, replica)
        return stored if metadata is None else decode(stored, metadata)

    def _replicas(self, replica: int | None, call: str) -> Sequence[int]:
        """Return the numbers of the replicas that `replica` selects."""
        count = self._executable.layout.replicas
        return range(count) if replica is None else [replica_number(replica, count, call)]

    def _place(self, tensor: object, verb: str, known: Mapping[str, HostTensor]) -> TensorPlace:
        """Return the place of a tensor that the user passed or named."""
        call = f"engine.{verb}"
        if not isinstance(tensor, str):
            return ByView(self._own(tensor, call))
        if tensor in known:
            return ByMoves(known[tensor])
        if self._graph is not None:
            handles = self._graph._parts.handles
            if tensor in handles.streams and not self._graph.space.named(tensor):
                raise UnknownName(
                    f"{call}: {tensor!r} is a stream, not a variable",
                    found=repr(handles.streams[tensor]),
                    fix=f"engine.connect_stream({tensor!r}, array)",
                )
            found = variable_named(
                self._graph.space,
                tensor,
                call=call,
                others=list(known),
                missing=f"there is no variable and no host {verb}",
            )
            return ByView(self._own(self._graph.tensor(found.name), call))
        raise UnknownName(
            f"{call}: there is no host {verb} {tensor!r}{did_you_mean(tensor, known)}",
            found=f"handles: {', '.join(map(repr, known)) or 'none'}; "
            "an executable has no variables by name",
            fix=f"call graph.create_host_{verb}({tensor!r}, tensor) before compiling",
        )

    def _own(self, tensor: object, call: str) -> Tensor:
        """Return a tensor if it belongs to the engine's graph, and is not newer than the engine."""
        if not isinstance(tensor, Tensor):
            raise ElementTypeError(
                f"{call}: {clipped(tensor, 60)} is not a tensor",
                fix=stored_first(tensor, f"{call}(t) of a tensor"),
            )
        if self._graph is None:
            raise GraphConnectionError(
                f"{call}: this engine was made from an executable, which has no tensors",
                found=f"the tensor is '{tensor.name}'",
                fix=f"call {call}('x'), with graph.{call.replace('engine.', 'create_host_')}"
                "('x', tensor) before compiling",
            )
        if tensor.graph is not self._graph:
            raise GraphConnectionError(
                f"{call}: tensor '{tensor.name}' must belong to this engine's graph",
                fix="use tensors of the graph from which the engine was made",
            )
        late = [s for s in storages(tensor.view) if not self._executable.layout.holds(s)]
        if late:
            variable = self._graph.variable_of(late[0])
            raise GraphConnectionError(
                f"{call}: '{variable.name}' was added to the graph after this engine was made",
                found=f"it was added at {variable.location}",
                fix="make the engine after all variables are added",
            )
        return tensor


def _kept(known: dict[int, HostAccess], access: HostAccess, replica: int | None) -> HostAccess:
    """Return an access, which keeps its tensor alive so that its id is not reused."""
    if replica is None and isinstance(access.place, ByView):
        if len(known) >= MOST_KNOWN:
            known.clear()
        known[id(access.place.tensor)] = access
    return access


def _reshaped(shape: tuple[int, ...], wanted: tuple[int, ...]) -> str:
    """Return text that says how to convert an array of a different shape to the tensor's shape."""
    if len(wanted) > 1 and shape == wanted[::-1]:
        return f"array.T, or array.reshape({wanted}) in the order of its elements"
    if math.prod(shape) == math.prod(wanted):
        return f"array.reshape({wanted})"
    return "slice the tensor or the array"


def read_host(tensor: HostTensor, memory: Bytes) -> npt.NDArray[Any]:
    """Return a copy of a tensor's values; QUARTER becomes float32."""
    stored, metadata = _stored(tensor, memory), _metadata(tensor, memory)
    return stored if metadata is None else decode(stored, metadata)


def _stored(tensor: HostTensor, memory: Bytes) -> npt.NDArray[Any]:
    stored = np.empty(tensor.shape, tensor.element_type.dtype)
    move_between(tensor.moves, stored.reshape(-1).view(np.uint8), memory)
    return stored


def _metadata(tensor: HostTensor, memory: Bytes) -> QuarterMetadata | None:
    byte = None if tensor.metadata is None else int(memory[tensor.metadata])
    return _metadata_of(tensor.element_type, byte)


def _metadata_of(element: type[ElementType[Any]], byte: int | None) -> QuarterMetadata | None:
    """Return the format and scale in a metadata byte; None if the element type has none."""
    if not element.requires_metadata:
        return None
    # A tensor without elements has no stored metadata, so any value is valid.
    return QuarterMetadata("F143") if byte is None else QuarterMetadata.from_byte(byte)
