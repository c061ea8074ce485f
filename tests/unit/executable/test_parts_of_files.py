"""Parts of executables in files: generated classes, origins of vertices, the host's handles."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import deep, thinned
from helpers.running import both_forms, python, words_of
from poplite import ops
from poplite.compile.lower_compute_sets import origins_of
from poplite.executable.parts import Origins
from poplite.ops.fuse.classes import class_of, recipe_of
from poplite.ops.fuse.recipe import (
    Body,
    Line,
    MapRecipe,
    OperandPart,
    ReductionRecipe,
    SumRecipe,
    fault_of,
)

# -- generated classes -----------------------------------------------------------------------------


PROGRAM = """
import numpy as np
import poplite as pl
from poplite import ops

graph = pl.Graph(pl.Target(tiles=4))
make = lambda kind, shape, name, values: graph.add_variable(
    kind, shape, name, mapping="linear", initial_value=np.asarray(values).reshape(shape)
)
x = make(pl.FLOAT, (8, 16), "x", np.arange(128) / 7)
b = make(pl.FLOAT, (16,), "b", np.arange(16))
n = make(pl.INT, (40,), "n", np.arange(40) - 20)
h = make(pl.HALF, (8, 1), "h", np.arange(8) / 3)
with graph.steps() as steps:
    results = {
        "rows": ops.map((x - b) * 0.5),
        "columns": ops.map(ops.cast(x, pl.HALF) * h + 1),
        "integers": ops.map(ops.divide_trunc(n, 3) ** 3 + ops.popcount(n)),
        "loss": ops.map(ops.sum((x - b) ** 2)),
        "largest": ops.map(ops.max(x * x, 0)),
        "all": ops.map(ops.all(n < 20)),
    }
    ops.assign(n, ops.where(n > 3, n, -n))
for name, tensor in (*results.items(), ("n", n)):
    graph.create_host_read(name, tensor)
executable = pl.compile_graph(graph, steps, options={"debug.instrument": False})
executable.save("ops.poplite")
"""

RUN = """
for interpret in (False, True):
    engine = pl.Engine(executable, interpret=interpret)
    engine.run()
    for handle in ("rows", "columns", "integers", "loss", "largest", "all", "n"):
        print(np.asarray(engine.read(handle)).tobytes().hex())
"""

LOAD = """
import numpy as np
import poplite as pl

