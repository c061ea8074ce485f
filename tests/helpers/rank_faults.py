"""What ends a run, or a job, on ranks; see `helpers.ranks`."""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable
from os import _exit
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl

CHECKS: list[Any] = ["fast"]
"""What engines of the case look at."""


class Step(pl.Vertex):
    x: pl.Input[pl.INT]
    y: pl.Output[pl.INT]

    def compute(self) -> None:
        self.y = self.x + 1


class Sum(pl.MultiVertex):
    n: pl.InOut[pl.INT]

    def compute(self, worker: int) -> None:
        self.n += worker


class Pick(pl.Vertex):
    at: pl.Input[pl.INT]
    x: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        self.x[0] = self.x[self.at]


def ring(device: Any, *, interpret: bool, extra: Callable[[pl.Graph], pl.Program]) -> Any:
    """Return an engine whose steps each count on from the other tile, for ever."""
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.INT, (2,), "x", mapping="linear", initial_value=0)
    y = graph.add_variable(pl.INT, (2,), "y", mapping="linear", initial_value=0)
    there = graph.add_compute_set("there")
    for tile in range(2):
        graph.add_vertex(there, Step, tile=tile, x=x[1 - tile], y=y[tile])
    body = pl.Sequence(pl.Execute(there), pl.Copy(y, x), extra(graph))
    z = graph.add_variable(pl.INT, (2,), "z", mapping=0, initial_value=0)
    here = graph.add_compute_set("here")
    graph.add_vertex(here, Step, tile=0, x=z[0], y=z[1])
    programs = {
        "ever": pl.Loop(body), "few": pl.Repeat(10, body), "one": pl.Loop(pl.Execute(there)),
        "apart": pl.Repeat(2**31 - 1, pl.Execute(here)),
    }  # fmt: skip
    engine = pl.Engine(
        graph, programs, device=device, interpret=interpret, checks=CHECKS[0],
    )  # fmt: skip
    return engine, x, y


def equal(values: Any) -> bool:
    return len(set(np.asarray(values).tolist())) == 1


def nothing(graph: pl.Graph) -> pl.Program:
    return pl.Sequence()


def interrupted(device: Any, interpret: bool) -> None:
    """Ctrl-C on one rank, then `stop` on the other: all end behind the same step, and go on.

    In "apart" rank 1 has nothing to do, and is millions of steps ahead where vertices are compiled.
    One Ctrl-C reaches both, rank 1 when it has ended the run, or in the next one.
    """
    from mpi4py import MPI

    engine, x, y = ring(device, interpret=interpret, extra=nothing)
    one, other, both = [0], [1], [0, 1]
    ends = [
        (other, "interrupt", "ever"), (one, "stop", "ever"), (other, "stop", "ever"),
        (one, "stop", "one"),
    ]  # fmt: skip
    ends += [] if interpret else [(one, "stop", "apart")]
    ends += [(both, "interrupt", "ever")] if CHECKS[0] == "fast" else []
    for ranks, end, program in ends:
        if device.rank in ranks:

            def soon(end: str = end) -> None:
                if end == "stop":
                    engine.stop()
                else:
                    os.kill(os.getpid(), signal.SIGINT)

            threading.Timer(0.3 + 0.1 * device.rank, soon).start()
        try:
            engine.run(program)
            assert end == "stop"
        except KeyboardInterrupt:
            assert end == "interrupt"
        ended = engine.read(x)
        assert equal(ended), ended
        assert (ended[0] > 0) == (program == "ever")
        assert engine.read(y)[0] in (ended[0], ended[0] + 1)
        assert equal(MPI.COMM_WORLD.allgather(engine.report().cycles))
        engine.run("few")
        after = engine.read(x)
        assert equal(after), after
        engine.load()


