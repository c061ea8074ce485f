"""Recurrent layers, with their gradients: LSTM and GRU.

An LSTM:

    f, i, o = sigmoid(x W + h U + b)      a = tanh(x W + h U + b)      gates f, i, a, o
    c = f * c + i * a                     h = o * tanh(c)

A GRU:

    r, u = sigmoid(x W + h U + b)         reset, update
    a = tanh(x W + (r * h) U + b)         or, with the reset after the product,
    a = tanh(x W + b0 + r * (h U + b1))
    h = u * h + (1 - u) * a

Source: S. Hochreiter, J. Schmidhuber, "Long Short-Term Memory" (1997); F. Gers, J. Schmidhuber,
F. Cummins, "Learning to Forget" (2000); K. Cho et al., "Learning Phrase Representations using RNN
Encoder-Decoder" (2014); PopLibs, `popnn/Lstm.hpp` and `popnn/Gru.hpp`, for the orders of the gates
and the meaning of u.
"""

from __future__ import annotations

from typing import NamedTuple

from poplite.errors import TensorCreationError, checked_kind, checked_truth
from poplite.expr.build import cast
from poplite.expr.operand import Operand
from poplite.expr.tree import Expr
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.control import together
from poplite.ops.elements import sigmoid, tanh
from poplite.ops.loop_over_rows import backwards, forwards, of_step, sequence, store_step
from poplite.ops.nn.recurrent import (
    Layer,
    RecurrentWeights,
    if_running,
    layer_of,
    mapped_like,
    masked_output,
    outputs_before,
    parted,
    running,
    saved_of,
    wide,
)
from poplite.ops.operands import Given
from poplite.ops.products.matmul import matmul
from poplite.ops.record import assign, copy, map as stored, one_operation, zero
from poplite.ops.reductions.expressions import sum
from poplite.ops.slices.gather import as_tensor
from poplite.program import Sequence
from poplite.types import FLOAT

_OF_LSTM, _OF_GRU = 4, 3
"""The number of gates of a cell."""

# -- LSTM ------------------------------------------------------------------------------------------


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
    call = layer_of(what, x, weights, _OF_LSTM, 1, name, program)
    begin = None if state is None else _checked_state(call, "state", state)
    ends = None if lengths is None else call.lengths(lengths)
    steps, batch, _, units = call.sizes
    graph, element, wu = call.graph, call.element, call.matrix
    outputs = sequence(graph, element, (steps, batch, units), name)
    with one_operation(graph, name, call.place):
        read = as_tensor(call.x, "x", None)
        like = outputs[0] if steps else sequence(graph, element, (1, batch, units), "like")[0]
        h, c = mapped_like(like, "output"), mapped_like(like, "cell")
        _begin_lstm(h, c, begin)
        after = None if ends is None else as_tensor(ends, "lengths", None)
        saved = None
        if not inference:
            before = outputs_before(h, like, outputs)
            gates = sequence(graph, element, (steps, batch, _OF_LSTM * units), "gates")
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
                f, i, a, o = _lstm_gates(z, units)
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
    call = layer_of("ops.nn.lstm_gradient", x, weights, _OF_LSTM, 1, name, program)
    steps, batch, inputs, units = call.sizes
    graph, element, wu = call.graph, call.element, call.matrix
    widths = {"gates": _OF_LSTM * units, "cells": units, "outputs": units}
    saved: LstmSaved = saved_of(call, forward, Lstm, widths)
    asked = call.operand_of_type("gradient", gradient, forward.outputs.shape)
    end = None if by_state is None else _checked_state(call, "by_state", by_state)
    by_x = sequence(graph, element, (steps, batch, inputs), f"{name}/x")
    with one_operation(graph, name, call.place):
        read, by_outputs = as_tensor(call.x, "inputs", None), as_tensor(asked, "gradient", None)
        like = saved.cells[0] if steps else sequence(graph, element, (1, batch, units), "like")[0]
        by_h, by_c = mapped_like(like, "state/output"), mapped_like(like, "state/cell")
        _begin_lstm(by_h, by_c, end)
        by_gates = sequence(graph, element, (steps, batch, _OF_LSTM * units), "by_gates")
        if call.is_empty:
            zero(by_x)
        else:
            with backwards(steps) as step:
                z = of_step(saved.gates, step, "gates")
                before = of_step(saved.cells, step, "cells")
                g = of_step(by_outputs, step, "gradient")
                run = running(saved.lengths, step)
                dz = _lstm_step_back(
                    z, before, if_running(run, wide(g) + wide(by_h), 0.0), by_c, run
                )
                store_step(by_gates, dz, step, "by_gates")
                both = stored(matmul(dz, wu.transpose()), name="both")
                store_step(by_x, both[:, :inputs], step, "by_x")
                assign(by_h, if_running(run, both[:, inputs:], by_h), name="by_output")
        operands = concat([read, saved.outputs], 2).reshape((steps * batch, inputs + units))
        rows = by_gates.reshape((steps * batch, _OF_LSTM * units))
        by_matrix = stored(matmul(operands.transpose(), rows), name="weights")
        by_bias = stored(sum(rows, 0), name="bias").reshape((_OF_LSTM, units))
    by_weights = RecurrentWeights(*parted(by_matrix, inputs, _OF_LSTM), by_bias)
    return LstmGradient(by_x, by_weights, LstmState(by_h, by_c))


