"""Plans of convolutions: the cheapest of all ways to divide a convolution among tiles.

A plan determines the vertices of a graph and their tiles, so an executable does not need it.

The cost of each way is estimated by formulas: for the exchange, its start and the bytes at its
rate; for the AMP unit, as in `poplite.vertices.convolution`; and for the vertices that add
partials. Inputs are assumed to have the plan's mapping: the part of a block's input that no earlier
block reads is divided among the tiles that make outputs from it. An input whose taps are treated as
channels is exchanged and copied first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.errors import GraphMemoryAllocationError, TensorCreationError
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.machine.target import Target
from poplite.ops.operands import check_parts, count_of, counts_of
from poplite.ops.planning import (
    PricedWays,
    blocks_of_all,
    by,
    cheapest,
    cycles_of_graph,
    cycles_text,
    exchanged,
    held_text,
    others_text,
    too_large,
)
from poplite.ops.products.convolution_layout import (
    Convolution,
    ConvolutionLayout,
    collapsed_weights,
    expansions,
    input_of,
    num_adjacent_channels,
    record_convolutions,
    weights_of,
)
from poplite.ops.products.convolution_request import (
    ConvolutionRequest,
    Flag,
    Number,
    Padding,
    check_channels,
    check_rank,
    checked_expansion,
    float_type,
    outputs_per_row,
    parts,
    request_of,
    spacings,
)
from poplite.program.control import check_graph
from poplite.program.copy import TensorCopy
from poplite.program.recording import Recorder
from poplite.text import amount
from poplite.types import FLOAT, ElementTypeLike, element_type
from poplite.vertices.convolution import convolution_cycles
from poplite.vertices.reduce import partials_cycles

LARGEST_BLOCK = 1 << 20
"""Blocks with more outputs along a dimension are priced alike: no tile can hold their operands."""

CODE_BYTES = 16 << 10
"""Approximate bytes of code and stacks on a tile, in addition to operands and blocks."""

HELD = ("input", "weights", "partials", "arriving partials")
"""The uses of a tile's memory."""

Way = tuple[Any, ...]
"""The sizes of the blocks of each way: batch, field ..., inputs, outputs."""


def cheapest_ways(target: Target, request: ConvolutionRequest) -> list[ConvolutionLayout]:
    """Return the best few ways that fit, the cheapest first.

    Equally cheap ways are sorted by the number of vertices on a tile, then by memory, then by the
    length of rows, the longest first. Raises GraphMemoryAllocationError if no way fits.
    """
    found = cheapest([_Search(target, each).ways for each in expansions(request)])
    if not found[0].fits:
        held = found[0].layout.held
        tries = ["more tiles", "a smaller batch"]
        raise too_large(f"convolution of {request}", target, request.memory, held, HELD, tries)
    return [each.layout for each in found if each.fits]


def way_with_blocks(
    target: Target, request: ConvolutionRequest, like: ConvolutionLayout
) -> ConvolutionLayout | None:
    """Return the way that uses the blocks and tiles of another convolution, if it fits."""
    sizes = request.batch, *request.field, request.inputs, request.outputs
    blocks = like.batch, *like.field, like.inputs, like.outputs
    parts = tuple(np.array([min(part, size)]) for part, size in zip(blocks, sizes, strict=True))
    ways = _Search(target, request, parts).ways
    made = ways.layout(0)
    return None if ways.rank[0][0] or made.cuts != like.cuts else made


