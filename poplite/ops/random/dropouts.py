"""Dropout, and its gradient, which finds the same elements without a mask."""

from __future__ import annotations

from typing import NamedTuple

from poplite.errors import TensorCreationError
from poplite.expr.operand import Operand
from poplite.expr.tree import Expr
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_text import type_and_shape
from poplite.ops.operands import FLOATS, check_type, described, own_operand, the_tensor
from poplite.ops.random.checks import TWO_32, threshold
from poplite.ops.random.drawing import RandomDraw
from poplite.ops.record import map as stored
from poplite.program import Sequence
from poplite.vertices.random import Dropout


class Dropped(NamedTuple):
    """What `dropout` returns.

    Attributes:
        out: what is left of the tensor, and 0 elsewhere.
        counter: which elements were dropped, for `dropout_gradient`: UNSIGNED_INT[4].
    """

    out: Tensor
    counter: Tensor


def dropout(
    key: Tensor,
    x: Operand,
    rate: float,
    *,
    out: Tensor | None = None,
    name: str = "dropout",
    program: Sequence | None = None,
) -> Dropped:
    """Record a draw that replaces elements by 0, and divides the others by what share is left.

    Args:
        key: what is drawn from; see `ops.random.key`.
        x: FLOAT or HALF. An expression is stored first.
        rate: the probability of an element to become 0, from 0 to 1, to the next multiple of 2^-32.
        out: what takes the result, of the type and size of x; it may be x itself. Left out, a new
            variable that lies as x.
        name: of the new variable and of the steps.
        program: where the steps go; left out, the block of `graph.steps()` that is open.

    Returns:
        The result, and the counter of the draw: with it `dropout_gradient` finds the same elements
        again, so that no mask is stored.

    Raises:
        InvalidOption: for another rate.
        the errors of `ops.random.uniform`.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> x = graph.add_variable(pl.FLOAT, (8,), "x", mapping="linear", initial_value=range(8))
    >>> y, counter = dropout(pl.ops.random.key(graph, seed=7), x, 0.5, program=program)
    >>> gradient = dropout_gradient(counter, x, 0.5, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> set(engine.read(y)) <= {0, 2, 4, 6, 8, 10, 12, 14}
    True
    >>> bool((engine.read(y) == engine.read(gradient)).all())
    True
    """
    what = "ops.random.dropout"
    draw = RandomDraw(what, key, name, program, x)
    made = _drop(draw, what, x, rate, out, name, program)
    return Dropped(made, draw.counter)


def dropout_gradient(
    counter: Tensor,
    gradient: Operand,
    rate: float,
    *,
    out: Tensor | None = None,
    name: str = "dropout_gradient",
    program: Sequence | None = None,
) -> Tensor:
    """Record what a dropout did, on a gradient: 0 for the same elements, the others divided.

    Args:
        counter: what `ops.random.dropout` returned beside its result.
        gradient: of the shape of that result, FLOAT or HALF.
        rate: of the dropout.
        out: what takes the result, of the type and shape of the gradient; left out, a new variable.
        name: of the new variable and of the steps.
        program: where the steps go; left out, the block of `graph.steps()` that is open.

    Returns:
        The gradient by what went into the dropout.

    Raises:
        the errors of `ops.random.dropout`, which has an example.
    """
    what = "ops.random.dropout_gradient"
    draw = RandomDraw(what, counter, name, program, gradient, again=True)
    return _drop(draw, what, gradient, rate, out, name, program)


def _drop(
    draw: RandomDraw,
    what: str,
    x: Operand,
    rate: float,
    out: Tensor | None,
    name: str,
    program: Sequence | None,
) -> Tensor:
    """Record what a draw leaves of a tensor."""
    kept = TWO_32 - threshold(what, "rate", rate)
    x = own_operand(what, draw.graph, x, program)
    check_type(what, x, FLOATS)
    if out is not None:
        the_tensor(what, "out", out)
        if (out.element_type, out.shape) != (x.element_type, x.shape):
            raise TensorCreationError(
                f"{what}: out '{out.name}' is {type_and_shape(out)}, x {described(x)}",
                fix="an out of that type and shape",
            )
    draw.check_out(out, None)
    if isinstance(x, Expr):
        x = stored(x, name=f"{name}/x", program=program)
    numbers = {"threshold": kept, "scale": TWO_32 / kept if kept else 0.0}
    return draw.new(Dropout, numbers, x.shape, x.element_type, out, None, {"x": x})
