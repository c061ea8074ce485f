"""Engines: made of others, grown by programs, on devices, with classes from wherever."""

from __future__ import annotations

import json
import os
import py_compile
import shutil
import subprocess
import sys
import zipapp
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import deep, thinned
from helpers.rank_cases import connected, stateful
from helpers.running import both_forms
from poplite import ops
from poplite.compile.options import EngineOptions
from poplite.executable.executable import meaning_of
from poplite.simulator.engine import Simulated, Simulator
from poplite.simulator.engine_arguments import Setup, Source


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
    with pytest.raises(pl.ControlProgramError, match="(?s)of the same graph.*variable 'y'.*'x'"):
        pl.Engine(graph, bump, state=pl.Engine(alien, pl.Copy(y[:1], y[1:2])))
    three, _, bump_of_three = counting(replicas=3)
    with pytest.raises(pl.ControlProgramError, match="3 replicas, and this engine 1"):
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
    with pytest.raises(pl.ControlProgramError, match="there is already a program '0'"):
        engine.add_program(bump, "0")
    y = graph.add_variable(pl.INT, (5,), "y")
    with pytest.raises(pl.InvalidTileMapping, match="'y'"):
        engine.add_program(pl.Copy(x, y))
    engine.run()
    assert engine.read(x).tolist() == [2, 3, 4, 5, 6]
    graph.create_host_read("x", x)
    loaded = pl.Engine(pl.compile_graph(counting()[0], pl.Sequence()))
    with pytest.raises(
        pl.ControlProgramError, match="no graph with which to compile more programs"
    ):
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
from poplite.jit.cache_key import digest_of_sources
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
        "Python does not store text that is typed at this prompt, or piped into it",
        "put it into a file, a notebook cell, or python -c",
    )
    for arguments in ([], ["-"]):
        assert run(tmp_path, *arguments, text=CLASS + USE).endswith(piped)


def test_a_prompt_inside_of_a_program(tmp_path: Path) -> None:
    typed = "import poplite as pl\nclass Work(pl.Vertex):\n  def compute(self): pass\n\n"
    typed += "from poplite.vertex.compute.meaning import check\ncheck(Work)\n"
    told = run(tmp_path, "-c", "import code; code.interact()", text=typed)
    assert "'Work.compute': there is no source text to check  (<console>:1)" in told
    assert "typed at this prompt" in told


