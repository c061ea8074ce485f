"""Programs that ranks run as the simulator does; see `helpers.ranks`.

A case makes engines by the function that it gets, once on the simulator and once on ranks, and
returns what must be the same, to the last bit.  All that a rank does not own is overwritten before
each step.
"""

from __future__ import annotations

import io
import json
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import poplite as pl
from helpers.running import ROOT

EngineOf = Callable[..., pl.Engine]
Found = list[object]


class Poisoned(pl.mpi.Device):
    """Ranks that overwrite what they do not own."""

    _is_poisoned = True


class Shift(pl.Vertex):
    """Reads from elsewhere, and leaves every other element of its output as it was."""

    x: pl.Input[pl.Vector[pl.INT]]
    y: pl.Output[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for i in range(0, len(self.y), 2):
            self.y[i] = 3 * self.x[i] + 1


class Rows(pl.Vertex):
    """Adds up rows of a list, and writes into another one."""

    x: pl.Input[pl.Vector[pl.Vector[pl.INT]]]
    y: pl.InOut[pl.Vector[pl.Vector[pl.INT]]]

    def compute(self) -> None:
        for r in range(len(self.y)):
            for c in range(len(self.y[r])):
                self.y[r][c] += self.x[r][c]


class Halves(pl.Vertex):
    """Halves until it is small: what it takes depends on data."""

    x: pl.InOut[pl.INT]

    def compute(self) -> None:
        while self.x > 3:
            self.x = self.x // 2


class Stay(pl.Vertex):
    """Whether a number is above a limit."""

    x: pl.InOut[pl.INT]
    limit: pl.State[pl.INT]

    def compute(self) -> bool:
        self.x += 1
        return self.x < self.limit


class Scale(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.QUARTER]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = self.x[i] * 2.0


class Added(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.INT]]
    y: pl.Input[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] += 901 * self.y[i] if len(self.x) > 1 else self.y[i]


class Drift(pl.Vertex):
    """Rounds at random, where that is switched on."""

    h: pl.InOut[pl.HALF]

    def compute(self) -> None:
        self.h = self.h + 0.0003


def graph_of(tiles: int = 4, **target: Any) -> pl.Graph:
    return pl.Graph(pl.Target(tiles=tiles, **target))


SENT: list[object] = []
"""What reports told of what ranks sent, since a case began: the same on all ranks."""


def told(engine: pl.Engine) -> str:
    """Return the report of an engine, but for what only ranks have."""
    report = engine.report()
    SENT.append(report.between_ranks)
    return replace(report, between_ranks=(), cut=()).to_json()


# -- cases -----------------------------------------------------------------------------------------


def example(name: str) -> Any:
    """Return the module of an example."""
    sys.path.insert(0, str(ROOT / "examples"))
    return __import__(name)


def heat(engine_of: EngineOf) -> Found:
    """Lists of rows, read in place."""
    graph, program, result = example("heat").build(3)
    engine = engine_of(graph, program)
    engine.run()
    return [engine.read(result), told(engine)]


def bfs(engine_of: EngineOf) -> Found:
    """A loop that ends by what reductions find, cycles that depend on data, a MultiVertex."""
    graph, program, distance, level = example("bfs").build()
    engine = engine_of(graph, program)
    engine.run()
    return [engine.read(distance), engine.read(level), told(engine)]