executable = pl.Executable.load("ops.poplite")
executable.save("saved.poplite")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the program has saved its file."""
    made = tmp_path_factory.mktemp("generated")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        exec(PROGRAM, {})
    return made


@deep
def test_another_process_makes_the_classes_itself(folder: Path) -> None:
    printed = words_of(folder, PROGRAM + RUN)
    assert len(printed) == 14
    assert printed[:7] == printed[7:]
    assert words_of(folder, LOAD + RUN) == printed
    assert (folder / "saved.poplite").read_bytes() == (folder / "ops.poplite").read_bytes()


def test_equal_recipes_are_one_class() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (4,), "x", mapping=0)
    with graph.steps():
        ops.map(x * 2)
        ops.map(x * 3)
    (cls,) = {
        vertex.vertex_class for compute_set in graph.compute_sets for vertex in compute_set.vertices
    }
    recipe = recipe_of(cls)
    assert isinstance(recipe, MapRecipe)
    assert recipe.body.lines == (Line("multiply", pl.FLOAT, ("a0", "k0")),)
    assert recipe.parts == (OperandPart.ELEMENTS,)
    assert class_of(recipe) is cls


class Written(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        self.x[0] = 1.0


def test_classes_that_somebody_wrote_have_no_recipe() -> None:
    assert recipe_of(Written) is None


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"total": 2}, "cannot add up tensor 2"),
        ({"total": 1}, "cannot add up tensor 1"),
        ({"parts": (OperandPart.ELEMENTS, OperandPart.ROWS)}, "lists of rows with a sum"),
        ({"parts": (OperandPart.ELEMENTS,)}, "2 tensors and 1 parts"),
        ({"out": pl.INT}, "gives FLOAT, not INT"),
    ],
)
def test_recipes_of_sums_that_no_expression_has(change: dict[str, Any], found: str) -> None:
    lines = (Line("cast", pl.FLOAT, ("a1",)), Line("add", pl.FLOAT, ("a0", "v0")))
    body = Body(lines, "v1", (pl.FLOAT, pl.INT), ())
    sound = SumRecipe(body, (OperandPart.ELEMENTS, OperandPart.ROW), pl.FLOAT, 0)
    assert fault_of(sound) is None
    assert found in (fault_of(replace(sound, **change)) or "")


# -- recipes that no expression has ----------------------------------------------------------------


def recipe(manifest: Any, kind: type) -> dict[str, Any]:
    """The first recipe of a kind in a manifest, to be changed."""
    recipes = [each["recipe"] for each in manifest["classes"] if "recipe" in each]
    found: dict[str, Any] = next(fields for name, fields in recipes if name == kind.__name__)
    return found


def line(manifest: Any) -> dict[str, Any]:
    found: dict[str, Any] = recipe(manifest, MapRecipe)["body"]["lines"][0]
    return found


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (
            lambda m: line(m).update(operands=["a0", "v0"]),
            "line 0 of its recipe uses the unknown name 'v0'",
        ),
        (
            lambda m: line(m).update(operands=["a0", "__import__('os')"]),
            "uses the unknown name \"__import__('os')\"",
        ),
        (
            lambda m: line(m).update(operation="system"),
            "line 0 of its recipe cannot apply 'system' to",
        ),
        (lambda m: line(m).update(operation="logical_and"), "'logical_and' to FLOAT, FLOAT"),
        (lambda m: line(m).update(element_type="HALF"), "'subtract' to FLOAT, FLOAT as HALF"),
        (lambda m: line(m).update(operands=["a0"]), "'subtract' to FLOAT as FLOAT"),
        (lambda m: recipe(m, MapRecipe)["body"].update(result="self"), "the unknown result 'self'"),
        (lambda m: recipe(m, MapRecipe).update(out="INT"), "gives FLOAT, not INT"),
        (lambda m: recipe(m, MapRecipe).update(parts=["ROW"]), "2 tensors and 1 parts"),
        (lambda m: recipe(m, MapRecipe).update(parts=["ROW", "SHELF"]), "'SHELF' is not one of"),
        (lambda m: recipe(m, MapRecipe).update(in_place=7), "replaces tensor 7"),
        (lambda m: recipe(m, MapRecipe)["body"].update(numbers=["QUARTER"]), "do not support"),
        (lambda m: recipe(m, ReductionRecipe).update(how="sum"), "FLOAT by 'sum'"),
        (lambda m: recipe(m, ReductionRecipe).update(how="logical_or"), "FLOAT by 'logical_or'"),
        (lambda m: recipe(m, ReductionRecipe).update(scalars=[0, 1]), "scalars (0, 1) for 2"),
        (
            lambda m: recipe(m, MapRecipe)["body"].update(lines=[line(m)] * 20_000),
            "20,000 lines; at most 16,384 are accepted",
        ),
    ],
)
def test_altered_recipes_are_refused(
    folder: Path, tmp_path: Path, change: Callable[[Any], None], found: str
) -> None:
    with pytest.raises(pl.FileLoadError) as caught:
        pl.Executable.load(altered(folder / "ops.poplite", tmp_path, change))
    assert found in caught.value.what


def test_a_sound_recipe_of_another_class_is_refused(folder: Path, tmp_path: Path) -> None:
    path = altered(folder / "ops.poplite", tmp_path, lambda m: line(m).update(operation="add"))
    with pytest.raises(
        pl.FileLoadError,
        match=r"Map_\w+: this version of poplite generates "
        r"Map_\w+",
    ):
        pl.Executable.load(path)


def altered(path: Path, folder: Path, change: Callable[[Any], None]) -> Path:
    """Return a copy of an executable's file whose manifest is changed."""
    copy = folder / "altered.poplite"
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(copy, "w") as target:
        for member in source.infolist():
            content = source.read(member)
            if member.filename == "manifest.json":
                manifest = json.loads(content)
                change(manifest)
                content = json.dumps(manifest, sort_keys=True, separators=(",", ":")).encode()
            target.writestr(member, content)
    return copy


