"""The fuzz commands: programs, expressions of integers, and mutated files of all kinds."""

from __future__ import annotations

import os
import re
import zipfile
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any
from weakref import WeakValueDictionary

import pytest

from helpers.depth import deep, thinned
from helpers.fuzz_files import KINDS, Outcomes, fuzz as fuzz_file, program, try_file
from helpers.mutated_files import mutated
from helpers.running import ROOT, python
from poplite import view as views
from poplite.compile.compiler import compile_graph
from poplite.expr.operations import OPERATIONS
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.fuse import classes
from poplite.testing import fuzz
from poplite.testing.fuzz_integers import RandomGraph, check, in_order, main

# -- programs --------------------------------------------------------------------------------------


@deep
def test_a_thousand_states_agree_with_dense_arrays(capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz.main(["--states", "1000", "--seed", "1"]) == 0
    printed = capsys.readouterr()
    match = re.fullmatch(
        r"1,000 states, (\d+)% of a concatenation, (\d+)% with multi-digit dims, "
        r"no wrong answer, [\d.]+ s\n",
        printed.out,
    )
    assert match is not None
    assert int(match[1]) > 20
    assert int(match[2]) > 10
    assert printed.err.splitlines()[0] == "600 of 1,000 states"
    assert printed.err.splitlines()[-1] == "1,000 of 1,000 states"


@deep
def test_the_number_of_processes_changes_nothing() -> None:
    assert list(fuzz.results(5, 700, 2)) == list(fuzz.results(5, 700, 1))


def test_a_wrong_answer_ends_the_run_with_lines_that_lead_to_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = Tensor.contiguous_regions

    def wrong(self: Tensor) -> Any:
        return [] if self.rank == 3 else right(self)

    with monkeypatch.context() as patch:
        patch.setattr(Tensor, "contiguous_regions", wrong)
        assert fuzz.main(["--states", "5000", "--seed", "7"]) == 1
    printed = capsys.readouterr().out
    head, program, rest = printed.split("\n\n", 2)
    assert re.fullmatch(r"seed 7, graph \d+:", head)
    names: dict[str, Any] = {}
    exec(program, names)
    assert names["t"].rank == 3
    assert "AssertionError: contiguous_regions() is [], expected [" in rest
    assert rest.splitlines()[-1].endswith(" s")
    assert "a wrong answer" in rest.splitlines()[-1]


def test_an_operation_that_raises_is_reported_with_its_expression(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: views.View, dim: int) -> views.View:
        raise ZeroDivisionError("broken on purpose")

    monkeypatch.setattr(views.View, "reverse", broken)
    assert fuzz.main(["--states", "1000"]) == 1
    printed = capsys.readouterr().out
    assert "ZeroDivisionError: broken on purpose" in printed
    assert re.search(r"^in: t = .*\.reverse\(\d\)$", printed, re.MULTILINE)


def test_edits_of_the_mapping_are_part_of_the_program() -> None:
    episode = fuzz.Episode(0, 3)
    for _ in range(12):
        episode.step()
    assert episode.edits
    names: dict[str, Any] = {}
    exec(episode.program(), names)
    again, graph = names["t"], episode.made.tensor.graph
    assert names["graph"].tile_mapping(again, False) == graph.tile_mapping(
        episode.made.tensor, False
    )


def test_nothing_to_do_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        fuzz.main(["--states", "0"])
    assert "argument --states: must be at least 1; found 0" in capsys.readouterr().err


# -- executables -----------------------------------------------------------------------------------


# The alarm that ends a run may ring in a callback of the garbage collector, where Python drops what
# is raised, with a warning; it rings again.


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file that is mutated."""
    path = tmp_path_factory.mktemp("fuzz") / "unchanged.poplite"
    compile_graph(*program()).save(path)
    return path.read_bytes()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("number", thinned([9, 300], keep=1))
def test_files_are_refused_or_run(tmp_path: Path, number: int) -> None:
    outcomes, failure = fuzz_file(number, 9, tmp_path)
    assert failure == ""
    assert sum(outcomes) == number
    assert outcomes.refused > number / 3
    assert outcomes.ran > number / 10


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_whole_file_runs(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "unchanged.poplite"
    path.write_bytes(whole)
    assert try_file(path) == Outcomes(ran=1)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@deep
def test_mutations_come_from_the_seed_and_change_all_parts(whole: bytes, tmp_path: Path) -> None:
    made = [mutated(whole, Random(number)) for number in range(60)]
    assert made == [mutated(whole, Random(number)) for number in range(60)]
    path = tmp_path / "one.poplite"
    path.write_bytes(whole)
    with zipfile.ZipFile(path) as archive:
        original = {name: archive.read(name) for name in archive.namelist()}
    changed = set()
    for data in made:
        path.write_bytes(data)
        try:
            with zipfile.ZipFile(path) as archive:
                changed |= {n for n in archive.namelist() if archive.read(n) != original.get(n)}
        except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError):
            changed.add("the zip file")
    assert changed >= {"the zip file", "manifest.json", "arrays/int64.npy", "arrays/uint32.npy"}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@deep
def test_the_command(tmp_path: Path) -> None:
    command = ("-m", "helpers.fuzz_files", "--files", "6", "--seed", "3")
    paths = f"{ROOT}{os.pathsep}{ROOT / 'tests'}"
    done = python(tmp_path, *command, TMPDIR=str(tmp_path), PYTHONPATH=paths)
    assert done.stdout.startswith("6 files: Outcomes(refused=")
    assert list(tmp_path.glob("poplite-fuzz-*")) == []


# -- expressions of integers -----------------------------------------------------------------------


@pytest.mark.parametrize("number", thinned(range(1, 60), 3))
def test_fused_is_one_by_one_is_python(number: int) -> None:
    assert check(44, number, compiled=0).failure == ""


@deep
def test_compiled_is_python() -> None:
    assert check(44, 0, compiled=1).failure == ""


def test_a_wrong_kind_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classes, "_made", WeakValueDictionary())  # other tests made some of them
    for name in ("popcount", "shift_right_logical"):
        monkeypatch.setitem(OPERATIONS, name, replace(OPERATIONS[name], other_kind=()))
    failure = check(44, 19, compiled=0).failure
    assert "seed 44, graph 19, fused, interpreted: " in failure
    assert "popcount" in failure


def test_all_operations_and_types_are_drawn() -> None:
    roots = [root for k in range(100) for root in RandomGraph(0, k).expressions]
    nodes = [node for root in roots for node in in_order(root)]
    whole = {n for n, o in OPERATIONS.items() if {"int", "bool", "unsigned"} & o.text.keys()}
    drawn = {node.text.split("[")[0] for node in nodes}
    assert drawn >= whole - {"select"} | {
        "where",
        "cast",
        "sum",
        "prod",
        "min",
        "max",
        "all",
        "any",
    }
    types: set[Any] = {node.element for node in nodes}
    assert len(types) == 11


def test_the_command_says_what_it_did(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--operations", "9", "--seed", "3", "--compiled", "0"]) == 0
    assert " operations in 1 graphs, 0 of them compiled, no wrong result" in capsys.readouterr().out


# -- graphs, states, reports, sweeps ---------------------------------------------------------------


# The alarm that ends a run may ring in a callback of the garbage collector, where Python drops what
# is raised, with a warning; it rings again.


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "executable"])
@pytest.mark.parametrize("number", thinned([6, 200], keep=1))
def test_files_of_other_kinds_are_refused_or_used(tmp_path: Path, kind: str, number: int) -> None:
    KINDS[kind].write(tmp_path / "unchanged")
    content = (tmp_path / "unchanged").read_bytes()
    assert KINDS[kind].use(tmp_path / "unchanged") == Outcomes(ran=1)
    outcomes = Outcomes()
    for seed in range(number):
        (tmp_path / "tried").write_bytes(mutated(content, Random(seed)))
        outcomes = outcomes.plus(KINDS[kind].use(tmp_path / "tried"))
    assert sum(outcomes) == number
    assert outcomes.refused > number / 4
