"""Types of the elementwise functions of popops: parameters and results of their three forms.

    add             TwoOperands[Value, Tensor]
    addInPlace      TwoOperands[Tensor, None]
    addWithOutput   TwoOperandsWithOutput

The operand that is replaced is a tensor; of those that are only read, at least one must be.
"""

# ruff: noqa: D102  # the one method of a class is the function

from __future__ import annotations

from typing import Protocol, TypeAlias, TypeVar

from poplite.compat.arguments import Options
from poplite.compat.popops.expr import Number
from poplite.expr.operand import Operand
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.program import Sequence as Steps

Value: TypeAlias = Operand | Number
"""An operand that is only read."""

First = TypeVar("First", contravariant=True)
Result = TypeVar("Result", covariant=True)


class OneOperand(Protocol[First, Result]):
    """A function of one operand, such as `popops.abs`."""

    def __call__(
        self,
        graph: Graph,
        a: First,
        prog: Steps | None,
        debug_context: str = "",
        options: Options = None,
    ) -> Result: ...


class OneOperandWithOutput(Protocol):
    """Such as `popops.absWithOutput`."""

    def __call__(
        self,
        graph: Graph,
        a: Value,
        out: Tensor,
        prog: Steps | None,
        debug_context: str = "",
        options: Options = None,
    ) -> None: ...


class TwoOperands(Protocol[First, Result]):
    """A function of two operands, such as `popops.add`."""

    def __call__(
        self,
        graph: Graph,
        a: First,
        b: Value,
        prog: Steps | None,
        debug_context: str = "",
        options: Options = None,
    ) -> Result: ...


class TwoOperandsWithOutput(Protocol):
    """Such as `popops.addWithOutput`."""

    def __call__(
        self,
        graph: Graph,
        a: Value,
        b: Value,
        out: Tensor,
        prog: Steps | None,
        debug_context: str = "",
        options: Options = None,
    ) -> None: ...


class ThreeOperands(Protocol[First, Result]):
    """A function of three operands, such as `popops.clamp`."""

    def __call__(
        self,
        graph: Graph,
        a: First,
        b: Value,
        c: Value,
        prog: Steps | None,
        debug_context: str = "",
        options: Options = None,
    ) -> Result: ...


class ThreeOperandsWithOutput(Protocol):
    """Such as `popops.clampWithOutput`."""

    def __call__(
        self,
        graph: Graph,
        a: Value,
        b: Value,
        c: Value,
        out: Tensor,
        prog: Steps | None,
        debug_context: str = "",
        options: Options = None,
    ) -> None: ...


UnaryForms = tuple[OneOperand[Value, Tensor], OneOperand[Tensor, None], OneOperandWithOutput]
BinaryForms = tuple[TwoOperands[Value, Tensor], TwoOperands[Tensor, None], TwoOperandsWithOutput]
TernaryForms = tuple[
    ThreeOperands[Value, Tensor], ThreeOperands[Tensor, None], ThreeOperandsWithOutput
]