# -- origins of vertices ---------------------------------------------------------------------------


class One(pl.Vertex):
    """Sets one."""

    x: pl.Output[pl.INT]

    def compute(self) -> None:
        """Set."""
        self.x = 1


class Two(One):
    """The same by another name."""


def num_bytes(origins: Origins) -> int:
    parts = [origins.class_of, origins.tile_of, origins.location_of]
    arrays = [getattr(p, f.name) for p in parts for f in dataclasses.fields(p)]
    return sum(a.nbytes for a in arrays if isinstance(a, np.ndarray))


def test_single_vertices_and_blocks_are_named_as_in_the_graph() -> None:
    graph = pl.Graph(pl.Target(tiles=300))
    x = graph.add_variable(pl.INT, (400,), "x", mapping="linear")
    work = graph.add_compute_set("work")
    for k in range(40):
        graph.add_vertex(work, (One, Two)[k % 2], tile=k * 7, x=x[k])
    graph.add_vertex(work, One, tile=3, x=x[40])
    graph.add_vertices(work, Two, tile=299 - np.arange(100), x=x[100:200])
    graph.add_vertices(work, Two, tile=5, x=x[200:250])
    for k in range(10):
        graph.add_vertex(work, Two, tile=1, x=x[300 + k])
    origins = origins_of(work)
    assert len(origins) == len(work.vertices) == 201
    for named, vertex in zip((origins[n] for n in range(201)), work.vertices, strict=True):
        assert str(named) == str(vertex)
        assert named.location == vertex.location
        assert (named.vertex_class, named.index) == (vertex.vertex_class, vertex.index)


def test_a_compute_set_without_vertices() -> None:
    assert len(origins_of(pl.Graph().add_compute_set())) == 0


def test_many_vertices_take_few_bytes() -> None:
    graph = pl.Graph(pl.Target(tiles=1472))
    x = graph.add_variable(pl.INT, (200_000,), "x", mapping="linear")
    work, spread = graph.add_compute_set("work"), graph.add_compute_set("spread")
    numbers = np.arange(100_000)
    for first in (0, 100_000):
        tile = numbers * 1472 // 100_000
        graph.add_vertices(work, One, tile=tile, x=x[first : first + 100_000])
    assert num_bytes(origins_of(work)) < 100_000
    graph.add_vertices(spread, One, tile=numbers % 1472, x=x[:100_000])
    assert num_bytes(origins_of(spread)) < 2.1 * 100_000
    shared = origins_of(spread).tile_of.tiles
    assert np.shares_memory(shared, next(iter(spread.vertices.blocks())).tiles.tiles)


# -- handles of the host ---------------------------------------------------------------------------


