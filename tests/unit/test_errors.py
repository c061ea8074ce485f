"""Errors: their four parts, the helpers that write them, the user's line."""

from __future__ import annotations

import copy
import os
import pickle
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import poplite as pl
from helpers.running import load
from poplite import errors
from poplite.errors import PopliteError, did_you_mean, listed
from poplite.source import SourceLocation, here
from poplite.vertices.filling import CountFrom

# -- parts of errors -------------------------------------------------------------------------------


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


# -- the user's line -------------------------------------------------------------------------------


def test_the_line_is_that_of_the_call() -> None:
    line = sys._getframe().f_lineno + 1
    location = here()
    assert (location.file, location.line) == (__file__, line)
    assert location.function == "test_the_line_is_that_of_the_call"


def test_frames_of_the_package_are_passed_over() -> None:
    line = sys._getframe().f_lineno + 1
    compute_set = pl.Graph().add_compute_set("step")
    assert (compute_set.location.file, compute_set.location.line) == (__file__, line)


def test_modules_whose_names_only_start_alike_are_the_users(tmp_path: Path) -> None:
    path = tmp_path / "poplite_models.py"
    path.write_text("from poplite.source import here\nLOCATION = here()\n")
    assert SourceLocation(str(path), 2, "<module>") == load(path).LOCATION


def test_code_without_a_module_name_is_the_users() -> None:
    names: dict[str, object] = {}
    exec(compile("from poplite.source import here\nlocation = here()", "<cell>", "exec"), names)
    assert names["location"] == SourceLocation("<cell>", 2, "<module>")


def test_equal_code_of_two_files_has_lines_of_its_own() -> None:
    text = "def make():\n    return here(), here()\n"
    for file in ("<one>", "<other>"):
        names: dict[str, Any] = {"here": here, "__name__": "users"}
        exec(compile(text, file, "exec"), names)
        for _ in range(2):
            for location in names["make"]():
                assert location.innermost == f"{file}:2 in make"


def test_calls_of_one_line_and_of_the_lines_below_are_told_apart() -> None:
    line = sys._getframe().f_lineno
    found = [
        here(),
        here(),
    ] + [here() for _ in range(2)]  # fmt: skip
    assert [location.line - line for location in found] == [2, 3, 4, 4]


def test_more_places_than_are_remembered_keep_their_lines() -> None:
    text = "places = [\n" + "here(),\n" * 3000 + "]\n"
    names: dict[str, Any] = {"here": here, "__name__": "users"}
    code = compile(text, "<many>", "exec")
    for _ in range(2):
        exec(code, names)
        assert [place.line for place in names["places"]] == list(range(2, 3002))


def test_paths_below_the_working_directory_are_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    below, beside = str(tmp_path / "models" / "net.py"), str(tmp_path.parent / "net.py")
    assert str(SourceLocation(below, 7, "head")) == f"{Path('models/net.py')}:7 in head"
    assert str(SourceLocation(beside, 7, "<module>")) == f"{beside}:7"
    assert str(SourceLocation("<stdin>", 1, "<module>")) == "<stdin>:1"


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps a directory that is in use")
def test_a_deleted_working_directory_leaves_the_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert str(SourceLocation("/models/net.py", 7, "head")) == "/models/net.py:7 in head"
    message = r"tiles=0, but.*test_errors\.py:\d+ in test_a"
    with pytest.raises(pl.InvalidMachineModel, match=message):
        pl.Target(tiles=0)


def test_what_a_module_of_the_package_makes_has_its_line_there() -> None:
    location = CountFrom.location
    assert Path(location.file).name == "filling.py"
    line = Path(location.file).read_text().splitlines()[location.line - 1]
    assert line == "class CountFrom(Vertex):"


def helper() -> SourceLocation:
    return here()


