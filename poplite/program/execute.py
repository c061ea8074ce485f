"""Programs that do something on tiles: run a compute set, move data."""

from __future__ import annotations

from dataclasses import dataclass

from poplite.errors import ControlProgramError, ElementTypeError, GraphConnectionError
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.tensor.metadata import check_alike
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.text import shared, type_and_shape, why_not_writeable
from poplite.program.base import Program, set_once
from poplite.program.copy import Copy
from poplite.source import here
from poplite.text import clipped, counted, fitted, of_type
from poplite.types import BOOL


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Execute(Program):
    """Runs all vertices of a compute set at once.

    Args:
        compute_set: what runs.
        result: one element of BOOL that is true afterwards when all vertices whose `compute`
            is declared `-> bool` returned true; the others do not count. Written once all
            vertices have run. Left out, what they return is forgotten.

    Raises:
        ControlProgramError: when it is no compute set, or the result not one element or of
            another graph.
        ElementTypeError: when the result is no tensor of BOOL.
        GraphConnectionError: when the result is constant.

    >>> from poplite.graph import Graph
    >>> graph = Graph()
    >>> compute_set, done = graph.add_compute_set("blur"), graph.add_variable("bool", (), "done")
    >>> Execute(compute_set), Execute(compute_set, done)
    (<Execute 'blur' 0 vertices>, <Execute 'blur' 0 vertices -> 'done'>)
    """

    compute_set: ComputeSet
    result: Tensor | None

    def __init__(self, compute_set: ComputeSet, result: Tensor | None = None) -> None:
        if not isinstance(compute_set, ComputeSet):
            raise ControlProgramError(
                f"Execute: {clipped(compute_set, 80)} is no compute set",
                at=here(),
                found=of_type(compute_set),
                fix="Execute(graph.add_compute_set(name))",
            )
        if result is not None:
            _check_result(f"Execute '{compute_set.name}'", compute_set, result)
        set_once(self, compute_set=compute_set, result=result, num_steps=1)

    @property
    def writes(self) -> tuple[Tensor, ...]:
        """The result, if there is one."""
        return () if self.result is None else (self.result,)

    def __str__(self) -> str:
        to = "" if self.result is None else f" -> '{self.result.name}'"
        return f"Execute '{self.compute_set.name}'{to}"

    def __repr__(self) -> str:
        vertices = counted(len(self.compute_set.vertices), "vertex", "vertices")
        if self.result is None:
            return fitted(f"<Execute '{{}}' {vertices}>", self.compute_set.name)
        names = self.compute_set.name, self.result.name
        return fitted(f"<Execute '{{}}' {vertices} -> '{{}}'>", *names)


def _check_result(title: str, compute_set: ComputeSet, result: object) -> None:
    fix = "all_done = graph.add_variable(BOOL, (), mapping=0); Execute(compute_set, all_done)"
    if not isinstance(result, Tensor):
        raise ElementTypeError(
            f"{title}: result {clipped(result, 60)} is not a tensor",
            at=here(),
            found=of_type(result),
            fix=fix,
        )
    found = type_and_shape(result)
    if result.element_type is not BOOL:
        raise ElementTypeError(
            f"{title}: result '{result.name}' is of {result.element_type!r}, not BOOL",
            at=here(),
            found=found,
            fix=fix,
        )
    if result.num_elements != 1:
        raise ControlProgramError(
            f"{title}: result '{result.name}' has {counted(result.num_elements, 'element')}, "
            "but 1 is needed",
            at=here(),
            found=found,
            fix=fix,
        )
    if result.graph is not compute_set.graph:
        raise ControlProgramError(
            f"{title}: result '{result.name}' belongs to another graph",
            at=here(),
            found=f"{result.graph!r} and {compute_set.graph!r}",
            fix="make the compute set and the result with one graph",
        )
    if result.contains_constant():
        raise GraphConnectionError(
            f"{title}: result '{result.name}' is constant", at=here(), found=found, fix=fix
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class TensorCopy(Copy):
    """Copies a tensor to another; made by `Copy`.

    Shapes may differ, and both may lie on any tiles.

    Args:
        source: what is read.
        destination: what is written: equally many elements of the same type.
    """

    source: Tensor
    destination: Tensor

    def __init__(self, source: Tensor, destination: Tensor) -> None:
        for role, tensor in (("source", source), ("destination", destination)):
            if not isinstance(tensor, Tensor):
                raise ElementTypeError(
                    f"Copy: {role} {clipped(tensor, 60)} is not a tensor",
                    at=here(),
                    found=of_type(tensor),
                    fix="Copy(source, destination); host values go in by engine.write",
                )
        title = f"Copy '{source.name}' -> '{destination.name}'"
        check_copied(title, source, destination)
        set_once(self, source=source, destination=destination, num_steps=1)


def check_copied(title: str, source: Tensor, destination: Tensor) -> None:
    """Refuse to copy a tensor to another that does not fit.

    Args:
        title: what the copy is called in messages.
        source: what is read.
        destination: what is written.

    Raises:
        ControlProgramError: for different numbers of elements or different graphs, and when
            they share elements.
        ElementTypeError: for different element types.
        TensorMetadataError: for QUARTER tensors whose metadata is not alike.
        GraphConnectionError: when the destination is constant, or holds an element twice.
    """
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
            f"{title}: {counted(source.num_elements, 'element')} to {destination.num_elements:,}",
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
