"""Records convolutions of one to three dimensions, with their gradients.

    y = ops.convolution(x, weights, padding=1)
    by_x = ops.convolution_input_gradient(gradient, weights, x.shape[2:], padding=1)
    by_weights = ops.convolution_weights_gradient(gradient, x, weights.shape[2:], padding=1)

The gradient with respect to the input is also a convolution, of the output's gradient with the
weights, whose input and output channels are swapped. A stride becomes a dilation in it
(`Dimension.inverse`). The gradient with respect to the weights is a product of two matrices: the
elements read by each tap, and the output's gradient. The planner of products divides it among tiles
(`poplite.ops.matmul`). The elements read by taps are the left matrix: each of its rows contains the
elements that one tap reads from one channel, equally spaced in memory, whereas a column
consists of pieces of a few channels, most of them repeated.

Source: PopLibs, `poplin/Convolution.hpp`; as there, the kernel is not flipped by default.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from poplite.errors import TensorCreationError
from poplite.expr.operand import Operand
from poplite.graph.graph import working_graph
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.operands import (
    Given,
    called,
    wrong_kind,
)
from poplite.ops.products.convolution_layout import (
    Convolution,
    by_channels,
    by_taps,
    expanded_weights,
    record_convolutions,
)
from poplite.ops.products.convolution_plan import ConvolutionPlan, planned
from poplite.ops.products.convolution_request import (
    ConvolutionRequest,
    Flag,
    Number,
    Padding,
    PhaseOutputs,
    check_channels,
    check_gradient,
    joined_phases,
    parts,
    rank_of_field,
    request_of,
    sizes_of,
    spacings,
)
from poplite.ops.products.matmul import matmul
from poplite.ops.record import OperationCall, map as stored
from poplite.program import Sequence as Steps
from poplite.program.recording import recorder
from poplite.types import FLOAT


def convolution(
    x: Operand,
    weights: Operand,
    plan: ConvolutionPlan | None = None,
    *,
    stride: Number = 1,
    padding: Padding = 0,
    dilation: Number = 1,
    input_dilation: Number = 1,
    groups: int = 1,
    flip: Flag = False,
    memory: float = 0.6,
    name: str = "convolution",
    program: Steps | None = None,
) -> Tensor:
    """Record steps that convolve inputs with a kernel.

    An output is the sum of the kernel's weights, each times the input element at its position.
    Products are added in float32, in the order of taps, then channels, for each slice of channels
    in the plan; then the sums of slices are added in order. HALF is rounded once, at the end. If a
    plan treats taps as channels (`expand` of `ops.plan_convolution`), a slice consists of taps of
    the last dimensions and channels, and the order is: the other taps, taps of the last dimensions,
    channels.

    Args:
        x: [batch, channels, size ...] of HALF or FLOAT, with one to three sizes. An expression is
            stored first.
        weights: [output channels, input channels of a group, kernel ...], of the same type.
        plan: how the work is divided among tiles, from `ops.plan_convolution` with the same
            parameters. By default, a plan is made; equal plans are made only once.
        stride: distance between outputs; one for all dimensions, or one for each.
        padding: zeros before and after the input: one number, one for each dimension, or a pair
            for each. Negative numbers omit elements.
        dilation: distance between the taps of the kernel; one for all dimensions, or one for each.
        input_dilation: distance between elements of the input, with zeros between, before padding:
            a transposed convolution.
        groups: number of groups of channels, each convolved with its own weights.
        flip: whether the kernel is flipped, as in the mathematical convolution.
        memory: the fraction of a tile's memory that blocks may take, as in `ops.plan_convolution`.
        name: name of the result and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        A new tensor [batch, output channels, size ...]. Along a dimension it has
        `(dilated input + padding - dilated kernel) // stride + 1` elements.

    Raises:
        ElementTypeError: for types that differ, or that the AMP unit does not multiply.
        TensorCreationError: for shapes that do not match, and for a plan with different parameters.
        InvalidOption: for an invalid parameter.
        GraphMemoryAllocationError: if no plan fits.
        ControlProgramError: if `program` is omitted outside any block of steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.FLOAT, (1, 1, 4), "x", mapping=0, initial_value=[[[1, 2, 3, 4]]])
    >>> w = graph.add_variable(pl.FLOAT, (1, 1, 2), "w", mapping=1, initial_value=[[[1, 10]]])
    >>> y = convolution(x, w, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y).tolist()
    [[[21.0, 32.0, 43.0]]]
    """
    call = OperationCall("ops.convolution", name, program)
    image, kernel = call.operands((x, "x"), (weights, "weights"))
    rank = rank_of_field(call.what, image, kernel)
    count = check_channels(call.what, groups, image.shape[1], kernel.shape[0])
    _check_inputs(call.what, image, kernel, count)
    how = spacings(call.what, rank, stride, padding, dilation, input_dilation, flip)
    channels = count, kernel.shape[1], kernel.shape[0] // count
    request = request_of(
        call.what,
        image.shape[0],
        channels,
        image.shape[2:],
        kernel.shape[2:],
        how,
        image.element_type,
        memory,
    )
    if plan is not None:
        _check_plan(call, plan, request)
        call.graph, request = working_graph(plan.graph), plan.request
    made_of, by = call.stored(image, "x"), call.stored(kernel, "weights")
    return _convolved(call, request, made_of, _in_groups(by, request))


def convolution_input_gradient(
    gradient: Operand,
    weights: Operand,
    field: Sequence[int],
    *,
    stride: Number = 1,
    padding: Padding = 0,
    dilation: Number = 1,
    input_dilation: Number = 1,
    groups: int = 1,
    flip: Flag = False,
    memory: float = 0.6,
    name: str = "input_gradient",
    program: Steps | None = None,
) -> Tensor:
    """Record steps that compute the gradient of a convolution with respect to its input.

    Args:
        gradient: gradient with respect to the output, of its shape and type. An expression is
            stored first.
        weights: as in `ops.convolution`.
        field: sizes of the input, as `x.shape[2:]`.
        stride: as in `ops.convolution`.
        padding: as in `ops.convolution`.
        dilation: as in `ops.convolution`.
        input_dilation: as in `ops.convolution`.
        groups: as in `ops.convolution`.
        flip: as in `ops.convolution`.
        memory: as in `ops.convolution`.
        name: name of the result and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        A new tensor of the shape of the input.

    Raises:
        whatever `ops.convolution` raises.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> g = graph.add_variable(pl.FLOAT, (1, 1, 3), "g", mapping=0, initial_value=[[[1, 1, 2]]])
    >>> w = graph.add_variable(pl.FLOAT, (1, 1, 2), "w", mapping=1, initial_value=[[[1, 10]]])
    >>> by_x = convolution_input_gradient(g, w, (4,), program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(by_x).tolist()
    [[[1.0, 11.0, 12.0, 20.0]]]
    """
    call = OperationCall("ops.convolution_input_gradient", name, program)
    result, kernel = call.operands((gradient, "gradient"), (weights, "weights"))
    rank = rank_of_field(call.what, result, kernel)
    inputs = kernel.shape[1]
    count = check_channels(call.what, groups, kernel.shape[1] * _count(groups), kernel.shape[0])
    how = spacings(call.what, rank, stride, padding, dilation, input_dilation, flip)
    sizes = sizes_of(call.what, "field", field, rank)
    request = request_of(
        call.what,
        result.shape[0],
        (count, inputs, kernel.shape[0] // count),
        sizes,
        kernel.shape[2:],
        how,
        result.element_type,
        memory,
    )
    check_gradient(call.what, result, request)
    by = call.stored(kernel, "weights")
    swapped = _in_groups(by, request).dim_shuffle((0, 2, 1, 3))
    return _convolved(call, request.inverse, call.stored(result, "gradient"), swapped)


def convolution_weights_gradient(
    gradient: Operand,
    x: Operand,
    kernel: Sequence[int],
    *,
    stride: Number = 1,
    padding: Padding = 0,
    dilation: Number = 1,
    input_dilation: Number = 1,
    groups: int = 1,
    flip: Flag = False,
    memory: float = 0.6,
    name: str = "weights_gradient",
    program: Steps | None = None,
) -> Tensor:
    """Record steps that compute the gradient of a convolution with respect to its weights.

    Args:
        gradient: gradient with respect to the output, of its shape and type. An expression is
            stored first.
        x: as in `ops.convolution`.
        kernel: sizes of the kernel, as `weights.shape[2:]`.
        stride: as in `ops.convolution`.
        padding: as in `ops.convolution`.
        dilation: as in `ops.convolution`.
        input_dilation: as in `ops.convolution`.
        groups: as in `ops.convolution`.
        flip: as in `ops.convolution`.
        memory: as in `ops.convolution`.
        name: name of the result and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        A new tensor of the shape of the weights.

    Raises:
        whatever `ops.convolution` raises.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.FLOAT, (1, 1, 4), "x", mapping=0, initial_value=[[[1, 2, 3, 4]]])
    >>> g = graph.add_variable(pl.FLOAT, (1, 1, 3), "g", mapping=1, initial_value=[[[1, 1, 2]]])
    >>> by_weights = convolution_weights_gradient(g, x, (2,), program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(by_weights).tolist()
    [[[9.0, 13.0]]]
    """
    call = OperationCall("ops.convolution_weights_gradient", name, program)
    result, image = call.operands((gradient, "gradient"), (x, "x"))
    rank = rank_of_field(call.what, image, result)
    outputs = result.shape[1]
    count = check_channels(call.what, groups, image.shape[1], outputs)
    how = spacings(call.what, rank, stride, padding, dilation, input_dilation, flip)
    taps = sizes_of(call.what, "kernel", kernel, rank)
    request = request_of(
        call.what,
        image.shape[0],
        (count, image.shape[1] // count, outputs // count),
        image.shape[2:],
        taps,
        how,
        image.element_type,
        memory,
    )
    check_gradient(call.what, result, request)
    by_places = _by_places(call.stored(result, "gradient"), request)
    by_taps = _by_taps(call, call.stored(image, "x"), request, name)
    at_once = call.graph.target.getNumConvUnits(image.element_type, FLOAT)
    few = request.taps * request.inputs < min(outputs, at_once)
    if few:  # more rows for the AMP unit, which takes as long for one row as for several
        by_places, by_taps = by_taps, by_places
    product = matmul(by_taps.dim_shuffle((0, 2, 1)), by_places, memory=memory)
    made = stored(product, name=name, program=program)
    if few:
        made = made.dim_shuffle((0, 2, 1))
    made = made.reshape((count, *taps, request.inputs, request.outputs))
    made = made.dim_shuffle((0, 2 + rank, 1 + rank, *range(1, 1 + rank)))
    return made.reshape((outputs, request.inputs, *taps))


def _convolved(
    call: OperationCall, request: ConvolutionRequest, x: Tensor, weights: Tensor
) -> Tensor:
    """Record the steps of a convolution with weights [groups, outputs, inputs, taps]."""
    groups = planned(call.graph.target, request)
    if not groups:
        shape = request.batch, request.groups * request.outputs, *request.field
        return call.zeros(request.element_type, shape, call.name)
    found = parts(request)
    convolved = {number for several in groups for numbers in several for number in numbers}
    made = _zeros(call, request, {n: p for n, p in enumerate(found) if n not in convolved})
    work = recorder(call.graph, call.steps)
    outputs = []
    for several in groups:
        convolutions = [
            Convolution(
                call.graph,
                layout,
                x,
                expanded_weights(
                    concat([found[number].weights(weights) for number in numbers], 1),
                    layout.request,
                ),
                call.name,
            )
            for numbers, layout in several.items()
        ]
        outputs += record_convolutions(work, convolutions)
    work.uses(call.name, [x, weights], outputs)
    work.finish(call.steps, call.name)
    ways = (numbers for several in groups for numbers in several)
    for numbers, out in zip(ways, outputs, strict=True):
        made.update(_of_phases(numbers, out, request))
    return joined_phases([made[number] for number in range(len(found))], request)


def _of_phases(
    numbers: tuple[int, ...], out: Tensor, request: ConvolutionRequest
) -> dict[int, Tensor]:
    """Return the outputs of each phase from a convolution that computes several phases."""
    batch, _, *field = out.shape
    several = out.reshape((batch, request.groups, len(numbers), request.outputs, *field))
    shape = batch, request.groups * request.outputs, *field
    return {number: several[:, :, k].reshape(shape) for k, number in enumerate(numbers)}


def _zeros(
    call: OperationCall, request: ConvolutionRequest, unread: dict[int, PhaseOutputs]
) -> dict[int, Tensor]:
    """Return the outputs of phases that read no elements, as parts of one tensor of zeros."""
    if not unread:
        return {}
    sizes = [math.prod(part.shape[2:]) for part in unread.values()]
    channels = request.batch, request.groups * request.outputs
    made = call.zeros(request.element_type, (*channels, sum(sizes)), f"{call.name}/zeros")
    ends = np.cumsum(sizes).tolist()
    return {
        number: made[:, :, end - size : end].reshape(part.shape)
        for (number, part), size, end in zip(unread.items(), sizes, ends, strict=True)
    }


def _in_groups(weights: Tensor, request: ConvolutionRequest) -> Tensor:
    """Return weights as [groups, outputs, inputs, taps]."""
    taps = math.prod(weights.shape[2:])
    outputs = weights.shape[0] // request.groups
    return weights.reshape((request.groups, outputs, weights.shape[1], taps))


def _by_places(gradient: Tensor, request: ConvolutionRequest) -> Tensor:
    """Return the gradient as [groups, batch * field, outputs]."""
    field = request.field
    shape = request.batch, request.groups, request.outputs, *field
    order = 1, 0, *range(3, 3 + len(field)), 2
    places = request.batch * math.prod(field)
    shuffled = gradient.reshape(shape).dim_shuffle(order)
    return shuffled.reshape((request.groups, places, request.outputs))


def _by_taps(call: OperationCall, x: Tensor, request: ConvolutionRequest, name: str) -> Tensor:
    """Return the elements that each output reads, [groups, batch * field, taps * inputs]."""
    rank = len(request.dimensions)
    zeros = call.graph.add_constant(
        request.element_type, (1,) * (3 + rank), 0, f"{name}/zeros", mapping=0
    )
    read = by_taps(by_channels(x, request), list(enumerate(request.dimensions)), zeros)
    # Channels come last because they are adjacent in memory, so that rows have few pieces.
    read = read.dim_roll(3 + rank, 2 + rank)
    places = request.batch * math.prod(request.field)
    return read.reshape((request.groups, places, request.taps * request.inputs))


def _count(groups: object) -> int:
    """Return a valid number of groups, or 1 for an invalid one, which is rejected later."""
    return groups if isinstance(groups, int) and groups > 0 else 1


def _check_inputs(what: str, x: Given, weights: Given, groups: int) -> None:
    if weights.shape[1] * groups != x.shape[1]:
        raise TensorCreationError(
            f"{what}: the weights are for {weights.shape[1]:,} channels in each of {groups:,} "
            f"groups, but the input has {x.shape[1]:,}",
            found=f"{called(x)} has shape {x.shape}, {called(weights)} has {weights.shape}",
            fix="pass weights of shape "
            f"{(weights.shape[0], x.shape[1] // groups, *weights.shape[2:])}",
        )


def _check_plan(call: OperationCall, plan: object, request: ConvolutionRequest) -> None:
    if not isinstance(plan, ConvolutionPlan):
        fix = "ops.plan_convolution(graph, batch=8, field=(28, 28), ...)"
        raise wrong_kind(call.what, plan, "is not a plan", fix)
    own = plan.request
    if replace(request, memory=own.memory, expand=own.expand) != own:
        raise TensorCreationError(
            f"{call.what}: the plan is for a different convolution",
            found=f"plan: {own}; here: {request}",
            fix="call ops.plan_convolution with the parameters of the convolution",
        )
    if plan.graph.top_level_graph is not call.graph.top_level_graph:
        raise TensorCreationError(
            f"{call.what}: the plan was made for another graph",
            found=f"the plan's graph is {plan.graph!r}, the input's is {call.graph!r}",
            fix="call ops.plan_convolution with the graph of the input",
        )
