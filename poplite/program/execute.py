"""The program that runs a compute set."""

from __future__ import annotations

from dataclasses import dataclass

from poplite.errors import ControlProgramError, ElementTypeError, GraphConnectionError
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_text import type_and_shape
from poplite.program.base import Program, declared, set_once
from poplite.text import amount, clipped, fitted, of_type
from poplite.types import BOOL


@declared
@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Execute(Program):
    """Runs all vertices of a compute set at once.

    Args:
        compute_set: what runs.
        result: one element of BOOL that is true afterwards when all vertices whose `compute`
            is declared `-> bool` returned true; the others do not count. Written once all
            vertices have run. Left out, what they return is forgotten.
        name: as in Poplar; it has no effect.

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

    def __init__(
        self, compute_set: ComputeSet, result: Tensor | str | None = None, name: str = ""
    ) -> None:
        if not isinstance(compute_set, ComputeSet):
            raise ControlProgramError(
                f"Execute: {clipped(compute_set, 80)} is no compute set",
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
        vertices = amount(len(self.compute_set.vertices), "vertex", "vertices")
        if self.result is None:
            return fitted(f"<Execute '{{}}' {vertices}>", self.compute_set.name)
        names = self.compute_set.name, self.result.name
        return fitted(f"<Execute '{{}}' {vertices} -> '{{}}'>", *names)


def _check_result(title: str, compute_set: ComputeSet, result: object) -> None:
    fix = "all_done = graph.add_variable(BOOL, (), mapping=0); Execute(compute_set, all_done)"
    if not isinstance(result, Tensor):
        raise ElementTypeError(
            f"{title}: result {clipped(result, 60)} is not a tensor", found=of_type(result), fix=fix
        )
    found = type_and_shape(result)
    if result.element_type is not BOOL:
        raise ElementTypeError(
            f"{title}: result '{result.name}' is of {result.element_type!r}, not BOOL",
            found=found,
            fix=fix,
        )
    if result.num_elements != 1:
        raise ControlProgramError(
            f"{title}: result '{result.name}' has {amount(result.num_elements, 'element')}, "
            "but 1 is needed",
            found=found,
            fix=fix,
        )
    if result.graph is not compute_set.graph:
        raise ControlProgramError(
            f"{title}: result '{result.name}' belongs to another graph",
            found=f"{result.graph!r} and {compute_set.graph!r}",
            fix="make the compute set and the result with one graph",
        )
    if result.contains_constant():
        raise GraphConnectionError(
            f"{title}: result '{result.name}' is constant", found=found, fix=fix
        )