def test_a_helper_has_the_line_of_its_caller() -> None:
    line = sys._getframe().f_lineno
    first = helper()
    second, third = helper(), [helper() for _ in range(2)]
    name = "test_a_helper_has_the_line_of_its_caller"
    own = f"{helper.__code__.co_firstlineno + 1} in helper"
    assert first.innermost == second.innermost
    assert first.caller == SourceLocation(__file__, line + 1, name)
    assert second.caller == SourceLocation(__file__, line + 2, name)
    assert [place.caller.line - line for place in third if place.caller] == [2, 2]
    file = os.path.relpath(__file__)
    assert str(first) == f"{file}:{own}, called at {file}:{line + 1} in {name}"
    assert str(first) == f"{first.innermost}, called at {first.caller}"


def test_callers_of_a_library_are_no_users(tmp_path: Path) -> None:
    assert here().caller is None  # pytest's
    path = tmp_path / "users.py"
    path.write_text("from poplite.source import here\nLOCATION = here()\n")
    assert load(path).LOCATION.caller is None  # importlib's
    [location] = map(lambda _: helper(), [0])  # noqa: C417
    assert location.caller is not None
    assert location.caller.function == "<lambda>"


def test_a_folder_whose_name_only_contains_that_of_installed_packages(tmp_path: Path) -> None:
    for folder, is_users in (("my-site-packages-x", True), ("site-packages", False)):
        path = tmp_path / folder / "users.py"
        path.parent.mkdir()
        path.write_text("def call(make):\n    return make()\n")
        caller = load(path).call(helper).caller
        assert (caller is not None) == is_users


def test_a_helper_in_a_message() -> None:
    def tile() -> pl.Target:
        return pl.Target(tiles=0)

    line = sys._getframe().f_lineno + 2
    with pytest.raises(pl.InvalidMachineModel, match=r"tiles=0, but") as caught:
        tile()
    file = os.path.relpath(__file__)
    assert f"({file}:{line - 4} in tile, called at {file}:{line} in test_a_helper" in str(
        caught.value
    )


class Compile:
    """What of IPython's compiler is asked."""

    def format_code_name(self, name: str) -> tuple[str, str] | None:
        return ("Cell", "In[3]") if name == "/ipykernel_7/21.py" else None


def test_cells_of_a_notebook_have_their_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = types.SimpleNamespace(compile=Compile())
    ipython = types.SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    cell = SourceLocation("/ipykernel_7/21.py", 2, "<module>")
    helper = SourceLocation("/ipykernel_7/21.py", 5, "execute", cell)
    assert str(cell) == "In[3]:2"
    assert str(helper) == "In[3]:5 in execute, called at In[3]:2"
    assert str(SourceLocation("/models/net.py", 7, "head")) == "/models/net.py:7 in head"
    monkeypatch.setattr(ipython, "get_ipython", lambda: None)  # imported, but not running
    assert str(cell) == "/ipykernel_7/21.py:2"


def test_lines_are_portable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lib/nets/conv").mkdir(parents=True)
    (tmp_path / "work").mkdir()
    for folder in ("lib/nets", "lib/nets/conv"):
        (tmp_path / folder / "__init__.py").touch()
    monkeypatch.chdir(tmp_path / "work")
    script = SourceLocation(str(tmp_path / "elsewhere" / "main.py"), 2, "<module>")
    below = SourceLocation(str(tmp_path / "work" / "model.py"), 9, "head", script)
    inside = SourceLocation(str(tmp_path / "lib/nets/conv/dense.py"), 7, "dense", below)
    assert inside.portable == (
        "nets/conv/dense.py:7 in dense, called at model.py:9 in head, called at main.py:2"
    )
    assert str(tmp_path) in str(inside)  # messages for the user keep the folder


def test_a_portable_line_is_that_of_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = SourceLocation(str(tmp_path / "nets" / "dense.py"), 7, "<module>")
    found = []
    for folder in (tmp_path, tmp_path / "nets", tmp_path):
        folder.mkdir(exist_ok=True)
        monkeypatch.chdir(folder)
        found.append(location.portable)
    assert found == [os.path.join("nets", "dense.py:7"), "dense.py:7", found[0]]