def _begin_lstm(h: Tensor, c: Tensor, begin: LstmState | None) -> None:
    """Record the initial state of a loop: the given one or zeros."""
    if begin is None:
        zero(h)
        zero(c)
    else:
        copy(begin.output, h)
        copy(begin.cell, c)


def _lstm_gates(z: Tensor, units: int) -> tuple[Expr, Expr, Expr, Expr]:
    """Return the gates f, i, a, o of a step, in FLOAT."""
    f, i, a, o = (wide(z[:, n * units : (n + 1) * units]) for n in range(_OF_LSTM))
    return sigmoid(f), sigmoid(i), tanh(a), sigmoid(o)


def _lstm_step_back(
    z: Tensor, before: Tensor, by_h: Expr, by_c: Tensor, run: Tensor | None
) -> Tensor:
    """Record the gradients of a step: return that of the gates, and update that of c."""
    units, element = before.shape[1], z.element_type
    dz = mapped_like(z, "by_gate")
    # Each gate is on only some of the tiles; gates that share a compute set use all tiles.
    with together():
        f, i, a, o = (stored(each, name="gate") for each in _lstm_gates(z, units))
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


def _checked_state(call: Layer, role: str, state: object) -> LstmState:
    _, batch, _, units = call.sizes
    fix, error = "pass ops.nn.LstmState(output, cell)", TensorCreationError
    made = checked_kind(state, LstmState, f"{call.what}: {role}", fix, "a state", error=error)
    for part, x in zip(made._fields, made, strict=True):
        call.tensor(f"{role}.{part}", x, (batch, units))
    return made


# -- GRU -------------------------------------------------------------------------------------------


class GruSaved(NamedTuple):
    """Values of a GRU from which its gradients are computed.

    Attributes:
        gates: [steps, batch, 3 * units], before their activation; 4 * units with the reset after
            the product, as both parts of the candidate are kept.
        outputs: [steps, batch, units], before each step.
        lengths: the number of steps of each sequence, [batch]; None if all are complete.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> plan = pl.ops.nn.plan_gru(graph, batch=2, inputs=3, units=8)
    >>> made = pl.ops.nn.gru(plan.create_input(5), plan.create_weights(), program=program)
    >>> made.saved.gates.shape, made.saved.outputs.shape, made.saved.lengths
    ((5, 2, 24), (5, 2, 8), None)
    """

    gates: Tensor
    outputs: Tensor
    lengths: Tensor | None = None


class Gru(NamedTuple):
    """The results of a GRU.

    Attributes:
        outputs: [steps, batch, units].
        output: the last output, [batch, units].
        saved: values for `gru_gradient`; None after inference.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> plan = pl.ops.nn.plan_gru(graph, batch=2, inputs=3, units=8)
    >>> x, weights = plan.create_input(5), plan.create_weights()
    >>> made = pl.ops.nn.gru(x, weights, inference=True, program=program)
    >>> made.outputs.shape, made.output.shape, made.saved
    ((5, 2, 8), (2, 8), None)
    """

    outputs: Tensor
    output: Tensor
    saved: GruSaved | None


class GruGradient(NamedTuple):
    """The gradients of a GRU.

    Attributes:
        x: gradient with respect to the inputs, [steps, batch, inputs].
        weights: gradient with respect to the weights.
        output: gradient with respect to the output before the first step, [batch, units].

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> plan = pl.ops.nn.plan_gru(graph, batch=2, inputs=3, units=8)
    >>> x, weights = plan.create_input(5), plan.create_weights()
    >>> made = pl.ops.nn.gru(x, weights, program=program)
    >>> by = pl.ops.nn.gru_gradient(x, weights, made, made.outputs, program=program)
    >>> by.weights.bias.shape, by.output.shape
    ((3, 8), (2, 8))
    """

    x: Tensor
    weights: RecurrentWeights
    output: Tensor


