"""What all tiles together have no memory for is refused before the host makes it."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import pytest

import poplite as pl
from poplite import ops
from poplite.compat import poplin
from poplite.graph.storage.host_values import ALWAYS_HELD

Call = Callable[[pl.Graph], object]

HUGE: dict[str, tuple[Call, str]] = {
    "iota": (
        lambda graph: ops.map(ops.iota(2**40, pl.LONGLONG)),
        "ops.map: 1,099,511,627,776 values of LONGLONG take 8,796,093,022,208 B",
    ),
    "iota in a reduction": (
        lambda graph: ops.map(ops.sum(ops.iota(2**40, pl.LONGLONG)), name="total"),
        "'total': 1,099,511,627,776 values of LONGLONG take 8,796,093,022,208 B",
    ),
    "one_hot": (
        lambda graph: ops.one_hot(graph.add_variable(pl.INT, (4,), mapping=0), 2**31 - 1),
        "ops.one_hot, depth: 2,147,483,647 values of UNSIGNED_INT take 8,589,934,588 B",
    ),
    "triangle": (
        lambda graph: ops.map(
            ops.tril(graph.add_variable(pl.FLOAT, (2**30, 1), mapping=0)), name="lower"
        ),
        "'lower': 1,073,741,824 values of INT take 4,294,967,296 B",
    ),
    "constant": (
        lambda graph: graph.add_constant(pl.INT, (2**40,), 0, "zeros"),
        "'zeros': 1,099,511,627,776 values of INT take 4,398,046,511,104 B",
    ),
    "initial value": (
        lambda graph: graph.add_variable(pl.INT, (2**40,), "x", initial_value=0),
        "'x': 1,099,511,627,776 values of INT take 4,398,046,511,104 B",
    ),
    "linspace": (
        lambda graph: poplin.linspace(graph, pl.FLOAT, 0.0, 1.0, 2**40),
        "poplin.linspace, count: 1,099,511,627,776 values of FLOAT take 4,398,046,511,104 B",
    ),
}


@pytest.mark.parametrize("name", HUGE)
def test_what_no_tile_holds_is_refused_before_it_is_made(name: str) -> None:
    graph = pl.Graph(pl.Target(tiles=1472))
    call, what = HUGE[name]
    tracemalloc.start()
    with pytest.raises(pl.GraphMemoryAllocationError) as caught, graph.steps():
        call(graph)
    assert tracemalloc.get_traced_memory()[1] < 1 << 22
    tracemalloc.stop()
    assert caught.value.what == f"{what}, but 1,472 tiles together have 940,572,672 B"
    assert "a tile has 638,976 B" in caught.value.found
    assert caught.value.at is not None
    assert caught.value.at.file == __file__
    assert not any(variable.constant for variable in graph.variables)


def test_the_host_holds_some_more_than_few_tiles_do() -> None:
    graph = pl.Graph(pl.Target(tiles=1, tile_memory_bytes=1024))
    made = graph.add_constant(pl.FLOAT, (1024,), 1.0)
    assert made.num_elements * 4 > graph.target.memory_bytes
    with pytest.raises(pl.GraphMemoryAllocationError, match="1 tile has 1,024 B"):
        graph.add_constant(pl.FLOAT, (ALWAYS_HELD // 4 + 1,), 1.0)


def test_clones_are_variables_each_so_that_too_many_are_refused() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.INT, (4,), "x")
    keeps = pl.TensorCloneMethod.PRESERVE_ORDER_AND_ALIASES
    for each in pl.TensorCloneDuplicationMethod:
        with pytest.raises(
            pl.GraphMemoryAllocationError, match=r"clone_n of 'x': 4,398,046,511,104 values of INT"
        ):
            graph.clone_n(x, 2**40, method=keeps, duplication=each)
    assert graph.clone_n(x, 3).shape == (3, 4)
    assert len(graph.variables) == 4
