"""Executables as files: the same program in another process, the same bytes, all bad files."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tracemalloc
import types
import zipfile
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import deep, thinned
from helpers.running import python
from poplite.codec.codec import ArrayCoder, coder_of
from poplite.codec.file_formats import Format, Malformed
from poplite.executable import encoding as op
from poplite.executable.encoding import Moves
from poplite.executable.executable import Executable
from poplite.executable.executable_file import EXECUTABLE_CODEC
from poplite.executable.parts import ComputeStep
from poplite.executable.validate import check_moves, validate
from poplite.executable.validate_code import OPERANDS
from poplite.vertex.compute.meaning import meaning_of
from poplite.vertices.elementwise import Add

VERTICES = '''
from typing import Generic, TypeVar

import poplite as pl

T = TypeVar("T", pl.FLOAT, pl.HALF)
SHIFT = 0.25


def halved(value, by=0.5):
    return value * by


class Blend(pl.Vertex, Generic[T]):
    """Mixes."""

    a: pl.State[pl.FLOAT]
    x: pl.InOut[pl.Vector[T]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = halved(self.a * self.x[i], 1.0) + SHIFT


class Sum(pl.Vertex):
    x: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    total: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        total = 0.0
        for row in range(len(self.x)):
            for i in range(len(self.x[row])):
                total += self.x[row][i]
        self.total = total


class Pick(pl.Vertex):
    at: pl.Input[pl.INT]
    x: pl.Input[pl.Vector[pl.FLOAT]]
    out: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        self.out = self.x[self.at]


class Share(pl.MultiVertex):
    x: pl.InOut[pl.Vector[pl.INT]]

    def compute(self, worker: int) -> None:
        for i in range(worker, len(self.x), self.num_workers):
            self.x[i] += 1
'''

MODEL = """
import numpy as np
import poplite as pl
from poplite.vertices.elementwise import Add
from model import Blend, Pick, Share, Sum


def build():
    graph = pl.Graph(pl.Target(tiles=8))
    x = graph.add_variable(pl.FLOAT, (8, 40), "x", mapping="linear", initial_value=2)
    y = graph.add_variable(pl.FLOAT, (40, 8), "y", mapping="linear", initial_value=0)
    n = graph.add_variable(pl.INT, (50,), "n", mapping=3, initial_value=np.arange(50))
    h = graph.add_variable(pl.HALF, (8,), "h", mapping="linear", initial_value=1)
    total = graph.add_variable(pl.FLOAT, (4,), "total", mapping="linear", initial_value=0)
    at = graph.add_variable(pl.INT, (), "at", mapping=0, initial_value=0)
    more = graph.add_variable(pl.BOOL, (), "more", mapping=0, initial_value=False)
    work, sums, pick = (graph.add_compute_set(name) for name in ("work", "sums", "pick"))
    graph.add_vertices(work, Blend, tile=np.arange(8), x=x, a=np.arange(8) / 4)
    graph.add_vertex(work, Blend, tile=1, x=h, a=0.5)
    graph.add_vertex(work, Share, tile=3, x=n)
    graph.add_vertex(sums, Sum, tile=0, x=x[:2], total=total[0])
    graph.add_vertex(sums, Sum, tile=1, x=[x[2, 3:9], x[5], x[1, :0], x[3, 7:8]], total=total[1])
    graph.add_vertex(sums, Sum, tile=2, x=[x[k, :k] for k in range(8)], total=total[2])
    graph.add_vertex(sums, Add, tile=3, a=x[:2, 0], b=y[3:1:-1, 0], out=y[::20, 5])
    graph.add_vertex(pick, Pick, tile=5, at=at, x=x[3], out=total[3])
    graph.create_host_write("at", at)
    graph.create_host_write("x", x)
    for name, tensor in (("n", n), ("h", h), ("y", y), ("total", total)):
        graph.create_host_read(name, tensor)
    switch = pl.Switch(at, {7: pl.Copy(x[0, 0], total[0]), 2: pl.Sequence()}, default=pl.Sequence())
    twice = graph.add_function(pl.Repeat(2, pl.Execute(work)))
    return graph, {
        "main": pl.Sequence(pl.Call(twice), pl.Execute(sums), pl.Copy(x.T, y), pl.Call(twice)),
        "pick": pl.Sequence(pl.If(more, pl.Sequence(), pl.PrintTensor("at", at)), pl.Execute(pick)),
        "switch": switch,
    }
"""

RUN = """
import sys
import numpy as np
import poplite as pl

engine = pl.Engine(executable, interpret="interpret" in sys.argv)
engine.write("x", np.arange(320).reshape(8, 40) / 7)
engine.run("main")
engine.write("at", 3)
engine.run("pick")
engine.run(2)
for name in ("n", "h", "y", "total"):
    print(name, engine.read(name).tobytes().hex())
engine.write("at", 40)
try:
    engine.run(1)
except pl.TensorIndexError as error:
    print(error)
