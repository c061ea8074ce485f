"""Floating-point operations of steps: counted in compiled code, or by the formulas of classes."""

from __future__ import annotations

import csv
import io
import json
import math
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import poplite as pl
from helpers.view_page import ViewPage
from poplite import ops
from poplite.machine.target import limits_of
from poplite.report.per_tile import PerTile
from poplite.tools.viz import main
from poplite.viz.draw.words import Style
from poplite.viz.paint_svg import paint_svg
from poplite.viz.paint_text import paint_text
from poplite.viz.steps import (
    limits_text,
    rates_of,
    step_list,
)

FloatIn = pl.Input[pl.Vector[pl.FLOAT]]
FloatInOut = pl.InOut[pl.Vector[pl.FLOAT]]


class Blur3(pl.Vertex):
    """Three multiplications and two additions an element."""

    x: FloatIn
    y: FloatInOut

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = 0.25 * self.x[i] + 0.5 * self.x[i + 1] + 0.25 * self.x[i + 2]


class Fused(pl.Vertex):
    """A fused multiplication and addition, which counts two."""

    x: FloatIn
    y: FloatInOut

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = pl.fma(2.0, self.x[i], self.y[i])


class Functions(pl.Vertex):
    """A root, a division, an exponential and the larger of two, each of which counts one."""

    x: FloatIn
    y: FloatInOut

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = max(math.sqrt(self.x[i]), math.exp(self.x[i]) / 3.0)


class Converted(pl.Vertex):
    """One product; conversions do not count."""

    x: FloatIn
    y: FloatInOut

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = float(i) * 3.0


class Shared(pl.MultiVertex):
    """Workers share elements; each takes `n` products and sums, and one sum outside their loop."""

    x: FloatIn
    y: FloatInOut
    n: pl.State[pl.UNSIGNED_INT]

    def compute(self, worker: int) -> None:
        for i in range(worker, len(self.y), self.num_workers):
            total = 1.0 + self.x[i]
            for j in range(self.n):
                total += self.x[j] * self.x[i]
            self.y[i] = total


class InLanes(pl.Vertex):
    """A product of 64 lanes at a time, also for the last ones, as their slots are."""

    x: FloatIn
    y: FloatInOut

    def compute(self) -> None:
        for i in range(0, len(self.y), 64):
            count = min(64, len(self.y) - i)
            self.y.set_lanes(i, 3.0 * self.x.lanes(i, count))


class Depends(pl.Vertex):
    """Computes as long as data say."""

    x: FloatIn
    y: FloatInOut

    def compute(self) -> None:
        for i in range(len(self.y)):
            if self.x[i] > 0.5:
                self.y[i] = self.x[i] * 3.0


class Unsaid(pl.Vertex):
    """Has a formula of its cycles alone."""

    x: FloatIn
    y: FloatInOut

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = self.x[i] * 3.0

    def cycles(self, target: pl.Target) -> int:
        """Return a cycle for each element."""
        return len(self.y)


class Said(Unsaid):
    """Says its operations as well."""

    def cycles(self, target: pl.Target) -> pl.VertexPerfEstimate:  # type: ignore[override]
        """Return a cycle and an operation for each element."""
        return pl.VertexPerfEstimate(len(self.y), len(self.y))


class Whole(pl.Vertex):
    """Has no floating-point number."""

    x: pl.Input[pl.Vector[pl.INT]]
    y: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = self.x[i] * 3 + self.y[i]

    def cycles(self, target: pl.Target) -> int:
        """Return a cycle for each element."""
        return len(self.y)


class OverRows(pl.Vertex):
    """A sum an element of each row."""

    x: pl.InOut[pl.Vector[pl.Vector[pl.FLOAT]]]

    def compute(self) -> None:
        for r in range(len(self.x)):
            for i in range(len(self.x[r])):
                self.x[r][i] = self.x[r][i] + 1.0


def report_of(
    vertices: Sequence[tuple[type[pl.Vertex], int, dict[str, int]]], *, times: int = 1
) -> pl.Report:
    """Return the report of a step with vertices of so many elements, one a tile."""
    graph = pl.Graph(pl.Target(tiles=4))
    step = graph.add_compute_set("step")
    for tile, (cls, count, state) in enumerate(vertices):
        kind = pl.INT if cls is Whole else pl.FLOAT
        x, y = (
            graph.add_variable(kind, (size,), mapping=tile, initial_value=1)
            for size in (count + 2, count)
        )
        graph.add_vertex(step, cls, tile=tile, x=x, y=y, **state)
    engine = pl.Engine(graph, pl.Repeat(times, pl.Execute(step)))
    engine.run()
    return engine.report()


