"""An operation over named axes as text: `sum((x - y) ** 2, [H])`, with the names of its tensors."""

from __future__ import annotations

from typing import Any

from poplite.expr.formula import PRECEDENCE, applied, bracketed, number_text
from poplite.expr.operations import CAST, OPERATIONS
from poplite.named.axes.axes import Axes
from poplite.named.axes.changes import Part
from poplite.named.ops.element_types import NumberOp
from poplite.named.ops.elementwise import Elementwise, StopGradient
from poplite.named.ops.keeping import Gradient, Keep, PlacedByHint
from poplite.named.ops.losses import Softmax
from poplite.named.ops.op import Op
from poplite.named.ops.reducing import Count, DotProduct, Extreme, Reduce, size_of
from poplite.named.ops.shaping import Broadcast
from poplite.named.ops.slicing import Slice
from poplite.text import clipped_text

_SHOWN = 80
"""Characters of a formula."""

_MOST_NODES, _MOST_LEVELS = 40, 20
"""What is written of one; formulas that share parts can be very long, and others very deep."""


def written(op: Op) -> str:
    """Return an operation as one would write it, with dots for what follows so much of it.

    Operations that only name, order or place what they are given are left out.

    >>> import poplite.named as ng
    >>> H, W = ng.make_axis(3, "H"), ng.make_axis(4, "W")
    >>> x, y = ng.placeholder([H, W], name="x"), ng.placeholder([W], name="y")
    >>> written(-ng.sum((x - y) ** 2, [W])), written(ng.mean(x[H, 1:], [H]))
    ('-sum((x - y) ** 2, [W])', 'mean = sum(x[H, 1:], [H]) / 2')
    """
    name = f"{op.written} = " if op.written else ""
    return name + clipped_text(bracketed(op, _with_precedence, _MOST_NODES, _MOST_LEVELS), _SHOWN)


def _with_precedence(node: Op, shown: Any) -> tuple[str, int]:
    while isinstance(node, _NAMES_ONLY) and not node.name:
        (node,) = node.args
    closest = PRECEDENCE["name"]
    match node:
        case Elementwise():
            if node.operation != "cast":
                return applied(OPERATIONS[node.operation], node.args, node.dtype, shown)
            (one,) = node.args
            if isinstance(one, NumberOp):
                return number_text(one.value)
            return applied(CAST, node.args, node.dtype, shown)
        case NumberOp():
            return number_text(node.value)
        case Count():
            return number_text(size_of(node.counted, "mean"))
        case Reduce() | Extreme():
            return f"{node.what}({shown(node.args[0], 0)}, {_listed(node.reduced)})", closest
        case DotProduct():
            one, other = (shown(each, 0) for each in node.args)
            return f"dot({one}, {other}, {_listed(node.summed)})", closest
        case Slice():
            parts = ", ".join(
                f"{axis.name}, {_part(node.parts[axis.root])}"
                for axis in node.args[0].axes
                if axis.root in node.parts
            )
            return f"{shown(node.args[0], closest)}[{parts}]", closest
    if node.name or not node.args:
        return node.name or node.called, closest
    return f"{node.called}({', '.join(shown(each, 0) for each in node.args)})", closest


_NAMES_ONLY = Broadcast, StopGradient, Softmax, Gradient, Keep, PlacedByHint
"""What computes nothing by itself."""


def _listed(axes: Axes) -> str:
    return f"[{', '.join(axes.names)}]"


def _part(part: Part) -> str:
    """Return an index, or a slice, as it stands between brackets."""
    if not isinstance(part, slice):
        return str(part)
    ends = ":".join("" if each is None else str(each) for each in (part.start, part.stop))
    return ends if part.step in (None, 1) else f"{ends}:{part.step}"
