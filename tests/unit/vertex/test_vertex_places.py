"""Vertex classes wherever they are defined, in both forms; what their vectors' layouts limit."""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

import numpy as np
import pytest

import poplite as pl
from helpers.depth import thinned, values_only
from helpers.running import python
from poplite.vertex.fields import PLAIN
from poplite.vertex.vertex import Constraint


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


# -- where classes are defined ---------------------------------------------------------------------


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


# -- state vectors ---------------------------------------------------------------------------------


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
    with pytest.raises(error, match=f"vertex 0 of 'Table' on tile 0: field {message}"):
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

    with pytest.raises(pl.VertexCompileError, match="field 'table' is read-only"):
        run(Wrong, [0], table=[1])


# -- class constants -------------------------------------------------------------------------------


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
    with pytest.raises(pl.VertexCompileError, match="a dict cannot be used"):
        pl.Engine(graph, pl.Execute(work), options=values_only())


# -- layouts of vector fields: how they are declared, what they limit, what classes ask of memory --


T = TypeVar("T", pl.FLOAT, pl.HALF)
SHORT = pl.Layout(pl.VectorLayout.SHORT_SPAN, min_align=8)


class Sums(pl.Vertex, Generic[T]):
    x: Annotated[pl.Input[pl.Vector[T]], SHORT]
    rows: Annotated[pl.Input[pl.Vector[pl.Vector[T]]], "a note", SHORT]
    table: Annotated[pl.State[pl.Vector[pl.INT]], SHORT]
    y: pl.Output[T]

    def compute(self) -> None:
        total = 0.0
        for value in self.x:
            total += value
        for i in range(len(self.rows)):
            for value in self.rows[i]:
                total += value
        for number in self.table:
            total += number
        self.y = total


def test_a_layout_stands_beside_the_type() -> None:
    fields = Sums[pl.HALF].fields
    assert fields["x"].layout == SHORT
    assert fields["y"].layout is PLAIN
    assert str(fields["x"]) == "x: Input[Vector[HALF]] with SHORT_SPAN, min_align 8"
    assert str(fields["y"]) == "y: Output[HALF]"
    assert repr(SHORT) == "Layout(VectorLayout.SHORT_SPAN, min_align=8)"
    assert str(replace(SHORT, interleaved=True)) == "SHORT_SPAN, min_align 8, interleaved"


def test_layouts_are_inherited_and_written_as_text_too() -> None:
    class More(Sums[pl.FLOAT]):
        lists: "Annotated[pl.InOut[pl.Vector[pl.Vector[pl.INT]]], pl.Layout(pl.VectorListLayout.DELTAN)]"  # noqa: E501, UP037

        def compute(self) -> None:
            self.lists[0][0] = 1

    assert More.fields["rows"].layout == SHORT
    assert More.fields["lists"].layout.vector is pl.VectorListLayout.DELTAN


@pytest.mark.parametrize("interpret", [False, True])
def test_a_layout_changes_nothing_that_is_computed(interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (3, 4), "x", mapping=0, initial_value=np.arange(12))
    y = graph.add_variable(pl.FLOAT, (2,), "y", mapping=1)
    cs = graph.add_compute_set("sums")
    graph.add_vertex(cs, Sums, tile=0, x=x[0], rows=x[1:], table=[100, 200], y=y[0])
    graph.add_vertices(
        cs, Sums, tile=1, x=x[2:], rows=x[:2].expand([0]), table=[[1, 2, 3]], y=y[1:]
    )
    engine = pl.Engine(graph, pl.Execute(cs), interpret=interpret, options=values_only())
    engine.run()
    assert engine.read(y).tolist() == [66 + 300, 66 + 6]


@pytest.fixture
def graph() -> pl.Graph:
    return pl.Graph(pl.Target(tiles=4))