@pytest.mark.parametrize(
    ("cls", "state", "flops"),
    [
        (Blur3, {}, 5 * 100),
        (Fused, {}, 2 * 100),
        (Functions, {}, 4 * 100),
        (Converted, {}, 100),
        (Shared, {"n": 7}, (1 + 2 * 7) * 100),
        (InLanes, {}, 2 * 64),
        (Depends, {}, None),
        (Unsaid, {}, None),
        (Said, {}, 100),
        (Whole, {}, 0),
    ],
)
def test_operations_are_those_of_the_class(
    cls: type[pl.Vertex], state: dict[str, int], flops: int | None
) -> None:
    report = report_of([(cls, 100, state)], times=3)
    (step,) = report.execution.steps
    total = None if flops is None else 3 * flops
    assert [each.flops for each in step.vertex_types] == [total]
    assert step.flops == total
    rate = None if total is None else total / step.cycles / 4
    assert step.flops_per_cycle == rate
    assert pl.Report.from_json(report.to_json()).execution.steps[0].flops == total


def test_a_step_with_one_unknown_class_is_unknown() -> None:
    (step,) = report_of([(Blur3, 10, {}), (Blur3, 20, {}), (Unsaid, 10, {})]).execution.steps
    assert {each.name: each.flops for each in step.vertex_types} == {"Blur3": 150, "Unsaid": None}
    assert step.flops is None
    assert step.flops_per_cycle is None


@pytest.mark.parametrize(("ends", "flops"), [((4, 8), 8), ((2, 8), 8), ((3, 8, 11), None)])
def test_rows_count_where_they_divide_evenly(ends: tuple[int, ...], flops: int | None) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (11,), "x", mapping=0, initial_value=1)
    rows = [x[a:b] for a, b in zip((0, *ends), ends, strict=False)]
    step = graph.add_compute_set("step")
    graph.add_vertex(step, OverRows, tile=0, x=rows)
    assert pl.Engine(graph, pl.Execute(step)).report().places[0].flops == flops


def test_copies_have_no_operations() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    a, b = (graph.add_variable(pl.FLOAT, (8,), name, mapping="linear") for name in "ab")
    step = pl.Engine(graph, pl.Copy(a.reverse(0), b)).report().places[0]
    assert (step.flops, step.flops_per_cycle) == (0, 0.0)


def test_operations_of_maps_sums_and_products() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x, y = (graph.add_variable(pl.FLOAT, (8, 16), name, mapping="linear") for name in "xy")
    w = graph.add_variable(pl.FLOAT, (16, 4), "w", mapping="linear")
    with graph.steps() as program:
        ops.map(ops.exp(x - y) * 2 / 3, name="map")
        ops.map(ops.cast(x, pl.INT) + 1, name="whole")
        ops.map(ops.sum(x * y), name="sum")
        ops.map(x @ w, name="product")
    report = pl.Engine(graph, program).report()
    found: dict[str, int | None] = {}
    for step in report.places:
        name = step.operation or step.name
        before = found.get(name, 0)
        found[name] = None if before is None or step.flops is None else before + step.flops
    assert found["map"] == 4 * 8 * 16
    assert found["sum"] == 2 * 8 * 16 - 1
    assert found["product"] == 2 * 8 * 16 * 4


def test_bytes_per_cycle_are_of_the_tile_that_moves_most() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    a = graph.add_variable(pl.FLOAT, (64,), "a", mapping=0, initial_value=1)
    b = graph.add_variable(pl.FLOAT, (64,), "b", mapping="linear")
    engine = pl.Engine(graph, pl.Repeat(5, pl.Copy(a, b)))
    engine.run()
    (step,) = engine.report().execution.steps
    (phase,) = (each for each in step.phases if each.kind == "exchange")
    assert phase.sent.most == 5 * 48 * 4
    assert step.exchanged_per_cycle == 5 * 48 * 4 / phase.cycles
    assert step.code_bytes == max(each.code_bytes for each in step.phases) > 0
    alone = report_of([(Blur3, 10, {})]).execution.steps[0]
    assert (alone.exchanged_per_cycle, alone.code_bytes) == (None, 0)


