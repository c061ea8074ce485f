"""Engines on a device, from Python to C++ and back: the stand-in of the SDK records and executes.

Host program and codelets are found, compiled and kept as with an SDK; results are those of the
simulator, bit by bit.
"""

from __future__ import annotations

import importlib
import io
import itertools
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.codelets import compiler
from helpers.depth import deep, thinned
from helpers.host_program import building, host_binary, library_of, stand_in_sdk
from helpers.mirrored import Mirrors
from helpers.running import script
from poplite.ipu import building as ipu_building
from poplite.ipu.building import host_text
from poplite.ipu.tables import tables_of
from poplite.named import transformer

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


@pytest.fixture(scope="module")
def sdk(host_cache: Path) -> Iterator[Path]:
    """An SDK that is the stand-in; what it compiles is kept beside it."""
    with building(host_cache) as made:
        yield made.root


class Slope(pl.Vertex):
    """Divided differences in HALF and FLOAT, with a state and an output that is not all written."""

    step: pl.State[pl.FLOAT]
    x: pl.Input[pl.Vector[pl.HALF]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x) - 1):
            self.y[i] = (self.x[i + 1] - self.x[i]) / self.step


class Program:
    """A graph with vertices, copies, a loop, streams, a print and an abort."""

    def __init__(self) -> None:
        self.graph = graph = pl.Graph(pl.Target(tiles=4))
        self.x = graph.add_variable(pl.HALF, (4, 6), "x", mapping="linear")
        self.y = graph.add_variable(pl.FLOAT, (4, 6), "y", mapping="linear", initial_value=0.5)
        self.bad = graph.add_variable(pl.BOOL, (), "bad", mapping=0, initial_value=False)
        work = graph.add_compute_set("work")
        for tile in range(4):
            row = self.x[tile].reverse(0) if tile == 2 else self.x[tile]
            graph.add_vertex(work, Slope, tile=tile, step=0.3 + tile, x=row, y=self.y[tile])
        into = graph.add_host_to_device_fifo("in", pl.HALF, 24)
        out = graph.add_device_to_host_fifo("out", pl.FLOAT, 24)
        graph.create_host_read("corner", self.y[2:, :2])
        step = pl.Sequence(pl.Copy(into, self.x), pl.Execute(work), pl.Copy(self.y, out))
        self.programs: dict[str, pl.Program] = {
            "main": pl.Repeat(3, step),
            "show": pl.PrintTensor("y", self.y[0]),
            "check": pl.AbortOnCondition(self.bad, "it is bad"),
        }

    def run(self, engine: pl.Engine) -> list[bytes]:
        """Return all that the host sees of one use of an engine."""
        rng = np.random.default_rng(3)
        blocks = rng.standard_normal((3, 24)).astype(np.float16)
        blocks[1, 5], blocks[2, 7] = np.inf, 6e-8
        taken: list[bytes] = []
        engine.connect_stream("in", blocks)
        engine.connect_stream_to_callback("out", lambda array: taken.append(array.tobytes()))
        engine.run("main")
        engine.print_stream = io.StringIO()
        engine.run("show")
        engine.write(self.y[1:3, ::2], -1.25)
        read = [engine.read(self.y), engine.read("corner"), engine.read(self.x[:, 3])]
        return [*taken, engine.print_stream.getvalue().encode(), *(each.tobytes() for each in read)]


@pytest.mark.parametrize("kind", ["hardware", "model"])
def test_a_device_gives_what_the_simulator_gives(sdk: Path, kind: Any) -> None:
    program = Program()
    engine = pl.Engine(
        program.graph, program.programs, device=pl.ipu.Device(kind, sdk=sdk, arch="ipu2")
    )
    simulated = pl.Engine(program.graph, program.programs, interpret=True, checks="fast")
    assert program.run(engine) == program.run(simulated)
    engine.load()
    assert (engine.read(program.y) == 0.5).all()
    main, show = engine.report().measured
    assert (main.program, main.runs, show.program) == ("main", 1, "show")
    assert main.cycles if kind == "hardware" else main.cycles is None
    assert main.modelled == sum(
        step.cycles for step in simulated.report().execution.steps if step.program_name == "main"
    )


