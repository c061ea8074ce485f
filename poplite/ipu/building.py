"""The C++ of a graph, codelets and host program: exported as files, or built for a device.

An SDK on another machine builds exported files. Files built here are stored in the user's cache
folder under a hash of all their dependencies. They appear atomically, so several processes may
share one folder. If the folder cannot be written, files are built in a temporary folder of the
process.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

from poplite.compile.checks import check_program
from poplite.compile.compiler import Programs, named_programs
from poplite.cpp.compilers import any_compiler
from poplite.errors import (
    ControlProgramError,
    DeviceRuntimeError,
    FileLoadError,
    VertexCompileError,
)
from poplite.files import checked_path, replacing
from poplite.frozen import frozen
from poplite.graph.compute_sets.edge_table import EdgeTables
from poplite.graph.graph import Graph
from poplite.ipu.linting import check_graph
from poplite.ipu.table_columns import Place
from poplite.ipu.tables import Tables, tables_of
from poplite.jit.build import no_collection
from poplite.jit.object_cache import cache_folder
from poplite.text import clipped

Checks = Literal["fast", "none"]


def export(
    graph: Graph,
    programs: Programs,
    folder: str | os.PathLike[str],
    *,
    checks: Checks = "none",
) -> Path:
    """Write a graph and its programs as C++ and tables, for a build on a machine with an SDK.

    Nothing is compiled. Equal graphs give identical files. Unchanged files are not rewritten, so
    they need not be built again. The README in the folder describes the next steps.

    Args:
        graph: the graph.
        programs: one program, a list of programs, or a dictionary of programs by name.
        folder: the output folder; created if it does not exist.
        checks: with "fast", an out-of-range index of a field stops the vertex and the program.

    Returns:
        The folder.

    Raises:
        ControlProgramError: for invalid `checks`, or an invalid graph or program.
        ExportError: for features not yet supported on real IPUs; the error gives the lines.
        VertexCompileError: for vertex classes that cannot become codelets.
        FileLoadError: if a file cannot be written.
        PopliteError: for any error in the program that can be found before a run.

    >>> import tempfile
    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> a, b = (graph.add_variable(pl.INT, (3,), name, mapping=0) for name in "ab")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = pl.ipu.export(graph, pl.Copy(a, b), folder)
    ...     print(*sorted(file.name for file in made.iterdir()))
    CMakeLists.txt README.md client.py codelets.cpp host.cpp places.json tables.bin
    """
    if not isinstance(checks, str) or checks not in get_args(Checks):
        raise ControlProgramError(
            f"export: checks must be 'fast' or 'none'; found {clipped(checks)}",
            found="a tile can only check indices, and does not track which elements are written",
            fix="leave out checks, and run the program with strict checks on the simulator",
        )
    target = checked_path(folder, "export", "exported")
    check_graph(graph, "export(graph, program, folder)")
    edges_of, named = EdgeTables(graph.space), named_programs(programs, "export(graph, {}, folder)")
    with no_collection():
        check_program(graph.top_level_graph, named, edges_of)
        tables = tables_of(graph, named, edges_of, stops_outside=checks == "fast")
    _make(target)
    contents = {
        "codelets.cpp": tables.codelets.text,
        "host.cpp": host_text("host.cpp"),
        "CMakeLists.txt": host_text("CMakeLists.txt"),
        "client.py": host_text("client.py.in"),
        "places.json": json.dumps(_places(tables), indent=1) + "\n",
        "README.md": _readme(tables),
    }
    for name, text in contents.items():
        _put(target / name, text.encode())
    _put(target / "tables.bin", tables.data)
    return target


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:  # ValueError: an invalid folder name
        raise FileLoadError(
            f"cannot make the folder {str(folder)!r}: {getattr(error, 'strerror', None) or error}",
            fix="export to a folder that you can create",
        ) from error


def _put(path: Path, content: bytes) -> None:
    if path.is_file() and path.read_bytes() == content:
        return
    with replacing(path) as file:
        file.write(content)


def _places(tables: Tables) -> dict[str, Any]:
    return {
        "mapping_bytes": tables.mapping_bytes,
        "programs": list(tables.programs),
        "streams": _by_name(tables.streams),
        "functions": {name: [*map(_place, each)] for name, each in tables.functions.items()},
        "reads": _by_name(tables.reads),
        "writes": _by_name(tables.writes),
    }


def _by_name(places: Mapping[str, Place]) -> dict[str, Any]:
    return {name: _place(each) for name, each in places.items()}


def _place(place: Place) -> dict[str, Any]:
    return {
        "offset": place.offset,
        "type": str(place.element_type.dtype),
        "shape": list(place.shape),
        "input": place.is_input,
    }


def _readme(tables: Tables) -> str:
    rows = ["| kind | name | elements |", "| --- | --- | --- |"]
    rows += [f"| program | `{name}` | |" for name in tables.programs]
    kinds = {"stream": tables.streams, "read": tables.reads, "write": tables.writes}
    for kind, places in kinds.items():
        for name, each in places.items():
            shape = " x ".join(map(str, each.shape)) or "1"
            rows.append(f"| {kind} | `{name}` | {each.element_type.dtype}, {shape} |")
    for name, arrays in tables.functions.items():
        listed = "; ".join(f"{array.element_type.dtype}, {array.num_elements}" for array in arrays)
        rows.append(f"| host function | `{name}` | {listed} |")
    text = host_text("README.md.in")
    text = text.replace("@RUN@", "".join(f" '{name}'" for name in tables.programs[:1]))
    text = text.replace("@WRITES@", next(iter(tables.writes), "NAME"))
    return text.replace("@TABLE@", "\n".join(rows))


# -- building --------------------------------------------------------------------------------------


LAST_LINES = 30
"""Number of lines of a compiler's output that an error shows."""


