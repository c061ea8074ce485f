"""What the forms of Copy have in common.

Copy(tensor, tensor)                                    TensorCopy
Copy(stream, tensor), Copy(tensor, stream)              StreamCopy
Copy(buffer, tensor, row), Copy(tensor, buffer, row)    RemoteCopy
Copy(function_buffer, function)                         CodeCopy
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from poplite.errors import ControlProgramError
from poplite.graph.host.remote import FunctionBuffer, RemoteBuffer
from poplite.graph.host.streams import DataStream
from poplite.graph.tensor.tensor import Tensor
from poplite.program.base import Program
from poplite.source import here
from poplite.text import clipped, counted, fitted
from poplite.types import ElementType

if TYPE_CHECKING:
    from poplite.program.execute import TensorCopy
    from poplite.program.function import Function
    from poplite.program.host import CodeCopy, RemoteCopy, StreamCopy


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Copy(Program):
    """Moves data: from tensor to tensor, or between a tensor and the host.

    What it is given decides which form it is of; all are `Copy`. Elements are moved in flattened
    order; both sides have equally many, of one type.

    Args:
        source: a tensor, a stream to the device, a remote buffer, or a function buffer.
        destination: a tensor, a stream to the host, a remote buffer, or the function of a
            function buffer.
        offset: of a remote buffer, INT or UNSIGNED_INT scalar with the number of the row; of k
            elements, the numbers of k rows. Left out, row 0.

    Raises:
        ControlProgramError: for different numbers of elements or different graphs, when source
            and destination share elements, and for an offset without a remote buffer.
        ElementTypeError: for different element types, or something that cannot be copied.
        TensorMetadataError: for QUARTER tensors whose metadata is not alike.
        GraphConnectionError: when the destination is constant, or holds an element twice.

    >>> from poplite.graph import Graph
    >>> graph = Graph()
    >>> a, b = graph.add_variable("int32", (3,), "a"), graph.add_variable("int32", (1, 3), "b")
    >>> Copy(a, b)
    <Copy 'a' -> 'b' 3 elements, 12 B>
    >>> Copy(graph.add_host_to_device_fifo("in", "int32", 3), a)
    <Copy 'in' -> 'a' 3 elements, 12 B>
    """

    source: Tensor | DataStream | RemoteBuffer | FunctionBuffer
    destination: Tensor | DataStream | RemoteBuffer | Function

    @overload
    def __new__(cls, source: Tensor, destination: Tensor) -> TensorCopy: ...
    @overload
    def __new__(cls, source: DataStream, destination: Tensor) -> StreamCopy: ...
    @overload
    def __new__(cls, source: Tensor, destination: DataStream) -> StreamCopy: ...
    @overload
    def __new__(
        cls, source: RemoteBuffer, destination: Tensor, offset: Tensor | None = None
    ) -> RemoteCopy: ...
    @overload
    def __new__(
        cls, source: Tensor, destination: RemoteBuffer, offset: Tensor | None = None
    ) -> RemoteCopy: ...
    @overload
    def __new__(cls, source: FunctionBuffer, destination: Function) -> CodeCopy: ...
    # Any: the overloads above are the signature.
    def __new__(cls, source: Any = None, destination: Any = None, offset: Any = None) -> Any:
        """Return a copy of the form that its ends ask for."""
        if offset is not None and not {type(source), type(destination)} & {RemoteBuffer}:
            raise ControlProgramError(
                f"Copy: offset {clipped(offset, 60)}, but neither side is a remote buffer",
                at=here(),
                fix="slice the tensor to copy a part of it: Copy(x[2:5], y)",
            )
        return object.__new__(_form(source, destination) if cls is Copy else cls)

    @property
    def tensor(self) -> Tensor | None:
        """The tensor that decides how much is moved: the source, if that is one."""
        ends = self.source, self.destination
        return next((end for end in ends if isinstance(end, Tensor)), None)

    @property
    def num_elements(self) -> int:
        """Elements that are moved each time."""
        return 0 if self.tensor is None else self.tensor.num_elements

    @property
    def size_bytes(self) -> int:
        """Bytes that are moved each time."""
        return 0 if self.tensor is None else self.num_elements * self._element.size_bytes

    @property
    def _element(self) -> type[ElementType[Any]]:
        assert self.tensor is not None
        return self.tensor.element_type

    @property
    def reads(self) -> tuple[Tensor, ...]:
        """The source, if it is a tensor."""
        return (self.source,) if isinstance(self.source, Tensor) else ()

    @property
    def writes(self) -> tuple[Tensor, ...]:
        """The destination, if it is a tensor."""
        return (self.destination,) if isinstance(self.destination, Tensor) else ()

    def __str__(self) -> str:
        return f"Copy '{self.source.name}' -> '{self.destination.name}'"

    def __repr__(self) -> str:
        moved = f"{counted(self.num_elements, 'element')}, {self.size_bytes:,} B"
        return fitted(f"<Copy '{{}}' -> '{{}}' {moved}>", self.source.name, self.destination.name)


def _form(source: object, destination: object) -> type[Copy]:
    from poplite.program import (
        execute,  # whose classes derive from Copy
        host,
    )

    for end in (source, destination):
        if isinstance(end, DataStream):
            return host.StreamCopy
        if isinstance(end, RemoteBuffer):
            return host.RemoteCopy
        if isinstance(end, FunctionBuffer):
            return host.CodeCopy
    return execute.TensorCopy
