"""Mutated graphs, states, reports and sweeps: each is refused or used, and none does harm."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from helpers.depth import thinned
from poplite.testing.fuzz_files import KINDS, Outcomes
from poplite.testing.mutations import mutated

# The alarm that ends a run may ring in a callback of the garbage collector, where Python drops what
# is raised, with a warning; it rings again.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


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
