"""Fixtures for pytest, which finds them when poplite is installed.

The traceback of a poplite error shows the user's frames only; `--full-trace` shows all.

For example::

    def test_doubles(poplite_graph, poplite_engine):       runs twice: compiled, interpreted
        x = poplite_graph.add_variable(pl.FLOAT, (8,), mapping="linear", initial_value=1)
        engine = poplite_engine(doubled(poplite_graph, x))
        engine.run()
        assert (engine.read(x) == 2).all()
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from poplite import Engine, Graph, Target
    from poplite.compile.compiler import Programs

TILES = 4


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Omit frames of poplite from the traceback of its errors, whose messages name the place."""
    found = call.excinfo
    if found is None or item.config.getoption("fulltrace") or "poplite.errors" not in sys.modules:
        return
    if not _is_of_poplite(found):
        return
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
    for entry in found.traceback:
        if str(entry.path).startswith(package):  # pytest looks for this name in each frame
            entry.frame.f_globals["__tracebackhide__"] = _is_of_poplite


def _is_of_poplite(found: pytest.ExceptionInfo[BaseException]) -> bool:
    """Return whether an error is one of poplite's own."""
    return isinstance(found.value, sys.modules["poplite.errors"].PopliteError)


@pytest.fixture
def poplite_target() -> Target:
    """A machine of four tiles with six workers each."""
    from poplite.machine.target import Target

    return Target(tiles=TILES)


@pytest.fixture
def poplite_graph(poplite_target: Target) -> Graph:
    """An empty graph for `poplite_target`."""
    from poplite.graph.graph import Graph

    return Graph(poplite_target)


@pytest.fixture(params=["compiled", "interpreted"])
def poplite_engine(
    request: pytest.FixtureRequest, poplite_graph: Graph
) -> Callable[[Programs], Engine]:
    """A function that makes an engine with strict checks for programs of `poplite_graph`.

    A test that uses it runs twice: with compiled vertices, and with vertices as plain Python.
    """
    from poplite.simulator.engine import Engine

    def make(programs: Programs) -> Engine:
        interpret = request.param == "interpreted"
        return Engine(poplite_graph, programs, checks="strict", interpret=interpret)

    return make
