"""Programs that do something: run a compute set, move data, print."""

from __future__ import annotations

from dataclasses import dataclass

from poplite.compute_set import ComputeSet
from poplite.errors import ControlProgramError, ElementTypeError, GraphConnectionError
from poplite.metadata import check_alike
from poplite.program.base import Program, set_once
from poplite.source import here
from poplite.tensor import Tensor
from poplite.tensor_text import shared, type_and_shape, why_not_writeable
from poplite.words import clipped, counted, fitted


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Execute(Program):
    """Runs all vertices of a compute set at once.

    Args:
        compute_set: what runs.

    Raises:
        ControlProgramError: when it is no compute set.

    >>> from poplite.graph import Graph
    >>> Execute(Graph().add_compute_set("blur"))
    <Execute 'blur' 0 vertices>
    """

    compute_set: ComputeSet

    def __init__(self, compute_set: ComputeSet) -> None:
        if not isinstance(compute_set, ComputeSet):
            raise ControlProgramError(
                f"Execute: {clipped(compute_set, 80)} is no compute set",
                at=here(),
                fix="Execute(graph.add_compute_set(name))",
            )
        set_once(self, compute_set=compute_set, num_steps=1)

    def __str__(self) -> str:
        return f"Execute '{self.compute_set.name}'"

    def __repr__(self) -> str:
        vertices = counted(len(self.compute_set.vertices), "vertex", "vertices")
        return fitted(f"<Execute '{{}}' {vertices}>", self.compute_set.name)


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Copy(Program):
    """Copies a tensor to another, element by element in flattened order.

    Shapes may differ, and both may lie on any tiles.

    Args:
        source: what is read.
        destination: what is written: equally many elements of the same type.

    Raises:
        ControlProgramError: for different numbers of elements or different graphs, and when
            source and destination share elements.
        ElementTypeError: for different element types, or something that is no tensor.
        TensorMetadataError: for QUARTER tensors whose metadata is not alike.
        GraphConnectionError: when the destination is constant, or holds an element twice.

    >>> from poplite.graph import Graph
    >>> graph = Graph()
    >>> a, b = graph.add_variable("int32", (3,), "a"), graph.add_variable("int32", (1, 3), "b")
    >>> Copy(a, b)
    <Copy 'a' -> 'b' 3 elements, 12 B>
    """

    source: Tensor
    destination: Tensor

    def __init__(self, source: Tensor, destination: Tensor) -> None:
        for role, tensor in (("source", source), ("destination", destination)):
            if not isinstance(tensor, Tensor):
                raise ElementTypeError(
                    f"Copy: {role} {clipped(tensor, 60)} is not a tensor",
                    at=here(),
                    fix="Copy(source, destination); host values go in by engine.write",
                )
        title = f"Copy '{source.name}' -> '{destination.name}'"
        shapes = f"{type_and_shape(source)} to {type_and_shape(destination)}"
        if source.graph is not destination.graph:
            raise ControlProgramError(
                f"{title}: the tensors belong to two graphs",
                at=here(),
                found=f"{source.graph!r} and {destination.graph!r}",
                fix="make both variables with one graph",
            )
        if source.element_type is not destination.element_type:
            raise ElementTypeError(
                f"{title}: {source.element_type!r} to {destination.element_type!r}",
                at=here(),
                found=shapes,
                fix="a copy does not convert; use a vertex with an Input and an Output",
            )
        check_alike(title, source, destination)
        if source.num_elements != destination.num_elements:
            raise ControlProgramError(
                f"{title}: {counted(source.num_elements, 'element')} to "
                f"{destination.num_elements:,}",
                at=here(),
                found=shapes,
                fix="slice or broadcast the source until both have equally many elements",
            )
        if not destination.is_parallel_writeable():
            reason, fact = why_not_writeable(destination)
            raise GraphConnectionError(
                f"{title}: the destination {reason}",
                at=here(),
                found=f"{fact}; {shapes}",
                fix="a constant is never written: copy to a variable of graph.add_variable"
                if destination.contains_constant()
                else "copy to the view before broadcast, upsample or concat with itself",
            )
        if source.intersects_with(destination):
            raise ControlProgramError(
                f"{title}: source and destination share elements",
                at=here(),
                found=f"both hold {shared(source, destination)}",
                fix="copy through a third variable",
            )
        set_once(self, source=source, destination=destination, num_steps=1)

    @property
    def reads(self) -> tuple[Tensor, ...]:
        """The source."""
        return (self.source,)

    @property
    def writes(self) -> tuple[Tensor, ...]:
        """The destination."""
        return (self.destination,)

    def __str__(self) -> str:
        return f"Copy '{self.source.name}' -> '{self.destination.name}'"

    def __repr__(self) -> str:
        elements = self.source.num_elements
        size = elements * self.source.element_type.size_bytes
        return fitted(
            f"<Copy '{{}}' -> '{{}}' {counted(elements, 'element')}, {size:,} B>",
            self.source.name,
            self.destination.name,
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class PrintTensor(Program):
    """Prints a tensor on the host: `title: values`.

    Args:
        title: what stands before the values; left out, the tensor's name. As in Poplar it
            comes first when it is given.
        tensor: what is printed.

    Raises:
        ElementTypeError: when there is no tensor, or the title is no text.

    >>> from poplite.graph import Graph
    >>> x = Graph().add_variable("int32", (3,), "x")
    >>> PrintTensor(x), PrintTensor("result", x)
    (<PrintTensor 'x' int32[3]>, <PrintTensor 'result' int32[3]>)
    """

    title: str
    tensor: Tensor

    def __init__(self, title: str | Tensor, tensor: Tensor | None = None) -> None:
        text, shown = title, tensor
        if isinstance(title, Tensor) and tensor is None:
            text, shown = title.name, title
        if not isinstance(text, str) or not isinstance(shown, Tensor):
            swapped = isinstance(title, Tensor) and isinstance(tensor, str)
            raise ElementTypeError(
                "PrintTensor: the title comes first, then the tensor"
                if swapped
                else f"PrintTensor({clipped(title)}, {clipped(tensor)}) has no tensor to print",
                at=here(),
                found=f"title {clipped(title, 60)}, tensor {clipped(tensor, 60)}",
                fix=f"PrintTensor({clipped(tensor)}, t)"
                if swapped
                else "PrintTensor(t), or PrintTensor('title', t)",
            )
        set_once(self, title=text, tensor=shown, num_steps=1)

    @property
    def reads(self) -> tuple[Tensor, ...]:
        """What is printed."""
        return (self.tensor,)

    def __str__(self) -> str:
        return f"PrintTensor '{self.title}'"

    def __repr__(self) -> str:
        return fitted(f"<PrintTensor '{{}}' {type_and_shape(self.tensor)}>", self.title)
