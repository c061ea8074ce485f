"""Records pooling: the maximum, sum or mean of windows, with gradients.

    y = ops.nn.max_pool(x, 2)
    by_x = ops.nn.max_pool_gradient(gradient, x, y, 2)

Windows are pooled in one or more stages, with the fewest modelled cycles:

    windows of 8, 4 apart        adjacent parts of 4, then windows of 2 parts, 1 apart
    windows of 9 x 9, 1 apart    windows of 1 x 9, then of 9 x 1
    windows of 4 x 4, 4 apart    a reduction of x as [batch, channels, windows, 4, windows, 4]

A stage is made by pooling vertices, each for whole windows, or by a reduction, which may divide
windows. It can be a reduction if windows are adjacent, or if there is only one window, which is
then cropped to the field.

In a gradient, each element reads the windows that contain it. If windows do not overlap, the
gradient is a map over a view of them: for windows a and b of 2 places, 3 apart, the elements of x
read a a 0 b b. Otherwise it is computed like the gradient of a convolution with respect to its
input (`Dimension.inverse`): with a stride, the position of an element within its windows depends on
its phase, and each phase is pooled separately.

Source: PopLibs, `popnn/Pooling.hpp`: padding is not part of a window, neither for the maximum nor
for the mean; all elements that equal the maximum get its gradient.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.errors import GraphMemoryAllocationError, TensorCreationError
from poplite.expr.build import apply, cast
from poplite.expr.operand import Operand
from poplite.expr.tree import ElementClass
from poplite.frozen import frozen
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Slices, Tensor
from poplite.graph.tile_mapping import TileMapping
from poplite.machine.target import Target
from poplite.ops.elements import pad
from poplite.ops.operands import Given, called, count_of
from poplite.ops.planning import PricedWays, blocks_of_all, cheapest
from poplite.ops.products.convolution_layout import (
    ConvolutionLayout,
    EqualBlocks,
    arranged,
    blocks_of,
    output_of_blocks,
    signal_of,
    windows_of,
)
from poplite.ops.products.convolution_request import (
    ConvolutionRequest,
    Dimension,
    Number,
    Padding,
    PhaseOutputs,
    check_gradient,
    check_number,
    check_rank,
    joined_phases,
    one_to_one,
    parts,
    request_of,
    sizes_of,
    spacings,
)
from poplite.ops.record import OperationCall, map as stored
from poplite.ops.reductions.build import reduce_into
from poplite.ops.reductions.plan import RemainingPartials, cheapest_levels, cycles_of
from poplite.program import Sequence as Steps
from poplite.program.recording import Recorder, recorder
from poplite.public import arguments_of
from poplite.types import FLOAT
from poplite.vertex.vertex import Vertex
from poplite.vertices.convolution import How, PoolMax, PoolMaxGradient, PoolSum, pooling_cycles
from poplite.vertices.estimators import reduce_columns, reduce_one

MEMORY = 0.6
"""The fraction of a tile's memory that blocks may take."""