"""

SAVE = MODEL + "pl.compile_graph(*build()).save('model.poplite')\n"

LOADED = "import poplite as pl, model\nexecutable = pl.Executable.load('model.poplite')\n" + RUN
BUILT = MODEL + "executable = pl.compile_graph(*build())\n" + RUN


def script(folder: Path, text: str, *arguments: str, **variables: str) -> str:
    """Run a script in a process of its own, in a folder; return what it prints."""
    (folder / "main.py").write_text(text)
    return python(folder, "main.py", *arguments, **variables).stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with vertex classes, and the executable of a program that another process saved."""
    folder = tmp_path_factory.mktemp("executables")
    (folder / "model.py").write_text(VERTICES)
    script(folder, SAVE)
    return folder


@pytest.fixture(scope="module")
def model(folder: Path) -> dict[str, Any]:
    """The names of the module with the vertex classes."""
    return defined(folder, VERTICES)


def defined(folder: Path, text: str) -> dict[str, Any]:
    """Return the names that a module of this text defines, with the text where it is looked for."""
    path = folder / f"text_{abs(hash(text))}.py"
    path.write_text(text)
    names: dict[str, Any] = {"__name__": path.stem}
    exec(compile(text, str(path), "exec"), names)
    return names


CLASSES = ("Blend", "Sum", "Pick", "Share")


def classes(names: Mapping[str, Any]) -> list[type[pl.Vertex]]:
    return [names[name] for name in CLASSES]


# -- round trips -----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", thinned(["compiled", "interpret"], keep=1))
def test_another_process_runs_the_file_without_the_graph(folder: Path, form: str) -> None:
    built = script(folder, BUILT, form)
    assert script(folder, LOADED, form) == built
    lines = built.splitlines()
    assert [line.split()[0] for line in lines[:4]] == ["n", "h", "y", "total"]
    assert np.frombuffer(bytes.fromhex(lines[0].split()[1]), np.int32).tolist() == list(
        range(4, 54)
    )
    (fault,) = [line for line in lines if line.startswith("vertex 0 of 'Pick' on tile 5")]
    assert "index 40" in fault
    assert "(model.py:" in fault
    assert any(line.startswith("  the vertex was added at main.py:") for line in lines)


def test_loading_and_saving_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    executable = pl.Executable.load(folder / "model.poplite", classes(defined(tmp_path, VERTICES)))
    executable.save(tmp_path / "again.poplite")
    assert (tmp_path / "again.poplite").read_bytes() == (folder / "model.poplite").read_bytes()
    assert repr(executable).startswith("<Executable 3 programs of ")
    assert [path.name for path in tmp_path.glob("*again*")] == ["again.poplite"]


@pytest.mark.parametrize("seed", thinned(["1", "2"], keep=1))
def test_another_process_in_another_folder_saves_the_same_bytes(
    folder: Path, tmp_path: Path, seed: str
) -> None:
    shutil.copy(folder / "model.py", tmp_path)
    script(tmp_path, SAVE, PYTHONHASHSEED=seed)
    assert (tmp_path / "model.poplite").read_bytes() == (folder / "model.poplite").read_bytes()
    assert str(folder).encode() not in (folder / "model.poplite").read_bytes()


def test_numpy_reads_the_arrays(folder: Path) -> None:
    with np.load(folder / "model.poplite") as arrays:
        names = [name for name in arrays.files if name.startswith("arrays/")]
        assert all(arrays[name].ndim == 1 for name in names)
        assert {arrays[name].dtype.name for name in names} >= {"int64", "float32", "uint8"}


def test_the_operands_of_every_op_are_checked() -> None:
    assert sorted(OPERANDS) == list(range(op.END + 1))


def test_every_field_of_an_executable_can_be_saved() -> None:
    assert EXECUTABLE_CODEC.coder_of(Executable).name == "Executable"
    with pytest.raises(TypeError, match="<class 'object'> cannot be saved"):
        EXECUTABLE_CODEC.coder_of(Mapping[str, tuple[object, ...]])


def test_aliases_of_annotations_are_looked_through() -> None:
    scalar = TypeVar("scalar", bound=np.generic)

    class Alias:  # as `type Alias[scalar] = ...` of Python 3.12, which NumPy 2.5 has for NDArray
        __value__ = npt.NDArray[scalar]

    coder = coder_of(types.GenericAlias(Alias, (np.int64,)))
    assert isinstance(coder, ArrayCoder)
    assert coder.scalar is np.int64


def test_an_engine_saves_what_it_runs_and_makes_others(tmp_path: Path) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.HALF, (3,), "x", mapping=0, initial_value=[1, 2, 3])
    y = graph.add_variable(pl.HALF, (3,), "y", mapping=1, initial_value=0)
    add = graph.add_compute_set("add")
    graph.add_vertex(add, Add[pl.HALF], tile=1, a=x, b=x, out=y)
    graph.create_host_read("y", y)
    engine = pl.Engine(graph, pl.Execute(add))
    graph.set_initial_value(x, 9)  # not part of the engine any more
    engine.executable.save(tmp_path / "add")
    for executable in (engine.executable, pl.Executable.load(tmp_path / "add")):
        for interpret in (False, True):
            other = pl.Engine(executable, interpret=interpret)
            other.run()
            assert other.read("y").tolist() == [2, 4, 6]
            with pytest.raises(
                pl.GraphConnectionError, match="executable, which has no tensors"
            ) as caught:
                other.read(y)
            assert "create_host_read('x', tensor)" in caught.value.fix
    assert engine.read(y).tolist() == [0, 0, 0]


