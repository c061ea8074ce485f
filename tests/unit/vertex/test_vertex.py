"""Vertex classes: which fields they declare, and which definitions are refused."""

from __future__ import annotations

import abc
import functools
import linecache
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
import pytest

import poplite as pl
from helpers.depth import values_only
from helpers.running import both_forms
from helpers.vertices import declared
from poplite.vertex.compute.meaning import check
from poplite.vertex.vertex import field_of

HEAD = """
import typing
from typing import Any, ClassVar, Optional
import numpy as np
import poplite as pl
from poplite import FLOAT, INT, InOut, Input, Output, State, Vector, Vertex
"""
T = TypeVar("T")
LIBRARY_FLOAT = pl.FLOAT


def define(text: str, *, future: bool = False, name: str = "user_module") -> Any:
    """Run a module's text, and return its class V."""
    names: dict[str, Any] = {"__name__": name}
    start = "from __future__ import annotations" if future else ""
    exec(compile(start + HEAD + textwrap.dedent(text), "user.py", "exec", dont_inherit=True), names)
    return names["V"]


# -- what is declared ------------------------------------------------------------------------------


@pytest.mark.parametrize("future", [False, True])
def test_fields_keep_their_order_role_type_and_depth(future: bool) -> None:
    vertex = define(
        """
        class V(Vertex):
            a: State[FLOAT]
            table: State[Vector[INT]]
            x: "Input[Vector[FLOAT]]"
            rows: pl.Output[pl.Vector[pl.Vector[pl.UNSIGNED_INT]]]
            flag: InOut[pl.BOOL]
            def compute(self): pass
        """,
        future=future,
    )
    assert declared(vertex) == [
        "a: State[FLOAT]",
        "table: State[Vector[INT]]",
        "x: Input[Vector[FLOAT]]",
        "rows: Output[Vector[Vector[UNSIGNED_INT]]]",
        "flag: InOut[BOOL]",
    ]
    assert [field.depth for field in vertex.fields.values()] == [0, 1, 1, 2, 0]
    assert [field.reads for field in vertex.fields.values()] == [False, False, True, False, True]
    assert [field.writes for field in vertex.fields.values()] == [False, False, False, True, True]
    assert [field.is_edge for field in vertex.fields.values()] == [False, False, True, True, True]


@pytest.mark.parametrize("future", [False, True])
def test_numpy_types_stand_for_element_types(future: bool) -> None:
    vertex = define(
        """
        class V(Vertex):
            a: State[np.uint32]
            x: Input[Vector[np.int32]]
            y: Output[np.float32]
            z: InOut[Vector[Vector[np.bool_]]]
            d: Input[np.dtype("float32")]
            def compute(self): pass
        """,
        future=future,
    )
    assert declared(vertex) == [
        "a: State[UNSIGNED_INT]",
        "x: Input[Vector[INT]]",
        "y: Output[FLOAT]",
        "z: InOut[Vector[Vector[BOOL]]]",
        "d: Input[FLOAT]",
    ]


def test_numpy_fields_compute() -> None:
    class Halve(pl.Vertex):
        x: pl.Input[pl.Vector[np.float32]]
        y: pl.Output[np.float32]

        def compute(self) -> None:
            self.y = self.x[0] / 2.0

    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (1,), "x", mapping=0, initial_value=3.0)
    y = graph.add_variable(pl.FLOAT, (), "y", mapping=0)
    halves = graph.add_compute_set("halves")
    graph.add_vertex(halves, Halve, tile=0, x=x, y=y)
    engine = pl.Engine(graph, pl.Execute(halves), interpret=True, options=values_only())
    engine.run()
    assert engine.read(y) == 1.5


def test_a_subclass_inherits_and_redeclares_fields() -> None:
    class Base(pl.Vertex):
        x: pl.Input[pl.FLOAT]
        y: pl.Output[pl.FLOAT]

        def compute(self) -> None:
            self.y = self.x

    class Longer(Base):
        x: pl.Input[pl.INT]
        k: pl.State[pl.INT]

    assert declared(Longer) == ["x: Input[INT]", "y: Output[FLOAT]", "k: State[INT]"]
    assert declared(Base) == ["x: Input[FLOAT]", "y: Output[FLOAT]"]


