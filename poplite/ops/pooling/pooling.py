"""The greatest element, the sum and the mean of windows, and their gradients: recorded steps.

    y = ops.nn.max_pool(x, 2)
    by_x = ops.nn.max_pool_gradient(gradient, x, y, 2)

A gradient goes the other way: each element looks at the windows that it is in. Where that is one,
it is a map; else it is as the gradient of a convolution by its input (`Dimension.inverse`): with a
stride, elements in turn are in windows at other places, and each of these phases is pooled on its
own.

Source: PopLibs, `popnn/Pooling.hpp`: padding is no element of a window, neither of the greatest
one nor of the mean; and all elements that equal the greatest get its gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from poplite.expr.build import apply, cast
from poplite.expr.operand import Operand
from poplite.expr.tree import ElementClass
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.convolution.arguments import Number, Padding, request_of, spacings
from poplite.ops.convolution.call import (
    ConvolutionCall,
    check_equal_shape,
    check_gradient,
    check_number,
    check_rank,
)
from poplite.ops.convolution.phases import PhaseOutputs, joined, parts
from poplite.ops.convolution.request import ConvolutionRequest
from poplite.ops.operands import Given, count_of, counts_of
from poplite.ops.pooling.disjoint import are_disjoint, seen
from poplite.ops.pooling.pooling_steps import Pooling
from poplite.ops.pooling.search import pooling_layout
from poplite.ops.pooling.stages import PoolingStage, as_rows, cheapest_way
from poplite.ops.record import map as stored
from poplite.ops.reduce.reduce import reduce_into
from poplite.program import Sequence as Steps
from poplite.program.recording import Recorder, recorder
from poplite.types import FLOAT
from poplite.vertex.vertex import Vertex
from poplite.vertices.pooling import How, PoolMax, PoolMaxGradient, PoolSum

MEMORY = 0.6
"""Share of a tile's memory that blocks may take."""


def max_pool(
    x: Operand,
    window: Number,
    *,
    stride: Number | None = None,
    padding: Padding = 0,
    name: str = "max_pool",
    program: Steps | None = None,
) -> Tensor:
    """Record steps that find the greatest element of each window.

    Args:
        x: [batch, channels, size ...] of HALF or FLOAT, one to three sizes. An expression is
            stored first.
        window: its size along all dimensions, or one for each.
        stride: distance between windows, likewise. Left out, they stand side by side.
        padding: places before and after x that are in windows without being elements, likewise,
            or a pair for each dimension. Negative numbers leave elements out.
        name: of the result and of the steps.
        program: where they go; left out, the block of `graph.steps()` that is open.

    Returns:
        A new tensor of the type of x, `(size + padding - window) // stride + 1` along each
        dimension. A window with NaN gives NaN, one without elements minus infinity.

    Raises:
        ElementTypeError: for elements that are no floats.
        TensorCreationError: for another rank, and a window that is larger than x.
        InvalidOption: for a parameter that is illegal.
        ControlProgramError: without `program=` outside of all steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.FLOAT, (1, 1, 4), "x", mapping=0, initial_value=[[[1, 3, 4, 2]]])
    >>> y = max_pool(x, 2, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y).tolist()
    [[[3.0, 4.0]]]
    """
    call, given, request = _asked("ops.nn.max_pool", x, window, stride, padding, name, program)
    image = call.stored(given, "x")
    return _pooled(call, request, "max", PoolMax, request.element_type, {"x": image}, -np.inf)


def sum_pool(
    x: Operand,
    window: Number,
    *,
    stride: Number | None = None,
    padding: Padding = 0,
    name: str = "sum_pool",
    program: Steps | None = None,
) -> Tensor:
    """Record steps that add up the elements of each window; see `max_pool`.

    Sums are made in FLOAT, and HALF is rounded once. They are in the order of the window where it
    is pooled at once; in stages, parts or rows of it are added up before.

    Raises:
        the errors of `max_pool`.
    """
    call, given, request = _asked("ops.nn.sum_pool", x, window, stride, padding, name, program)
    image = call.stored(given, "x")
    return _pooled(call, request, "sum", PoolSum, request.element_type, {"x": image}, 0)


def average_pool(
    x: Operand,
    window: Number,
    *,
    stride: Number | None = None,
    padding: Padding = 0,
    name: str = "average_pool",
    program: Steps | None = None,
) -> Tensor:
    """Record steps that find the mean of the elements of each window; see `max_pool`.

    Padding is not counted. A window without elements gives NaN.

    Raises:
        the errors of `max_pool`.
    """
    call, given, request = _asked("ops.nn.average_pool", x, window, stride, padding, name, program)
    image = call.stored(given, "x")
    total = _pooled(call, request, "sum", PoolSum, FLOAT, {"x": image}, 0, "/sum")
    mean = cast(total / _counted(call, request), request.element_type)
    return stored(mean, name=name, program=program)


