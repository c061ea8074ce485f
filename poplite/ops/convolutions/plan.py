"""Plans of convolutions: the cheapest of all ways to share one among tiles.

The search prices all ways by formulas (`poplite.ops.convolutions.search`). What a plan says becomes
part of the graph: which vertex convolves what, and where. So an executable needs no plan.

What a layout costs by the cost model: it is built on a graph of its own, and priced.

Nothing is run or compiled. Operands are assumed to have the plan's mapping.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from poplite.errors import GraphMemoryAllocationError, TensorCreationError
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.machine.target import Target
from poplite.ops.convolutions.arguments import (
    Flag,
    Number,
    Padding,
    check_channels,
    check_rank,
    checked_expansion,
    float_type,
    request_of,
    spacings,
)
from poplite.ops.convolutions.convolution_steps import Convolution, record_convolutions, weights_of
from poplite.ops.convolutions.layout import ConvolutionLayout, collapsed_weights, input_of
from poplite.ops.convolutions.request import ConvolutionRequest, parts
from poplite.ops.convolutions.search import cheapest_ways, way_with_blocks
from poplite.ops.operands import check_parts, count_of, counts_of
from poplite.ops.planning import by, cycles_of_graph, held_text
from poplite.program.control import check_graph
from poplite.program.copy import TensorCopy
from poplite.program.recording import Recorder
from poplite.text import amount
from poplite.types import FLOAT, ElementTypeLike, element_type


class ConvolutionPlan:
    """How a convolution is shared among the tiles of a graph.

    `plan_convolution` makes it. `print(plan)` shows the blocks of a tile, the cycles and bytes by
    part, and the other ways that were considered.

    Attributes:
        graph: the graph it was made for.
        request: the convolution.
        layouts: the way that is taken; of an input with zeros between its elements, one for each
            phase (`poplite.ops.convolutions.request`) that reads elements, or for several with the
            same reads, the longest first.
    """

    def __init__(self, graph: Graph, request: ConvolutionRequest) -> None:
        check_parts(
            "ConvolutionPlan", "plan_convolution", graph, "request", request, ConvolutionRequest
        )
        self.graph, self.request = graph, request
        self._groups = planned(graph.target, request)
        found = [layout for several in self._groups for layout in several.values()]
        self.layouts = tuple(found) or ranked(graph.target, request)[:1]

    @property
    def runners_up(self) -> tuple[ConvolutionLayout, ...]:
        """The layouts that came next, the best first; those of the longest phase."""
        return ranked(self.graph.target, self.layout.request.read)[1:]

    @property
    def layout(self) -> ConvolutionLayout:
        """The way that is taken, of the longest phase."""
        return self.layouts[0]

    @property
    def tiles(self) -> int:
        """How many tiles take part."""
        return max(each.tiles for each in self.layouts)

    @property
    def cycles(self) -> int:
        """Cycles by the cost model, with operands as `create_input` and `create_weights` make.

        All steps are made and priced, in a second for each few million elements of an input.
        """
        several = [tuple(each.values()) for each in self._groups] or [self.layouts]
        return sum(exact_cycles(self.graph.target, each) for each in several)

    @property
    def bytes(self) -> int:
        """Bytes of blocks and partials on a tile."""
        return max(each.bytes for each in self.layouts)

    def create_input(self, name: str = "input") -> Tensor:
        """Make a variable for the input with the plan's mapping.

        Args:
            name: of the variable.

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
        """Make a variable for the weights with the plan's mapping, as `create_input`.

        Args:
            name: of the variable.

        Returns:
            A view of shape (output channels, input channels of a group, kernel ...).

        Raises:
            TensorCreationError: for an invalid name.
        """
        request, own = self.request, self.layout.request
        layout = self.layout
        if own.outputs > request.outputs:  # of several phases
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
        lines += [
            f"  {'  ' if number else 'or'}       {_cuts(other)}: {sum(other.cycles):,} cycles by "
            f"formulas, {other.bytes:,} B"
            for number, other in enumerate(self.runners_up[:SHOWN])
        ]
        return "\n".join(lines)

    def _priced(self, layouts: tuple[ConvolutionLayout, ...]) -> str:
        """Return the exact cycles, if to find them takes no longer than a reader waits."""
        is_long = max(each.request.elements for each in layouts) > MOST_PRICED
        return "see plan.cycles" if is_long else f"{exact_cycles(self.graph.target, layouts):,}"

    def _described(self, layout: ConvolutionLayout) -> list[str]:
        exchange, products, addition = layout.cycles
        terms = [f"exchange {exchange:,}", f"products {products:,}"]
        terms += [f"sums {addition:,}"] if layout.has_partials else []
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
            f"  cycles   {self._priced((layout,))}; by formulas {' + '.join(terms)}",
            f"  memory   {layout.bytes:,} B of a tile = {held_text(HELD, layout.held)}; operands "
            f"{layout.operands:,}" + self._lacking(layout),
        ]

    def _lacking(self, layout: ConvolutionLayout) -> str:
        """Return the text that operands as the plan makes them do not fit, where that is so."""
        room = self.graph.target.tile_memory_bytes
        return f": more than {room:,}" if layout.bytes + layout.operands > room else ""


