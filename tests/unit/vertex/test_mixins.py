"""Vertex classes whose fields stand in bases that are no vertex classes."""

from __future__ import annotations

import abc
import sys
from typing import Any, Generic, TypeVar

import numpy as np
import pytest

import poplite as pl
from helpers.depth import values_only
from helpers.running import both_forms

T = TypeVar("T")
U = TypeVar("U")


def declared(vertex: type[pl.Vertex]) -> list[str]:
    return [str(field) for field in vertex.fields.values()]


class Whole:
    a: pl.State[pl.INT]


class Real:
    a: pl.State[pl.FLOAT]


class RealVertex(pl.Vertex):
    a: pl.State[pl.FLOAT]


class Row(Generic[T]):
    x: pl.Input[pl.Vector[T]]
    y: pl.Output[T]

    def last(self) -> Any:
        return self.x[len(self.x) - 1]


class LaterRow(Row[U], Generic[U]):
    offset: pl.State[U]


def test_a_class_decides_what_its_bases_declare_in_two_ways() -> None:
    class OfMixins(Whole, Real, pl.Vertex):
        a: pl.State[pl.BOOL]

    class OfVertex(Whole, RealVertex):
        a: pl.State[pl.BOOL]

    class Derived(Real):
        a: pl.State[pl.HALF]

    class OfDerived(Derived, pl.Vertex):
        pass

    assert declared(OfMixins) == declared(OfVertex) == ["a: State[BOOL]"]
    assert declared(OfDerived) == ["a: State[HALF]"]
    with pytest.raises(pl.VertexDefinitionError, match="in two ways") as caught:

        class V(Whole, RealVertex):  # type: ignore[misc]
            pass

    assert caught.value.fix == "declare 'a' in V itself, or in one of them"


@both_forms
def test_a_generic_mixin_made_concrete(interpret: bool) -> None:
    class Last(Row[pl.FLOAT], pl.Vertex):
        def compute(self) -> None:
            self.y = self.last()

    class First(pl.Vertex, LaterRow[np.int32]):
        def compute(self) -> None:
            self.y = self.x[0] + self.offset

    assert declared(Last) == ["x: Input[Vector[FLOAT]]", "y: Output[FLOAT]"]
    assert declared(First) == ["x: Input[Vector[INT]]", "y: Output[INT]", "offset: State[INT]"]
    graph = pl.Graph(pl.Target(tiles=1))
    cs, ends = graph.add_compute_set("cs"), []
    for cls, element, state in ((Last, pl.FLOAT, {}), (First, pl.INT, {"offset": 5})):
        x = graph.add_variable(element, (3,), "x", mapping=0, initial_value=[1, 2, 4])
        ends.append(graph.add_variable(element, (), "y", mapping=0))
        graph.add_vertex(cs, cls, tile=0, x=x, y=ends[-1], **state)
    engine = pl.Engine(graph, pl.Execute(cs), interpret=interpret, options=values_only())
    engine.run()
    assert [engine.read(y) for y in ends] == [4, 6]


def test_a_generic_mixin_of_a_template() -> None:
    class V(pl.Vertex, LaterRow[T], Generic[T]):
        pass

    assert declared(V[pl.HALF]) == [
        "x: Input[Vector[HALF]]",
        "y: Output[HALF]",
        "offset: State[HALF]",
    ]
    with pytest.raises(pl.VertexDefinitionError, match="Generic stands before Vertex") as caught:

        class W(Row[T], pl.Vertex):
            pass

    assert caught.value.fix == "class W(Vertex, Row[T])"


def test_a_generic_mixin_that_is_left_open() -> None:
    with pytest.raises(pl.VertexDefinitionError, match="'x' holds T, a type variable") as caught:

        class V(pl.Vertex, Row):  # type: ignore[type-arg]
            pass

    assert caught.value.fix == "class V(Vertex, Row[FLOAT])"


def test_a_generic_mixin_of_a_type_that_it_does_not_take() -> None:
    W = TypeVar("W", pl.FLOAT, pl.HALF)

    class Real(Generic[W]):
        x: pl.Input[W]

    with pytest.raises(pl.VertexDefinitionError, match="'x' of Real cannot be of BOOL") as caught:

        class V(Real[pl.BOOL], pl.Vertex):  # type: ignore[type-var]
            pass

    assert caught.value.found == "W is one of FLOAT, HALF"


@pytest.mark.parametrize("base", [Real, RealVertex])
def test_a_value_that_hides_a_field_of_a_base(base: Any) -> None:
    with pytest.raises(pl.VertexDefinitionError, match="'a = 3.0' hides field 'a'") as caught:

        class V(base, pl.Vertex):  # type: ignore[misc]
            a = 3.0

    assert caught.value.found == "field a: State[FLOAT]; class V has a = 3.0"


def test_a_field_takes_the_place_of_a_constant() -> None:
    class B(pl.Vertex):
        a = 3.0

    class V(B):
        a: pl.State[pl.FLOAT]

    assert declared(V) == ["a: State[FLOAT]"]


@pytest.mark.parametrize("annotation", [pl.Vector[pl.FLOAT], pl.FLOAT, "pl.Vector[pl.FLOAT]"])
def test_an_annotation_of_a_mixin_without_its_role(annotation: object) -> None:
    mixin = type("A", (), {"__annotations__": {"z": annotation}, "__module__": __name__})
    message = r"field 'z' is annotated (Vector\[FLOAT\]|FLOAT)"
    with pytest.raises(pl.VertexDefinitionError, match=message) as caught:

        class V(mixin, pl.Vertex):  # type: ignore[misc, valid-type]
            pass

    assert caught.value.fix.startswith("Input[...], Output[...], InOut[...] or State[...]")


def test_a_misspelt_compute() -> None:
    class V(pl.Vertex):
        def comptue(self) -> None:
            pass

    graph = pl.Graph(pl.Target(tiles=1))
    message = r"^vertex class 'V' has no compute, but 'comptue' \(did you mean 'compute'\?\)  \("
    with pytest.raises(pl.VertexDefinitionError, match=message):
        graph.add_vertex(graph.add_compute_set("cs"), V, tile=0)


def test_an_abstract_mixin_has_the_line_of_the_class() -> None:
    class A(abc.ABC):  # noqa: B024
        x: pl.Input[pl.FLOAT]

    line = sys._getframe().f_lineno + 2

    class V(A, pl.Vertex):
        pass

    assert (V.location.file, V.location.line) == (__file__, line)
