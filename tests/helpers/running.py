"""How tests run programs: in both forms, until something ends them, in another process."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

import poplite as pl
from helpers.depth import thinned
from poplite.simulator.simulated import Simulated

ROOT = Path(__file__).resolve().parents[2]
SOON = 10.0
"""Seconds that a run may take to end on a crowded machine; alone it is a tenth of a second."""
LIMIT = 600
"""Seconds for a process on a crowded machine."""

both_forms = pytest.mark.parametrize("interpret", [False, True], ids=["compiled", "interpreted"])

interpreted_sooner = pytest.mark.parametrize(
    "interpret", thinned([True, False], keep=1), ids=["interpreted", "compiled"]
)
"""Both forms, by default one: for operations whose arithmetic other tests compile."""


def simulated(engine: pl.Engine) -> Simulated:
    """Return the parts of an engine that runs on the simulator."""
    assert isinstance(engine._loaded, Simulated)
    return engine._loaded


def full_disk(*_: object, **__: object) -> NoReturn:
    """Fail as what writes to a full disk does; it stands in the place of such a function."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def python(
    folder: Path, *arguments: str | Path, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder, in a process of its own that ends well.

    Args:
        folder: where it runs.
        *arguments: of Python.
        **variables: of the environment; what is imported is this checkout, also where poplite is
            not installed.
    """
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def words_of(folder: Path, text: str, **variables: str) -> list[str]:
    """Run a script in a process of its own, and return the words it prints; no errors but those.

    Args:
        folder: where it is written and runs.
        text: the script.
        **variables: of the environment.
    """
    (folder / "script.py").write_text(text)
    done = python(folder, "script.py", **variables)
    # Threads that compile at the same time may write between a line and its end.
    assert [n for n in done.stderr.splitlines() if n and "compiling" not in n] == []
    return done.stdout.split()
