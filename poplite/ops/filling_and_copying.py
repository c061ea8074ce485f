"""Operations that are steps by themselves, filling and copying, or made of others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.record import store
from poplite.program import Sequence
from poplite.program.recording import OperationRecord, RecordedSteps, Together
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
    return store(target, value, name, program, "ops.fill")


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
    value = False if getattr(target, "element_type", None) is BOOL else 0
    return store(target, value, name, program, "ops.zero")


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
    return store(target, source, name, program, "ops.copy")


@contextmanager
def one_operation(graph: Graph, name: str, place: Sequence) -> Iterator[None]:
    """Record steps as one operation of a name, which begins those of its variables."""
    if isinstance(place, Together):
        place.close_levels()  # as its loops run where they stand
    record, steps = OperationRecord(graph), RecordedSteps(graph, name)
    with steps, graph.scope(name):
        yield
    record.close(name)
    place.add(steps)
