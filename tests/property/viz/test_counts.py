"""Numbers in pictures of graphs drawn at random, against counts that go element by element."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from random import Random

from hypothesis import given, strategies as st

import poplite as pl
from poplite.program import TensorCopy
from poplite.viz.dataflow.graph import dataflow_json, dataflow_of
from poplite.viz.program.labels import MOST
from poplite.viz.program.tree import program_json, program_tree
from poplite.viz.summary import summary_json, summary_of


class Blend(pl.Vertex):
    """Reads, writes and updates, a number among it."""

    k: pl.Input[pl.FLOAT]
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        """Leave everything as it is."""


class Rows(pl.MultiVertex):
    """Lists of edges, one of them connected row by row."""

    rows: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    out: pl.Output[pl.Vector[pl.Vector[pl.FLOAT]]]

    def compute(self, worker: int) -> None:
        """Leave everything as it is."""


class Quarters(pl.Vertex):
    """Has edges for metadata that nobody connects."""

    x: pl.Input[pl.Vector[pl.QUARTER]]
    y: pl.InOut[pl.Vector[pl.QUARTER]]

    def compute(self) -> None:
        """Leave everything as it is."""


class Drawn:
    """A graph and a program drawn at random."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.graph = pl.Graph(pl.Target(tiles=4))
        own = self.graph.add_variable(pl.QUARTER_METADATA, (), "own", mapping=0)
        self.floats = [
            self.graph.add_variable(pl.FLOAT, (20,), f"x{k}", mapping=self._tile())
            for k in range(3)
        ]
        kinds: list[pl.Tensor | pl.QuarterMetadata] = [own, own, pl.QuarterMetadata("F152")]
        self.quarters = [
            self.graph.add_variable(pl.QUARTER, (20,), f"q{k}", mapping=1, metadata=metadata)
            for k, metadata in enumerate(kinds)
        ]
        self.sets = [self.graph.add_compute_set(f"work{k}") for k in range(3)]
        self.vertices = [self._vertex() for _ in range(self.random.randrange(8))]
        pool: list[pl.Program] = [self._leaf() for _ in range(4)]
        for _ in range(self.random.randrange(9)):
            pool.append(
                pl.Repeat(self.random.choice([0, 1, 7, 10**6]), self.random.choice(pool))
                if self.random.random() < 0.4
                else pl.Sequence(self.random.choices(pool[-5:], k=self.random.randrange(4)))
            )
        self.program = pl.Sequence(pool[-3:])

    def _tile(self) -> int | None:
        tiles: list[int | None] = [None, 0, 1, 2, 3]
        return self.random.choice(tiles)

    def _cut(self, tensors: list[pl.Tensor], size: int = 4) -> pl.Tensor:
        begin = self.random.randrange(16)
        return self.random.choice(tensors)[begin : begin + size]

    def _vertex(self) -> pl.VertexInstance:
        graph, cs, tile = self.graph, self.random.choice(self.sets), self._tile()
        kind = self.random.randrange(3)
        if kind == 0:
            x = pl.concat([self._cut(self.floats), self._cut(self.floats)])
            y = self.random.choice(self.floats)[: self.random.randrange(1, 9)]
            return graph.add_vertex(cs, Blend, tile=tile, k=0.5, x=x, y=y)
        if kind == 1:
            rows = [self._cut(self.floats, 2) for _ in range(self.random.randrange(3))]
            vertex = graph.add_vertex(cs, Rows, tile=tile, rows=rows)
            for row in self.random.sample(range(4), 2):  # mostly with gaps
                graph.connect(vertex["out"][row], self.floats[2][4 * row : 4 * row + 4])
            return vertex
        x, y = self._cut(self.quarters), self._cut(self.quarters[:1])
        return graph.add_vertex(cs, Quarters, tile=tile, x=x.reverse(0), y=y)

    def _leaf(self) -> pl.Program:
        kind = self.random.randrange(3)
        if kind == 0:
            return pl.Execute(self.random.choice(self.sets))
        if kind == 1:
            return pl.PrintTensor(f"p{self.random.random()}", self._cut(self.floats))
        return pl.Copy(self._cut(self.floats[:2]), self._cut(self.floats[2:]))


