"""How runs and jobs end on ranks: stopped together, told of a fault, never left waiting."""

from __future__ import annotations

import pytest

from helpers.depth import deep, thinned
from helpers.ranks import ended, needs_mpi, on_ranks

TOGETHER = [
    "refused", "different", "damaged", "many_devices", "stopped_by_callback", "faulted",
    "interrupted",
]  # fmt: skip
STRICT = ["undone", "unwritten", "raced", "stopped_by_callback:strict", "interrupted:strict"]
COMPILED = [f"{name}:compiled" for name in (*TOGETHER, *STRICT)]


@needs_mpi
@pytest.mark.parametrize(
    "names", thinned([[*TOGETHER, *STRICT], COMPILED], keep=[[*TOGETHER, *STRICT]])
)
def test_runs_end_alike_and_engines_go_on(names: list[str]) -> None:
    done = ended(on_ranks(2, "-m", "helpers.rank_faults", *names))
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout
    assert all(f"{name} on rank {rank}" in said for name in names for rank in range(2)), said


@needs_mpi
def test_an_exception_on_one_rank_ends_the_job_with_its_traceback() -> None:
    done = ended(on_ranks(2, "-m", "helpers.rank_faults", "raising"))
    assert done.returncode == 1
    assert "poplite: rank 1 of 2 raised:" in done.stderr
    assert "ValueError: between two calls" in done.stderr
    assert "rank 0 of 2 raised" not in done.stderr


@deep
@needs_mpi
def test_a_killed_rank_ends_the_job() -> None:
    assert ended(on_ranks(2, "-m", "helpers.rank_faults", "killed")).returncode == 9


WAITED = "poplite: rank 0 waited for rank 1 in "
LATE = "poplite: rank 0 waited 1 s for rank 1 in "
ENDS = {
    "before:raising": "ValueError: before",
    "before:leaving": f"{WAITED}pl.mpi.Device(), but it has ended",
    "before:hanging": f"{LATE}pl.mpi.Device()\n  all ranks",
    "before:hanging beside": f"{LATE}pl.mpi.Device()\n  all ranks",
    "leaving": f"{WAITED}engine.run('few'), but it has ended",
    "lost": "poplite: rank 1 of 2 ended by os._exit(0)  (",
    "lost_bound": "poplite: rank 1 of 2 ended by os._exit(0)  (",
    "lost_execed": "poplite: rank 1 of 2 ended by os.execv('/bin/true')  (",
    "hanging": f"{LATE}engine.run('few')",
}


@needs_mpi
@pytest.mark.parametrize("names", thinned(ENDS, keep=["before:raising", "lost"]))
def test_a_rank_that_ends_or_never_comes_ends_the_job_and_is_named(names: str) -> None:
    done = ended(on_ranks(2, "-m", "helpers.rank_faults", *names.split()))
    assert done.returncode != 0
    assert ENDS[names] in done.stderr
