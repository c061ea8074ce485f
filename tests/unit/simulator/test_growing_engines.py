"""Engines: made of others, grown by programs, on devices, with classes from wherever."""

from __future__ import annotations

import os
import py_compile
import shutil
import subprocess
import sys
import zipapp
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import poplite as pl
from helpers.depth import deep, thinned
from helpers.running import both_forms
from poplite import ops
from poplite.compile.options import EngineOptions
from poplite.simulator.engine import Simulator
from poplite.simulator.engine_arguments import Setup, Source
from poplite.simulator.simulated import Simulated


class Bump(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] += 1


def counting(replicas: int = 1) -> tuple[pl.Graph, pl.Tensor, pl.Program]:
    """A graph whose program adds one to a variable."""
    graph = pl.Graph(pl.Target(tiles=2 * replicas, ipus=replicas), replication_factor=replicas)
    x = graph.add_variable(pl.INT, (5,), "x", mapping=0, initial_value=range(5))
    bump = graph.add_compute_set("bump")
    graph.add_vertex(bump, Bump, tile=0, x=x)
    return graph, x, pl.Execute(bump)


@both_forms
def test_an_engine_goes_on_where_another_one_is(interpret: bool) -> None:
    graph, x, bump = counting()
    first = pl.Engine(graph, bump, interpret=interpret)
    first.run()
    y = graph.add_variable(pl.INT, (5,), "y", mapping=1, initial_value=7)
    with graph.steps() as double:
        ops.assign(y, y + x)
    second = pl.Engine(graph, double, state=first, interpret=interpret)
    second.run()
    assert second.read(x).tolist() == [1, 2, 3, 4, 5]
    assert second.read(y).tolist() == [8, 9, 10, 11, 12]
    assert first.read(x).tolist() == [1, 2, 3, 4, 5]
    first.run()
    assert second.read(x).tolist() == [1, 2, 3, 4, 5]
    second.load()
    assert second.read(x).tolist() == [0, 1, 2, 3, 4]


def test_every_replica_goes_on() -> None:
    graph, x, bump = counting(replicas=3)
    first = pl.Engine(graph, bump)
    first.write(x, 10, replica=1)
    first.run()
    second = pl.Engine(graph, bump, state=first)
    second.run()
    assert second.read(x)[:, 4].tolist() == [6, 12, 6]


def test_constants_are_those_of_the_graph() -> None:
    graph, x, bump = counting()
    c = graph.add_constant(pl.INT, (5,), 1, "c", mapping=0)
    first = pl.Engine(graph, bump)
    with graph.steps() as add:
        ops.assign(x, x + c)
    second = pl.Engine(graph, add, state=first)
    second.run()
    assert second.read(x).tolist() == [1, 2, 3, 4, 5]


def test_unwritten_elements_stay_unwritten() -> None:
    graph, x, bump = counting()
    some = graph.add_variable(pl.INT, (5,), "some", mapping=0)
    first = pl.Engine(graph, bump, checks="strict")
    first.write(some[:3], 1)
    with graph.steps() as add:
        ops.assign(x[:3], x[:3] + some[:3])
    with graph.steps() as all_of_it:
        ops.assign(x, x + some)
    second = pl.Engine(graph, [add, all_of_it], checks="strict", state=first)
    second.run(0)
    with pytest.raises(pl.UninitializedReadError, match="'some'"):
        second.run(1)
    unchecked = pl.Engine(graph, bump, checks="fast", state=first)
    third = pl.Engine(graph, [add, all_of_it], checks="strict", state=unchecked)
    third.run(1)  # nobody looked, so all counts as written


def test_rows_of_remote_buffers_go_on() -> None:
    graph, x, bump = counting()
    rows = graph.add_remote_buffer("rows", pl.INT, 5, 2)
    first = pl.Engine(graph, pl.Sequence(bump, pl.Copy(x, rows)))
    first.run()
    second = pl.Engine(graph, pl.Copy(rows, x), state=first)
    assert second.copy_from_remote_buffer("rows").tolist() == [1, 2, 3, 4, 5]


