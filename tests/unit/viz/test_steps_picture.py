"""Pictures of steps: their list, all tiles in time, and what tiles send each other."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import poplite as pl
from poplite.report.execution import TIME_PARTS, BetweenRanks, Phase, between_syncs
from poplite.report.per_tile import PerTile
from poplite.viz.colours import SPENT
from poplite.viz.draw.words import Style
from poplite.viz.exchange import traffic_of
from poplite.viz.names import place_of
from poplite.viz.paint_svg import paint_svg
from poplite.viz.paint_text import paint_text, shared
from poplite.viz.steps import SORTS, STATES, WAITING, StepRow, step_list, timeline_of

# -- steps -----------------------------------------------------------------------------------------


def report_of(tiles: int = 4, ipus: int = 1, replicas: int = 1, **options: Any) -> pl.Report:
    """The report of copies between tiles; `other` holds a second program."""
    graph = pl.Graph(pl.Target(tiles=tiles, ipus=ipus), replication_factor=replicas)
    a, b = (
        graph.add_variable(pl.INT, (8, tiles), name, mapping="linear", initial_value=1)
        for name in "ab"
    )
    there, back = pl.Copy(a.transpose().flatten(), b.flatten()), pl.Copy(b[0], a[0])
    programs = {"main": pl.Sequence(pl.Repeat(3, there), back), "other": back}
    engine = pl.Engine(graph, programs, options=options)
    engine.run()
    return engine.report()


@pytest.fixture(scope="module")
def report() -> pl.Report:
    """A report of three steps of two programs, of which one did not run."""
    return report_of()


def phase(kind: Any, sync: int, *cycles: int) -> Phase:
    """Return a phase of four tiles."""
    none, busy = PerTile.nothing(len(cycles)), PerTile.of(np.array(cycles, np.int64))
    return Phase(kind, max(cycles), sync, busy, none, none, none, ())


def made(report: pl.Report, *phases: Phase, executions: int = 1, cycles: int = 0) -> pl.Report:
    """Return the report with one step of these phases."""
    total = sum(
        group[0].sync + int(np.sum([p.tile_cycles.array() for p in group], axis=0).max())
        for group in between_syncs(phases)
    )
    first = report.execution.steps[0]
    step = replace(first, phases=phases, cycles=cycles or total, executions=executions)
    return replace(report, execution=replace(report.execution, steps=(step,)))


def test_phases_are_those_of_the_slowest_tile_and_add_up(report: pl.Report) -> None:
    steps = step_list(report)
    assert [row.step.name for row in steps.steps] == ["a to b", "b to a"]
    assert sum(row.step.cycles for row in steps.steps) == steps.cycles == report.cycles
    assert sum(row.share for row in steps.steps) == pytest.approx(1)
    for row in steps.steps:
        assert sum(cycles for _, cycles in row.parts) == row.step.cycles
        assert sum(row.time.values()) == pytest.approx(row.step.cycles)
    # Phases that overlap take less than the sum of their slowest tiles.
    uneven = made(report, phase("exchange", 9, 50, 0, 1, 0), phase("compute", 0, 1, 60, 0, 0))
    (row,) = step_list(uneven).steps
    assert (row.step.cycles, row.parts) == (69, (("sync", 9), ("compute", 60)))
    assert {part: cycles for part, cycles in row.time.items() if cycles} == {
        "work": 61 / 4,
        "exchange": 51 / 4,
        "waiting": 60 - 112 / 4,
        "sync": 9,
    }


@pytest.mark.parametrize("sort", SORTS)
def test_rows_are_sorted(sort: str, report: pl.Report) -> None:
    rows = step_list(report, sort=sort).steps
    keys: dict[str, Callable[[StepRow], Any]] = {
        "cycles": lambda row: -row.step.cycles,
        "program": lambda row: (row.step.program_name, row.step.number),
        "balance": lambda row: row.step.tile_balance,
        "times": lambda row: -row.step.executions,
        "name": lambda row: row.step.name,
        **{part: partial(lambda part, row: -row.time[part], part) for part in TIME_PARTS},
    }
    assert list(rows) == sorted(rows, key=keys[sort])


def test_steps_are_chosen_by_number_range_and_name(report: pl.Report) -> None:
    def names(**chosen: str) -> list[str]:
        return [row.step.name for row in step_list(report, sort="program", **chosen).steps]

    assert names(step="1") == names(step="a to b") == names(match="A TO") == ["a to b"]
    assert names(step="1:2") == names(step="1:9") == ["a to b", "b to a"]
    for wrong in ("0", "3", "7:9", "a to c", "1:"):
        with pytest.raises(pl.UnknownName, match=r"no step (.|\n)*numbered 1 to 2(.|\n)*--step 1"):
            step_list(report, step=wrong)
    with pytest.raises(pl.UnknownName, match="did you mean 'a to b'"):
        step_list(report, step="a too b")


def test_a_list_says_what_its_numbers_are_of(report: pl.Report) -> None:
    assert step_list(report).heading == f"steps: 2, {report.cycles:,} cycles"
    only = step_list(report, step="1")
    assert only.heading.startswith("steps: 1 of 2, ")
    twice = replace(report, execution=replace(report.execution, runs=2))
    assert step_list(twice).heading.endswith(" cycles; in 2 runs")
    not_modelled = report_of(**{"debug.instrument": False})
    assert step_list(not_modelled).heading.startswith("steps: 0, 0 cycles; cycles are not modelled")
    assert timeline_of(not_modelled).text() == step_list(not_modelled).text()
    assert "not modelled" in timeline_of(not_modelled).svg()


def test_of_a_program_that_did_not_run_it_is_told_what_one_run_takes() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    a, b = (graph.add_variable(pl.INT, (8,), name, mapping=0) for name in "ab")
    engine = pl.Engine(graph, {"x": pl.Repeat(5, pl.Copy(a, b)), "y": pl.Copy(b, a)})
    steps = step_list(engine.report())
    assert steps.heading.endswith("; as compiled, of one run")
    assert [(row.step.executions, row.step.number) for row in steps.steps] == [(5, 1), (1, 2)]
    assert [row.label for row in steps.steps] == ["x: a to b", "y: b to a"]


def test_replicas_are_named() -> None:
    assert step_list(report_of(ipus=2, replicas=2)).heading.endswith("; of one of 2 replicas")


@pytest.mark.parametrize("width", [40, 60, 80, 160])
def test_text_fits_its_columns(width: int, report: pl.Report) -> None:
    long = replace(report.execution.steps[0], name="scope/" * 40)
    steps = replace(report.execution, steps=(long, *report.execution.steps))
    named = replace(report, execution=steps)
    for style in (Style(width=width), Style(width=width, ascii_only=True)):
        for text in (
            step_list(named).text(style),
            timeline_of(named).text(style),
        ):
            assert max(map(len, text.splitlines())) <= max(width, 60)
            assert text.isascii() or not style.ascii_only
            assert "sync" in text


def test_a_part_of_no_name_is_refused_with_the_names(report: pl.Report) -> None:
    with pytest.raises(pl.UnknownName, match="no step has 'there' in its name") as caught:
        step_list(report, match="there")
    assert caught.value.found == "the names are 'a to b', 'b to a'"


def test_bars_have_one_scale(report: pl.Report) -> None:
    marks = "".join(role.mark for role in SPENT.values())
    steps = step_list(report)
    lines = steps.text(Style(width=160)).splitlines()[3:5]
    lengths = [sum(line.count(mark) for mark in marks) for line in lines]
    first, second = (row.step.cycles for row in steps.steps)
    assert lengths[1] == pytest.approx(lengths[0] * second / first, abs=0.5)


@pytest.mark.parametrize("numbers", [[5, 5, 5], [1000, 1], [0, 7], [3, 3, 3, 3, 3, 3, 3]])
@pytest.mark.parametrize("whole", [0, 1, 10, 33])
def test_shared_numbers_add_up(numbers: list[int], whole: int) -> None:
    taken = shared(numbers, whole)
    assert sum(taken) == whole
    assert all(abs(t - n * whole / sum(numbers)) < 1 for t, n in zip(taken, numbers, strict=True))


# -- in time ---------------------------------------------------------------------------------------


def slow_cells(report: pl.Report, columns: int) -> list[list[int]]:
    """Return what most of each cell shows, a row and a cycle after the other."""
    tiles, whole = report.tiles, sum(step.cycles for step in report.places)
    phases = [each for step in report.places for each in step.phases]
    busy = np.sum([each.tile_cycles.array() for each in phases], axis=0)
    block = -(-tiles // 32)
    rows = [range(r, min(r + block, tiles)) for r in range(0, tiles, block)]
    if block > 1:
        rows += [range(tiles), range(int(busy.argmax()), int(busy.argmax()) + 1)]
    doing = np.full((len(rows), whole), WAITING)
    begin = 0
    for step in report.places:
        at = begin
        for group in between_syncs(step.phases):
            doing[:, at : at + group[0].sync] = STATES.index("sync")
            at += group[0].sync
            took = [sum(each.tile_cycles[tile] for each in group) for tile in range(tiles)]
            for row, shown in enumerate(rows):
                tile = max(shown, key=lambda each: took[each])
                done = at
                for each in group:
                    end = done + each.tile_cycles[tile]
                    doing[row, done:end] = STATES.index(each.kind)
                    done = end
            at += max(took)
        begin += step.cycles
    wide = whole // columns
    return [
        [int(np.bincount(cell, minlength=WAITING + 1).argmax()) for cell in row.reshape(-1, wide)]
        for row in doing
    ]


@pytest.mark.parametrize(("tiles", "ipus"), [(4, 1), (40, 1), (66, 2)])
def test_cells_show_what_the_busiest_tile_of_a_row_does(tiles: int, ipus: int) -> None:
    report = report_of(tiles, ipus)
    columns = sum(step.cycles for step in report.places)
    for divisor in (7, 5, 3, 2, 1):
        if columns % divisor == 0:
            break
    timeline = timeline_of(report)
    assert timeline.cycles == report.cycles
    found = timeline.cells(columns // divisor).tolist()
    assert found == slow_cells(report, columns // divisor)


def test_tiles_begin_together_behind_a_sync_and_wait_for_the_slowest(report: pl.Report) -> None:
    phases = (
        phase("copy", 0, 2, 0, 0, 0),
        phase("exchange", 2, 2, 2, 0, 0),
        phase("compute", 0, 4, 0, 6, 0),
    )
    timeline = timeline_of(made(report, *phases))
    copy, exchange, compute, sync = (
        STATES.index(kind) for kind in ("copy", "exchange", "compute", "sync")
    )
    blank = WAITING
    assert timeline.cells(5).tolist() == [
        [copy, sync, exchange, compute, compute],
        [blank, sync, exchange, blank, blank],
        [blank, sync, compute, compute, compute],
        [blank, sync, blank, blank, blank],
    ]


def test_what_another_tile_is_slowest_in_each_time_is_waited_for(report: pl.Report) -> None:
    twice = made(report, phase("compute", 0, 60, 50, 0, 0), executions=2, cycles=100)
    timeline = timeline_of(twice)
    assert timeline.cycles == 100
    assert timeline.cells(10)[0].tolist() == [STATES.index("compute")] * 6 + [WAITING] * 4


def test_phases_are_drawn_whole_where_their_step_is_said_to_be_shorter(report: pl.Report) -> None:
    short = made(report, phase("compute", 0, 60, 50, 0, 0), cycles=30)
    timeline = timeline_of(short)
    assert timeline.cycles == 60
    assert timeline.cells(6)[1].tolist() == [STATES.index("compute")] * 5 + [WAITING]


def test_no_block_hides_the_tile_that_others_wait_for() -> None:
    """Tile 70 of 100 is the slowest, tile 31 of another row in one step."""
    report = report_of(100)
    first, second = np.full(100, 10), np.full(100, 10)
    first[31], second[70] = 50, 90
    timeline = timeline_of(made(report, phase("copy", 0, *first), phase("compute", 2, *second)))
    assert (timeline.block, timeline.slowest) == (4, 70)
    copy, compute, sync = (STATES.index(kind) for kind in ("copy", "compute", "sync"))
    cells = timeline.cells(timeline.cycles)
    alone = [copy] * 10 + [WAITING] * 40 + [sync] * 2 + [compute] * 90
    assert cells[70 // 4].tolist() == cells[-1].tolist() == alone
    deciding = [copy] * 50 + [sync] * 2 + [compute] * 90
    assert cells[-2].tolist() == deciding
    assert cells[31 // 4].tolist() == [copy] * 50 + [sync] * 2 + [compute] * 10 + [WAITING] * 80
    text = timeline.text(Style(ascii_only=True, width=60)).splitlines()
    (border,) = (number for number, line in enumerate(text) if " slowest |-----" in line)
    assert text[border + 1].lstrip().startswith("70 |")
    assert "slowest: 70" in timeline.svg()


def test_a_chosen_tile_has_a_row_of_its_own_beside_blocks() -> None:
    report = report_of(100)
    timeline, without = (timeline_of(report, tile=tile) for tile in ("57", None))
    assert timeline.rows == [*without.rows, range(57, 58)]
    assert timeline.borders == {**without.borders, len(without.rows): "chosen"}
    assert timeline.cells(64)[:-1].tolist() == without.cells(64).tolist()
    assert "chosen: 57" in timeline.svg()
    assert json.loads(timeline.json())["timeline"]["chosen"] == 57
    with pytest.raises(pl.InvalidTileMapping, match="there is no tile '100'"):
        timeline_of(report, tile="100")


def test_pictures_and_data_agree(report: pl.Report) -> None:
    timeline = timeline_of(report, step="1")
    data = json.loads(timeline.json())
    assert data["timeline"]["states"][-1] == "waiting"
    assert data["timeline"]["rows"] == timeline.cells(64).tolist()
    assert data["timeline"]["length"] == data["steps"][0]["cycles"] == timeline.cycles
    listed = json.loads(step_list(report).json())
    assert listed["cycles"] == report.cycles
    assert [sum(p["cycles"] for p in s["parts"]) for s in listed["steps"]] == [
        row.step.cycles for row in step_list(report).steps
    ]


def test_names_are_escaped(report: pl.Report) -> None:
    named = replace(report.execution.steps[0], name="<script>\x1b[1m\n&</script>")
    shown = replace(report, execution=replace(report.execution, steps=(named,)))
    for picture in (
        step_list(shown).svg(),
        timeline_of(shown).svg(),
    ):
        texts = [each.text or "" for each in ET.fromstring(picture).iter()]
        assert any("<script>\\x1b[1m\\n&</script>" in text for text in texts)
        assert "\x1b" not in picture
    wide = Style(width=160)
    for text in (
        step_list(shown).text(wide),
        timeline_of(shown).text(wide),
    ):
        assert "\x1b" not in text
        assert "<script>\\x1b[1m\\n&</script>" in text


def test_rows_keep_to_one_ipu_and_borders_are_drawn() -> None:
    timeline = timeline_of(report_of(66, 2))
    assert timeline.slowest is not None
    slowest = range(timeline.slowest, timeline.slowest + 1)
    assert [timeline.rows[row] for row in timeline.borders] == [range(33, 36), range(66), slowest]
    assert timeline.rows[10] == range(30, 33)
    text = timeline.text(Style(ascii_only=True)).splitlines()
    (border,) = (number for number, line in enumerate(text) if "IPU 1 |-----" in line)
    assert text[border - 1].lstrip().startswith("30-32 |")
    assert text[border + 1].lstrip().startswith("33-35 |")
    assert "IPU 1: 33-35" in timeline.svg()
    one = timeline_of(report_of(40))
    assert "IPU" not in one.text() + one.svg()


def test_one_ipu_alone_has_finer_rows_and_those_that_decide() -> None:
    report = report_of(200, 2)
    whole, alone = timeline_of(report), timeline_of(report, ipu=1, tile="7")
    assert (whole.block, alone.block) == (7, 4)
    assert alone.rows[:25] == [range(first, first + 4) for first in range(100, 200, 4)]
    assert whole.slowest is not None
    slowest = range(whole.slowest, whole.slowest + 1)
    assert alone.rows[25:] == [range(200), slowest, range(7, 8)]
    assert list(alone.borders.values()) == ["deciding", "slowest", "chosen"]
    assert alone.heading == whole.heading.replace("200 tiles", "tiles 100-199 of 200 tiles: IPU 1")
    assert json.loads(alone.json())["timeline"]["part"] == "IPU 1"
    small = timeline_of(report_of(8, 2), ipu=0)
    assert small.rows[:5] == [*(range(tile, tile + 1) for tile in range(4)), range(8)]
    with pytest.raises(pl.InvalidOption, match="there is no IPU 2") as caught:
        timeline_of(report, ipu=2)
    assert "IPUs are 0 to 1" in str(caught.value)


def test_one_rank_alone_has_rows_of_its_tiles() -> None:
    report = replace(report_of(200, 2), cut=(150, 150))
    assert timeline_of(report, rank=0).borders[15] == "IPU 1"
    assert timeline_of(report, rank=0).rows[14:16] == [range(98, 100), range(100, 107)]
    last = timeline_of(report, rank=2)
    assert last.rows[0] == range(150, 152)
    assert "IPU 1" not in last.text()
    assert "tiles 150-199 of 200 tiles: rank 2" in last.heading
    with pytest.raises(pl.InvalidOption, match="rank 1 has no tiles"):
        timeline_of(report, rank=1)
    with pytest.raises(pl.InvalidOption, match="there is no rank 1") as caught:
        timeline_of(report_of(8), rank=1)
    assert "there is one rank" in str(caught.value)


# -- exchange --------------------------------------------------------------------------------------


def report_of_shifts(tiles: int, times: int = 2) -> pl.Report:
    """The report of a shift by one tile that runs several times, and of a broadcast from tile 0."""
    graph = pl.Graph(pl.Target(tiles=tiles))
    a, b = (
        graph.add_variable(pl.INT, (tiles,), name, mapping="linear", initial_value=1)
        for name in "ab"
    )
    shifted = pl.concat([a[1:], a[:1]])
    program = pl.Sequence(
        pl.Repeat(times, pl.Copy(shifted, b)), pl.Copy(a[:1].broadcast(tiles, 0), b)
    )
    engine = pl.Engine(graph, program)
    engine.run()
    return engine.report()


@pytest.mark.parametrize(("tiles", "block"), [(1, 1), (5, 1), (32, 1), (33, 2), (64, 2), (130, 6)])
def test_rows_are_what_tiles_receive(tiles: int, block: int) -> None:
    traffic = traffic_of(report_of_shifts(tiles))
    assert traffic.block == block
    assert traffic.matrix is not None
    assert len(traffic.matrix) == -(-tiles // block) <= 32
    starts = np.arange(0, tiles, block)
    assert traffic.matrix.sum(axis=1).tolist() == np.add.reduceat(traffic.received, starts).tolist()
    # A word that goes to all others is sent once.
    if tiles > 1:
        assert traffic.received.sum() == 4 * (2 * tiles + tiles - 1)
        assert traffic.sent.sum() == 4 * (2 * tiles + 1)
        assert traffic.reach == pytest.approx((3 * tiles - 1) / (2 * tiles + 1))


def test_pairs_of_tiles_are_by_receiver_and_source() -> None:
    traffic = traffic_of(report_of_shifts(5), step="1")
    assert traffic.matrix is not None
    expected = np.zeros((5, 5), int)
    for to in range(5):
        expected[to, (to + 1) % 5] = 2 * 4
    assert traffic.matrix.tolist() == expected.tolist()
    assert traffic.steps == ("a to b",)
    broadcast = traffic_of(report_of_shifts(5), step="2")
    assert broadcast.matrix is not None
    assert broadcast.matrix[:, 0].tolist() == [0, 4, 4, 4, 4]
    assert broadcast.reach == 4
    assert "each byte sent reaches 4.0 tiles" in broadcast.facts


def test_reasons_are_summed_over_executions() -> None:
    (first, *_) = traffic_of(report_of_shifts(5, times=7), step="1").reasons
    assert (first.bytes, first.why) == (7 * 5 * 4, "goes to other tiles")
    assert first.at.startswith("tests/unit/viz/test_steps_picture.py:")


def test_what_goes_within_ipus_and_between_them_is_counted_once() -> None:
    graph = pl.Graph(pl.Target(tiles=8, ipus=2))
    a, b = (
        graph.add_variable(pl.INT, (16,), name, mapping="linear", initial_value=1) for name in "ab"
    )
    engine = pl.Engine(graph, pl.Repeat(3, pl.Copy(a[1:], b[:-1])))
    engine.run()
    report = engine.report()
    kinds = [phase.kind for phase in report.execution.steps[0].phases]
    assert {"exchange", "global exchange"} <= set(kinds)
    traffic = traffic_of(report)
    assert sum(reason.bytes for reason in traffic.reasons) == traffic.received.sum()


def test_reports_without_pairs_say_so() -> None:
    report = report_of_shifts(5)
    steps = tuple(
        replace(step, phases=tuple(replace(phase, pairs=None) for phase in step.phases))
        for step in report.execution.steps
    )
    old = traffic_of(replace(report, execution=replace(report.execution, steps=steps)))
    assert old.matrix is None
    drawn = old.picture()
    for picture in (paint_text(drawn), paint_svg(drawn)):
        assert "from where to where is not known" in picture
        assert "who receives" not in picture


def test_the_host_is_no_tile() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.INT, (64,), "x", mapping="linear")
    stream = graph.add_host_to_device_fifo("in", pl.INT, 64)
    engine = pl.Engine(graph, pl.Copy(stream, x))
    traffic = traffic_of(engine.report())
    assert traffic.host_bytes == traffic.received.sum() == 256
    assert traffic.matrix is None
    assert "the host takes part" in traffic.missing


def test_what_the_host_sends_hides_nothing_else() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    a, b = (graph.add_variable(pl.INT, (64,), name, mapping="linear") for name in "ab")
    stream = graph.add_host_to_device_fifo("in", pl.INT, 64)
    turned = pl.Copy(a.reverse(0), b)
    both = traffic_of(pl.Engine(graph, pl.Sequence(pl.Copy(stream, a), turned)).report())
    alone = traffic_of(pl.Engine(graph, turned).report())
    assert both.matrix is not None
    assert alone.matrix is not None
    assert both.matrix.tolist() == alone.matrix.tolist()
    for picture in map(paint_text, (both.picture(), alone.picture())):
        assert "who receives (down) from whom (across)" in picture
    assert "without 256 B from or to" in " ".join(paint_text(both.picture()).split())


def test_what_ranks_sent_each_other_is_listed() -> None:
    report = report_of_shifts(4)
    first, second = report.execution.steps
    sent = [
        BetweenRanks(each.name, each.program_name, each.row, each.number, each.at, 2, 6, size)
        for each, size in ((first, 96), (second, 9_632))
    ]
    traffic = traffic_of(replace(report, between_ranks=tuple(sent)))
    text = traffic.text(Style(width=400))
    listed = text[text.index("between ranks: 9,728 B in 12 messages") :].splitlines()
    wide = max(len(each.name) for each in (first, second))
    assert listed[1:] == [
        f"bytes  messages  times  {'step':<{wide}}  line",
        f"9,632         6      2  {second.name:<{wide}}  {place_of(second.at)}",
        f"   96         6      2  {first.name:<{wide}}  {place_of(first.at)}",
    ]
    assert "... 1 more" in replace(traffic, top=1).text()[-30:]
    texts = [each.text for each in ET.fromstring(traffic.svg()).iter()]
    assert {"between ranks: 9,728 B in 12 messages", "9,632"} <= set(texts)
    assert [e["bytes"] for e in json.loads(traffic.json())["between_ranks"]] == [9_632, 96]
    alone = traffic_of(replace(report, between_ranks=tuple(sent)), step="1")
    assert [each.bytes for each in alone.between_ranks] == [96]
    assert "between ranks" not in traffic_of(report, top=5).text()


def test_nothing_moves() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    traffic = traffic_of(pl.Engine(graph, pl.Sequence()).report())
    assert traffic.text() == "exchange: 0 B sent, 0 B received; as compiled, of one run\n"
    ET.fromstring(traffic.svg())


@pytest.mark.parametrize("tiles", [2, 32, 130])
@pytest.mark.parametrize("width", [40, 60, 80, 160])
def test_text_of_exchange_fits_its_columns(width: int, tiles: int) -> None:
    traffic = traffic_of(report_of_shifts(tiles))
    for ascii_only in (False, True):
        text = traffic.text(Style(width=width, ascii_only=ascii_only))
        assert max(map(len, text.splitlines())) <= max(width, 60)
        assert text.isascii() or not ascii_only


def test_pictures_say_what_the_data_are() -> None:
    traffic = traffic_of(report_of_shifts(40))
    assert traffic.matrix is not None
    picture = ET.fromstring(traffic.svg())
    tips = [each.text for each in picture.iter() if each.tag.endswith("title")]
    assert sum("from tile" in (tip or "") for tip in tips) == np.count_nonzero(traffic.matrix)
    assert f"tile 39: received {traffic.received[39]} B" in tips
    assert f"tile 39: sent {traffic.sent[39]} B" in tips
    data = json.loads(traffic.json())
    assert (data["received"], data["sent"]) == (traffic.received.tolist(), traffic.sent.tolist())
    assert data["matrix"] == traffic.matrix.tolist()