def test_a_program_made_from_a_string(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(f"exec({CLASS + USE!r})")
    fix = "put it into a file or a notebook cell"
    told = refused("<string>", "it was created from a string", fix)
    assert run(tmp_path, "program.py").endswith(told)


@deep
def test_a_string_made_by_a_command_is_not_taken_for_the_command(tmp_path: Path) -> None:
    fix = "put it into a file or a notebook cell"
    told = refused("<string>", "it was created from a string", fix)
    assert run(tmp_path, "-c", f"exec({CLASS + USE!r})").endswith(told)


def test_a_module_without_its_text(tmp_path: Path) -> None:
    (tmp_path / "vertices.py").write_text(CLASS)
    py_compile.compile(str(tmp_path / "vertices.py"), cfile=str(tmp_path / "vertices.pyc"))
    (tmp_path / "vertices.py").unlink()
    (tmp_path / "program.py").write_text("from vertices import *\n" + USE)
    found = f"'{tmp_path / 'vertices.py'}' does not exist, only its byte code"
    told = refused("vertices.py", found, "store the .py file with the program")
    assert run(tmp_path, "program.py").endswith(told)


# -- states as files -------------------------------------------------------------------------------


GRAPH, PROGRAM, TENSORS = stateful()


def engine_of(**options: Any) -> pl.Engine:
    options = {"interpret": True} | options  # compiling takes longer than all of these tests
    return connected(pl.Engine(GRAPH, PROGRAM, checks="fast", **options))


def held(engine: pl.Engine) -> list[Any]:
    values = [*map(engine.read, TENSORS), engine.copy_from_remote_buffer("table", 2)]
    return [*(each.tobytes() for each in values), engine.report().to_json()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    engine = engine_of(seed=5)
    engine.run()
    engine.save_state(path := tmp_path / "run.state")
    return path


@pytest.mark.parametrize("interpret", thinned([True, False], keep=[True]))
def test_who_loads_a_state_goes_on_as_who_saved_it(tmp_path: Path, interpret: bool) -> None:
    first, second = engine_of(seed=5, interpret=interpret), engine_of(interpret=interpret)
    first.run()
    first.save_state(path := tmp_path / "run.state")
    second.run()
    second.run()
    second.load_state(path)
    for _ in range(2):  # also the random bits and the positions of streams
        assert held(second) == held(first)
        first.run()
        second.run()
    assert held(second) == held(first)
    second.load()
    third = engine_of(interpret=interpret)
    second.run()
    third.run()
    assert held(second)[:3] == held(third)[:3]  # its own seed again


@pytest.mark.parametrize(
    ("seed", "is_same"), [({}, True), ({"seed": 5}, True), ({"seed": 6}, False)]
)
def test_an_engine_that_goes_on_has_the_seed_of_the_other(seed: Any, is_same: bool) -> None:
    first = engine_of(seed=5)
    first.run()
    second = engine_of(state=first, **seed)
    first.connect_stream("in", np.arange(24, dtype=np.int32))  # from its first block again
    first.run()
    second.run()
    assert all(np.array_equal(first.read(x), second.read(x)) for x in TENSORS) == is_same


def test_strict_checks_know_what_was_written(tmp_path: Path) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x, y = (graph.add_variable(pl.INT, (2,), name, mapping=0) for name in "xy")
    first, second = (pl.Engine(graph, pl.Copy(x, y), checks="strict") for _ in range(2))
    first.write(x[:1], [1])
    first.run()
    first.save_state(path := tmp_path / "run.state")
    second.load_state(path)
    assert second.read(y[:1]).tolist() == [1]
    with pytest.warns(pl.UninitializedWarning, match="nothing has written 1 of 2 elements"):
        second.read(y)


def changed(path: Path, change: Callable[[dict[str, Any]], object], **members: bytes) -> None:
    """Write a state anew, with another manifest and other members."""
    with zipfile.ZipFile(path) as old:
        content = {name: old.read(name) for name in old.namelist()}
    manifest = json.loads(content["manifest.json"])
    change(manifest)
    content |= {name.replace("_", "/"): data for name, data in members.items()}
    content["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(path, "w") as new:
        for name, data in content.items():
            new.writestr(name, data)


def keep(manifest: dict[str, Any]) -> None:
    """Leave a manifest as it is."""


WRONG: list[tuple[str, Callable[[dict[str, Any]], object]]] = [
    ("its header is not that of a poplite state", lambda m: m.update(kind="x")),
    ("it has format 1, but this version of poplite reads 2", lambda m: m.update(format=1)),
    ("is not a valid SavedState", lambda m: m.pop("remote")),
    (r"graph\[0\]: 3 is not a valid list", lambda m: m.update(graph=[3])),
    ("program '0' is another", lambda m: m["graph"][-3].__setitem__(1, "00")),
    ("its replicas are not those of its graph", lambda m: m.update(replicas=2)),
    ("different vertices were counted", lambda m: m.update(counted=[])),
    ("ended: -1 is not an integer of at least 0", lambda m: m.update(ended=-1)),
    ("never use floating-point mode 77", lambda m: m["words"].__setitem__(0, 77)),
    ("its floating-point state is not valid", lambda m: m.update(words=[])),
    ("its streams are not those of its graph", lambda m: m.update(streams=[])),
    ("its streams are not those of its graph", lambda m: m.update(streams=[["in", []]])),
    ("0.5 is not of type int", lambda m: m.update(streams=[["in", [0.5]]])),
    ("loaded: 7 is not a valid list", lambda m: m.update(loaded=7)),
    ("the code of 'q', which it lists, can never be loaded", lambda m: m.update(loaded=["q"])),
    ("its ended is too large, 4,611,686,018,427,387,904", lambda m: m.update(ended=1 << 62)),
    (
        "its runs_again is too large, 2,305,843,009,213,693,952",
        lambda m: m.update(runs_again=1 << 61),
    ),
]


@pytest.mark.parametrize(("message", "change"), WRONG)
def test_what_cannot_be_is_refused(
    path: Path, message: str, change: Callable[[dict[str, Any]], object]
) -> None:
    engine = engine_of()
    before = held(engine)
    changed(path, change)
    with pytest.raises(pl.FileLoadError, match=message):
        engine.load_state(path)
    assert held(engine)[:4] == before[:4]


def test_members_that_cannot_be_are_refused(path: Path) -> None:
    engine, whole = engine_of(), path.read_bytes()
    rest = b"\0" * (accounts_of(path) - 8)
    for message, members in (
        ("its member 'memory/1' is unknown", {"memory_1": b""}),
        ("its member 'memory/0' must have .* B; found 1 B", {"memory_0": b"x"}),
        ("its accounts have a negative number", {"accounts": b"\xff" * accounts_of(path)}),
        ("its accounts have more than 4,5", {"accounts": b"\0" * 7 + b"\x3f" + rest}),
        ("its accounts have more than 4,5", {"accounts": b"\xff" * 6 + b"\0\0" + rest}),
        ("its accounts have more than 4,5", {"accounts": rest + b"\0" * 7 + b"\x3f"}),
        ("its member 'other' is not one of a poplite state", {"other": b""}),
        ("'flags' contains numbers other than 0 and 1", {"memory_0": b"\x02" * memory_of(path)}),
    ):
        changed(path, keep, **members)
        with pytest.raises(pl.FileLoadError, match=message):
            engine.load_state(path)
        path.write_bytes(whole)


def test_vertices_were_counted_where_rows_ran(path: Path) -> None:
    with zipfile.ZipFile(path) as file:
        accounts = np.frombuffer(file.read("accounts"), np.int64)
        counted = json.loads(file.read("manifest.json"))["counted"]
    rows, places = len(accounts) - sum(words for *_, words in counted), np.arange(len(accounts))
    assert accounts[rows] == 1  # the first word of what is counted: how often
    for wrong in (places < rows, places == rows):
        changed(path, keep, accounts=np.where(wrong, 0, accounts).tobytes())
        with pytest.raises(
            pl.FileLoadError, match="count vertices of a row of program '0' that never ran"
        ):
            engine_of().load_state(path)


def memory_of(path: Path) -> int:
    with zipfile.ZipFile(path) as file:
        return file.getinfo("memory/0").file_size


def accounts_of(path: Path) -> int:
    with zipfile.ZipFile(path) as file:
        return file.getinfo("accounts").file_size


def test_damaged_files_are_refused_or_hold_the_same(path: Path) -> None:
    engine, whole = engine_of(), path.read_bytes()
    before = held(engine)
    engine.load_state(path)
    right = held(engine)
    engine.load()
    damaged = [whole[: len(whole) // 2], b"", *_flipped(whole)]
    for content in damaged:
        path.write_bytes(content)
        try:
            engine.load_state(path)
        except pl.FileLoadError:
            assert held(engine)[:4] == before[:4]
        else:  # dates and the like
            assert held(engine) == right
            engine.load()


def _flipped(whole: bytes) -> list[bytes]:
    """Return files of which one bit is another."""
    at = np.linspace(0, len(whole) - 1, 60).astype(int)
    return [whole[:k] + bytes([whole[k] ^ 16]) + whole[k + 1 :] for k in at]


def test_a_state_of_another_graph_or_constant_is_refused(path: Path) -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.INT, (8,), "x", mapping="linear")
    with pytest.raises(pl.FileLoadError, match="'more' is in place of step 0") as caught:
        pl.Engine(graph, pl.Copy(x[:4], x[4:]), checks="fast").load_state(path)
    assert "try: use an engine with the same graph" in str(caught.value)

    engines = []
    for value in (1, 2):
        graph = pl.Graph(pl.Target(tiles=1))
        y = graph.add_variable(pl.INT, (), "y", mapping=0)
        constant = graph.add_constant(pl.INT, (), value, name="k", mapping=0)
        engines.append(pl.Engine(graph, pl.Copy(constant, y)))
    engines[0].save_state(path)
    with pytest.raises(pl.FileLoadError, match="values of constant 'k' is another"):
        engines[1].load_state(path)


def test_programs_mean_the_same_in_all_forms() -> None:
    forms = [pl.compile_graph(GRAPH, PROGRAM, "fast", interpret=each) for each in (False, True)]
    compiled, interpreted = (dict(meaning_of(each)) for each in forms)
    assert compiled == interpreted
    rows = [len(each.programs["0"].ops) for each in forms]
    assert rows[0] < rows[1]

    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (9, 8), "x", mapping=0, initial_value=1)
    program = pl.Sequence()
    pl.ops.map(pl.ops.reduce(x[:, :3], 0, "add"), program=program)
    forms = [pl.compile_graph(graph, program, "fast", interpret=each) for each in (False, True)]
    compiled, interpreted = (dict(meaning_of(each)) for each in forms)
    (other,) = (name for name, found in compiled.items() if found != interpreted[name])
    assert other.endswith("whose rows compiled code reads in place,")


@deep
def test_an_engine_goes_on_in_another_form(tmp_path: Path) -> None:
    first, second, third = (engine_of(seed=5, interpret=each) for each in (False, True, False))
    first.run()
    first.save_state(path := tmp_path / "run.state")
    second.load_state(path)
    for engine in (first, second):
        engine.run()
    second.save_state(path)
    third.load_state(path)
    for engine in (first, third):
        engine.run()
    assert held(third) == held(first)


def test_arrays_must_be_connected_before(path: Path) -> None:
    engine = pl.Engine(GRAPH, PROGRAM, checks="fast", interpret=True)
    with pytest.raises(pl.StreamConnectionError, match="'in' was at block 1 of an array") as caught:
        engine.load_state(path)
    assert "no array is connected to it" in str(caught.value)
    engine.connect_stream("in", np.zeros(8, np.int32))
    with pytest.raises(pl.StreamConnectionError, match="has 1 block"):
        engine.load_state(path)


def test_other_files_and_paths_are_refused(path: Path) -> None:
    engine = engine_of()
    with pytest.raises(pl.FileLoadError, match="cannot read"):
        engine.load_state(path.with_name("nowhere"))
    with pytest.raises(pl.FileLoadError, match="no file can have the name"):
        engine.load_state("a\0b")
    with pytest.raises(pl.ElementTypeError, match="7 is not a path"):
        engine.save_state(7)  # type: ignore[arg-type]
    with pytest.raises(pl.FileLoadError, match="there is no folder"):
        engine.save_state(path / "no" / "run.state")
    pl.Engine(pl.Graph(), pl.Sequence()).executable.save(path)
    with pytest.raises(pl.FileLoadError, match="cannot be loaded as a state of an engine"):
        engine.load_state(path)