def test_a_base_without_fields_needs_no_compute() -> None:
    class Base(pl.Vertex):
        STEPS = 4

    assert declared(Base) == []


@pytest.mark.parametrize("future", [False, True])
@pytest.mark.parametrize("class_var", ["ClassVar[int]", "typing.ClassVar[int]", "ClassVar"])
def test_class_level_numbers_are_constants(future: bool, class_var: str, tmp_path: Path) -> None:
    text = (
        ("from __future__ import annotations\n" if future else "")
        + HEAD
        + textwrap.dedent(
            f"""
            class V(Vertex):
                TAPS: {class_var} = 9
                SCALE = 0.5
                y: Output[FLOAT]
                def compute(self):
                    self.y = self.TAPS * self.SCALE
            """
        )
    )
    path = tmp_path / "constants.py"
    path.write_text(text)
    names: dict[str, Any] = {"__name__": "constants"}
    exec(compile(text, str(path), "exec", dont_inherit=True), names)
    assert declared(names["V"]) == ["y: Output[FLOAT]"]
    assert sorted(check(names["V"]).facts.constants.values()) == [0.5, 9]


def test_the_type_of_a_class_variable_may_be_known_to_type_checkers_only() -> None:
    vertex = define(
        """
        class V(Vertex):
            names: ClassVar[Sequence[str]] = ("a", "b")
            y: Output[FLOAT]
            def compute(self): pass
        """,
        future=True,
    )
    assert declared(vertex) == ["y: Output[FLOAT]"]


def test_names_of_arguments_of_add_vertex_serve_as_fields() -> None:
    class V(pl.Vertex):
        compute_set: pl.Input[pl.FLOAT]
        vertex_class: pl.Output[pl.FLOAT]

        def compute(self) -> None:
            self.vertex_class = self.compute_set

    assert declared(V) == ["compute_set: Input[FLOAT]", "vertex_class: Output[FLOAT]"]
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (), "x", mapping=0, initial_value=3.0)
    y = graph.add_variable(pl.FLOAT, (), "y", mapping=0)
    step = graph.add_compute_set("step")
    graph.add_vertex(step, V, tile=0, compute_set=x, vertex_class=y)
    engine = pl.Engine(graph, pl.Execute(step), interpret=True, options=values_only())
    engine.run()
    assert engine.read(y) == 3.0


# -- where annotations find their names ------------------------------------------------------------


def test_names_of_the_enclosing_function() -> None:
    Real = pl.FLOAT
    Row = pl.Vector[pl.INT]

    class V(pl.Vertex):
        x: pl.Input[Real]  # type: ignore[valid-type]
        row: pl.Output[Row]

        def compute(self) -> None:
            pass

    assert declared(V) == ["x: Input[FLOAT]", "row: Output[Vector[INT]]"]


@pytest.mark.parametrize("future", [False, True])
def test_a_factory_takes_the_element_type_as_an_argument(future: bool) -> None:
    vertex = define(
        """
        def make(T):
            class Made(Vertex):
                x: Input[T]
                def compute(self): pass
            return Made

        V = make(INT)
        W = make(FLOAT)
        V.other = W
        """,
        future=future,
    )
    assert declared(vertex) == ["x: Input[INT]"]
    assert declared(vertex.other) == ["x: Input[FLOAT]"]


def test_names_of_a_function_further_out() -> None:
    vertex = define(
        """
        def outer(T):
            def inner(U):
                class Made(Vertex):
                    x: Input[T]
                    y: Output[U]
                    def compute(self): pass
                return Made
            return inner(INT)

        V = outer(FLOAT)
        """,
        future=True,
    )
    assert declared(vertex) == ["x: Input[FLOAT]", "y: Output[INT]"]