@pytest.mark.parametrize("rows", [[], [[]], [[], [1, 3]], [[7], [], [2, 4, 6]], [[5]] * 3])
def test_lists_of_any_rows(tmp_path: Path, model: dict[str, Any], rows: list[list[int]]) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (8,), "x", mapping=0, initial_value=np.arange(8))
    total = graph.add_variable(pl.FLOAT, (), "total", mapping=0)
    work = graph.add_compute_set("work")
    views = [x[row[0] : row[-1] + 1 : 1][:: max(1, len(row) - 1)] if row else x[:0] for row in rows]
    graph.add_vertex(work, model["Sum"], tile=0, x=views, total=total)
    graph.create_host_read("total", total)
    engine = pl.Engine(graph, pl.Execute(work))
    engine.executable.save(tmp_path / "lists")
    other = pl.Engine(pl.Executable.load(tmp_path / "lists", classes(model)))
    for each in (engine, other):
        each.run()
    assert other.read("total") == engine.read(total)


def test_lists_without_rows(tmp_path: Path, model: dict[str, Any]) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (3, 0, 200), "x", mapping=0)
    total = graph.add_variable(pl.FLOAT, (3,), "total", mapping=0)
    work = graph.add_compute_set("work")
    graph.add_vertices(work, model["Sum"], tile=0, x=x, total=total)
    pl.compile_graph(graph, pl.Execute(work)).save(tmp_path / "lists")
    pl.Engine(pl.Executable.load(tmp_path / "lists", classes(model))).run()


def test_a_large_value_repeated_takes_no_room(tmp_path: Path) -> None:
    graph = pl.Graph(pl.Target(tiles=16))
    x = graph.add_constant(pl.FLOAT, (1000, 1000), 2.5, "x", mapping="linear")
    y = graph.add_variable(pl.FLOAT, (), "y", mapping=0)
    graph.create_host_read("y", y)
    pl.compile_graph(graph, pl.Copy(x[999, 999], y)).save(tmp_path / "x")
    engine = pl.Engine(pl.Executable.load(tmp_path / "x"))
    engine.run()
    assert engine.read("y") == 2.5


# -- classes ---------------------------------------------------------------------------------------


def changed(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1
    return text.replace(old, new)


def test_form_does_not_count(folder: Path, tmp_path: Path) -> None:
    text = changed(VERTICES, '"""Mixes."""', "# nothing\n")
    text = changed(text, "        total = 0.0", "        '''Adds.'''\n        total: float = 0.0")
    text = changed(text, "total: float = 0.0", "total  =  (0.0)  # zero")
    text = changed(text, "self, worker: int) -> None", "self, worker)")
    pl.Executable.load(folder / "model.poplite", classes(defined(tmp_path, text)))


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("SHIFT = 0.25", "SHIFT = 0.5", "'SHIFT' in compute: 0.5; saved with 0.25"),
        pytest.param(
            *("self.x[i] += 1", "self.x[i] += 2", "Share: the text of compute differs"), marks=deep
        ),
        pytest.param(
            *("return value * by", "return by * value", "the text of halved differs"), marks=deep
        ),
        pytest.param("by=0.5", "by=0.25", "the text of halved differs", marks=deep),
        ("halved(self.a * self.x[i], 1.0)", "self.a", "functions: compute; saved with compute, ha"),
        ("at: pl.Input[pl.INT]", "at: pl.Input[pl.SHORT]", "Pick: fields: at: Input[SHORT], x: "),
        pytest.param(
            *("class Share(pl.MultiVertex)", "class Share(pl.Vertex)", "has arguments other than"),
            marks=deep,
        ),
    ],
)
def test_other_code_is_refused_by_name(
    folder: Path, tmp_path: Path, old: str, new: str, found: str
) -> None:
    text = changed(VERTICES, old, new)
    if "Multi" in old:
        text = changed(text, "compute(self, worker: int)", "compute(self)")
        text = changed(text, "range(worker, len(self.x), self.num_workers)", "range(len(self.x))")
        found = "Share: fields: x: InOut[Vector[INT]]; saved with num_workers: State[INT], x: "
    script_text = f"""
import poplite as pl, changed
try:
    pl.Executable.load({str(folder / "model.poplite")!r}, vertices=[changed])
except pl.FileLoadError as error:
    print(error)
"""
    (tmp_path / "changed.py").write_text(text)
    printed = script(tmp_path, script_text)
    assert "the code of vertex classes has changed since it was saved" in printed
    assert found in printed


def test_missing_classes_are_listed_together(folder: Path, tmp_path: Path) -> None:
    load = f"pl.Executable.load({str(folder / 'model.poplite')!r}, VERTICES)"
    text = f"import poplite as pl\ntry:\n    {load}\nexcept OSError as error:\n    print(error)\n"
    printed = script(tmp_path, text.replace("VERTICES", "()"))
    assert "5 vertex classes cannot be found" in printed.splitlines()[0]
    assert [line.strip() for line in printed.splitlines()[1:6]] == [
        *("Blend[HALF]", "Share", "Blend[FLOAT]", "Sum", "Pick"),
    ]
    assert "try: pass classes or modules: Executable.load(" in printed
    assert "vertices=[Blend, ...])" in printed