def test_state_of_something_else_is_refused() -> None:
    graph, x, bump = counting()
    other, *_ = counting()
    other.add_variable(pl.INT, (3,), "more", mapping=0)
    with pytest.raises(pl.ControlProgramError, match="state <Graph .* is not an engine"):
        pl.Engine(graph, bump, state=graph)  # type: ignore[arg-type]
    alien = pl.Graph(pl.Target(tiles=2))
    y = alien.add_variable(pl.INT, (5,), "y", mapping=0)
    with pytest.raises(pl.ControlProgramError, match="(?s)another graph.*variable 'y'.*'x'"):
        pl.Engine(graph, bump, state=pl.Engine(alien, pl.Copy(y[:1], y[1:2])))
    three, _, bump_of_three = counting(replicas=3)
    with pytest.raises(pl.ControlProgramError, match="3 replicas, and here are 1"):
        pl.Engine(graph, bump, state=pl.Engine(three, bump_of_three))


class Stop(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        self.x[self.x[4] + 4] = 0


def test_undefined_memory_is_not_taken_over() -> None:
    graph, x, _ = counting()
    stop = graph.add_compute_set("stop")
    graph.add_vertex(stop, Stop, tile=0, x=x)
    first = pl.Engine(graph, pl.Execute(stop), checks="fast")
    with pytest.raises(pl.TensorIndexError):
        first.run()
    with pytest.raises(pl.ControlProgramError, match="Engine: state: memory is undefined"):
        pl.Engine(graph, pl.Execute(stop), state=first)


# -- programs that are added -----------------------------------------------------------------------


@both_forms
def test_a_program_is_added(interpret: bool) -> None:
    graph, x, bump = counting()
    engine = pl.Engine(graph, {"bump": bump}, interpret=interpret)
    engine.run("bump")
    y = graph.add_variable(pl.INT, (5,), "y", mapping=1)
    with graph.steps() as square:
        ops.assign(y, x * x)
    engine.add_program(square, "square")
    engine.add_program(pl.Copy(y, x))
    engine.run("square")
    engine.run("2")
    engine.run("bump")
    assert engine.read("x").tolist() == [2, 5, 10, 17, 26]
    assert list(engine.executable.programs) == ["bump", "square", "2"]


def test_connections_and_options_remain() -> None:
    graph, x, bump = counting()
    stream = graph.add_host_to_device_fifo("in", pl.INT, 5)
    out = graph.add_device_to_host_fifo("out", pl.INT, 5)
    sort = graph.add_host_function("sort", [(pl.INT, 5)], [(pl.INT, 5)])
    program = pl.Sequence(pl.Copy(stream, x), pl.Call(sort, [x], [x]), pl.Copy(x, out))
    engine = pl.Engine(graph, program, checks="fast", seed=3)
    taken: list[list[int]] = []
    engine.connect_stream_to_callback("in", lambda block: block.fill(1))
    engine.connect_stream("in", np.array([5, 3, 4, 1, 2], np.int32))
    engine.connect_stream_to_callback("out", lambda block: taken.append(block.tolist()))
    engine.connect_host_function("sort", lambda i, o: np.copyto(o[0], np.sort(i[0])))
    engine.add_program(bump, "bump")
    engine.run()
    engine.run("bump")
    assert taken == [[1, 2, 3, 4, 5]]
    assert engine.read(x).tolist() == [2, 3, 4, 5, 6]
    assert engine.checks == "fast"


def test_what_cannot_be_added_leaves_the_engine_as_it_was() -> None:
    graph, x, bump = counting()
    engine = pl.Engine(graph, bump)
    engine.run()
    with pytest.raises(pl.ControlProgramError, match="there is a program '0' already"):
        engine.add_program(bump, "0")
    y = graph.add_variable(pl.INT, (5,), "y")
    with pytest.raises(pl.InvalidTileMapping, match="'y'"):
        engine.add_program(pl.Copy(x, y))
    engine.run()
    assert engine.read(x).tolist() == [2, 3, 4, 5, 6]
    graph.create_host_read("x", x)
    loaded = pl.Engine(pl.compile_graph(counting()[0], pl.Sequence()))
    with pytest.raises(pl.ControlProgramError, match="no graph to compile others"):
        loaded.add_program(bump)


# -- an engine runs on the device that it is given, and knows no other -----------------------------


class Remembering(Simulator):
    """The simulator, which remembers what it was asked to load."""

    def __init__(self) -> None:
        self.loaded: list[Simulated] = []

    def options(self, asked: EngineOptions) -> EngineOptions:
        return replace(asked, checks="none")

    def load(self, source: Source, setup: Setup) -> Simulated:
        self.loaded.append(super().load(source, setup))
        return self.loaded[-1]


def copied() -> tuple[pl.Graph, pl.Tensor, pl.Program]:
    graph = pl.Graph(pl.Target(tiles=1))
    a = graph.add_variable(pl.INT, (3,), "a", mapping=0, initial_value=[1, 2, 3])
    b = graph.add_variable(pl.INT, (3,), "b", mapping=0)
    return graph, b, pl.Copy(a, b)


def test_a_device_loads_and_decides_options() -> None:
    graph, b, program = copied()
    device = Remembering()
    engine = pl.Engine(graph, program, device=device)
    engine.run()
    assert engine.read(b).tolist() == [1, 2, 3]
    assert engine.checks == "none"
    assert device.loaded[0].runs.ended == 1


def test_an_engine_that_grows_stays_on_its_device() -> None:
    graph, b, program = copied()
    device = Remembering()
    engine = pl.Engine(graph, program, device=device)
    engine.add_program(pl.Sequence(), "again")
    engine.run("again")
    assert [each.runs.ended for each in device.loaded] == [0, 1]


def test_what_is_no_device_is_refused() -> None:
    graph, _, program = copied()
    with pytest.raises(pl.ControlProgramError, match="device 'hardware' is not a device"):
        pl.Engine(graph, program, device="hardware")  # type: ignore[arg-type]


# -- vertex classes from wherever Python takes a program: they run, or an error says why not -------


CLASS = """
import poplite as pl

class Work(pl.Vertex):
    x: pl.InOut[pl.INT]

    @staticmethod
    def two() -> int:
        return 2

    def compute(self) -> None:
        assert self.x > 0, f"x is {self.x}"
        self.x += self.two()
"""
USE = """
for interpret in (False, True):
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (), "x", mapping=0, initial_value=5)
    work = graph.add_compute_set("work")
    vertex = graph.add_vertex(work, Work, tile=0, x=x)
    options = {"debug.instrument": False}  # no prices, which would be compiled
    engine = pl.Engine(graph, pl.Execute(work), interpret=interpret, options=options)
    engine.run()
    print(engine.read(x))
    engine.write(x, -1)
    try:
        engine.run()
    except AssertionError as error:
        print(error.what, error.at)
"""
TOLD = 2 * "7\nvertex 0 of 'Work' on tile 0: AssertionError: x is -1 {place}:12 in compute\n"


def run(folder: Path, *arguments: str, text: str = "") -> str:
    """Run Python in a folder, and return what it printed, errors behind.

    Without what is told while compiling, which depends on how busy the computer is.
    """
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stderr.splitlines(keepends=True)
    return done.stdout + "".join(line for line in lines if "poplite: compiling" not in line)


@pytest.mark.parametrize(
    "options",
    thinned([["-X", "utf8", "-W", "error", "-uc"], ["-c"], ["-Bc"], ["-Xutf8", "-c"]], keep=1),
)
def test_a_command_with_any_options(options: list[str], tmp_path: Path) -> None:
    assert run(tmp_path, *options, CLASS + USE) == TOLD.format(place="<string>")


@deep
def test_a_command_in_the_word_of_its_option(tmp_path: Path) -> None:
    assert run(tmp_path, f"-c{CLASS}{USE}", "-c", "other") == TOLD.format(place="<string>")


def test_a_module_of_a_package(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    (tmp_path / "package" / "vertices.py").write_text(CLASS)
    (tmp_path / "package" / "program.py").write_text(
        "import poplite as pl\nfrom package.vertices import Work\n" + USE
    )
    place = os.path.join("package", "vertices.py")
    assert run(tmp_path, "-m", "package.program") == TOLD.format(place=place)


def test_a_program_in_a_zip_file(tmp_path: Path) -> None:
    (tmp_path / "program").mkdir()
    (tmp_path / "program" / "__main__.py").write_text("from vertices import *\n" + USE)
    (tmp_path / "program" / "vertices.py").write_text(CLASS)
    zipapp.create_archive(tmp_path / "program", tmp_path / "program.pyz")
    place = os.path.join("program.pyz", "vertices.py")
    assert run(tmp_path, "program.pyz") == TOLD.format(place=place)


SOURCES = """
from poplite.jit.object_cache import digest_of_sources
print(digest_of_sources("poplite.simulator.compiled_parts"))
"""


@deep
def test_the_package_itself_in_a_zip_file(tmp_path: Path, root: Path) -> None:
    """Cached code is named by the text of the package, which is read from the zip file."""
    shutil.copytree(root / "poplite", tmp_path / "all" / "poplite", symlinks=False)
    (tmp_path / "all" / "__main__.py").write_text(CLASS + USE + "print(pl.__file__)\n" + SOURCES)
    zipapp.create_archive(tmp_path / "all", tmp_path / "all.pyz")
    lines = run(tmp_path, "all.pyz").splitlines(keepends=True)
    assert "".join(lines[:4]) == TOLD.format(place=os.path.join("all.pyz", "__main__.py"))
    assert os.path.join("all.pyz", "poplite", "__init__.py") in lines[4]
    assert lines[5] == run(tmp_path, "-c", SOURCES)


PROMPT = """
import os, pty, sys
process, terminal = pty.fork()
if not process:
    os.execv(sys.executable, [sys.executable, "-q", "-i"])
os.write(terminal, open("typed.py", "rb").read())
shown = b""
try:
    while part := os.read(terminal, 65536):
        shown += part
except OSError:  # Linux says so at the end
    pass
print(shown.decode())
"""


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="this prompt keeps its text by itself")
def test_the_prompt_of_a_terminal(tmp_path: Path) -> None:
    pytest.importorskip("pty")
    pytest.importorskip("readline")
    typed = "import poplite as pl\n" + CLASS.split("as pl\n\n")[1].replace("\n\n", "\n") + "\n"
    typed += "class Other(pl.Vertex):\n    def compute(self):\n        pass\n\n"
    typed += (
        "graph = pl.Graph(pl.Target(tiles=1)); work = graph.add_compute_set()\n"
        "x = graph.add_variable(pl.INT, (), 'x', mapping=0, initial_value=5)\n"
        "vertex = graph.add_vertex(work, Work, tile=0, x=x)\n"
        "engine = pl.Engine(graph, pl.Execute(work)); engine.run()\n"
        "print('fou' + 'nd', engine.read(x))\n"
        "import os; os._exit(0)  # and leave the user's history alone\n"
    )
    (tmp_path / "typed.py").write_text(typed)
    assert "found 7" in run(tmp_path, "-c", PROMPT)


def refused(place: str, found: str, fix: str) -> str:
    return (
        f"poplite.errors.VertexCompileError: 'Work.compute': there is no source text to check  "
        f"({place}:4)\n  {found}\n  try: {fix}\n"
    )


@deep
def test_a_program_that_is_piped_into_python(tmp_path: Path) -> None:
    piped = refused(
        "<stdin>",
        "Python keeps no text of what is typed at this prompt, or piped into it",
        "put it into a file, a notebook cell, or python -c",
    )
    for arguments in ([], ["-"]):
        assert run(tmp_path, *arguments, text=CLASS + USE).endswith(piped)


def test_a_prompt_inside_of_a_program(tmp_path: Path) -> None:
    typed = "import poplite as pl\nclass Work(pl.Vertex):\n  def compute(self): pass\n\n"
    typed += "from poplite.vertex.compute import check\ncheck(Work)\n"
    told = run(tmp_path, "-c", "import code; code.interact()", text=typed)
    assert "'Work.compute': there is no source text to check  (<console>:1)" in told
    assert "typed at this prompt" in told


def test_a_program_made_from_a_string(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(f"exec({CLASS + USE!r})")
    told = refused("<string>", "it was made from a string", "put it into a file or a notebook cell")
    assert run(tmp_path, "program.py").endswith(told)


@deep
def test_a_string_made_by_a_command_is_not_taken_for_the_command(tmp_path: Path) -> None:
    told = refused("<string>", "it was made from a string", "put it into a file or a notebook cell")
    assert run(tmp_path, "-c", f"exec({CLASS + USE!r})").endswith(told)


def test_a_module_without_its_text(tmp_path: Path) -> None:
    (tmp_path / "vertices.py").write_text(CLASS)
    py_compile.compile(str(tmp_path / "vertices.py"), cfile=str(tmp_path / "vertices.pyc"))
    (tmp_path / "vertices.py").unlink()
    (tmp_path / "program.py").write_text("from vertices import *\n" + USE)
    found = f"'{tmp_path / 'vertices.py'}' is not there, only its byte code"
    told = refused("vertices.py", found, "keep the .py file beside the program")
    assert run(tmp_path, "program.py").endswith(told)
