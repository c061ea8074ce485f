"""Classes made of others: templates with their element types, classes from texts."""

from __future__ import annotations

import gc
import linecache
import re
import sys
import traceback
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import pytest

import poplite as pl
from helpers.depth import values_only
from helpers.running import python
from helpers.vertices import declared

T = TypeVar("T", bound=pl.ElementType[Any])
U = TypeVar("U", bound=pl.ElementType[Any])
Plain = TypeVar("Plain")
Number = TypeVar("Number", pl.FLOAT, pl.INT)
Real = TypeVar("Real", bound=pl.ElementType[float])


class Add(pl.Vertex, Generic[T]):
    """Sums of two vectors."""

    x: pl.Input[pl.Vector[T]]
    y: pl.Input[pl.Vector[T]]
    out: pl.Output[pl.Vector[T]]

    def compute(self) -> None:
        for i in range(len(self.out)):
            self.out[i] = self.x[i] + self.y[i]


class Scale(pl.Vertex, Generic[T, U]):
    factor: pl.Input[T]
    offset: pl.State[T]
    table: pl.State[pl.Vector[T]]
    x: pl.Input[pl.Vector[T]]
    out: pl.Output[pl.Vector[T]]
    count: pl.Output[U]

    def compute(self) -> None:
        self.count = len(self.table)
        for i in range(len(self.out)):
            self.out[i] = self.x[i] * self.factor + self.offset + self.table[i]


class Rows(pl.Vertex, Generic[T]):
    rows: pl.Input[pl.Vector[pl.Vector[T]]]
    total: pl.Output[T]

    def compute(self) -> None:
        total = 0
        for r in range(len(self.rows)):
            for value in self.rows[r]:
                total += value
        self.total = total


class Bench:
    """A graph on one tile with a compute set."""

    def __init__(self) -> None:
        self.graph = pl.Graph(pl.Target(tiles=1))
        self.work = self.graph.add_compute_set("work")

    def tensor(self, element: Any, name: str, values: npt.ArrayLike = (1, 2, 3)) -> pl.Tensor:
        """Add a variable."""
        shape = np.shape(values)
        return self.graph.add_variable(element, shape, name, mapping=0, initial_value=values)

    def add(self, vertex: type[pl.Vertex], **fields: Any) -> pl.VertexInstance:
        """Add a vertex."""
        return self.graph.add_vertex(self.work, vertex, tile=0, **fields)

    def results(self, *tensors: pl.Tensor) -> list[Any]:
        """Run in both forms, and return what tensors hold when both agree."""
        found = []
        for interpret in (False, True):
            engine = pl.Engine(
                self.graph, pl.Execute(self.work), interpret=interpret, options=values_only()
            )
            engine.run()
            found.append([engine.read(tensor) for tensor in tensors])
        assert [a.tobytes() for a in found[0]] == [a.tobytes() for a in found[1]]
        return [array.tolist() for array in found[0]]


@pytest.fixture
def bench() -> Bench:
    return Bench()


# -- named -----------------------------------------------------------------------------------------


def test_a_template_declares_type_variables() -> None:
    assert declared(Add) == ["x: Input[Vector[T]]", "y: Input[Vector[T]]", "out: Output[Vector[T]]"]
    assert Scale.type_variables == (T, U)


def test_a_class_for_element_types_is_made_once() -> None:
    made: Any = Add[pl.FLOAT]
    assert made is Add[pl.FLOAT]
    assert made is Add[np.float32]  # type: ignore[type-var]
    assert made is not Add[pl.INT]
    assert issubclass(made, Add)
    assert made.type_variables == ()
    assert declared(made)[2] == "out: Output[Vector[FLOAT]]"
    assert (made.__name__, made.__module__) == ("Add[FLOAT]", __name__)
    assert (made.__doc__, made.location) == (Add.__doc__, Add.location)
    assert Scale[pl.INT, pl.FLOAT].__name__ == "Scale[INT, FLOAT]"
    assert declared(Scale[pl.INT, pl.FLOAT])[4:] == [
        "out: Output[Vector[INT]]",
        "count: Output[FLOAT]",
    ]