def test_names_of_a_file_are_told_on_one_line(
    folder: Path, tmp_path: Path, model: dict[str, Any]
) -> None:
    strange = "\x1b[2J\n" + "x" * 1000
    write = altered(folder / "model.poplite", lambda m: m["classes"][0].update(name=strange))
    told = refused(write(tmp_path / "strange"), folder, model)
    assert "1 vertex class cannot be found" in told
    assert r"  \x1b[2J\nxxx" in told
    assert max(map(len, told.splitlines())) < 300


def test_a_file_imports_nothing(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("print('imported')\n" + VERTICES)
    load = f"pl.Executable.load({str(folder / 'model.poplite')!r})"
    text = f"import poplite as pl\ntry:\n    {load}\nexcept OSError:\n    print('refused')\n"
    assert script(tmp_path, text) == "refused\n"


@pytest.mark.parametrize("wrong", [5, "model", int, None])
def test_vertices_are_classes_and_modules(folder: Path, wrong: Any) -> None:
    told = f"vertices must be vertex classes and modules; found {re.escape(repr(wrong))}"
    for vertices in ([wrong], wrong):
        with pytest.raises(pl.ElementTypeError, match=told):
            pl.Executable.load(folder / "model.poplite", vertices=vertices)


def test_a_class_is_found_by_its_code_among_those_of_one_name(tmp_path: Path) -> None:
    def adder(number: float) -> type[pl.Vertex]:
        class Adds(pl.Vertex):
            x: pl.InOut[pl.FLOAT]

            def compute(self) -> None:
                self.x += number

        return Adds

    classes = [adder(1.0), adder(2.0), adder(4.0)]
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (2,), "x", mapping=0, initial_value=0)
    work = graph.add_compute_set("work")
    graph.add_vertex(work, classes[1], tile=0, x=x[0])
    graph.add_vertex(work, classes[2], tile=0, x=x[1])
    graph.create_host_read("x", x)
    pl.compile_graph(graph, pl.Execute(work)).save(tmp_path / "adds")
    engine = pl.Engine(pl.Executable.load(tmp_path / "adds", vertices=classes[:1]))
    engine.run()
    assert engine.read("x").tolist() == [2, 4]


def test_code_without_text_is_not_saved(tmp_path: Path) -> None:
    names = defined(tmp_path, VERTICES)
    graph = pl.Graph(pl.Target(tiles=1))
    n = graph.add_variable(pl.INT, (5,), "n", mapping=0)
    share = graph.add_compute_set()
    graph.add_vertex(share, names["Share"], tile=0, x=n)
    executable = pl.compile_graph(graph, pl.Execute(share))
    other: dict[str, Any] = {}
    exec("def compute(self, worker):\n    self.x[0] = 1", other)
    names["Share"].compute.__code__ = other["compute"].__code__
    with pytest.raises(
        pl.FileLoadError, match="cannot save an executable with vertex class 'Share': "
    ) as caught:
        executable.save(tmp_path / "share")
    assert "no source text" in str(caught.value)
    assert "created from a string" in caught.value.found
    assert not (tmp_path / "share").exists()


# -- bad files -------------------------------------------------------------------------------------


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def written(path: Path, content: Mapping[str, bytes], **extra: Any) -> Path:
    with zipfile.ZipFile(path, "w", **extra) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return path


def altered(path: Path, change: Callable[[dict[str, Any]], object]) -> Callable[[Path], Path]:
    """Return what writes the file with a changed manifest."""
    content = members(path)
    manifest = json.loads(content["manifest.json"])
    change(manifest)
    content["manifest.json"] = json.dumps(manifest).encode()
    return lambda to: written(to, content)


def refused(path: Path, folder: Path, model: dict[str, Any]) -> str:
    with pytest.raises(pl.FileLoadError) as caught:
        pl.Executable.load(path, classes(model))
    assert repr(str(path)) in caught.value.what
    assert caught.value.fix
    return str(caught.value)


def test_files_that_are_not_there(tmp_path: Path, model: dict[str, Any]) -> None:
    assert "No such file" in refused(tmp_path / "no.poplite", tmp_path, model)
    assert "it is a folder, not a file" in refused(tmp_path, tmp_path, model)
    os.mkfifo(tmp_path / "pipe")  # nobody writes to it: opening it would wait
    assert "a device or a pipe, not a file" in refused(tmp_path / "pipe", tmp_path, model)
    assert "a device or a pipe, not a file" in refused(Path("/dev/zero"), tmp_path, model)
    with pytest.raises(pl.ElementTypeError, match="load: 5 is not a path"):
        pl.Executable.load(5)  # type: ignore[arg-type]


@pytest.mark.parametrize("kept", [0, 10, 5000, -1, -100])
def test_a_truncated_file(folder: Path, tmp_path: Path, model: dict[str, Any], kept: int) -> None:
    path = tmp_path / "cut"
    path.write_bytes((folder / "model.poplite").read_bytes()[:kept])
    assert "not a complete zip file" in refused(path, folder, model)


