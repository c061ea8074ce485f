"""The tests at both depths: which cases are kept, and that one option brings back the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from helpers.depth import deep, examples, thinned, values_only
from helpers.running import python

TEST = "tests/unit/testing/test_fuzz.py::test_files_are_refused_or_run"
"""A test with a case for full depth only."""


def test_one_option_runs_all_cases(root: Path) -> None:
    options = ("-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", TEST)
    done = python(root, *options, "--depth=full", PYTEST_ADDOPTS="")
    cases = [line.split("[")[1] for line in done.stdout.splitlines() if "[" in line]
    assert cases == ["9]", "300]"]


@deep
def test_without_it_this_case_is_left_out(request: pytest.FixtureRequest) -> None:
    assert request.config.getoption("depth") == "full"


def test_prices_are_left_out_by_default(request: pytest.FixtureRequest) -> None:
    is_full = request.config.getoption("depth") == "full"
    assert values_only() == ({} if is_full else {"debug.instrument": False})


@pytest.mark.parametrize("keep", [2, ("a", "b")])
def test_kept_cases_have_no_mark(keep: int | tuple[str, ...]) -> None:
    always_a, always_b, only_c = thinned("abc", keep)
    assert (always_a, always_b) == ("a", "b")
    assert (only_c.values, [mark.name for mark in only_c.marks]) == (("c",), [deep.name])


def test_kept_cases_are_among_all() -> None:
    with pytest.raises(AssertionError):
        thinned("abc", keep=("d",))


def test_tuples_are_several_arguments() -> None:
    _, other = thinned([("a", 1), ("b", 2)], keep=1)
    assert other.values == ("b", 2)


def test_examples_keep_their_ratio_to_the_usual_number() -> None:
    usual = settings().max_examples
    assert examples(50).max_examples == usual
    assert examples(150).max_examples == 3 * usual
    assert examples(1).max_examples == 1
    assert examples(400, quick=3).max_examples == {10: 3, 30: 240}[usual]