def gru(
    x: Operand,
    weights: RecurrentWeights,
    output: Operand | None = None,
    *,
    reset_after: bool = False,
    lengths: Operand | None = None,
    inference: bool = False,
    name: str = "gru",
    program: Sequence | None = None,
) -> Gru:
    """Record a GRU over the steps of sequences, in a loop.

    From the gates `r, u = sigmoid(x @ W + h @ U + b)` and the candidate `a = tanh(x @ W + (r * h) @
    U + b)`, in the order r, u, a, each step computes `h = u * h + (1 - u) * a`. HALF is computed in
    FLOAT; gates before their activation and h are rounded.

    Args:
        x: [steps, batch, inputs], FLOAT or HALF.
        weights: tensors of the type of x: W [3, inputs, units], U [3, units, units] and b [3,
            units].
        output: h before the first step; zeros by default.
        reset_after: whether the candidate is `tanh(x @ W + b0 + r * (h @ U + b1))`, with two biases
            for each gate, [3, 2, units].
        lengths: the number of steps of each sequence, UNSIGNED_INT [batch]; by default, every
            sequence has all the steps. A sequence with fewer steps keeps the output of its last
            step as `output`; its elements of `outputs` after that are 0.
        inference: whether to skip saving the values that `gru_gradient` needs.
        name: name of the outputs and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        The outputs h of all steps, the last one, and values for `gru_gradient`.

    Raises:
        ElementTypeError: if x is not floating-point, or if a flag is not a bool.
        TensorCreationError: for operands whose shapes or types do not match.
        ControlProgramError: if `program` is omitted outside any block of steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> weights = pl.ops.nn.RecurrentWeights(
    ...     graph.add_variable(pl.FLOAT, (3, 1, 1), "w", mapping=0, initial_value=0),
    ...     graph.add_variable(pl.FLOAT, (3, 1, 1), "u", mapping=0, initial_value=0),
    ...     graph.add_variable(pl.FLOAT, (3, 1), "b", mapping=0, initial_value=[[0], [0], [99]]),
    ... )
    >>> x = graph.add_variable(pl.FLOAT, (3, 1, 1), "x", mapping=0, initial_value=0)
    >>> made = gru(x, weights, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(made.outputs).flatten().tolist()
    [0.5, 0.75, 0.875]
    """
    what = "ops.nn.gru"
    reset_after = checked_truth(reset_after, f"{what}: reset_after")
    inference = checked_truth(inference, f"{what}: inference")
    call = layer_of(what, x, weights, _OF_GRU, 1 + reset_after, name, program)
    steps, batch, inputs, units = call.sizes
    begin = None if output is None else call.operand_of_type("output", output, (batch, units))
    ends = None if lengths is None else call.lengths(lengths)
    graph, element, wu = call.graph, call.element, call.matrix
    outputs = sequence(graph, element, (steps, batch, units), name)
    with one_operation(graph, name, call.place):
        read = as_tensor(call.x, "x", None)
        like = outputs[0] if steps else sequence(graph, element, (1, batch, units), "like")[0]
        h, saved = mapped_like(like, "output"), None
        _begin_gru(h, begin)
        after = None if ends is None else as_tensor(ends, "lengths", None)
        if not inference:
            before = outputs_before(h, like, outputs)
            width = (_OF_GRU + reset_after) * units
            saved = GruSaved(
                sequence(graph, element, (steps, batch, width), "gates"), before, after
            )
        if not call.is_empty:
            of_gates, *of_candidate = _biases(call, reset_after)
            with forwards(steps) as step:
                x_step = of_step(read, step, "x")
                both = matmul(concat([x_step, h], 1), wu[:, : 2 * units], result=FLOAT)
                z = [stored(cast(both + of_gates, element), name="gates")]
                r, u = _gru_gates(z[0], units)
                if reset_after:
                    pairs = [(x_step, wu[:inputs]), (h, wu[inputs:])]
                else:
                    reset = stored(cast(r * wide(h), element), name="reset")
                    pairs = [(concat([x_step, reset], 1), wu)]
                for (left, matrix), bias in zip(pairs, of_candidate, strict=True):
                    product = matmul(left, matrix[:, 2 * units :], result=FLOAT)
                    z.append(stored(cast(product + bias, element), name="candidate"))
                if saved is not None:
                    store_step(saved.gates, concat(z, 1), step, "gates")
                run = running(after, step)
                a = _candidate(r, z[1:])
                made = if_running(run, u * wide(h) + (1.0 - u) * a, wide(h))
                assign(h, cast(made, element), name="output")
                store_step(outputs, masked_output(run, h), step, "outputs")
    return Gru(outputs, h, saved)


