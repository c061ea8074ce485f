"""What a layout costs by the cost model: its first pass is built on a graph of its own, and priced.

Nothing is run or compiled. Passes cost as much as the first; only the last ones may be smaller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from poplite.cost.model import step_costs
from poplite.cost.workers import tile_cycles
from poplite.graph.compute_sets.edge_table import edge_table
from poplite.graph.graph import Graph
from poplite.machine.target import Target
from poplite.ops.matmul.layout import ProductLayout
from poplite.ops.matmul.matmul_steps import Multiplication, left_of, product_of, right_of
from poplite.program.copy import TensorCopy
from poplite.program.recording import Recorder


def priced(target: Target, layout: ProductLayout) -> ProductLayout:
    """Return a layout with its exact cycles."""
    request, (height, _, width), (tall, _, wide) = layout.request, layout.block, layout.grid
    m, n = min(request.m, height * tall), min(request.n, width * wide)
    one = replace(layout, request=replace(request, m=m, n=n), passes=(1, 1))
    graph = Graph(target)
    recorder = Recorder(graph)
    work = Multiplication(
        graph, recorder, one, left_of(graph, one, "left"), right_of(graph, one, "right")
    )
    work.products(product_of(graph, one, "product"))
    return replace(layout, exact=layout.num_passes * cycles_of(graph))


def cycles_of(graph: Graph, copies: Sequence[TensorCopy] = ()) -> int:
    """Return the cycles of all compute sets of a graph, and of copies, each of them once."""
    costs = step_costs(graph, graph.compute_sets, edge_table, copies)
    cycles = 0
    for cost in costs:
        slots = [each.slots for each in cost.vertices if each.slots is not None]
        for phase in (*cost.before, *cost.after):
            cycles += phase.sync + phase.cycles.most
        cycles += tile_cycles(cost.vertices, slots, graph.target).most
    return cycles
