"""Vertex classes run in both forms wherever they are defined, with state and class constants."""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import pytest

import poplite as pl
from helpers.depth import thinned, values_only
from helpers.running import python


def run(vertex: type[pl.Vertex], x: list[float], element: Any = pl.INT, **fields: Any) -> list[Any]:
    """Run one vertex of field x in both forms, and return what x holds when both agree."""
    found = []
    for interpret in (False, True):
        graph = pl.Graph(pl.Target(tiles=1))
        tensor = graph.add_variable(element, (len(x),), "x", mapping=0, initial_value=x)
        work = graph.add_compute_set("work")
        graph.add_vertex(work, vertex, tile=0, x=tensor, **fields)
        engine = pl.Engine(graph, pl.Execute(work), interpret=interpret, options=values_only())
        engine.run()
        found.append(engine.read(tensor))
    assert found[0].tobytes() == found[1].tobytes()
    return list(found[0].tolist())


# -- where classes are defined ---------------------------------------------------------------


def test_functions_that_make_classes() -> None:
    def make(factor: float, *, negate: bool) -> type[pl.Vertex]:
        sign = -1 if negate else 1

        class Scale(pl.Vertex):
            x: pl.InOut[pl.Vector[pl.FLOAT]]

            def compute(self) -> None:
                for i in range(len(self.x)):
                    self.x[i] = sign * factor * self.x[i]

        return Scale

    classes = [make(2.0, negate=False), make(2.0, negate=True), make(0.5, negate=True)]
    assert [run(cls, [1, 3], pl.FLOAT) for cls in classes] == [[2, 6], [-2, -6], [-0.5, -1.5]]


def test_a_type_variable_of_the_function() -> None:
    Local = TypeVar("Local", bound=pl.ElementType[Any])

    class Square(pl.Vertex, Generic[Local]):
        x: pl.InOut[pl.Vector[Local]]

        def compute(self) -> None:
            for i in range(len(self.x)):
                self.x[i] = self.x[i] * self.x[i]

    assert run(Square, [1, 3], pl.INT) == [1, 9]
    assert run(Square[pl.FLOAT], [0.5], pl.FLOAT) == [0.25]


@pytest.mark.parametrize("doubles", [False, True])
def test_one_of_two_classes_by_a_condition(doubles: bool) -> None:
    if doubles:

        class Work(pl.Vertex):
            x: pl.InOut[pl.Vector[pl.INT]]

            def compute(self) -> None:
                self.x[0] *= 2

    else:

        class Work(pl.Vertex):  # type: ignore[no-redef]
            x: pl.InOut[pl.Vector[pl.INT]]

            def compute(self) -> None:
                self.x[0] *= 3

    assert run(Work, [5]) == [10 if doubles else 15]


@pytest.fixture
def cells() -> Iterator[list[str]]:
    names: list[str] = []
    yield names
    for name in names:
        linecache.cache.pop(name, None)


@pytest.mark.parametrize("future", ["", "from __future__ import annotations\n"])
def test_cells_of_a_notebook(cells: list[str], future: str) -> None:
    texts = [
        f"""{future}from typing import Generic, TypeVar
import poplite as pl
T = TypeVar("T")
N = 4
""",
        f"""{future}class Work(pl.MultiVertex, Generic[T]):
    x: pl.InOut[pl.Vector[T]]

    def compute(self, worker: int) -> None:
        self.x[worker] += N * worker
""",
        f"""{future}class Work(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        self.x[0] += N
""",
    ]
    names: dict[str, Any] = {"__name__": "__main__"}
    made: list[Any] = []
    for number, text in enumerate(texts):
        name = f"<ipython-input-{number}-a1b2c3>"
        cells.append(name)
        linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
        exec(compile(text, name, "exec", dont_inherit=True), names)
        made.append(names.get("Work"))
    assert run(made[1], [1] * 6) == [1, 5, 9, 13, 17, 21]
    assert run(made[2], [1]) == [5]


SCRIPT = """
from typing import Generic, TypeVar
import poplite as pl

T = TypeVar("T")

class Work(pl.Vertex, Generic[T]):
    x: pl.InOut[pl.Vector[T]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] += i

for interpret in (False, True):
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (3,), "x", mapping=0, initial_value=[5, 6, 7])
    work = graph.add_compute_set("work")
    graph.add_vertex(work, Work, tile=0, x=x)
    options = {"debug.instrument": False}  # no prices, which would be compiled
    engine = pl.Engine(graph, pl.Execute(work), interpret=interpret, options=options)
    engine.run()
    print(engine.read(x))
"""


@pytest.mark.parametrize(
    ("how", "future"),
    thinned(
        itertools.product(["script", "-m", "-c"], ["", "from __future__ import annotations"]),
        keep=1,
    ),
)
def test_programs(how: str, future: str, tmp_path: Path) -> None:
    text = future + SCRIPT
    (tmp_path / "program.py").write_text(text)
    arguments = {"script": ["program.py"], "-m": ["-m", "program"], "-c": ["-c", text]}[how]
    assert python(tmp_path, *arguments).stdout == "[5 7 9]\n[5 7 9]\n"


# -- state vectors ---------------------------------------------------------------------------