def test_an_altered_byte(folder: Path, tmp_path: Path, model: dict[str, Any]) -> None:
    data = bytearray((folder / "model.poplite").read_bytes())
    data[700] ^= 1
    path = tmp_path / "altered"
    path.write_bytes(data)
    assert "Bad CRC-32 for file 'arrays/" in refused(path, folder, model)


def test_foreign_files(folder: Path, tmp_path: Path, model: dict[str, Any]) -> None:
    path = tmp_path / "foreign"
    path.write_text("not a zip file at all")
    assert "not a complete zip file: File is not a zip file" in refused(path, folder, model)
    written(path, {})
    assert "no member 'manifest.json'" in refused(path, folder, model)
    written(path, {"manifest.json": b"{}"})
    assert "header is not that of a poplite executable" in refused(path, folder, model)
    written(path, {"manifest.json": b"[" * 100_000})
    assert "manifest.json has 100,000 lists and 0 objects" in refused(path, folder, model)
    written(path, {"manifest.json": b"[" * 1_000})
    assert "manifest.json is not JSON" in refused(path, folder, model)
    written(path, {"manifest.json": "{}".encode("utf-16")})
    assert "manifest.json is not text: 'utf-8' codec" in refused(path, folder, model)
    written(path, {"manifest.json": b'{"format":5,"kind":"","format":1}'})
    assert "manifest.json has the key 'format' 2 times in one object" in refused(
        path, folder, model
    )
    for name in ("../manifest.json", "/etc/passwd", "arrays/../x.npy", "arrays/object.npy"):
        written(path, {**members(folder / "model.poplite"), name: b""})
        assert f"its member {name!r} is not one of a" in refused(path, folder, model)


def test_text_with_a_lone_surrogate(folder: Path, tmp_path: Path, model: dict[str, Any]) -> None:
    def change(manifest: dict[str, Any]) -> None:
        _executable(manifest)["layout"]["variables"][0]["name"] = "caf\ud83d"

    told = refused(altered(folder / "model.poplite", change)(tmp_path / "half"), folder, model)
    assert r"text with a lone surrogate, which is not a character: ...'" in told
    assert r"caf\ud83d'" in told
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (3,), "x\ude00", mapping=0)
    with pytest.raises(pl.FileLoadError, match=r"cannot write .*lone surrogate.*x\\ude00'"):
        pl.compile_graph(graph, pl.PrintTensor(x)).save(tmp_path / "not_written")
    assert not (tmp_path / "not_written").exists()
    graph = pl.Graph(pl.Target(tiles=1))
    y = graph.add_variable(pl.FLOAT, (3,), "\U0001f600", mapping=0)
    pl.compile_graph(graph, pl.PrintTensor(y)).save(tmp_path / "smile")
    [loaded] = pl.Executable.load(tmp_path / "smile").layout.variables
    assert loaded.name == "\U0001f600"


def test_a_path_of_other_bytes_than_utf_8_is_saved(tmp_path: Path) -> None:
    names: dict[str, Any] = {"pl": pl, "__name__": "model"}
    text = "graph = pl.Graph(pl.Target(tiles=1))\nx = graph.add_variable(pl.INT, (2,), mapping=0)"
    exec(compile(text, "b\udcff.py", "exec"), names)
    pl.compile_graph(names["graph"], pl.PrintTensor(names["x"])).save(tmp_path / "saved")
    loaded = pl.Executable.load(tmp_path / "saved")
    [variable] = loaded.layout.variables
    assert variable.location.file == "b?.py"
    report = pl.Engine(loaded).report()
    assert pl.Report.from_json(report.to_json()) == report


def test_members_that_lie(folder: Path, tmp_path: Path, model: dict[str, Any]) -> None:
    path = tmp_path / "lies"
    content = members(folder / "model.poplite")
    written(path, content, compression=zipfile.ZIP_DEFLATED)
    assert "its member 'arrays/bool.npy' is compressed" in refused(path, folder, model)
    written(path, content)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("manifest.json", b"{}")
    assert "its member 'manifest.json' appears 2 times" in refused(path, folder, model)
    written(path, {**content, "arrays/int64.npy": content["arrays/int64.npy"][:-8]})
    assert "'arrays/int64.npy' does not have the header of an array of int64" in refused(
        path, folder, model
    )
    written(path, {**content, "arrays/int64.npy": content["arrays/uint8.npy"]})
    assert "'arrays/int64.npy' does not have the header of an array of int64" in refused(
        path, folder, model
    )


@pytest.mark.parametrize("version", [3, 5, 6, "7", None, True, 7.0])
def test_another_format(
    folder: Path, tmp_path: Path, model: dict[str, Any], version: object
) -> None:
    write = altered(folder / "model.poplite", lambda m: m.update(format=version))
    told = refused(write(tmp_path / "newer"), folder, model)
    assert f"it has format {version!r}, but this version of poplite reads 7 and 8" in told