def test_locals_of_a_caller_are_not_seen() -> None:
    vertex = define(
        """
        def make():
            class Made(Vertex):
                x: Input[FLOAT]
                def compute(self): pass
            return Made

        def caller():
            FLOAT, Input = 3, "hides nothing"
            return make()

        V = caller()
        """,
        future=True,
    )
    assert declared(vertex) == ["x: Input[FLOAT]"]


def test_names_of_the_class_body() -> None:
    class V(pl.Vertex):
        Element = pl.UNSIGNED_INT
        x: pl.Input[Element]  # type: ignore[valid-type]

        def compute(self) -> None:
            pass

    assert declared(V) == ["x: Input[UNSIGNED_INT]"]


def test_a_class_within_a_class() -> None:
    class Outer:
        class V(pl.Vertex):
            x: pl.Input[LIBRARY_FLOAT]

            def compute(self) -> None:
                pass

    assert declared(Outer.V) == ["x: Input[FLOAT]"]


@pytest.mark.parametrize("names", [{}, {"__name__": "elsewhere"}, {"__name__": "__main__"}])
def test_text_run_by_exec(names: dict[str, Any]) -> None:
    text = (
        "from __future__ import annotations"
        + HEAD
        + ("Real = FLOAT\nclass V(Vertex):\n    x: Input[Real]\n    def compute(self): pass\n")
    )
    exec(compile(text, "<string>", "exec", dont_inherit=True), names)
    assert declared(names["V"]) == ["x: Input[FLOAT]"]


def test_text_run_by_exec_with_locals_of_its_own() -> None:
    text = "class V(pl.Vertex):\n    x: pl.Input[Real]\n    def compute(self): pass\n"
    local: dict[str, Any] = {"Real": pl.INT}
    exec(text, globals(), local)  # as this file does, it postpones annotations
    assert declared(local["V"]) == ["x: Input[INT]"]


@pytest.fixture
def cells() -> Iterator[list[str]]:
    names: list[str] = []
    yield names
    for name in names:
        linecache.cache.pop(name, None)


def test_notebook_cells(cells: list[str]) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, text in enumerate(
        (
            HEAD + "Real = FLOAT\n",
            "class V(Vertex):\n"
            "    x: 'Input[Vector[Real]]'\n"
            "    y: Output[Real]\n"
            "    def compute(self):\n"
            "        self.y = self.x[0]\n",
        )
    ):
        name = f"<cell {number}>"
        cells.append(name)
        linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
        exec(compile(text, name, "exec", dont_inherit=True), names)
    vertex = names["V"]
    assert declared(vertex) == ["x: Input[Vector[FLOAT]]", "y: Output[FLOAT]"]
    assert (vertex.location.file, vertex.location.line) == ("<cell 1>", 1)
    assert check(vertex).text.lines[-1] == "        self.y = self.x[0]\n"


def test_a_class_made_by_calling_type() -> None:
    def compute(self: Any) -> None:
        pass

    members = {"__annotations__": {"x": "pl.Input[LIBRARY_FLOAT]"}, "compute": compute}
    plain = type("Plain", (pl.Vertex,), dict(members))
    moved = type(
        "Moved",
        (pl.Vertex,),
        {"__module__": "poplite", "__annotations__": {"x": "Input[FLOAT]"}, "compute": compute},
    )
    assert declared(plain) == declared(moved) == ["x: Input[FLOAT]"]


# -- what is refused -------------------------------------------------------------------------------