def test_named_types_run_beside_each_other(bench: Bench) -> None:
    outs = []
    for element, big in ((pl.FLOAT, 2.5), (pl.INT, 2**31 - 1), (pl.UNSIGNED_INT, 2**32 - 1)):
        x, y = bench.tensor(element, "x", [1, big]), bench.tensor(element, "y", [2, 1])
        outs.append(bench.tensor(element, "out", [0, 0]))
        vertex = Add[element]  # type: ignore[valid-type]
        bench.add(vertex, x=x, y=y, out=outs[-1])
    assert bench.results(*outs) == [[3.0, 3.5], [3, -(2**31)], [3, 0]]
    assert [str(vertex) for vertex in bench.work.vertices] == [
        "vertex 0 of 'Add[FLOAT]' on tile 0",
        "vertex 1 of 'Add[INT]' on tile 0",
        "vertex 2 of 'Add[UNSIGNED_INT]' on tile 0",
    ]


def test_faults_name_the_element_types(bench: Bench) -> None:
    x = bench.tensor(pl.INT, "x", [1])
    bench.add(Add, x=x, y=x, out=bench.tensor(pl.INT, "out"))
    for interpret in (False, True):
        engine = pl.Engine(
            bench.graph, pl.Execute(bench.work), interpret=interpret, options=values_only()
        )
        message = r"vertex 0 of 'Add\[INT\]' on tile 0: 'Add\[INT\]\.x': index 1 of 1 elements"
        with pytest.raises(pl.TensorIndexError, match=message):
            engine.run()


@pytest.mark.parametrize(
    ("arguments", "what", "fix"),
    [
        ((pl.INT,), r"2 element types needed for T, U, but 1 passed: \[INT\]", "Scale["),
        ((pl.INT,) * 3, r".*but 3 passed: \[INT, INT, INT\]", "Scale["),
        ((pl.INT, str), "str is not an element type", "one of"),
        ((pl.INT, "real"), "'real' is not an element type", "one of"),
        (
            (T, pl.INT),
            r"\[T, INT\] has the type variable T and element types",
            "types for all of T, U",
        ),
    ],
)
def test_arguments_that_are_refused(arguments: Any, what: str, fix: str) -> None:
    with pytest.raises(pl.VertexDefinitionError, match=f"vertex class 'Scale': {what}") as caught:
        Scale[arguments]  # type: ignore[misc]
    assert fix in caught.value.fix
    assert caught.value.at is not None
    assert caught.value.at.file == __file__


def test_only_templates_take_element_types() -> None:
    for vertex in (pl.Vertex, Add[pl.FLOAT]):
        message = rf"'{re.escape(vertex.__name__)}': it is not a template, .* the arguments \[INT\]"
        with pytest.raises(pl.VertexDefinitionError, match=message):
            vertex[pl.INT]  # type: ignore[misc]


# -- deduced ---------------------------------------------------------------------------------------


def test_the_type_is_that_of_the_tensors(bench: Bench) -> None:
    for element in (pl.FLOAT, pl.INT):
        x = bench.tensor(element, "x")
        vertex = bench.add(Add, x=x, y=x, out=bench.tensor(element, "out"))
        assert vertex.vertex_class is Add[element]  # type: ignore[valid-type]


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [2, 5, 0, 3, 1, 4]])
def test_connections_may_come_one_by_one(bench: Bench, order: list[int]) -> None:
    graph, x, out = bench.graph, bench.tensor(pl.INT, "x"), bench.tensor(pl.INT, "out")
    count = bench.tensor(pl.FLOAT, "count", 0)
    vertex = bench.add(Scale)
    steps = [
        lambda: graph.connect(vertex["factor"], 2),
        lambda: graph.set_initial_value(vertex["offset"], 10),
        lambda: graph.set_initial_value(vertex["table"], [100, 200, 300]),
        lambda: graph.connect(vertex["x"], x),
        lambda: graph.connect(vertex["out"], out),
        lambda: graph.connect(vertex["count"], count),
    ]
    for number in order:
        assert vertex.vertex_class in (Scale, Scale[pl.INT, pl.FLOAT])
        steps[number]()
    assert vertex.vertex_class is Scale[pl.INT, pl.FLOAT]
    assert bench.results(out, count) == [[112, 214, 316], 3.0]


