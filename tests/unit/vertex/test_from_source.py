"""Vertex classes from texts: one class for a text, lines in messages, files of executables."""

from __future__ import annotations

import gc
import linecache
import traceback
from pathlib import Path

import numpy as np
import pytest

import poplite as pl

TRIPLE = """\
import poplite as pl

FACTOR = 3.0

def scaled(x):
    return x * FACTOR

class Triple(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = scaled(self.x[i])
"""


def program_of(cls: type[pl.Vertex]) -> tuple[pl.Graph, pl.Program]:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (4,), "x", mapping=0, initial_value=[1, 2, 3, 4])
    graph.create_host_read("x", x)
    compute_set = graph.add_compute_set("triple")
    graph.add_vertex(compute_set, cls, tile=0, x=x)
    return graph, pl.Execute(compute_set)


@pytest.mark.parametrize("interpret", [False, True])
def test_a_class_from_text_runs_in_both_forms(interpret: bool) -> None:
    engine = pl.Engine(*program_of(pl.vertex_from_source(TRIPLE, "Triple")), interpret=interpret)
    engine.run()
    np.testing.assert_array_equal(engine.read("x"), [3, 6, 9, 12])


def test_equal_texts_are_one_class_until_nobody_uses_it() -> None:
    text = TRIPLE + "# of this test\n"
    cls = pl.vertex_from_source(text, "Triple")
    assert cls.location is not None
    file = cls.location.file
    assert {id(pl.vertex_from_source(text, "Triple")) for _ in range(1000)} == {id(cls)}
    assert pl.vertex_from_source(text + "\n", "Triple") is not cls
    assert linecache.getline(file, 8) == "class Triple(pl.Vertex):\n"
    del cls
    gc.collect()
    assert file not in linecache.cache


def test_messages_and_tracebacks_show_lines_of_the_text() -> None:
    text = TRIPLE.replace("scaled(self.x[i])", "open('file')")
    graph, program = program_of(pl.vertex_from_source(text, "Triple"))
    with pytest.raises(pl.VertexCompileError, match=r"<poplite Triple [0-9a-f]+>:13"):
        pl.Engine(graph, program)
    broken = TRIPLE + "    @staticmethod\n    def helper() -> None:\n        raise KeyError(7)\n"
    cls = pl.vertex_from_source(broken, "Triple")
    with pytest.raises(KeyError) as caught:
        cls.helper()  # type: ignore[attr-defined]
    assert "raise KeyError(7)" in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("class A: pass", "A", r"class A of the text is no vertex class"),
        ("x = 1\nclass A(\n", "A", r"is not Python(.|\n)*>:2: 'class A\('"),
        ("import math\nmath.foo", "A", r"AttributeError(.|\n)*>:2: 'math.foo'"),
        (TRIPLE, "Tripel", r"no class 'Tripel' \(did you mean 'Triple'\?\)"),
        ("from poplite.vertices import Add", "Add", r"no class 'Add'"),
        ("x = '\0'", "A", "is not Python"),
        (TRIPLE.replace("InOut[", "Both["), "Triple", r">:9: 'x: pl.Both"),
    ],
)
def test_texts_without_such_a_class_are_refused(text: str, name: str, message: str) -> None:
    known = set(linecache.cache)
    with pytest.raises(pl.VertexDefinitionError, match=message):
        pl.vertex_from_source(text, name)
    assert {file for file in set(linecache.cache) - known if file.startswith("<poplite")} == set()


def test_anything_but_text_is_refused() -> None:
    with pytest.raises(pl.ElementTypeError, match="7 is no text"):
        pl.vertex_from_source(7, "A")  # type: ignore[arg-type]


def test_executables_find_the_class_and_execute_nothing_of_the_file(tmp_path: Path) -> None:
    path, text = tmp_path / "triple.pop", TRIPLE.replace("Triple", "TripleOfFile")
    pl.compile_graph(*program_of(pl.vertex_from_source(text, "TripleOfFile"))).save(path)
    gc.collect()
    with pytest.raises(pl.FileLoadError, match="TripleOfFile"):
        pl.Executable.load(path)
    cls = pl.vertex_from_source(text, "TripleOfFile")
    engine = pl.Engine(pl.Executable.load(path))
    engine.run()
    np.testing.assert_array_equal(engine.read("x"), [3, 6, 9, 12])
    other = pl.vertex_from_source(text.replace("3.0", "4.0"), "TripleOfFile")
    assert other is not cls
    assert pl.Executable.load(path, vertices=[cls]) is not None