BODY = "    def compute(self): pass\n"
REFUSED = {
    "reserved": (
        f"    tile: Input[FLOAT]\n{BODY}",
        "field name 'tile' is reserved",
        "'tile_value'",
    ),
    "self": (f"    self: Input[FLOAT]\n{BODY}", "field name 'self' is reserved", "'self_value'"),
    "member": (f"    fields: Input[FLOAT]\n{BODY}", "name 'fields' is reserved", "'fields_value'"),
    "member value": (f"    location = 3\n{BODY}", "name 'location' is reserved", "'own_location'"),
    "member method": (
        f"    def fields(self): pass\n{BODY}",
        "name 'fields' is reserved",
        "'own_fields'",
    ),
    "dunder": (f"    __x__: Input[FLOAT]\n{BODY}", "name '__x__' is reserved", "rename it"),
    "no role": (f"    x: FLOAT\n{BODY}", "field 'x' has the annotation FLOAT", "Input[...]"),
    "number": (f"    x: int = 3\n{BODY}", "field 'x' has the annotation int", "constants need no"),
    "list": (
        f"    x: list[FLOAT]\n{BODY}",
        r"'x' has the annotation list\[FLOAT\]",
        "Input[...]",
    ),
    "vector": (f"    x: Vector[FLOAT]\n{BODY}", r"annotation Vector\[FLOAT\]", "Input[...]"),
    "union": (f"    x: int | None\n{BODY}", r"annotation int \| None, which", "Input[...]"),
    "optional": (
        f"    x: Optional[FLOAT]\n{BODY}",
        r"annotation FLOAT \| None, which",
        "Input[...]",
    ),
    "nested": (
        f"    x: dict[str, list[FLOAT]]\n{BODY}",
        r"annotation dict\[str, list\[FLOAT\]\]",
        "Input[...]",
    ),
    "any": (f"    x: Any\n{BODY}", "field 'x' has the annotation Any", "Input[...]"),
    "bare": (f"    x: Input\n{BODY}", "field 'x' has no element type", "x: Input[FLOAT]"),
    "bare vector": (
        f"    x: Input[Vector]\n{BODY}",
        "'x' has Vector, which is",
        "x: Input[FLOAT]",
    ),
    "element": (f"    x: InOut[str]\n{BODY}", "'x' has str, which is no", "x: InOut[FLOAT]"),
    "list element": (
        f"    x: Output[list[FLOAT]]\n{BODY}",
        r"'x' has list\[FLOAT\], which is not an element type",
        "x: Output[FLOAT]",
    ),
    "quoted": (
        f"    x: Input['FLOAT']\n{BODY}",
        "'x' has 'FLOAT', which is no",
        "x: Input[FLOAT]",
    ),
    "deep": (
        f"    x: Input[Vector[Vector[Vector[FLOAT]]]]\n{BODY}",
        "field 'x' has 3 nested Vectors, but the maximum here is 2",
        "list of 1-D tensors",
    ),
    "deep state": (
        f"    x: State[Vector[Vector[FLOAT]]]\n{BODY}",
        "field 'x' has 2 nested Vectors, but the maximum here is 1",
        "list of 1-D tensors",
    ),
    "not a function": (
        "    compute = 3\n",
        "compute is of type int, not a fun",
        "def compute(self)",
    ),
    "static": (
        "    @staticmethod\n    def compute(): pass\n",
        "compute is of type staticmethod, not a function",
        "def compute(self)",
    ),
    "lambda": ("    compute = lambda self: None\n", "compute is a lambda", "def compute(self)"),
    "async": (
        "    async def compute(self): pass\n",
        "compute is an async function",
        "def compute(self)",
    ),
    "property": (
        "    @property\n    def compute(self): pass\n",
        "compute is of type property, not a function",
        "def compute(self)",
    ),
    "arguments": (
        "    def compute(self, n, *rest): pass\n",
        r"compute\(self, n, \*rest\) has arguments other than self",
        "declare State fields",
    ),
    "no self": (
        "    def compute(): pass\n",
        r"compute\(\) has arguments other",
        "declare State fields",
    ),
    "worker": (
        "    def compute(self, worker): pass\n",
        r"compute\(self, worker\) has arguments other than self",
        "class V(MultiVertex), whose compute runs once for each worker",
    ),
    "init": (
        f"    def __init__(self, n): pass\n{BODY}",
        "a vertex class cannot define __init__",
        "declare fields instead",
    ),
}