def moved(engine_of: EngineOf) -> Found:
    """Copies in other orders, fields that are gathered, outputs written in part."""
    graph = graph_of()
    x = graph.add_variable(
        pl.INT, (8, 6), "x", mapping="linear", initial_value=np.arange(48).reshape(8, 6)
    )
    y = graph.add_variable(pl.INT, (6, 8), "y", mapping=[[(k * 12, k * 12 + 12)] for k in range(4)])
    z = graph.add_variable(pl.INT, (48,), "z", mapping="linear", initial_value=-1)
    constant = graph.add_constant(pl.INT, (8,), range(8), name="c", mapping=3)
    work, rows = graph.add_compute_set("shift"), graph.add_compute_set("rows")
    for tile in range(4):
        own = y.flatten()[12 * tile : 12 * tile + 12].reverse(0)
        graph.add_vertex(work, Shift, tile=tile, x=own, y=z[tile::4])
        part = x[2 * ((tile + 1) % 4) : 2 * ((tile + 1) % 4) + 2, :4]
        graph.add_vertex(rows, Rows, tile=tile, x=y[:2, 2 * tile : 2 * tile + 4], y=part) if (
            tile < 3
        ) else None
    body = pl.Sequence(
        pl.Copy(x.T, y),
        pl.Execute(work),
        pl.Copy(z.reverse(0), x.flatten()),
        pl.Execute(rows),
        pl.Copy(constant, x[:, 0]),
        pl.Copy(x[7, 5].reshape((1,)).broadcast(8, 0), y[0]),
        pl.Copy(z[:24], z[24:]),
    )
    engine = engine_of(graph, pl.Repeat(3, body))
    engine.run()
    return [*map(engine.read, (x, y, z)), engine.read(y[1:3].T), told(engine)]


def varying(engine_of: EngineOf) -> Found:
    """Cycles that depend on data, read by the program itself."""
    graph = graph_of()
    x = graph.add_variable(
        pl.INT, (8,), "x", mapping="linear", initial_value=[5, 900, 3, 70, 8000, 2, 1, 50]
    )
    kept = graph.add_variable(pl.INT, (8,), "kept", mapping="linear", initial_value=[9] * 8)
    work = graph.add_compute_set("halve")
    for k in range(8):
        graph.add_vertex(work, Halves, tile=(3 * k) % 4, x=x[k])
    body = pl.Sequence(pl.Execute(work))
    cycles = pl.cycle_count(graph, body, 2)
    body.add(pl.Copy(kept, x))
    engine = engine_of(graph, pl.Repeat(2, body))
    engine.run()
    return [engine.read(x), engine.read(cycles), told(engine)]


def returned(engine_of: EngineOf) -> Found:
    """What vertices return on several tiles decides."""
    graph = graph_of()
    x = graph.add_variable(pl.INT, (4,), "x", mapping="linear", initial_value=[0, 3, 1, 2])
    flag = graph.add_variable(pl.BOOL, (), "flag", mapping=2)
    work = graph.add_compute_set("work")
    for k in range(4):
        graph.add_vertex(work, Stay, tile=k, x=x[k], limit=6 + k)
    engine = engine_of(graph, pl.RepeatWhileTrue(pl.Execute(work, flag), flag, pl.Sequence()))
    engine.run()
    return [engine.read(x), engine.read(flag), told(engine)]


def hosted(engine_of: EngineOf) -> Found:
    """Streams, a host function, a remote buffer, prints and handles."""
    graph = graph_of()
    x = graph.add_variable(pl.INT, (8,), "x", mapping="linear", initial_value=range(8))
    row = graph.add_variable(pl.INT, (1,), "row", mapping=3, initial_value=1)
    there = graph.add_host_to_device_fifo("in", pl.INT, 8)
    back = graph.add_device_to_host_fifo("out", pl.INT, 8)
    table = graph.add_remote_buffer("table", pl.INT, 8, repeats=3)
    double = graph.add_host_function("double", [(pl.INT, 8)], [(pl.INT, 8)])
    graph.create_host_read("x", x.reverse(0))
    graph.create_host_write("half", x[::2])
    body = pl.Sequence(
        pl.Copy(there, x),
        pl.Call(double, [x.reverse(0)], [x]),
        pl.Call(double, [x], [x.reverse(0)]),
        pl.PrintTensor("x", x),
        pl.Copy(x, table, row),
        pl.Copy(x.reverse(0), back),
    )
    engine = engine_of(graph, [pl.Repeat(2, body), pl.Copy(table, x, row)])
    blocks, taken = np.arange(16, dtype=np.int32), np.zeros(16, np.int32)
    engine.connect_stream("in", blocks)
    engine.connect_stream("out", taken)

    def doubled(inputs: Any, outputs: Any) -> None:
        outputs[0][:] = 2 * inputs[0]

    engine.connect_host_function("double", doubled)
    engine.print_stream = printed = io.StringIO()
    engine.run(0)
    found: Found = [engine.read(x), engine.copy_from_remote_buffer("table", 1)]
    engine.write("half", np.full(4, 77))
    found += [engine.read("x"), engine.read(x, root=0)]
    engine.load()
    engine.run(1)
    found += [engine.read(x), told(engine)]
    return [*found, Hosts([taken.tolist(), printed.getvalue()])]