def stopped_by_callback(device: Any, interpret: bool) -> None:
    """`stop` in a callback of the host, and one that raises."""

    def streamed(graph: pl.Graph) -> pl.Program:
        x = graph.tensor("x")
        return pl.Copy(x, graph.add_device_to_host_fifo("out", pl.INT, 2))

    engine, x, _ = ring(device, interpret=interpret, extra=streamed)
    calls = []

    def stopping(array: Any) -> None:
        calls.append(array.tolist())
        if len(calls) == 5:
            engine.stop()

    engine.connect_stream_to_callback("out", stopping)
    engine.run("ever")
    assert equal(engine.read(x))
    assert engine.read(x)[0] >= 5

    def raising(array: Any) -> None:
        raise ValueError("seven")

    engine.connect_stream_to_callback("out", raising)
    own = ValueError if device.rank == 0 else pl.DeviceRuntimeError
    with pytest.raises(own, match="seven"):
        engine.run("ever")
    for kind in (SystemExit, KeyboardInterrupt, GeneratorExit):

        def leaving(array: Any, kind: type[BaseException] = kind) -> None:
            raise kind("eight")

        engine.connect_stream_to_callback("out", leaving)
        with pytest.raises(kind if device.rank == 0 else pl.DeviceRuntimeError, match="eight"):
            engine.run("ever")
    calls_of_all: list[tuple[Callable[[], object], str]] = [
        (lambda: engine.read(x), "engine.read of 'x'"),
        (lambda: engine.write(x, [1, 2]), "engine.write to 'x'"),
        (pl.mpi.Device, "pl.mpi.Device()"),
    ]
    for call, text in calls_of_all:
        engine.connect_stream_to_callback("out", lambda array, call=call: call())
        refused = pl.ControlProgramError if device.rank == 0 else pl.DeviceRuntimeError
        with pytest.raises(
            refused, match=re.escape(f"{text}: all ranks must make this call, but c")
        ):
            engine.run("ever")
    before = engine.read(x)[0]
    engine.connect_stream_to_callback("out", lambda array: None)
    engine.run("few")
    assert engine.read(x).tolist() == [before + 10] * 2


def faulted(device: Any, interpret: bool) -> None:
    """A vertex of one rank that stops: all are told, and begin anew."""

    def picked(graph: pl.Graph) -> pl.Program:
        work = graph.add_compute_set("pick")
        z = graph.add_variable(pl.INT, (5,), "z", mapping=1, initial_value=range(5))
        graph.add_vertex(work, Pick, tile=1, at=graph.tensor("x")[0], x=z)
        return pl.Execute(work)

    engine, x, _ = ring(device, interpret=interpret, extra=picked)
    for _ in range(2):
        own = pl.TensorIndexError if device.rank == 1 else pl.DeviceRuntimeError
        with pytest.raises(own, match="index 5 of 5 elements"):
            engine.run("ever")
        with pytest.raises(pl.ControlProgramError, match="memory is undefined"):
            engine.run("few")
        engine.load()
        assert engine.read(x).tolist() == [0, 0]


def undone(device: Any, interpret: bool) -> None:
    """With strict checks a fault on one rank undoes its step on all, and engines go on."""
    graph = pl.Graph(pl.Target(tiles=2))
    z = graph.add_variable(pl.INT, (5,), "z", mapping=1, initial_value=range(5))
    at, n, old = (graph.add_variable(pl.INT, (1,), k, mapping=0, initial_value=0) for k in "ano")
    work = graph.add_compute_set("work")
    graph.add_vertex(work, Pick, tile=1, at=at[0], x=z)
    graph.add_vertex(work, Step, tile=0, x=old[0], y=n[0])
    program = pl.Repeat(9, pl.Sequence(pl.Execute(work), pl.Copy(n, at), pl.Copy(n, old)))
    engine = pl.Engine(graph, program, device=device, interpret=interpret, checks="strict")
    own = pl.TensorIndexError if device.rank == 1 else pl.DeviceRuntimeError
    for _ in range(2):
        with pytest.raises(own, match="index 5 of 5 elements"):
            engine.run()
        assert [engine.read(k).tolist() for k in (at, n, old)] == [[5], [5], [5]]
        for k in (at, n, old):
            engine.write(k, [0])