@pytest.mark.parametrize("future", [False, True])
@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, future: bool) -> None:
    body, what, fix = REFUSED[name]
    with pytest.raises(pl.VertexDefinitionError, match=f"^vertex class 'V': .*{what}") as caught:
        define("class V(Vertex):\n" + body, future=future)
    assert fix in caught.value.fix
    assert "poplite." not in caught.value.what
    assert caught.value.at is not None
    assert caught.value.at.file == "user.py"
    assert caught.value.at.line == HEAD.count("\n") + 1


def test_an_element_type_that_numpy_has_and_poplite_has_not() -> None:
    with pytest.raises(pl.VertexDefinitionError, match="'x' has float64, which is") as caught:
        define(f"class V(Vertex):\n    x: Input[np.float64]\n{BODY}")
    assert caught.value.found == "NumPy's float64, which no element type stores"


def test_a_type_variable_is_declared_by_the_class() -> None:
    message = "field 'x' has T, a type variable that the class does not declare"
    with pytest.raises(pl.VertexDefinitionError, match=message) as caught:

        class V(pl.Vertex):
            x: pl.Input[T]  # type: ignore[valid-type]

            def compute(self) -> None:
                pass

    assert caught.value.fix == "class V(Vertex, Generic[T])"


@pytest.mark.parametrize(
    ("annotation", "why"),
    [
        ("Input[Missing]", "name 'Missing' is not defined"),
        ("np.Input[FLOAT]", "has no attribute 'Input'"),
        ("Input[", "was never closed"),
        ("Input[FLOAT, INT]", "Too many"),
    ],
)
def test_unresolved_annotations(annotation: str, why: str) -> None:
    message = rf"(?s)vertex class 'V': field 'x': annotation .* cannot be resolved: .*{why}"
    with pytest.raises(pl.VertexDefinitionError, match=message) as caught:
        define(f"class V(Vertex):\n    x: {annotation!r}\n{BODY}")
    assert repr(annotation) in caught.value.what
    assert "before the class, at run time" in caught.value.fix
    assert caught.value.at is not None
    assert caught.value.at.file == "user.py"


def test_a_vertex_is_not_made_by_calling_its_class() -> None:
    class V(pl.Vertex):
        x: pl.Input[pl.FLOAT]

        def compute(self) -> None:
            pass

    for call in (V, functools.partial(V, 3), functools.partial(V, x=3)):
        with pytest.raises(
            pl.VertexDefinitionError, match="'V': a vertex is not created"
        ) as caught:
            call()
        assert "graph.add_vertex(cs, V, tile=0" in caught.value.fix
        assert caught.value.at is not None
        assert Path(caught.value.at.file).name == "test_vertex.py"


def test_calling_compute_of_the_base_does_nothing_useful() -> None:
    with pytest.raises(NotImplementedError):
        pl.Vertex.compute(None)


def test_unknown_fields_are_named_with_the_closest() -> None:
    class V(pl.Vertex):
        partial: pl.Input[pl.FLOAT]
        K: ClassVar[int] = 3

        def compute(self) -> None:
            pass

    message = r"'V' has no field 'parital' \(did you mean 'partial'\?\)  \(.*test_vertex\.py:\d+ "
    with pytest.raises(pl.UnknownField, match=message) as caught:
        field_of(V, "parital")
    assert caught.value.found == "declared: partial: Input[FLOAT]"
    assert f"declare 'parital' in class V ({V.location})" in caught.value.fix
    assert field_of(V, "partial").name == "partial"


def test_a_field_is_declared_by_an_annotation() -> None:
    with pytest.raises(pl.VertexDefinitionError, match="'x = Input.FLOAT.' declares no") as caught:

        class V(pl.Vertex):
            x = pl.Input[pl.FLOAT]

            def compute(self) -> None:
                pass

    assert caught.value.fix == "x: Input[FLOAT]"
    call: Any = pl.State
    with pytest.raises(pl.VertexDefinitionError, match="State is not called") as caught:
        call(pl.INT)
    assert caught.value.fix == "x: State[INT]"