def gru_gradient(
    x: Operand,
    weights: RecurrentWeights,
    forward: Gru,
    gradient: Operand,
    *,
    by_output: Operand | None = None,
    reset_after: bool = False,
    name: str = "gru_gradient",
    program: Sequence | None = None,
) -> GruGradient:
    """Record the gradients of a GRU with respect to its inputs, weights and initial output.

    Args:
        x: as in `gru`.
        weights: as in `gru`.
        forward: the result of `gru` for these operands, with `inference=False`; its outputs and
            sequence lengths must not have changed since. With lengths, x after the end of a
            sequence is multiplied by 0 and must be finite.
        gradient: gradient with respect to the outputs of all steps, of their shape and type.
        by_output: gradient with respect to the last output, on top of what `gradient` already
            contributes for it; zeros by default.
        reset_after: as in `gru`.
        name: name of the steps, and the prefix of the names of the results.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Raises:
        TensorCreationError: if `forward` was not returned by `gru`, or was computed with
            `inference=True`.
        whatever `gru` raises.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> plan = pl.ops.nn.plan_gru(graph, batch=2, inputs=3, units=8)
    >>> x, weights = plan.create_input(5), plan.create_weights()
    >>> made = pl.ops.nn.gru(x, weights, program=program)
    >>> by = pl.ops.nn.gru_gradient(x, weights, made, made.outputs, program=program)
    >>> by.x.shape, by.weights.input.shape
    ((5, 2, 3), (3, 3, 8))
    """
    what = "ops.nn.gru_gradient"
    reset_after = checked_truth(reset_after, f"{what}: reset_after")
    call = layer_of(what, x, weights, _OF_GRU, 1 + reset_after, name, program)
    steps, batch, inputs, units = call.sizes
    graph, element, wu = call.graph, call.element, call.matrix
    width = (_OF_GRU + reset_after) * units
    saved: GruSaved = saved_of(call, forward, Gru, {"gates": width, "outputs": units})
    asked = call.operand_of_type("gradient", gradient, forward.outputs.shape)
    end = (
        None if by_output is None else call.operand_of_type("by_output", by_output, (batch, units))
    )
    by_x = sequence(graph, element, (steps, batch, inputs), f"{name}/x")
    with one_operation(graph, name, call.place):
        read, by_outputs = as_tensor(call.x, "inputs", None), as_tensor(asked, "gradient", None)
        like = sequence(graph, element, (1, batch, units), "like")[0]
        by_h = mapped_like(like, "output")
        _begin_gru(by_h, end)
        by_gates = sequence(graph, element, (steps, batch, width), "by_gates")
        if call.is_empty:
            zero(by_x)
        else:
            with backwards(steps) as step:
                z = of_step(saved.gates, step, "gates")
                before = of_step(saved.outputs, step, "before")
                g = of_step(by_outputs, step, "gradient")
                run = running(saved.lengths, step)
                total = if_running(run, wide(g) + wide(by_h), 0.0)
                by_now = stored(cast(total, element), name="by_now")
                dz, through = _gru_step_back(z, before, by_now, wu, inputs)
                store_step(by_gates, dz, step, "by_gates")
                store_step(by_x, stored(through[0], name="by_input"), step, "by_x")
                assign(by_h, if_running(run, through[1], by_h), name="by_output")
        made = _by_weights(read, saved, by_gates, _OF_GRU + reset_after)
    return GruGradient(by_x, made, by_h)


def _begin_gru(h: Tensor, begin: Given | None) -> None:
    """Record the initial output of a loop: the given one or zeros."""
    if begin is None:
        zero(h)
    else:
        assign(h, begin, name="begin")


def _biases(call: Layer, reset_after: bool) -> list[Expr]:
    """Return the biases of both gates together, and those of each product of the candidate."""
    bias = call.weights.bias
    if not reset_after:
        return [wide(bias[:2].flatten()), wide(bias[2])]
    gates = wide(bias[:2, 0].flatten()) + wide(bias[:2, 1].flatten())
    return [gates, wide(bias[2, 0]), wide(bias[2, 1])]


