"""Programs that move data: between tensors, between replicas, or to and from the host.

    Copy(tensor, tensor)                                   TensorCopy
    Copy(stream, tensor), Copy(tensor, stream)             StreamCopy   one block of a stream
    Copy(buffer, tensor, row), Copy(tensor, buffer, row)   RemoteCopy   rows of a remote buffer
    Copy(function_buffer, function)                        CodeCopy     the code of a function
    CrossReplicaCopy(x, y, {0: 1, 1: 2, 2: 0})             x in replica 0 to y in replica 1, ...
    Call(sort, [x], [y])                                   HostCall     a function on the host

Source: Poplar API reference, "Copy" and "Call".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import InitVar
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from poplite.errors import (
    ControlProgramError,
    ElementTypeError,
    GraphConnectionError,
    GraphReplicationError,
    StreamMemoryAllocationError,
    not_called,
)
from poplite.expr.operand import as_read
from poplite.expr.tree import stored_first
from poplite.graph.host import (
    MAX_TRANSFER_BYTES,
    DataStream,
    DataStreamType,
    HostFunction,
    RemoteBuffer,
    transfer_text,
)
from poplite.graph.space import check_same_metadata
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_text import shared, type_and_shape, why_not_writeable
from poplite.graph.tile_mapping import ranges
from poplite.program.base import (
    NUMBERS,
    Call,
    Function,
    FunctionBuffer,
    Program,
    check_name,
    checked_tensor,
    declared,
    derived,
    fill,
    reads,
    set_once,
    writes,
)
from poplite.text import amount, clipped, integer_or_none
from poplite.types import QUARTER, ElementType

SHOWN = 4
"""Maximum number of replicas that an error shows in an example of a map."""

_FIFOS = DataStreamType.HOST_TO_DEVICE_FIFO, DataStreamType.DEVICE_TO_HOST_FIFO


@declared(init=False)
class Copy(Program):
    """Moves data from tensor to tensor, or between a tensor and the host.

    Its arguments determine which subclass of `Copy` is created. Elements are moved in flattened
    order; both sides have the same number of elements, of the same type.

    Args:
        source: a tensor, a stream to the device, a remote buffer, or a function buffer.
        destination: a tensor, a stream to the host, a remote buffer, or the function of a
            function buffer.
        offset: for a remote buffer, an INT or UNSIGNED_INT scalar with the number of the row, or a
            tensor with k elements for the numbers of k rows; by default row 0. For tensors and
            streams, Poplar has a bool here, dontOutline or optimiseMemory, without effect.

    Raises:
        ControlProgramError: for different numbers of elements or different graphs, when source
            and destination share elements, for a stream in the wrong direction, the buffer of
            another function, and an offset without a remote buffer.
        ElementTypeError: for different element types, or an object that cannot be copied.
        TensorMetadataError: for QUARTER tensors with different metadata.
        GraphConnectionError: when the destination is constant, or contains an element twice.
        StreamMemoryAllocationError: when more than 128 MiB of a remote buffer are moved at a time.

    >>> from poplite.graph import Graph
    >>> graph = Graph()
    >>> a, b = graph.add_variable("int32", (3,), "a"), graph.add_variable("int32", (1, 3), "b")
    >>> Copy(a, b)
    <Copy 'a' -> 'b' 3 elements, 12 B>
    >>> Copy(graph.add_host_to_device_fifo("in", "int32", 3), a)
    <Copy 'in' -> 'a' 3 elements, 12 B>
    """

    _title = "Copy '{source.name}' -> '{destination.name}'"
    source: Tensor | DataStream | RemoteBuffer | FunctionBuffer = reads()
    destination: Tensor | DataStream | RemoteBuffer | Function = writes()

    @overload
    def __new__(
        cls, source: Tensor, destination: Tensor, offset: bool | str = False, name: str = ""
    ) -> TensorCopy: ...
    @overload
    def __new__(
        cls, source: DataStream, destination: Tensor, offset: bool | str = False, name: str = ""
    ) -> StreamCopy: ...
    @overload
    def __new__(
        cls, source: Tensor, destination: DataStream, offset: bool | str = False, name: str = ""
    ) -> StreamCopy: ...
    @overload
    def __new__(
        cls,
        source: RemoteBuffer,
        destination: Tensor,
        offset: Tensor | str | None = None,
        name: str = "",
    ) -> RemoteCopy: ...
    @overload
    def __new__(
        cls,
        source: Tensor,
        destination: RemoteBuffer,
        offset: Tensor | str | None = None,
        name: str = "",
    ) -> RemoteCopy: ...
    @overload
    def __new__(
        cls, source: FunctionBuffer, destination: Function, offset: str = "", name: str = ""
    ) -> CodeCopy: ...
    # Any: the overloads above are the signature.
    def __new__(
        cls, source: Any = None, destination: Any = None, offset: Any = None, name: Any = ""
    ) -> Any:
        """Return a copy of the subclass that fits source and destination."""
        if cls is not Copy:
            raise not_called(cls.__name__, "Copy(source, destination)", is_empty=source is None)
        if type(offset) in (bool, str):  # Poplar's dontOutline or optimiseMemory, or a name
            offset = None
        if offset is not None and not {type(source), type(destination)} & {RemoteBuffer}:
            raise ControlProgramError(
                f"Copy: offset {clipped(offset, 60)}, but neither side is a remote buffer",
                fix="slice the tensor to copy part of it: Copy(x[2:5], y)",
            )
        return object.__new__(_form(source, destination))

    @property
    def tensor(self) -> Tensor | None:
        """The tensor that determines the size: the source, if that is a tensor."""
        for end in (self.source, self.destination):
            if isinstance(end, Tensor):
                return end
        return None

    @property
    def num_elements(self) -> int:
        """Number of elements that are moved in each run."""
        tensor = self.tensor
        return 0 if tensor is None else tensor.num_elements

    @property
    def size_bytes(self) -> int:
        """Number of bytes that are moved in each run."""
        tensor = self.tensor
        return 0 if tensor is None else tensor.num_elements * tensor.element_type.size_bytes

    def _detail(self) -> str:
        return f" {amount(self.num_elements, 'element')}, {self.size_bytes:,} B"


@declared()
class TensorCopy(Copy):
    """Copies a tensor to another; created by `Copy`. Shapes and tiles may differ."""

    source: Tensor = reads()
    destination: Tensor = writes()
    offset: InitVar[bool | str] = False
    name: InitVar[str] = ""

    def _check(self) -> None:
        source = as_read(self.source, self.destination)
        if source is not self.source:
            fill(self, source=source)
        fix = "Copy(source, destination), or engine.write(tensor, values) for host values"
        for role in ("source", "destination"):
            checked_tensor(getattr(self, role), f"Copy: {role}", fix)
        check_copied(self, self.source, self.destination)


def _form(source: object, destination: object) -> type[Copy]:
    for end in (source, destination):
        if isinstance(end, DataStream):
            return StreamCopy
        if isinstance(end, RemoteBuffer):
            return RemoteCopy
        if isinstance(end, FunctionBuffer):
            return CodeCopy
    return TensorCopy


@declared()
class StreamCopy(Copy):
    """One block of a stream, to or from a tensor; created by `Copy`."""

    source: Tensor | DataStream = reads()
    destination: Tensor | DataStream = writes()
    offset: InitVar[bool | str] = False  # in Poplar optimiseMemory
    name: InitVar[str] = ""
    stream: DataStream = derived()

    def _check(self) -> None:
        stream, tensor = _sides(self, DataStream, "stream")
        to_device = stream is self.source
        if stream.type not in _FIFOS:
            raise ControlProgramError(
                f"{self}: the stream belongs to remote buffer '{stream.name}'",
                found=f"the buffer was made at {stream.location}",
                fix="use Copy(buffer, tensor, row) or Copy(tensor, buffer, row)",
            )
        if to_device != (stream.type is DataStreamType.HOST_TO_DEVICE_FIFO):
            raise ControlProgramError(
                f"{self}: the direction of the stream is {stream.type.value}",
                found=f"the stream was made at {stream.location}",
                fix="use Copy(tensor, stream), or a stream of graph.add_host_to_device_fifo"
                if to_device
                else "use Copy(stream, tensor), or a stream of graph.add_device_to_host_fifo",
            )
        each = stream.element_type, stream.num_elements, "a block has"
        _check_host_side(str(self), tensor, stream, *each, is_written=to_device)
        fill(self, stream=stream)


@declared()
class RemoteCopy(Copy):
    """Rows of a remote buffer, to or from a tensor; created by `Copy`.

    `offset` contains the numbers of the rows and is read when the copy runs; by default row 0.
    """

    source: Tensor | RemoteBuffer = reads()
    destination: Tensor | RemoteBuffer = writes()
    offset: Tensor | None = reads(default=None)
    name: InitVar[str] = ""
    buffer: RemoteBuffer = derived()

    def _check(self) -> None:
        offset: Any = None if isinstance(self.offset, str) else self.offset  # a str is a name
        offset = as_read(offset, self.source)
        buffer, tensor = _sides(self, RemoteBuffer, "remote buffer")
        what = str(self)
        rows = 1 if offset is None else _rows(offset, buffer, what)
        has = "a row has" if rows == 1 else f"{rows:,} rows have"
        each = buffer.element_type, rows * buffer.num_elements, has
        _check_host_side(what, tensor, buffer, *each, is_written=buffer is self.source)
        if self.size_bytes > MAX_TRANSFER_BYTES:
            raise StreamMemoryAllocationError(
                f"{what}: {transfer_text(tensor.num_elements, tensor.element_type)}, but one "
                f"transfer moves at most {MAX_TRANSFER_BYTES:,} B",
                found=f"{amount(rows, 'row')} of {buffer!r}",
                fix="copy fewer rows at a time",
            )
        fill(self, buffer=buffer, offset=offset)


@declared()
class CodeCopy(Copy):
    """Loads the code of a function from its buffer; created by `Copy`."""

    source: FunctionBuffer = reads()
    destination: Function = writes()
    offset: InitVar[str] = ""
    name: InitVar[str] = ""

    def __post_init__(self, *arguments: object) -> None:
        """Accept a name in place of the offset, as Poplar does."""
        for name in arguments:
            check_name(name, "Copy")
        Program.__post_init__(self)

    def _check(self) -> None:
        source, destination = self.source, self.destination
        if not isinstance(source, FunctionBuffer) or destination is not source.function:
            raise ControlProgramError(
                f"Copy({clipped(source, 60)}, {clipped(destination, 60)}): "
                "the code of a function can only be copied from its buffer to the function",
                fix="Copy(graph.add_function_buffer(function), function)",
            )

    def _detail(self) -> str:
        return ""


@declared()
class HostCall(Call):
    """Runs a function on the host; created by `Call(function, inputs, outputs)`."""

    function: HostFunction
    inputs: tuple[Tensor, ...] = reads(default=())
    outputs: tuple[Tensor, ...] = writes(default=())
    name: InitVar[str] = ""

    def _check(self) -> None:
        function, what = self.function, str(self)
        for role, wanted in (("input", function.inputs), ("output", function.outputs)):
            tensors = _tensors(getattr(self, f"{role}s"), what)
            fill(self, **{f"{role}s": tensors})
            if len(tensors) != len(wanted):
                raise ControlProgramError(
                    f"{what}: {amount(len(tensors), role)}, but the function has {len(wanted):,}",
                    found=f"{function!r}, made at {function.location}",
                    fix=f"pass a tensor for each {role}",
                )
            for number, (tensor, (element, count)) in enumerate(zip(tensors, wanted, strict=True)):
                place = f"{what}: {role} {number} '{tensor.name}'"
                each = element, count, "the array has"
                _check_host_side(place, tensor, function, *each, is_written=role == "output")
        for number, tensor in enumerate(self.outputs):
            for other in self.outputs[:number]:
                if tensor.intersects_with(other):
                    raise GraphConnectionError(
                        f"{what}: outputs '{other.name}' and '{tensor.name}' share elements",
                        fix="connect each output to separate elements",
                    )

    def _detail(self) -> str:
        return f", {amount(len(self.inputs), 'input')}, {amount(len(self.outputs), 'output')}"


@declared()
class CrossReplicaCopy(Program):
    """Copies a tensor of each replica to a tensor of another replica, in one exchange.

    Args:
        source: the tensor to read.
        destination: the tensor to write, with the same number of elements, of the same type.
        replica_map: for each replica, the replica to which its source is copied: a dictionary, a
            list or an array; every replica receives once.
        name: as in Poplar; it has no effect.

    Attributes:
        replica_map: for each replica, the replica to which its source is copied.

    Raises:
        GraphReplicationError: when replicas are missing, or receive twice or never.
        PopliteError: for tensors that do not fit each other, as for `Copy`.

    >>> from poplite.graph import Graph
    >>> from poplite.machine.target import Target
    >>> graph = Graph(Target(tiles=6, ipus=3), replication_factor=3)
    >>> a, b = graph.add_variable("int32", (4,), "a"), graph.add_variable("int32", (4,), "b")
    >>> CrossReplicaCopy(a, b, {0: 1, 1: 2, 2: 0})
    <CrossReplicaCopy 'a' -> 'b' of replicas 1, 2, 0, 4 elements>
    """

    _title = "CrossReplicaCopy '{source.name}' -> '{destination.name}'"
    source: Tensor = reads()
    destination: Tensor = writes()
    replica_map: tuple[int, ...]

    def __init__(
        self,
        source: Tensor,
        destination: Tensor,
        replica_map: Mapping[int, int] | Sequence[int] | npt.NDArray[np.integer[Any]],
        name: str = "",
    ) -> None:
        source = as_read(source)
        fix = "CrossReplicaCopy(source, destination, {0: 1, 1: 0})"
        for role, tensor in (("source", source), ("destination", destination)):
            checked_tensor(tensor, f"CrossReplicaCopy: {role}", fix)
        title = f"CrossReplicaCopy '{source.name}' -> '{destination.name}'"
        check_copied(title, source, destination)
        to = _permutation(replica_map, source.graph.replication_factor, title)
        set_once(self, source=source, destination=destination, replica_map=to)

    def _detail(self) -> str:
        to = ", ".join(map(str, self.replica_map))
        return f" of replicas {to}, {amount(self.source.num_elements, 'element')}"


# -- checks ----------------------------------------------------------------------------------------


def check_copied(title: object, source: Tensor, destination: Tensor) -> None:
    """Refuse to copy a tensor to another that does not fit; `title` names the copy in messages."""
    if source.graph is not destination.graph:
        raise ControlProgramError(
            f"{title}: the tensors belong to two graphs",
            found=f"{source.graph!r} and {destination.graph!r}",
            fix="create both variables with one graph",
        )
    if source.element_type is not destination.element_type:
        types = source.element_type, destination.element_type
        converted = f"convert the source first: ops.map(ops.cast(x, {types[1]!r}))"
        by_vertex = "convert in a vertex with an Input and an Output"
        raise ElementTypeError(
            f"{title}: a copy does not convert {types[0]!r} to {types[1]!r}",
            found=_shapes(source, destination),
            fix=by_vertex if QUARTER in types else converted,
        )
    if source.element_type is QUARTER:
        check_same_metadata(str(title), source.graph.space, source.view, destination.view)
    if source.num_elements != destination.num_elements:
        raise ControlProgramError(
            f"{title}: {amount(source.num_elements, 'element')} to {destination.num_elements:,}",
            found=_shapes(source, destination),
            fix="slice or broadcast the source so that both have as many elements",
        )
    if not destination.is_parallel_writeable():
        reason, fact = why_not_writeable(destination)
        raise GraphConnectionError(
            f"{title}: the destination {reason}",
            found=f"{fact}; {_shapes(source, destination)}",
            fix="copy to a variable (graph.add_variable)"
            if destination.contains_constant()
            else "copy to the view before broadcast, upsample or concat with itself",
        )
    if source.intersects_with(destination):
        raise ControlProgramError(
            f"{title}: source and destination share elements",
            found=f"both contain {shared(source, destination)}",
            fix="copy through a third variable",
        )


def _shapes(source: Tensor, destination: Tensor) -> str:
    return f"{type_and_shape(source)} to {type_and_shape(destination)}"


def _sides(copy: StreamCopy | RemoteCopy, kind: type, name: str) -> Any:
    """Return the host side and the tensor of a copy; an operand as source is read first."""
    source: Any = as_read(copy.source, copy.destination)
    if source is not copy.source:
        fill(copy, source=source)
    host, tensor = source, copy.destination
    if not isinstance(source, kind):
        host, tensor = copy.destination, source
    if not isinstance(tensor, Tensor):
        side = name.split()[-1]
        raise ElementTypeError(
            f"Copy: the other side of {name} '{host.name}' is {clipped(tensor, 60)}, not a tensor",
            fix=stored_first(tensor, f"Copy({side}, tensor), or Copy(tensor, {side})"),
        )
    return host, tensor


def _check_host_side(
    what: str,
    tensor: Tensor,
    host: DataStream | RemoteBuffer | HostFunction,
    element: type[ElementType[Any]],
    count: int,
    each: str,
    *,
    is_written: bool,
) -> None:
    """Refuse a tensor that does not match the host side; `each` begins the text of its size."""
    if tensor.graph is not host.graph:
        raise _other_graph(what)
    if tensor.element_type is not element:
        raise ElementTypeError(
            f"{what}: the tensor is {tensor.element_type!r}, but the host's side is {element!r}",
            found=type_and_shape(tensor),
            fix="convert in a vertex with an Input and an Output, since a copy does not",
        )
    if tensor.num_elements != count:
        raise ControlProgramError(
            f"{what}: the tensor has {amount(tensor.num_elements, 'element')}, {each} {count:,}",
            found=f"{type_and_shape(tensor)}; {host!r}",
            fix="slice the tensor, or use equal sizes",
        )
    if is_written and not tensor.is_parallel_writeable():
        reason, fact = why_not_writeable(tensor)
        raise GraphConnectionError(
            f"{what}: the tensor {reason}",
            found=fact,
            fix="pass a tensor of variables (graph.add_variable) with each element once",
        )


def _other_graph(what: str) -> ControlProgramError:
    return ControlProgramError(
        f"{what}: the two sides belong to two graphs", fix="create both with one graph"
    )


def _rows(offset: object, buffer: RemoteBuffer, what: str) -> int:
    """Return the number of rows that an offset selects."""
    names = " or ".join(map(repr, NUMBERS))
    if not isinstance(offset, Tensor) or offset.element_type not in NUMBERS:
        raise ElementTypeError(
            f"{what}: offset {clipped(offset, 60)} is not a tensor of {names}",
            fix="row = graph.add_variable(pl.UNSIGNED_INT, (), 'row', mapping=0)",
        )
    if offset.graph is not buffer.graph:
        raise _other_graph(f"{what}, offset '{offset.name}'")
    if not offset.num_elements:
        raise ControlProgramError(
            f"{what}: offset '{offset.name}' has 0 elements, so no row would be copied",
            found=type_and_shape(offset),
            fix="pass a scalar for one row, or k elements for k rows",
        )
    return offset.num_elements


def _tensors(value: object, what: str) -> tuple[Tensor, ...]:
    listed = tuple(map(as_read, value if isinstance(value, list | tuple) else (value,)))
    for tensor in listed:
        if not isinstance(tensor, Tensor):
            raise ElementTypeError(
                f"{what}: {clipped(tensor, 60)} is not a tensor",
                fix="Call(host_function, [x], [y])",
            )
    return listed


def _permutation(replica_map: object, count: int, title: str) -> tuple[int, ...]:
    """Return, for each replica, the replica to which its source is copied."""
    pairs: list[tuple[object, object]] = []
    replica_map = replica_map.tolist() if isinstance(replica_map, np.ndarray) else replica_map
    if isinstance(replica_map, Mapping):
        pairs = list(replica_map.items())
    elif isinstance(replica_map, Sequence):
        pairs = list(enumerate(replica_map))
    numbers = [(integer_or_none(sender), integer_or_none(receiver)) for sender, receiver in pairs]
    to_of = {sender: to for sender, to in numbers if sender is not None and to is not None}
    times = Counter(to_of.values())
    faults = {
        "replicas that send nothing": [n for n in range(count) if n not in to_of],
        "replicas that receive nothing": [n for n in range(count) if n not in times],
        "replicas that receive more than once": sorted(n for n in times if times[n] > 1),
        "replicas that do not exist": sorted({*to_of, *times} - set(range(count))),
    }
    lines = [f"{what}: {ranges(listed)}" for what, listed in faults.items() if listed]
    if len(to_of) < len(pairs) or not pairs:
        lines = [f"{clipped(replica_map, 60)} does not map replicas to replicas"]
    if lines:
        shown = {number: (number + 1) % count for number in range(min(count, SHOWN))}
        raise GraphReplicationError(
            f"{title}: {lines[0]}",
            found="\n".join([*lines[1:], f"the graph has {amount(count, 'replica')}"]),
            fix=f"let every replica send and receive once: {shown}"
            + (f" for the first {SHOWN}, and so on" if count > SHOWN else ""),
        )
    return tuple(to for _, to in sorted(to_of.items()))