class _Search:
    """Estimates the cost of all ways to divide a convolution, or of those with given blocks."""

    def __init__(
        self, target: Target, request: ConvolutionRequest, parts: Way | None = None
    ) -> None:
        self.target, self.request = target, request
        size, tiles = request.element_type.size_bytes, target.tiles_per_ipu
        self.parts = parts or _parts(target, request)
        batch, *field, inputs, outputs = self.parts
        cuts = [
            -(-whole // part)
            for whole, part in zip(
                (request.batch, *request.field, request.inputs, request.outputs),
                self.parts,
                strict=True,
            )
        ]
        deep, wide = cuts[-2:]
        self.turns: Int64 = -(-request.groups * math.prod(cuts) // tiles)
        # Bytes per vertex.
        reach = own = read = batch * inputs * size
        for part, each in zip(field, request.dimensions, strict=True):
            places = each.places(part)
            reach = reach * places
            own = own * np.minimum(places, part * each.stride)
            read = read * np.minimum(places, each.size)
        weights = request.taps * inputs * outputs * size
        positions, columns = batch * math.prod(field), outputs_per_row(request.dimensions, field)
        has_partials = (deep > 1) | request.is_rounded
        made = positions * outputs * FLOAT.size_bytes * has_partials
        arriving = -(-made * (deep - 1) // deep)
        held = [reach, weights, self.turns * made, self.turns * arriving]
        # Blocks of a pass: as many as fit alongside operands with the plan's mapping.
        self.operands = self._operands(cuts, positions * outputs)
        limit = int(request.memory * target.tile_memory_bytes)
        whole = target.tile_memory_bytes - CODE_BYTES
        expanded = self._expanded(math.prod(cuts))
        block, kept = held[0] + held[1], expanded + held[2] + held[3]
        room = np.maximum(limit - kept, 0) // block
        others = (whole - self.operands - kept) // block
        room = np.where(others > 0, np.minimum(room, others), room)
        self.at_once = np.clip(room, 1, self.turns)
        self.held = [self.at_once * held[0] + expanded, self.at_once * held[1], *held[2:]]
        users = math.prod(cuts[:-2])
        pair = np.where(wide % int(target.cost("pair_tiles")) == 0, target.cost("pair_tiles"), 1)
        received = (reach - own / wide) / pair + weights * (1 - 1 / users)
        self.cycles = (
            self._exchange(received, own / wide + reach - read) + self._expansion(expanded),
            self.turns
            * convolution_cycles(
                outputs,
                inputs,
                (
                    request.taps // len(request.dimensions[-1].taps),
                    len(request.dimensions[-1].taps),
                ),
                (positions // columns, columns),
                request.element_type,
                target,
            ),
            self._addition(positions * outputs, deep, has_partials),
        )
        total: Any = sum(self.held)
        cycles = self.cycles[0] + self.cycles[1] + self.cycles[2]
        over, crowded = np.where(total > limit, total, 0), total + self.operands > whole
        rank = over, crowded, cycles, self.turns, total, cuts[-3]
        self.ways = PricedWays(rank, self.layout)

    def _operands(self, cuts: Sequence[Any], made: Any) -> Int64:
        """Return the approximate bytes of input, weights and output on the fullest tile."""
        request, size = self.request, self.request.element_type.size_bytes
        *shared, wide = cuts
        blocks = request.groups * math.prod(shared)
        uneven = np.ones(1)
        for some, each in zip(self.parts[1:-2], request.dimensions, strict=True):
            part = np.minimum(some, LARGEST_BLOCK)
            times = np.ones(part.max() + 1)  # relative to the average, by the size of a block
            for length in np.flatnonzero(np.bincount(part)).tolist():
                owned = np.diff(each.owner(length))
                times[length] = owned.max() * len(owned) / max(1, each.size)
            uneven = np.maximum(uneven, times[part])
        taps = request.taps * request.inputs * request.outputs
        share = (
            request.read.elements / blocks / wide * uneven
            + taps / math.prod(shared[:-1]) / shared[-1] / wide
        )
        found: Int64 = np.ceil(self.turns * size * (share + made / shared[-1])).astype(np.int64)
        return found

    def _expanded(self, blocks: Any) -> Any:
        """Return the bytes on a tile of an input with taps as channels; 0 if there is none."""
        request = self.request
        if request.source is None:
            return np.zeros_like(blocks)
        places = request.batch * math.prod(each.size for each in request.dimensions)
        size = request.groups * places * request.inputs * request.element_type.size_bytes
        return -(-size // -(-request.groups * blocks // self.turns))

    def _expansion(self, held: Any) -> Any:
        """Return the cycles of exchanging and copying an input with taps as channels."""
        request, cost = self.request, self.target.cost
        if request.source is None:
            return np.zeros_like(held)
        together = num_adjacent_channels(request) * request.element_type.size_bytes
        copied = held / cost("memcpy_bytes_per_cycle") + held / together * cost("copy_piece_cycles")
        copied = np.ceil(copied + cost("worker_call")).astype(np.int64)
        return exchanged(self.target, held) + copied

    def _exchange(self, received: Any, gathered: Any) -> Any:
        """Return the cycles in which tiles receive operands and copy their own parts of them."""
        cost, passes = self.target.cost, -(-self.turns // self.at_once)
        copied = np.ceil(self.turns * gathered / cost("memcpy_bytes_per_cycle"))
        copied = copied + passes * cost("worker_call")
        return exchanged(self.target, self.turns * received, passes) + copied.astype(np.int64)

    def _addition(self, outputs: Any, deep: Any, has_partials: Any) -> Any:
        """Return the cycles of adding partials on the tiles that made them."""
        share = np.ceil(self.turns * outputs / deep)
        received = share * FLOAT.size_bytes * (deep - 1)
        kinds = FLOAT, self.request.element_type
        added = partials_cycles(share, deep - 1, *kinds, self.target)
        return exchanged(self.target, received) + np.where(has_partials, added, 0)

    def layout(self, way: int) -> ConvolutionLayout:
        """Return the layout of a way, given by its index."""
        batch, *field, inputs, outputs = (int(part[way]) for part in self.parts)
        exchange, products, addition = (int(each[way]) for each in self.cycles)
        arrive, weights, made, arriving = (int(each[way]) for each in self.held)
        return ConvolutionLayout(
            self.request,
            batch,
            tuple(field),
            outputs,
            inputs,
            int(self.turns[way]),
            int(self.at_once[way]),
            (exchange, products, addition),
            (arrive, weights, made, arriving),
            operands=int(self.operands[way]),
        )


def _parts(target: Target, request: ConvolutionRequest) -> Way:
    """Return the sizes of the blocks of all ways to try."""
    inputs = int(target.cost("amp_inputs_bytes")) // request.element_type.size_bytes
    outputs = target.getNumConvUnits(request.element_type, FLOAT)
    sizes = request.batch, *request.field, request.inputs, request.outputs
    grains = *(1 for _ in sizes[:-2]), inputs, outputs
    return blocks_of_all(sizes, grains, target.tiles_per_ipu)


# -- plans -----------------------------------------------------------------------------------------


class ConvolutionPlan:
    """How a convolution is divided among the tiles of a graph.

    `plan_convolution` creates it. `print(plan)` shows the blocks of a tile, the cycles and bytes by
    part, and the runners-up.

    Attributes:
        graph: the graph for which it was made.
        request: the convolution.
        layouts: the chosen layout. For an input with zeros between its elements, there is one
            layout for each phase (`convolution_request`) that reads elements, or one for several
            phases that read the same elements; the longest comes first.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> how = dict(batch=2, field=(8, 8), inputs=3, outputs=16, kernel=(3, 3))
    >>> plan = pl.ops.plan_convolution(graph, **how)
    >>> plan.tiles, plan.create_weights("w").shape
    (4, (16, 3, 3, 3))
    """

    graph: Graph
    request: ConvolutionRequest

    def __init__(self, graph: Graph, request: ConvolutionRequest) -> None:
        check_parts(
            "ConvolutionPlan", "plan_convolution", graph, "request", request, ConvolutionRequest
        )
        self.graph, self.request = graph, request
        self._groups = planned(graph.target, request)
        found = [layout for several in self._groups for layout in several.values()]
        self.layouts: tuple[ConvolutionLayout, ...] = (
            tuple(found) or ranked(graph.target, request)[:1]
        )

    @property
    def runners_up(self) -> tuple[ConvolutionLayout, ...]:
        """The next best layouts of the longest phase, the best first."""
        return ranked(self.graph.target, self.layout.request.read)[1:]

    @property
    def layout(self) -> ConvolutionLayout:
        """The chosen layout of the longest phase."""
        return self.layouts[0]

    @property
    def tiles(self) -> int:
        """The number of tiles that take part."""
        return max(each.tiles for each in self.layouts)

    @property
    def cycles(self) -> int:
        """Cycles by the cost model, with operands from `create_input` and `create_weights`.

        All steps are built and priced, which takes a second per few million elements of an input.
        """
        several = [tuple(each.values()) for each in self._groups] or [self.layouts]
        return sum(exact_cycles(self.graph.target, each) for each in several)

    @property
    def bytes(self) -> int:
        """Bytes of blocks and partials on a tile."""
        return max(each.bytes for each in self.layouts)

    def create_input(self, name: str = "input") -> Tensor:
        """Create a variable for the input with the plan's mapping.

        Args:
            name: name of the variable.

        Returns:
            A view of shape (batch, channels, field ...). Channels are adjacent in memory.

        Raises:
            TensorCreationError: for an invalid name.

        >>> import poplite as pl
        >>> graph = pl.Graph(pl.Target(tiles=4))
        >>> how = dict(batch=2, field=(8, 8), inputs=3, outputs=16, kernel=(3, 3))
        >>> plan_convolution(graph, **how).create_input("x")
        <Tensor 'x'.dim_shuffle([0, 3, 1, 2]) float32[2, 3, 8, 8] on 4 tiles (0-3), 1,536 B>
        """
        return input_of(self.graph, self.layout.unexpanded, name)

    def create_weights(self, name: str = "weights") -> Tensor:
        """Create a variable for the weights with the plan's mapping; see `create_input`.

        Args:
            name: name of the variable.

        Returns:
            A view of shape (output channels, input channels of a group, kernel ...).

        Raises:
            TensorCreationError: for an invalid name.
        """
        request, own = self.request, self.layout.request
        layout = self.layout
        if own.outputs > request.outputs:  # those of several phases
            own = replace(own, outputs=request.outputs)
            layout = replace(layout, request=own, outputs=min(layout.outputs, own.outputs))
        made = weights_of(self.graph, layout, name, request.taps // own.as_channels)
        made = collapsed_weights(made, own)
        return made.reshape((request.groups * request.outputs, request.inputs, *request.kernel))

    def __repr__(self) -> str:
        return f"<ConvolutionPlan {self.request}, {amount(self.tiles, 'tile')}>"

    def __str__(self) -> str:
        lines = [str(self.request)]
        if sum(len(numbers) for several in self._groups for numbers in several) > 1:
            for several in self._groups:
                cycles = self._priced(tuple(several.values()))
                count = sum(map(len, several))
                lines.append(f"{amount(count, 'phase')} at once, cycles {cycles}")
                for numbers, layout in several.items():
                    which = "phase" if len(numbers) == 1 else "phases"
                    listed = ", ".join(map(str, numbers))
                    lines.append(f"{which} {listed}, kernel {by(layout.request.kernel)}")
                    lines += self._described(layout)
            return "\n".join(lines)
        lines += self._described(self.layout)
        others = self.runners_up[:SHOWN]
        priced = [
            (_cuts(each), f"{sum(each.cycles):,} cycles by formulas", each.bytes) for each in others
        ]
        return "\n".join(lines + others_text(priced))

    def _priced(self, layouts: tuple[ConvolutionLayout, ...]) -> str:
        """Return the exact cycles as text, unless computing them takes too long for a print."""
        is_long = max(each.request.elements for each in layouts) > MOST_PRICED
        return "see plan.cycles" if is_long else f"{exact_cycles(self.graph.target, layouts):,}"

    def _described(self, layout: ConvolutionLayout) -> list[str]:
        formulas = cycles_text(layout.cycles, has_partials=layout.has_partials)
        each = f", {layout.turns:,} blocks each" if layout.turns > 1 else ""
        passes = f" in {layout.passes:,} passes" if layout.passes > 1 else ""
        own, source = layout.request, layout.request.source
        expanded = (
            [
                f"  expanded kernel {by(source.kernel)} to {by(own.kernel)}, channels "
                f"{source.inputs:,} to {own.inputs:,}"
            ]
            if source
            else []
        )
        return [
            *expanded,
            f"  cuts     {_cuts(layout)}, {amount(layout.tiles, 'tile')}{each}{passes}",
            f"  block    {_block(layout)}",
            f"  cycles   {self._priced((layout,))}; by formulas {formulas}",
            f"  memory   {layout.bytes:,} B on a tile = {held_text(HELD, layout.held)}; operands "
            f"{layout.operands:,}" + self._lacking(layout),
        ]

    def _lacking(self, layout: ConvolutionLayout) -> str:
        """Return a warning if operands with the plan's mapping do not fit the tiles."""
        room = self.graph.target.tile_memory_bytes
        return f": more than {room:,}" if layout.bytes + layout.operands > room else ""


SHOWN = 3
"""Maximum number of runners-up that a plan shows."""

MOST_PRICED = 1 << 23
"""Largest input whose steps are priced for the text of a plan, which takes about two seconds."""


def _cuts(layout: ConvolutionLayout) -> str:
    groups, batch, *field, inputs, outputs = layout.cuts
    several = f"{groups:,} groups, " if groups > 1 else ""
    if layout.request.source:
        several = f"expand {layout.request.expand}, {several}"
    return f"{several}batch {batch:,}, field {by(field)}, channels {inputs:,} to {outputs:,}"


def _block(layout: ConvolutionLayout) -> str:
    field = by(layout.field)
    return f"{layout.batch:,} of {field}, {layout.inputs:,} to {layout.outputs:,} channels"


def plan_convolution(
    graph: Graph,
    *,
    batch: int,
    field: Sequence[int],
    inputs: int,
    outputs: int,
    kernel: Sequence[int],
    stride: Number = 1,
    padding: Padding = 0,
    dilation: Number = 1,
    input_dilation: Number = 1,
    groups: int = 1,
    flip: Flag = False,
    type: ElementTypeLike = FLOAT,  # noqa: A002
    memory: float = 0.6,
    expand: int | None = None,
) -> ConvolutionPlan:
    """Return the cheapest way to divide a convolution among the tiles of a graph.

    Args:
        graph: the graph in which the convolution will run; one IPU is used, even if there are more.
        batch: number of inputs.
        field: sizes of the input, for one to three dimensions.
        inputs: channels of the input.
        outputs: channels of the output.
        kernel: sizes of the kernel, one for each of `field`.
        stride: as in `ops.convolution`.
        padding: as in `ops.convolution`.
        dilation: as in `ops.convolution`.
        input_dilation: as in `ops.convolution`.
        groups: as in `ops.convolution`.
        flip: as in `ops.convolution`.
        type: element type of input, weights and output, HALF or FLOAT.
        memory: the fraction of a tile's memory that blocks and partials may take. If a tile's
            blocks need more, they are computed in several passes.
        expand: number of last dimensions whose kernel taps are treated as channels of the input,
            which is then copied first; the AMP unit multiplies 16 channels of HALF at a time, or 8
            of FLOAT. By default, the cheapest number; 0 if the input has that many channels, or if
            `input_dilation` puts zeros between elements.

    Returns:
        The plan, which is the same for equal arguments.

    Raises:
        GraphMemoryAllocationError: if no way fits; the message lists the uses of the memory.
        ElementTypeError: for types that the AMP unit does not multiply.
        TensorCreationError: for sizes that do not match.
        SizeOverflowError: for a size that is not a non-negative integer.
        InvalidOption: for an invalid parameter.
        ControlProgramError: for an invalid graph.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=64))
    >>> plan = plan_convolution(
    ...     graph, batch=4, field=(28, 28), inputs=32, outputs=64, kernel=(3, 3), padding=1
    ... )
    >>> plan.tiles, plan.layout.field, plan.layout.outputs
    (64, (7, 28), 16)
    """
    what = "plan_convolution"
    check_graph(f"{what}(graph, batch=8, field=(28, 28), ...)", graph)
    element = float_type(what, element_type(type))
    sizes = counts_of(what, "field", field)
    taps = counts_of(what, "kernel", kernel)
    rank = check_rank(what, (batch, inputs, *sizes))
    if len(taps) != rank:
        raise TensorCreationError(
            f"{what}: the kernel is {taps}, but the field is {sizes}",
            found=f"they have {len(taps)} and {rank} dimensions",
            fix="pass the same number of sizes for both",
        )
    numbers = [
        count_of(what, name, size)
        for name, size in (("batch", batch), ("inputs", inputs), ("outputs", outputs))
    ]
    count = check_channels(what, groups, *numbers[1:])
    how = spacings(what, rank, stride, padding, dilation, input_dilation, flip)
    channels = count, numbers[1] // count, numbers[2] // count
    request = request_of(what, numbers[0], channels, sizes, taps, how, element, memory)
    request = replace(request, expand=checked_expansion(what, expand, request))
    return ConvolutionPlan(graph, request)


Numbers = tuple[int, ...]

Ways = dict[Numbers, ConvolutionLayout]
"""Layouts by the numbers of the phases that they compute."""


def planned(target: Target, request: ConvolutionRequest) -> tuple[Ways, ...]:
    """Return the best ways of the phases that read elements, in groups.

    The phases of a group run at the same time. A group has as many phases as fit the memory of
    tiles; the slowest phases come first. Phases that read the same elements with the same number
    of taps are merged into one convolution with the output channels of all, if that is cheaper.
    """
    limit = int(request.memory * target.tile_memory_bytes)
    groups: list[Ways] = []
    for numbers, layout in _cheapest(target, request).items():
        held = sum(each.bytes for each in groups[-1].values()) if groups else limit
        if held + layout.bytes > limit:
            groups.append({})
        groups[-1][numbers] = layout
    return tuple(groups)


def _cheapest(target: Target, request: ConvolutionRequest) -> Ways:
    """Return the ways of all phases that read elements, the slowest first."""
    each: dict[Numbers, ConvolutionRequest] = {
        (number,): part.request
        for number, part in enumerate(parts(request))
        if part.request is not None and not part.request.is_empty
    }
    ways = _ways(target, each)
    merged = _merged(each)
    if len(merged) == len(each):
        return ways
    try:
        together = _ways(target, merged)
    except GraphMemoryAllocationError:  # partials for all channels at once do not fit
        return ways
    return min(together, ways, key=_price)


def _merged(requests: dict[Numbers, ConvolutionRequest]) -> dict[Numbers, ConvolutionRequest]:
    """Merge equal convolutions into one that has the output channels of all."""
    several: dict[ConvolutionRequest, list[int]] = {}
    for numbers, request in requests.items():
        several.setdefault(request, []).extend(numbers)
    return {
        tuple(numbers): replace(request, outputs=len(numbers) * request.outputs)
        for request, numbers in several.items()
    }


def _ways(target: Target, requests: dict[Numbers, ConvolutionRequest]) -> Ways:
    """Return the best ways of convolutions, or ways with equal blocks if that is cheaper."""
    found = {numbers: ranked(target, request)[0] for numbers, request in requests.items()}
    found = dict(sorted(found.items(), key=lambda way: -sum(way[1].cycles)))
    return _of_equal_blocks(target, found) or found


def _of_equal_blocks(target: Target, found: Ways) -> Ways | None:
    """Return ways with the blocks of the first phase for all phases, if sharing the input pays."""
    if len(found) < 2:
        return None
    first = next(iter(found.values()))
    made = {n: way_with_blocks(target, each.request, first) for n, each in found.items()}
    several = [each for each in made.values() if each is not None]
    if len(several) < len(found):
        return None
    equal = dict(zip(made, several, strict=True))
    return equal if _price(equal) <= _price(found) else None


def _price(ways: Ways) -> int:
    """Return the estimated cycles; phases with equal blocks exchange the input only once."""
    layouts = list(ways.values())
    if len({layout.cuts for layout in layouts}) > 1:
        return sum(sum(each.cycles) for each in layouts)
    return sum(sum(each.cycles[1:]) for each in layouts) + max(each.cycles[0] for each in layouts)


@lru_cache(maxsize=256)
def ranked(target: Target, request: ConvolutionRequest) -> tuple[ConvolutionLayout, ...]:
    """Return the best ways, the cheapest first; for an empty convolution, a placeholder."""
    if request.is_empty:
        field = tuple(max(1, size) for size in request.field)
        sizes = max(1, request.batch), field, max(1, request.outputs), max(1, request.inputs)
        return (ConvolutionLayout(request, *sizes, 1, 1, (0, 0, 0), (0, 0, 0, 0)),)
    return tuple(cheapest_ways(target, request))


# -- exact prices ----------------------------------------------------------------------------------
# The cost of a layout by the cost model: it is built and priced in a separate graph, which is not
# compiled or run. Operands are assumed to have the plan's mapping.


@lru_cache(maxsize=256)
def exact_cycles(target: Target, layouts: tuple[ConvolutionLayout, ...]) -> int:
    """Return the cycles of layouts of one input, whose vertices run in the same compute sets."""
    graph = Graph(target)
    x = input_of(graph, layouts[0].unexpanded, "input")
    several = [
        Convolution(graph, each, x, weights_of(graph, each, "weights"), "convolution")
        for each in layouts
    ]
    recorder = Recorder(graph)
    record_convolutions(recorder, several)
    return cycles_of_graph(graph, [each for each in recorder.steps if isinstance(each, TensorCopy)])
