"""Mutated executable files: none does harm, and the command says what became of them."""

from __future__ import annotations

import zipfile
from pathlib import Path
from random import Random

import pytest

from helpers.depth import deep, thinned
from helpers.running import python
from poplite.compile.compiler import compile_graph
from poplite.testing.fuzz_files import Outcomes, fuzz, program, try_file
from poplite.testing.mutations import mutated

# The alarm that ends a run may ring in a callback of the garbage collector, where Python drops what
# is raised, with a warning; it rings again.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file that is mutated."""
    path = tmp_path_factory.mktemp("fuzz") / "unchanged.poplite"
    compile_graph(*program()).save(path)
    return path.read_bytes()


@pytest.mark.parametrize("number", thinned([9, 300], keep=1))
def test_files_are_refused_or_run(tmp_path: Path, number: int) -> None:
    outcomes, failure = fuzz(number, 9, tmp_path)
    assert failure == ""
    assert sum(outcomes) == number
    assert outcomes.refused > number / 3
    assert outcomes.ran > number / 10


def test_the_whole_file_runs(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "unchanged.poplite"
    path.write_bytes(whole)
    assert try_file(path) == Outcomes(ran=1)


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


@deep
def test_the_command(tmp_path: Path) -> None:
    command = ("-m", "poplite.testing.fuzz_files", "--files", "6", "--seed", "3")
    done = python(tmp_path, *command, TMPDIR=str(tmp_path))
    assert done.stdout.startswith("6 files: Outcomes(refused=")
    assert list(tmp_path.glob("poplite-fuzz-*")) == []
