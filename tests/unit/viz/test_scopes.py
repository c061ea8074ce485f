"""What scopes of names take."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from typing import Literal

import pytest

import poplite as pl
from poplite.viz.draw.terminal import Style
from poplite.viz.ops.scopes import SORTS, ScopeCost, scope_tree, scopes_json
from poplite.viz.ops.text import draw_scopes_text, scopes_csv


def report_of(names: dict[str, str], kind: Literal["execute", "copy"] = "execute") -> pl.Report:
    """The report of copies, which are renamed; `names` maps theirs to the operation of each."""
    graph = pl.Graph(pl.Target(tiles=2))
    with graph.scope("net/layer1"):
        a, b = (graph.add_variable(pl.INT, (8,), name, mapping=k) for k, name in enumerate("ab"))
    engine = pl.Engine(graph, pl.Sequence(*(pl.Copy(a, b) for _ in names)))
    report = engine.report()
    made = zip(report.places, names.items(), strict=True)
    steps = tuple(
        replace(place, name=name, operation=operation, kind=kind)
        for place, (name, operation) in made
    )
    execution = replace(report.execution, runs=1, steps=steps)
    return replace(report, execution=execution)


def listed(report: pl.Report, depth: int = 9) -> list[tuple[int, str, int]]:
    """Level, name and steps of the scopes, in the order of the program."""
    rows = scope_tree(report, depth=depth, sort="program").rows()
    return [(level, scope.name, scope.steps) for level, scope in rows]


def test_steps_are_where_their_names_say() -> None:
    report = report_of({"net/layer1/dot": "", "net/layer1/add": "", "net/loss": "", "end": ""})
    assert listed(report) == [
        (0, "net", 3),
        (1, "layer1", 2),
        (2, "dot", 1),
        (2, "add", 1),
        (1, "loss", 1),
        (0, "end", 1),
    ]
    assert listed(report, depth=1) == [(0, "net", 3), (0, "end", 1)]


def test_steps_of_an_operation_are_in_it() -> None:
    report = report_of(
        {"m/softmax/exp": "m/softmax", "sums": "m/softmax", "m/softmax": "m/softmax"}
    )
    assert listed(report) == [
        (0, "m/softmax", 3),
        (1, "exp", 1),
        (1, "sums", 1),
        (0, "net/layer1", 0),  # of the variables
    ]


def test_a_copy_is_in_the_scope_that_its_tensors_share() -> None:
    report = report_of(
        {"net/a/x to net/a/y": "", "net/a/x to net/b": "", "x to y": ""}, kind="copy"
    )
    assert listed(report) == [
        (0, "net", 2),
        (1, "a/x to y", 1),
        (1, "a/x to b", 1),
        (1, "layer1", 0),
        (0, "x to y", 1),
    ]


def every(scope: ScopeCost) -> list[ScopeCost]:
    return [scope, *(inner for each in scope.inside for inner in every(each))]


@pytest.mark.parametrize("sort", SORTS)
def test_a_scope_is_the_sum_of_what_is_inside(sort: str) -> None:
    report = report_of({"net/layer1/dot": "", "net/layer1/add": "", "net/loss": "", "end": ""})
    tree = scope_tree(report, sort=sort)
    assert tree.whole.cycles == sum(step.cycles for step in report.places)
    assert tree.whole.memory == 2 * 8 * 4
    for scope in every(tree.whole):
        if scope.inside:
            assert scope.cycles == sum(each.cycles for each in scope.inside)
            assert scope.received == sum(each.received for each in scope.inside)
            assert scope.num_inside() == len(every(scope)) - 1
            keys = [SORTS[sort](each) for each in scope.inside]
            assert keys == sorted(keys)


def test_forms_agree() -> None:
    report = report_of({"net/layer1/dot": "", "net/\x1bloss": "", "end": ""})
    tree = scope_tree(report, depth=1)
    text = draw_scopes_text(tree, Style(ascii_only=True))
    assert text.isascii()
    assert "net  (+3)" in text
    assert "--depth 2 shows them" in text
    whole = draw_scopes_text(scope_tree(report, depth=9))
    assert "shows them" not in whole
    assert "\\x1bloss" in whole
    rows = list(csv.reader(io.StringIO(scopes_csv(scope_tree(report, depth=9)))))
    assert len(rows) == 1 + len(every(tree.whole)) - 1
    data = json.loads(scopes_json(tree))
    assert data["cycles"] == sum(each["cycles"] for each in data["inside"]) == tree.whole.cycles


@pytest.mark.parametrize("width", [40, 60, 80, 160])
def test_text_fits_its_columns(width: int) -> None:
    report = report_of({f"{'scope/' * 20}{'x' * 50}": "", f"{'scope/' * 20}y": "", "end": ""})
    for depth in (1, 2, 9):
        text = draw_scopes_text(scope_tree(report, depth=depth), Style(width=width))
        assert max(map(len, text.splitlines())) <= max(width, 60)


def test_nothing_ran() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    tree = scope_tree(pl.Engine(graph, pl.Sequence()).report())
    assert draw_scopes_text(tree) == "operations: 0 steps, 0 cycles; as compiled, of one run\n"