def test_numbers_take_the_type_found_elsewhere(bench: Bench) -> None:
    x, out = bench.tensor(pl.FLOAT, "x"), bench.tensor(pl.FLOAT, "out")
    count = bench.tensor(pl.INT, "count", 0)
    fields = {"x": x, "out": out, "count": count, "table": np.arange(3)}
    bench.add(Scale, factor=2, offset=0.5, **fields)
    assert bench.results(out, count) == [[2.5, 5.5, 8.5], 3]


def test_numbers_wait_for_a_type_that_holds_them(bench: Bench) -> None:
    table = [1, 2, 3]
    vertex = bench.add(Scale, factor=1.5, table=table)
    table.clear()
    bench.graph.connect(vertex["count"], bench.tensor(pl.INT, "count", 0))
    ints, floats = bench.tensor(pl.INT, "ints"), bench.tensor(pl.FLOAT, "floats")
    with pytest.raises(pl.ElementTypeError, match=r"'factor': 1\.5 cannot be stored as INT"):
        bench.graph.connect(vertex["x"], ints)
    assert vertex.vertex_class is Scale
    assert "x" not in vertex.connections
    bench.graph.connect(vertex["x"], floats)
    assert vertex.vertex_class is Scale[pl.FLOAT, pl.INT]
    assert vertex.state["table"].tolist() == [1.0, 2.0, 3.0]  # type: ignore[union-attr]


def test_a_waiting_number_is_connected_once_and_waiting_state_changes(bench: Bench) -> None:
    vertex = bench.add(Scale, factor=2, offset=1)
    with pytest.raises(pl.GraphConnectionError, match="field 'factor' is already connected"):
        bench.graph.connect(vertex["factor"], 3)
    bench.graph.set_initial_value(vertex["offset"], 5)
    out = bench.tensor(pl.INT, "out")
    fields = {"x": out, "count": bench.tensor(pl.INT, "count", 0)}
    for name, tensor in fields.items():
        bench.graph.connect(vertex[name], tensor)
    assert vertex.state["offset"] == 5


def test_rows_tell_the_type(bench: Bench) -> None:
    total = bench.tensor(pl.INT, "total", 0)
    vertex = bench.add(Rows)
    rows = vertex["rows"]
    bench.graph.connect(rows[1], bench.tensor(pl.INT, "second", [4]))
    assert vertex.vertex_class is Rows[pl.INT]
    bench.graph.connect(rows[0], bench.tensor(pl.INT, "first"))
    with pytest.raises(pl.ElementTypeError, match="'first' is INT and 'third' is FLOAT"):
        bench.graph.connect(rows[2], bench.tensor(pl.FLOAT, "third"))
    bench.graph.connect(vertex["total"], total)
    assert bench.results(total) == [10]


def test_tensors_of_two_types_are_refused(bench: Bench) -> None:
    a, b = bench.tensor(pl.FLOAT, "a"), bench.tensor(pl.INT, "b")
    message = "fields 'x' and 'out' both have type T, but 'a' is FLOAT and 'b' is INT"
    with pytest.raises(
        pl.ElementTypeError, match=f"vertex 0 of 'Add' on tile 0: {message}"
    ) as caught:
        bench.add(Add, x=a, y=a, out=b)
    assert caught.value.found == "declared x: Input[Vector[T]], and out: Output[Vector[T]]"
    assert bench.graph.num_vertices == 0
    vertex = bench.add(Add, x=a)
    with pytest.raises(pl.ElementTypeError, match=message):
        bench.graph.connect(vertex["out"], b)
    with pytest.raises(pl.ElementTypeError, match="all rows of field 'rows' have type T"):
        bench.add(Rows, rows=[a, b])


def test_numbers_alone_tell_no_type(bench: Bench) -> None:
    class Fill(pl.Vertex, Generic[T]):
        value: pl.Input[T]
        n: pl.State[pl.INT]
        out: pl.Output[pl.FLOAT]

        def compute(self) -> None:
            self.out = 0.0

    message = (
        "vertex 0 of 'Fill' on tile 0: the connected values do not determine the element type T"
    )
    with pytest.raises(pl.ElementTypeError, match=message) as caught:
        bench.add(Fill, value=3)
    assert caught.value.found == "value: Input[T] is given 3"
    assert caught.value.fix == "name the type: Fill[FLOAT] in place of Fill"
    assert bench.add(Fill[pl.INT], value=3, n=1).connections["value"].element_type is pl.INT  # type: ignore[union-attr]


