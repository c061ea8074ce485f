"""What all tests share: settings of Hypothesis, a cache of their own, examples as modules."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import settings

from helpers.scripts import script

ROOT = Path(__file__).resolve().parents[1]

if "POPLITE_CACHE_DIR" not in os.environ:
    # Tests compile what they run, and leave the user's cache alone.
    os.environ["POPLITE_CACHE_DIR"] = tempfile.mkdtemp(prefix="poplite-tests-")
    atexit.register(shutil.rmtree, os.environ["POPLITE_CACHE_DIR"], ignore_errors=True)

# No deadline: the first call of a vertex compiles it.  Derandomized: the same tests every time.
settings.register_profile("poplite", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("poplite")


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


def of_script(file: str) -> Callable[[], ModuleType]:
    """Return the fixture that is a script as a module."""

    @pytest.fixture(scope="session")
    def module() -> ModuleType:
        return script(ROOT / file)

    return module


pi = of_script("examples/pi.py")
first_tiles = of_script("examples/first_tiles.py")
heat = of_script("examples/heat.py")
sort = of_script("examples/sort.py")
bfs = of_script("examples/bfs.py")
matvec = of_script("examples/matvec.py")
streams = of_script("examples/streams.py")
photo = of_script("examples/photo.py")
rows = of_script("benchmarks/rows.py")
fidelity_rows = of_script("benchmarks/fidelity_rows.py")
