"""What steps read and write, found in lowered steps, is what the graph says; mappings too."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples
from poplite.report.compilation import Compilation, StepAccesses
from poplite.report.report import Report
from poplite.simulator.accounts.reporting import compilation_of
from poplite.tools.viz.load_target import load_target
from poplite.vertices.reduce import SumColumns
from poplite.viz.dataflow.links import Links, links_of

GOLDEN = Path(__file__).resolve().parents[2] / "golden"

Flows = Counter[tuple[str, str, bool]]
"""Bytes by variable, field, and whether they are read."""


class Blend(pl.Vertex):
    """Has a field of every depth."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    rows: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    one: pl.Input[pl.FLOAT]
    y: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        """Add something."""
        self.y[0] += self.x[0] + self.rows[0][0] + self.one


def compiled(graph: pl.Graph, program: pl.Program) -> Compilation:
    """What a report says of a compiled program."""
    options = {"debug.instrument": False}
    return compilation_of(pl.compile_graph(graph, program, "fast", options=options))


def of_graph(links: Links) -> dict[tuple[int, ...], Flows]:
    """What each step reads and writes, by its numbers, as the graph says it."""
    numbers = {v.name for item in links.items if isinstance(item.thing, tuple) for v in item.thing}
    found: dict[tuple[int, ...], Flows] = {}
    columns = links.tail, links.head, links.size_bytes, links.field
    for tail, head, size, field in zip(*(each.tolist() for each in columns), strict=True):
        reads = links.items[tail].kind in ("variable", "constant")
        data, step = (tail, head) if reads else (head, tail)
        name = links.items[data].name
        name = "numbers" if name.removesuffix(" numbers") != name or name in numbers else name
        through = links.fields[field] if field >= 0 else ""
        found.setdefault(links.items[step].steps, Counter())[name, through, reads] += size
    return {steps: flows for steps, flows in found.items() if steps}


def of_report(compilation: Compilation, links: Links) -> dict[tuple[int, ...], Flows]:
    """The same as the report says it."""
    numbers = {v.name for item in links.items if isinstance(item.thing, tuple) for v in item.thing}
    found: dict[tuple[int, ...], Flows] = {}
    for step in compilation.accesses:
        flows = found.setdefault(tuple(number for _, number in step.places), Counter())
        for each in step.accesses:
            name = compilation.variables[each.variable].name
            name = "numbers" if name in numbers else name
            for size, reads in ((each.read, True), (each.written, False)):
                if size:
                    flows[name, each.field, reads] += size
    return found


@pytest.mark.parametrize("script", ["net", "ring", "fan"])
def test_steps_read_and_write_what_the_graph_says(script: str) -> None:
    graph, program = load_target(f"{GOLDEN / script}.py:build")
    assert program is not None
    compilation = compiled(graph, program)
    links = links_of(graph, program)
    mine, known = of_report(compilation, links), of_graph(links)
    for steps, flows in known.items():  # copies of the same name are one in a report
        at = next(own for own in mine if set(steps) <= set(own))
        assert mine[at] == flows


def test_every_kind_of_step_is_there() -> None:
    graph, program = load_target(f"{GOLDEN / 'every'}.py:build")
    assert program is not None
    compilation = compilation_of(pl.compile_graph(graph, program, "fast"))  # it stamps cycles
    found = {(each.kind, each.name): each for each in compilation.accesses}
    kinds = Counter(kind for kind, _ in found)
    assert kinds == {"execute": 3, "copy": 5, "host": 5, "control": 3}
    assert [number for _, number in found["execute", "work"].places] == [16, 17, 20, 25]
    assert found["control", "Switch"].places == (("0", 22),)
    (read,) = found["host", "PrintTensor 'all of x'"].accesses
    assert (read.read, read.written) == (16, 0)
    stream = found["copy", "Copy 'images' -> 'x'"].accesses
    assert [(each.read, each.written) for each in stream] == [(0, 16)]
    remote = found["copy", "Copy 'table' -> 'y'"].accesses
    assert [(each.read, each.written) for each in remote] == [(0, 16), (4, 0)]