def test_lines_are_saved_with_their_callers(tmp_path: Path) -> None:
    def copied(graph: pl.Graph) -> pl.Copy:
        a = graph.add_variable(pl.INT, (3,), "a", mapping=0)
        b = graph.add_variable(pl.INT, (3,), "b", mapping=0)
        return pl.Copy(a, b)

    def places(path: Path) -> dict[str, int | None]:
        found = [variable.location for variable in pl.Executable.load(path).layout.variables]
        return {place.function: place.caller.line if place.caller else None for place in found}

    graph = pl.Graph(pl.Target(tiles=1))
    line = sys._getframe().f_lineno + 1
    program = copied(graph)
    path = tmp_path / "called.poplite"
    pl.compile_graph(graph, program).save(path)
    assert places(path) == {"copied": line}
    pl.Executable.load(path).save(tmp_path / "again.poplite")
    assert (tmp_path / "again.poplite").read_bytes() == path.read_bytes()


def _executable(manifest: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = manifest["executable"]
    return found


def _step(manifest: dict[str, Any], number: int) -> dict[str, Any]:
    found: dict[str, Any] = _executable(manifest)["steps"][number][1]
    return found


DAMAGE: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (lambda m: m.pop("classes"), "classes: None is not a valid list"),
    (lambda m: m.pop("executable"), "None is not a valid Executable"),
    (lambda m: m["locations"].__setitem__(0, [["a", "b", "c"], []]), "not a valid source line"),
    (lambda m: m["locations"].__setitem__(0, ["a", 1, "c"]), "not list the callers of each line"),
    (lambda m: m["locations"].__setitem__(0, [["a", 1, "c"], {}]), "not list the callers of each"),
    (
        lambda m: m["locations"].__setitem__(0, [["a", 1, "c"], [["a", 1]]]),
        "not a valid source line",
    ),
    (lambda m: _executable(m).pop("steps"), "is not a valid Executable"),
    (lambda m: _executable(m).update(more=1), "is not a valid Executable"),
    (lambda m: _executable(m).update(checks="lax"), "checks: 'lax' is not one of 'strict', 'fast'"),
    (lambda m: _executable(m)["target"].update(tiles=0), "tiles=0"),
    (lambda m: _executable(m)["target"].update(tiles=True), "target.tiles: True is not of type in"),
    (lambda m: _executable(m)["target"].update(tiles=1 << 70), "does not fit in 64 bits"),
    (lambda m: _executable(m)["origins"].pop(), "origins: 3 compute sets must have them; found 2"),
    (lambda m: _executable(m).update(programs=[]), "it has no programs"),
    (lambda m: _executable(m)["programs"].append(_executable(m)["programs"][0]), "occurs twice"),
    (lambda m: _executable(m)["actions"].clear(), "programs['pick']: action 0 of 0"),
    (
        lambda m: _step(m, 0).update(num_vertices=9),
        "the number of a vertex must be from 0 to 8; found 9 to 9",
    ),
    (
        lambda m: _step(m, 0).update(num_vertices=11),
        "steps[0]: 11 vertices must be described; found 10",
    ),
    (
        lambda m: _step(m, 0)["groups"][0].update(tables=[[3, ["uint32", 0, [0]]]]),
        "do not match",
    ),
    (
        lambda m: _step(m, 0)["groups"][0].update(cls=99),
        "groups[0].cls: 99 is not the number of a cl",
    ),
    (lambda m: _step(m, 0)["groups"][0]["columns"].pop(), "do not describe the fields"),
    (lambda m: _step(m, 0)["groups"][0]["rows"].__setitem__(1, 1 << 40), "is not in the file"),
    (lambda m: _step(m, 0)["groups"][0]["rows"].__setitem__(2, [-1, -8]), "is not a valid shape"),
    (lambda m: _step(m, 0)["groups"][0]["rows"].__setitem__(0, "object"), "is not in the file"),
    (lambda m: _step(m, 0)["groups"][0].update(rows=["uint8", 0, [1, 8]]), "array has type uint8"),
    (lambda m: _executable(m)["layout"].update(temporary_bytes=-64), "-64 B of temporaries"),
    (lambda m: _executable(m)["layout"].update(temporary_bytes=1 << 60), "memory of 1,15"),
    (lambda m: _executable(m)["layout"]["variables"].reverse(), "overlaps the variable before it"),
    (lambda m: _executable(m)["layout"]["variables"].pop(0), ""),
    (lambda m: _read(m).update(shape=[1 << 20, 1 << 10]), "B do not fill shape (1048576, 1024)"),
    (lambda m: _program(m).update(num_steps=1 << 40), "; found 1,099,511,627,776"),
    (lambda m: _pieces(m).update(first=[0, 1 << 40, 0]), "pieces"),
    (lambda m: _pieces(m).update(first=[0, 1 << 40, 1]), "pieces"),
    (lambda m: _pieces(m).update(first=[1, 1, 1]), "tiles that do not exist"),
    (lambda m: _pieces(m).update(tile=[99, 1, 0]), "tiles that do not exist"),
    (lambda m: _pieces(m).update(tile=[-2, 1, 0]), "tiles that do not exist"),
    (lambda m: _pieces(m).update(tile=[0, 2, 0]), "has an invalid number of pieces, 1"),
]


def _read(manifest: dict[str, Any]) -> dict[str, Any]:
    """What the host reads by a handle."""
    found: dict[str, Any] = _executable(manifest)["host_reads"][0][1]
    return found