def max_pool_gradient(
    gradient: Operand,
    x: Operand,
    pooled: Operand,
    window: Number,
    *,
    stride: Number | None = None,
    padding: Padding = 0,
    name: str = "max_pool_gradient",
    program: Steps | None = None,
) -> Tensor:
    """Record steps that find the gradient of `max_pool` by x.

    Every element that equals the greatest one of its window gets the gradient of that.

    Args:
        gradient: that of the result, of its shape and type. An expression is stored first, and so
            it is of the next two.
        x: what was pooled.
        pooled: the result.
        window: as in `max_pool`, and so are all that follow.
        stride: likewise.
        padding: likewise.
        name: likewise.
        program: likewise.

    Returns:
        A new tensor of the shape and type of x.

    Raises:
        the errors of `max_pool`, and TensorCreationError for a result of another shape.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.FLOAT, (1, 1, 4), "x", mapping=0, initial_value=[[[1, 3, 4, 2]]])
    >>> g = graph.add_variable(pl.FLOAT, (1, 1, 2), "g", mapping=1, initial_value=[[[5, 7]]])
    >>> by_x = max_pool_gradient(g, x, max_pool(x, 2, program=program), 2, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(by_x).tolist()
    [[[0.0, 5.0, 7.0, 0.0]]]
    """
    what = "ops.nn.max_pool_gradient"
    call, given, request = _asked(what, x, window, stride, padding, name, program)
    result, made = (
        call.another(each, role, given)
        for each, role in ((gradient, "gradient"), (pooled, "pooled"))
    )
    check_gradient(what, result, request)
    check_equal_shape(what, made, result)
    image = call.stored(given, "x")
    read = {"gradient": call.stored(result, "gradient"), "pooled": call.stored(made, "pooled")}
    element = request.element_type
    if are_disjoint(request) and not request.is_empty:
        is_most = apply("equal", image, seen(read["pooled"], request))
        given_back = apply("select", seen(read["gradient"], request), 0.0, is_most)
        return stored(given_back, name=name, program=program)
    return _pooled(
        call, request.inverse, "backward", PoolMaxGradient, element, read, 0, own={"x": image}
    )


def sum_pool_gradient(
    gradient: Operand,
    field: Sequence[int],
    window: Number,
    *,
    stride: Number | None = None,
    padding: Padding = 0,
    name: str = "sum_pool_gradient",
    program: Steps | None = None,
) -> Tensor:
    """Record steps that find the gradient of `sum_pool` by x.

    Args:
        gradient: that of the result, of its shape and type. An expression is stored first.
        field: sizes of x, as `x.shape[2:]`.
        window: as in `max_pool`, and so are all that follow.
        stride: likewise.
        padding: likewise.
        name: likewise.
        program: likewise.

    Returns:
        A new tensor of the shape and type of x.

    Raises:
        the errors of `max_pool_gradient`.
    """
    what = "ops.nn.sum_pool_gradient"
    call, result, request = _backward(what, gradient, field, window, stride, padding, name, program)
    by = call.stored(result, "gradient")
    if are_disjoint(request) and not request.is_empty:
        return stored(seen(by, request), name=name, program=program)
    return _pooled(call, request.inverse, "sum", PoolSum, request.element_type, {"x": by}, 0)


def average_pool_gradient(
    gradient: Operand,
    field: Sequence[int],
    window: Number,
    *,
    stride: Number | None = None,
    padding: Padding = 0,
    name: str = "average_pool_gradient",
    program: Steps | None = None,
) -> Tensor:
    """Record steps that find the gradient of `average_pool` by x; see `sum_pool_gradient`.

    Raises:
        the errors of `max_pool_gradient`.
    """
    what = "ops.nn.average_pool_gradient"
    call, result, request = _backward(what, gradient, field, window, stride, padding, name, program)
    share = cast(result, FLOAT) / _counted(call, request)  # HALF is rounded once, at the end
    by = stored(share, name=f"{name}/shares", program=program)
    if are_disjoint(request) and not request.is_empty:
        own = cast(seen(by, request), request.element_type)
        return stored(own, name=name, program=program)
    wide = replace(request.inverse, element_type=FLOAT)
    return _pooled(call, wide, "sum", PoolSum, request.element_type, {"x": by}, 0)


