"""Copies: what all forms have in common, and the one from tensor to tensor.

Copy(tensor, tensor)                                    TensorCopy
Copy(stream, tensor), Copy(tensor, stream)              StreamCopy
Copy(buffer, tensor, row), Copy(tensor, buffer, row)    RemoteCopy
Copy(function_buffer, function)                         CodeCopy

Those that the host takes part in are in `poplite.program.host`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from poplite.errors import ControlProgramError, ElementTypeError, GraphConnectionError, not_called
from poplite.expr.operand import as_read
from poplite.expr.tree import stored_first
from poplite.graph.host.remote import RemoteBuffer
from poplite.graph.host.streams import DataStream
from poplite.graph.tensor.metadata import check_alike
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_text import shared, type_and_shape, why_not_writeable
from poplite.program.base import Program, check_name, declared, set_once
from poplite.program.function import FunctionBuffer
from poplite.text import amount, clipped, fitted, of_type
from poplite.types import QUARTER, ElementType

if TYPE_CHECKING:
    from poplite.program.function import Function
    from poplite.program.host import CodeCopy, RemoteCopy, StreamCopy


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Copy(Program):
    """Moves data: from tensor to tensor, or between a tensor and the host.

    Its arguments decide which form it takes; all are `Copy`. Elements are moved in flattened
    order; both sides have equally many, of one type.

    Args:
        source: a tensor, a stream to the device, a remote buffer, or a function buffer.
        destination: a tensor, a stream to the host, a remote buffer, or the function of a
            function buffer.
        offset: of a remote buffer, INT or UNSIGNED_INT scalar with the number of the row; of k
            elements, the numbers of k rows. Left out, row 0. In Poplar a bool stands here for
            tensors and streams, dontOutline or optimiseMemory, which has no effect.

    Raises:
        ControlProgramError: for different numbers of elements or different graphs, when source
            and destination share elements, for a stream that goes the other way, the buffer of
            another function, and an offset without a remote buffer.
        ElementTypeError: for different element types, or something that cannot be copied.
        TensorMetadataError: for QUARTER tensors whose metadata is not alike.
        GraphConnectionError: when the destination is constant, or holds an element twice.
        StreamMemoryAllocationError: when more than 128 MiB of a remote buffer are moved at a time.

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
        """Return a copy of the form that its ends ask for."""
        if cls is not Copy:
            raise not_called(cls.__name__, "Copy(source, destination)", is_empty=source is None)
        if type(offset) in (bool, str):  # Poplar's dontOutline or optimiseMemory, or a name
            offset = None
        if offset is not None and not {type(source), type(destination)} & {RemoteBuffer}:
            raise ControlProgramError(
                f"Copy: offset {clipped(offset, 60)}, but neither side is a remote buffer",
                fix="slice the tensor to copy a part of it: Copy(x[2:5], y)",
            )
        return object.__new__(_form(source, destination))

    @property
    def tensor(self) -> Tensor | None:
        """The tensor that decides how much is moved: the source, if that is one."""
        for end in (self.source, self.destination):
            if isinstance(end, Tensor):
                return end
        return None

    @property
    def num_elements(self) -> int:
        """Elements that are moved each time."""
        tensor = self.tensor
        return 0 if tensor is None else tensor.num_elements

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
        moved = f"{amount(self.num_elements, 'element')}, {self.size_bytes:,} B"
        return fitted(f"<Copy '{{}}' -> '{{}}' {moved}>", self.source.name, self.destination.name)


@declared
@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class TensorCopy(Copy):
    """Copies a tensor to another; made by `Copy`. Shapes and tiles may differ."""

    source: Tensor
    destination: Tensor

    def __init__(
        self, source: Tensor, destination: Tensor, offset: bool | str = False, name: str = ""
    ) -> None:
        check_name(name, "Copy")
        source = as_read(source, destination)
        for role, tensor in (("source", source), ("destination", destination)):
            if not isinstance(tensor, Tensor):
                raise ElementTypeError(
                    f"Copy: {role} {clipped(tensor, 60)} is not a tensor",
                    found=of_type(tensor),
                    fix=stored_first(
                        tensor, "Copy(source, destination); host values go in by engine.write"
                    ),
                )
        title = f"Copy '{source.name}' -> '{destination.name}'"
        check_copied(title, source, destination)
        set_once(self, source=source, destination=destination, num_steps=1)


def check_copied(title: str, source: Tensor, destination: Tensor) -> None:
    """Refuse to copy a tensor to another that does not fit; `title` names the copy in messages."""
    shapes = f"{type_and_shape(source)} to {type_and_shape(destination)}"
    if source.graph is not destination.graph:
        raise ControlProgramError(
            f"{title}: the tensors belong to two graphs",
            found=f"{source.graph!r} and {destination.graph!r}",
            fix="make both variables with one graph",
        )
    if source.element_type is not destination.element_type:
        raise ElementTypeError(
            f"{title}: {source.element_type!r} to {destination.element_type!r}",
            found=shapes,
            fix="a copy does not convert; use a vertex with an Input and an Output",
        )
    if source.element_type is QUARTER:
        check_alike(title, source.graph.space, source.view, destination.view)
    if source.num_elements != destination.num_elements:
        raise ControlProgramError(
            f"{title}: {amount(source.num_elements, 'element')} to {destination.num_elements:,}",
            found=shapes,
            fix="slice or broadcast the source until both have equally many elements",
        )
    if not destination.is_parallel_writeable():
        reason, fact = why_not_writeable(destination)
        raise GraphConnectionError(
            f"{title}: the destination {reason}",
            found=f"{fact}; {shapes}",
            fix="a constant is never written: copy to a variable of graph.add_variable"
            if destination.contains_constant()
            else "copy to the view before broadcast, upsample or concat with itself",
        )
    if source.intersects_with(destination):
        raise ControlProgramError(
            f"{title}: source and destination share elements",
            found=f"both hold {shared(source, destination)}",
            fix="copy through a third variable",
        )


def _form(source: object, destination: object) -> type[Copy]:
    from poplite.program import host  # whose classes derive from Copy

    for end in (source, destination):
        if isinstance(end, DataStream):
            return host.StreamCopy
        if isinstance(end, RemoteBuffer):
            return host.RemoteCopy
        if isinstance(end, FunctionBuffer):
            return host.CodeCopy
    return TensorCopy
