"""examples/matvec.py: the plan, the known numbers, and what the engine's model makes of them."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

import poplite as pl
from helpers.depth import thinned
from helpers.running import both_forms


def test_the_known_numbers_are_reached(
    matvec: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    matvec.main()
    assert capsys.readouterr().out.splitlines() == [
        "1 segments: (546, 163) by the formula, 1119 cycles",
        "2 segments: (306, 86) by the formula, 1337 cycles",
        "40 segments: (990, 128) by the formula, 2067 cycles",
    ]


def test_the_copies_are_found_first(matvec: ModuleType) -> None:
    """They take 46 % of the cycles, and one of them runs on 2 of 32 tiles."""
    graph, program, _ = matvec.build(2)
    engine = pl.Engine(graph, program)
    engine.run()
    report = engine.report()
    first, second = report.insights.findings[:2]
    assert report.cycles == 1337
    assert (first.kind, first.cycles, first.names) == ("copied on its tile", 318, ("sums",))
    assert (first.tiles, first.of_tiles, first.bytes) == (2, 32, 24)
    assert "(23.8%) for 24 B in sums, on 2 of 32 tiles while the others wait" in first.text
    assert (second.kind, second.cycles, second.names) == ("copied on its tile", 300, ("dots",))
    assert (second.tiles, second.bytes) == (32, 640)


@both_forms
@pytest.mark.parametrize("split", thinned([1, 2, 7, 40, 159], keep=(1, 40)))
def test_the_product(matvec: ModuleType, split: int, interpret: bool) -> None:
    graph, program, y = matvec.build(split)
    engine = pl.Engine(graph, program, interpret=interpret)
    engine.run()
    got = engine.read(y)
    assert got[:6].tolist() == [3, 3, 14, 3, 3, -8]
    assert (got.sum(), got.min(), got.max()) == (13, -8, 14)
    assert (got == matvec.A @ matvec.X).all()


def test_where_vertices_are(matvec: ModuleType) -> None:
    graph, _, _ = matvec.build(7)
    dots, sums = graph.compute_sets
    tiles = [(96 * i + row) * 32 // (96 * 7) for i in range(7) for row in range(96)]
    assert [vertex.tile for vertex in dots.vertices] == tiles
    assert [vertex.tile for vertex in sums.vertices] == [row // 3 for row in range(96)]
    lengths = np.diff([i * 160 // 7 for i in range(8)]).tolist()
    estimates = [graph.perf_estimate(vertex).cycles for vertex in dots.vertices]
    assert estimates == [5 + (lengths[i] + 1) // 2 for i in range(7) for _ in range(96)]
    assert graph.perf_estimate(sums.vertices[0]).cycles == 5 + 4


def test_the_engine_computes_what_the_formula_says(matvec: ModuleType) -> None:
    cycles: dict[int, int] = {}
    for split in (1, 2, 40):
        graph, program, _ = matvec.build(split)
        engine = pl.Engine(graph, program)
        engine.run()
        report = engine.report()
        phases = [phase for step in report.execution.steps for phase in step.phases]
        computed = sum(phase.cycles for phase in phases if phase.kind == "compute")
        assert computed == matvec.cost(split)[0]
        cycles[split] = report.cycles or 0
    assert cycles[1] < cycles[2] < cycles[40]


def test_a_wrong_product_fails_loudly(matvec: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, program, y = matvec.build(1)
    monkeypatch.setattr(matvec, "build", lambda split: (graph, program, y))
    monkeypatch.setattr(matvec, "A", matvec.A + np.eye(96, 160, dtype=np.float32))
    with pytest.raises(AssertionError, match="not equal"):
        matvec.main()