def edges(vertex: pl.VertexInstance) -> Iterator[tuple[str, pl.Tensor]]:
    """Every edge of a vertex with its field, rows one by one."""
    for name in vertex.vertex_class.fields:
        value = vertex.connections.get(name, ())
        rows = vertex.rows[name].values() if name in vertex.rows else value
        for tensor in rows if isinstance(value, tuple) else (value,):
            yield name, tensor


def sizes(tensor: pl.Tensor) -> Counter[str]:
    """Bytes of each variable in a tensor."""
    counts: Counter[str] = Counter()
    for variable, begin, end in tensor.var_regions():
        counts[variable.name] += (end - begin) * variable.element_type.size_bytes
    return counts


def leaves(program: pl.Program, times: int = 1) -> Iterator[tuple[pl.Program, int]]:
    """Every leaf in every place, and how often it runs there."""
    if isinstance(program, pl.Execute | pl.Copy | pl.PrintTensor):
        yield program, times
    inner = times * program.count if isinstance(program, pl.Repeat) else times
    for child in program.children:
        yield from leaves(child, inner)


@given(st.integers(0, 1 << 32).map(Drawn))
def test_summary(drawn: Drawn) -> None:
    told = json.loads(summary_json(summary_of(drawn.graph, drawn.program)))
    vertices = drawn.vertices
    assert told["edges"] == sum(1 for vertex in vertices for _ in edges(vertex))
    assert told["vertices"] == len(vertices)
    names = Counter(vertex.vertex_class.__name__ for vertex in vertices)
    assert {entry["name"]: entry["vertices"] for entry in told["classes"]} == names
    assert told["vertex_tiles"] == len({vertex.tile for vertex in vertices} - {None})
    assert told["unplaced_vertices"] == sum(vertex.tile is None for vertex in vertices)
    runs = [times for _, times in leaves(drawn.program)]
    assert told["program"] == {"runs": min(sum(runs), MOST), "steps": len(runs)}


@given(st.integers(0, 1 << 32).map(Drawn))
def test_dataflow(drawn: Drawn) -> None:
    flow = json.loads(dataflow_json(dataflow_of(drawn.graph, drawn.program)))
    names = [node["name"] for node in flow["nodes"]]
    told: Counter[tuple[str, str]] = Counter()
    for edge in flow["edges"]:
        told[names[edge["from"]], names[edge["to"]]] += edge["bytes"]
        told[names[edge["to"]], names[edge["from"]]] += edge["bytes_back"]
    wanted: Counter[tuple[str, str]] = Counter()
    for vertex in drawn.vertices:
        work = vertex.compute_set.name
        for name, tensor in edges(vertex):
            field = vertex.vertex_class.fields[name]
            for variable, size in sizes(tensor).items():
                owner = f"{work} numbers" if name == "k" else variable
                wanted[owner, work] += size * field.reads
                wanted[work, owner] += size * field.writes
    for leaf in dict.fromkeys(leaf for leaf, _ in leaves(drawn.program)):
        if isinstance(leaf, pl.PrintTensor):
            wanted += Counter({(name, leaf.title): n for name, n in sizes(leaf.tensor).items()})
    copies = {(leaf.source, leaf.destination) for leaf, _ in leaves(drawn.program)
              if isinstance(leaf, TensorCopy)}  # fmt: skip
    for source, end in copies:
        title = f"{source.name} -> {end.name}"
        wanted += Counter({(name, title): n for name, n in sizes(source).items()})
        wanted += Counter({(title, name): n for name, n in sizes(end).items()})
    assert +told == +wanted


@given(st.integers(0, 1 << 32).map(Drawn))
def test_program(drawn: Drawn) -> None:
    places = [(str(leaf), min(times, MOST)) for leaf, times in leaves(drawn.program)]
    told = set()
    for row in json.loads(program_json(program_tree(drawn.program)))["rows"]:
        steps = range(row["first_step"], row["first_step"] + row["num_steps"])
        if row["kind"] != "control":
            assert (row["title"], row["runs"]) == places[row["first_step"] - 1]
        told |= set(steps)
    assert told == set(range(1, len(places) + 1))