def _program(manifest: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = _executable(manifest)["programs"][0][1]
    return found


def _pieces(manifest: dict[str, Any]) -> dict[str, Any]:
    """The pieces of a variable that has one of them."""
    variables = _executable(manifest)["layout"]["variables"]
    return next(each["pieces"] for each in variables if each["pieces"]["first"] == [0, 1, 0])


@pytest.mark.parametrize("number", range(len(DAMAGE)))
def test_what_cannot_be(folder: Path, tmp_path: Path, model: dict[str, Any], number: int) -> None:
    change, told = DAMAGE[number]
    path = altered(folder / "model.poplite", change)(tmp_path / "damaged")
    assert told in refused(path, folder, model)


@pytest.mark.parametrize("number", [-1, 9, 1 << 62])
def test_numbers_of_steps(number: int, folder: Path, model: dict[str, Any]) -> None:
    executable = pl.Executable.load(folder / "model.poplite", classes(model))
    code = executable.programs["main"]
    numbers = code.step_numbers.copy()
    numbers[-1] = number
    damaged = {**executable.programs, "main": replace(code, step_numbers=numbers)}
    with pytest.raises(Malformed, match=rf"step_numbers must be from 0 to 4; found .*{number:,}"):
        validate(replace(executable, programs=damaged))


small = st.integers(-3, 12)
blocks = st.tuples(small, small, st.integers(-1, 4), st.integers(1, 6), small, small)


@given(st.lists(blocks, min_size=1, max_size=3))
def test_moves_are_accepted_if_no_block_leaves_memory(records: list[tuple[int, ...]]) -> None:
    memory = {0: 24, 1: 16}
    is_inside = all(
        rows > 0
        and rows * size <= memory[0]
        and all(
            0 <= begins[to] + row * steps[to] <= memory[to] - size
            for to in memory
            for row in range(rows)
        )
        for *begins, rows, size, far, near in records
        for steps in [(far, near)]
    )
    moves = Moves(np.array(records, np.int64), np.zeros((0, 3), np.uint32))
    with nullcontext() if is_inside else pytest.raises(Malformed):
        check_moves(moves, memory[0], memory[1])


@deep
def test_numbers_outside_of_memory(folder: Path, tmp_path: Path, model: dict[str, Any]) -> None:
    content = members(folder / "model.poplite")
    layout = pl.Executable.load(folder / "model.poplite", classes(model)).layout
    numbers = np.frombuffer(content["arrays/int64.npy"], np.int64, offset=128)
    accepted = 0
    for place in range(len(numbers)):
        changed = numbers.copy()
        changed[place] = layout.size_bytes + 1
        data = content["arrays/int64.npy"][:128] + changed.tobytes()
        path = written(tmp_path / "outside", {**content, "arrays/int64.npy": data})
        try:
            pl.Executable.load(path, classes(model))
        except pl.FileLoadError:
            continue
        accepted += 1
    # Weights, counts of loops, numbers of steps and distances to no neighbour may be any.
    assert accepted < 0.5 * len(numbers)


@pytest.mark.parametrize("value", [-1, -2, -40])
def test_numbers_before_memory(
    folder: Path, tmp_path: Path, model: dict[str, Any], value: int
) -> None:
    content = members(folder / "model.poplite")
    numbers = np.frombuffer(content["arrays/int64.npy"], np.int64, offset=128)
    _, first, (rows, width) = json.loads(content["manifest.json"])["executable"]["steps"][0][1][
        "groups"
    ][0]["rows"]
    assert rows == 1
    for word in range(width):
        if word in (2, 4, 6):  # distances to the next vertex, of which there may be but one
            continue
        changed = numbers.copy()
        changed[first + word] = value
        data = content["arrays/int64.npy"][:128] + changed.tobytes()
        path = written(tmp_path / "before", {**content, "arrays/int64.npy": data})
        assert "steps[0].groups[0]: " in refused(path, folder, model)


class Clear(pl.Vertex):
    x: pl.Output[pl.Vector[pl.SIGNED_CHAR]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = 0


def test_the_least_integer_in_a_row(tmp_path: Path) -> None:
    """It is its own absolute value, and twice it is zero: only the second vertex leaves memory."""
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.SIGNED_CHAR, (3, 4), "x", mapping=0)
    clear = graph.add_compute_set("clear")
    graph.add_vertices(clear, Clear, tile=np.zeros(3, int), x=x)
    executable = pl.compile_graph(graph, pl.Execute(clear))
    (step,) = executable.steps
    assert isinstance(step, ComputeStep)
    (group,) = step.groups
    assert group.rows[0, 0] == 3
    for word in range(group.rows.shape[1]):
        rows = group.rows.copy()
        rows[0, word] = -(1 << 63)
        other = replace(step, groups=(replace(group, rows=rows),))
        replace(executable, steps=(other,)).save(tmp_path / "least")
        with pytest.raises(pl.FileLoadError, match="a number in a row is too large"):
            pl.Executable.load(tmp_path / "least", [Clear])


@pytest.mark.parametrize(
    "bomb", thinned([b"[],", b"{},", b'"",', b"[1],", b'{"":{}},', b"0,", b'"ab",'], keep=1)
)
def test_memory_is_bounded(
    folder: Path, tmp_path: Path, model: dict[str, Any], bomb: bytes
) -> None:
    text = b"[" + bomb * (600_000 // len(bomb)) + b"0]"
    manifest = b'{"kind":"poplite executable","format":7,"locations":' + text + b',"classes":[]}'
    path = written(tmp_path / "bomb", {"manifest.json": manifest})
    tracemalloc.start()
    told = refused(path, folder, model)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "the callers of each line" in told or "lists and" in told
    assert peak < 32 * path.stat().st_size


def test_arrays_that_are_not_there_take_no_memory(
    folder: Path, tmp_path: Path, model: dict[str, Any]
) -> None:
    def claim(manifest: dict[str, Any]) -> None:
        variable = _executable(manifest)["layout"]["variables"][-1]
        variable.update(shape=[1 << 48], num_elements=1 << 48)

    path = altered(folder / "model.poplite", claim)(tmp_path / "huge")
    tracemalloc.start()
    executable = pl.Executable.load(path, classes(model))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 22
    with pytest.raises(pl.SizeOverflowError, match="cannot allocate"):
        pl.Engine(executable)


# -- engines ---------------------------------------------------------------------------------------


def test_what_an_executable_cannot_do(tmp_path: Path) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (3,), "x", mapping=0)
    y = graph.add_variable(pl.FLOAT, (3,), "y", mapping=0)
    add = graph.add_compute_set("add")
    graph.add_vertex(add, Add[pl.FLOAT], tile=1, a=x, b=x, out=y)
    fast = pl.compile_graph(graph, {"go": pl.Execute(add)}, "fast")
    with pytest.raises(
        pl.InvalidOption, match="checks must be 'fast', as in the executable; found 'strict'"
    ):
        pl.Engine(fast, checks="strict")
    with pytest.raises(
        pl.InvalidOption, match="needs an executable that saves elements before 'add' overwrites"
    ):
        pl.Engine(fast, interpret=True)
    with pytest.raises(
        pl.ControlProgramError, match="an executable has its own programs"
    ) as caught:
        pl.Engine(fast, pl.Execute(add))
    assert "programs: 'go'" in caught.value.found
    with pytest.raises(pl.InvalidOption, match="fixed when the executable was compiled"):
        pl.Engine(fast, options={"debug.nanOverflowMode": True})
    with pytest.raises(pl.ControlProgramError, match="a graph needs a program"):
        pl.Engine(graph)
    with pytest.raises(pl.ControlProgramError, match="compile_graph: 5 is not a graph"):
        pl.compile_graph(5, pl.Execute(add))  # type: ignore[arg-type]
    said = "checks must be 'strict', 'fast' or 'none'; found 'lax'"
    with pytest.raises(pl.InvalidOption, match=said):
        pl.compile_graph(graph, pl.Execute(add), "lax")  # type: ignore[arg-type]
    with pytest.raises(pl.InvalidOption, match=said):
        pl.Engine(fast, checks="lax")  # type: ignore[arg-type]


def test_files_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (3,), "x", mapping=0)
    executable = pl.compile_graph(graph, pl.PrintTensor(x))
    with pytest.raises(pl.FileLoadError, match="there is no folder"):
        executable.save(tmp_path / "no" / "x.poplite")
    with pytest.raises(pl.FileLoadError, match="it is a folder") as caught:
        executable.save(tmp_path)
    assert "program.poplite" in caught.value.fix
    with pytest.raises(pl.FileLoadError, match=r"cannot write .*: .*File name too long"):
        executable.save(tmp_path / ("x" * 300))
    with pytest.raises(pl.FileLoadError, match="no file can have the name"):
        executable.save(tmp_path / "a\0b")
    if os.path.exists("/dev/full"):  # on Linux
        with pytest.raises(pl.FileLoadError, match="cannot write '/dev/full': No space left"):
            executable.save("/dev/full")
    with pytest.raises(pl.ElementTypeError, match="save: None is not a path"):
        executable.save(None)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
    executable.save(tmp_path / ("x" * 250))  # as long as a name may be
    assert [len(path.name) for path in tmp_path.iterdir()] == [250]


def test_the_digest_of_a_text_is_the_same_in_every_version_of_python(model: dict[str, Any]) -> None:
    code = meaning_of(model["Blend"][pl.HALF]).code
    assert code.fields == ("a: State[FLOAT]", "x: InOut[Vector[HALF]]")
    assert [(f.name, f.digest, f.numbers) for f in code.functions] == [
        ("compute", "f0d263a8ca5397162c9493a1c4a3a6d8", {"SHIFT": "0.25"}),
        ("halved", "8193762650fd9a0520be7b96a3ba6dfc", {}),
    ]


@pytest.mark.parametrize(
    ("use", "told"),
    [
        (lambda: dict[str, int]()["row"], "KeyError, 'row'"),
        (lambda: int("x"), "ValueError, invalid literal"),
        (lambda: 1 // 0, "ZeroDivisionError"),
        (lambda: None.row, "AttributeError"),  # type: ignore[attr-defined]
    ],
)
def test_whatever_wrong_data_raise_is_an_error_of_the_file(use: Any, told: str) -> None:
    with (
        pytest.raises(pl.FileLoadError, match=f"'a' cannot be loaded as a state: {told}"),
        Format("state", (1,), "a state", "engine.save_state(path)").loading("'a'"),
    ):
        use()