def _gru_gates(z: Tensor, units: int) -> tuple[Expr, Expr]:
    """Return the gates r and u of a step, in FLOAT."""
    return sigmoid(wide(z[:, :units])), sigmoid(wide(z[:, units : 2 * units]))


def _candidate(r: Expr, parts: list[Tensor]) -> Expr:
    """Return the candidate of a step, from one product or two."""
    one, *other = map(wide, parts)
    return tanh(one + r * other[0] if other else one)


def _gru_step_back(
    z: Tensor, before: Tensor, by_h: Tensor, wu: Tensor, inputs: int
) -> tuple[Tensor, tuple[Expr, Expr]]:
    """Record the gradients of a step: return those of the gates, and of x and the h before."""
    units, element = before.shape[1], z.element_type
    reset, update = _gru_gates(z, units)
    parts = [z[:, n : n + units] for n in range(2 * units, z.shape[1], units)]
    # Each gate is on only some of the tiles; gates that share a compute set use all tiles.
    with together():
        r, u = (stored(each, name="gate") for each in (reset, update))
        a = stored(_candidate(reset, parts), name="activated")
    dz = mapped_like(z, "by_gate")
    by_r, by_u, *by_parts = (dz[:, n : n + units] for n in range(0, z.shape[1], units))
    by_sum = wide(by_h) * (1.0 - u) * (1.0 - a * a)
    columns = wu[:, 2 * units :]
    with together():
        assign(by_parts[0], cast(by_sum, element), name="by_candidate")
        by_update = wide(by_h) * (wide(before) - a) * u * (1.0 - u)
        assign(by_u, cast(by_update, element), name="by_update")
        if len(parts) > 1:
            assign(by_parts[1], cast(by_sum * r, element), name="by_product")
            by_reset = by_sum * wide(parts[1]) * r * (1.0 - r)
            assign(by_r, cast(by_reset, element), name="by_reset")
    if len(parts) > 1:
        by_input = matmul(by_parts[0], columns[:inputs].transpose(), result=FLOAT)
        by_before = matmul(by_parts[1], columns[inputs:].transpose(), result=FLOAT)
    else:
        both = stored(
            matmul(by_parts[0], columns.transpose(), result=FLOAT), name="through_candidate"
        )
        by_reset = both[:, inputs:] * wide(before) * r * (1.0 - r)
        assign(by_r, cast(by_reset, element), name="by_reset")
        by_input, by_before = wide(both[:, :inputs]), both[:, inputs:] * r
    gates = wu[:, : 2 * units]
    through = stored(
        matmul(dz[:, : 2 * units], gates.transpose(), result=FLOAT), name="through_gates"
    )
    by_x = cast(by_input + through[:, :inputs], element)
    by_last = cast(wide(by_h) * u + by_before + through[:, inputs:], element)
    return dz, (by_x, by_last)


def _by_weights(read: Tensor, saved: GruSaved, by_gates: Tensor, parts: int) -> RecurrentWeights:
    """Record the gradients with respect to the weights: products over all steps."""
    units = by_gates.shape[2] // parts
    steps, batch, inputs = read.shape
    rows = steps * batch
    x, before = read.reshape((rows, inputs)), saved.outputs.reshape((rows, units))
    gates = saved.gates.reshape((rows, by_gates.shape[2]))
    dz = by_gates.reshape((rows, by_gates.shape[2]))
    of_gates = concat([x, before], 1).transpose()
    made = stored(matmul(of_gates, dz[:, : 2 * units]), name="weights")
    sums = stored(sum(dz, 0), name="bias").reshape((parts, units))
    if parts == _OF_GRU:
        r, _ = _gru_gates(gates, units)
        reset = stored(cast(r * wide(before), read.element_type), name="reset")
        left = concat([x, reset], 1).transpose()
        candidate = stored(matmul(left, dz[:, 2 * units :]), name="candidate")
    else:
        columns = dz[:, 2 * units : 3 * units], dz[:, 3 * units :]
        candidate = concat(
            [
                stored(matmul(left.transpose(), right), name="candidate")
                for left, right in zip((x, before), columns, strict=True)
            ]
        )
        # Both biases of a gate are added to the same sum; those of the candidate are not.
        twice = [sums[n : n + 1] for n in (0, 0, 1, 1, 2, 3)]
        sums = concat(twice).reshape((_OF_GRU, 2, units))
    return RecurrentWeights(*parted(concat([made, candidate], 1), inputs, _OF_GRU), sums)
