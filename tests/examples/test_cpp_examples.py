"""The example with C++ codelets: its results, and wrong ones that fail."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

import poplite as pl
from helpers.cpp import needs_cpp
from helpers.running import ROOT

pytestmark = needs_cpp


@pytest.fixture
def example() -> ModuleType:
    """The module of the example."""
    spec = importlib.util.spec_from_file_location("cpp_run", ROOT / "examples/cpp/run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_results_are_those_of_numpy(
    example: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    example.main()
    assert "MatVec<float> (8 instances)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("rows[i][j] * x[j]", "rows[i][j] + x[j]"), ("4 * here[c + 1]", "3 * here[c + 1]")],
)
def test_a_wrong_codelet_fails_loudly(
    example: ModuleType, right: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "codelets.cpp"
    file.write_text(example.CODELETS.read_text().replace(right, wrong))
    monkeypatch.setattr(example, "CODELETS", file)
    with pytest.raises(AssertionError, match="not equal"):
        example.main()


def test_an_element_too_many_is_refused_by_its_line(
    example: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "codelets.cpp"
    file.write_text(example.CODELETS.read_text().replace("here[c + 2]", "here[c + 3]"))
    monkeypatch.setattr(example, "CODELETS", file)
    with pytest.raises(pl.TensorIndexError, match=r"'Heat.in': index 48 of 48") as found:
        example.main()
    assert found.value.at is not None
    lines = file.read_text().splitlines()
    assert "here[c + 3]" in lines[found.value.at.line - 1]
