"""Costs of host communication: rows of streams and remote buffers.

    python benchmarks/host.py [--samples 9] [--json FILE] [--small]

A row is the overhead of one Copy over the Python or NumPy call that does the same: the time of a
program of many Copies, minus that of as many bare calls, divided by their number.
"""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

import poplite as pl
from rows import Row, check, in_turn, run

if TYPE_CHECKING:
    from collections.abc import Callable

ELEMENTS = 8


def repeated(
    name: str,
    engine: pl.Engine,
    bare: Callable[[], object],
    times: int,
    target: float,
    samples: int,
) -> Row:
    """The row of a program of many Copies and one bare call.

    Args:
        name: the title of the row.
        engine: its first program runs the Copy `times` times.
        bare: the same without poplite, once.
        times: number of Copies.
        target: microseconds of one Copy beyond the call.
        samples: of each side.
    """

    def calls() -> None:
        for _ in range(times):
            bare()

    ours, theirs = in_turn(engine.run, calls, samples)
    value = (min(ours) - min(theirs)) / times * 1e6
    return Row(name, value, "us", "<=", target, ours, theirs)


def graph_of() -> tuple[pl.Graph, pl.Tensor]:
    """A graph with one small tensor."""
    graph = pl.Graph(pl.Target(tiles=1))
    return graph, graph.add_variable(pl.FLOAT, (ELEMENTS,), "x", mapping=0)


def callback_row(times: int, samples: int) -> Row:
    """An empty function, called for each block."""
    graph, x = graph_of()
    stream = graph.add_host_to_device_fifo("in", pl.FLOAT, ELEMENTS)
    engine = pl.Engine(graph, pl.Repeat(times, pl.Copy(stream, x)))
    called = 0
    block = np.zeros(ELEMENTS, np.float32)

    def count(array: Any) -> None:
        nonlocal called
        called += 1
        array[:] = 0

    def nothing(array: Any) -> None:
        pass

    engine.connect_stream_to_callback("in", count)
    engine.run()
    check("callback", np.array(called), np.array(times))
    engine.connect_stream_to_callback("in", nothing)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pl.UnwrittenOutputWarning)  # given once: it fills nothing
        engine.run()
    name = "stream callback: round trip beyond the call"
    return repeated(name, engine, lambda: nothing(block), times, 1.0, samples)


def ring_row(times: int, samples: int) -> Row:
    """Rows of an array, one after the other."""
    graph, x = graph_of()
    stream = graph.add_host_to_device_fifo("in", pl.FLOAT, ELEMENTS)
    engine = pl.Engine(graph, pl.Repeat(times, pl.Copy(stream, x)))
    array = np.arange(times * ELEMENTS, dtype=np.float32).reshape(times, ELEMENTS)
    block = np.zeros(ELEMENTS, np.float32)
    engine.connect_stream("in", array)
    engine.run()
    check("ring buffer", engine.read(x), array[-1])

    def copy() -> None:
        block[:] = array[0]

    return repeated("ring buffer: block beyond a NumPy copy", engine, copy, times, 1.5, samples)


def remote_row(times: int, samples: int) -> Row:
    """Rows of a remote buffer, by a number on the device."""
    graph, x = graph_of()
    row = graph.add_variable(pl.UNSIGNED_INT, (), "row", mapping=0)
    buffer = graph.add_remote_buffer("table", pl.FLOAT, ELEMENTS, repeats=1000)
    engine = pl.Engine(graph, pl.Repeat(times, pl.Copy(buffer, x, row)))
    table = np.arange(ELEMENTS * 1000, dtype=np.float32).reshape(1000, ELEMENTS)
    for number in range(1000):
        engine.copy_to_remote_buffer(table[number], "table", number)
    engine.write(row, 700)
    engine.run()
    check("remote row", engine.read(x), table[700])
    block, chosen = np.zeros(ELEMENTS, np.float32), np.array(700)

    def copy() -> None:
        block[:] = table[int(chosen)]

    return repeated("remote row: copy beyond a NumPy copy", engine, copy, times, 2.0, samples)


def handle_row(small: bool, samples: int) -> Row:
    """A transposed tensor, written by handle."""
    size = 64 if small else 2000
    graph = pl.Graph(pl.Target(tiles=32))
    x = graph.add_variable(pl.FLOAT, (size, size), "x", mapping="linear")
    graph.create_host_write("x", x.T)
    engine = pl.Engine(graph, pl.Sequence(), checks="fast")
    array = np.random.default_rng(0).random((size, size), np.float32)
    stored = np.zeros_like(array)

    def copy() -> None:
        stored[...] = array.T

    engine.write("x", array)
    copy()
    check("handle", engine.read(x), stored)
    ours, theirs = in_turn(lambda: engine.write("x", array), copy, samples)
    name = f"write by handle, transposed {size} x {size}: poplite / NumPy"
    return Row(name, min(ours) / min(theirs), "x", "<=", 4.0, ours, theirs)


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    times = 1000 if small else 100_000
    return [
        callback_row(times, samples),
        ring_row(times, samples),
        remote_row(times, samples),
        handle_row(small, samples),
    ]


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
