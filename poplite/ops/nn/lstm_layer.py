"""LSTM layers, with their gradients.

    f, i, o = sigmoid(x W + h U + b)      a = tanh(x W + h U + b)      gates f, i, a, o
    c = f * c + i * a                     h = o * tanh(c)

Source: S. Hochreiter, J. Schmidhuber, "Long Short-Term Memory" (1997); F. Gers, J. Schmidhuber,
F. Cummins, "Learning to Forget" (2000); PopLibs, `popnn/Lstm.hpp`, for the order of the gates.
"""

from __future__ import annotations

from typing import NamedTuple

from poplite.errors import TensorCreationError, checked_truth
from poplite.expr.build import cast
from poplite.expr.operand import Operand
from poplite.expr.tree import Expr
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.control import together
from poplite.ops.elementwise import sigmoid, tanh
from poplite.ops.nn.recurrent import (
    Layer,
    RecurrentWeights,
    backwards,
    forwards,
    if_running,
    layer_of,
    mapped_like,
    masked_output,
    of_step,
    outputs_before,
    parted,
    running,
    saved_of,
    sequence,
    store_step,
    wide,
)
from poplite.ops.products.matmul import matmul
from poplite.ops.record import assign, copy, map as stored, one_operation, zero
from poplite.ops.reductions.expressions import sum
from poplite.ops.slices.gather import as_tensor
from poplite.program import Sequence
from poplite.text import clipped, of_type
from poplite.types import FLOAT

GATES = 4


class LstmState(NamedTuple):
    """The state of an LSTM between steps, or gradients with respect to it.

    Attributes:
        output: [batch, units].
        cell: [batch, units].

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> plan = pl.ops.nn.plan_lstm(graph, batch=2, inputs=3, units=8)
    >>> first = [graph.add_variable(pl.FLOAT, (2, 8), name, mapping=0) for name in ("h", "c")]
    >>> x, weights = plan.create_input(5), plan.create_weights()
    >>> made = pl.ops.nn.lstm(x, weights, pl.ops.nn.LstmState(*first), program=program)
    >>> made.state.output.shape, made.state.cell.shape
    ((2, 8), (2, 8))
    """

    output: Tensor
    cell: Tensor


class LstmSaved(NamedTuple):
    """Values of an LSTM from which its gradients are computed.

    Attributes:
        gates: [steps, batch, 4 * units], before their activation.
        cells: [steps, batch, units], before each step.
        outputs: [steps, batch, units], before each step.
        lengths: the number of steps of each sequence, [batch]; None if all are complete.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> plan = pl.ops.nn.plan_lstm(graph, batch=2, inputs=3, units=8)
    >>> made = pl.ops.nn.lstm(plan.create_input(5), plan.create_weights(), program=program)
    >>> made.saved.gates.shape, made.saved.cells.shape, made.saved.lengths
    ((5, 2, 32), (5, 2, 8), None)
    """

    gates: Tensor
    cells: Tensor
    outputs: Tensor
    lengths: Tensor | None = None


class Lstm(NamedTuple):
    """The results of an LSTM.

    Attributes:
        outputs: [steps, batch, units].
        state: the state after the last step.
        saved: values for `lstm_gradient`; None after inference.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> plan = pl.ops.nn.plan_lstm(graph, batch=2, inputs=3, units=8)
    >>> x, weights = plan.create_input(5), plan.create_weights()
    >>> made = pl.ops.nn.lstm(x, weights, inference=True, program=program)
    >>> made.outputs.shape, made.state.cell.shape, made.saved
    ((5, 2, 8), (2, 8), None)
    """

    outputs: Tensor
    state: LstmState
    saved: LstmSaved | None


class LstmGradient(NamedTuple):
    """The gradients of an LSTM.

    Attributes:
        x: gradient with respect to the inputs, [steps, batch, inputs].
        weights: gradient with respect to the weights.
        state: gradient with respect to the state before the first step.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> plan = pl.ops.nn.plan_lstm(graph, batch=2, inputs=3, units=8)
    >>> x, weights = plan.create_input(5), plan.create_weights()
    >>> made = pl.ops.nn.lstm(x, weights, program=program)
    >>> by = pl.ops.nn.lstm_gradient(x, weights, made, made.outputs, program=program)
    >>> by.weights.output.shape, by.state.cell.shape
    ((4, 8, 8), (2, 8))
    """

    x: Tensor
    weights: RecurrentWeights
    state: LstmState


