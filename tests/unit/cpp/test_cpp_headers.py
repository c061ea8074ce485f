"""Poplar's headers for codelets: each by itself, in every version of C++ from 2011 on.

Trap 31 of the design is tested here.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from helpers.cpp import needs_cpp
from poplite.cpp.codelets import HEADERS
from poplite.cpp.compilers import codelet_compiler

pytestmark = needs_cpp

NAMES = sorted(str(each.relative_to(HEADERS)) for each in HEADERS.rglob("*") if each.is_file())

QUIET = ("-Wno-unused-command-line-argument",)  # the wheel gives itself a flag too many


def problems(text: str, version: str, folder: Path) -> str:
    """Return what a compiler says of a text."""
    source = folder / "a.cpp"
    source.write_text(text)
    words = [*codelet_compiler().words, f"-std=c++{version}", "-Wall", *QUIET]
    words += ["-isystem", str(HEADERS), "-S", "-emit-llvm", str(source), "-o", str(folder / "a.ll")]
    return subprocess.run(words, capture_output=True, text=True, check=False).stderr


@pytest.mark.parametrize("version", ["11", "14", "17", "20"])
def test_headers_can_be_included_in_any_order(version: str, tmp_path: Path) -> None:
    lines = [f"#include <{name}>\n" for name in (*NAMES, *reversed(NAMES))]
    text = "".join(lines) + "int max(int a) { return a; }\n"
    assert problems(text, version, tmp_path) == ""


@pytest.mark.parametrize("name", NAMES)
def test_a_header_needs_no_other(name: str, tmp_path: Path) -> None:
    assert problems(f"#include <{name}>\n", "11", tmp_path) == ""