def max_pool(
    x: Operand,
    window: Number,
    *,
    stride: Number | None = None,
    padding: Padding = 0,
    name: str = "max_pool",
    program: Steps | None = None,
) -> Tensor:
    """Record steps that find the largest element of each window.

    Args:
        x: [batch, channels, size ...] of HALF or FLOAT, one to three sizes. An expression is
            stored first.
        window: the size of a window along all dimensions, or one size for each.
        stride: distance between windows, one for all dimensions, or one for each. By default,
            they are adjacent.
        padding: places before and after x that windows cover without reading: one number, one for
            each dimension, or a pair for each. Negative numbers omit elements.
        name: name of the result and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        A new tensor of the type of x, `(size + padding - window) // stride + 1` along each
        dimension. A window with a NaN gives NaN; a window without elements gives -infinity.

    Raises:
        ElementTypeError: for elements that are not floats.
        TensorCreationError: for an x of any other rank, or a window that is larger than x.
        InvalidOption: for an invalid parameter.
        ControlProgramError: if `program` is omitted outside any block of steps.

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
    return _pooled(call, request, "max", request.element_type, {"x": image})


@arguments_of(max_pool)
def sum_pool(
    x: Operand,
    window: Number,
    *,
    stride: Number | None = None,
    padding: Padding = 0,
    name: str = "sum_pool",
    program: Steps | None = None,
) -> Tensor:
    """Record steps that sum the elements of each window; see `max_pool`.

    Sums are computed in FLOAT, and HALF is rounded once. Elements are added in the order of the
    window if it is pooled in one stage; otherwise, parts or rows of the window are summed first.

    Raises:
        whatever `max_pool` raises.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.FLOAT, (1, 1, 4), "x", mapping=0, initial_value=[[[1, 3, 4, 2]]])
    >>> y = pl.ops.nn.sum_pool(x, 2, stride=1, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y).tolist()
    [[[4.0, 7.0, 6.0]]]
    """
    call, given, request = _asked("ops.nn.sum_pool", x, window, stride, padding, name, program)
    image = call.stored(given, "x")
    return _pooled(call, request, "sum", request.element_type, {"x": image})


@arguments_of(max_pool)
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
        whatever `max_pool` raises.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.FLOAT, (1, 1, 4), "x", mapping=0, initial_value=[[[1, 3, 4, 2]]])
    >>> y = pl.ops.nn.average_pool(x, 2, padding=1, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y).tolist()
    [[[1.0, 3.5, 2.0]]]
    """
    call, given, request = _asked("ops.nn.average_pool", x, window, stride, padding, name, program)
    image = call.stored(given, "x")
    total = _pooled(call, request, "sum", FLOAT, {"x": image}, "/sum")
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
    """Record steps that compute the gradient of `max_pool` with respect to x.

    Every element that equals the maximum of a window gets the gradient of that window.

    Args:
        gradient: gradient with respect to the result, of its shape and type. An expression is
            stored first, as it is for `x` and `pooled`.
        x: the operand of `max_pool`.
        pooled: the result of `max_pool`.
        window: as in `max_pool`.
        stride: as in `max_pool`.
        padding: as in `max_pool`.
        name: name of the result and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        A new tensor of the shape and type of x.

    Raises:
        whatever `max_pool` raises, and TensorCreationError for a result whose shape does not fit.

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
    if made.shape != result.shape:
        raise TensorCreationError(
            f"{what}: {called(made)} has shape {made.shape}, but {called(result)} has "
            f"{result.shape}",
            fix="pass tensors of the same shape",
        )
    image = call.stored(given, "x")
    read = {"gradient": call.stored(result, "gradient"), "pooled": call.stored(made, "pooled")}
    element = request.element_type
    if are_disjoint(request):
        is_most = apply("equal", image, windows_by_element(read["pooled"], request))
        given_back = apply("select", windows_by_element(read["gradient"], request), 0.0, is_most)
        return stored(given_back, name=name, program=program)
    return _pooled(call, request.inverse, "backward", element, read, own={"x": image})


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
    """Record steps that compute the gradient of `sum_pool` with respect to x.

    Args:
        gradient: gradient with respect to the result, of its shape and type. An expression is
            stored first.
        field: sizes of x, as `x.shape[2:]`.
        window: as in `max_pool`.
        stride: as in `max_pool`.
        padding: as in `max_pool`.
        name: name of the result and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        A new tensor of the shape and type of x.

    Raises:
        whatever `max_pool_gradient` raises.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> g = graph.add_variable(pl.FLOAT, (1, 1, 2), "g", mapping=1, initial_value=[[[5, 7]]])
    >>> by_x = pl.ops.nn.sum_pool_gradient(g, (4,), 2, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(by_x).tolist()
    [[[5.0, 5.0, 7.0, 7.0]]]
    """
    what = "ops.nn.sum_pool_gradient"
    call, result, request = _asked(what, gradient, window, stride, padding, name, program, field)
    by = call.stored(result, "gradient")
    if are_disjoint(request):
        return stored(windows_by_element(by, request), name=name, program=program)
    return _pooled(call, request.inverse, "sum", request.element_type, {"x": by})


@arguments_of(sum_pool_gradient)
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
    """Record steps that compute the gradient of `average_pool`; see `sum_pool_gradient`.

    Raises:
        whatever `max_pool_gradient` raises.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> g = graph.add_variable(pl.FLOAT, (1, 1, 2), "g", mapping=1, initial_value=[[[5, 7]]])
    >>> by_x = pl.ops.nn.average_pool_gradient(g, (4,), 2, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(by_x).tolist()
    [[[2.5, 2.5, 3.5, 3.5]]]
    """
    what = "ops.nn.average_pool_gradient"
    call, result, request = _asked(what, gradient, window, stride, padding, name, program, field)
    share = cast(result, FLOAT) / _counted(call, request)  # HALF is rounded once, at the end
    by = stored(share, name=f"{name}/shares", program=program)
    if are_disjoint(request):
        own = cast(windows_by_element(by, request), request.element_type)
        return stored(own, name=name, program=program)
    wide = replace(request.inverse, element_type=FLOAT)
    return _pooled(call, wide, "sum", request.element_type, {"x": by})


def _asked(
    what: str,
    x: Operand,
    window: Number,
    stride: Number | None,
    padding: Padding,
    name: str,
    program: Steps | None,
    field: Sequence[int] | None = None,
) -> tuple[OperationCall, Given, ConvolutionRequest]:
    """Return the call to an operation on x, the checked x, and the windows as a request.

    If the `field` of the pooled tensor is given, x is the gradient of the result.
    """
    call = OperationCall(what, name, program)
    (given,) = call.operands((x, "x" if field is None else "gradient"))
    rank = check_rank(what, given.shape)
    sizes = given.shape[2:] if field is None else sizes_of(what, "field", field, rank)
    windows = tuple(window) if isinstance(window, Sequence) else (window,) * rank
    kernel = tuple(count_of(what, "window", size, 1) for size in windows)
    check_number(what, "window", kernel, rank)
    how = spacings(what, rank, kernel if stride is None else stride, padding, 1)
    batch, channels = given.shape[:2]
    each = 1, channels, channels
    request = request_of(what, batch, each, sizes, kernel, how, given.element_type, MEMORY)
    if field is not None:
        check_gradient(what, given, request)
    return call, given, request


def _pooled(
    call: OperationCall,
    request: ConvolutionRequest,
    how: How,
    element: ElementClass,
    read: dict[str, Tensor],
    part: str = "",
    own: dict[str, Tensor] | None = None,
) -> Tensor:
    """Record the steps of all phases, and return their joined outputs."""
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
            seen = {"x": _of_stage(work, stage, how, wide, seen, f"{name}/part {number}", {})}
        made = _of_stage(work, last, how, element, seen, name, mine)
        work.uses(name, [*read.values(), *mine.values()], [made])
        work.finish(call.steps, name)
        return made

    return joined_phases([of_phase(each) for each in parts(request)], request)


def _of_stage(
    work: Recorder,
    stage: PoolingStage,
    how: How,
    element: ElementClass,
    read: dict[str, Tensor],
    name: str,
    own: dict[str, Tensor],
) -> Tensor:
    """Record the steps of a stage, and return its output.

    Args:
        work: receives the steps.
        stage: the windows, and how they are pooled.
        how: the operation on each window.
        element: type of the result.
        read: tensors whose windows vertices read, by field; all of one shape.
        name: name of the steps and of the result.
        own: tensors of the shape of the output, by field; vertices read the part at their output.
    """
    if stage.is_reduced:
        rows, places = as_rows(read["x"], stage.request)
        operation = "add" if how == "sum" else how
        return reduce_into(work, rows, places, operation, None, name, element)
    layout = pooling_layout(work.graph.target, stage.request, how)
    return _by_vertices(work, layout, how, element, read, name, own)


def _counted(call: OperationCall, request: ConvolutionRequest) -> Tensor:
    """Return the number of elements in each window, a constant [field ...] of FLOAT."""
    counts = np.ones((), np.float32)
    for each in request.dimensions:
        begin = each.origin + np.arange(each.count) * each.stride
        places = begin[:, None] + np.array(each.taps)
        inside = ((places >= 0) & (places < each.size)).sum(1)
        counts = counts[..., None] * inside.astype(np.float32)
    return call.graph.add_constant(
        FLOAT, counts.shape, counts, f"{call.name}/counts", mapping="linear"
    )


# -- windows that do not overlap -------------------------------------------------------------------


def are_disjoint(request: ConvolutionRequest) -> bool:
    """Return whether no element is in two windows; False if nothing is pooled."""
    return not request.is_empty and all(
        each.count == 1 or each.stride >= len(each.taps) for each in request.dimensions
    )


def windows_by_element(windows: Tensor, request: ConvolutionRequest) -> Tensor:
    """Return the window of each element of the pooled tensor, a view [batch, channels, field ...].

    It is zero for elements that are in no window.
    """
    for d, each in enumerate(request.dimensions, start=2):
        taps = len(each.taps)
        stride = taps if each.count == 1 else each.stride
        places = windows.expand([d + 1]).broadcast(taps, d + 1)
        windows = _around(places, d + 1, 0, stride - taps).flatten(d, d + 2)
        windows = _around(windows, d, each.origin, each.size - each.origin - windows.shape[d])
    return windows


def _around(x: Tensor, dim: int, before: int, after: int) -> Tensor:
    """Return x with zeros before and after a dimension; negative numbers omit elements."""
    if not (before or after):
        return x
    none = [(0, 0)] * x.rank
    return pad(x, [*none[:dim], (before, after), *none[dim + 1 :]])


# -- steps -----------------------------------------------------------------------------------------


VERTICES: dict[How, tuple[type[Vertex], float]] = {
    "max": (PoolMax, -np.inf),
    "sum": (PoolSum, 0),
    "backward": (PoolMaxGradient, 0),
}
"""The vertex class of each operation, and the value for positions outside of the field."""


def _by_vertices(
    work: Recorder,
    layout: ConvolutionLayout,
    how: How,
    element: ElementClass,
    read: dict[str, Tensor],
    name: str,
    own: dict[str, Tensor],
) -> Tensor:
    """Record the vertices that pool windows; return the output, [batch, channels, field ...]."""
    graph, (vertex, around) = work.graph, VERTICES[how]

    def signal(layout: ConvolutionLayout, x: Tensor, field: str) -> Tensor:
        return signal_of(graph, layout, x, around, f"{name}/around {field}")

    whole = {
        field: signal(layout, arranged(graph, work, layout, x, f"{name}/{field}"), field)
        for field, x in read.items()
    }
    identity = tuple(one_to_one(size) for size in layout.request.field)
    same = replace(layout, request=replace(layout.request, dimensions=identity))
    mine = {field: signal(same, x, field) for field, x in own.items()}
    found = [(kind, layout.number(kind.blocks())) for kind in layout.kinds()]
    out = _output(graph, layout, found, element, name)
    for at in range(layout.passes):
        step, begin = work.compute_set(name), 0
        for kind, number in found:
            size = math.prod(kind.sizes[:-1])
            (chosen,) = np.nonzero(number % layout.turns // layout.at_once == at)
            place = begin + chosen * size
            begin += len(number) * size
            if not len(chosen):
                continue
            fields: dict[str, object] = {
                field: blocks_of(x, kind, chosen) for field, x in whole.items()
            }
            for field, x in mine.items():
                fields[field] = blocks_of(x, EqualBlocks(same, kind.parts), chosen)
            graph.add_vertices(
                step,
                vertex,
                tile=number[chosen] // layout.turns,
                out=Slices(out, 0, place, place + size),
                channels=kind.sizes[-1],
                **fields,
                **windows_of(kind, len(chosen)),
            )
    return output_of_blocks(out, layout)


def _output(
    graph: Graph,
    layout: ConvolutionLayout,
    found: list[tuple[EqualBlocks, Int64]],
    element: ElementClass,
    name: str,
) -> Tensor:
    """Create a variable for the output, block after block, each on the tile of its vertex."""
    tile = np.concatenate([number // layout.turns for _, number in found])
    length = np.concatenate(
        [np.full(len(number), math.prod(kind.sizes[:-1])) for kind, number in found]
    )
    mapping = TileMapping(graph.target.tiles, tile, length)
    return graph.add_variable(element, (int(length.sum()),), name, mapping=mapping)


# -- stages ----------------------------------------------------------------------------------------


@frozen
class PoolingStage:
    """Windows that are pooled at once.

    Attributes:
        request: the windows, as a convolution request.
        is_reduced: whether they are pooled by a reduction rather than by pooling vertices.
    """

    request: ConvolutionRequest
    is_reduced: bool


@frozen
class Way:
    """Successive stages, and their total modelled cycles."""

    cycles: int
    stages: tuple[PoolingStage, ...]


@lru_cache(maxsize=256)
def cheapest_way(target: Target, request: ConvolutionRequest, how: How) -> Way:
    """Return the way with the fewest modelled cycles, and the fewest stages among equals.

    Args:
        target: the target whose tiles share the work.
        request: windows of a signal without zeros between its elements.
        how: "max" or "sum".

    Raises:
        GraphMemoryAllocationError: if no way fits the memory.
    """
    request = replace(request, dimensions=tuple(_inside(each) for each in request.dimensions))
    found, failure = [], None
    try:
        layout = pooling_layout(target, request, how)
        found.append(Way(sum(layout.cycles), (PoolingStage(request, is_reduced=False),)))
    except GraphMemoryAllocationError as error:
        failure = error
    if all(_is_adjacent(each) for each in request.dimensions):
        found.append(
            Way(reduced_cycles(target, request, how), (PoolingStage(request, is_reduced=True),))
        )
    for first, second in _in_two(request, how):
        try:
            both = [cheapest_way(target, each, how) for each in (first, second)]
        except GraphMemoryAllocationError:
            continue
        stages = tuple(stage for way in both for stage in way.stages)
        if any(one.is_reduced and two.is_reduced for one, two in pairwise(stages)):
            continue  # reductions are separate stages
        found.append(Way(sum(way.cycles for way in both), stages))
    if failure and not found:
        raise failure
    return min(found, key=lambda way: (way.cycles, len(way.stages)))


def reduced_cycles(target: Target, request: ConvolutionRequest, how: How) -> int:
    """Return the modelled cycles of a reduction of adjacent windows, for a linearly mapped x.

    Each tile has a contiguous range of x and pools its part of each window, which is copied
    first if it is not contiguous; then partial results are sent to the tiles of the windows.
    """
    cost, element, taps = target.cost, request.element_type, request.taps
    held = -(-request.elements // target.tiles)
    met, size, columns, stretches = _met(request, held)
    if columns > 1:
        width = -(-columns // target.workers)
        slots = reduce_columns(element, FLOAT, width, size, width, target, adds=how == "sum")
        cycles = slots * target.workers * math.ceil(met / columns)
    else:
        slots = reduce_one(element, FLOAT, size, target)
        cycles = slots * target.workers * math.ceil(met / target.workers)
        if stretches > met:
            copied = held * element.size_bytes / cost("memcpy_bytes_per_cycle")
            rows = math.ceil(stretches * cost("copy_piece_cycles") + copied)
            cycles += int(cost("worker_call")) + rows
    partials = -(-taps // size)
    if partials > 1 and target.tiles > 1:
        wide = FLOAT if how == "sum" else element
        tiles = min(target.tiles, -(-request.elements // held))
        spread = RemainingPartials(wide, min(partials, tiles), math.ceil(met * tiles), tiles)
        cycles += cycles_of(target, spread, cheapest_levels(target, spread))
    return cycles


def _met(request: ConvolutionRequest, held: int) -> tuple[float, int, int, float]:
    """Return the average parts of windows in a range of `held` elements of x.

    The results are the number of windows in the range; the elements of each; how many windows
    are interleaved as columns, 1 if none are; and the number of contiguous runs of their elements.
    """
    met, columns, rest, row, is_row = 1.0, 1, float(held), 1.0, True
    for each in request.dimensions[::-1]:
        taps, covered = len(each.taps), min(rest, each.size)
        windows = each.size / taps if covered == each.size else (covered + taps - 1) / taps
        met *= windows
        if taps == 1 and columns == met / windows:
            columns = max(1, round(met))
        if is_row:
            row *= min(taps, covered)
            is_row = taps == each.size
        rest = max(1.0, rest / each.size)
    met = max(1.0, met * rest)
    return met, max(1, round(held / met)), columns, held / row


def as_rows(x: Tensor, request: ConvolutionRequest) -> tuple[Tensor, list[int]]:
    """Return x with dimensions for the positions in each window, and their indices."""
    shape, places = list(x.shape[:2]), []
    for d, each in enumerate(request.dimensions, start=2):
        taps = len(each.taps)
        x = x.slice(each.origin, each.origin + each.count * taps, d)
        places.append(len(shape) + 1)
        shape += [each.count, taps]
    return x.reshape(shape), places


def _inside(each: Dimension) -> Dimension:
    """Return a dimension whose only window is cropped to the field; others are unchanged."""
    if each.count != 1 or not _is_contiguous(each):
        return each
    begin, end = max(0, each.origin), min(each.size, each.origin + len(each.taps))
    if begin >= end:
        return each
    return Dimension(each.size, 1, begin, 1, 1, tuple(range(end - begin)))


def _is_contiguous(each: Dimension) -> bool:
    return each.dilation == 1 and each.taps == tuple(range(len(each.taps)))


def _is_adjacent(each: Dimension) -> bool:
    taps = len(each.taps)
    follow = each.count == 1 or each.stride == taps
    inside = each.origin >= 0 and each.origin + each.count * taps <= each.size
    return follow and inside and _is_contiguous(each)


def _in_two(
    request: ConvolutionRequest, how: How
) -> Iterator[tuple[ConvolutionRequest, ConvolutionRequest]]:
    """Yield ways to pool in two stages: parts of windows first, or one dimension first."""
    whole = request.dimensions
    parts = [_part(each) for each in whole]
    if math.prod(parts) > 1 and parts != [len(each.taps) for each in whole]:
        cuts = [_cut(each, part) for each, part in zip(whole, parts, strict=True)]
        yield _two(request, how, cuts)
    wide = [d for d, each in enumerate(whole) if len(each.taps) > 1]
    if len(wide) > 1:
        for first in wide:
            cuts = [_one_of(each, d == first) for d, each in enumerate(whole)]
            yield _two(request, how, cuts)


Cut = tuple[Dimension, Dimension]
"""The windows of the first and the second stage along a dimension."""


def _part(each: Dimension) -> int:
    """Return the common divisor of windows, strides and padding as the size of parts; 1 if none."""
    if not _is_contiguous(each):
        return 1
    taps = len(each.taps)
    return taps if each.count == 1 else math.gcd(each.stride, taps, min(each.origin, 0))


def _cut(each: Dimension, part: int) -> Cut:
    taps, stride = len(each.taps) // part, each.stride // part if each.count > 1 else 1
    begin, padding = max(each.origin, 0), max(-each.origin, 0) // part
    parts = (each.count - 1) * stride + taps - padding
    parts = min(parts, -(-(each.size - begin) // part))  # no part of padding alone
    first = Dimension(each.size, 1, begin, part, parts, tuple(range(part)))
    return first, Dimension(parts, 1, -padding, stride, each.count, tuple(range(taps)))


def _one_of(each: Dimension, is_first: bool) -> Cut:
    return (each, one_to_one(each.count)) if is_first else (one_to_one(each.size), each)


def _two(
    request: ConvolutionRequest, how: How, cuts: list[Cut]
) -> tuple[ConvolutionRequest, ConvolutionRequest]:
    one, two = (tuple(cut[k] for cut in cuts) for k in (0, 1))
    wide = FLOAT if how == "sum" else request.element_type
    return (
        replace(request, dimensions=one),
        replace(request, dimensions=two, element_type=wide),
    )


# -- the division of a stage among tiles -----------------------------------------------------------
# Pooling is divided among tiles by blocks of batch, field and channels; the cheapest are used.
#
# A block of channels is treated as a group of a convolution, so that the blocks of convolutions and
# their inputs can also be used for pooling. Costs are the bytes that blocks read in addition to
# their own part, and PopLibs' cycle estimates of the vertices.


@lru_cache(maxsize=256)
def pooling_layout(target: Target, request: ConvolutionRequest, how: How) -> ConvolutionLayout:
    """Return the cheapest layout of a stage.

    Args:
        target: the target whose tiles share the work.
        request: windows with one group of channels, and the same number of outputs and inputs.
        how: the operation of the vertices.
    """
    channels = request.inputs
    several = [
        _ways(target, replace(request, groups=channels // part, inputs=part, outputs=part), how)
        for part in range(1, channels + 1)
        if channels % part == 0
    ]
    (best,) = cheapest(several, 1)
    layout: ConvolutionLayout = best.layout
    if not best.fits:
        limit = int(request.memory * target.tile_memory_bytes)
        raise GraphMemoryAllocationError(
            f"pooling of {request} does not fit: a tile needs at least {layout.bytes:,} B of "
            f"{limit:,} B ({request.memory:g} of its {target.tile_memory_bytes:,} B)",
            found="for the elements that a block reads, and its output",
            fix="use more tiles, or a smaller window",
        )
    return layout


def _ways(target: Target, request: ConvolutionRequest, how: How) -> PricedWays[ConvolutionLayout]:
    """Return the ways for one size of the blocks of channels."""
    size, sizes = request.element_type.size_bytes, (request.batch, *request.field)
    batch, *field = parts = blocks_of_all(sizes, [1] * len(sizes), target.tiles_per_ipu)
    cuts = [-(-whole // part) for whole, part in zip(sizes, parts, strict=True)]
    turns: Any = -(-request.groups * math.prod(cuts) // target.tiles_per_ipu)
    operands = 2 if how == "backward" else 1
    reach: Any = batch * request.inputs * size * operands
    own = reach
    for part, each in zip(field, request.dimensions, strict=True):
        places = each.places(part)
        reach, own = reach * places, own * np.minimum(places, part * each.stride)
    positions: Any = batch * math.prod(field)
    made = positions * request.outputs * size * operands
    limit = int(request.memory * target.tile_memory_bytes)
    at_once: Any = np.clip((limit - turns * made) // reach, 1, turns)
    cost, passes = target.cost, -(-turns // at_once)
    start = cost("sync_cycles") + cost("latency_cycles") + cost("worker_call")
    exchange = turns * (reach - own) / target.exchange_bytes_per_cycle
    exchange = exchange + turns * reach / cost("memcpy_bytes_per_cycle") + passes * start
    width = target.vector_width(request.element_type)
    rows, vectors = (positions // field[-1], field[-1]), -(-request.inputs // width)
    work = turns * pooling_cycles(how, rows, request.taps, vectors, target)
    total: Any = at_once * reach + turns * made
    rank = np.where(total > limit, total, 0), np.ceil(exchange) + work, turns, total

    def layout(way: int) -> ConvolutionLayout:
        return ConvolutionLayout(
            request,
            int(batch[way]),
            tuple(int(part[way]) for part in field),
            request.outputs,
            request.inputs,
            int(turns[way]),
            int(at_once[way]),
            (int(exchange[way]), int(work[way]), 0),
            (int(at_once[way] * reach[way]), 0, int(turns[way] * made[way]), 0),
        )

    return PricedWays(rank, layout)
