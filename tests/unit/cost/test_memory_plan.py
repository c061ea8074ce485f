"""What lies in the memory of tiles, when, where, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
import pytest

import poplite as pl
from poplite.arrays.series import constant, counting
from poplite.compile.compiler import compile_graph
from poplite.cost.liveness import lifetimes
from poplite.cost.memory_plan import addresses_of, memory_of, placing_of
from poplite.cost.step_cost import PhaseCost, StepCost
from poplite.executable.executable import Executable
from poplite.graph.compute_sets.edge_table import edge_table
from poplite.report.memory import NO_STEP, Memory, peaks_of
from poplite.report.per_tile import PerTile

STACK = 3168
SYNC = 4
"""Bytes of the control code of a step that only waits."""


class Scale(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]
    factor: pl.State[pl.FLOAT]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.y[i] = self.factor * self.x[i]


class Halve(pl.Vertex):
    x: pl.InOut[pl.FLOAT]

    def compute(self) -> None:
        self.x = 0.5 * self.x


class Rows(pl.Vertex):
    rows: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    taps: pl.State[pl.Vector[pl.HALF]]
    flag: pl.State[pl.BOOL]
    count: pl.State[pl.INT]
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        self.y = 0.0


class Placed(pl.Vertex):
    x: Annotated[pl.Input[pl.Vector[pl.FLOAT]], pl.Layout(interleaved=True)]
    z: Annotated[pl.Input[pl.Vector[pl.FLOAT]], pl.Layout(min_align=64)]
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        self.y = self.x[0]


def plan_of(
    graph: pl.Graph, program: pl.Program, cost_of: dict[object, StepCost | None] | None = None
) -> Memory:
    """Return the plan of one program, of which only the given costs are known."""
    return memory_of(graph, {"main": program}, edge_table, cost_of or {}, may_overflow=False)


def on_tile(plan: Memory, tile: int) -> dict[tuple[str, str], int]:
    return {(each.name, each.category): each.bytes for each in plan.variables(tile)}


def places(plan: Memory, target: pl.Target, tile: int) -> dict[str, int]:
    """Return where each thing on a tile begins, in the order of the addresses."""
    found = {
        held.name: address[tile]
        for held, address in zip(plan.held, addresses_of(plan.held, target), strict=True)
        if held.bytes[tile]
    }
    return dict(sorted(found.items(), key=lambda each: each[1]))


def live_in(plan: Memory, step: int) -> npt.NDArray[np.int64]:
    """Return the bytes of each tile that are live in a step, but not always."""
    return plan.not_always_live_in(step).array()


def test_what_a_vertex_takes_by_category() -> None:
    graph = pl.Graph(pl.Target(tiles=3))
    x = graph.add_variable(pl.FLOAT, (2, 10), "x", mapping=1)
    y = graph.add_variable(pl.FLOAT, (2,), "y", mapping=1)
    compute_set = graph.add_compute_set("rows")
    for k, taps in enumerate([[1.0, 2.0, 3.0], [4.0]]):
        vertex = graph.add_vertex(compute_set, Rows, tile=1, rows=x, y=y[k], flag=True, count=7)
        graph.set_initial_value(vertex["taps"], taps)
    plan = plan_of(graph, pl.Execute(compute_set))
    assert plan.including_gaps[0] == STACK + SYNC
    entry, assignment, attribute = 8, 2, 2
    assert on_tile(plan, 1) == {
        ("stacks", "stack"): STACK,
        ("control code", "control_code"): SYNC + 6 * 4,
        ("Rows", "vertex_code"): 4 * (entry + assignment + attribute),
        # rows 8, taps 8, flag 1 and 3 of padding, count 4, y 4
        ("Rows", "vertex_instance_state"): 2 * 28,
        ("Rows", "vertex_field_data"): (3 + 1) * 2,
        ("Rows", "vector_list_descriptor"): 2 * 2 * 8,
        ("Rows", "control_table"): 2 * 8,
        ("x", "variable"): 80,
        ("y", "variable"): 8,
    }
    assert sum(on_tile(plan, 1).values()) == plan.excluding_gaps[1]
    assert not plan.not_always_live.num_used


LAYOUTS = {
    pl.VectorLayout.SPAN: 8,
    pl.VectorLayout.SHORT_SPAN: 4,
    pl.VectorLayout.ONE_PTR: 4,
    pl.VectorLayout.COMPACT_PTR: 4,
    pl.VectorLayout.SCALED_PTR32: 2,
    pl.VectorLayout.SCALED_PTR64: 2,
    pl.VectorLayout.SCALED_PTR128: 2,
}


@pytest.mark.parametrize("layout", [*pl.VectorLayout, *pl.VectorListLayout])
def test_every_layout_has_its_bytes(layout: pl.VectorLayout | pl.VectorListLayout) -> None:
    class First(pl.Vertex):
        rows: Annotated[pl.Input[pl.Vector[pl.Vector[pl.INT]]], pl.Layout(layout)]
        y: pl.Output[pl.INT]

        def compute(self) -> None:
            self.y = self.rows[0][0]

    graph = pl.Graph(pl.Target(tiles=1))
    x, y = (graph.add_variable(pl.INT, shape, mapping=0) for shape in ((3, 5), ()))
    compute_set = graph.add_compute_set("first")
    graph.add_vertex(compute_set, First, tile=0, rows=x, y=y)
    found = on_tile(plan_of(graph, pl.Execute(compute_set)), 0)
    is_list = isinstance(layout, pl.VectorListLayout)
    assert found["First", "vertex_instance_state"] == (12 if is_list else 8) + 4
    each = 4 if isinstance(layout, pl.VectorListLayout) else LAYOUTS[layout]
    assert found["First", "vector_list_descriptor"] == 3 * each


def test_blocks_are_counted_as_single_vertices_are() -> None:
    plans = []
    for block in (False, True):
        graph = pl.Graph(pl.Target(tiles=4))
        x, y = (graph.add_variable(pl.FLOAT, (12, 5), name, mapping="linear") for name in "xy")
        compute_set = graph.add_compute_set("scale")
        tiles = np.arange(12) // 3
        if block:
            graph.add_vertices(compute_set, Scale, tile=tiles, x=x, y=y, factor=2.0)
        else:
            for k, tile in enumerate(tiles.tolist()):
                graph.add_vertex(compute_set, Scale, tile=tile, x=x[k], y=y[k], factor=2.0)
        plans.append(plan_of(graph, pl.Execute(compute_set)))
    one, other = ([on_tile(plan, tile) for tile in range(4)] for plan in plans)
    assert one == other
    assert one[3]["Scale", "vertex_instance_state"] == 3 * 20
    assert one[3]["y", "variable"] == 60


def chain(count: int = 4) -> tuple[pl.Graph, list[pl.Tensor], list[pl.Program]]:
    """Return Copies from each variable to the next, of 100, 200, 300 ... elements on tile 1."""
    graph = pl.Graph(pl.Target(tiles=2))
    tensors = [
        graph.add_variable(pl.INT, (100 * k + 100,), f"v{k}", mapping=1) for k in range(count)
    ]
    copies: list[pl.Program] = [
        pl.Copy(a, b[: a.num_elements]) for a, b in zip(tensors, tensors[1:], strict=False)
    ]
    return graph, tensors, copies


def test_peaks_are_the_first_steps_with_the_most_bytes() -> None:
    graph, size = pl.Graph(pl.Target(tiles=12)), 36
    numbers = np.random.default_rng(2).integers(0, 12, 12)
    tensors = [
        graph.add_variable(pl.INT, (size,), mapping="linear" if k % 3 == 0 else int(numbers[k]))
        for k in range(12)
    ]
    program = pl.Sequence(
        *(pl.Copy(a[: size - k], b[: size - k]) for k, (a, b) in enumerate(pairwise(tensors))),
        pl.Copy(tensors[4], tensors[7]),
        pl.Copy(tensors[7], tensors[2]),
    )
    plan = plan_of(graph, program)
    live = np.stack([live_in(plan, step) for step in range(13)])
    assert live.any(axis=1).sum() > 5
    assert list(plan.not_always_live) == live.max(axis=0).tolist()
    first = np.where(live.any(axis=0), live.argmax(axis=0), NO_STEP)
    assert peaks_of(plan).step.tolist() == first.tolist()
    assert [step.most for step in plan.steps] == live.max(axis=1).tolist()
    assert [step.tile for step in plan.steps] == live.argmax(axis=1).tolist()


def test_what_lives_at_other_times_shares_memory() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    a, b, c, d = (graph.add_variable(pl.INT, (n,), name, mapping=1)
                  for name, n in zip("abcd", (10, 20, 30, 10), strict=True))  # fmt: skip
    ones = [graph.add_constant(pl.INT, t.shape, 1, mapping=0) for t in (b, c)]
    program = pl.Sequence(
        pl.Copy(ones[0], b),
        pl.Copy(b[:10], a),
        pl.Copy(ones[1], c),
        pl.Copy(c[:10], d),
    )
    plan = plan_of(graph, program)
    assert [live_in(plan, step).tolist() for step in range(4)] == [
        [0, 80], [0, 80], [0, 120], [0, 120],
    ]  # fmt: skip
    assert list(plan.not_always_live) == [0, 120]
    assert peaks_of(plan).step.tolist() == [NO_STEP, 2]
    assert [(step.most, step.tile) for step in plan.steps] == [(80, 1), (80, 1), (120, 1), (120, 1)]
    assert [(each.name, each.bytes[1]) for each in plan.held if each.is_in(2)] == [("c", 120)]
    begins = places(plan, graph.target, 1)
    assert begins["b"] == begins["c"]
    assert plan.excluding_gaps[1] == STACK + 4 * SYNC + 40 + 40 + 120


def why(graph: pl.Graph, programs: Mapping[str, pl.Program]) -> dict[str, str]:
    """Return why variables are always live, by name."""
    found = lifetimes(graph, programs, edge_table).always
    return {graph.variables[number].name: text for number, text in found.items()}


def test_why_variables_are_kept() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    names = ("handle", "initial", "input", "output", "idle", "scratch")
    t = {name: graph.add_variable(pl.INT, (4,), name, mapping=0) for name in names}
    one = graph.add_constant(pl.INT, (4,), 1, "one", mapping=0)
    graph.create_host_read("handle", t["handle"])
    graph.set_initial_value(t["initial"], 3)
    program = pl.Sequence(
        *(pl.Copy(one, t[name]) for name in ("handle", "initial", "scratch")),
        *(pl.Copy(t[name], t["output"]) for name in ("handle", "initial", "input", "scratch")),
    )
    assert why(graph, {"main": program}) == {
        "handle": "has a host handle",
        "initial": "has initial values",
        "input": "read before it is written",
        "output": "a result that no step reads",
        "idle": "used by no program",
        "one": "constant",
    }
    held = {each.name: each for each in plan_of(graph, program).held}
    assert held["one"].category == "constant"
    assert [name for name in (*names, "one") if held[name].steps is not None] == ["scratch"]


def test_a_scalar_that_only_decides_is_used() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = [graph.add_variable(pl.INT, (4,), name, mapping=0) for name in ("idle", "flags", "rest")]
    assert why(graph, {"main": pl.If(x[1][2], pl.Sequence(), pl.Sequence())}) == {
        "idle": "used by no program",
        "flags": "read before it is written",
        "rest": "used by no program",
    }


def test_values_that_go_from_program_to_program_are_kept() -> None:
    graph, (a, b, *_), _ = chain()
    one = graph.add_constant(pl.INT, b.shape, 1, mapping=1)
    both = {"write": pl.Copy(one, b), "read": pl.Copy(b[:100], a)}
    plan = memory_of(graph, both, edge_table, {}, may_overflow=False)
    assert why(graph, both)["v1"] == "read before it is written"
    assert [(step.program, step.name) for step in plan.steps] == [
        ("write", f"step 1 of 1: {both['write']}, of program 'write'"),
        ("read", f"step 1 of 1: {both['read']}, of program 'read'"),
    ]


def test_buffers_live_for_their_step() -> None:
    graph, _, copies = chain(3)
    buffers = PerTile.of(np.array([0, 500])), PerTile.of(np.array([64, 0]))
    exchange = PhaseCost("exchange", PerTile.of(np.array([9, 9])), sync=90, received=buffers[0],
                     sent=buffers[1], buffers=buffers[0],
                     controls=PerTile.of(np.array([10, 30])))  # fmt: skip
    costs: dict[object, StepCost | None] = {
        copies[0]: StepCost(
            (exchange, PhaseCost("copy", PerTile.of(np.array([7, 0])), buffers=buffers[1]))
        )
    }
    plan = plan_of(graph, pl.Sequence(*copies), costs)
    beside = [e for e in plan.held if e.steps is not None and e.category != "variable"]
    assert [(e.name, e.category, list(e.bytes)) for e in beside] == [
        (str(copies[0]), "message", [0, 500]),
        (str(copies[0]), "rearrangement", [64, 0]),
    ]  # fmt: skip
    assert live_in(plan, 0).tolist() == [64, 500]
    assert live_in(plan, 1).tolist() == [0, 0]
    # Tile 0 sends and tile 1 receives, under so many instructions; the first step waits twice.
    assert [
        on_tile(plan, tile)["internal exchange code", "internal_exchange_code"] for tile in (0, 1)
    ] == [4 * (6 + 10), 4 * (6 + 30)]
    assert on_tile(plan, 0)["control code", "control_code"] == 3 * SYNC


def test_gaps_come_from_alignment() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    a, b = (graph.add_variable(pl.INT, (n,), name, mapping=0) for n, name in ((3, "a"), (5, "b")))
    plan = plan_of(graph, pl.Copy(a, b[:3]))
    assert places(plan, graph.target, 0) == {
        "stacks": 0, "control code": 3168, "a": 3176, "b": 3192,
    }  # fmt: skip
    assert (plan.excluding_gaps[0], plan.including_gaps[0]) == (3204, 3212)


def test_fields_place_what_is_connected() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x, z = (graph.add_variable(pl.FLOAT, (5,), name, mapping=0) for name in "xz")
    y = graph.add_variable(pl.FLOAT, (2,), "y", mapping=0)
    compute_set = graph.add_compute_set("placed")
    graph.add_vertex(compute_set, Placed, tile=0, x=x, z=z, y=y[0])
    plan = plan_of(graph, pl.Execute(compute_set))
    begins = places(plan, graph.target, 0)
    assert begins["x"] == 212_992
    assert begins["z"] % 64 == 0
    assert begins["y"] < 16_384
    # Interleaved memory is counted from where it begins.
    assert plan.including_gaps[0] == begins["y"] + 8 + 20


def interleaved(target: pl.Target, size: int) -> tuple[pl.Graph, pl.Program]:
    graph = pl.Graph(target)
    x, z = (graph.add_variable(pl.FLOAT, (n,), mapping=0) for n in (size, 1))
    y = graph.add_variable(pl.FLOAT, (), mapping=0)
    compute_set = graph.add_compute_set("placed")
    graph.add_vertex(compute_set, Placed, tile=0, x=x, z=z, y=y)
    return graph, pl.Execute(compute_set)


def test_interleaved_memory_may_be_too_small_where_all_memory_is_not() -> None:
    begin, end = 212_992, 638_976
    plan = plan_of(*interleaved(pl.Target(tiles=2), (end - begin) // 4))
    assert plan.including_gaps[0] < end
    with pytest.raises(pl.GraphMemoryAllocationError, match=f"it needs {end + 4:,} B") as raised:
        plan_of(*interleaved(pl.Target(tiles=2), (end - begin) // 4 + 1))
    sizes = [line.split(" B: ") for line in raised.value.found.splitlines()[:-1]]
    assert sum(int(size.replace(",", "")) for size, _ in sizes) == end + 4
    assert sizes[-1][1] == "gaps between them"


def test_a_tile_that_ends_before_interleaved_memory_is_all_alike() -> None:
    target = pl.Target(tiles=2, tile_memory_bytes=8192)
    plan = plan_of(*interleaved(target, 1000))
    assert 4000 + STACK < plan.including_gaps[0] < 8192
    assert max(places(plan, target, 0).values()) < 8192


SMALL = pl.Target(tiles=4, tile_memory_bytes=8192)


def too_large() -> tuple[pl.Graph, pl.Program]:
    graph = pl.Graph(SMALL)
    weights = graph.add_variable(pl.FLOAT, (1000,), "weights", mapping=2)
    scratch = graph.add_variable(pl.FLOAT, (500,), "scratch", mapping=2)
    result = graph.add_variable(pl.FLOAT, (500,), "result", mapping="linear")
    return graph, pl.Sequence(pl.Copy(weights[:500], scratch), pl.Copy(scratch, result))


def test_a_tile_without_enough_memory_is_refused() -> None:
    graph, program = too_large()
    free = {"debug.allowOutOfMemory": True}
    plan = compile_graph(graph, program, options=free).memory
    assert plan is not None
    needed, line = int(plan.including_gaps[2]), graph.variables[0].location
    assert needed > 3168 + 4000 + 2000
    with pytest.raises(pl.GraphMemoryAllocationError) as raised:
        pl.Engine(graph, program)
    error = raised.value
    assert isinstance(error, MemoryError)
    assert error.what == f"tile 2 is out of memory: it needs {needed:,} B, but has 8,192 B"
    assert error.at == line
    assert error.where == "step 1 of 2: Copy 'weights' -> 'scratch'"
    found = error.found.splitlines()
    assert found[0] == f"4,000 B: variable 'weights' ({line})"
    assert found[1] == "3,168 B: stacks"
    assert found[2] == f"2,000 B: variable 'scratch' ({graph.variables[1].location})"
    assert found[-1] == "out of memory on 1 of 4 tiles: 2"
    assert error.fix.startswith("spread 'weights' over more than 1 of the 4 tiles; ")
    assert 'options={"debug.allowOutOfMemory": True}' in error.fix


def test_the_error_names_a_program_only_where_there_are_several() -> None:
    graph, program = too_large()
    with pytest.raises(pl.GraphMemoryAllocationError, match="of 2: .*, of program 'train'"):
        pl.Engine(graph, {"train": program, "none": pl.Sequence()})


def test_it_is_run_regardless_where_that_is_asked_for() -> None:
    for option in ({"debug.allowOutOfMemory": True}, {"debug.instrument": False}):
        graph = pl.Graph(SMALL)
        table = graph.add_variable(pl.INT, (3000,), "table", mapping=1)
        engine = pl.Engine(graph, pl.Copy(table[:1000], table[2000:]), options=option)
        engine.write(table, np.arange(3000))
        engine.run()
        assert engine.read(table)[2000:].tolist() == list(range(1000))


def test_many_tiles_without_enough_memory_are_counted() -> None:
    graph = pl.Graph(SMALL)
    graph.add_variable(pl.FLOAT, (4 * 2000,), "table", mapping="linear")
    with pytest.raises(pl.GraphMemoryAllocationError, match="out of memory on 4 of 4 tiles: 0-3"):
        pl.Engine(graph, pl.Sequence())
    with pytest.raises(pl.GraphMemoryAllocationError, match="make 'table' smaller, or use more"):
        pl.Engine(graph, pl.Sequence())


def test_a_plan_is_the_same_in_a_file(tmp_path: Path) -> None:
    graph, program = too_large()
    options = {"debug.allowOutOfMemory": True}
    executable = compile_graph(graph, program, options=options)
    executable.save(tmp_path / "plan.poplite")
    assert executable.memory is not None
    assert Executable.load(tmp_path / "plan.poplite").memory == executable.memory


def changed(plan: Memory, what: str) -> Memory:
    """Return a plan that cannot be."""
    held, last = list(plan.held), plan.held[-1]
    assert last.steps is not None
    wrong = {
        "tile": replace(last, bytes=PerTile(4, counting(3, 2), constant(8, 2))),
        "size": replace(last, bytes=PerTile(4, counting(0, 2), constant(-8, 2))),
        "align": replace(last, align=0),
        "type": replace(last, element_type="FLOATS"),
        "steps": replace(last, steps=((1, 2),)),
        "falling": replace(last, steps=((1, 1), (0, 0))),
    }
    match what:
        case "peak":
            return replace(plan, not_always_live=PerTile(4, counting(4, 1), constant(8, 1)))
        case "live":
            return replace(plan, steps=(replace(plan.steps[0], tile=4), plan.steps[1]))
        case "program":
            return replace(plan, steps=(replace(plan.steps[0], program="1"), plan.steps[1]))
        case "number":
            return replace(plan, steps=(replace(plan.steps[0], number=3), plan.steps[1]))
    return replace(plan, held=(*held[:-1], wrong[what]))


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("tile", "tile numbers must be less than 4; found 4"),
        ("size", "bytes: .* has numbers below 0"),
        ("align", "Held.align cannot be 0"),
        ("type", "Held.element_type cannot be 'FLOATS'"),
        ("steps", r"Held.steps cannot be \(\(1, 2\),\)"),
        ("falling", r"Held.steps cannot be \(\(1, 1\), \(0, 0\)\)"),
        ("peak", "tile numbers must be less than 4; found 4"),
        ("live", "MemoryStep.tile cannot be 4"),
        ("program", "MemoryStep.program cannot be '1'"),
        ("number", "MemoryStep.number cannot be 3"),
    ],
)
def test_a_plan_that_cannot_be_is_not_loaded(tmp_path: Path, what: str, told: str) -> None:
    graph, program = too_large()
    executable = compile_graph(graph, program, options={"debug.allowOutOfMemory": True})
    assert executable.memory is not None
    broken = replace(executable, memory=changed(executable.memory, what))
    broken.save(tmp_path / "plan.poplite")
    with pytest.raises(pl.FileLoadError, match=rf"loaded as an executable: memory.*{told}"):
        Executable.load(tmp_path / "plan.poplite")


def test_a_graph_without_variables_has_a_plan() -> None:
    plan = plan_of(pl.Graph(pl.Target(tiles=2)), pl.Sequence())
    assert list(plan.including_gaps) == [STACK, STACK]
    assert plan.steps == ()
    assert plan.held[0].name == "stacks"


def refused(graph: pl.Graph, program: pl.Program) -> str:
    with pytest.raises(pl.GraphMemoryAllocationError) as raised:
        pl.Engine(graph, program)
    return raised.value.fix.split(";")[0]


def test_advice_is_about_the_largest_thing() -> None:
    graph = pl.Graph(pl.Target(tiles=2, tile_memory_bytes=1024))
    assert refused(graph, pl.Sequence()) == (
        "model a tile with more memory: Target(tile_memory_bytes=...)"
    )
    graph = pl.Graph(pl.Target(tiles=2, tile_memory_bytes=8192))
    n = graph.add_variable(pl.INT, (), "n", mapping=0)
    waits = pl.Sequence(*(pl.AbortOnCondition(n) for _ in range(1500)))
    assert refused(graph, waits) == "use fewer steps: write loops as Repeat(count, body)"
    x = graph.add_variable(pl.FLOAT, (2, 600), "x", mapping="linear")
    compute_set = graph.add_compute_set("scale")
    block = graph.add_vertices(compute_set, Halve, tile=1, x=x.flatten())
    with pytest.raises(pl.GraphMemoryAllocationError) as raised:
        pl.Engine(graph, pl.Execute(compute_set))
    assert raised.value.at == block.location
    assert raised.value.fix.startswith("spread the vertices 'Halve' over more of the 2 tiles; ")


def test_advice_helps_what_is_spread_unevenly() -> None:
    graph = pl.Graph(pl.Target(tiles=2, tile_memory_bytes=8192))
    uneven = graph.add_variable(pl.INT, (1500,), "uneven", mapping=1)
    graph.set_tile_mapping(uneven[:10], 0)
    assert refused(graph, pl.Sequence()) == (
        "spread 'uneven' evenly with mapping=\"linear\": 5,960 of its 6,000 B are there"
    )
    graph = pl.Graph(graph.target)
    graph.add_variable(pl.INT, (1500,), "even", mapping="linear")
    pl.Engine(graph, pl.Sequence())


def test_advice_is_about_what_a_step_brings_along() -> None:
    graph = pl.Graph(pl.Target(tiles=2, tile_memory_bytes=16_384))
    x = graph.add_variable(pl.FLOAT, (3000,), "x", mapping=1)
    y = graph.add_variable(pl.FLOAT, (10,), "y", mapping=0)
    compute_set = graph.add_compute_set("scale")
    graph.add_vertex(compute_set, Scale, tile=0, x=x, y=y, factor=2.0)
    program = pl.Execute(compute_set)
    graph.set_tile_mapping(x[:100], 0)
    buffer = PhaseCost("exchange", PerTile.nothing(2), buffers=PerTile.of(np.array([14_000, 0])))
    with pytest.raises(pl.GraphMemoryAllocationError) as raised:
        plan_of(graph, program, {compute_set: StepCost((buffer,))})
    error = raised.value
    assert f"\n14,000 B: message buffer of Execute 'scale' ({program.location})" in (
        "\n" + error.found
    )
    assert error.fix.startswith("make Execute 'scale' move less data at a time, or to more tiles; ")


def test_addresses_of_all_tiles_are_those_of_each() -> None:
    graph = pl.Graph(pl.Target(tiles=5))
    spread = graph.add_variable(pl.FLOAT, (11,), "spread", mapping="linear")
    other = graph.add_variable(pl.HALF, (40,), "other", mapping=3)
    later = graph.add_variable(pl.HALF, (40,), "later", mapping=3)
    program = pl.Sequence(pl.Copy(spread[:5], spread[6:]), pl.Copy(other, later))
    plan = compile_graph(graph, program).memory
    assert plan is not None
    addresses = addresses_of(plan.held, graph.target)
    for tile in range(5):
        there = [k for k, held in enumerate(plan.held) if held.bytes[tile]]
        placing = placing_of([plan.held[k] for k in there], graph.target)
        order = [there[k] for k in placing.order.tolist()]
        sizes = np.array([plan.held[k].bytes[tile] for k in order])
        alone, _ = placing.addresses(sizes, [len(order)])
        assert [addresses[k][tile] for k in order] == alone.tolist()
    assert len({tuple(each) for each in addresses}) > 2