def test_quarter_is_moved_as_its_codes(sdk: Path) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    metadata = pl.QuarterMetadata("F143", scale=1)
    q = graph.add_variable(pl.QUARTER, (6,), "q", mapping=0, metadata=metadata)
    copied = graph.clone(q, name="copied")
    engines = [
        pl.Engine(graph, pl.Copy(q, copied), device=each) for each in (pl.ipu.Device(sdk=sdk), None)
    ]
    for engine in engines:
        engine.write(q, [0.25, -1.5, 3, 7, -0.125, 100])
        engine.write(q[1:3], 0.5)
        engine.run()
    device, simulated = (engine.read(copied) for engine in engines)
    assert device.tolist() == simulated.tolist()


def test_errors_of_a_device_are_ours_and_it_goes_on(sdk: Path) -> None:
    program = Program()
    engine = pl.Engine(program.graph, program.programs, device=pl.ipu.Device(sdk=sdk))
    engine.write(program.bad, True)
    with pytest.raises(pl.ApplicationRuntimeError, match="it is bad"):
        engine.run("check")
    engine.write(program.bad, False)
    engine.run("check")


class Reaches(pl.Vertex):
    """Accesses a place, in a row of a list, in a sum and in a vector that it writes."""

    rows: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    places: pl.Input[pl.Vector[pl.INT]]
    y: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        self.y[self.places[2]] += self.rows[self.places[0]][self.places[1]]


def test_an_index_outside_of_a_field_stops_a_checked_program(sdk: Path) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    rows, y = (graph.add_variable(pl.FLOAT, (3, 3), n, mapping=0, initial_value=1) for n in "xy")
    places = graph.add_variable(pl.INT, (3,), "places", mapping=0, initial_value=2)
    work = graph.add_compute_set("work")
    graph.add_vertex(work, Reaches, tile=0, rows=rows, places=places, y=y[1])
    engine = pl.Engine(graph, pl.Execute(work), checks="fast", device=pl.ipu.Device(sdk=sdk))
    assert "fast checks" in repr(engine)
    engine.run()
    assert engine.read(y).tolist() == [[1, 1, 1], [1, 1, 2], [1, 1, 1]]
    for place, outside in itertools.product(range(3), (3, -1)):
        engine.write(places, 0)
        engine.write(places[place], outside)
        with pytest.raises(pl.ApplicationRuntimeError, match="Reaches stopped"):
            engine.run()


class Wrong(pl.Vertex):
    x: pl.InOut[pl.FLOAT]
    cpp = "return no_such_name;"

    def compute(self) -> None:
        self.x = 1.0