def test_what_is_found_names_the_tensors(bench: Bench) -> None:
    message = "the connected values do not determine the element type U"

    class Pair(pl.Vertex, Generic[T, U]):
        x: pl.Input[T]
        k: pl.State[U]

        def compute(self) -> None:
            pass

    with pytest.raises(pl.ElementTypeError, match=message) as caught:
        bench.add(Pair, x=bench.tensor(pl.INT, "a", 0), k=2)
    assert caught.value.found == "k: State[U] is given 2\nx: Input[T] is given 'a', INT"


def test_an_engine_says_what_is_missing(bench: Bench) -> None:
    vertex = bench.add(Scale, factor=2)
    with pytest.raises(
        pl.GraphConnectionError, match="field 'offset' has no value; 4 more fields have the same"
    ) as caught:
        pl.Engine(bench.graph, pl.Execute(bench.work), options=values_only())
    assert f"{vertex} of 'work': field 'x' is not connected" in caught.value.found
    assert "'factor'" not in caught.value.found


# -- constraints and bounds ------------------------------------------------------------------------


class Chosen(pl.Vertex, Generic[Number]):
    x: pl.InOut[Number]

    def compute(self) -> None:
        self.x = self.x * 2


class Bounded(pl.Vertex, Generic[Real]):
    x: pl.InOut[Real]

    def compute(self) -> None:
        self.x = self.x * 0.5


def test_constraints_and_bounds_are_kept(bench: Bench) -> None:
    tensor = bench.tensor(pl.BOOL, "flags", True)
    message = "'flags' is BOOL, but Number must be one of FLOAT, I"
    with pytest.raises(pl.ElementTypeError, match=message):
        bench.add(Chosen, x=tensor)
    with pytest.raises(pl.VertexDefinitionError, match="'Chosen': Number cannot be BOOL") as caught:
        Chosen[pl.BOOL]  # type: ignore[type-var]
    assert caught.value.found == "Number must be one of FLOAT, INT"
    assert caught.value.fix == "Chosen[FLOAT]"
    with pytest.raises(pl.VertexDefinitionError, match="'Bounded': Real cannot be INT") as caught:
        Bounded[pl.INT]
    assert caught.value.found.startswith("Real must be one of ")
    assert "FLOAT" in caught.value.found
    x, y = bench.tensor(pl.INT, "x", 3), bench.tensor(pl.FLOAT, "y", 3)
    bench.add(Chosen, x=x)
    bench.add(Bounded, x=y)
    assert bench.results(x, y) == [6, 1.5]


@pytest.mark.parametrize(
    ("variable", "limits"),
    [
        (TypeVar("W", bound=str), "str"),
        (TypeVar("W", bound="pl.FLOAT"), "'pl.FLOAT'"),
        (TypeVar("W", str, bytes), "str, bytes"),
    ],
)
def test_bounds_that_are_no_element_types(variable: Any, limits: str) -> None:
    with pytest.raises(pl.VertexDefinitionError, match=f"W is limited to {limits}"):

        class V(pl.Vertex, Generic[variable]):  # type: ignore[misc]
            pass


def test_generic_comes_last() -> None:
    with pytest.raises(pl.VertexDefinitionError, match="Generic precedes Vertex") as caught:

        class V(Generic[T], pl.Vertex):
            pass

    assert caught.value.fix == "class V(Vertex, Generic[T])"
    assert caught.value.at is not None
    assert caught.value.at.file == __file__  # not that of typing, which calls poplite


# -- subclasses ------------------------------------------------------------------------------------


class Longer(Add[U], Generic[U]):
    total: pl.Output[U]

    def compute(self) -> None:
        self.total = len(self.x)


class Whole(Add[pl.INT]):
    limit: pl.State[pl.INT]

    def compute(self) -> None:
        for i in range(len(self.out)):
            self.out[i] = min(self.limit, self.x[i] + self.y[i])


class Swapped(Scale[U, T]):
    pass


class Bare(Add):  # type: ignore[type-arg]
    pass