def test_a_short_span_counts_to_2047(graph: pl.Graph) -> None:
    cs = graph.add_compute_set("sums")
    most = graph.add_variable(pl.FLOAT, (2, 2047), "most", mapping=0)
    more = graph.add_variable(pl.FLOAT, (2, 2048), "more", mapping=0)
    vertex = graph.add_vertex(cs, Sums, tile=3, x=most[0], rows=most)
    message = (
        r"^vertex 1 of 'Sums\[FLOAT\]' on tile 3: field 'x' takes 2,047 elements, "
        r"but 'more' has 2,048 "
    )
    with pytest.raises(pl.GraphConnectionError, match=message):
        graph.add_vertex(cs, Sums, tile=3, x=more[0])
    with pytest.raises(pl.GraphConnectionError, match="each row of 'more' has 2,048 "):
        graph.add_vertex(cs, Sums, tile=3, rows=more)
    with pytest.raises(pl.GraphConnectionError, match=r"but row 1 \('more'\) has 2,048 "):
        graph.add_vertex(cs, Sums, tile=3, rows=[most[0], more[0]])
    with pytest.raises(pl.GraphConnectionError, match="but the given value has 2,048 "):
        graph.set_initial_value(vertex["table"], np.zeros(2048, np.int32))
    graph.set_initial_value(vertex["table"], np.zeros(2047, np.int32))
    other = graph.add_vertex(cs, Sums[pl.FLOAT], tile=3)
    graph.connect(other["rows"][0], most[1])
    with pytest.raises(pl.GraphConnectionError, match=r"but row 1 \('more'\) has 2,048 "):
        graph.connect(other["rows"][1], more[1])


def test_vertices_added_together_are_limited_too(graph: pl.Graph) -> None:
    cs = graph.add_compute_set("sums")
    x = graph.add_variable(pl.FLOAT, (5 * 2100,), "x", mapping="linear")
    y = graph.add_variable(pl.FLOAT, (5,), "y", mapping="linear")
    lengths = [2047, 2048, 3, 2100, 0]
    cuts = [(2100 * k, 2100 * k + n) for k, n in enumerate(lengths)]
    plenty: dict[str, Any] = {"x": x.slices([(0, 1)] * 5), "rows": [[]] * 5, "table": [[1]] * 5}
    for name, value, found in (
        ("x", x.slices(cuts), "but 'x' has 2,048"),
        ("x", [x[a:b] for a, b in cuts], "but 'x' has 2,048"),
        ("rows", [[x[:2], x[a:b]] for a, b in cuts], r"but row 1 \('x'\) has 2,048"),
        ("table", [np.zeros(n, np.int32) for n in lengths], "but the given value has 2,048"),
    ):
        message = (
            r"(?s)^vertex 1 of 'Sums(\[FLOAT\])?' on tile 0: "
            rf"field '{name}' takes 2,047 elements, {found} "
            r".*the same problem: vertex 3 of 'Sums(\[FLOAT\])?'\n"
        )
        with pytest.raises(pl.GraphConnectionError, match=message):
            graph.add_vertices(cs, Sums, tile=0, **(plenty | {name: value}), y=y)
    assert not cs.vertices


def test_limits_are_told(graph: pl.Graph) -> None:
    assert graph.max_field_dim(Sums, "x") == graph.max_field_dim(Sums, "table", 0) == 2047
    assert [graph.max_field_dim(Sums[pl.HALF], "rows", dim) for dim in (0, 1)] == [2**32 - 1, 2047]
    with pytest.raises(pl.TensorIndexError, match="field 'x' has 1 dimension, and no dimension 1 "):
        graph.max_field_dim(Sums, "x", 1)
    with pytest.raises(pl.TensorIndexError, match="'y' has 0 dimensions, and no dimension 0 "):
        graph.max_field_dim(Sums, "y")
    with pytest.raises(pl.TensorIndexError, match="'x' has 1 dimension, and no dimension 'a' "):
        graph.max_field_dim(Sums, "x", "a")  # type: ignore[arg-type]
    with pytest.raises(pl.TensorIndexError, match="no dimension False"):
        graph.max_field_dim(Sums, "x", False)
    with pytest.raises(pl.UnknownField, match=r"has no field 'rosw' \(did you mean 'rows'\?\)"):
        graph.max_field_dim(Sums, "rosw")
    with pytest.raises(pl.ElementTypeError, match="3 is not a vertex class"):
        graph.max_field_dim(3, "x")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("element", "largest"),
    [
        (pl.FLOAT, float(np.finfo(np.float32).max)),
        (pl.HALF, 65504.0),
        (pl.BOOL, 1),
        (pl.SIGNED_CHAR, 127),
        (pl.UNSIGNED_SHORT, 65535),
        (pl.LONGLONG, 2**63 - 1),
        (pl.UNSIGNED_LONGLONG, 2**64 - 1),
    ],
)
def test_the_largest_number_of_a_field(graph: pl.Graph, element: Any, largest: float) -> None:
    Any_ = TypeVar("Any_")

    class Holds(pl.Vertex, Generic[Any_]):
        x: pl.Input[Any_]

        def compute(self) -> None:
            pass

    assert graph.max_vertex_field_value(Holds[element], "x") == largest
    with pytest.raises(pl.ElementTypeError, match=r"(?s)^Holds: field 'x' has no largest.*FLOAT\]"):
        graph.max_vertex_field_value(Holds, "x")
    with pytest.raises(pl.ElementTypeError, match=r"(?s)'x' has no largest.*format and scale"):
        graph.max_vertex_field_value(Holds[pl.QUARTER], "x")


