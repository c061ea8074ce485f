"""Operations that are steps by themselves: filling and copying."""

from __future__ import annotations

from poplite.graph.tensor.tensor import Tensor
from poplite.ops.record import assign
from poplite.program import Sequence
from poplite.types import BOOL


def fill(
    target: Tensor,
    value: bool | int | float,
    *,
    name: str = "fill",
    program: Sequence | None = None,
) -> Tensor:
    """Record a step that stores a number in all elements of a tensor.

    Args:
        target: of any type but QUARTER.
        value: a number of its type.
        name: of the step.
        program: where it goes; left out, the block of `graph.steps()` that is open.

    Returns:
        The target.

    Raises:
        ElementTypeError: for a number of another kind.
        SizeOverflowError: for a number that does not fit.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (3,), "x", mapping="linear")
    >>> _ = fill(x, 7, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(x)
    array([7, 7, 7], dtype=int32)
    """
    return assign(target, value, name=name, program=program)


def zero(target: Tensor, *, name: str = "zero", program: Sequence | None = None) -> Tensor:
    """Record a step that stores 0, or False, in all elements of a tensor; see `fill`.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (3,), "x", mapping="linear", initial_value=5)
    >>> _ = zero(x, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(x)
    array([0, 0, 0], dtype=int32)
    """
    is_bool = isinstance(target, Tensor) and target.element_type is BOOL
    return assign(target, False if is_bool else 0, name=name, program=program)


def copy(
    source: Tensor, target: Tensor, *, name: str = "copy", program: Sequence | None = None
) -> Tensor:
    """Record a step that copies a tensor to another; shapes are broadcast.

    Args:
        source: what is copied.
        target: of the same type, and of its shape or one that it is broadcast to.
        name: of the step.
        program: where it goes; left out, the block of `graph.steps()` that is open.

    Returns:
        The target.

    Raises:
        the errors of `ops.map`.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (3,), "x", mapping="linear", initial_value=5)
    >>> y = graph.add_variable(pl.INT, (2, 3), "y", mapping="linear")
    >>> _ = copy(x, y, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y)[1]
    array([5, 5, 5], dtype=int32)
    """
    return assign(target, source, name=name, program=program)
