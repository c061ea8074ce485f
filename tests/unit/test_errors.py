"""What every error consists of, and the helpers that write its text."""

from __future__ import annotations

import copy
import pickle

import pytest

from poplite import errors
from poplite.errors import PopliteError, did_you_mean, listed
from poplite.source import SourceLocation

CLASSES = [
    cls
    for cls in vars(errors).values()
    if isinstance(cls, type) and issubclass(cls, errors.PopliteError)
]
LINE = SourceLocation("model.py", 31, "head")


def test_the_four_parts_come_in_order() -> None:
    error = PopliteError(
        "'bias': elements [96, 128) of 128 have no tile",
        at=LINE,
        where="step 2 of 5: Execute 'head'",
        found="mapped so far: [0, 96)\nthe graph has 4 tiles",
        fix="graph.set_tile_mapping(bias[96:128], 3)",
    )
    assert str(error).splitlines() == [
        "'bias': elements [96, 128) of 128 have no tile  (model.py:31 in head)",
        "  at step 2 of 5: Execute 'head'",
        "  mapped so far: [0, 96)",
        "  the graph has 4 tiles",
        "  try: graph.set_tile_mapping(bias[96:128], 3)",
    ]


def test_parts_that_are_missing_leave_no_line() -> None:
    assert str(PopliteError("tile 9 of 4")) == "tile 9 of 4"


@pytest.mark.parametrize("cls", CLASSES)
def test_text_and_parts_survive_pickling_and_copying(cls: type[PopliteError]) -> None:
    error = cls("what", at=LINE, where="step 1", found="found", fix="fix")
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(twin) is cls
        assert (
            str(twin)
            == str(error)
            == "what  (model.py:31 in head)\n  at step 1\n  found\n  try: fix"
        )
        parts = (twin.what, twin.at, twin.where, twin.found, twin.fix)
        assert parts == ("what", LINE, "step 1", "found", "fix")


@pytest.mark.parametrize(
    ("count", "last"), [(1, "fault 0"), (5, "fault 4"), (6, "... and 1 more races")]
)
def test_five_faults_are_listed_and_the_rest_counted(count: int, last: str) -> None:
    lines = listed([f"fault {i}" for i in range(count)], "races").splitlines()
    assert lines[-1] == last
    assert lines[:5] == [f"fault {i}" for i in range(min(count, 5))]


def test_many_faults_are_counted_with_separators() -> None:
    assert listed(["fault"] * 1_239, "races").endswith("\n... and 1,234 more races")


def test_the_closest_name_is_offered() -> None:
    assert did_you_mean("wieght", ["weights", "bias"]) == " (did you mean 'weights'?)"
    assert did_you_mean("q", ["weights", "bias"]) == ""
    assert did_you_mean("q", []) == ""


@pytest.mark.parametrize("name", ["n" * 10**6, "n " * 10**6, "n\n" * 10**6])
def test_names_of_any_length_make_short_messages(name: str) -> None:
    error = PopliteError(f"'{name}' has no tile", where=name, found=f"{name}\nmapped", fix=name)
    assert len(str(error)) < 10_000
    assert len(did_you_mean(name, [name, "partial"])) == 0
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_only_long_words_lose_their_middle() -> None:
    what = f"{'a' * 300}{'b' * 10**6}{'c' * 300}: elements [96, 128) of 128 have no tile"
    text = str(PopliteError(what, found="mapped so far: nothing"))
    assert text.startswith("aaa")
    assert "bbb" not in text
    assert text.endswith("ccc: elements [96, 128) of 128 have no tile\n  mapped so far: nothing")


@pytest.mark.parametrize("cls", CLASSES)
def test_an_error_that_a_user_makes_has_no_line(cls: type[PopliteError]) -> None:
    assert cls("of a user").at is None
    assert cls("of a user", at=LINE).at is LINE
