"""The report page holds the numbers of the report, in equal bytes, whatever they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from helpers.depth import deep
from helpers.random_reports import random_report
from helpers.view_page import ViewPage
from poplite.report import Report
from poplite.tools.viz.load_report import load
from poplite.viz.page.pack import BLOCKS, Arrays
from poplite.viz.page.report_data import report_data

EXAMPLES = Path(__file__).parents[3] / "examples"
MOST_BYTES = 300_000
"""Of the page of an example."""

reports = st.builds(
    random_report,
    tiles=st.sampled_from([1, 2, 7, 64, 100]),
    steps=st.integers(0, 4),
    seed=st.integers(0, 2**32),
)


def arrays_of(report: Report, shown: dict[str, Any]) -> list[tuple[dict[str, int], Any]]:
    """Return each array of a page with the numbers of the report that it stands for."""
    found = []
    for step, data in zip(report.places, shown["steps"], strict=True):
        for phase, kept in zip(step.phases, data["phases"], strict=True):
            found += [
                (kept["busy"], phase.tile_cycles.array()),
                (kept["received"], phase.received.array()),
                (kept["sent"], phase.sent.array()),
                (kept["copied"], phase.copied.array()),
            ]
    memory = report.compilation.memory
    found.append((shown["memory"]["needed"], memory.including_gaps.array()))
    for held, address, data in zip(
        memory.held, memory.addresses, shown["memory"]["held"], strict=True
    ):
        found += [(data["bytes"], held.bytes.array()), (data["address"], address.array())]
    for each, data in zip(report.compilation.compute_sets, shown["computeSets"], strict=True):
        for kind, (_, count) in zip(each.vertices, data["types"], strict=True):
            found.append((count, kind.count_by_tile.array()))
    return found


@given(report=reports)
def test_arrays_of_a_page_are_those_of_the_report(report: Report) -> None:
    page = ViewPage(report.to_html())
    for found, numbers in arrays_of(report, page.reports[0]):
        np.testing.assert_array_equal(page.array(found, report.tiles), numbers)


@pytest.mark.parametrize(
    "name",
    ["pi", "named_l2", *(pytest.param(each, marks=deep) for each in ("heat", "matvec", "photo"))],
)
def test_pages_of_examples_are_small_and_hold_all_numbers(name: str) -> None:
    report = load(f"{EXAMPLES / name}.py:build", run=False).report
    html = report.to_html()
    assert len(html.encode()) < MOST_BYTES
    page = ViewPage(html)
    assert len(page.reports[0]["steps"]) > 0
    for found, numbers in arrays_of(report, page.reports[0]):
        np.testing.assert_array_equal(page.array(found, report.tiles), numbers)
    pieces = {each["name"]: each["pieces"] for each in page.reports[0]["memory"]["held"]}
    for each in report.compilation.variables:
        kept = pieces[each.name]
        assert each.first is not None
        assert each.tiles is not None
        begins = np.cumsum(page.array(kept["steps"], kept["count"]).astype(int))
        np.testing.assert_array_equal(begins, each.first.array())
        np.testing.assert_array_equal(
            page.array(kept["tiles"], kept["count"]), each.tiles.array() + 1
        )


@given(report=reports)
def test_pairs_of_a_page_are_those_of_the_report(report: Report) -> None:
    page = ViewPage(report.to_html())
    for step, data in zip(report.execution.steps, page.reports[0]["steps"], strict=True):
        for phase, kept in zip(step.phases, data["phases"], strict=True):
            assert phase.pairs is not None
            pairs = kept["pairs"]
            matrix = np.zeros(pairs["blocks"] ** 2, np.int64)
            places = np.cumsum(page.array(pairs["steps"], pairs["count"])).astype(int)
            matrix[places] = page.array(pairs["bytes"], pairs["count"])
            np.testing.assert_array_equal(matrix, phase.pairs.bytes.array())


@given(report=reports)
def test_equal_reports_are_equal_bytes_without_markup(report: Report) -> None:
    html = report.to_html(title="<b>")
    assert Report.from_json(report.to_json()).to_html(title="<b>") == html
    assert "<" not in ViewPage(html).json
    assert html.count("</script>") == 3
    assert "<!--" not in html


@given(numbers=st.lists(st.integers(0, 10**15), min_size=1) | st.lists(st.integers(0, 10**4)))
def test_rounded_arrays_have_three_digits(numbers: list[int]) -> None:
    arrays = Arrays()
    found = arrays.add_rounded(np.array(numbers, np.int64))
    page = object.__new__(ViewPage)
    page.shown, page._block = {"table": arrays.table}, b"".join(arrays._parts)
    rounded = page.array(found, len(numbers)).astype(np.int64).tolist()
    for number, kept in zip(numbers, rounded, strict=True):
        assert abs(kept - number) * 200 <= number
        assert len(str(kept).rstrip("0")) <= 3 or kept == number


@given(report=reports)
def test_rough_arrays_are_means_of_blocks(report: Report) -> None:
    arrays = Arrays()
    shown = report_data(report, arrays, rough=3)
    assert not shown["memory"]["addressed"]
    run = -(-report.tiles // BLOCKS)
    for _, count in ((kind, count) for kind, _, count in arrays.table):
        assert count in (report.tiles, -(-report.tiles // run)) or count <= BLOCKS**2
    for step, data in zip(report.execution.steps, shown["steps"], strict=True):
        for phase, kept in zip(step.phases, data["phases"], strict=True):
            assert kept["cycles"] == phase.cycles
            assert kept["busy"].get("run", run) == run
