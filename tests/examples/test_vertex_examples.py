"""Examples made of vertices: values and known numbers, and wrong ones that fail."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import poplite as pl
from helpers.depth import thinned
from helpers.running import both_forms
from poplite.vertices import Add

# -- pi.py -----------------------------------------------------------------------------------------


def test_small_run_prints_pi(pi: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    pi.main(8, 100)
    assert "pi = 3.14159" in capsys.readouterr().out


def test_full_size_is_within_tolerance(pi: ModuleType) -> None:
    pi.main()


def test_a_wrong_pi_fails_loudly(pi: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "pi", 3.2)
    with pytest.raises(AssertionError, match=r"3\.2"):
        pi.main(2, 50)


# -- first_tiles.py --------------------------------------------------------------------------------


def test_first_tiles_are_as_expected(
    first_tiles: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    first_tiles.main()
    printed = capsys.readouterr()
    assert "[0.  1.  1.5 2. ]" in printed.out
    assert "p + q.T =\n[[5.  3.5]\n [5.  3.5]]" in printed.out
    assert "suffix sums of p = [7.  6.  4.5 2.5]" in printed.out
    lines = printed.err.splitlines()
    assert [line for line in lines if not line.startswith("poplite: compiling")] == [
        "n: [0 1 2 3 4 5 6 7 8 9]",
        f"n: {[*range(10, 20)]}".replace(",", ""),
    ]


def test_wrong_prefix_sums_fail_loudly(
    first_tiles: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, program, turned, sums = first_tiles.build()
    monkeypatch.setattr(first_tiles, "build", lambda: (graph, program, turned, turned.flatten()))
    with pytest.raises(AssertionError, match="not equal"):
        first_tiles.main()
    assert sums.shape == (4,)


# -- heat.py ---------------------------------------------------------------------------------------


# After 200 steps, worked out in double precision.
CELLS = {(1, 49): 0.875551, (20, 30): 0.283670, (30, 45): 0.869429, (45, 45): 0.188319}


def test_two_hundred_steps_reach_the_known_numbers(
    heat: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    heat.main()
    printed = capsys.readouterr().out
    assert "u[20, 30] = 0.2836" in printed
    assert "sum 1115.33" in printed
    assert "In a single buffer the same program is refused" in printed
    u = heat.in_numpy(100)
    np.testing.assert_allclose([u[cell] for cell in CELLS], list(CELLS.values()), atol=2e-5)
    assert u.sum(dtype=float) == pytest.approx(1115.33200, rel=1e-5)


def test_few_steps_equal_numpy_bit_by_bit(heat: ModuleType) -> None:
    graph, program, result = heat.build(2)
    engine = pl.Engine(graph, program)
    engine.run()
    assert engine.read(result).tobytes() == heat.in_numpy(2).tobytes()


def test_single_buffer_is_a_race_with_both_lines(heat: ModuleType) -> None:
    graph, program, _ = heat.build(1, buffers=1)
    with pytest.raises(pl.GraphCycleError, match=r"'a'") as raised:
        pl.Engine(graph, program)
    assert "Diffuse" in str(raised.value)
    assert "heat.py:" in str(raised.value)


def test_every_block_lies_on_its_tile(heat: ModuleType) -> None:
    graph, _, result = heat.build(1)
    per_tile = graph.tile_mapping(result).elements_per_tile
    corner, side, top, inner = 17 * 25, 16 * 25, 17 * 24, 16 * 24
    expected = [corner, top, top, corner, *([side, inner, inner, side] * 2)]
    expected += [corner, top, top, corner]
    assert per_tile.tolist() == expected


def test_wrong_plate_fails_loudly(heat: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    in_numpy = heat.in_numpy
    monkeypatch.setattr(heat, "in_numpy", lambda steps: in_numpy(steps) + 1)
    with pytest.raises(AssertionError, match="6468 / 6468"):
        heat.main(1)


# -- sort.py ---------------------------------------------------------------------------------------


@both_forms
def test_every_number_is_where_it_belongs(sort: ModuleType, interpret: bool) -> None:
    graph, program, numbers, passes = sort.build()
    engine = pl.Engine(graph, program, interpret=interpret)
    engine.run()
    assert engine.read(numbers).flatten().tolist() == sorted(sort.VALUES.flatten().tolist())
    assert engine.read(passes) == 5


@pytest.mark.parametrize(("first", "expected"), [(range(512), 1), (range(512)[::-1], 5)])
def test_a_pass_without_a_swap_is_the_last(sort: ModuleType, first: range, expected: int) -> None:
    graph, program, numbers, passes = sort.build()
    engine = pl.Engine(graph, program)
    engine.write(numbers, np.reshape(first, (8, 64)))
    engine.run()
    assert engine.read(passes) == expected
    assert engine.read(numbers).flatten().tolist() == list(range(512))


def test_a_wrong_order_fails_loudly(
    sort: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sort.main()
    assert capsys.readouterr().out.startswith("sorted in 5 passes\n")
    graph, _, *tensors = sort.build()
    monkeypatch.setattr(sort, "build", lambda: (graph, pl.Sequence(), *tensors))
    with pytest.raises(AssertionError, match="not equal"):
        sort.main()


# -- bfs.py ----------------------------------------------------------------------------------------


def by_queue(matrix: np.ndarray) -> list[int]:
    """The distances from node 0, node by node; 192 where there is no way."""
    distance, queue = [0, *[192] * 191], [0]
    for node in queue:
        for other in np.flatnonzero(matrix[node]).tolist():
            if distance[other] == 192:
                distance[other] = distance[node] + 1
                queue.append(other)
    return distance


@pytest.mark.parametrize("interpret", thinned([True, False], 1))
def test_distances(bfs: ModuleType, interpret: bool) -> None:
    graph, program, distance, passes = bfs.build()
    engine = pl.Engine(graph, program, interpret=interpret)
    engine.run()
    got = engine.read(distance)
    assert np.bincount(got)[:8].tolist() == [1, 4, 11, 42, 81, 39, 9, 2]
    assert got.tolist() == by_queue(bfs.MATRIX)
    assert engine.read(passes) == 8  # the last one reaches nothing


def test_what_lies_where(bfs: ModuleType) -> None:
    graph, _, distance, _ = bfs.build()
    assert graph.tile_mapping(distance).elements_per_tile.tolist() == [12] * 16
    (columns,) = (v for v in graph.variables if v.name == "columns")
    assert columns.element_type is pl.UNSIGNED_SHORT
    entries = bfs.MATRIX.reshape(4, 48, 4, 48).sum((1, 3)).flatten().tolist()
    assert np.diff(columns.mapping.pieces()[0]).tolist() == entries


def test_a_chain_takes_a_pass_for_every_node(bfs: ModuleType) -> None:
    matrix = np.eye(192, k=1, dtype=bool) | np.eye(192, k=-1, dtype=bool)
    graph, program, distance, passes = bfs.build(matrix)
    engine = pl.Engine(graph, program)
    engine.run()
    assert engine.read(distance).tolist() == list(range(192))
    assert engine.read(passes) == 192


def test_a_wrong_answer_fails_loudly(
    bfs: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bfs.main()
    assert "189 of 192 nodes are reached in 8 passes" in capsys.readouterr().out
    graph, program, _, passes = bfs.build()
    wrong = graph.add_constant(pl.INT, (192,), np.where(np.arange(192), 7, 0), mapping=0)
    monkeypatch.setattr(bfs, "build", lambda: (graph, program, wrong, passes))
    with pytest.raises(AssertionError, match="not equal"):
        bfs.main()


# -- matvec.py -------------------------------------------------------------------------------------


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


# -- streams.py ------------------------------------------------------------------------------------


def test_streams_are_as_expected(streams: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    streams.main()
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"x + y by {way}: [5. 5. 5. 5.]" for way in ("custom", "library")] * 2


@both_forms
def test_both_ways_of_adding(streams: ModuleType, interpret: bool) -> None:
    streams.run_both(pl.Engine(*streams.build(), interpret=interpret))


def test_x_y_and_z_lie_on_tiles_of_their_own(streams: ModuleType) -> None:
    graph, programs = streams.build()
    tiles = {v.name: np.unique(v.mapping.pieces()[1]).tolist() for v in graph.variables[:3]}
    assert tiles == {"x": [0], "y": [1], "z": [2]}
    assert list(programs) == ["write", "custom", "library", "read"]


def test_a_template_of_the_same_name_is_not_mistaken_for_the_vertex(
    streams: ModuleType, tmp_path: Path
) -> None:
    assert Add.type_variables
    assert streams.Add.__name__ == Add.__name__
    file = tmp_path / "programs.poplite"
    pl.Engine(*streams.build()).executable.save(file)
    streams.run_both(pl.Engine(pl.Executable.load(file, vertices=[Add, streams.Add])))


def test_wrong_sums_fail_loudly(streams: ModuleType) -> None:
    graph, programs = streams.build()
    programs["custom"] = pl.Sequence()  # adds nothing
    with pytest.warns(pl.UninitializedWarning), pytest.raises(AssertionError, match="not equal"):
        streams.run_both(pl.Engine(graph, programs))
