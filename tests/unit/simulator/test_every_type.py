"""Every element type: written and read by the host, connected, copied and computed with."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
import pytest

import poplite as pl
from helpers.depth import thinned, values_only
from poplite.types import ELEMENT_TYPES, NUMPY_TYPES, ElementType

Element = type[ElementType[Any]]
T = TypeVar("T", bound=ElementType[Any])
METADATA = pl.QuarterMetadata("F143", scale=1)
KEPT = [pl.QUARTER, pl.FLOAT, pl.HALF, pl.SHORT, pl.UNSIGNED_CHAR, pl.LONGLONG, pl.BOOL]
"""Element types that vertices take by default: one of each kind and size."""


class Turn(pl.Vertex, Generic[T]):
    """Writes a vector backwards, by way of a scalar, state and rows."""

    x: pl.Input[pl.Vector[T]]
    rows: pl.Input[pl.Vector[pl.Vector[T]]]
    first: pl.Input[T]
    y: pl.Output[pl.Vector[T]]
    last: pl.Output[T]
    kept: pl.InOut[pl.Vector[T]]

    def compute(self) -> None:
        n = len(self.x)
        for i in range(n):
            self.y[n - 1 - i] = self.x[i]
        self.last = self.first
        for r in range(len(self.rows)):
            self.kept[r] = self.rows[r][0]


class Hold(pl.Vertex, Generic[T]):
    """Copies state to a tensor."""

    values: pl.State[pl.Vector[T]]
    one: pl.State[T]
    y: pl.Output[pl.Vector[T]]

    def compute(self) -> None:
        for i, value in enumerate(self.values):
            self.y[i] = value
        self.y[len(self.values)] = self.one


def samples(element: Element) -> np.ndarray:
    """Eight values with the extremes of the type among them."""
    if element.dtype.kind == "b":
        return np.array([1, 0, 0, 1, 1, 0, 1, 1], bool)
    if element is pl.QUARTER:
        return np.array([0, 0.5, -1, 480, -480, 2, 3, 2.0**-9], np.float32)
    limits: Any = np.iinfo(element.dtype.name) if element.dtype.kind in "iu" else None
    limits = limits or np.finfo(element.dtype)
    return np.array([0, 1, limits.max, limits.min, 2, 3, 5, 7], element.dtype)


def variable(graph: pl.Graph, element: Element, shape: tuple[int, ...], name: str) -> pl.Tensor:
    metadata = METADATA if element is pl.QUARTER else None
    return graph.add_variable(element, shape, name, mapping=0, metadata=metadata)


@pytest.mark.parametrize("element", ELEMENT_TYPES)
def test_the_host_takes_back_what_it_wrote(element: Element) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = variable(graph, element, (2, 8), "x")
    engine = pl.Engine(graph, pl.Sequence(), options=values_only())
    values = samples(element)
    engine.write(x, np.zeros((), values.dtype))
    engine.write(x.T[:, 1], values)
    found = engine.read(x)
    assert found.dtype == values.dtype
    assert found[1].tolist() == values.tolist()
    assert not found[0].any()


@pytest.mark.parametrize(
    "options", thinned([{}, {"interpret": True}, {"checks": "fast"}], keep=2), ids=str
)
@pytest.mark.parametrize("element", thinned(ELEMENT_TYPES, KEPT))
def test_vertices_read_and_write_every_type(element: Element, options: dict[str, Any]) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x, y = variable(graph, element, (8,), "x"), variable(graph, element, (8,), "y")
    last, kept = variable(graph, element, (), "last"), variable(graph, element, (2,), "kept")
    turn = graph.add_compute_set("turn")
    graph.add_vertex(
        turn, Turn, tile=0, x=x, rows=[x[2:3], x[3:6]], first=x[3], y=y, last=last, kept=kept
    )
    copied = variable(graph, element, (2, 4), "copied")
    program = pl.Sequence(pl.Execute(turn), pl.Copy(y.reshape((4, 2)).T, copied))
    engine = pl.Engine(graph, program, options=values_only(), **options)
    values = samples(element)
    engine.write(x, values)
    engine.run()
    assert engine.read(y).tolist() == values[::-1].tolist()
    assert engine.read(copied).tolist() == values[::-1].reshape(4, 2).T.tolist()
    assert engine.read(last) == values[3]
    assert engine.read(kept).tolist() == values[2:4].tolist()


@pytest.mark.parametrize("interpret", [False, True])
@pytest.mark.parametrize(
    "element", thinned([t for t in ELEMENT_TYPES if t is not pl.QUARTER], KEPT[1:])
)
def test_state_of_every_type(element: Element, interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    y = variable(graph, element, (9,), "y")
    hold = graph.add_compute_set("hold")
    values = samples(element)
    one = values[2].item()
    graph.add_vertex(hold, Hold[element], tile=0, values=values, one=one, y=y)  # type: ignore[valid-type]
    engine = pl.Engine(graph, pl.Execute(hold), interpret=interpret, options=values_only())
    engine.run()
    assert engine.read(y).tolist() == [*values.tolist(), one]


@pytest.mark.parametrize("element", [t for t in NUMPY_TYPES if t.dtype.kind in "iu"])
def test_integers_outside_the_range_are_refused(element: Element) -> None:
    graph = pl.Graph()
    x = graph.add_variable(element, (2,), "x")
    limits = np.iinfo(element.dtype.name)
    for beyond in (limits.max + 1, limits.min - 1):
        message = f"^'x': {beyond} does not fit {element!r}"
        with pytest.raises(pl.SizeOverflowError, match=message) as caught:
            graph.set_initial_value(x, beyond)
        assert caught.value.found == f"{element!r} holds {limits.min} to {limits.max}"


def test_a_half_too_large_is_refused_and_others_are_rounded_once() -> None:
    graph = pl.Graph()
    x = graph.add_variable(pl.HALF, (2,), "x", initial_value=[0.1, 2049.0000001])
    assert graph.variables[0].initial_value is not None
    # By way of float32 the second would be 2049 exactly, half-way, and go to 2048.
    assert graph.variables[0].initial_value.tolist() == [float(np.float16(0.1)), 2050]
    with pytest.raises(pl.SizeOverflowError, match=r"^'x': 65520\.0 does not fit HALF") as caught:
        graph.set_initial_value(x, 65520.0)
    assert caught.value.found == "HALF holds -65504.0 to 65504.0"


@pytest.mark.parametrize(
    ("one", "other"), [(pl.CHAR, pl.SIGNED_CHAR), (pl.HALF, pl.SHORT), (pl.INT, pl.FLOAT)]
)
def test_no_type_stands_for_another(one: Element, other: Element) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    a, b = variable(graph, one, (4,), "a"), variable(graph, other, (4,), "b")
    with pytest.raises(pl.ElementTypeError, match=f"^Copy 'a' -> 'b': {one!r} to {other!r}"):
        pl.Copy(a, b)
    with pytest.raises(pl.ElementTypeError, match=f"concat: tensor 1 is {other!r}, tensor 0 is"):
        pl.concat(a, b)
    compute_set = graph.add_compute_set()
    message = f"field 'y' needs {one!r}, but 'b' is {other!r}"
    with pytest.raises(pl.ElementTypeError, match=message):
        graph.add_vertex(compute_set, Hold[one], tile=0, values=[1], one=1, y=b)  # type: ignore[valid-type]
    assert not compute_set.vertices
    assert pl.concat(a, b.reinterpret(one)).shape == (8,)


@pytest.mark.parametrize("element", ELEMENT_TYPES)
def test_bits_are_read_as_another_type_of_equal_size(element: Element) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    bits = np.arange(1, 9).astype(f"u{element.size_bytes}")
    raw = variable(graph, element, (8,), "x").reinterpret(bits.dtype)
    engine = pl.Engine(graph, pl.Sequence(), options=values_only())
    engine.write(raw, bits)
    stored = engine.read(raw)
    assert stored.tolist() == bits.tolist()
    if element in NUMPY_TYPES and element is not pl.BOOL:
        values = engine.read(raw.reinterpret(element))
        assert values.tobytes() == bits.tobytes()
    wider = pl.LONGLONG if element.size_bytes < 8 else pl.INT
    message = f"{element.size_bytes} bytes as {wider!r} of {wider.size_bytes}"
    with pytest.raises(pl.ElementTypeError, match=message):
        raw.reinterpret(wider)