@both_forms
def test_handles_lead_to_everything(tmp_path: Path, interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.FLOAT, (2, 4), "x", mapping="linear")
    row = graph.add_variable(pl.UNSIGNED_INT, (), "row", mapping=0)
    source = graph.add_host_to_device_fifo("in", pl.FLOAT, 8)
    sink = graph.add_device_to_host_fifo("out", pl.FLOAT, 8)
    table = graph.add_remote_buffer("table", pl.FLOAT, 8, repeats=10)
    negate = graph.add_host_function("negate", [(pl.FLOAT, 8)], [(pl.FLOAT, 8)])
    body = graph.add_function(pl.Copy(source, x.T), "body")
    buffer = graph.add_function_buffer(body)
    graph.create_host_write("row", row)
    graph.create_host_write("x", x.T)
    graph.create_host_read("x", x)
    programs = {
        "call": pl.Call(body),
        "load": pl.Copy(buffer, body),
        "main": pl.Sequence(pl.Call(negate, [x], [x]), pl.Copy(x, table, row), pl.Copy(x, sink)),
    }
    file = tmp_path / "host.poplite"
    pl.Engine(graph, programs).executable.save(file)

    engine = pl.Engine(pl.Executable.load(file), interpret=interpret)
    assert engine.list_streams() == ["in", "out"]
    with pytest.raises(pl.StreamConnectionError, match="2 streams and host functions"):
        engine.run("main")
    engine.connect_stream("in", np.arange(8, dtype=np.float32))
    taken = np.zeros(8, np.float32)
    engine.connect_stream("out", taken)
    engine.connect_host_function("negate", lambda ins, outs: np.negative(ins[0], out=outs[0]))
    with pytest.raises(pl.ApplicationRuntimeError, match="the code of the function is not loaded"):
        engine.run("call")
    engine.run("load")
    engine.run("call")
    assert engine.read("x").tolist() == [[0, 2, 4, 6], [1, 3, 5, 7]]
    report = engine.report()
    assert [(step.name, step.program_name) for step in report.execution.steps] == [
        ("Copy 'in' -> 'x'", "call"),
        ("load 'body'", "load"),
    ]
    assert pl.Report.from_json(report.to_json()) == report
    engine.write("row", 7)
    engine.run("main")
    assert taken.tolist() == [-0, -2, -4, -6, -1, -3, -5, -7]
    assert engine.copy_from_remote_buffer("table", 7).tolist() == taken.tolist()
    engine.write("x", np.zeros((4, 2)))
    assert not engine.read("x").any()


# -- a file of format 7 ----------------------------------------------------------------------------
# `tests/golden/executables` holds the file, the text of its vertex classes, and of the program
# that wrote it.  They are not made anew: files of this format are read for as long as there are
# such.


GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "executables"

RUN_MODEL = """
import hashlib
import sys
import numpy as np
import poplite as pl
import model

engine = pl.Engine(pl.Executable.load("format_7.poplite"), interpret="interpret" in sys.argv)
engine.write("x", np.arange(320).reshape(8, 40) / 7)
engine.run("main")
engine.write("at", 3)
engine.run("pick")
engine.run("switch")
for name in ("n", "h", "y", "total"):
    print(name, hashlib.sha256(engine.read(name).tobytes()).hexdigest()[:16])
print("cycles", engine.report().cycles)
"""

THEN = """\
n a16b6e3eff2b38fa
h e95e43b577acd46e
y 6c9d1377194a4a8b
total b2d420b89498fe48
cycles 13961
"""
"""Values, by their digests, and cycles."""


@pytest.mark.parametrize("form", thinned(["compiled", "interpret"], keep=1))
def test_it_runs_as_it_did(tmp_path: Path, form: str) -> None:
    shutil.copy(GOLDEN / "format_7.poplite", tmp_path)
    shutil.copy(GOLDEN / "format_7_vertices.txt", tmp_path / "model.py")
    (tmp_path / "run.py").write_text(RUN_MODEL)
    assert python(tmp_path, "run.py", form).stdout == THEN


def test_it_is_still_the_file_of_then() -> None:
    file = GOLDEN / "format_7.poplite"
    digest = "f4b3d13526b593fecffd9dd79cb113bce9555a98d29c93e3539ca662eb30ec11"
    assert hashlib.sha256(file.read_bytes()).hexdigest() == digest
    with zipfile.ZipFile(file) as archive:
        assert json.loads(archive.read("manifest.json"))["format"] == 7