@pytest.mark.parametrize("align", [0, 3, -8, 8.0, True, "8"])
def test_alignments_are_powers_of_two(align: Any) -> None:
    with pytest.raises(
        pl.VertexDefinitionError, match=f"min_align={align!r} is not a power of two"
    ):
        pl.Layout(min_align=align)


@pytest.mark.parametrize(
    ("kind", "layouts", "why"),
    [
        (pl.Input[pl.FLOAT], [SHORT], "is one element, which cannot have Layout"),
        (pl.Input[pl.Vector[pl.FLOAT]], [SHORT, PLAIN], "has 2 layouts, but may have only one"),
        (
            pl.Input[pl.Vector[pl.FLOAT]],
            [pl.Layout(pl.VectorListLayout.DELTAN)],
            "is not a list of edges",
        ),
    ],
)
def test_layouts_that_do_not_fit_are_refused(kind: Any, layouts: list[Any], why: str) -> None:
    with pytest.raises(pl.VertexDefinitionError, match=rf"^vertex class 'V': field 'x' {why}"):
        type("V", (pl.Vertex,), {"__annotations__": {"x": Annotated[kind, *layouts]}})
    with pytest.raises(pl.VertexDefinitionError, match="^Layout: 'Spam' is not in VectorLayout"):
        pl.Layout("Spam")  # type: ignore[arg-type]


def test_constraints_are_data() -> None:
    class Apart(Sums[pl.FLOAT]):
        constraints = ("elem(*x) != elem(**rows)", " region( *x )!=region(*y) ")

    assert Apart.memory_constraints == (
        Constraint("elem", "x", "rows"),
        Constraint("region", "x", "y"),
    )
    assert Sums.memory_constraints == ()

    class Still(Apart):
        pass

    assert Still.memory_constraints == Apart.memory_constraints


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("elem(*x) == elem(*y)", r"'elem\(\*x\) == elem\(\*y\)' is not a memory constraint"),
        ("elem(*x) != region(*y)", "compares elem with region"),
        ("elem(*x) != elem(*z)", "refers to 'z', which is not a field"),
        ("elem(*x) != elem(**row)", r"refers to 'row', which is not a field \(did you mean 'rows'"),
        ("elem(**x) != elem(*y)", r"contains \*\*x, where \*x is needed"),
        ("elem(*x) != elem(*table)", r"contains \*table, where an edge is needed"),
        ("elem(*x) != elem(*x)", "compares field 'x' with itself"),
        (3, "3 is not a memory constraint"),
    ],
)
def test_constraints_name_fields(text: Any, why: str) -> None:
    with pytest.raises(pl.MemoryElemConstraintsError, match=f"(?s)^vertex class 'V': .*{why}"):
        type("V", (Sums[pl.FLOAT],), {"constraints": (text,)})


@pytest.mark.parametrize("texts", ["elem(*x) != elem(*y)", 3])
def test_constraints_are_a_tuple(texts: Any) -> None:
    with pytest.raises(pl.MemoryElemConstraintsError, match="constraints is .*, not a tuple"):
        type("V", (Sums[pl.FLOAT],), {"constraints": texts})