def test_rows_that_are_read_where_they_lie_count_without_gaps() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (5, 12), "x", mapping=0, initial_value=1)
    y = graph.add_variable(pl.FLOAT, (4,), "y", mapping=1)
    sums = graph.add_compute_set("sums")
    rows = x[:, :4].flatten()
    graph.add_vertex(sums, SumColumns[pl.FLOAT, pl.FLOAT], tile=1, x=rows, stride=4, out=y)
    (step,) = compiled(graph, pl.Execute(sums)).accesses
    assert [(each.field, each.read, each.written) for each in step.accesses] == [
        ("x", 5 * 4 * 4, 0),
        ("out", 0, 16),
    ]


def drawn(draw: st.DrawFn) -> tuple[pl.Graph, pl.Program]:
    """A graph of vertices that are connected to parts of variables, in order or not."""
    graph = pl.Graph(pl.Target(tiles=4))
    sizes = st.integers(16, 40)
    x, z = (
        graph.add_variable(pl.FLOAT, (draw(sizes),), name, mapping="linear", initial_value=1)
        for name in "xz"
    )
    y = graph.add_variable(pl.FLOAT, (64,), "y", mapping="linear", initial_value=1)
    blend = graph.add_compute_set("blend")

    def part() -> pl.Tensor:
        whole = draw(st.sampled_from([x, z, pl.concat([x, z]), pl.concat([z[3:], x[::2]])]))
        step = draw(st.integers(1, 3))
        begin = draw(st.integers(0, 8))
        return draw(st.sampled_from([whole[begin::step], whole.reverse(0)[begin:]]))

    for k in range(draw(st.integers(1, 4))):
        own = y[16 * k : 16 * k + 16]
        graph.add_vertex(
            blend,
            Blend,
            tile=k,
            x=part(),
            rows=[part() for _ in range(draw(st.integers(1, 3)))],
            one=x[draw(st.integers(0, 15))],
            y=draw(st.sampled_from([own, own[::2], own[:3], own.reverse(0)])),
        )
    return graph, pl.Sequence(pl.Execute(blend), pl.Copy(x[:9].reverse(0), z[4:13]))


@given(st.data())
@examples(60)
def test_vertices_read_and_write_what_they_are_connected_to(data: st.DataObject) -> None:
    graph, program = data.draw(st.composite(drawn)())
    links = links_of(graph, program)
    assert of_report(compiled(graph, program), links) == of_graph(links)


@given(st.lists(st.integers(-1, 3), min_size=1, max_size=12), st.booleans())
@examples(40)
def test_variables_have_the_tiles_of_their_elements(tiles: list[int], is_constant: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    shape = (len(tiles),)
    if is_constant:
        x = graph.add_constant(pl.FLOAT, shape, 1, "x")
    else:
        x = graph.add_variable(pl.FLOAT, shape, "x")
    for number, tile in enumerate(tiles):
        if tile >= 0:
            graph.set_tile_mapping(x[number], tile)
    (known,) = compiled(graph, pl.Sequence()).variables
    assert known.first is not None
    assert known.tiles is not None
    first = known.first.array()
    assert np.repeat(known.tiles.array(), np.diff(first, append=len(tiles))).tolist() == tiles
    assert (known.constant, known.element_type, known.shape) == (is_constant, "FLOAT", shape)


def test_a_saved_report_has_them() -> None:
    graph, program = load_target(f"{GOLDEN / 'ring'}.py:build")
    assert program is not None
    report = pl.Engine(graph, program, interpret=True).report()
    loaded = Report.from_json(report.to_json())
    assert loaded == report
    step = loaded.compilation.accesses[0]
    assert isinstance(step, StepAccesses)
    assert [each.field for each in step.accesses] == ["x", "y"]
    assert len(loaded.compilation.variables) == 3