class Hosts(list[object]):
    """What the host alone knows."""


def replicas(engine_of: EngineOf) -> Found:
    """Each replica has its tiles on every rank; copies between replicas go to other ranks too."""
    graph = pl.Graph(pl.Target(tiles=8, ipus=2), replication_factor=2)
    x, y = (graph.add_variable(pl.INT, (8,), name, mapping="linear") for name in "xy")
    graph.set_initial_value(x, {0: range(8), 1: range(10, 18)})
    index = graph.add_replication_index_constant()
    graph.set_tile_mapping(index, 3)
    z = graph.add_variable(pl.UNSIGNED_INT, (1,), "z", mapping=0)
    body = pl.Sequence(
        pl.CrossReplicaCopy(x, y.reverse(0), [1, 0]),
        pl.Copy(y, x),
        pl.Copy(index.reshape((1,)), z),
    )
    engine = engine_of(graph, pl.Repeat(3, body))
    engine.run()
    return [engine.read(x), engine.read(y), engine.read(z), told(engine)]


def quarters(engine_of: EngineOf) -> Found:
    """Metadata lie on one tile, values on others."""
    graph = graph_of()
    metadata = pl.QuarterMetadata("F143", scale=1)
    x = graph.add_variable(
        pl.QUARTER, (8,), "x", mapping="linear", initial_value=np.arange(8.0), metadata=metadata
    )
    work = graph.add_compute_set("scale")
    for k in range(4):
        graph.add_vertex(work, Scale, tile=3 - k, x=x[2 * k : 2 * k + 2])
    engine = engine_of(graph, pl.Execute(work), interpret=True)
    engine.run()
    found: Found = [engine.read(x)]
    engine.write(x, np.arange(8) + 0.5)
    return [*found, engine.read(x), told(engine)]


def loaded(engine_of: EngineOf) -> Found:
    """An executable from a file knows the tiles of its variables."""
    graph = graph_of()
    x, y = (graph.add_variable(pl.INT, (4, 8), name, mapping="linear") for name in "xy")
    graph.create_host_write("x", x)
    graph.create_host_read("y", y)
    work = graph.add_compute_set("shift")
    for k in range(4):
        graph.add_vertex(work, Shift, tile=k, x=x[:, k], y=y[k, ::2])
    executable = engine_of(graph, pl.Execute(work)).executable
    with tempfile.TemporaryDirectory() as folder:
        executable.save(path := Path(folder, "shift.poplite"))
        engine = engine_of(pl.Executable.load(path, [Shift]), interpret=False)
    engine.write("x", np.arange(32).reshape(4, 8))
    engine.run()
    return [engine.read("y"), told(engine)]


def states(engine_of: EngineOf) -> Found:
    """Files of states are the same; who loads one goes on as if there had been no file."""
    graph, program, tensors = stateful()
    first, second = (connected(engine_of(graph, program)) for _ in range(2))
    with first.tracing() as trace:
        first.run()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.state")  # of rank 0; the others never look there
        first.save_state(path)
        second.load_state(path)
        files = Hosts([path.read_bytes() if path.exists() else b""])
        first.run()
        second.run()
        second.save_state(path)
        files.append(path.read_bytes() if path.exists() else b"")
    # Of all that ran, half was sent by the second one.
    reports = first.report(), second.report()
    sent = [[each.bytes for each in report.between_ranks] for report in reports]
    assert sent[0] == [2 * size for size in sent[1]]
    whole = [replace(report, between_ranks=(), cut=()).to_json() for report in reports]
    assert whole[0] == whole[1]
    found: Found = [each.read(tensor) for tensor in tensors for each in (first, second)]
    rows = [each.copy_from_remote_buffer("table", 2) for each in (first, second)]
    assert trace.is_complete
    return [*found, *rows, str(trace.steps), told(second), files]


