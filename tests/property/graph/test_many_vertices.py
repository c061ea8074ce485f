"""Vertices added together against the same vertices added one by one.

Fields are drawn as every kind of view: strided, reversed, transposed, broadcast, concatenated,
sliced, ragged, and overlapping, so that some races, and some Inputs that read what their own
vertex writes, are among them.  Results, reports and messages must be the same, in both forms and
with and without checks; so must what each vertex of a block says of itself.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples, thinned
from poplite.compile import places
from poplite.graph.connect.bulk import edges_of_slices, item_of, made_edges
from poplite.graph.tensor.tensor import slices_of

# What `Vectors` leaves unwritten is compared as well.

seeds = st.integers(0, 1 << 32)


class Scalars(pl.Vertex):
    x: pl.Input[pl.INT]
    y: pl.InOut[pl.INT]
    z: pl.Output[pl.INT]

    def compute(self) -> None:
        self.z = 10 * self.x + self.y
        self.y = self.y + self.x


class Vectors(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    scale: pl.State[pl.FLOAT]
    more: pl.State[pl.Vector[pl.SHORT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        total = self.scale
        for i in range(len(self.more)):
            total += self.more[i]
        for i in range(len(self.y)):
            if i < len(self.x):
                self.y[i] = total + self.x[i]


class Lists(pl.Vertex):
    x: pl.Input[pl.Vector[pl.Vector[pl.INT]]]
    y: pl.InOut[pl.Vector[pl.Vector[pl.INT]]]

    def compute(self) -> None:
        total = 0
        for i in range(len(self.x)):
            for j in range(len(self.x[i])):
                total = 3 * total + self.x[i][j]
        for i in range(len(self.y)):
            for j in range(len(self.y[i])):
                self.y[i][j] += total


@pytest.fixture(scope="module")
def tables_for_few_vertices() -> Iterator[None]:
    """Irregular numbers are looked up in tables, however few vertices there are."""
    patch = pytest.MonkeyPatch()
    patch.setattr(places, "FEW_VERTICES", 0)
    yield
    patch.undo()


class Drawn:
    """A graph, and what goes behind the fields of vertices; the same for the same seed."""

    def __init__(self, cls: type[pl.Vertex], seed: int) -> None:
        self.random, self.cls = random.Random(seed), cls
        # Above 64 views and runs are no longer looked at one by one.
        self.count = self.random.randrange(1, 10) if self.random.random() < 0.9 else 80
        self.graph = pl.Graph(pl.Target(tiles=4))
        self.variables: list[pl.Tensor] = []
        self.tiles = [self.random.randrange(4) for _ in range(self.count)]
        self.compute_set = self.graph.add_compute_set("step")
        edges = [field for field in cls.fields.values() if field.is_edge]
        self.values: dict[str, Any] = {field.name: self._edge(field) for field in edges}
        if cls is Scalars and self.random.random() < 0.3:
            self.values["x"] = self.random.choice([7, list(range(self.count))])
        if cls is Vectors:
            self.values["scale"] = self.random.choice([0.5, np.arange(self.count) / 4])
            ragged = [list(range(k % 3)) for k in range(self.count)]
            even = np.arange(2 * self.count).reshape(-1, 2)
            self.values["more"] = self.random.choice([ragged, even])
        self.has_neighbours = self.random.random() < 0.3

    def _make(self, kind: Any, *shape: int) -> pl.Tensor:
        """Return a variable, or one that another field has already."""
        for tensor in self.variables:
            if (tensor.element_type, tensor.shape) == (kind, shape) and self.random.random() < 0.1:
                return tensor
        self.variables.append(self.graph.add_variable(kind, shape, mapping="linear"))
        return self.variables[-1]

    def _edge(self, field: Any) -> Any:
        if self.random.random() < 0.4:
            return self._slices(field) if field.depth < 2 else self._lists(field)
        sizes = [self.random.randrange(4) for _ in range(field.depth)]
        return self._view(field, (self.count, *sizes))

    def _view(self, field: Any, shape: tuple[int, ...]) -> pl.Tensor:
        kind, dim = field.element, self.random.randrange(len(shape))
        choices = ["whole", "shuffled", "reversed", "strided", "concat"]
        match self.random.choice(choices + ["broadcast"] * (field.role == "input")):
            case "shuffled":
                order = self.random.sample(range(len(shape)), len(shape))
                tensor = self._make(kind, *(shape[d] for d in order))
                return tensor.dim_shuffle([order.index(d) for d in range(len(shape))])
            case "reversed":
                return self._make(kind, *shape).reverse(dim)
            case "strided":
                wide = [2 * size if d == dim else size for d, size in enumerate(shape)]
                return self._make(kind, *wide).sub_sample(2, dim)
            case "concat":
                first = self.random.randrange(shape[0] + 1)
                parts = [self._make(kind, n, *shape[1:]) for n in (first, shape[0] - first)]
                return pl.concat(parts)
            case "broadcast":
                return self._make(kind, 1, *shape[1:]).broadcast(shape[0], 0)
        return self._make(kind, *shape)

    def _slices(self, field: Any) -> Any:
        size = 4 * self.count
        line = self._make(field.element, size)
        if self.random.random() < 0.3:
            line = line.reverse(0)
        begins = self.random.sample(range(0, size, 4), self.count)
        if self.random.random() < 0.2:  # some overlap
            begins = [self.random.randrange(size - 3) for _ in range(self.count)]
        lengths = [1 if field.depth == 0 else self.random.randrange(5) for _ in begins]
        pieces = np.array([(b, b + n) for b, n in zip(begins, lengths, strict=True)])
        slices = line.slices(pieces)
        return slices if self.random.random() < 0.6 else list(slices)

    def _lists(self, field: Any) -> Any:
        kind = field.element
        if self.random.random() < 0.3:
            size = self.random.randrange(4)
            return [self._make(kind, 2, size or k % 3) for k in range(self.count)]
        if self.random.random() < 0.1:  # variables at even distances
            return [[self._make(kind, 5), self._make(kind, 5)] for _ in range(self.count)]
        if self.random.random() < 0.3:
            order = self.random.sample(range(self.count), self.count)
            return self._make(kind, 2 * self.count, 3).slices([(2 * k, 2 * k + 2) for k in order])
        line = self._make(kind, 12 * self.count)
        lists = []
        for k in range(self.count):
            starts = self.random.sample(range(12 * k, 12 * k + 12, 4), self.random.randrange(4))
            lists.append(list(line.slices([(s, s + self.random.randrange(4)) for s in starts])))
        return lists

    def add(self, *, together: bool) -> None:
        """Add the vertices, sometimes behind another one of their class."""
        if self.has_neighbours:
            self._neighbour()
        if together:
            self.graph.add_vertices(
                self.compute_set, self.cls, tile=np.array(self.tiles), **self.values
            )
            return
        for k in range(self.count):
            fields = {name: self._own(value, k) for name, value in self.values.items()}
            self.graph.add_vertex(self.compute_set, self.cls, tile=self.tiles[k], **fields)

    def _own(self, value: Any, k: int) -> Any:
        if isinstance(value, int | float):
            return value
        if isinstance(value, np.ndarray):
            return value[k] if value.ndim > 1 else value[k].item()
        return item_of(value, k) if not isinstance(value[k], list) else value[k]

    def _neighbour(self) -> None:
        shapes = {field.name: (1,) * field.depth for field in self.cls.fields.values()}
        fields: dict[str, Any] = {}
        for name, field in self.cls.fields.items():
            if field.is_edge:
                variable = self.graph.add_variable(field.element, shapes[name], mapping=0)
                self.variables.append(variable)
                fields[name] = variable
        if self.cls is Vectors:
            fields |= {"scale": 1.0, "more": [3]}
        self.graph.add_vertex(self.compute_set, self.cls, tile=0, **fields)


def outcome(cls: type[pl.Vertex], seed: int, together: bool, **options: Any) -> Any:
    """Return results and report of a run, or class and words of the error."""
    drawn = Drawn(cls, seed)
    try:
        drawn.add(together=together)
    except pl.PopliteError as error:
        return type(error)  # the first fault is not the first in the other order
    try:
        engine = pl.Engine(drawn.graph, pl.Execute(drawn.compute_set), **options)
    except pl.PopliteError as error:
        return type(error), re.sub(r"\(tests.*?\)", "", str(error))
    values = np.random.default_rng(seed)
    for tensor in drawn.variables:
        engine.write(tensor, values.integers(0, 9, tensor.shape))
    for _ in range(2):
        engine.run()
    report = engine.report()
    results = [engine.read(tensor).tolist() for tensor in drawn.variables]
    return results, report.vertices, report.bytes_gathered


@pytest.mark.filterwarnings("ignore::poplite.errors.UnwrittenOutputWarning")
@pytest.mark.usefixtures("tables_for_few_vertices")
@pytest.mark.parametrize("cls", thinned([Lists, Vectors, Scalars], keep=1))
@examples(150, quick=20)
@given(seed=seeds)
def test_interpreted(cls: type[pl.Vertex], seed: int) -> None:
    one_by_one = outcome(cls, seed, False, interpret=True)
    assert outcome(cls, seed, True, interpret=True) == one_by_one


@pytest.mark.filterwarnings("ignore::poplite.errors.UnwrittenOutputWarning")
@pytest.mark.usefixtures("tables_for_few_vertices")
@pytest.mark.parametrize("cls", thinned([Lists, Vectors, Scalars], keep=1))
@pytest.mark.parametrize("checks", thinned(["strict", "fast"], keep=1))
@given(seed=seeds)
def test_compiled(cls: type[pl.Vertex], checks: Any, seed: int) -> None:
    one_by_one = outcome(cls, seed, False, interpret=True)
    assert outcome(cls, seed, True, checks=checks) == one_by_one


@pytest.mark.filterwarnings("ignore::poplite.errors.UnwrittenOutputWarning")
@pytest.mark.usefixtures("tables_for_few_vertices")
@pytest.mark.parametrize("cls", thinned([Lists, Vectors, Scalars], keep=1))
@given(seed=seeds)
def test_a_vertex_of_a_block_says_of_itself_what_a_single_one_does(
    cls: type[pl.Vertex], seed: int
) -> None:
    block, single = Drawn(cls, seed), Drawn(cls, seed)
    try:
        block.add(together=True)
    except pl.PopliteError:
        return
    single.add(together=False)
    for one, other in zip(block.compute_set.vertices, single.compute_set.vertices, strict=True):
        assert (str(one), one.label, one.tile) == (str(other), other.label, other.tile)
        assert one.vertex_class is other.vertex_class
        assert str(one.state) == str(other.state)
        assert {k: elements(v) for k, v in one.connections.items() if k != "x"} == {
            k: elements(v) for k, v in other.connections.items() if k != "x"
        }


def elements(connected: Any) -> list[list[tuple[str, int, int]]]:
    """Return the regions of every edge."""
    edges = list(connected) if isinstance(connected, tuple) or connected.rank == 2 else [connected]
    return [
        [(region.variable.name, region.begin, region.end) for region in edge.var_regions()]
        for edge in edges
    ]


# -- edges of slices -------------------------------------------------------------------------------


def view(kind: int, x: pl.Tensor) -> pl.Tensor:
    """Return elements of a tensor of (4, 6) in one of many orders, as a vector or rows."""
    flat = x.flatten()
    found: list[pl.Tensor] = [
        flat,
        flat[::-1],
        x.T.flatten(),
        pl.concat(flat[10:], flat[:5]),
        pl.concat(x[:, 1:3], x[:, 4:], 1).flatten(),
        pl.concat([x[k] for k in (2, 0, 3, 1)]).flatten(),
        flat[2:20:3],
        x.T[1:4, ::2].flatten(),
        flat[4:],
    ]
    return found[kind]


@given(data=st.data())
@examples(300)
def test_moved_edges_are_those_that_are_made(data: st.DataObject) -> None:
    graph = pl.Graph()
    kind = data.draw(st.integers(0, 8))
    tensors = []
    for _ in range(2):
        graph.add_variable(pl.FLOAT, (data.draw(st.integers(0, 9)),))
        tensors.append(view(kind, graph.add_variable(pl.FLOAT, (4, 6))))
    size = tensors[0].num_elements
    ends = st.tuples(st.integers(0, size), st.integers(0, size)).map(sorted).map(tuple)
    bounds = data.draw(st.lists(ends, min_size=1, max_size=6))
    depth = data.draw(st.sampled_from([1, 2]))
    first = np.array(sorted({0, len(bounds), data.draw(st.integers(0, len(bounds)))}))
    values = [slices_of(each, bounds, 0) for each in tensors]
    lists = first if depth == 2 else None
    one, moved = (edges_of_slices(graph, each.tensor.view, each, lists, depth) for each in values)
    made = made_edges(values[1].tensor.view, values[1], lists, depth)
    assert (one is None) == (moved is None) == (made is None)
    if moved is None or made is None:
        return
    assert moved.rows.array().tolist() == made.rows.array().tolist()
    assert moved.length.array().tolist() == made.length.array().tolist()
    assert (moved.start is None) == (made.start is None)
    if moved.start is not None and made.start is not None:
        assert type(moved.start) is type(made.start)
        assert moved.start.array().tolist() == made.start.array().tolist()
    assert (moved.pairs is None) == (made.pairs is None)
    for mine, other in zip(moved.runs(), made.runs(), strict=True):
        assert mine.tolist() == other.tolist()
    if moved.num_elements:
        assert moved.spread() == made.spread()
