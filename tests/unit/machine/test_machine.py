"""The constants of the model: each with its source, and those that must fit together do."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

import poplite as pl
from helpers.depth import deep
from poplite.machine.facts import ARCHITECTURES, FACTS, Architecture, Evidence, PoplarArchitecture


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_constant_says_where_it_comes_from(architecture: Architecture) -> None:
    for name, fact in FACTS[architecture].items():
        assert 0 < fact.value < math.inf, name
        assert fact.evidence in get_args(Evidence), name
        assert len(fact.source) > 10, name
        assert fact.unit or 0 < fact.value < 1, name  # what has no unit is a share


def name_of(function: ast.expr) -> str:
    """Return the last name of what is called, or nothing."""
    return str(getattr(function, "attr", getattr(function, "id", "")))


def names_in(text: str) -> Iterator[str]:
    """Yield a pattern for each string of a program, and each f-string that asks for a cost."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield re.escape(node.value)
        elif isinstance(node, ast.Call) and name_of(node.func).endswith("cost"):
            for name in node.args:
                if isinstance(name, ast.JoinedStr):
                    yield "".join(
                        re.escape(str(part.value)) if isinstance(part, ast.Constant) else "[a-z_]+"
                        for part in name.values
                    )


@deep
def test_every_constant_is_used(root: Path) -> None:
    tables = {root / "poplite" / "machine" / name for name in ("facts.py", "library_facts.py")}
    folders = (root / name for name in ("poplite", "simulator", "vertices", "benchmarks"))
    files = {path for folder in folders for path in folder.rglob("*.py")} - tables
    assert all(table.is_file() for table in tables)
    used = {pattern for path in files for pattern in names_in(path.read_text())}
    told = [pattern for pattern in used if "[a-z_]+" in pattern]
    unused = [
        name
        for name in FACTS["c600"]
        if re.escape(name) not in used and not any(re.fullmatch(each, name) for each in told)
    ]
    assert unused == []


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_target_is_filled_in_from_its_architecture(architecture: Architecture) -> None:
    target = pl.Target(architecture=architecture, ipus=2)
    assert target.tiles == 2 * target.fact("tiles").value
    assert target.tile_memory_bytes == target.fact("tile_memory_bytes").value
    assert target.clock_hz == target.fact("clock_hz").value
    assert target == pl.Target(tiles=target.tiles, architecture=architecture, ipus=2)


def test_what_is_given_counts() -> None:
    target = pl.Target(tiles=8, clock_hz=1e9, architecture="gc2")
    assert repr(target) == "<Target 8 tiles, 6 workers, 262,144 B a tile, 1.000 GHz>"
    assert pl.Target() == pl.Target(architecture="gc200") != pl.Target(architecture="bow")


@pytest.mark.parametrize(
    ("architecture", "element", "published"),
    [
        ("gc2", pl.HALF, 124.5e12),  # Jia et al. 2019
        ("gc2", pl.FLOAT, 31.1e12),
        ("gc200", pl.HALF, 250e12),  # data sheets
        ("gc200", pl.FLOAT, 62.5e12),
        ("bow", pl.HALF, 350e12),
        ("bow", pl.FLOAT, 87.5e12),
    ],
)
def test_peaks_of_the_amp_unit_are_the_published_ones(
    architecture: Architecture, element: type[pl.ElementType[float]], published: float
) -> None:
    target = pl.Target(architecture=architecture)
    inputs = target.cost("amp_inputs_bytes") / element.size_bytes
    row = target.cost(f"amp_{element.__name__.lower()}_row_cycles")
    macs = target.tiles * target.cost("amp_outputs") * inputs / row * target.clock_hz
    assert 2 * macs == pytest.approx(published, rel=0.005)


def test_memory_and_times_are_those_of_profiles() -> None:
    assert pl.Target().memory_bytes / 2**20 == pytest.approx(897.0, abs=0.05)
    assert pl.Target(architecture="gc2").memory_bytes / 2**20 == 304
    assert 6_681_766 / pl.Target().clock_hz == pytest.approx(5_023.9e-6, rel=1e-5)


def test_names_that_there_are_not() -> None:
    with pytest.raises(
        pl.UnknownName, match=r"no constant 'clock_hertz' \(did you mean 'clock_hz'"
    ):
        pl.Target().fact("clock_hertz")
    with pytest.raises(pl.InvalidMachineModel, match="architecture='mk3' is not known") as caught:
        pl.Target(architecture="mk3")  # type: ignore[arg-type]
    assert caught.value.fix == "Target(architecture='gc200')"


@pytest.mark.parametrize(("poplar", "own"), [("ipu1", "gc2"), ("ipu2", "gc200"), ("ipu21", "bow")])
def test_poplars_names_of_architectures_are_taken(
    poplar: PoplarArchitecture, own: Architecture
) -> None:
    assert pl.Target(architecture=poplar) == pl.Target(architecture=own)
    assert pl.Target(architecture=poplar).architecture == own
    with pytest.raises(pl.InvalidMachineModel, match="architecture='ipu3' is not known"):
        pl.Target(architecture="ipu3")  # type: ignore[arg-type]
