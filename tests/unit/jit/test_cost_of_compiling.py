"""What compiling leaves out, as no vertex needs it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest
from numba.core.typing.templates import _OverloadAttributeTemplate, _OverloadFunctionTemplate

import poplite as pl
from poplite.jit.build import Builds, Job, built
from poplite.jit.numba_context import contexts
from poplite.simulator.codegen.compute_code import linked_compute


class Doubled(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(0, len(self.x), 64):
            self.x.set_lanes(i, self.x.lanes(i) + self.x.lanes(i))


def _rules() -> Iterator[Any]:
    typing = contexts()[0]
    for installed in (typing._functions, typing._attributes):
        for templates in installed.values():
            yield from map(type, templates)
    for kind in typing._globals.values():
        yield from getattr(kind, "templates", ())


def test_typing_has_no_rules_that_are_functions_in_python() -> None:
    """Installing them, Numba imports all that it knows of arrays and containers."""
    import numba.np.arraymath  # registers hundreds, as users' own code does

    assert numba.np.arraymath
    rules = list(_rules())
    in_python = (_OverloadAttributeTemplate, _OverloadFunctionTemplate)
    assert len(rules) > 100
    assert [rule for rule in rules if issubclass(rule, in_python)] == []


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_of_cycles_waits_while_code_is_made(enabled: bool) -> None:
    found = []

    def job() -> Job:
        found.append(gc.isenabled())
        raise RuntimeError("it cannot be compiled")

    def by_builds() -> None:
        with Builds() as builds:
            builds.add("no code has this name", job)

    was_enabled = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        for make in (by_builds, lambda: built("no code has this name", job)):
            with pytest.raises(RuntimeError, match="cannot be compiled"):
                make()
            assert gc.isenabled() == enabled
    finally:
        (gc.enable if was_enabled else gc.disable)()
    assert found == [False, False]


def test_lanes_are_in_registers_before_what_they_access_is_inlined() -> None:
    """Prices are those of the code as it was lowered."""
    loads = [
        sum(
            instruction.opcode in ("load", "store")
            for function in linked_compute(Doubled, "compute", (None,), priced=priced).functions
            if Doubled.__name__ in function.name
            for block in function.blocks
            for instruction in block.instructions
        )
        for priced in (False, True)
    ]
    assert loads[0] < loads[1] / 4, loads
