"""The tests at both depths: which cases are kept, and that one option brings back the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from helpers.depth import USUAL, deep, examples, thinned
from helpers.running import python

FILE = "tests/unit/testing/test_fuzz_files.py"
"""A file with a case for full depth only."""


@pytest.mark.parametrize("depth", USUAL)
def test_one_option_runs_all_cases(root: Path, depth: str) -> None:
    options = ("-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", FILE)
    chosen = ["--depth=full"] if depth == "full" else []
    done = python(root, *options, *chosen, PYTEST_ADDOPTS="")
    cases = [line.split("[")[1] for line in done.stdout.splitlines() if "[" in line]
    assert cases == (["60]", "300]"] if depth == "full" else ["60]"])


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
    assert examples(USUAL["full"]).max_examples == usual
    assert examples(3 * USUAL["full"]).max_examples == 3 * usual
    assert examples(1).max_examples == 1
    assert examples(400, quick=3).max_examples == {10: 3, 50: 400}[usual]
