"""What all tests share: settings of Hypothesis, a cache of their own, examples as modules."""

from __future__ import annotations

import atexit
import importlib.util
import os
import shutil
import sys
import tempfile
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import settings

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


def load_script(path: Path) -> ModuleType:
    """Import a script by its path, as `example_<name>` or `benchmark_<name>`."""
    name = f"{path.parent.name.rstrip('s')}_{path.stem}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # vertex classes look their module up
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.fixture(scope="session")
def pi() -> ModuleType:
    """examples/pi.py."""
    return load_script(ROOT / "examples" / "pi.py")


@pytest.fixture(scope="session")
def first_tiles() -> ModuleType:
    """examples/first_tiles.py."""
    return load_script(ROOT / "examples" / "first_tiles.py")


@pytest.fixture(scope="session")
def heat() -> ModuleType:
    """examples/heat.py."""
    return load_script(ROOT / "examples" / "heat.py")


@pytest.fixture(scope="session")
def sort() -> ModuleType:
    """examples/sort.py."""
    return load_script(ROOT / "examples" / "sort.py")


@pytest.fixture(scope="session")
def bfs() -> ModuleType:
    """examples/bfs.py."""
    return load_script(ROOT / "examples" / "bfs.py")


@pytest.fixture(scope="session")
def matvec() -> ModuleType:
    """examples/matvec.py."""
    return load_script(ROOT / "examples" / "matvec.py")


@pytest.fixture(scope="session")
def streams() -> ModuleType:
    """examples/streams.py."""
    return load_script(ROOT / "examples" / "streams.py")


@pytest.fixture(scope="session")
def photo() -> ModuleType:
    """examples/photo.py."""
    return load_script(ROOT / "examples" / "photo.py")


@pytest.fixture(scope="session")
def rows() -> ModuleType:
    """benchmarks/rows.py."""
    return load_script(ROOT / "benchmarks" / "rows.py")


@pytest.fixture(scope="session")
def fidelity_rows() -> ModuleType:
    """benchmarks/fidelity_rows.py."""
    return load_script(ROOT / "benchmarks" / "fidelity_rows.py")