def test_a_field_has_no_default() -> None:
    message = "^vertex class 'V': field 'n' has the default 3, but fields cannot have defaults"
    with pytest.raises(pl.VertexDefinitionError, match=message) as caught:

        class V(pl.Vertex):
            n: pl.State[pl.INT] = 3  # type: ignore[assignment]

            def compute(self) -> None:
                pass

    assert "remove the annotation to make 'n' a constant" in caught.value.fix


# -- bases -----------------------------------------------------------------------------------------


class Ends(pl.Vertex):
    """Fields and a helper, and nothing to compute."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.FLOAT]

    def end(self) -> float:
        return self.x[len(self.x) - 1]


class Scale:
    """A field that stands in no vertex class."""

    scale: pl.State[pl.FLOAT]
    unit: str = "m"


class ScaledEnd(Ends, Scale):
    def compute(self) -> None:
        self.y = self.end() * self.scale


@both_forms
def test_fields_of_all_bases_are_fields(interpret: bool) -> None:
    assert declared(ScaledEnd) == [
        "x: Input[Vector[FLOAT]]",
        "y: Output[FLOAT]",
        "scale: State[FLOAT]",
    ]
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (3,), "x", mapping=0, initial_value=[1, 2, 4])
    y = graph.add_variable(pl.FLOAT, (), "y", mapping=0)
    cs = graph.add_compute_set("cs")
    graph.add_vertex(cs, ScaledEnd, tile=0, x=x, y=y, scale=2.5)
    engine = pl.Engine(graph, pl.Execute(cs), interpret=interpret, options=values_only())
    engine.run()
    assert engine.read(y) == 10


def test_a_base_without_compute_is_refused_where_it_is_used() -> None:
    class Marked(Ends):
        @abc.abstractmethod
        def compute(self) -> None: ...

    graph = pl.Graph(pl.Target(tiles=1))
    cs = graph.add_compute_set("cs")
    for base in (Ends, Marked):
        name = base.__name__
        with pytest.raises(
            pl.VertexDefinitionError, match=f"^vertex class '{name}' has no compute"
        ) as caught:
            graph.add_vertex(cs, base, tile=0)
        assert caught.value.fix == (
            "define compute(self) -> None in it, or in a class derived from it"
        )


@pytest.mark.parametrize("future", [False, True])
def test_bases_of_a_base_come_first(future: bool) -> None:
    vertex = define(
        f"""
        class A:
            a: Input[FLOAT]
        class B(A):
            b: State[INT]
        class V(B, Vertex):
            c: Output[FLOAT]
            {BODY.strip()}
        """,
        future=future,
    )
    assert list(vertex.fields) == ["a", "b", "c"]


def test_fields_of_mixins_that_cannot_be() -> None:
    with pytest.raises(pl.VertexDefinitionError, match="^vertex class 'V': .*") as caught:
        define(f"class A:\n    x: Input['Flaot']\nclass V(A, Vertex):\n{BODY}")
    assert caught.value.what == (
        "vertex class 'V': field 'x' has 'Flaot', which is not an element type"
    )
    with pytest.raises(pl.VertexDefinitionError, match="have|declare") as caught:
        define(
            "class A:\n    x: Input[FLOAT]\nclass B(Vertex):\n    x: Output[FLOAT]\n"
            f"class V(A, B):\n{BODY}"
        )
    assert caught.value.what == "vertex class 'V': its bases declare field 'x' differently"
    assert caught.value.found == "A has x: Input[FLOAT], another base has x: Output[FLOAT]"


def test_a_role_within_a_vector_as_in_cpp_says_what_to_write() -> None:
    with pytest.raises(pl.VertexDefinitionError, match="Vector.Input.Vector.FLOAT") as caught:

        class Rows(pl.Vertex):
            rows: pl.Vector[pl.Input[pl.Vector[pl.FLOAT]]]

            def compute(self) -> None:
                pass

    assert caught.value.fix == "use Input[Vector[Vector[FLOAT]]]"
