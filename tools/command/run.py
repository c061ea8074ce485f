"""`poplite run`: a target's programs, each once, on the simulator or on the ranks of an MPI job.

    poplite run heat.py:build             in this process
    poplite run -n 4 heat.py:build        in four processes, which mpiexec starts

Streams get zeros, as in `poplite-viz report --run`.  Where what nothing has written decides what
runs, nothing is run; of ranks, one process finds out before they start.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import importlib.util
import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from poplite.mpi.endings import ENDED, FOLDER, FirstEnd, last_step, left, lost
from poplite.tools.viz.flags import add_target, set_run
from poplite.tools.viz.load_target import load_programs

if TYPE_CHECKING:
    from poplite.report import Report
    from poplite.tools.viz.running import Once

PR_SET_PDEATHSIG = 1
"""Of Linux's `prctl`: which signal a process gets when its parent has ended."""

LAST_BYTES = 4096
"""What `mpiexec` says in the end is not longer."""


def run_command(parser: argparse.ArgumentParser) -> None:
    """Run the programs of a graph once, in one process or on the ranks of an MPI job.

    Run each program once, with zeros in its streams, and print the report. With -n, the tiles are
    cut among ranks, which give the same values and cycles; that needs pip install 'poplite[mpi]'.
    """
    add_target(parser)
    parser.add_argument("-n", dest="ranks", metavar="RANKS", type=_ranks, help="how many ranks")
    parser.add_argument("--on-ranks", action="store_true", help=argparse.SUPPRESS)
    set_run(parser, _run)


def _ranks(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of ranks; the least is 1")
    return int(text)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.ranks is not None and not arguments.on_ranks:
        return _start(arguments)
    if arguments.on_ranks:
        return _run_on_ranks(arguments)
    print(_ran_here(arguments))
    return 0


def _ran_here(arguments: argparse.Namespace) -> Report:
    """Return the report of one run of each program; raise where nothing knows what runs."""
    from poplite.tools.viz.running import Once, run_each

    once = Once(*load_programs(arguments.target, arguments.given), may_overflow=False)
    once.run(run_each)
    _check_known(once, arguments.target)
    return replace(once.engine.report(), note=once.note)


def _check_known(once: Once, target: str) -> None:
    """Raise where nothing knows what runs; say so where zeros in place of data decide it."""
    if once.unknown is not None:
        raise once.unknown.error
    if once.note:
        print(f"poplite: {target} is run {once.note}", file=sys.stderr)


def _run_on_ranks(arguments: argparse.Namespace) -> int:
    from poplite.mpi.device import Device
    from poplite.simulator.engine import Engine
    from poplite.tools.viz.running import run_each

    device = Device()  # before anything can fail on one rank alone
    last = last_step(device.rank)
    graph, programs = load_programs(arguments.target, arguments.given)
    engine = Engine(graph, programs, checks="fast", device=device)
    run_each(engine)
    if device.rank == 0:
        print(engine.report())
    if last.is_read:
        last.note(ENDED)
    return 0


def _start(arguments: argparse.Namespace) -> int:
    """Start as many ranks, each of which runs this command."""
    from poplite.errors import DeviceRuntimeError

    program = mpiexec()
    if program is None:
        raise DeviceRuntimeError(
            "there is no mpiexec",
            at=None,
            found=f"neither next to {sys.executable}, nor next to mpi4py, nor on PATH",
            fix="pip install 'poplite[mpi]', which brings it",
        )
    _check_decided(arguments)
    given = [f"--arg={name}={value}" for name, value in arguments.given]
    command = [sys.executable, "-m", "poplite.tools.command", "run", "--on-ranks"]
    command = [program, "-n", str(arguments.ranks), *command, arguments.target, *given]
    with tempfile.TemporaryDirectory(prefix="poplite.") as folder:
        variables = {**_environment(program), FOLDER: folder}
        end = b""
        with subprocess.Popen(
            command, env=variables, stdout=subprocess.PIPE, preexec_fn=ending_with(os.getpid())
        ) as process:
            assert isinstance(process.stdout, io.BufferedReader), "as a pipe is"
            watched = FirstEnd(Path(folder), arguments.ranks, process.stdout.fileno())
            with contextlib.closing(watched), _ending(process):
                watched.wait()
                while said := process.stdout.read1():
                    sys.stdout.buffer.write(said)
                    sys.stdout.buffer.flush()
                    end = (end + said)[-LAST_BYTES:]
                    watched.wait()
        message = lost(end.decode(errors="replace"), Path(folder), watched.rank)
        status = process.returncode
        if not status and (message := left(Path(folder), arguments.ranks, watched.rank)):
            status = 1
        if message:
            print(f"poplite: {message}", file=sys.stderr)
    return status


def ending_with(parent: int) -> Callable[[], None] | None:
    """Return what a new process does so that it ends when its parent is killed; only on Linux."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl  # before the fork, where nothing may be loaded

    def end_with_parent() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it was killed before
            os.kill(os.getpid(), signal.SIGTERM)

    return end_with_parent


@contextlib.contextmanager
def _ending(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """End `mpiexec`, and so its ranks, where Ctrl-C or SIGTERM reach this process alone."""
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        yield
    except BaseException:
        process.terminate()
        process.wait()
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def _check_decided(arguments: argparse.Namespace) -> None:
    """Refuse programs whose control flow is unknown, before ranks run them."""
    from poplite.compile.compiler import compile_graph
    from poplite.simulator.decided import are_decided
    from poplite.tools.viz.running import Once, run_each

    graph, programs = load_programs(arguments.target, arguments.given)
    if not are_decided(compile_graph(graph, programs, checks="fast")):
        return
    once = Once(graph, programs, may_overflow=False, only_looks=True)
    once.run(run_each)
    _check_known(once, arguments.target)


def mpiexec() -> str | None:
    """Return the path of `mpiexec`: next to Python or mpi4py, as pip installs it, or on PATH."""
    places = [Path(sys.executable).parent]
    found = importlib.util.find_spec("mpi4py")
    if found is not None and found.origin is not None:
        places.append(Path(found.origin).parents[4] / "bin")
    # A link is resolved: its target has the programs that `mpiexec` starts.
    installed = [
        os.path.realpath(place / "mpiexec") for place in places if (place / "mpiexec").exists()
    ]
    return installed[0] if installed else shutil.which("mpiexec")


def _environment(program: str) -> dict[str, str]:
    """Return the environment of ranks, in which mpi4py finds the library of `mpiexec`."""
    library = str(Path(program).resolve().parents[1] / "lib")
    paths = [library, os.environ.get("LD_LIBRARY_PATH", "")]
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(filter(None, paths))}
