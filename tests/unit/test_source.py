"""The user's line: where it is found, and how it is spelled."""

from __future__ import annotations

import os
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import poplite as pl
from helpers.scripts import load
from poplite.source import SourceLocation, here
from poplite.vertices.filling import CountFrom


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
    with pytest.raises(pl.InvalidMachineModel, match=r"tiles=0 but.*test_source\.py:\d+ in test_a"):
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
    with pytest.raises(pl.InvalidMachineModel, match=r"tiles=0 but") as caught:
        tile()
    file = os.path.relpath(__file__)
    assert f"({file}:{line - 4} in tile, called at {file}:{line} in test_a_helper" in str(
        caught.value
    )


class Compile:
    """What of IPython's compiler is asked."""

    def format_code_name(self, name: str) -> tuple[str, str] | None:
        return ("Cell", "In[3]") if name == "/tmp/ipykernel_7/21.py" else None


def test_cells_of_a_notebook_have_their_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = types.SimpleNamespace(compile=Compile())
    ipython = types.SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    cell = SourceLocation("/tmp/ipykernel_7/21.py", 2, "<module>")
    helper = SourceLocation("/tmp/ipykernel_7/21.py", 5, "execute", cell)
    assert str(cell) == "In[3]:2"
    assert str(helper) == "In[3]:5 in execute, called at In[3]:2"
    assert str(SourceLocation("/models/net.py", 7, "head")) == "/models/net.py:7 in head"
    monkeypatch.setattr(ipython, "get_ipython", lambda: None)  # imported, but not running
    assert str(cell) == "/tmp/ipykernel_7/21.py:2"


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
