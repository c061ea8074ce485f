"""A call of an operation on inputs with channels: what its operands have to be."""

from __future__ import annotations

from poplite.errors import ElementTypeError, TensorCreationError
from poplite.expr.operand import Operand
from poplite.expr.tree import ElementClass, Expr
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.convolution.arguments import check_rank as check_rank
from poplite.ops.convolution.request import ConvolutionRequest
from poplite.ops.filling_and_copying import zero
from poplite.ops.operands import (
    FLOATS,
    Given,
    called,
    check_placed,
    check_type,
    described,
    graph_of,
    operand,
    own_operand,
    steps_for,
)
from poplite.ops.record import map as stored
from poplite.program import Sequence as Steps


class ConvolutionCall:
    """A call of an operation: all is checked before anything is recorded."""

    def __init__(self, what: str, name: str, program: Steps | None) -> None:
        self.what, self.name, self.program = what, name, program

    def operands(self, *given: tuple[Operand, str]) -> list[Given]:
        """Return operands of one graph and one type of floats."""
        (x, role), *others = given
        first = operand(self.what, x, self.program, role)
        self.graph: Graph = graph_of(self.what, first, self.program, *(each for each, _ in others))
        check_type(self.what, first, FLOATS, role)
        check_placed(first)
        found = [first, *(self.another(other, name, first) for other, name in others)]
        self.steps = steps_for(self.what, self.graph, self.name, self.program)
        return found

    def another(self, x: Operand, role: str, first: Given) -> Given:
        """Return an operand of the same graph, and of the type of the first one."""
        found = own_operand(self.what, self.graph, x, self.program, role)
        check_placed(found)
        if found.element_type is not first.element_type:
            raise ElementTypeError(
                f"{self.what}: {called(first)} and {called(found)} differ in type",
                found=f"{described(first)} and {described(found)}",
                fix="ops.cast",
            )
        return found

    def stored(self, x: Given, role: str) -> Tensor:
        """Return a tensor: an expression is stored first."""
        if isinstance(x, Expr):
            return stored(x, name=f"{self.name}/{role}", program=self.program)
        return x

    def zeros(self, element: ElementClass, shape: tuple[int, ...], name: str) -> Tensor:
        """Return a new tensor, and record the steps that make its elements 0, if it has some."""
        made = self.graph.add_variable(element, shape, name, mapping="linear")
        return zero(made, name=name, program=self.program) if made.num_elements else made


def check_same_rank(what: str, one: Given, other: Given) -> None:
    """Refuse operands of different ranks."""
    if one.rank != other.rank:
        raise TensorCreationError(
            f"{what}: {called(one)} has shape {one.shape}, {called(other)} {other.shape}",
            found=f"{one.rank} and {other.rank} dimensions",
            fix="as many: inputs [batch, channels, size ...], weights [channels, channels, ...]",
        )


def check_number(what: str, name: str, sizes: tuple[int, ...], rank: int) -> None:
    """Refuse sizes that are not as many as there are dimensions."""
    if len(sizes) != rank:
        raise TensorCreationError(
            f"{what}: {name} is {sizes}",
            found=f"{len(sizes)} sizes, {rank} dimensions",
            fix="as many sizes",
        )


def check_gradient(what: str, gradient: Given, request: ConvolutionRequest) -> None:
    """Refuse a gradient of another shape than the output."""
    shape = request.batch, request.groups * request.outputs, *request.field
    if gradient.shape != shape:
        raise TensorCreationError(
            f"{what}: {called(gradient)} has shape {gradient.shape}, the output {shape}",
            found=str(request),
            fix="the gradient of the output, with the parameters of the convolution",
        )


def check_equal_shape(what: str, one: Given, other: Given) -> None:
    """Refuse operands of different shapes."""
    if one.shape != other.shape:
        raise TensorCreationError(
            f"{what}: {called(one)} has shape {one.shape}, {called(other)} {other.shape}",
            fix="the same shape",
        )
