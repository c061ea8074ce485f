"""Which C++ compiler is called."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

import poplite as pl
from poplite.cpp import compilers
from poplite.cpp.compilers import any_compiler


def put(folder: Path, name: str) -> str:
    """Put a program that does nothing into a folder."""
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is all of PATH, where ziglang is installed."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    found = importlib.util.find_spec("poplite")
    monkeypatch.setattr(compilers, "find_spec", lambda name: found if name == "ziglang" else None)
    return tmp_path


def test_the_wheel_is_called_where_path_has_no_compiler(folder: Path) -> None:
    assert any_compiler() == (sys.executable, "-m", "ziglang", "c++")


def test_compilers_on_path_come_first_in_order(folder: Path) -> None:
    for name in ("clang++", "g++", "c++"):
        made = put(folder, name)
        assert any_compiler() == (made,)


def test_cxx_comes_before_all_with_its_words(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(folder, "c++")
    put(folder, "mine")
    monkeypatch.setenv("CXX", "mine --std='c++ 17'")
    assert any_compiler() == ("mine", "--std=c++ 17")
    monkeypatch.setenv("CXX", "gone")
    with pytest.raises(pl.FileLoadError, match="CXX names 'gone', which is not on PATH"):
        any_compiler()


def test_without_any_the_error_says_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compilers, "find_spec", lambda name: None)
    with pytest.raises(pl.FileLoadError, match=r'pip install "poplite\[cpp\]"'):
        any_compiler()
