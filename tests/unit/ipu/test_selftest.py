"""What the selftest runs: the whole library, with the stand-in's SDK as with one of Graphcore."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import poplite as pl
from helpers.depth import deep
from helpers.host_program import building
from helpers.vertex_classes import vertex_classes
from poplite.ipu.selftest import (
    EXTRA,
    LIBRARY,
    ROWS,
    library_rows,
    own_program,
    selftest,
    selftest_text,
)
from poplite.tools.command import main
from poplite.vertex.vertex import has_compute
from poplite.vertices import elementwise

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def sdk(host_cache: Path) -> Iterator[Path]:
    with building(host_cache) as made:
        yield made.root


def test_no_vertex_class_of_the_library_is_left_out() -> None:
    graph, _, outputs = library_rows()
    assert list(outputs) == list(LIBRARY)
    assert all(tensor.num_elements for row in outputs.values() for tensor in row)
    used = {each.vertex_class for one in graph.compute_sets for each in one.vertices}
    names = {(cls.__module__, cls.__name__.partition("[")[0]) for cls in used}
    for path in sorted((ROOT / "vertices").rglob("*.py")):
        for _, cls in vertex_classes(path, ROOT):
            is_base = cls in (elementwise.Unary, elementwise.Binary)
            assert is_base or not has_compute(cls) or (cls.__module__, cls.__name__) in names


def test_own_rows_differ_nowhere(sdk: Path) -> None:
    made = selftest(["hardware"], lambda kind: pl.ipu.Device(kind, sdk=sdk), [own_program])  # type: ignore[arg-type]
    assert made[0].is_equal
    assert selftest_text(made).count("| equal |") == len(ROWS) + len(EXTRA)
    assert selftest_text(made).count("| not run |") == len(LIBRARY)


@deep
def test_the_command_finds_no_difference_in_the_library(
    sdk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("POPLAR_SDK_ENABLED", str(sdk))
    assert main(["ipu", "selftest", "--kind", "hardware"]) == 0
    said = capsys.readouterr().out
    assert "POPLAR version 0.0.0 (stand-in)" in said
    assert said.count("| equal |") == len(ROWS) + len(EXTRA) + len(LIBRARY)