def unwritten(device: Any, interpret: bool) -> None:
    """What nothing has written is known on the rank that reads it, also when it was written."""
    graph = pl.Graph(pl.Target(tiles=2))
    x, y, empty = (graph.add_variable(pl.INT, (2,), k, mapping="linear") for k in "xye")
    ways = graph.add_variable(pl.BOOL, (), "way", mapping=0)
    work = graph.add_compute_set("work")
    for tile in range(2):
        graph.add_vertex(work, Step, tile=tile, x=x[0], y=y[tile])
    programs = {
        "run": pl.Execute(work),
        "forget": pl.Copy(empty, x),
        "decide": pl.If(ways, pl.Copy(empty, x), pl.Sequence()),
        "get": pl.Copy(graph.add_remote_buffer("rows", pl.INT, 2), x),
    }
    engine = pl.Engine(graph, programs, device=device, interpret=interpret, checks="strict")
    for value in (3, 4):
        with pytest.raises((pl.UninitializedReadError, pl.DeviceRuntimeError), match="'x'|Uninit"):
            engine.run("run")
        engine.write(x, [value, value])
        engine.run("run")
        engine.run("run")
        assert engine.read(y).tolist() == [value + 1, value + 1]
        engine.run("forget")
    engine.write(x, [1, 1])
    engine.run("get")
    with pytest.raises((pl.UninitializedReadError, pl.DeviceRuntimeError), match="'x'|Uninit"):
        engine.run("run")
    engine.copy_to_remote_buffer([7, 8], "rows")
    engine.run("get")
    engine.run("run")
    assert engine.read(y).tolist() == [8, 8]
    engine.run("forget")
    with pytest.raises(pl.UninitializedReadError, match="'way'"):
        engine.run("decide")
    engine.write(ways, True)
    engine.run("decide")
    with pytest.warns(pl.UninitializedWarning, match="nothing has written 2 of 2 elements"):
        engine.read(x)


def raced(device: Any, interpret: bool) -> None:
    """Workers that add to one element on one rank end the run on all."""
    graph = pl.Graph(pl.Target(tiles=2))
    n = graph.add_variable(pl.INT, (), "n", mapping=1, initial_value=5)
    work = graph.add_compute_set("work")
    graph.add_vertex(work, Sum, tile=1, n=n)
    engine = pl.Engine(graph, pl.Execute(work), device=device, interpret=interpret, checks="strict")
    for _ in range(2):
        with pytest.raises((pl.WorkerRaceError, pl.DeviceRuntimeError), match="'Sum.n', w|Race"):
            engine.run()
        assert engine.read(n) == 5


def different(device: Any, interpret: bool) -> None:
    """Other graphs on other ranks, and other calls."""
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.INT, (2,), f"x{device.rank}", mapping="linear")
    with pytest.raises(pl.DeviceRuntimeError, match=r"'x0' on rank 0, variable 'x1' on rank 1"):
        pl.Engine(graph, pl.Sequence(), device=device)
    graph = pl.Graph(pl.Target(tiles=2))
    x, y = (graph.add_variable(pl.INT, (2,), name, mapping="linear") for name in "xy")
    engine = pl.Engine(graph, pl.Copy(x, y), device=device)
    with pytest.raises(pl.ControlProgramError, match=f"rank {device.rank} called engine.read of"):
        engine.read(x if device.rank else y)


def refused(device: Any, interpret: bool) -> None:
    """What engines on ranks do not have."""
    graph = pl.Graph(pl.Target(tiles=2))
    x, y = (graph.add_variable(pl.INT, (2,), name, mapping="linear") for name in "xy")
    copy = pl.Copy(x, y)
    engine = pl.Engine(graph, copy, device=device)
    wrong: Any = "x"
    refusals: list[tuple[Callable[[], object], str]] = [
        (lambda: pl.Engine(graph, copy, state=engine), "is an engine on several ranks"),
        (lambda: engine.read(x, root=2), "root must be one of 2 ranks; found 2"),
        (lambda: engine.load_state("no.state"), "cannot read 'no.state'"),
        (lambda: engine.save_state("no/run.state"), "there is no folder 'no'"),
        (
            lambda: pl.mpi.Device(cut=[1, 2]),
            "cut must have the first tile of each of 2 ranks except rank 0, ascending",
        ),
        (lambda: pl.mpi.Device(timeout=-1), "timeout must be a number of seconds; found -1"),
        (lambda: pl.mpi.Device(timeout=wrong), "timeout must be a number of seconds; found 'x'"),
        (lambda: pl.mpi.Device(cut=[wrong]), "cut must be a list of tiles; found ['x']"),
        (lambda: pl.mpi.Device(cut=wrong), "cut must be a list of tiles; found 'x'"),
        (lambda: pl.Engine(graph, copy, device=pl.mpi.Device(cut=[2])), "there is no tile 2"),
    ]
    for call, text in refusals:
        with pytest.raises(pl.PopliteError, match=re.escape(text)):
            call()