SHOWN = 3
"""Runners-up that a plan shows."""

HELD = ("input", "weights", "partials", "arriving partials")
"""What the memory of a tile is for."""

MOST_PRICED = 1 << 23
"""Elements of an input whose steps are priced for the text of a plan, within about two seconds."""


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
    """Return the cheapest way to make a convolution on the tiles of a graph.

    Args:
        graph: where it will be made; of several IPUs one is used.
        batch: how many inputs there are.
        field: sizes of an input, one to three.
        inputs: channels of the input.
        outputs: channels of the output.
        kernel: sizes of the kernel, as many.
        stride: as in `ops.convolution`, and so are the next five.
        padding: likewise.
        dilation: likewise.
        input_dilation: likewise.
        groups: likewise.
        flip: likewise.
        type: of input, weights and output, HALF or FLOAT.
        memory: the share of a tile's memory that blocks and partials may take. Where that is too
            little for all blocks of a tile, it makes them one after the other.
        expand: of how many of the last dimensions the taps of the kernel count as channels of the
            input, which is copied first: the AMP unit takes 16 channels of HALF at a time, or 8 of
            FLOAT. Left out, the cheapest; 0 where channels are as many, or `input_dilation`
            puts zeros between elements.

    Returns:
        The plan, for equal arguments the same.

    Raises:
        GraphMemoryAllocationError: where no way fits, with what takes the memory.
        ElementTypeError: for types that the AMP unit does not multiply.
        TensorCreationError: for sizes that do not fit each other.
        SizeOverflowError: for a size that is not a whole number from 0.
        InvalidOption: for a parameter that is illegal.
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
            f"{what}: a kernel of {taps} for a field of {sizes}",
            found=f"{len(taps)} and {rank} dimensions",
            fix="as many sizes",
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
"""How phases are made, by their numbers; several with the same reads are one convolution."""


def planned(target: Target, request: ConvolutionRequest) -> tuple[Ways, ...]:
    """Return the best way of the phases that read elements, in groups.

    The phases of a group are made at once, as many as the memory of tiles holds; those that take
    longest come first. Phases that read the same elements with as many taps are one convolution
    with the output channels of all of them, where that is cheaper.
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
    """Return the ways of all phases that read elements, those that take longest first."""
    each: dict[Numbers, ConvolutionRequest] = {
        (number,): part.request
        for number, part in enumerate(parts(request))
        if part.request is not None and not part.request.is_empty
    }
    ways = _ways(target, each)
    alike = _alike(each)
    if len(alike) == len(each):
        return ways
    try:
        together = _ways(target, alike)
    except GraphMemoryAllocationError:  # partials of more channels at once: one by one they fit
        return ways
    return min(together, ways, key=_price)


def _alike(requests: dict[Numbers, ConvolutionRequest]) -> dict[Numbers, ConvolutionRequest]:
    """Return convolutions, equal ones as one with the output channels of all."""
    several: dict[ConvolutionRequest, list[int]] = {}
    for numbers, request in requests.items():
        several.setdefault(request, []).extend(numbers)
    return {
        tuple(numbers): replace(request, outputs=len(numbers) * request.outputs)
        for request, numbers in several.items()
    }


def _ways(target: Target, requests: dict[Numbers, ConvolutionRequest]) -> Ways:
    """Return the best ways of convolutions, or those with equal blocks where that is cheaper."""
    found = {numbers: ranked(target, request)[0] for numbers, request in requests.items()}
    found = dict(sorted(found.items(), key=lambda way: -sum(way[1].cycles)))
    return _of_equal_blocks(target, found) or found


def _of_equal_blocks(target: Target, found: Ways) -> Ways | None:
    """Return the phases with the blocks of the first, where that is cheaper: they read the same."""
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
    """Return the cycles by formulas; of phases with equal blocks the input is exchanged once."""
    layouts = list(ways.values())
    if len({layout.cuts for layout in layouts}) > 1:
        return sum(sum(each.cycles) for each in layouts)
    return sum(sum(each.cycles[1:]) for each in layouts) + max(each.cycles[0] for each in layouts)


@lru_cache(maxsize=256)
def ranked(target: Target, request: ConvolutionRequest) -> tuple[ConvolutionLayout, ...]:
    """Return the best ways, the cheapest first; of nothing one that is never used."""
    if request.is_empty:
        field = tuple(max(1, size) for size in request.field)
        sizes = max(1, request.batch), field, max(1, request.outputs), max(1, request.inputs)
        return (ConvolutionLayout(request, *sizes, 1, 1, (0, 0, 0), (0, 0, 0, 0)),)
    return tuple(cheapest_ways(target, request))


# -- exact -----------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def exact_cycles(target: Target, layouts: tuple[ConvolutionLayout, ...]) -> int:
    """Return the cycles of layouts of one input, whose vertices run at once."""
    graph = Graph(target)
    x = input_of(graph, layouts[0].unexpanded, "input")
    several = [
        Convolution(graph, each, x, weights_of(graph, each, "weights"), "convolution")
        for each in layouts
    ]
    recorder = Recorder(graph)
    record_convolutions(recorder, several)
    return cycles_of_graph(graph, [each for each in recorder.steps if isinstance(each, TensorCopy)])
