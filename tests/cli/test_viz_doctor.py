"""`poplite-viz doctor`: versions, what is missing, and the cache folder."""

from __future__ import annotations

import builtins
import importlib
import os
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from poplite.tools import doctor
from poplite.tools.viz import main


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder that does not exist yet."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("POPLITE_CACHE_DIR", str(folder))
    return folder


def test_says_what_is_there(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    names = "poplite python numpy numba graphviz cache dot pygraphviz matplotlib"
    for name in names.split():
        assert f"\n  {name}" in f"\n{said}"
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


def test_a_missing_renderer_is_no_fault(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pretend(monkeypatch, "pygraphviz", ModuleNotFoundError("...", name="pygraphviz"))
    monkeypatch.setenv("PATH", "")
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert "pygraphviz    missing, optional" in said
    assert 'pip install "poplite[dot]"' in said
    assert "dot           missing, optional" in said


@pytest.mark.parametrize(
    ("script", "state"),
    [
        ("echo 'dot - graphviz version 9.9 (now)' >&2", "graphviz version 9.9 (now)  "),
        ("echo broken >&2; exit 3", "fails (broken)"),
    ],
)
def test_dot_is_asked_for_its_version(
    script: str, state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "dot"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = doctor.dot()
    assert state in found.state
    assert bool(found.remedy) == ("fails" in state)


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