class Table(pl.Vertex):
    floats: pl.State[pl.Vector[pl.FLOAT]]
    ints: pl.State[pl.Vector[pl.UNSIGNED_INT]]
    flags: pl.State[pl.Vector[pl.BOOL]]
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        self.x[0] = len(self.floats) + 10 * len(self.flags)
        for i, value in enumerate(self.floats):
            self.x[1] += value * self.floats[len(self.floats) - 1 - i]
        for number, flag in zip(self.ints, self.flags):  # noqa: B905
            if flag:
                self.x[2] += number


def test_state_vectors_are_indexed_and_walked_over() -> None:
    fields = {"floats": [0.5, 2, 3], "ints": [1, 2**32 - 1, 7], "flags": [True, False, True]}
    assert run(Table, [0, 0, 0], pl.FLOAT, **fields) == [33, 0.5 * 3 + 4 + 1.5, 8]
    fields = {"floats": np.zeros(0), "ints": range(3), "flags": [False]}
    assert run(Table, [0, 0, 0], pl.FLOAT, **fields) == [10, 0, 0]


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        (
            {"ints": [1.5]},
            pl.ElementTypeError,
            r"'ints': \[1\.5\] cannot be stored as UNSIGNED_INT",
        ),
        (
            {"ints": [0, 2**32]},
            pl.SizeOverflowError,
            "'ints': 4294967296 does not fit UNSIGNED_INT",
        ),
        ({"flags": [2]}, pl.ElementTypeError, r"'flags': \[2\] cannot be stored as BOOL"),
        ({"floats": [[1.0]]}, pl.GraphConnectionError, "'floats' needs values of rank 1.*rank 2"),
        ({"floats": 1.0}, pl.GraphConnectionError, "'floats' needs values of rank 1.*rank 0"),
    ],
)
def test_values_of_state_that_do_not_fit(
    values: dict[str, Any], error: type[pl.PopliteError], message: str
) -> None:
    with pytest.raises(error, match=f"Table 0 on tile 0: field {message}"):
        run(Table, [0], pl.FLOAT, **values)


def test_an_index_outside_of_a_state_vector() -> None:
    class Third(pl.Vertex):
        table: pl.State[pl.Vector[pl.INT]]
        x: pl.InOut[pl.Vector[pl.INT]]

        def compute(self) -> None:
            self.x[0] = self.table[2]

    assert run(Third, [0], table=[1, 2, 3]) == [3]
    with pytest.raises(pl.TensorIndexError, match="'Third.table': index 2 of 2 elements"):
        run(Third, [0], table=[1, 2])


def test_state_is_not_assigned() -> None:
    class Wrong(pl.Vertex):
        table: pl.State[pl.Vector[pl.INT]]
        x: pl.InOut[pl.Vector[pl.INT]]

        def compute(self) -> None:
            self.table[0] = self.x[0]

    with pytest.raises(pl.VertexCompileError, match="field 'table' is read only"):
        run(Wrong, [0], table=[1])


# -- class constants -------------------------------------------------------------------------


class Steps:
    """Constants for several vertex classes."""

    STEP = 3


class Count(pl.Vertex, Steps):
    FACTOR = 0.5
    BOTH = True
    x: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for i in range(0, len(self.x), self.STEP):
            self.x[i] = int(self.x[i] * self.FACTOR)
        if self.BOTH:
            self.x[1] = -1


class Finer(Count):
    STEP = 2


class Alone(Finer):
    FACTOR = 2.0
    BOTH = False


def test_constants_of_bases_and_subclasses() -> None:
    assert run(Count, [8, 8, 8, 8]) == [4, -1, 8, 4]
    assert run(Finer, [8, 8, 8, 8]) == [4, -1, 4, 8]
    assert run(Alone, [8, 8, 8, 8]) == [16, 8, 16, 8]


def test_a_constant_that_changes_is_compiled_anew() -> None:
    class Shift(pl.Vertex):
        BY = 1
        x: pl.InOut[pl.Vector[pl.INT]]

        def compute(self) -> None:
            self.x[0] += self.BY

    assert run(Shift, [5]) == [6]
    Shift.BY = 10
    assert run(Shift, [5]) == [15]


def test_an_engine_keeps_the_constants_of_when_it_was_made() -> None:
    class Shift(pl.Vertex):
        BY = 1
        x: pl.InOut[pl.Vector[pl.INT]]

        def compute(self) -> None:
            self.x[0] += self.BY

    for interpret in (False, True):
        Shift.BY = 1
        graph = pl.Graph(pl.Target(tiles=1))
        x = graph.add_variable(pl.INT, (1,), "x", mapping=0, initial_value=5)
        work = graph.add_compute_set("work")
        graph.add_vertex(work, Shift, tile=0, x=x)
        engine = pl.Engine(graph, pl.Execute(work), interpret=interpret, options=values_only())
        Shift.BY = 10
        engine.run()
        assert engine.read(x).tolist() == [6]


def test_statements_that_never_run_are_checked() -> None:
    class Short(pl.Vertex):
        x: pl.InOut[pl.FLOAT]

        def compute(self) -> None:
            self.x = 1.0
            if 1 > 2:
                return
            # a comment, then what Python leaves out of the byte code
            if not __debug__:
                len({})

    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (), "x", mapping=0)
    work = graph.add_compute_set("work")
    graph.add_vertex(work, Short, tile=0, x=x)
    with pytest.raises(pl.VertexCompileError, match="a dict is not"):
        pl.Engine(graph, pl.Execute(work), options=values_only())
