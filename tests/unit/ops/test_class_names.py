"""What generated vertex classes and steps are called in reports, messages and C++."""

from __future__ import annotations

import re

import pytest

import poplite as pl
from poplite import ops
from poplite.ipu.codelets.file_text import codelet_file
from poplite.ops.fuse.classes import class_of, display_name
from poplite.ops.fuse.recipe import Body, Line, MapRecipe, OperandPart, ReductionRecipe, SumRecipe
from poplite.types import FLOAT, HALF, INT
from poplite.vertex.from_source import made_from_source

SCALED = Body(
    (
        Line("subtract", FLOAT, ("a0", "a1")),
        Line("multiply", FLOAT, ("v0", "k0")),
        Line("add", FLOAT, ("v1", "k1")),
    ),
    "v2",
    (FLOAT, FLOAT),
    (FLOAT, FLOAT),
)
PRODUCT = Body((Line("multiply", HALF, ("a0", "a1")),), "v0", (HALF, HALF), ())
CAST = Body((Line("cast", FLOAT, ("a0",)),), "v0", (INT,), ())
BOTH = (OperandPart.ELEMENTS, OperandPart.ELEMENTS)


@pytest.mark.parametrize(
    ("recipe", "name"),
    [
        (MapRecipe(SCALED, BOTH, FLOAT), "(x0 - x1) * k0 + k1"),
        (MapRecipe(SCALED, BOTH, FLOAT, in_place=1), "(x0 - out) * k0 + k1"),
        (
            MapRecipe(SCALED, (OperandPart.ROWS, OperandPart.COLUMN), FLOAT),
            "(x0 - x1) * k0 + k1 (x0 rows, x1 a column)",
        ),
        (
            MapRecipe(CAST, (OperandPart.NUMBER,), FLOAT),
            "cast(x0, FLOAT) [INT -> FLOAT] (x0 a number)",
        ),
        (
            ReductionRecipe(PRODUCT, (1,), "add", HALF, True),
            "sum(x0 * x1) of columns [HALF] (x1 a number)",
        ),
        (ReductionRecipe(SCALED, (), "max", FLOAT, False), "max((x0 - x1) * k0 + k1) of rows"),
        (SumRecipe(SCALED, BOTH, FLOAT, 0), "(sum(slices) - x1) * k0 + k1"),
    ],
)
def test_a_class_is_called_after_its_formula(recipe: object, name: str) -> None:
    assert display_name(recipe) == name  # type: ignore[arg-type]


def test_a_formula_that_shares_parts_is_cut() -> None:
    """Written out, it would have 2**40 operands."""
    twice = ["a0", *(f"v{n}" for n in range(39))]
    lines = tuple(Line("add", FLOAT, (each, each)) for each in twice)
    name = display_name(MapRecipe(Body(lines, "v39", (FLOAT,), ()), (OperandPart.ELEMENTS,), FLOAT))
    assert "..." in name
    assert len(name) < 300


def test_files_and_codelets_take_the_name_of_letters() -> None:
    cls = class_of(MapRecipe(SCALED, BOTH, FLOAT))
    assert cls.__name__ == "(x0 - x1) * k0 + k1"
    assert cls.__qualname__.isidentifier()
    file = codelet_file([cls])
    assert file.names[cls] == cls.__qualname__
    assert f"class {cls.__qualname__}" in file.text


def test_texts_of_one_shown_name_lie_in_files_of_their_own() -> None:
    text = "import poplite as pl\nclass {0}(pl.Vertex):\n    def compute(self): pass\n"
    one = made_from_source(text.format("One"), "One", "the same")
    two = made_from_source(text.format("Two"), "Two", "the same")
    assert one.__name__ == two.__name__ == "the same"
    assert one.location.file == "<poplite the same>"
    assert re.fullmatch(r"<poplite the same [0-9a-f]+>", two.location.file)


def test_reports_name_formulas_and_targets() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x, b, y = (
        graph.add_variable(pl.FLOAT, (8,), name, mapping="linear", initial_value=1)
        for name in ("x", "b", "net/y")
    )
    with graph.steps() as program:
        ops.assign(y, (x - b) * 0.5 + 1)
        ops.assign(y, (x - b) * 0.25 + 2)  # of the same class
        ops.assign(pl.concat([x, y]), pl.concat([b, b]) * 2)
        ops.assign(x, y, name="back")
    engine = pl.Engine(graph, program)
    engine.run()
    report = engine.report()
    names = [step.name for step in report.execution.steps]
    assert names == ["y[out]", "y[out]_1", "assign[out]", "net/y to x"]
    types = [each.name for each in report.execution.vertex_types()]
    assert sorted(types) == ["(x0 - x1) * k0 + k1", "x0 * k0"]
    assert not re.search(r"_[0-9a-f]{8}", str(report))


def test_classes_of_one_name_are_told_apart() -> None:
    """Also where a function makes them, so that their modules and qualified names are equal."""

    def made(factor: float) -> type[pl.Vertex]:
        class Scale(pl.Vertex):
            x: pl.InOut[pl.Vector[pl.FLOAT]]

            def compute(self) -> None:
                self.x[0] *= factor

        return Scale

    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (2,), "x", mapping=0, initial_value=1)
    both = graph.add_compute_set("both")
    for n, factor in enumerate((2.0, 3.0)):
        graph.add_vertex(both, made(factor), tile=0, x=x[n : n + 1])
    engine = pl.Engine(graph, pl.Execute(both), interpret=True)
    engine.run()
    names = [each.name for each in engine.report().execution.vertex_types()]
    assert sorted(name.rpartition(".")[2] for name in names) == ["Scale, class 1", "Scale, class 2"]
    assert engine.read(x).tolist() == [2, 3]