def built_file(name: str, parts: Sequence[object], build: Callable[[Path], None]) -> Path:
    """Return the cached file made from `parts`; `build` writes it if it does not exist.

    The file's name ends with `name`. Equal files must have parts with equal `repr`.
    """
    path = kept(name, parts)
    if not path.exists():
        with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
            made = Path(scratch) / name
            build(made)
            os.replace(made, path)
    return path


def kept(name: str, parts: Sequence[object]) -> Path:
    """Return the cache path of a file made from `parts`, whether or not it exists."""
    key = hashlib.sha256(repr(tuple(parts)).encode()).hexdigest()[:32]
    return _folder() / f"{key}-{name}"


def _folder() -> Path:
    try:
        folder = cache_folder() / "ipu"
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK | os.X_OK):
            return folder
    except (OSError, RuntimeError):  # there is no home, or the folder cannot be created
        pass
    return _own_folder()


@cache
def _own_folder() -> Path:
    """Return a temporary folder, which is deleted at exit."""
    folder = tempfile.mkdtemp(prefix="poplite-ipu-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def compile_with(command: Sequence[str | Path], what: str) -> None:
    """Run a compiler; `what` names the source in messages.

    Raises `VertexCompileError` with its output if it rejects the source, and `DeviceRuntimeError`
    if it cannot be started.
    """
    words = [os.fspath(word) for word in command]
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise DeviceRuntimeError(f"{words[0]} cannot be started: {error.strerror}") from error
    if done.returncode:
        lines = done.stdout.strip().splitlines()
        raise VertexCompileError(
            f"{what}: {Path(words[0]).name} ended with status {done.returncode}",
            found="\n".join(lines[:LAST_LINES]),
            fix=f"run the command yourself: {clipped(shlex.join(words), 400)}",
        )


# -- sources of the host program -------------------------------------------------------------------


FOLDER = files("poplite.ipu").joinpath("host")


def host_text(name: str) -> str:
    """Return the text of a source file that is the same for every graph."""
    return FOLDER.joinpath(name).read_text(encoding="utf-8")


def host_files() -> dict[str, str]:
    """Return the host program's sources by file name; only `host.cpp` is compiled."""
    names = sorted(each.name for each in FOLDER.iterdir() if each.is_file())
    return {name: host_text(name) for name in names if name.endswith((".cpp", ".hpp"))}


# -- Poplar's SDK ----------------------------------------------------------------------------------
#
#     POPLAR_SDK_ENABLED      the folder with bin, include and lib, which the SDK's enable.sh sets
#     popc on PATH            otherwise, the parent of its folder
# The host program is compiled once per version of the SDK, and codelets once per source.
# The authors have not run this.


VARIABLE = "POPLAR_SDK_ENABLED"

POPLAR_OPTIONS = ("POPLAR_ENGINE_OPTIONS", "POPLAR_TARGET_OPTIONS")
"""Environment variables that change how Poplar compiles a graph."""

HOST_FLAGS = ("-std=c++17", "-O1")
CODELET_FLAGS = ("-O3", "-ffp-contract=off")


class Toolchain(Protocol):
    """Builds the program that runs the tables."""

    def command(
        self, tables: Tables, folder: Path, shared: Path, kind: str, arch: str
    ) -> list[str]:
        """Return the command that starts the host program on tables, with a shared file.

        `folder` may be written to; codelets are compiled for `arch`; `kind` is "hardware" or
        "model".
        """


@frozen
class Sdk:
    """A Poplar SDK in a folder."""

    root: Path

    @staticmethod
    def at(root: Path) -> Sdk:
        """Return the SDK in a folder; raise `DeviceRuntimeError` if there is none."""
        if (root / "bin" / "popc").is_file():
            return Sdk(root.absolute())
        raise _missing(f"in {str(root)!r}", "bin/popc is missing")

    @property
    def popc(self) -> Path:
        """The compiler of codelets."""
        return self.root / "bin" / "popc"

    def version(self) -> str:
        """Return the output of `popc --version`."""
        try:
            done = subprocess.run(
                [self.popc, "--version"], capture_output=True, text=True, check=False
            )
        except OSError as error:
            raise DeviceRuntimeError(
                f"{self.popc} cannot be started: {error.strerror}",
                fix=f"set {VARIABLE} to the folder that contains bin/popc",
            ) from error
        return done.stdout.strip() or done.stderr.strip()

    def command(
        self, tables: Tables, folder: Path, shared: Path, kind: str, arch: str
    ) -> list[str]:
        """Return the command that starts the host program on tables, with a shared file."""
        version = self.version()
        tables.write(folder / "graph.tables")
        host = self.host(version)
        codelets = self.codelets(tables.codelets.text, arch, version)
        words = [host, folder / "graph.tables", codelets, shared, "--device", kind]
        if kind == "hardware":  # Poplar cannot save executables for its model
            digest = hashlib.sha256(tables.data).hexdigest()
            options = [os.environ.get(name, "") for name in POPLAR_OPTIONS]
            parts = (digest, codelets.name, host.name, *options)
            words += ["--executable", kept("executable", parts)]
        return [*map(str, words)]

    def codelets(self, text: str, arch: str, version: str) -> Path:
        """Return compiled codelets."""
        flags = (*CODELET_FLAGS, "--target", arch)

        def build(path: Path) -> None:
            source = path.with_name("codelets.cpp")
            source.write_text(text)
            compile_with([self.popc, *flags, source, "-o", path], "codelets")

        return built_file("codelets.gp", (text, flags, version), build)

    def host(self, version: str) -> Path:
        """Return the compiled host program."""
        compiler, texts = any_compiler(), host_files()
        library = self.root / "lib"
        links = (f"-L{library}", f"-Wl,-rpath,{library}", "-lpoplar", "-pthread")

        def build(path: Path) -> None:
            for name, text in texts.items():
                path.with_name(name).write_text(text)
            include = f"-I{self.root / 'include'}"
            source = path.with_name("host.cpp")
            words: list[str | Path] = [*compiler, *HOST_FLAGS, include, source, "-o", path, *links]
            compile_with(words, "the host program")

        return built_file("host", (texts, compiler, HOST_FLAGS, links, version), build)


def find_sdk() -> Sdk:
    """Return the SDK of this machine.

    Raises `DeviceRuntimeError` if there is none; its remedy is to set a variable or to export.
    """
    if root := os.environ.get(VARIABLE):
        return Sdk.at(Path(root))
    if popc := shutil.which("popc"):
        return Sdk(Path(popc).resolve().parent.parent)
    raise _missing("on this machine", f"{VARIABLE} is not set, and popc is not on PATH")


def _missing(where: str, found: str) -> DeviceRuntimeError:
    return DeviceRuntimeError(
        f"there is no Poplar SDK {where}",
        found=found,
        fix=f"source the SDK's enable.sh, which sets {VARIABLE}; or, for another machine, "
        "run poplite export FILE.py:build FOLDER",
    )
