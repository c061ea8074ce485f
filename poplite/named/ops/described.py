"""The descriptions of operations: views by a chain of steps, and what has storage of its own."""

from __future__ import annotations

from collections.abc import Callable

from poplite.named.description import description_steps
from poplite.named.description.description import TensorDescription
from poplite.named.ops.elementwise import StopGradient
from poplite.named.ops.joining import Concat
from poplite.named.ops.op import Op, makes
from poplite.named.ops.shaping import Broadcast, Regrouped, Relabelled
from poplite.named.ops.slicing import Slice
from poplite.named.ops.tensors import TensorOp


@makes("description")
def description_of(op: Op) -> TensorDescription:
    """Return what is known of an operation before it is stored."""
    return described(op, _allocation)


def described(op: Op, allocation: Callable[[Op], TensorDescription]) -> TensorDescription:
    """Return the description of an operation.

    Args:
        op: the operation.
        allocation: returns the description of what is no view, and has storage if it is stored.
    """
    found: dict[int, TensorDescription] = {}
    waiting = [op]
    while waiting:
        node = waiting[-1]
        step = _step_of(node)
        if step is None:
            found[id(node)] = allocation(node)
        else:
            left = [each for each in node.args if id(each) not in found]
            if left:
                waiting += left
                continue
            first, *more = (found[id(each)] for each in node.args)
            made = found[id(node)] = first.seen(node.axes, step, *more)
            made.name, made.line = node.name, node.line
        waiting.pop()
    return found[id(op)]


def _allocation(op: Op) -> TensorDescription:
    if isinstance(op, TensorOp):
        return op.storage
    made = TensorDescription(op.axes, op.element_type, name=op.name or op.called, read_only=True)
    made.line = op.line
    return made


def _step_of(op: Op) -> description_steps.DescriptionStep | None:
    """Return the step by which an operation is a view of its operands; None for what is none."""
    match op:
        case Broadcast() | Relabelled() | Regrouped():
            return _STEPS[type(op)]
        case StopGradient():
            return _STEPS[Relabelled]
        case Slice():
            return description_steps.PartsStep(op.parts)
        case Concat():
            return description_steps.ConcatStep(op.along.root)
    return None


_STEPS: dict[type[Op], description_steps.DescriptionStep] = {
    Broadcast: description_steps.Ordered("broadcast"),
    Relabelled: description_steps.RelabelStep("cast"),
    Regrouped: description_steps.RegroupStep("flatten"),
}
