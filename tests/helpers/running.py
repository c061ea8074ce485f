"""How tests run programs: in both forms, from scripts, until something ends them, in processes."""

from __future__ import annotations

import errno
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import pytest

import poplite as pl
from helpers.depth import thinned
from poplite.simulator.engine import Simulated


def load(path: Path, name: str = "", *, is_kept: bool = False) -> ModuleType:
    """Import a file anew, as a module of this name or else of the file's.

    Args:
        path: the file.
        name: of the module.
        is_kept: whether it can be imported by that name from now on.
    """
    name = name or path.stem
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    if is_kept:
        sys.modules[name] = module
    writes_none, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        # Byte code would be taken for that of another text as long, written in the same second.
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = writes_none
    return module


def script(path: Path) -> ModuleType:
    """Import a script once for all tests, as `example_<name>` or `benchmark_<name>`."""
    name = f"{path.parent.name.rstrip('s')}_{path.stem}"
    # Kept, since vertex classes look their module up.
    return sys.modules.get(name) or load(path, name, is_kept=True)


def go_to(folder: Path, monkeypatch: pytest.MonkeyPatch, **scripts: str) -> Path:
    """Go to a folder and return it; scripts, by the name of the module, are imported anew there."""
    for name, text in scripts.items():
        (folder / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return folder


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


def made(
    times: int = 1, size: int = 4, depth: int = 1, interpret: bool = False
) -> tuple[pl.Engine, pl.Tensor]:
    """Return an engine that copies 'in' to x and x to 'out', some times; and x."""
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.INT, (size,), "x", mapping="linear", initial_value=0)
    source = graph.add_host_to_device_fifo("in", pl.INT, size, buffering_depth=depth)
    sink = graph.add_device_to_host_fifo("out", pl.INT, size)
    body = pl.Sequence(pl.Copy(source, x), pl.Copy(x, sink))
    return pl.Engine(graph, pl.Repeat(times, body), interpret=interpret), x
