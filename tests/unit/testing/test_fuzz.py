"""The fuzz command: it finds nothing here, and reports what it finds elsewhere."""

from __future__ import annotations

import re
from typing import Any

import pytest

from helpers.depth import deep
from poplite import view as views
from poplite.graph.tensor.tensor import Tensor
from poplite.testing import fuzz


@deep
def test_a_thousand_states_agree_with_dense_arrays(capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz.main(["--states", "1000", "--seed", "1"]) == 0
    printed = capsys.readouterr()
    match = re.fullmatch(
        r"1,000 states, (\d+)% on a Cat, (\d+)% with multi-digit dims, no mismatch, [\d.]+ s\n",
        printed.out,
    )
    assert match is not None
    assert int(match[1]) > 20
    assert int(match[2]) > 10
    assert printed.err.splitlines()[0] == "600 of 1,000 states"
    assert printed.err.splitlines()[-1] == "1,000 of 1,000 states"


@deep
def test_the_number_of_processes_changes_nothing() -> None:
    assert list(fuzz.results(5, 700, 2)) == list(fuzz.results(5, 700, 1))


def test_a_wrong_answer_ends_the_run_with_lines_that_lead_to_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = Tensor.contiguous_regions

    def wrong(self: Tensor) -> Any:
        return [] if self.rank == 3 else right(self)

    with monkeypatch.context() as patch:
        patch.setattr(Tensor, "contiguous_regions", wrong)
        assert fuzz.main(["--states", "5000", "--seed", "7"]) == 1
    printed = capsys.readouterr().out
    head, program, rest = printed.split("\n\n", 2)
    assert re.fullmatch(r"seed 7, graph \d+:", head)
    names: dict[str, Any] = {}
    exec(program, names)
    assert names["t"].rank == 3
    assert "AssertionError: contiguous_regions() is [], expected [" in rest
    assert rest.splitlines()[-1].endswith(" s")
    assert "a wrong answer" in rest.splitlines()[-1]


def test_an_operation_that_raises_is_reported_with_its_expression(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: views.View, dim: int) -> views.View:
        raise ZeroDivisionError("broken on purpose")

    monkeypatch.setattr(views.View, "reverse", broken)
    assert fuzz.main(["--states", "1000"]) == 1
    printed = capsys.readouterr().out
    assert "ZeroDivisionError: broken on purpose" in printed
    assert re.search(r"^in: t = .*\.reverse\(\d\)$", printed, re.MULTILINE)


def test_edits_of_the_mapping_are_part_of_the_program() -> None:
    episode = fuzz.Episode(0, 3)
    for _ in range(12):
        episode.step()
    assert episode.edits
    names: dict[str, Any] = {}
    exec(episode.program(), names)
    again, graph = names["t"], episode.made.tensor.graph
    assert names["graph"].tile_mapping(again, False) == graph.tile_mapping(
        episode.made.tensor, False
    )


def test_nothing_to_do_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        fuzz.main(["--states", "0"])
    assert "argument --states: 0, but the least is 1" in capsys.readouterr().err