def test_limits_follow_from_facts_of_the_machine() -> None:
    def numbers(target: pl.Target) -> list[float]:
        return [each.number for each in limits_of(target)]

    # Published: 250 TFLOP/s of halves at 1,472 tiles and 1.33 GHz, 62.5 of floats; of Mk1 124.5
    # and 31.1 at 1,216 tiles and 1.6 GHz.
    assert numbers(pl.Target()) == [2, 4, 32, 128, 4]
    assert pytest.approx(250e12, rel=0.01) == 1472 * 1.33e9 * 128
    first = pl.Target(architecture="gc2")
    assert numbers(first) == [2, 4, 16, 64, 4]
    assert pytest.approx(124.5e12, rel=0.01) == 1216 * 1.6e9 * 64
    assert numbers(pl.Target(exchange_bytes_per_cycle=8))[-1] == 8
    link = limits_of(pl.Target())[-1]
    assert link.sources == {
        "exchange_bytes_per_cycle": f"{pl.Target().fact('exchange_bytes_per_cycle')}"
    }


def test_reports_since_another_have_the_operations_in_between() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x, y = (graph.add_variable(pl.FLOAT, (n,), mapping=0, initial_value=1) for n in (12, 10))
    step = graph.add_compute_set("step")
    graph.add_vertex(step, Blur3, tile=0, x=x, y=y)
    engine = pl.Engine(graph, pl.Execute(step))
    engine.run()
    before = engine.report().execution.steps[0]
    engine.run()
    assert (before.flops, engine.report().execution.steps[0].flops) == (50, 100)
    assert np.array_equal(before.phases[-1].received.array(), PerTile.nothing(4).array())


# -- the list of steps -----------------------------------------------------------------------------


def both() -> pl.Report:
    """A step whose operations are known, one of which they are not, and a copy between tiles."""
    graph = pl.Graph(pl.Target(tiles=4))
    known, unknown = (graph.add_compute_set(name) for name in ("known", "unknown"))
    x, y = (graph.add_variable(pl.FLOAT, (n,), mapping=0, initial_value=1) for n in (100, 100))
    z = graph.add_variable(pl.FLOAT, (100,), mapping=1)
    graph.add_vertex(known, Said, tile=0, x=x, y=y)
    graph.add_vertex(unknown, Unsaid, tile=0, x=x, y=y)
    program = pl.Sequence(pl.Execute(known), pl.Execute(unknown), pl.Copy(y, z))
    return pl.Engine(graph, program).report()


def test_the_list_of_steps_has_them_in_all_forms() -> None:
    report = both()
    known, unknown, copy = report.places
    steps = step_list(report, sort="program")
    rates = [rates_of(row.step) for row in steps.steps]
    assert rates[0] == (f"{100 / known.cycles / 4:.2f}", "", "")
    assert rates[1] == ("?", "", "")
    assert copy.exchanged_per_cycle is not None
    assert rates[2] == ("0.00", f"{copy.exchanged_per_cycle:.2f}", f"{copy.code_bytes}")
    assert rates == [rates_of(step) for step in report.places]
    text = paint_text(steps.picture(), Style(width=160))
    assert [line.split()[5:6] for line in text.splitlines()[3:6]] == [[r[0]] for r in rates]
    svg = " ".join(ET.fromstring(paint_svg(steps.picture())).itertext())
    computed, moved = limits_text(steps.limits)
    for words in (*rates[2], "?", computed[:60], moved, "exchange_bytes_per_cycle: 4 B"):
        assert words in svg
    data = json.loads(steps.json())
    assert [row["flops"] for row in data["steps"]] == [100, None, 0]
    assert [row["code_bytes"] for row in data["steps"]] == [0, 0, copy.code_bytes]
    assert [limit["number"] for limit in data["limits"]] == [2, 4, 32, 128, 4]
    rows = list(csv.DictReader(io.StringIO(steps.csv())))
    assert [row["flops"] for row in rows] == ["100", "", "0"]
    assert [row["exchanged_per_cycle"] for row in rows][:2] == ["", ""]
    page = ViewPage(report.to_html()).reports[0]
    assert [tuple(step["rates"]) for step in page["steps"]] == rates
    assert tuple(page["limits"]) == limits_text(steps.limits)


def test_the_command_writes_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = both()
    report.save(tmp_path / "run.json")
    for words in ([], ["--timeline"]):
        assert main(["steps", f"{tmp_path / 'run.json'}", *words, "-f", "csv"]) == 0
        assert capsys.readouterr().out == step_list(report).csv()
