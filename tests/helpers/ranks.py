"""How tests run programs on ranks: one start of `mpiexec` for many cases.

    mpiexec -n 2 python -m helpers.rank_cases heat bfs     each case on the simulator and on ranks
    -> {"heat": "", "bfs": "array 0 differs"}              what rank 0 printed

Starting MPI and importing everything takes longer than most cases.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from helpers.running import LIMIT, ROOT


@cache
def mpiexec() -> str | None:
    """Return where `mpiexec` is: beside mpi4py, as pip installs it, or on PATH."""
    found = importlib.util.find_spec("mpi4py")
    if found is None or found.origin is None:
        return None
    beside = Path(found.origin).parents[4] / "bin" / "mpiexec"
    return str(beside) if beside.exists() else shutil.which("mpiexec")


needs_mpi = pytest.mark.skipif(
    mpiexec() is None, reason="needs mpi4py and mpiexec: pip install 'poplite[mpi]'"
)


def on_ranks(count: int, *arguments: str | Path, **variables: str) -> subprocess.Popen[str]:
    """Start Python on some ranks; the caller waits for the end."""
    program = mpiexec()
    assert program is not None, "tests that call this are skipped without MPI"
    library = str(Path(program).parents[1] / "lib")
    paths = {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}", "LD_LIBRARY_PATH": library}
    return subprocess.Popen(
        [program, "-n", str(count), sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, **paths, "NUMBA_NUM_THREADS": "1", **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that Ctrl-C can be sent to all of them
    )


def ended(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    """Return what processes said, after their end."""
    out, error = process.communicate(timeout=LIMIT)
    return subprocess.CompletedProcess(process.args, process.returncode, out, error)


def differences(count: int, cases: Sequence[str]) -> dict[str, str]:
    """Return what differs between the simulator and some ranks, by case."""
    done = ended(on_ranks(count, "-m", "helpers.rank_cases", *cases))
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found
