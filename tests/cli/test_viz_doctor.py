"""`poplite-viz doctor`: versions, what is missing, and the cache folder."""

from __future__ import annotations

import builtins
import importlib
import os
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

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
    assert names == ["poplite", "python", "numpy", "numba", "graphviz", "cache folder"]
    assert "graphviz      dot\n" in said
    assert f"numpy         {np.__version__}" in said
    assert f"{cache}  writable, 0 compiled" in said


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


def test_a_cache_that_cannot_be_written_is_a_fault(
    cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cache.write_text("a file where the folder should be")
    assert main(["doctor"]) == 1
    said = capsys.readouterr()
    assert "! cache folder  cannot be written" in said.out
    assert "try: set POPLITE_CACHE_DIR to a folder of yours" in said.out
    assert "not working: cache folder" in said.err


def test_the_cache_is_left_as_it_was(cache: Path) -> None:
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
