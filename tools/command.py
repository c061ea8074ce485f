"""The command `poplite`, which runs, exports and checks graphs; `--help` has examples.

    poplite run -n 4 heat.py:build
    poplite export heat.py:build exported
    poplite ipu selftest
    poplite viz tiles heat.py:build

Anything slow is imported by the subcommand that needs it.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import importlib.util
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from poplite import errors
from poplite.errors import (
    ControlProgramError,
    DeviceRuntimeError,
    UnknownName,
    closest,
    did_you_mean,
)
from poplite.mpi.ranks import ENDED, FOLDER, FirstEnd, last_step, left, lost
from poplite.poplar.absent import absent_names
from poplite.text import amount
from poplite.tools.completion import SHELLS, completion_script
from poplite.tools.viz import main as viz
from poplite.tools.viz.doctor import doctor
from poplite.tools.viz.flags import (
    Commands,
    add_subcommand,
    add_target,
    file_error,
    number_from,
    set_run,
)
from poplite.tools.viz.load_target import load_programs
from poplite.tools.viz.main import VersionAction, add_subcommands, parser_of_viz, run_parsed
from poplite.tools.viz.output import write_stdout

if TYPE_CHECKING:
    from poplite.graph.graph import Graph
    from poplite.program import Program
    from poplite.report import Report
    from poplite.tools.viz.running import Once

__all__ = ["main"]

PR_SET_PDEATHSIG = 1
"""Option of Linux's `prctl`: the signal that a process gets when its parent ends."""

LAST_BYTES = 4096
"""Number of bytes at the end of the output of `mpiexec` that may contain its final message."""

EPILOG = """\
examples:
  poplite run -n 4 heat.py:build            on four ranks, in as many processes
  poplite export heat.py:build exported     C++ and tables for a machine with an SDK
  poplite export heat.py:build exported --arg rows=20
  poplite ipu selftest                      does the SDK of this machine work correctly?
  poplite explain GraphCycleError           a program that gives it, and what it says
  poplite doctor                            versions, and where compiled vertices are kept
  poplite cache clear                       delete them; they are compiled again when needed
  poplite completion bash                   a script that completes commands
  poplite viz tiles heat.py:build           the same as poplite-viz tiles heat.py:build

TARGET is file.py:callable or module:callable; the callable gets the arguments
from --arg and returns (Graph, Program) or (Graph, {name: Program}).

exit codes: 0 success, 1 an error with a message, 2 a wrong command line
"""


