"""Softmax and cross entropies, in forms whose powers never overflow."""

from __future__ import annotations

from typing import Any

from poplite.errors import AxisError
from poplite.named.axes.axes import AxesLike, chosen
from poplite.named.axes.changes import spelled
from poplite.named.ops.element_types import of_floats
from poplite.named.ops.elementwise import Elementwise, apply, exp, log, safelog, stop_gradient
from poplite.named.ops.op import Op, written_as
from poplite.named.ops.reducing import check_not_empty, max as max_of, sum as sum_of
from poplite.named.ops.shaping import axes_with_order


class Softmax(Op):
    """A softmax, which is a quotient; what takes its logarithm finds its operand.

    Attributes:
        below_zero: the operand minus its greatest element.
        total: the sum of its powers.
    """

    __slots__ = ("below_zero", "total")
    what = "softmax"

    def __init__(self, value: Op, below_zero: Op, total: Op) -> None:
        super().__init__(value.axes, value.dtype, (value,))
        self.below_zero, self.total = below_zero, total


def softmax(x: Any, axes: AxesLike) -> Op:
    """Return `exp(x) / sum(exp(x))`, the sum along some axes.

    Args:
        x: FLOAT or HALF.
        axes: along which results add up to 1.

    >>> import poplite.named as ng
    >>> K, N = ng.make_axis(10, "K"), ng.make_axis(8, "N")
    >>> softmax(ng.placeholder([K, N]), [K])
    <softmax (K:10, N:8) FLOAT>
    """
    operand = of_floats(x, "softmax")
    summed = chosen(axes, operand.axes, "softmax")
    check_not_empty("softmax", operand, summed)
    below = operand - stop_gradient(max_of(operand, summed))
    powers = exp(below)
    total = sum_of(powers, summed)
    quotient = written_as("softmax", powers / total)
    return Softmax(axes_with_order(quotient, operand.axes), below, total)


def log_softmax(x: Any, axes: AxesLike) -> Op:
    """Return the logarithm of `softmax`, without taking one of 0."""
    return written_as("log_softmax", _log_of(softmax(x, axes)))


def _log_of(x: Op) -> Op:
    """Return the logarithm of probabilities: of a softmax or sigmoid in its stable form."""
    if isinstance(x, Softmax):
        made = written_as("log_softmax", x.below_zero - log(x.total))
        return axes_with_order(made, x.axes)
    if isinstance(x, Elementwise) and x.operation == "sigmoid":
        return -apply("softplus", -x.args[0])
    return safelog(x)


def cross_entropy_multi(p: Any, t: Any, axes: AxesLike = None, out_axes: AxesLike = None) -> Op:
    """Return the cross entropy of probabilities and targets: `-sum(t * log(p))`.

    Args:
        p: probabilities; of `ng.softmax` the logarithm is taken of what it was made of.
        t: targets, with all axes of p, or whose axes p has.
        axes: along which classes stand, and are summed.
        out_axes: the axes that are left, in this order.

    Raises:
        AxisError: where neither has all axes of the other.
    """
    one, other = _matched(p, t, "cross_entropy_multi")
    made = -sum_of(other * _log_of(one), axes, out_axes)
    return written_as("cross_entropy_multi", made)


def cross_entropy_binary(p: Any, t: Any) -> Op:
    """Return the cross entropy of probabilities of two classes: `-t log(p) - (1 - t) log(1 - p)`.

    Args:
        p: probabilities; of `ng.sigmoid` the logarithms are taken of what it was made of.
        t: targets, 0 or 1.

    Raises:
        AxisError: where neither has all axes of the other.
    """
    one, other = _matched(p, t, "cross_entropy_binary")
    if isinstance(one, Elementwise) and one.operation == "sigmoid":
        x = one.args[0]
        made = apply("softplus", x) - other * x
    else:
        made = -(other * safelog(one) + (1 - other) * safelog(1 - one))
    return written_as("cross_entropy_binary", made)


def _matched(p: Any, t: Any, what: str) -> tuple[Op, Op]:
    one, other = of_floats(p, what), of_floats(t, what)
    if not (one.axes.is_sub_set(other.axes) or other.axes.is_sub_set(one.axes)):
        raise AxisError(
            f"{what}: neither operand has all axes of the other",
            found=f"left  {one.text}\nright {other.text}",
            fix=f"ng.broadcast({spelled(one, 'p')}, "
            f"[{', '.join((one.axes | other.axes).names)}]), if all pairs are meant",
        )
    return one, other
