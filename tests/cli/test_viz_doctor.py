"""`poplite-viz doctor`: versions, what is missing, and the cache folder."""

from __future__ import annotations

import builtins
import importlib
import os
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from helpers.running import full_disk
from poplite import files
from poplite.tools.viz import doctor, main


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder that does not exist yet."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("POPLITE_CACHE_DIR", str(folder))
    return folder


@pytest.fixture(autouse=True)
def graphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Graphviz that draws."""
    links = [("dot", lambda text, form: b"<svg/>")]
    monkeypatch.setattr("poplite.viz.draw.graphviz_layout.graphviz_links", lambda: iter(links))


def test_says_what_is_there(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    names = [line[2:14].strip() for line in said.splitlines()]
    assert names == ["poplite", "python", "numpy", "numba", "graphviz", "png", "cache folder"]
    assert "graphviz      dot\n" in said
    assert f"numpy         {np.__version__}" in said
    assert f"{cache}  writable, 0 compiled" in said


def test_is_as_wide_as_the_terminal(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cache.mkdir()
    cache.chmod(0o777)
    monkeypatch.setenv("COLUMNS", "40")
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) <= 40
    assert "try: chmod o-w" in said
    assert str(cache) in said.replace("\n", "").replace(" ", "")


def pretend(monkeypatch: pytest.MonkeyPatch, name: str, fault: Exception) -> None:
    """Let importing a module fail."""
    real = importlib.import_module

    def fake(module: str, package: str | None = None) -> ModuleType:
        if module == name:
            raise fault
        return real(module, package)

    monkeypatch.setattr(importlib, "import_module", fake)


def test_a_missing_numba_is_a_fault(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pretend(monkeypatch, "numba", ModuleNotFoundError("No module named 'numba'", name="numba"))
    assert main(["doctor"]) == 1
    said = capsys.readouterr()
    assert "! numba         missing, needed: compiles vertices" in said.out
    assert "try: pip install numba" in said.out
    assert "not working: numba" in said.err


def test_a_numba_that_cannot_be_imported_says_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pretend(monkeypatch, "numba", ImportError("Numba needs NumPy 2.3 or less"))
    assert main(["doctor"]) == 1
    assert "(ImportError: Numba needs NumPy 2.3 or less)" in capsys.readouterr().out


def test_a_numpy_without_one_of_its_own_parts_says_which(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pretend(monkeypatch, "numpy", ModuleNotFoundError("No module named 'blas'", name="blas"))
    assert main(["doctor"]) == 1
    assert "missing, needed: arrays (No module named 'blas')" in capsys.readouterr().out


def test_a_file_in_the_place_of_the_cache_is_named(
    cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cache.write_text("a file where the folder should be")
    assert main(["doctor"]) == 0  # engines run without it
    said = capsys.readouterr()
    assert (
        f"  cache folder  the cache folder '{cache}' cannot be written: '{cache}' is not a folder"
        " (0 compiled; each process compiles the others)\n"
    ) in said.out
    assert "try: set POPLITE_CACHE_DIR to a folder of yours" in said.out
    assert said.err == ""


def test_a_full_disk_is_found_though_an_empty_file_has_room(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.mkdir()
    (cache / "one.o").write_bytes(b"")
    monkeypatch.setattr(files, "open", full_disk, raising=False)
    found = doctor.cache()
    assert not found.fault
    assert f"the cache folder '{cache}' cannot be written: No space left on device" in found.state
    assert "(1 compiled; each process compiles the others)" in found.state
    assert found.remedy == "make room there, or set POPLITE_CACHE_DIR to a folder on another disk"
    assert os.listdir(cache) == ["one.o"]


def test_files_that_only_other_users_may_read_are_told(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.mkdir()
    for name in ("one.o", "two.o"):
        (cache / name).write_bytes(b"")
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "one.o")
    found = doctor.cache()
    assert found.state == f"{cache}  writable, 2 compiled, 1 of them for other users only"
    assert found.remedy == "their owner can let you read them (chmod a+r), or you delete them"


def test_a_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("POPLITE_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    found = doctor.cache()
    assert not found.fault
    assert "there is no cache folder: Could not determine home directory." in found.state


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o755, 0o2770])
def test_a_cache_that_anybody_may_write_to_is_told(mode: int, cache: Path) -> None:
    cache.mkdir()
    cache.chmod(mode)
    found = doctor.cache()
    if mode & 0o002:
        danger = "anybody may write to it, and so run code as you"
        assert found.state == f"{cache}  writable, 0 compiled; {danger}"
        assert found.remedy == f"chmod o-w {cache}, and delete what is in it"
    else:
        assert (found.state, found.remedy) == (f"{cache}  writable, 0 compiled", "")


def test_the_cache_is_left_as_it_was(cache: Path) -> None:
    assert doctor.cache().state == f"{cache}  writable, 0 compiled"
    assert not cache.exists()
    cache.mkdir()
    (cache / "one.o").write_bytes(b"")
    assert doctor.cache().state == f"{cache}  writable, 1 compiled"
    assert os.listdir(cache) == ["one.o"]


def test_a_compiler_that_is_missing_leaves_the_cache_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = builtins.__import__

    def fake(name: str, *arguments: object) -> ModuleType:
        if name == "poplite.jit":
            raise ImportError("No module named 'llvmlite'")
        return real(name, *arguments)  # type: ignore[arg-type]  # handed on as they came

    monkeypatch.setattr(builtins, "__import__", fake)
    found = doctor.cache()
    assert found.fault
    assert "llvmlite" in found.state


def test_no_graphviz_is_no_fault(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("poplite.viz.draw.graphviz_layout.graphviz_links", lambda: iter([]))
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert "  graphviz      no Graphviz found: graphs are drawn by the built-in layout" in said
    assert 'try: pip install "poplite[dot]"' in said


def test_a_graphviz_that_fails_says_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(text: str, form: str) -> bytes:
        raise OSError("libgvc.so.6: cannot open shared object file")

    monkeypatch.setattr(
        "poplite.viz.draw.graphviz_layout.graphviz_links", lambda: iter([("dot", fail)])
    )
    assert main(["doctor"]) == 0
    assert "dot failed: libgvc.so.6: cannot open shared object file" in capsys.readouterr().out