def lstm(
    x: Operand,
    weights: RecurrentWeights,
    state: LstmState | None = None,
    *,
    lengths: Operand | None = None,
    inference: bool = False,
    name: str = "lstm",
    program: Sequence | None = None,
) -> Lstm:
    """Record an LSTM over the steps of sequences, in a loop.

    From the gates `f, i, o = sigmoid(x @ W + h @ U + b)` and `a = tanh(x @ W + h @ U + b)`, in the
    order f, i, a, o, each step computes `c = f * c + i * a` and `h = o * tanh(c)`. For HALF,
    everything is computed in FLOAT; only the pre-activation gates, c and h are rounded to HALF.

    Args:
        x: [steps, batch, inputs], FLOAT or HALF.
        weights: tensors of the type of x: W [4, inputs, units], U [4, units, units] and b [4,
            units].
        state: h and c before the first step; zeros by default.
        lengths: the number of steps of each sequence, UNSIGNED_INT [batch]; by default, every
            sequence has all the steps. A sequence with fewer steps keeps the state after its last
            step; its outputs after that are 0.
        inference: whether to skip saving the values that `lstm_gradient` needs.
        name: name of the outputs and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        The outputs h of all steps, the state after them, and values for `lstm_gradient`.

    Raises:
        ElementTypeError: if x is not floating-point, or if `inference` is not a bool.
        TensorCreationError: for operands whose shapes or types do not match.
        ControlProgramError: if `program` is omitted outside any block of steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> weights = pl.ops.nn.RecurrentWeights(
    ...     graph.add_variable(pl.FLOAT, (4, 1, 1), "w", mapping=0, initial_value=0),
    ...     graph.add_variable(pl.FLOAT, (4, 1, 1), "u", mapping=0, initial_value=0),
    ...     graph.add_variable(
    ...         pl.FLOAT, (4, 1), "b", mapping=0, initial_value=[[99], [99], [99], [99]]
    ...     ),
    ... )
    >>> x = graph.add_variable(pl.FLOAT, (3, 1, 1), "x", mapping=0, initial_value=0)
    >>> made = lstm(x, weights, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(made.state.cell).tolist()
    [[3.0]]
    """
    what = "ops.nn.lstm"
    inference = checked_truth(inference, f"{what}: inference")
    call = layer_of(what, x, weights, GATES, 1, name, program)
    begin = None if state is None else _state(call, "state", state)
    ends = None if lengths is None else call.lengths(lengths)
    steps, batch, _, units = call.sizes
    graph, element, wu = call.graph, call.element, call.matrix
    outputs = sequence(graph, element, (steps, batch, units), name)
    with one_operation(graph, name, call.place):
        read = as_tensor(call.x, "x", None)
        like = outputs[0] if steps else sequence(graph, element, (1, batch, units), "like")[0]
        h, c = mapped_like(like, "output"), mapped_like(like, "cell")
        _begin(h, c, begin)
        after = None if ends is None else as_tensor(ends, "lengths", None)
        saved = None
        if not inference:
            before = outputs_before(h, like, outputs)
            gates = sequence(graph, element, (steps, batch, GATES * units), "gates")
            cells = sequence(graph, element, (steps, batch, units), "cells")
            saved = LstmSaved(gates, cells, before, after)
        if not call.is_empty:
            bias = wide(call.weights.bias.flatten())
            with forwards(steps) as step:
                both = concat([of_step(read, step, "x"), h], 1)
                z = stored(cast(matmul(both, wu, result=FLOAT) + bias, element), name="gates")
                if saved is not None:
                    store_step(saved.gates, z, step, "gates")
                    store_step(saved.cells, c, step, "cells")
                run = running(after, step)
                f, i, a, o = _activated(z, units)
                assign(c, cast(if_running(run, f * wide(c) + i * a, wide(c)), element), name="cell")
                made = if_running(run, o * tanh(wide(c)), wide(h))
                assign(h, cast(made, element), name="output")
                store_step(outputs, masked_output(run, h), step, "outputs")
    return Lstm(outputs, LstmState(h, c), saved)