def growing(engine_of: EngineOf) -> Found:
    """Programs that are added, and engines that begin with what others hold, at other cuts."""
    graph = graph_of()
    x, y = (graph.add_variable(pl.INT, (8,), name, mapping="linear") for name in "xy")
    engine = engine_of(graph, pl.Copy(x, y.reverse(0)))
    engine.write(x, np.arange(8))
    engine.run()
    z = graph.add_variable(pl.INT, (4,), "z", mapping=0, initial_value=5)
    work = graph.add_compute_set("much")
    for k in range(4):  # of which the first tile has most
        graph.add_vertex(work, Added, tile=max(0, k - 2), x=z[k : k + 1], y=y[2 * k : 2 * k + 1])
    engine.add_program(pl.Execute(work), "more")
    engine.run("more")
    other = engine_of(graph, pl.Sequence(pl.Execute(work), pl.Copy(y, x)), state=engine)
    other.run()
    return [*map(engine.read, (x, y, z)), *map(other.read, (x, y, z)), told(other)]


def shelf(engine_of: EngineOf) -> Found:
    """Operations of which each tile makes a part, and others add the parts."""
    graph, rng = graph_of(6), np.random.default_rng(3)
    x, y = (
        graph.add_variable(pl.FLOAT, (12, 7), name, mapping="linear", initial_value=values)
        for name, values in (("x", rng.normal(size=(12, 7))), ("y", rng.normal(size=(12, 7))))
    )
    key = pl.ops.random.key(graph, 5)
    with graph.steps() as program:
        order = pl.ops.random.permutation(key, 84)
        made = [
            pl.ops.einsum("ij,kj,kl->il", x, y, x),
            pl.ops.bincount(order, 84, x.flatten()),
            pl.ops.histogram(x, [-1, 0, 0.5, 2]),
            pl.ops.searchsorted(pl.ops.sort(y, None), x),
            pl.ops.reduce_window(x, (3, 2), "add", padding=1),
            pl.ops.cumulative_max(x, 0),
            pl.ops.random.categorical(key, pl.ops.hypot(x, y)),
            pl.ops.map(pl.ops.nn.rms_norm(x)),
            pl.ops.nn.clip_by_global_norm([x, y], 1.0).norm,
            order,
        ]
    engine = engine_of(graph, program)
    engine.run()
    return [*(engine.read(each) for each in made), told(engine)]


def stateful() -> tuple[pl.Graph, pl.Program, tuple[pl.Tensor, ...]]:
    """Return a program whose results depend on all that a state holds."""
    graph = graph_of()
    x = graph.add_variable(pl.INT, (8,), "x", mapping="linear", initial_value=range(8))
    more = graph.add_variable(pl.INT, (8,), "more", mapping="linear")
    row = graph.add_variable(pl.INT, (1,), "row", mapping=3, initial_value=0)
    table = graph.add_remote_buffer("table", pl.INT, 8, repeats=3)
    graph.add_variable(pl.BOOL, (3,), "flags", mapping=1, initial_value=[True, False, True])
    one = graph.add_constant(pl.INT, (8,), 1, name="one", mapping=2)
    work = graph.add_compute_set("halve")
    for k in range(8):
        graph.add_vertex(work, Halves, tile=(3 * k) % 4, x=x[k])
    drift, add, count = map(graph.add_compute_set, ("drift", "add", "count"))
    h = graph.add_variable(pl.HALF, (4,), "h", mapping="linear", initial_value=1.0)
    for k in range(4):
        graph.add_vertex(drift, Drift, tile=k, h=h[k])
        own = slice(2 * k, 2 * k + 2)
        graph.add_vertex(add, Added, tile=k, x=x[own], y=more[own])
    graph.add_vertex(count, Added, tile=3, x=row, y=one[:1])
    body = pl.Sequence(pl.SetStochasticRounding(True), pl.Execute(work), pl.Execute(drift))
    cycles = pl.cycle_count(graph, body, 2)
    body.add(pl.Copy(graph.add_host_to_device_fifo("in", pl.INT, 8), more))
    body.add(pl.Execute(add))
    body.add(pl.Copy(x, table, row))
    body.add(pl.Execute(count))
    body.add(pl.Execute(work))
    return graph, body, (x, h, cycles)