def test_a_program_is_added_where_there_is_one_device(
    sdk: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("STAND_IN_DEVICE", str(tmp_path / "device"))
    program = Program()
    graph, device = program.graph, pl.ipu.Device(sdk=sdk)
    engine = pl.Engine(graph, program.programs, device=device)
    with pytest.raises(pl.DeviceRuntimeError, match="no IPU is free"):
        pl.Engine(graph, program.programs, device=device)
    engine.write(program.y[0], 3)
    work = graph.add_compute_set("wrong")
    graph.add_vertex(work, Wrong, tile=0, x=program.y[0, 0])
    with pytest.raises(pl.VertexCompileError, match="codelets: popc ended"):
        engine.add_program(pl.Execute(work), "wrong")
    assert engine.read(program.y[:2, 0]).tolist() == [3, 0.5]
    engine.add_program(pl.Copy(program.y[0], program.y[1]), "copy")
    engine.run("copy")
    assert engine.read(program.y[:3, 1]).tolist() == [3, 3, 0.5]


def test_a_machine_that_is_too_small_is_an_error(
    sdk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN_TILES", "0")
    program = Program()
    with pytest.raises(pl.PopliteError, match="device"):
        pl.Engine(program.graph, program.programs, device=pl.ipu.Device(sdk=sdk))


def test_nothing_is_compiled_twice(sdk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program()
    device = pl.ipu.Device(sdk=sdk)
    pl.Engine(program.graph, program.programs, device=device)
    monkeypatch.setattr("poplite.ipu.building.compile_with", refused)
    pl.Engine(program.graph, program.programs, device=device)
    # Another graph of the same classes has another table, and nothing else.
    program.graph.add_vertex(
        program.graph.add_compute_set("more"), Slope, tile=3, step=2, x=program.x[1], y=program.y[1]
    )
    more = {"more": pl.Execute(program.graph.compute_sets[-1])}
    pl.Engine(program.graph, more, device=device).run()


def test_what_poplar_compiled_is_kept_for_hardware(
    sdk: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kept, others = tmp_path / "kept", ipu_building.kept
    kept.mkdir()

    def place(name: str, parts: Sequence[Any]) -> Path:
        return kept / "-".join(parts) if name == "executable" else others(name, parts)

    monkeypatch.setattr(ipu_building, "kept", place)
    monkeypatch.setenv("STAND_IN_RECORD", str(tmp_path / "recorded"))
    results = []
    for kind in ("model", "hardware", "hardware"):
        (tmp_path / "recorded").unlink(missing_ok=True)
        program = Program()
        device = pl.ipu.Device(kind, sdk=sdk, arch="ipu2")
        results.append(program.run(pl.Engine(program.graph, program.programs, device=device)))
        executables = [*kept.iterdir()]
        assert len(executables) == (kind == "hardware")
    assert not (tmp_path / "recorded").exists()  # Poplar did not compile the third time
    assert results[0] == results[1] == results[2]
    with monkeypatch.context() as other:
        other.setenv("POPLAR_ENGINE_OPTIONS", '{"opt.enableInlining": "false"}')
        pl.Engine(program.graph, program.programs, device=device)
    assert len([*kept.iterdir()]) == 2
    executables[0].write_bytes(b"damaged")
    with pytest.raises(pl.DeviceRuntimeError, match="cannot be loaded; remove it"):
        pl.Engine(program.graph, program.programs, device=device)


def refused(*_: object) -> None:
    raise AssertionError("a compiler is called")


def test_what_the_compiler_refuses_is_shown(sdk: Path) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    work = graph.add_compute_set("work")
    graph.add_vertex(work, Wrong, tile=0, x=graph.add_variable(pl.FLOAT, (), "x", mapping=0))
    with pytest.raises(pl.VertexCompileError, match="codelets: popc ended") as caught:
        pl.Engine(graph, pl.Execute(work), device=pl.ipu.Device(sdk=sdk))
    assert "no_such_name" in caught.value.found


@deep
@pytest.mark.parametrize("name", ["pi", "streams", "bfs"])
def test_an_example_passes_its_oracle(
    sdk: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(EXAMPLES), *sys.path])
    example = importlib.import_module(name)
    engines: list[pl.Engine] = []
    real, device = pl.Engine, pl.ipu.Device(sdk=sdk)

    def on_device(*given: Any, **named: Any) -> pl.Engine:
        if isinstance(given[0], pl.Executable):  # has no graph to export
            return real(*given, **named)
        engines.append(real(*given, device=device, **named))
        return engines[-1]

    monkeypatch.setattr(pl, "Engine", on_device)
    example.main()
    assert engines[0].report().measured


def test_bits_are_moved_and_read_as_another_type(sdk: Path) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (6,), "x", mapping="linear", initial_value=np.arange(6) / 2)
    n = graph.add_variable(pl.INT, (6,), "n", mapping="linear", initial_value=7)
    m = graph.add_constant(pl.INT, (6,), range(6), "m", mapping=1)
    joined = pl.concat([m[4:], x.reverse(0).reinterpret(pl.INT)[:4]])
    graph.create_host_read("bits", x.reinterpret(pl.UNSIGNED_INT)[::2])
    program = pl.Copy(joined, n)
    found = []
    for engine in (
        pl.Engine(graph, program),
        pl.Engine(graph, program, device=pl.ipu.Device("model", sdk=sdk)),
    ):
        engine.run()
        found.append((engine.read(n).tolist(), engine.read("bits").tolist()))
    assert found[0] == found[1]
    assert found[1][1] == [0, 0x3F800000, 0x40000000]


# -- examples on host ------------------------------------------------------------------------------
#
# Examples through the whole path: tables, host program, codelets, and a stand-in that executes.
#
# The stand-in records what the host program builds, which is compared with the Python graph element
# by element; then it repeats every run of the example, and all variables have the simulator's bits.


RUNS: dict[str, dict[str, Any]] = {
    "pi": {"tiles": 8, "slices": 20},
    "first_tiles": {},
    "sort": {},
    "heat": {"double_steps": 3},
    "bfs": {},
    "matvec": {},
    "streams": {},
    "photo": {"steps": 1},
    "digits": {"epochs": 1},
    "convnet": {"epochs": 1},
    "multigrid": {"size": 7},
    "attention": {},
    "named_digits": {"epochs": 1},
    "named_attention": {},
    "named_l2": {"length": 5000, "tiles": 8},
    "named_seeds": {},
}
"""Arguments with which examples are quick; gallery.py only draws."""


@pytest.mark.parametrize("name", thinned(RUNS, keep=["pi"]))
def test_examples_have_equal_graphs_and_bits(
    name: str, mirrors: Mirrors, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pl, "Engine", mirrors)
    monkeypatch.setattr(transformer, "Engine", mirrors)
    monkeypatch.chdir(tmp_path)
    script(EXAMPLES / f"{name}.py").main(**RUNS[name])
    assert sum(engine.runs for engine in mirrors.made) > 0


def test_all_examples_are_listed() -> None:
    assert {each.stem for each in EXAMPLES.glob("*.py")} == {*RUNS, "gallery"}


# -- what is exported ------------------------------------------------------------------------------


CLIENT = """\
import numpy as np
from client import Session

session = Session()
session.write("variable:x", np.arange(8))
taken = []
print(session.ask("run double", lambda name, block: taken.append(block.copy())).split(" ")[0])
print(session.read("variable:x").tolist(), taken[0].tolist())
try:
    session.ask("run stop")
except RuntimeError as error:
    print(error)
session.ask("run call", lambda name, arrays: arrays[1].fill(arrays[0].sum()))
print(session.read("variable:x").tolist())
served = []
session.ask("run many", lambda name, given: served.append(name))
print(len(served), sorted(set(served)))
"""


class Double(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] *= 2.0


def build() -> tuple[pl.Graph, dict[str, pl.Program]]:
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.FLOAT, (8,), "x", mapping="linear")
    work = graph.add_compute_set("double")
    graph.add_vertices(work, Double, tile=np.arange(4), x=x.reshape((4, 2)))
    out = graph.add_device_to_host_fifo("out", pl.FLOAT, 8)
    double = pl.Sequence(pl.Execute(work), pl.Copy(x, out))
    count = graph.add_host_function("count", [(pl.FLOAT, 8)], [(pl.FLOAT, 4)])
    call = pl.Call(count, [x], [x[::2]])
    many = pl.Repeat(1500, pl.Sequence(pl.Copy(x, out), call))
    stop = pl.Abort("it was asked to")
    return graph, {"double": double, "stop": stop, "call": call, "many": many}


def run_client(folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", CLIENT], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


EXPECTED = """\
4
[0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0] [0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0]
application_runtime_error: it was asked to
[56.0, 2.0, 56.0, 6.0, 56.0, 10.0, 56.0, 14.0]
3000 ['count', 'out']
"""


def test_the_client_runs_what_was_exported(host_cache: Path, tmp_path: Path) -> None:
    graph, programs = build()
    folder = pl.ipu.export(graph, programs, tmp_path / "made" / "here")
    (folder / "build").mkdir()
    (folder / "build" / "host").symlink_to(host_binary(host_cache))
    library = library_of(tables_of(graph, programs), host_cache)
    (folder / "build" / "codelets.gp").symlink_to(library)
    assert run_client(folder) == EXPECTED
    words = [sys.executable, "client.py", "model", "double"]
    printed = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout
    assert printed.splitlines()[0] == "out [0. 0. 0. 0. 0. 0. 0. 0.]"
    assert printed.splitlines()[1].startswith("double ")
    assert printed.splitlines()[2].startswith("variable:x [0. 0. ")


def test_the_client_has_forty_lines() -> None:
    """Without empty ones, and those that say what it is."""
    lines = [line.strip() for line in host_text("client.py.in").splitlines()]
    assert len([line for line in lines if line and not line.startswith(("#", '"'))]) <= 40


@deep
@pytest.mark.skipif(shutil.which("cmake") is None, reason="CMake is not installed")
def test_cmake_builds_what_was_exported(host_cache: Path, tmp_path: Path) -> None:
    folder = pl.ipu.export(*build(), tmp_path)
    environment = {
        **os.environ,
        "POPLAR_SDK_ENABLED": str(stand_in_sdk(host_cache)),
        "CXX": shlex.join(compiler()),
        "CXXFLAGS": "-Wno-init-list-lifetime",
    }
    for words in (["-S", ".", "-B", "build"], ["--build", "build"]):
        subprocess.run(["cmake", *words], cwd=folder, env=environment, check=True)
    assert run_client(folder) == EXPECTED


def test_an_unchanged_graph_gives_equal_bytes_and_leaves_files_alone(tmp_path: Path) -> None:
    first = pl.ipu.export(*build(), tmp_path / "first")
    other = pl.ipu.export(*build(), tmp_path / "other")
    names = sorted(file.name for file in first.iterdir())
    assert [(first / name).read_bytes() for name in names] == [
        (other / name).read_bytes() for name in names
    ]
    for file in first.iterdir():
        os.utime(file, (1, 1))
    (first / "README.md").write_text("mine")
    pl.ipu.export(*build(), first)
    assert {file.name for file in first.iterdir() if file.stat().st_mtime != 1} == {"README.md"}


def test_the_readme_says_what_is_in_it_and_what_was_never_done(tmp_path: Path) -> None:
    text = (pl.ipu.export(*build(), tmp_path) / "README.md").read_text(encoding="utf-8")
    assert "never run it on hardware" in text
    assert "| stream | `out` | float32, 8 |" in text
    assert "| host function | `count` | float32, 8; float32, 4 |" in text
    assert "python client.py hardware 'double'" in text
    assert "@" not in text


def test_what_is_no_graph_and_no_program_is_refused(tmp_path: Path) -> None:
    graph, program = build()
    with pytest.raises(pl.ControlProgramError, match="export: 3 is not a graph"):
        pl.ipu.export(3, program, tmp_path)  # type: ignore[arg-type]
    with pytest.raises(pl.UnknownName, match="export needs at least one program") as caught:
        pl.ipu.export(graph, {}, tmp_path)
    assert caught.value.fix.startswith(
        "pass a program that does nothing: export(graph, Sequence(), folder)"
    )


def test_indices_are_checked_where_that_is_asked_for(tmp_path: Path) -> None:
    texts = [
        (pl.ipu.export(*build(), tmp_path / checks, checks=checks) / "codelets.cpp").read_text()
        for checks in ("none", "fast")
    ]
    assert ["pl::at(x, i) = pl::at(x, i) * 2.0f;" in text for text in texts] == [False, True]
    with pytest.raises(
        pl.ControlProgramError, match="checks must be 'fast' or 'none'; found 'strict'"
    ):
        pl.ipu.export(*build(), tmp_path / "strict", checks="strict")  # type: ignore[arg-type]


def test_a_program_with_a_fault_is_not_exported(tmp_path: Path) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (4,), "x")
    with pytest.raises(pl.InvalidTileMapping, match="elements \\[0, 4\\) of 4 have no tile"):
        pl.ipu.export(graph, pl.PrintTensor(x), tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(pl.FileLoadError, match="cannot make the folder .*file"):
        pl.ipu.export(*build(), tmp_path / "file")