def lstm_gradient(
    x: Operand,
    weights: RecurrentWeights,
    forward: Lstm,
    gradient: Operand,
    *,
    by_state: LstmState | None = None,
    name: str = "lstm_gradient",
    program: Sequence | None = None,
) -> LstmGradient:
    """Record the gradients of an LSTM with respect to its inputs, weights and initial state.

    Args:
        x: as in `lstm`.
        weights: as in `lstm`.
        forward: the result of `lstm` for these operands, with `inference=False`; its outputs and
            sequence lengths must not have changed since. With lengths, x after the end of a
            sequence is multiplied by 0 and must be finite.
        gradient: gradient with respect to the outputs of all steps, of their shape and type.
        by_state: gradient with respect to the state after the last step, on top of what
            `gradient` already contributes for the last output; zeros by default.
        name: name of the steps, and the prefix of the names of the results.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Raises:
        TensorCreationError: if `forward` was not returned by `lstm`, or was computed with
            `inference=True`.
        whatever `lstm` raises.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> plan = pl.ops.nn.plan_lstm(graph, batch=2, inputs=3, units=8)
    >>> x, weights = plan.create_input(5), plan.create_weights()
    >>> made = pl.ops.nn.lstm(x, weights, program=program)
    >>> by = pl.ops.nn.lstm_gradient(x, weights, made, made.outputs, program=program)
    >>> by.x.shape, by.weights.input.shape
    ((5, 2, 3), (4, 3, 8))
    """
    call = layer_of("ops.nn.lstm_gradient", x, weights, GATES, 1, name, program)
    steps, batch, inputs, units = call.sizes
    graph, element, wu = call.graph, call.element, call.matrix
    widths = {"gates": GATES * units, "cells": units, "outputs": units}
    saved: LstmSaved = saved_of(call, forward, Lstm, widths)
    asked = call.operand_of_type("gradient", gradient, forward.outputs.shape)
    end = None if by_state is None else _state(call, "by_state", by_state)
    by_x = sequence(graph, element, (steps, batch, inputs), f"{name}/x")
    with one_operation(graph, name, call.place):
        read, by_outputs = as_tensor(call.x, "inputs", None), as_tensor(asked, "gradient", None)
        like = saved.cells[0] if steps else sequence(graph, element, (1, batch, units), "like")[0]
        by_h, by_c = mapped_like(like, "state/output"), mapped_like(like, "state/cell")
        _begin(by_h, by_c, end)
        by_gates = sequence(graph, element, (steps, batch, GATES * units), "by_gates")
        if call.is_empty:
            zero(by_x)
        else:
            with backwards(steps) as step:
                z = of_step(saved.gates, step, "gates")
                before = of_step(saved.cells, step, "cells")
                g = of_step(by_outputs, step, "gradient")
                run = running(saved.lengths, step)
                dz = _step_back(z, before, if_running(run, wide(g) + wide(by_h), 0.0), by_c, run)
                store_step(by_gates, dz, step, "by_gates")
                both = stored(matmul(dz, wu.transpose()), name="both")
                store_step(by_x, both[:, :inputs], step, "by_x")
                assign(by_h, if_running(run, both[:, inputs:], by_h), name="by_output")
        operands = concat([read, saved.outputs], 2).reshape((steps * batch, inputs + units))
        rows = by_gates.reshape((steps * batch, GATES * units))
        by_matrix = stored(matmul(operands.transpose(), rows), name="weights")
        by_bias = stored(sum(rows, 0), name="bias").reshape((GATES, units))
    by_weights = RecurrentWeights(*parted(by_matrix, inputs, GATES), by_bias)
    return LstmGradient(by_x, by_weights, LstmState(by_h, by_c))


def _begin(h: Tensor, c: Tensor, begin: LstmState | None) -> None:
    """Record the initial state of a loop: the given one or zeros."""
    if begin is None:
        zero(h)
        zero(c)
    else:
        copy(begin.output, h)
        copy(begin.cell, c)


def _activated(z: Tensor, units: int) -> tuple[Expr, Expr, Expr, Expr]:
    """Return the gates f, i, a, o of a step, in FLOAT."""
    f, i, a, o = (wide(z[:, n * units : (n + 1) * units]) for n in range(GATES))
    return sigmoid(f), sigmoid(i), tanh(a), sigmoid(o)


def _step_back(z: Tensor, before: Tensor, by_h: Expr, by_c: Tensor, run: Tensor | None) -> Tensor:
    """Record the gradients of a step: return that of the gates, and update that of c."""
    units, element = before.shape[1], z.element_type
    dz = mapped_like(z, "by_gate")
    # Each gate is on only some of the tiles; gates that share a compute set use all tiles.
    with together():
        f, i, a, o = (stored(each, name="gate") for each in _activated(z, units))
    t = stored(tanh(f * wide(before) + i * a), name="tanh_cell")
    through = stored(
        if_running(run, wide(by_c) + by_h * o * (1.0 - t * t), 0.0), name="through_cell"
    )
    made = (
        through * wide(before) * f * (1.0 - f),
        through * a * i * (1.0 - i),
        through * i * (1.0 - a * a),
        by_h * t * o * (1.0 - o),
    )
    with together():
        for n, each in enumerate(made):
            part = dz[:, n * units : (n + 1) * units]
            assign(part, cast(each, element), name=f"by_gate_{n}")
        assign(by_c, cast(if_running(run, through * f, wide(by_c)), element), name="by_cell")
    return dz


def _state(call: Layer, role: str, state: object) -> LstmState:
    _, batch, _, units = call.sizes
    if not isinstance(state, LstmState):
        raise TensorCreationError(
            f"{call.what}: {role} {clipped(state)} is not a state",
            found=of_type(state),
            fix="pass ops.nn.LstmState(output, cell)",
        )
    for part, x in zip(state._fields, state, strict=True):
        call.tensor(f"{role}.{part}", x, (batch, units))
    return state
