"""The distinct elements of a sorted tensor."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poplite.errors import TensorCreationError
from poplite.expr.operand import Operand
from poplite.expr.tree import Expr
from poplite.graph.graph import Graph
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.choices import cast
from poplite.ops.comparisons import is_nan, logical_and, logical_not, not_equal
from poplite.ops.fuse.placement import Mappings, grain_of, variable
from poplite.ops.operands import (
    called,
    check_placed,
    check_type,
    graph_of,
    operand,
    ordered_bits,
    steps_for,
)
from poplite.ops.order.rows import ORDERED, pieces, ranges
from poplite.ops.order.scans import cumulative_sum
from poplite.ops.record import assign, map as stored
from poplite.ops.steps import zero
from poplite.program import Execute, Sequence
from poplite.program.recording import Steps as Block
from poplite.source import here
from poplite.types import UNSIGNED_INT
from poplite.vertices.taking import PackUnique

SHARE = 4
"""A quarter of a tile's memory, at most, is for a part of the elements."""


class Unique(NamedTuple):
    """What `unique_sorted` returns.

    Attributes:
        values: the distinct elements, and 0 behind them; of the size of x.
        length: how many there are, a number that is known when the program has run: UNSIGNED_INT[].
    """

    values: Tensor
    length: Tensor


def unique_sorted(
    x: Operand, *, name: str = "unique_sorted", program: Sequence | None = None
) -> Unique:
    """Record steps that pack the elements that differ from the one before.

    Of a sorted tensor these are its distinct elements. Equal are 0.0 and -0.0, of which the first
    is kept, and any two NaNs.

    Args:
        x: FLOAT, HALF, or integers of up to 32 bits; rank 1. An expression is stored first.
        name: of the new variables and of the steps.
        program: where the steps go; left out, the block of `graph.steps()` that is open.

    Returns:
        Values and length.

    Raises:
        ElementTypeError: for other elements.
        TensorCreationError: for another rank.
        ControlProgramError: without `program=` outside of all steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=1)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (5,), "x", mapping="linear", initial_value=[1, 1, 2, 5, 5])
    >>> values, length = unique_sorted(x, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(values).tolist(), int(engine.read(length))
    ([1, 2, 5, 0, 0], 3)
    """
    what = "ops.unique_sorted"
    given = operand(what, x, program)
    check_type(what, given, ORDERED)
    check_placed(given)
    if given.rank != 1:
        raise TensorCreationError(
            f"{what}: {called(given)} has rank {given.rank}",
            at=here(),
            found=f"shape {given.shape}",
            fix="x.flatten(), sorted",
        )
    graph = graph_of(what, given, program)
    place = steps_for(what, graph, name, program)
    if isinstance(given, Expr):
        given = stored(given, name=f"{name}/x", program=program)
    steps = Block(graph, name)
    found = _packed(graph, given, name, steps)
    place.add(steps)
    return found


def _packed(graph: Graph, x: Tensor, name: str, steps: Sequence) -> Unique:
    """Record that each tile finds the elements that it gets, in one part of x after the other."""
    mappings, size = Mappings(graph), x.num_elements
    values = variable(mappings, x.element_type, x.shape, name, [x])
    zero(values, name=f"{name}/zero", program=steps)
    none = graph.add_constant(UNSIGNED_INT, (1,), 0, f"{name}/none", mapping=0)
    if not size:
        return Unique(values, none[0])
    flags = variable(mappings, UNSIGNED_INT, x.shape, f"{name}/flags", [x])
    assign(flags[:1], 1, name=f"{name}/flags", program=steps)
    if size > 1:
        differs = not_equal(x[1:], x[:-1])
        if x.element_type.is_floating_point:
            both = logical_and(is_nan(x[1:]), is_nan(x[:-1]))
            differs = logical_and(differs, logical_not(both))
        assign(flags[1:], cast(differs, UNSIGNED_INT), name=f"{name}/flags", program=steps)
    counts = cumulative_sum(flags, name=f"{name}/ranks", program=steps)
    ranks = concat([none, counts])
    found = pieces(graph.tile_mapping(values), size, graph.target.workers, grain_of(x.element_type))
    length = max(1, graph.target.tile_memory_bytes // SHARE // (4 + x.element_type.size_bytes))
    for begin in range(0, size, length):
        pack = graph.add_compute_set(f"{name}/pack")
        low = np.full(len(found.row), begin)
        high = np.minimum(low + length, size)
        graph.add_vertices(
            pack,
            PackUnique,
            tile=found.tile,
            x=ranges(ordered_bits(x), low, high - low),
            ranks=ranges(ranks, low, high - low + 1),
            out=ranges(ordered_bits(values), found.begin, found.end - found.begin),
            first=found.begin,
        )
        steps.add(Execute(pack))
    return Unique(values, counts[size - 1])