def many_devices(device: Any, interpret: bool) -> None:
    """More devices than MPI has communicators, and devices of communicators that are freed."""
    from mpi4py import MPI

    for _ in range(1100):
        last = pl.mpi.Device()
    turned = MPI.COMM_WORLD.Split(0, -device.rank)
    other = pl.mpi.Device(turned)
    turned.Free()
    assert other.rank == 1 - device.rank
    for each in (other, last, device):
        engine, x, _ = ring(each, interpret=interpret, extra=nothing)
        engine.run("few")
        assert engine.read(x).tolist() == [10, 10]
    channel = weakref.ref(other._ranks._channel)
    del engine, each, other
    gc.collect()
    assert channel() is None


def damaged(device: Any, interpret: bool) -> None:
    """What rank 0 alone finds wrong is the same error on all."""
    engine, x, _ = ring(device, interpret=interpret, extra=nothing)
    engine.run("few")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.state")  # of rank 0
        engine.save_state(path)
        if device.rank == 0:
            content = bytearray(path.read_bytes())
            content[content.index(b"memory/0") + 8] ^= 1
            path.write_bytes(content)
        with pytest.raises(pl.FileLoadError, match="cannot be loaded as a state of an engine"):
            engine.load_state(path)

    class Unsendable(Exception):
        """An exception that only the process knows that raised it."""

    class Refusing:
        """An array that raises when it is read."""

        def __array__(self, *arguments: Any, **keywords: Any) -> Any:
            raise Unsendable("nine")

    with pytest.raises(Unsendable if device.rank == 0 else pl.DeviceRuntimeError, match="nine"):
        engine.write(x, Refusing())
    assert engine.read(x).tolist() == [10, 10]


def raising(device: Any, interpret: bool) -> None:
    """A script that raises on one rank."""
    engine, x, _ = ring(device, interpret=interpret, extra=nothing)
    engine.run("few")
    if device.rank == 1:
        raise ValueError("between two calls")
    engine.read(x)


def killed(device: Any, interpret: bool) -> None:
    """A rank that is killed."""
    engine, _, _ = ring(device, interpret=interpret, extra=nothing)
    if device.rank == 1:
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
    engine.run("ever")


def leaving(device: Any, interpret: bool) -> None:
    """A script that ends on one rank."""
    engine, _, _ = ring(device, interpret=interpret, extra=nothing)
    if device.rank == 1:
        sys.exit(0)
    engine.run("few")


def lost(device: Any, interpret: bool) -> None:
    """A rank that ends as if all were well."""
    engine, _, _ = ring(device, interpret=interpret, extra=nothing)
    if device.rank == 1:
        os._exit(0)
    engine.run("few")


def lost_bound(device: Any, interpret: bool) -> None:
    """The same by a name that was bound before there was a device."""
    engine, _, _ = ring(device, interpret=interpret, extra=nothing)
    if device.rank == 1:
        _exit(0)
    engine.run("few")


def lost_execed(device: Any, interpret: bool) -> None:
    """A rank that becomes another program, by a function that calls `os.execv`."""
    engine, _, _ = ring(device, interpret=interpret, extra=nothing)
    if device.rank == 1:
        os.execl("/bin/true", "true")
    engine.run("few")


def hanging(device: Any, interpret: bool) -> None:
    """A rank that never comes."""
    engine, _, _ = ring(device, interpret=interpret, extra=nothing)
    if device.rank == 1:
        time.sleep(60)
    engine.run("few")


def before_device(how: str) -> None:
    """End rank 1, or let it wait, before all make their device."""
    if os.environ["PMI_RANK"] == "1":
        if how == "before:raising":
            raise ValueError("before")
        if how == "before:leaving":
            sys.exit(0)
        time.sleep(60)


def main(names: list[str]) -> None:
    if "beside" in names:
        import mpi4py.MPI  # noqa: F401  (the script itself starts MPI)
    if names[0].startswith("before:"):
        before_device(names[0])
    device = pl.mpi.Device(timeout=1 if "hanging" in names[0] else 60)
    for name in names:
        kind, *forms = name.split(":")
        CHECKS[0] = "strict" if "strict" in forms else "fast"
        globals()[kind](device, "compiled" not in forms)
        print(f"{name} on rank {device.rank}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