def test_templates_and_their_classes_are_derived_from(bench: Bench) -> None:
    assert declared(Longer)[2:] == ["out: Output[Vector[U]]", "total: Output[U]"]
    assert declared(Whole)[2:] == ["out: Output[Vector[INT]]", "limit: State[INT]"]
    assert Swapped.type_variables == (U, T)
    assert declared(Swapped)[4:] == ["out: Output[Vector[U]]", "count: Output[T]"]
    assert declared(Swapped[pl.INT, pl.FLOAT])[5] == "count: Output[FLOAT]"
    assert Bare[pl.INT].compute is Add.compute  # type: ignore[misc]
    x, out = bench.tensor(pl.INT, "x"), bench.tensor(pl.INT, "out")
    total, spare = bench.tensor(pl.INT, "total", 0), bench.tensor(pl.INT, "spare")
    bench.add(Whole, x=x, y=x, out=out, limit=5)
    assert bench.add(Longer, x=x, y=x, out=spare, total=total).vertex_class is Longer[pl.INT]
    with pytest.warns(pl.UnwrittenOutputWarning, match=r"leaves 'Longer\[INT\]\.out'\[0\]"):
        assert bench.results(out, total) == [[2, 4, 5], 3]


# -- type checking ---------------------------------------------------------------------------------


def test_type_variables_without_a_bound_type_check(bench: Bench) -> None:
    class Twice(pl.Vertex, Generic[Plain]):
        x: pl.Input[pl.Vector[Plain]]
        out: pl.Output[pl.Vector[Plain]]
        last: pl.Output[Plain]

        def compute(self) -> None:
            for i, value in enumerate(self.x):
                self.out[i] = self.x[i] + value
                self.last = value

    x, out, last = (bench.tensor(pl.INT, name, [3]) for name in ("x", "out", "last"))
    bench.add(Twice, x=x, out=out, last=last)
    assert bench.results(out, last) == [[6], [3]]


def test_stores_of_other_kinds_are_refused_by_type_checkers() -> None:
    class V(pl.Vertex):
        x: pl.Output[pl.Vector[pl.INT]]
        y: pl.Output[pl.FLOAT]

        def compute(self) -> None:
            self.x[0] = 0.5  # type: ignore[call-overload]
            self.y = "text"  # type: ignore[call-overload]

    assert len(V.fields) == 2


@pytest.mark.skipif(sys.version_info < (3, 12), reason="class Add[T] is new in Python 3.12")
@pytest.mark.parametrize("future", ["", "from __future__ import annotations\n"])
def test_type_parameters_of_the_class_statement(future: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        f"""{future}
import poplite as pl

def make():
    class Twice[T: (pl.FLOAT, pl.INT)](pl.Vertex):
        x: pl.InOut[pl.Vector[T]]

        def compute(self) -> None:
            for i in range(len(self.x)):
                self.x[i] = self.x[i] + self.x[i]

    return Twice

graph = pl.Graph(pl.Target(tiles=1))
x = graph.add_variable(pl.INT, (2,), "x", mapping=0, initial_value=[3, 4])
work = graph.add_compute_set("work")
print(graph.add_vertex(work, make(), tile=0, x=x))
engine = pl.Engine(graph, pl.Execute(work))
engine.run()
print(engine.read(x))
"""
    )
    assert python(tmp_path, script).stdout == "vertex 0 of 'Twice[INT]' on tile 0\n[6 8]\n"


# -- vertex classes from texts: one class for a text, lines in messages, files of executables ------


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
        ("class A: pass", "A", r"class A of the text is not a vertex class"),
        ("x = 1\nclass A(\n", "A", r"is not valid Python(.|\n)*>:2: 'class A\('"),
        ("import math\nmath.foo", "A", r"AttributeError(.|\n)*>:2: 'math.foo'"),
        (TRIPLE, "Tripel", r"no class 'Tripel' \(did you mean 'Triple'\?\)"),
        ("from poplite.vertices import Add", "Add", r"no class 'Add'"),
        ("x = '\0'", "A", "is not valid Python"),
        (TRIPLE.replace("InOut[", "Both["), "Triple", r">:9: 'x: pl.Both"),
    ],
)
def test_texts_without_such_a_class_are_refused(text: str, name: str, message: str) -> None:
    known = set(linecache.cache)
    with pytest.raises(pl.VertexDefinitionError, match=message):
        pl.vertex_from_source(text, name)
    assert {file for file in set(linecache.cache) - known if file.startswith("<poplite")} == set()


def test_anything_but_text_is_refused() -> None:
    with pytest.raises(pl.ElementTypeError, match="7 is not a string"):
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