def __dir__() -> list[str]:
    return __all__


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with the given arguments, or with those of the process.

    The exit code is 0 on success, 1 after a user's error, 130 after an interrupt from the keyboard.

    Args:
        argv: the arguments, without the command's name.

    Raises:
        SystemExit: with 2 for a wrong command line, with 0 after `--help` and `--version`.

    >>> main(["export", "no_such_file.py:build", "exported"])
    1
    """
    words = sys.argv[1:] if argv is None else list(argv)
    if words[:1] == ["viz"]:
        return viz(words[1:])
    return run_parsed(_parser(), words)


def _parser(*, whole: bool = False) -> argparse.ArgumentParser:
    """Return the parser; with the subcommands of `viz`, which has its own, if `whole`."""
    parser = argparse.ArgumentParser(
        prog="poplite",
        description="Run poplite programs, export their graphs, test an SDK, draw pictures.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=VersionAction)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    add_subcommand(commands, _export_command)
    _ipu_command(commands)
    add_subcommand(commands, _run_command)
    add_subcommand(commands, _explain_command)
    add_subcommand(commands, _doctor_command)
    add_subcommand(commands, _cache_command)
    add_subcommand(commands, _completion_command)
    viz_parser = commands.add_parser(
        "viz", help="draw pictures and reports: the same as poplite-viz"
    )
    if whole:
        add_subcommands(viz_parser)
    return parser


def _export_command(parser: argparse.ArgumentParser) -> None:
    """Write C++ and tables for a graph and its programs, for a machine with Poplar's SDK.

    Write codelets, a host program, tables, a CMake file, a README and a Python client to a folder.
    No compiler is needed. An unchanged graph gives identical files.
    """
    add_target(parser)
    parser.add_argument("folder", metavar="FOLDER", help="the output folder; created if missing")
    parser.add_argument(
        "--checks",
        choices=("fast", "none"),
        default="none",
        help="fast: an out-of-range index stops the program (default: none)",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="do not report written files")
    set_run(parser, _export)


def _export(arguments: argparse.Namespace) -> int:
    from poplite.ipu.building import export

    graph, programs = load_programs(arguments.target, arguments.given)
    if not programs:
        raise ControlProgramError(
            f"{arguments.target!r} must return a program; found a Graph alone",
            at=None,
            fix="return graph, program",
        )
    folder = export(graph, programs, arguments.folder, checks=arguments.checks)
    if not arguments.quiet:
        print(f"wrote {folder}; see its README.md", file=sys.stderr)
    _say_fit(graph, programs)
    return 0


def _say_fit(graph: Graph, programs: dict[str, Program]) -> None:
    """Print one line if the model says that a program is too large for a tile."""
    from poplite.compile.compiler import plan_memory

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # for cycles, which are not printed here
        needed = plan_memory(graph, programs).including_gaps
    limit = graph.target.tile_memory_bytes
    if needed.most > limit:
        what = f"tile {needed.worst_tile:,} needs {needed.most:,} B, but has {limit:,} B"
        print(f"poplite: does not fit according to the model: {what}", file=sys.stderr)


def _ipu_command(commands: Commands) -> None:
    """Add the subcommand `ipu` and its subcommands."""
    parser = commands.add_parser("ipu", help="commands that need Poplar's SDK: selftest")
    below: Commands = parser.add_subparsers(metavar="WHAT", required=True)
    add_subcommand(below, _selftest_command)


def _selftest_command(parser: argparse.ArgumentParser) -> None:
    """Compare the SDK's IPU Model and hardware with the simulator.

    Compile codelets and a host program with the SDK, run them with random data on the IPU Model and
    on hardware, and print a comparison with the simulator's results, as a table to paste into an
    issue.
    """
    parser.add_argument(
        "--kind",
        choices=("model", "hardware"),
        action="append",
        help="use only this device (default: both)",
    )
    parser.add_argument("--arch", help="hardware architecture: ipu2 or ipu21 (default: ipu2)")
    set_run(parser, _selftest)


def _selftest(arguments: argparse.Namespace) -> int:
    import poplite
    from poplite.ipu.building import find_sdk
    from poplite.ipu.device import Device
    from poplite.ipu.selftest import selftest, selftest_text

    sdk = find_sdk()

    def device(kind: str) -> Device:
        arch = arguments.arch if kind == "hardware" else None
        return Device("model" if kind == "model" else "hardware", arch=arch, sdk=sdk)

    outcomes = selftest(arguments.kind or ("model", "hardware"), device)
    print(f"poplite {poplite.__version__}, Python {sys.version.split()[0]}, {sdk.version()}\n")
    print(selftest_text(outcomes))
    return 0 if all(each.is_equal for each in outcomes) else 1


def _explain_command(parser: argparse.ArgumentParser) -> None:
    """Explain an error: its meaning, a program that gives it, and the message."""
    parser.add_argument(
        "name", metavar="NAME", help="a class or its name in Poplar, such as GraphCycleError"
    )
    set_run(parser, _explain)


def _explain(arguments: argparse.Namespace) -> int:
    page = (Path(__file__).parent / "errors.md").read_text("utf-8")
    sections = re.split(r"^## ", page, flags=re.M)[1:]
    by_name = {section.partition("\n")[0]: section for section in sections}
    preface, classes = _meant(arguments.name, by_name)
    if not classes:
        raise UnknownName(
            f"there is no error class {arguments.name!r}{did_you_mean(arguments.name, by_name)}",
            at=None,
            found=f"classes: {', '.join(by_name)}",
            fix=f"poplite explain {closest(arguments.name, by_name) or 'GraphCycleError'}",
        )
    text = "".join(by_name[each] for each in classes)
    write_stdout(preface + re.sub(r"^```\w*\n", "", text, flags=re.M).strip() + "\n")
    return 0


def _meant(written: str, known: Iterable[str]) -> tuple[str, list[str]]:
    """Return the classes that a name of poplite or of Poplar means, and a line to put first."""
    name = re.split(r"\.|::", written.partition("[")[0])[-1]  # also as tracebacks write it
    by_spelling = {each.lower(): each for each in known}
    ours = by_spelling.get(name.lower().replace("_", ""))
    if ours is None and name == errors.PopliteError.poplar:
        ours = "PopliteError"
    if ours is None and name.startswith("FLOATING_POINT_"):
        ours = "FloatingPointTrap" if name in errors.ErrorCode.__members__ else None
    if ours is not None:
        return "", [ours]
    same = [
        each for each in by_spelling.values() if vars(getattr(errors, each)).get("poplar") == name
    ]
    absent = {**absent_names("poputil"), **absent_names("pl")}.get(name)
    if same or absent is None:
        return "", same
    reason, instead = absent
    near = [each for each in re.findall(r"pl\.(\w+)", instead) if each in by_spelling.values()]
    return f"poplite has no {name}: {reason}.\n\n", near


def _doctor_command(parser: argparse.ArgumentParser) -> None:
    """Check the installation: versions, optional packages, the folder of compiled vertices."""
    set_run(parser, doctor)


def _cache_command(parser: argparse.ArgumentParser) -> None:
    """Show or delete compiled vertices.

    Compiled vertices are kept in a folder of the user, so that a later process does not compile
    them again. Deleting them is always safe.
    """
    parser.add_argument("what", metavar="WHAT", choices=("info", "clear"), help="info or clear")
    set_run(parser, _cache)


def _cache(arguments: argparse.Namespace) -> int:
    from poplite.jit.object_cache import cache_folder, cached_files

    is_clear = arguments.what == "clear"
    try:
        files = cached_files()
        size = sum(file.stat().st_size for file in files)
        if is_clear:
            for file in files:
                file.unlink(missing_ok=True)
    except (OSError, RuntimeError) as error:
        verb = "delete" if is_clear else "read"
        raise file_error(
            f"cannot {verb} compiled vertices: {error}", fix="poplite doctor"
        ) from error
    done = "deleted " if is_clear else ""
    write_stdout(f"{done}{amount(len(files), 'compiled file')}, {size:,} B, {cache_folder()}\n")
    return 0


def _completion_command(parser: argparse.ArgumentParser) -> None:
    """Print a script by which a shell completes commands.

    Save the script where the shell looks for scripts; its first lines say where.
    This needs pip install 'poplite[completion]'.
    """
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))
    parser.add_argument(
        "of",
        metavar="OF",
        nargs="?",
        choices=("poplite", "poplite-viz"),
        default="poplite",
        help="the command: poplite (default) or poplite-viz",
    )
    set_run(parser, _completion)


def _completion(arguments: argparse.Namespace) -> int:
    parser = _parser(whole=True) if arguments.of == "poplite" else parser_of_viz()
    write_stdout(completion_script(parser, arguments.shell))
    return 0


# -- poplite run -----------------------------------------------------------------------------------
# Each program of a target is run once, on the simulator or on the ranks of an MPI job.
#
#     poplite run heat.py:build             in this process
#     poplite run -n 4 heat.py:build        in four processes, which mpiexec starts
# Streams get zeros, as in `poplite-viz report --run`. If control flow depends on unwritten data,
# nothing is run; with ranks, one process checks this before they start.


def _run_command(parser: argparse.ArgumentParser) -> None:
    """Run the programs of a graph once, in one process or on the ranks of an MPI job.

    Run each program once, with zeros in its streams, and print the report. With -n, the tiles are
    divided among ranks, with the same values and cycles; this needs pip install 'poplite[mpi]'.
    """
    add_target(parser)
    parser.add_argument(
        "-n", dest="ranks", metavar="RANKS", type=number_from(1, "ranks"), help="number of ranks"
    )
    parser.add_argument("--on-ranks", action="store_true", help=argparse.SUPPRESS)
    set_run(parser, _run)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.ranks is not None and not arguments.on_ranks:
        return _start(arguments)
    if arguments.on_ranks:
        return _run_on_ranks(arguments)
    print(_ran_here(arguments))
    return 0


def _ran_here(arguments: argparse.Namespace) -> Report:
    """Return the report of one run of each program; raise if the control flow is unknown."""
    from poplite.tools.viz.running import Once, run_each

    once = Once(*load_programs(arguments.target, arguments.given), may_overflow=False)
    once.run(run_each)
    _check_known(once, arguments.target)
    return replace(once.engine.report(), note=once.note)


def _check_known(once: Once, target: str) -> None:
    """Raise if control flow is unknown; print a note if it depends on zeros in place of data."""
    if once.unknown is not None:
        raise once.unknown.error
    if once.note:
        print(f"poplite: {target} is run {once.note}", file=sys.stderr)


def _run_on_ranks(arguments: argparse.Namespace) -> int:
    from poplite.mpi.device import Device
    from poplite.simulator.engine import Engine
    from poplite.tools.viz.running import run_each

    device = Device()  # before any step can fail on one rank alone
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
    """Start the ranks, each of which runs this command."""
    program = mpiexec()
    if program is None:
        raise DeviceRuntimeError(
            "cannot find mpiexec",
            at=None,
            found=f"it is neither next to {sys.executable}, nor next to mpi4py, nor on PATH",
            fix="run pip install 'poplite[mpi]', which installs it",
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
            assert isinstance(process.stdout, io.BufferedReader), "it is a pipe"
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
    """Return a function that makes a new process end when its parent is killed, on Linux."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl  # before the fork: a child must not load libraries

    def end_with_parent() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # the parent was killed before `prctl` was called
            os.kill(os.getpid(), signal.SIGTERM)

    return end_with_parent


@contextlib.contextmanager
def _ending(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """End `mpiexec`, and thereby its ranks, if Ctrl-C or SIGTERM reaches only this process."""
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
    """Reject programs whose control flow is unknown, before ranks run them."""
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
    """Return the path of `mpiexec`: next to Python or mpi4py, where pip puts it, or on PATH."""
    places = [Path(sys.executable).parent]
    found = importlib.util.find_spec("mpi4py")
    if found is not None and found.origin is not None:
        places.append(Path(found.origin).parents[4] / "bin")
    # Links are resolved, since the programs that `mpiexec` starts are next to their target.
    installed = [
        os.path.realpath(place / "mpiexec") for place in places if (place / "mpiexec").exists()
    ]
    return installed[0] if installed else shutil.which("mpiexec")


def _environment(program: str) -> dict[str, str]:
    """Return an environment for ranks, in which mpi4py finds the library of `mpiexec`."""
    library = str(Path(program).resolve().parents[1] / "lib")
    paths = [library, os.environ.get("LD_LIBRARY_PATH", "")]
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(filter(None, paths))}


if __name__ == "__main__":
    sys.exit(main())