def connected(engine: pl.Engine) -> pl.Engine:
    """Connect the stream of `stateful`."""
    engine.connect_stream("in", np.arange(24, dtype=np.int32))
    return engine


def drawn(engine_of: EngineOf, seed: int) -> Found:
    """A program of the fuzzer, whose vertices run on any tile."""
    sys.path.insert(0, str(ROOT / "tests/property/simulator"))
    programs = __import__("test_programs")

    class Drawn(programs.Drawn):  # type: ignore[name-defined, misc]
        def tile(self) -> int:
            return int(self.random.randrange(2))

    made = Drawn(Random(seed))
    engine = engine_of(made.graph, made.program)
    engine.write(made.numbers, np.array([1, 2, 3]))
    found: Found = []
    for _ in range(2):
        try:
            engine.run()
        except pl.ApplicationRuntimeError as error:
            found.append(str(error))
        found.append(engine.read(made.numbers))
    return [*found, told(engine)]


CASES = (
    *(heat, bfs, moved, varying, returned, hosted, replicas, quarters, loaded, states, growing),
    shelf,
)


# -- comparing -------------------------------------------------------------------------------------


def difference(case: Callable[[EngineOf], Found], *, interpret: bool, checks: str) -> str:
    """Return how ranks differ from the simulator in a case; empty where they do not."""
    from mpi4py import MPI

    device = Poisoned()
    own: dict[str, Any] = {"checks": checks, "interpret": interpret}

    def simulated(*arguments: Any, **keywords: Any) -> pl.Engine:
        keywords = own | keywords
        return pl.Engine(*arguments, **keywords)

    def ranked(*arguments: Any, **keywords: Any) -> pl.Engine:
        keywords = own | {"device": device} | keywords
        return pl.Engine(*arguments, **keywords)

    def found(engine_of: EngineOf) -> Found:
        return case(engine_of)  # reports have the line of the call

    first: Any = None
    if device.rank == 0:  # one rank compiles for all
        try:
            first = found(simulated)
        except Exception:  # which the others must know, as they would wait
            first = traceback.format_exc()
    first = MPI.COMM_WORLD.bcast(first, 0)
    if isinstance(first, str):
        return first
    SENT.clear()
    try:
        second = found(ranked)
    except Exception:
        second = [traceback.format_exc()] * len(first)
    if len({str(each) for each in MPI.COMM_WORLD.allgather(SENT)}) > 1:
        return f"reports say that this was sent: {SENT}"
    return "".join(
        f"value {k}: {one!r} on the simulator, {other!r}\n"
        for k, (one, other) in enumerate(zip(first, second, strict=True))
        if not _same(one, other, is_host=device.rank == 0)
    )


def _same(one: Any, other: Any, *, is_host: bool) -> bool:
    if other is None or isinstance(other, Hosts):
        return not is_host or bool(one == other)
    if isinstance(one, np.ndarray):
        return bool(one.dtype == other.dtype and one.tobytes() == other.tobytes())
    return bool(str(one) == str(other))


def main(names: Sequence[str]) -> None:
    """Run cases by name, or programs of the fuzzer by their seeds; print what differs."""
    from mpi4py import MPI

    by_name = {case.__name__: case for case in CASES}
    found = {}
    for name in names:
        kind, *forms = name.split(":")
        how: Any = {
            "interpret": "compiled" not in forms,
            "checks": "strict" if "strict" in forms else "fast",
        }
        if kind.isdigit():
            own = difference(partial(drawn, seed=int(kind)), **how)
        else:
            own = difference(by_name[kind], **how)
        each = MPI.COMM_WORLD.allgather(own)
        found[name] = "".join(f"rank {rank}: {text}" for rank, text in enumerate(each) if text)
    if MPI.COMM_WORLD.rank == 0:
        print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
