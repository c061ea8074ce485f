"""Executables with generated vertex classes: made anew, where they are loaded, from recipes."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import poplite as pl
from helpers.depth import deep
from helpers.running import words_of
from poplite import ops
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
        ({"total": 2}, "adds up tensor 2"),
        ({"total": 1}, "adds up tensor 1"),
        ({"parts": (OperandPart.ELEMENTS, OperandPart.ROWS)}, "lists of rows and a sum"),
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
        (lambda m: line(m).update(operands=["a0", "v0"]), "line 0 of its recipe uses 'v0'"),
        (
            lambda m: line(m).update(operands=["a0", "__import__('os')"]),
            "uses \"__import__('os')\"",
        ),
        (lambda m: line(m).update(operation="system"), "line 0 of its recipe says 'system' of"),
        (lambda m: line(m).update(operation="logical_and"), "'logical_and' of FLOAT, FLOAT"),
        (lambda m: line(m).update(element_type="HALF"), "'subtract' of FLOAT, FLOAT as HALF"),
        (lambda m: line(m).update(operands=["a0"]), "'subtract' of FLOAT as FLOAT"),
        (lambda m: recipe(m, MapRecipe)["body"].update(result="self"), "results in 'self'"),
        (lambda m: recipe(m, MapRecipe).update(out="INT"), "gives FLOAT, not INT"),
        (lambda m: recipe(m, MapRecipe).update(parts=["ROW"]), "2 tensors and 1 parts"),
        (lambda m: recipe(m, MapRecipe).update(parts=["ROW", "SHELF"]), "'SHELF' is not one of"),
        (lambda m: recipe(m, MapRecipe).update(in_place=7), "replaces tensor 7"),
        (lambda m: recipe(m, MapRecipe)["body"].update(numbers=["QUARTER"]), "do not take"),
        (lambda m: recipe(m, ReductionRecipe).update(how="sum"), "FLOAT by 'sum'"),
        (lambda m: recipe(m, ReductionRecipe).update(how="logical_or"), "FLOAT by 'logical_or'"),
        (lambda m: recipe(m, ReductionRecipe).update(scalars=[0, 1]), "scalars (0, 1) of 2"),
        (
            lambda m: recipe(m, MapRecipe)["body"].update(lines=[line(m)] * 20_000),
            "20,000 lines, at most 16,384 are read",
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
    with pytest.raises(pl.FileLoadError, match=r"Map_\w+: this poplite generates Map_\w+"):
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
