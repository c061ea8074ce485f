"""Programs that move data between a tensor and the host, or call what runs there.

    Copy(images, x)                 StreamCopy    one block of a stream
    Copy(table, x, row)             RemoteCopy    rows of a remote buffer
    Copy(buffer, function)          CodeCopy      the code of a function
    Call(sort, [x], [y])            HostCall      a function of the host

Source: Poplar API reference, "Copy" and "Call".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from poplite.errors import (
    ControlProgramError,
    ElementTypeError,
    GraphConnectionError,
    StreamMemoryAllocationError,
)
from poplite.expr.operand import as_read
from poplite.graph.host.remote import HostFunction, RemoteBuffer
from poplite.graph.host.streams import DataStream, DataStreamType
from poplite.graph.host.transfer_checks import MAX_TRANSFER_BYTES, transfer_text
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_text import type_and_shape, why_not_writeable
from poplite.program.base import NUMBERS, check_name, declared, set_once
from poplite.program.copy import Copy
from poplite.program.function import Call, Function, FunctionBuffer
from poplite.source import SourceLocation, here
from poplite.text import amount, clipped, fitted
from poplite.types import ElementType

_FIFOS = DataStreamType.HOST_TO_DEVICE_FIFO, DataStreamType.DEVICE_TO_HOST_FIFO


@declared
@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class StreamCopy(Copy):
    """One block of a stream, to or from a tensor; made by `Copy`."""

    source: Tensor | DataStream
    destination: Tensor | DataStream
    stream: DataStream

    def __init__(
        self,
        source: Tensor | DataStream,
        destination: Tensor | DataStream,
        offset: bool | str = False,  # in Poplar optimiseMemory
        name: str = "",
    ) -> None:
        check_name(name, "Copy")
        at, source = here(), as_read(source, destination)
        stream, tensor = _sides(source, destination, DataStream, "stream", at)
        to_device = stream is source
        what = f"Copy '{source.name}' -> '{destination.name}'"
        if stream.type not in _FIFOS:
            raise ControlProgramError(
                f"{what}: the stream is a part of remote buffer '{stream.name}'",
                at=at,
                found=f"the buffer was made at {stream.location}",
                fix="Copy(buffer, tensor, row) and Copy(tensor, buffer, row)",
            )
        if to_device != (stream.type is DataStreamType.HOST_TO_DEVICE_FIFO):
            raise ControlProgramError(
                f"{what}: the stream goes from {stream.type.value}",
                at=at,
                found=f"the stream was made at {stream.location}",
                fix="graph.add_host_to_device_fifo for Copy(stream, tensor), "
                "graph.add_device_to_host_fifo for Copy(tensor, stream)",
            )
        _check_alike(what, tensor, stream, to_device, stream.num_elements, "a block has", at)
        ends = {"source": source, "destination": destination}
        set_once(self, **ends, stream=stream, num_steps=1)


@declared
@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class RemoteCopy(Copy):
    """Rows of a remote buffer, to or from a tensor; made by `Copy`.

    `offset` holds the numbers of the rows, read when the program gets there; row 0 when left out.
    """

    source: Tensor | RemoteBuffer
    destination: Tensor | RemoteBuffer
    buffer: RemoteBuffer
    offset: Tensor | None

    def __init__(
        self,
        source: Tensor | RemoteBuffer,
        destination: Tensor | RemoteBuffer,
        offset: Tensor | str | None = None,
        name: str = "",
    ) -> None:
        if isinstance(offset, str):  # a name follows the destination
            name = offset
            offset = None
        check_name(name, "Copy")
        at, source, offset = here(), as_read(source, destination), as_read(offset, source)
        buffer, tensor = _sides(source, destination, RemoteBuffer, "remote buffer", at)
        what = f"Copy '{source.name}' -> '{destination.name}'"
        rows = 1 if offset is None else _rows(offset, buffer, what, at)
        each = "a row has" if rows == 1 else f"{rows:,} rows have"
        _check_alike(what, tensor, buffer, buffer is source, rows * buffer.num_elements, each, at)
        size = tensor.num_elements * tensor.element_type.size_bytes
        if size > MAX_TRANSFER_BYTES:
            raise StreamMemoryAllocationError(
                f"{what}: {transfer_text(tensor.num_elements, tensor.element_type)}, but one "
                f"transfer has at most {MAX_TRANSFER_BYTES:,} B",
                at=at,
                found=f"{amount(rows, 'row')} of {buffer!r}",
                fix="copy fewer rows at a time",
            )
        ends = {"source": source, "destination": destination}
        set_once(self, **ends, buffer=buffer, offset=offset, num_steps=1)

    @property
    def reads(self) -> tuple[Tensor, ...]:
        """The source, if it is a tensor, and the offset."""
        ends = self.source, self.offset
        return tuple(end for end in ends if isinstance(end, Tensor))


@declared
@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class CodeCopy(Copy):
    """Loads the code of a function from its buffer; made by `Copy`."""

    source: FunctionBuffer
    destination: Function

    def __init__(
        self, source: FunctionBuffer, destination: Function, offset: str = "", name: str = ""
    ) -> None:
        check_name(name or offset, "Copy")
        if not isinstance(source, FunctionBuffer) or destination is not source.function:
            raise ControlProgramError(
                f"Copy({clipped(source, 60)}, {clipped(destination, 60)}): "
                "the code of a function goes from its buffer to itself",
                fix="Copy(graph.add_function_buffer(function), function)",
            )
        set_once(self, source=source, destination=destination, num_steps=1)

    def __repr__(self) -> str:
        return fitted("<Copy '{}' -> '{}'>", self.source.name, self.destination.name)


@declared
@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class HostCall(Call):
    """Runs a function of the host; made by `Call(function, inputs, outputs)`."""

    function: HostFunction
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]

    def __init__(
        self,
        function: HostFunction,
        inputs: Iterable[Tensor] = (),
        outputs: Iterable[Tensor] = (),
        name: str = "",
    ) -> None:
        check_name(name, "Call")
        at = here()
        what = f"Call '{function.handle}'"
        sides = {
            "input": (_tensors(inputs, what, at), function.inputs),
            "output": (_tensors(outputs, what, at), function.outputs),
        }
        for role, (tensors, wanted) in sides.items():
            if len(tensors) != len(wanted):
                raise ControlProgramError(
                    f"{what}: {amount(len(tensors), role)}, but the function has {len(wanted):,}",
                    at=at,
                    found=f"{function!r}, made at {function.location}",
                    fix=f"a tensor for each {role}",
                )
            for number, (tensor, (element, count)) in enumerate(zip(tensors, wanted, strict=True)):
                place = f"{what}: {role} {number} '{tensor.name}'"
                _check_type(place, tensor, element, at)
                _check_count(place, tensor, count, "the array has", function, at)
                if tensor.graph is not function.graph:
                    raise _other_graph(place, at)
                if role == "output":
                    _check_writeable(place, tensor, at)
        (given, _), (filled, _) = sides.values()
        for number, tensor in enumerate(filled):
            for other in filled[:number]:
                if tensor.intersects_with(other):
                    raise GraphConnectionError(
                        f"{what}: outputs '{other.name}' and '{tensor.name}' share elements",
                        at=at,
                        fix="give every element one output",
                    )
        set_once(self, function=function, inputs=given, outputs=filled, num_steps=1)

    @property
    def children(self) -> tuple[()]:
        """None: what it runs is no program."""
        return ()

    @property
    def reads(self) -> tuple[Tensor, ...]:
        """The inputs."""
        return self.inputs

    @property
    def writes(self) -> tuple[Tensor, ...]:
        """The outputs."""
        return self.outputs

    def __repr__(self) -> str:
        inputs, outputs = len(self.inputs), len(self.outputs)
        numbers = f"{amount(inputs, 'input')}, {amount(outputs, 'output')}"
        return fitted(f"<Call '{{}}', {numbers}>", self.function.handle)


def _sides(source: Any, destination: Any, kind: type, name: str, at: SourceLocation) -> Any:
    """Return what is on the host, and the tensor."""
    host: Any
    tensor: Any
    host, tensor = (source, destination) if isinstance(source, kind) else (destination, source)
    if not isinstance(tensor, Tensor):
        raise ElementTypeError(
            f"Copy: the other side of {name} '{host.name}' is {clipped(tensor, 60)}, not a tensor",
            at=at,
            fix=f"Copy({name.split()[-1]}, tensor), or Copy(tensor, {name.split()[-1]})",
        )
    return host, tensor


def _check_alike(
    what: str,
    tensor: Tensor,
    other: DataStream | RemoteBuffer,
    is_written: bool,
    count: int,
    each: str,
    at: SourceLocation,
) -> None:
    if tensor.graph is not other.graph:
        raise _other_graph(what, at)
    _check_type(what, tensor, other.element_type, at)
    _check_count(what, tensor, count, each, other, at)
    if is_written:
        _check_writeable(what, tensor, at)


def _other_graph(what: str, at: SourceLocation) -> ControlProgramError:
    return ControlProgramError(
        f"{what}: the two sides belong to two graphs", at=at, fix="make both with one graph"
    )


def _check_type(
    what: str, tensor: Tensor, element: type[ElementType[Any]], at: SourceLocation
) -> None:
    if tensor.element_type is not element:
        raise ElementTypeError(
            f"{what}: the tensor is of {tensor.element_type!r}, the host's side of {element!r}",
            at=at,
            found=type_and_shape(tensor),
            fix="a copy does not convert; use a vertex with an Input and an Output",
        )


def _check_count(
    what: str, tensor: Tensor, count: int, each: str, other: object, at: SourceLocation
) -> None:
    if tensor.num_elements != count:
        raise ControlProgramError(
            f"{what}: the tensor has {amount(tensor.num_elements, 'element')}, {each} {count:,}",
            at=at,
            found=f"{type_and_shape(tensor)}; {other!r}",
            fix="slice the tensor, or make the other side as large",
        )


def _check_writeable(what: str, tensor: Tensor, at: SourceLocation) -> None:
    if not tensor.is_parallel_writeable():
        reason, fact = why_not_writeable(tensor)
        raise GraphConnectionError(
            f"{what}: the tensor {reason}",
            at=at,
            found=fact,
            fix="a tensor that the host writes is of graph.add_variable, each element once",
        )


def _rows(offset: object, buffer: RemoteBuffer, what: str, at: SourceLocation) -> int:
    """Return how many rows an offset names."""
    names = " or ".join(map(repr, NUMBERS))
    if not isinstance(offset, Tensor) or offset.element_type not in NUMBERS:
        raise ElementTypeError(
            f"{what}: offset {clipped(offset, 60)} is no tensor of {names}",
            at=at,
            fix="row = graph.add_variable(pl.UNSIGNED_INT, (), 'row', mapping=0)",
        )
    if offset.graph is not buffer.graph:
        raise _other_graph(f"{what}, offset '{offset.name}'", at)
    if not offset.num_elements:
        raise ControlProgramError(
            f"{what}: offset '{offset.name}' has 0 elements, so that no row would move",
            at=at,
            found=type_and_shape(offset),
            fix="a scalar for one row, k elements for k rows",
        )
    return offset.num_elements


def _tensors(value: object, what: str, at: SourceLocation) -> tuple[Tensor, ...]:
    listed = tuple(map(as_read, value if isinstance(value, list | tuple) else (value,)))
    for tensor in listed:
        if not isinstance(tensor, Tensor):
            raise ElementTypeError(
                f"{what}: {clipped(tensor, 60)} is not a tensor",
                at=at,
                fix="Call(host_function, [x], [y])",
            )
    return listed
