"""Every form of edges, states, variables and programs, through tables and host program.

`mirrors` compares what the stand-in recorded with the Python graph, and all bits after each run.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any, Generic, TypeVar

import numpy as np
import pytest

import poplite as pl
from helpers.depth import deep, thinned, values_only
from helpers.mirrored import Mirrored, Mirrors
from poplite.ipu.building import host_text
from poplite.testing import random_tensor, random_variables

T = TypeVar("T")

INTEGERS = (
    pl.CHAR,
    pl.SIGNED_CHAR,
    pl.UNSIGNED_CHAR,
    pl.SHORT,
    pl.UNSIGNED_SHORT,
    pl.INT,
    pl.UNSIGNED_INT,
    pl.LONGLONG,
    pl.UNSIGNED_LONGLONG,
)


Host = Callable[[pl.Graph, Any], Mirrored]


@pytest.fixture
def host(mirrors: Mirrors) -> Host:
    """Return what makes engines with a host program beside each, of which values are compared."""
    return partial(mirrors.mirrored, checks="fast", interpret=True, options=values_only())


class Sum(pl.Vertex, Generic[T]):
    """Adds up a vector, times a factor."""

    x: pl.Input[pl.Vector[T]]
    factor: pl.State[T]
    y: pl.Output[T]

    def compute(self) -> None:
        total = self.factor * 0
        for i in range(len(self.x)):
            total += self.factor * self.x[i]
        self.y = total


class Rows(pl.Vertex):
    """Dot products of rows with weights, one more for each row."""

    rows: pl.Input[pl.Vector[pl.Vector[pl.INT]]]
    weights: pl.State[pl.Vector[pl.INT]]
    first: pl.State[pl.INT]
    out: pl.Output[pl.INT]

    def compute(self) -> None:
        total = self.first
        for r in range(len(self.rows)):
            total += 1
            for i in range(len(self.rows[r])):
                total += self.rows[r][i] * self.weights[i % len(self.weights)]
        self.out = total


class First(pl.Vertex):
    """Writes the first elements only."""

    out: pl.Output[pl.Vector[pl.HALF]]
    scale: pl.State[pl.HALF]
    scales: pl.State[pl.Vector[pl.HALF]]

    def compute(self) -> None:
        for i in range(len(self.scales)):
            self.out[i] = self.scale * self.scales[i]


class Workers(pl.MultiVertex):
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self, worker: int) -> None:
        for i in range(worker, len(self.x), self.num_workers):
            self.x[i] = self.x[i] + worker


class Less(pl.Vertex):
    """Counts up, and says whether it goes on."""

    x: pl.InOut[pl.INT]
    limit: pl.State[pl.INT]
    goes_on: pl.Output[pl.BOOL]

    def compute(self) -> bool:
        self.x += 1
        self.goes_on = self.x < self.limit
        return self.x < 2


class Shift(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = self.x[i] + 1.0


def drawn(graph: pl.Graph, kind: type[pl.ElementType[float]], shape: tuple[int, ...]) -> pl.Tensor:
    values = np.random.default_rng(3).integers(1, 50, shape)
    return graph.add_variable(kind, shape, "v", mapping="linear", initial_value=values)


def test_edges(host: Host) -> None:
    graph = pl.Graph(pl.Target(tiles=5))
    a, b = drawn(graph, pl.FLOAT, (6, 8)), drawn(graph, pl.FLOAT, (7,))
    constant = graph.add_constant(pl.FLOAT, (4,), [1, 2, 3, 4], "constant", mapping=2)
    seven = graph.add_constant(pl.HALF, (3,), 7, "seven", mapping=1)
    halves = graph.add_constant(pl.HALF, (3,), [0.1, 0.2, 0.3], "halves", mapping=1)
    views = [
        a[1],
        a[:, 2],  # a column
        a[2][::-1],
        a[:, 3][::-1],
        a[4, ::3],
        pl.concat([a[0, 2:5], b, constant]),
        b[2:3].broadcast(5, 0),
        a.T.flatten()[3:20],
        a[1:4, 2:5].T.flatten(),  # two digits
        b[0:0],
        pl.concat([a[0], a[0]]),
    ]
    results = graph.add_variable(pl.FLOAT, (len(views),), "results", mapping="linear")
    work = graph.add_compute_set("sums")
    for k, view in enumerate(views):
        vertex = Sum[pl.FLOAT]
        graph.add_vertex(work, vertex, tile=k % 5, x=view, factor=k / 3, y=results[k])
    bulk = graph.add_compute_set("bulk")
    columns = graph.add_variable(pl.FLOAT, (3, 8), "columns", mapping="linear")
    factors = np.arange(8, dtype=np.float32)
    graph.add_vertices(
        bulk, Sum[pl.FLOAT], tile=np.arange(8) % 5, x=a.T, factor=factors, y=columns[0]
    )
    pairs = a.flatten().slices(np.array([[0, 4], [30, 37], [7, 7], [12, 13]]))
    graph.add_vertices(bulk, Sum[pl.FLOAT], tile=3, x=pairs, factor=2.0, y=columns[1, ::2])
    small = graph.add_variable(pl.HALF, (2,), "small", mapping=4)
    for k, view in enumerate((seven, halves)):
        graph.add_vertex(bulk, Sum[pl.HALF], tile=4, x=view, factor=0.3, y=small[k])
    engine = host(graph, pl.Sequence(pl.Execute(work), pl.Execute(bulk)))
    engine.run()
    np.testing.assert_array_equal(engine.read(columns[1, ::2])[2], 0)


def test_lists_of_edges_and_states(host: Host) -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    grid, out = drawn(graph, pl.INT, (6, 9)), drawn(graph, pl.INT, (9,))
    work = graph.add_compute_set("rows")
    weights = [3, -1, 2]
    lists = [list(grid), [grid[:, k] for k in range(4)], [grid[0, :3], grid[1, ::2], grid[2, 5:5]]]
    for k, rows in enumerate(lists):
        graph.add_vertex(
            work, Rows, tile=k, rows=rows, weights=weights[: k + 1], first=k, out=out[k]
        )
    graph.add_vertex(work, Rows, tile=3, rows=grid[1:4, 2:6], weights=weights, first=-5, out=out[3])
    blocks = grid.reshape((3, 2, 9))
    graph.add_vertices(
        work,
        Rows,
        tile=np.arange(3),
        rows=blocks,
        weights=[weights] * 3,
        first=10 * np.arange(3),
        out=out[4:7],
    )
    halves = graph.add_variable(pl.HALF, (2, 5), "halves", mapping="linear", initial_value=9)
    for k in range(2):
        graph.add_vertex(
            work, First, tile=k, out=halves[k], scale=0.1 * (k + 1), scales=[0.5, 1 / 3][: k + 1]
        )
    x = drawn(graph, pl.FLOAT, (20,))
    graph.add_vertex(work, Workers, tile=2, x=x)
    engine = host(graph, pl.Repeat(3, pl.Execute(work)))
    engine.run()
    assert engine.read(halves)[0, 1:].tolist() == [9] * 4  # an output that is partly written


@pytest.mark.parametrize("element", INTEGERS, ids=repr)
def test_element_types_are_moved(host: Host, element: type[pl.ElementType[int]]) -> None:
    graph = pl.Graph(pl.Target(tiles=3))
    ends = np.iinfo(element.dtype.name)
    values = np.array([ends.min, ends.max, 0, 1], element.dtype)
    x = graph.add_variable(element, (4,), "x", mapping=1, initial_value=values)
    one = graph.add_constant(element, (2,), ends.max, "one", mapping=0)
    y = graph.add_variable(element, (3, 2), "y", mapping="linear")
    graph.create_host_read("backwards", y[1:, ::-1])
    graph.create_host_write("middle", x[1:3])
    engine = host(graph, pl.Sequence(pl.Copy(x, y[:2]), pl.Copy(one, y[2])))
    engine.run()
    session = engine._session
    assert session.read("handle:backwards").tolist() == engine.read(y[1:, ::-1]).tolist()
    session.write("handle:middle", [5, 6])
    assert session.read("variable:x").tolist() == [ends.min, 5, 6, 1]


def test_quarters_are_moved_as_bytes(host: Host) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    metadata = pl.QuarterMetadata("F143")
    x = graph.add_variable(pl.QUARTER, (4,), "x", mapping=1, metadata=metadata)
    y = graph.add_variable(pl.QUARTER, (4,), "y", mapping=0, metadata=metadata)
    codes = pl.Copy(x.reinterpret(pl.UNSIGNED_CHAR), y.reinterpret(pl.UNSIGNED_CHAR))
    engine = host(graph, codes)
    engine._session.write("variable:x", [1, 2, 3, 128])
    assert engine._session.ask("run 0").startswith("ok")
    assert engine._session.read("variable:y").tolist() == [1, 2, 3, 128]


def test_programs(host: Host) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x, y = (
        graph.add_variable(pl.INT, (), name, mapping=k, initial_value=0)
        for k, name in enumerate("xy")
    )
    on = graph.add_variable(pl.BOOL, (1,), "on", mapping=0, initial_value=True)
    agreed = graph.add_variable(pl.BOOL, (), "agreed", mapping=0, initial_value=False)
    mode = graph.add_variable(pl.UNSIGNED_INT, (), "mode", mapping=1, initial_value=2)
    work = graph.add_compute_set("count")
    graph.add_vertex(work, Less, tile=0, x=x, limit=7, goes_on=on[0])
    count = pl.Execute(work, agreed)
    into = graph.add_host_to_device_fifo("into the device", pl.INT, 1)
    back = graph.add_device_to_host_fifo("back", pl.INT, 1)
    function = graph.add_function(pl.Sequence(pl.Copy(x, y), pl.Copy(y, back)), "copy and send")
    five = graph.add_constant(pl.INT, (), 5, "five", mapping=0)
    switch = pl.Switch(mode, {0: pl.Copy(five, x), 2: pl.Sequence()}, default=pl.Copy(five, y))
    programs = {
        "while": pl.RepeatWhileTrue(count, on[0], pl.Call(function)),
        "until": pl.RepeatWhileFalse(pl.Sequence(), on, pl.Execute(work)),
        "if": pl.If(agreed, pl.Copy(five, y), pl.Block(pl.Copy(five, x), "otherwise")),
        "switch": pl.Sequence(switch, pl.Sequence(), pl.Sync(pl.SyncType.EXTERNAL)),
        "bounded": pl.Switch.with_bounds_checking(mode, {0: pl.Copy(five, x)}),
        "print": pl.Sequence(pl.PrintTensor("x is", x), pl.PrintTensor(on), pl.Call(function)),
        "load": pl.Repeat(2, pl.Sequence(pl.Copy(into, x), pl.WriteUndef(y))),
        "never": pl.Repeat(0, pl.Abort()),
        "abort": pl.Sequence(pl.AbortOnCondition(mode, 'mode "2"')),
        "error": pl.ErrorProgram("bad", x),
        "loop": pl.Loop(pl.Sequence(count, pl.Copy(into, y))),
        "nothing": pl.Sequence(),
    }
    engine = host(graph, programs)
    engine.connect_stream_to_callback("into the device", lambda block: block.fill(11))
    engine.connect_stream_to_callback("back", lambda block: None)
    for name in ("while", "if", "switch", "print", "until", "load", "never", "nothing", "print"):
        engine.run(name)
    ask = engine._session.ask
    assert ask("run abort") == 'error application_runtime_error 8: mode "2"'
    assert ask("run error") == "error application_runtime_error 3: bad"
    assert ask("run bounded") == "error application_runtime_error 29: no case of the Switch matches"
    rounds = iter([True, True, False])
    assert ask("run loop", lambda name, block: next(rounds)) == "error Stopped 0: "
    assert ask("run switch").startswith("ok ")


def test_an_input_that_overlaps_an_own_output_reads_a_copy(mirrors: Mirrors, host: Host) -> None:
    graph = pl.Graph(pl.Target(tiles=3))
    x = graph.add_variable(pl.FLOAT, (12,), "x", mapping="linear", initial_value=np.arange(12))
    work = graph.add_compute_set("shift")
    graph.add_vertex(work, Shift, tile=1, x=x[0:5], y=x[1:6])
    graph.add_vertex(work, Shift, tile=2, x=x[6:12:2], y=x[6:9])
    engine = host(graph, pl.Repeat(2, pl.Execute(work)))
    engine.run()
    expected = np.arange(12)
    for _ in range(2):
        expected[1:6], expected[6:9] = expected[0:5] + 1, expected[6:12:2] + 1
    assert engine.read(x).tolist() == expected.tolist()
    copied = engine._session.recorded
    names = [each["name"] for each in copied["variables"]]
    assert names[:2] == ["x", "shift/x/before"]
    assert copied["variables"][1]["tiles"] == [1] * 5 + [2] * 3
    vertices = copied["compute_sets"][0]["vertices"]
    assert [each["edges"]["x"][0][::2] for each in vertices] == [[1] * 5, [1] * 3]


def test_estimates_are_given_where_they_are_set(host: Host) -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x = drawn(graph, pl.FLOAT, (6, 4))
    work = graph.add_compute_set("work")
    one = graph.add_vertex(work, Workers, tile=0, x=x[0])
    graph.add_vertex(work, Workers, tile=1, x=x[1])
    block = graph.add_vertices(work, Workers, tile=[1, 2, 3], x=x[2:5])
    graph.set_perf_estimate(one, 100, 7)
    graph.set_perf_estimate(block, [5, 6, 7])
    host(graph, pl.Execute(work)).run()


def test_a_virtual_graph_has_the_tiles_of_the_whole(host: Host) -> None:
    whole = pl.Graph(pl.Target(tiles=6))
    part = whole.create_virtual_graph(3, 6)
    x = part.add_variable(pl.FLOAT, (6,), "x", mapping="linear", initial_value=np.arange(6))
    work = part.add_compute_set("work")
    part.add_vertex(work, Workers, tile=1, x=x)
    host(part, pl.Execute(work)).run()


@deep
def test_nothing_is_undefined_in_the_host_program(mirrors: Mirrors, host: Host) -> None:
    mirrors.flags = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    test_edges(host)
    test_lists_of_edges_and_states(host)
    test_programs(host)


WRONG = {
    "views are not turned": ("stride < 0 ? part.reverse(0) : part", "part"),
    "all vertices on the first tile": ("static_cast<unsigned>(tiles[run])", "unsigned(tiles[0])"),
    "parts in the other order": ("parts[0] : poplar::concat(parts)", "parts[0] : parts.back()"),
    "the first state for all": ("static_cast<T>(numbers[k])", "static_cast<T>(numbers[0])"),
    "the first value of a vector": ("values<T>(at, length, false)", "values<T>(at, length, true)"),
    "bodies of If swapped": (
        "part(0), part(1));\n    case SWITCH",
        "part(1), part(0));\n    case SWITCH",
    ),
    "one round less": (
        "Repeat(static_cast<unsigned>(a), part(0))",
        "Repeat(unsigned(a) - 1, part(0))",
    ),
}
"""Host programs that are wrong on purpose: what stands there, and what in its place."""


@deep
@pytest.mark.parametrize("what", WRONG)
def test_wrong_host_programs_are_found(
    what: str, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = host_text("host.cpp")
    right, wrong = WRONG[what]
    assert text.count(right) == 1
    changed = {"host.cpp": text.replace(right, wrong)}
    monkeypatch.setattr("poplite.ipu.building.host_files", lambda: changed)
    forms: list[Callable[[Host], None]] = [
        test_edges,
        test_lists_of_edges_and_states,
        test_programs,
    ]
    found = []
    for form in forms:
        try:
            form(host)
        except AssertionError:
            found.append(form)
    assert found


# -- drawn views on host ---------------------------------------------------------------------------
#
# Drawn views as sources of copies and as edges, through tables and host program.


VIEWS = 40


class Weigh(pl.Vertex):
    """A sum in which every place counts."""

    x: pl.Input[pl.Vector[pl.INT]]
    rows: pl.Input[pl.Vector[pl.Vector[pl.INT]]]
    out: pl.Output[pl.INT]

    def compute(self) -> None:
        total = len(self.rows)
        for i in range(len(self.x)):
            total = total * 3 + self.x[i]
        for r in range(len(self.rows)):
            for i in range(len(self.rows[r])):
                total = total * 5 + self.rows[r][i]
        self.out = total


@deep
@pytest.mark.parametrize("seed", thinned(range(20), keep=2))
def test_drawn_views_are_copied_and_connected(seed: int, mirrors: Mirrors) -> None:
    random, rng = Random(seed), np.random.default_rng(seed)
    sources = random_variables(random)
    graph = sources[0].tensor.graph
    for variable in graph.variables:
        tensor = graph.tensor(variable.name).flatten()
        breaks, tiles = variable.mapping.pieces()
        for k in np.flatnonzero(tiles < 0).tolist():
            graph.set_tile_mapping(tensor[breaks[k] : breaks[k + 1]], random.randrange(4))
        if not variable.constant:
            values = rng.integers(-(2**31), 2**31, tensor.num_elements)
            graph.set_initial_value(tensor, values)
    work = graph.add_compute_set("weigh")
    results = graph.add_variable(pl.INT, (VIEWS,), "results", mapping="linear")
    copies = []
    for k in range(VIEWS):
        view = random_tensor(random, sources).tensor
        kept = graph.add_variable(pl.INT, view.shape, "kept", mapping=k % 4)
        copies.append(pl.Copy(view, kept))
        lists = [row.flatten() for row in view[:5]] if view.rank else [view.flatten()]
        fields = {"x": view.flatten(), "rows": lists, "out": results[k]}
        graph.add_vertex(work, Weigh, tile=k % 4, **fields)
    program = pl.Sequence(*copies, pl.Execute(work))
    mirrors.mirrored(graph, program, interpret=True, checks="fast").run()