def _asked(
    what: str,
    x: Operand,
    window: Number,
    stride: Number | None,
    padding: Padding,
    name: str,
    program: Steps | None,
) -> tuple[ConvolutionCall, Given, ConvolutionRequest]:
    """Return the call of an operation on x, x, and what is pooled."""
    call = ConvolutionCall(what, name, program)
    (image,) = call.operands((x, "x"))
    check_rank(what, image.shape)
    request = _request(what, image, image.shape[2:], window, stride, padding)
    return call, image, request


def _backward(
    what: str,
    gradient: Operand,
    field: Sequence[int],
    window: Number,
    stride: Number | None,
    padding: Padding,
    name: str,
    program: Steps | None,
) -> tuple[ConvolutionCall, Given, ConvolutionRequest]:
    """Return the call of a gradient, that of the result, and what was pooled."""
    call = ConvolutionCall(what, name, program)
    (result,) = call.operands((gradient, "gradient"))
    rank = check_rank(what, result.shape)
    sizes = counts_of(what, "field", field)
    check_number(what, "field", sizes, rank)
    request = _request(what, result, sizes, window, stride, padding)
    check_gradient(what, result, request)
    return call, result, request


def _request(
    what: str,
    x: Given,
    field: tuple[int, ...],
    window: Any,
    stride: Any,
    padding: Padding,
) -> ConvolutionRequest:
    rank = len(field)
    sizes = tuple(window) if isinstance(window, Sequence) else (window,) * rank
    kernel = tuple(count_of(what, "window", size, 1) for size in sizes)
    check_number(what, "window", kernel, rank)
    how = spacings(what, rank, kernel if stride is None else stride, padding, 1)
    batch, channels = x.shape[:2]
    each = 1, channels, channels
    return request_of(what, batch, each, field, kernel, how, x.element_type, MEMORY)


def _pooled(
    call: ConvolutionCall,
    request: ConvolutionRequest,
    how: How,
    vertex: type[Vertex],
    element: ElementClass,
    read: dict[str, Tensor],
    around: float,
    part: str = "",
    own: dict[str, Tensor] | None = None,
) -> Tensor:
    """Record the steps of all phases, and return their outputs together."""
    name = f"{call.name}{part}"

    def of_phase(part: PhaseOutputs) -> Tensor:
        if part.request is None or part.request.is_empty:
            return call.zeros(element, part.shape, name)
        stages: tuple[PoolingStage, ...] = (PoolingStage(part.request, is_reduced=False),)
        if how != "backward":
            stages = cheapest_way(call.graph.target, part.request, how).stages
        mine = {field: part.own(x) for field, x in (own or {}).items()}
        work = recorder(call.graph, call.steps)
        *first, last = stages
        seen = read
        for number, stage in enumerate(first):
            wide = FLOAT if how == "sum" else element
            made = _of_stage(work, stage, how, vertex, wide, seen, around, f"{name}/part {number}")
            seen = {"x": made}
        made = _of_stage(work, last, how, vertex, element, seen, around, name, mine)
        work.uses(name, [*read.values(), *mine.values()], [made])
        work.finish(call.steps, name)
        return made

    return joined([of_phase(each) for each in parts(request)], request)


def _of_stage(
    work: Recorder,
    stage: PoolingStage,
    how: How,
    vertex: type[Vertex],
    element: ElementClass,
    read: dict[str, Tensor],
    around: float,
    name: str,
    own: dict[str, Tensor] | None = None,
) -> Tensor:
    """Record the steps of a stage, and return its output."""
    if stage.is_reduced:
        rows, places = as_rows(read["x"], stage.request)
        operation = "add" if how == "sum" else how
        return reduce_into(work, rows, places, operation, None, name, element)
    layout = pooling_layout(work.graph.target, stage.request, how)
    return Pooling(work.graph, work, layout, vertex, element, name).record(read, around, own)


def _counted(call: ConvolutionCall, request: ConvolutionRequest) -> Tensor:
    """Return how many elements windows have, a constant [field ...] of FLOAT."""
    counts = np.ones((), np.float32)
    for each in request.dimensions:
        begin = each.origin + np.arange(each.count) * each.stride
        places = begin[:, None] + np.array(each.taps)
        inside = ((places >= 0) & (places < each.size)).sum(1)
        counts = counts[..., None] * inside.astype(np.float32)
    return call.graph.add_constant(
        FLOAT, counts.shape, counts, f"{call.name}/counts", mapping="linear"
    )
