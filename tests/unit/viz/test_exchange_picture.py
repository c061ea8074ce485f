"""What tiles send each other: totals, reasons, and who receives from whom."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

import poplite as pl
from poplite.report.execution import BetweenRanks
from poplite.viz.draw.terminal import Style
from poplite.viz.exchange.svg import draw_exchange_svg
from poplite.viz.exchange.text import draw_exchange_text
from poplite.viz.exchange.traffic import traffic_json, traffic_of


def report_of(tiles: int, times: int = 2) -> pl.Report:
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
    traffic = traffic_of(report_of(tiles))
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
    traffic = traffic_of(report_of(5), step="1")
    assert traffic.matrix is not None
    expected = np.zeros((5, 5), int)
    for to in range(5):
        expected[to, (to + 1) % 5] = 2 * 4
    assert traffic.matrix.tolist() == expected.tolist()
    assert traffic.steps == ("a to b",)
    broadcast = traffic_of(report_of(5), step="2")
    assert broadcast.matrix is not None
    assert broadcast.matrix[:, 0].tolist() == [0, 4, 4, 4, 4]
    assert broadcast.reach == 4
    assert "each byte sent reaches 4.0 tiles" in broadcast.facts


def test_reasons_are_summed_over_executions() -> None:
    (first, *_) = traffic_of(report_of(5, times=7), step="1").reasons
    assert (first.bytes, first.why) == (7 * 5 * 4, "goes to other tiles")
    assert first.at.startswith("tests/unit/viz/test_exchange_picture.py:")


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
    report = report_of(5)
    steps = tuple(
        replace(step, phases=tuple(replace(phase, pairs=None) for phase in step.phases))
        for step in report.execution.steps
    )
    old = traffic_of(replace(report, execution=replace(report.execution, steps=steps)))
    assert old.matrix is None
    for picture in (draw_exchange_text(old, 5), draw_exchange_svg(old, 5)):
        assert "from where to where is not known" in picture
        assert "who receives" not in picture


def test_the_host_is_no_tile() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.INT, (64,), "x", mapping="linear")
    stream = graph.add_host_to_device_fifo("in", pl.INT, 64)
    engine = pl.Engine(graph, pl.Copy(stream, x))
    traffic = traffic_of(engine.report())
    assert traffic.host == traffic.received.sum() == 256
    assert traffic.matrix is None
    assert "the host takes part" in traffic.missing


def test_what_ranks_sent_each_other_is_listed() -> None:
    report = report_of(4)
    first, second = report.execution.steps
    sent = [
        BetweenRanks(each.name, each.program_name, each.row, each.number, each.at, 2, 6, size)
        for each, size in ((first, 96), (second, 9_632))
    ]
    traffic = traffic_of(replace(report, between_ranks=tuple(sent)))
    text = draw_exchange_text(traffic, 5, Style(width=400))
    listed = text[text.index("between ranks: 9,728 B in 12 messages") :].splitlines()
    assert listed[1:] == [
        "bytes  messages  times  step",
        f"9,632         6      2  {second.name} ({second.at})",
        f"   96         6      2  {first.name} ({first.at})",
    ]
    assert "... 1 more" in draw_exchange_text(traffic, 1)[-30:]
    texts = [each.text for each in ET.fromstring(draw_exchange_svg(traffic, 5)).iter()]
    assert {"between ranks: 9,728 B in 12 messages", "9,632"} <= set(texts)
    assert [e["bytes"] for e in json.loads(traffic_json(traffic))["between_ranks"]] == [9_632, 96]
    alone = traffic_of(replace(report, between_ranks=tuple(sent)), step="1")
    assert [each.bytes for each in alone.between_ranks] == [96]
    assert "between ranks" not in draw_exchange_text(traffic_of(report), 5)


def test_nothing_moves() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    traffic = traffic_of(pl.Engine(graph, pl.Sequence()).report())
    assert (
        draw_exchange_text(traffic, 5)
        == "exchange: 0 B sent, 0 B received; as compiled, of one run\n"
    )
    ET.fromstring(draw_exchange_svg(traffic, 5))


@pytest.mark.parametrize("tiles", [2, 32, 130])
@pytest.mark.parametrize("width", [40, 60, 80, 160])
def test_text_fits_its_columns(width: int, tiles: int) -> None:
    traffic = traffic_of(report_of(tiles))
    for ascii_only in (False, True):
        text = draw_exchange_text(traffic, 5, Style(width=width, ascii_only=ascii_only))
        assert max(map(len, text.splitlines())) <= max(width, 60)
        assert text.isascii() or not ascii_only


def test_pictures_say_what_the_data_are() -> None:
    traffic = traffic_of(report_of(40))
    assert traffic.matrix is not None
    picture = ET.fromstring(draw_exchange_svg(traffic, 5))
    tips = [each.text for each in picture.iter() if each.tag.endswith("title")]
    assert sum("from tile" in (tip or "") for tip in tips) == np.count_nonzero(traffic.matrix)
    assert f"tile 39: receives {traffic.received[39]} B, sends {traffic.sent[39]} B" in tips
    data = json.loads(traffic_json(traffic))
    assert (data["received"], data["sent"]) == (traffic.received.tolist(), traffic.sent.tolist())
    assert data["matrix"] == traffic.matrix.tolist()
