"""PopLibs' functions that take compute sets in the place of a program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import interpreted, thinned
from helpers.virtual_tiles import tiles_made
from poplite import ops
from poplite.compat import popnn, popops
from poplite.compat.popops import Operation, ReduceParams
from poplite.program.recording import ComputeSetList

ELEMENTS = [
    *(pl.HALF, pl.BOOL, pl.LONGLONG, pl.FLOAT, pl.INT, pl.UNSIGNED_INT, pl.SHORT),
    *(pl.UNSIGNED_SHORT, pl.CHAR, pl.SIGNED_CHAR, pl.UNSIGNED_CHAR, pl.UNSIGNED_LONGLONG),
]
X = np.array([[-1.5, 2.5, 0, 7], [4, -0.5, 3, 1]], np.float32)


class Bench:
    """A graph, a tensor of X and a compute set."""

    def __init__(self, tiles: int = 4) -> None:
        self.graph = pl.Graph(pl.Target(tiles=tiles))
        self.x = self.variable("x", X)
        self.cs = self.graph.addComputeSet("cs")

    def variable(self, name: str, value: Any = None, kind: Any = pl.FLOAT) -> pl.Tensor:
        """A tensor of the shape of X, over all tiles."""
        return self.graph.add_variable(kind, X.shape, name, mapping="linear", initial_value=value)

    def read(self, *tensors: pl.Tensor, sets: Any = ()) -> list[np.ndarray]:
        """Execute the compute set, or a list of them, and return tensors."""
        program = pl.Sequence(*map(pl.Execute, sets or [self.cs]))
        engine = pl.Engine(self.graph, program, **interpreted())
        engine.run()
        return [engine.read(each) for each in tensors]


def test_casts_share_the_compute_set_of_the_user() -> None:
    bench = Bench()
    graph, x, cs = bench.graph, bench.x, bench.cs
    own = graph.add_variable(pl.INT, (), "own", mapping=3)
    graph.add_vertex(cs, Store, tile=3, out=own)
    h, same = bench.variable("h", kind=pl.HALF), bench.variable("same")
    assert popops.cast(graph, x, h, cs) is None
    popops.cast(graph, x, same, cs)
    n = popops.cast(graph, x, pl.INT, cs, "n")
    assert n.name == "n"
    assert len(graph.compute_sets) == 1
    found = bench.read(own, h, same, n)
    expected = [np.array(5), X.astype(np.float16), X, X.astype(np.int32)]
    for made, value in zip(found, expected, strict=True):
        assert made.tolist() == value.tolist()


class Store(pl.Vertex):
    """A vertex of the user."""

    out: pl.Output[pl.INT]

    def compute(self) -> None:
        self.out = 5


def test_races_between_what_shares_a_compute_set_are_found() -> None:
    bench = Bench()
    h = bench.variable("h", kind=pl.HALF)
    popops.cast(bench.graph, bench.x, h, bench.cs)
    popops.zero(bench.graph, h, 0, bench.cs)
    with pytest.raises(pl.GraphCycleError, match="'h'"):
        bench.read(h)
    bench = Bench()
    y = popops.cast(bench.graph, bench.x, pl.INT, bench.cs)
    popnn.nonLinearityInPlace(bench.graph, "RELU", bench.x, bench.cs)
    with pytest.raises(pl.GraphCycleError, match="'x'"):
        bench.read(y)


@pytest.mark.parametrize("kind", thinned(ELEMENTS, ELEMENTS[:3]))
def test_fills_of_every_type(kind: Any) -> None:
    bench = Bench()
    value, old = (True, False) if kind is pl.BOOL else (7, 1)
    t = bench.variable("t", old, kind)
    popops.fill(bench.graph, t, bench.graph.getTileMapping(t), bench.cs, value)
    z = bench.variable("z", value, kind)
    popops.zero(bench.graph, z, bench.graph.getTileMapping(z), bench.cs)
    full, none = bench.read(t, z)
    assert full.tolist() == np.full(X.shape, value).tolist()
    assert not none.any()


def test_fills_of_some_elements_are_on_the_tile_that_is_named() -> None:
    bench = Bench()
    graph, x, cs = bench.graph, bench.x, bench.cs
    popops.fill(graph, x, [pl.Interval(6, 8), (0, 2)], 1, cs, 9)
    assert {vertex.tile for vertex in cs.vertices} == {1}
    popops.zero(graph, x, [[], [], [(2, 3)], [(4, 6)]], cs)
    assert {vertex.tile for vertex in cs.vertices} == {1, 2, 3}
    popops.zero(graph, x, [], 0, cs)
    assert {vertex.tile for vertex in cs.vertices} == {1, 2, 3}
    assert bench.read(x)[0].tolist() == [[9, 9, 0, 7], [0, 0, 9, 9]]
    bench = Bench()
    popops.fill(bench.graph, bench.x, 2, bench.cs, 0.5)
    assert {vertex.tile for vertex in bench.cs.vertices} == {2}
    assert (bench.read(bench.x)[0] == 0.5).all()


def test_reductions_share_the_compute_sets_of_a_list() -> None:
    bench = Bench()
    graph, x = bench.graph, bench.x
    css: list[pl.ComputeSet] = []
    one = popops.reduce(graph, x, [0], Operation.ADD, css, "one")
    before = [*css]
    assert len(before) > 0
    many = popops.reduce(graph, x, pl.HALF, [0, 1], ReduceParams(Operation.MAX), css, "many")
    out = graph.add_variable(pl.FLOAT, (2, 1), "out", mapping=0, initial_value=[[10], [20]])
    popops.reduceWithOutput(graph, x, out, [1], ReduceParams(Operation.ADD, True), css)
    assert css[: len(before)] == before
    assert css == list(graph.compute_sets)[1:]
    found = bench.read(one, many, out, sets=css)
    assert found[0].tolist() == X.sum(0).tolist()
    assert found[1] == 7
    assert found[2].tolist() == (X.sum(1, keepdims=True) + [[10], [20]]).tolist()


def test_reductions_begin_in_compute_sets_that_are_there() -> None:
    bench = Bench()
    css = [bench.cs]
    y = popops.cast(bench.graph, bench.x, pl.INT, bench.cs)
    total = popops.reduce(bench.graph, bench.x, [0, 1], Operation.ADD, css)
    assert css[0] is bench.cs
    assert len(css) > 1
    assert [each.tolist() for each in bench.read(y, total, sets=css)] == [
        X.astype(np.int32).tolist(),
        X.sum(),
    ]


@pytest.mark.parametrize(
    ("shape", "dims", "operation", "expected"),
    [
        ((2, 0), [1], Operation.MIN, [np.inf, np.inf]),
        ((0,), [0], Operation.MUL, 1.0),
        ((3, 1), [1], Operation.ADD, [2.0, 2.0, 2.0]),
        ((3,), [], Operation.ADD, [2.0, 2.0, 2.0]),
    ],
)
def test_reductions_that_join_nothing_are_vertices_too(
    shape: Any, dims: list[int], operation: Operation, expected: Any
) -> None:
    bench = Bench()
    x = bench.graph.add_variable(pl.FLOAT, shape, "y", mapping="linear", initial_value=2)
    css: list[pl.ComputeSet] = []
    made = popops.reduce(bench.graph, x, dims, operation, css)
    assert [len(each.vertices) > 0 for each in css] == [True]
    assert bench.read(made, sets=css)[0].tolist() == expected


KINDS = [each for each in popnn.NonLinearityType if "SOFTMAX" not in each.name]


@pytest.mark.parametrize("kind", thinned(KINDS, KINDS[:2]))
def test_non_linearities_are_those_of_a_program(kind: popnn.NonLinearityType) -> None:
    bench = Bench()
    graph, x, cs = bench.graph, bench.x, bench.cs
    g, y, prog = bench.variable("g", X[:, ::-1] / 4), bench.variable("y", X), pl.Sequence()
    by_x = popnn.nonLinearityInputGradient(graph, kind, g, y, cs, "by_x")
    popnn.nonLinearityInPlace(graph, kind, x, cs)
    assert len(graph.compute_sets) == 1
    expected = [
        popnn.nonLinearity(graph, kind, y, prog),
        popnn.nonLinearityInputGradient(graph, kind, g, y, prog),
    ]
    engine = pl.Engine(graph, pl.Sequence(pl.Execute(cs), prog), **interpreted())
    engine.run()
    for one, other in zip((x, by_x), expected, strict=True):
        np.testing.assert_array_equal(engine.read(one), engine.read(other))


def test_the_graph_of_a_call_decides_the_tiles() -> None:
    top = pl.Graph(pl.Target(tiles=8))
    own = top.create_virtual_graph([5, 1, 6])
    x = top.add_variable(pl.FLOAT, (30, 4), "x", mapping="linear", initial_value=1)
    n = own.add_variable(pl.INT, (30, 4), "n", mapping="linear")

    def call() -> None:
        cs = top.add_compute_set("cs")
        popops.cast(own, x, pl.HALF, cs)
        popops.fill(own, n, own.tile_mapping(n), cs, 3)
        popops.reduce(own, x, [0], Operation.ADD, [cs])

    assert tiles_made(own, call) == {1, 5, 6}


SOFTMAX = popnn.NonLinearityType.SOFTMAX_STABLE

REFUSED: dict[str, tuple[Callable[[Bench], object], type[Exception], str]] = {
    "softmax": (
        lambda b: popnn.nonLinearityInPlace(b.graph, SOFTMAX, b.x, any_of(b.cs)),
        pl.ControlProgramError,
        "popnn.nonLinearityInPlace: SOFTMAX_STABLE in compute set 'cs'",
    ),
    "gradient of softmax": (
        lambda b: popnn.nonLinearityInputGradient(b.graph, SOFTMAX, b.x, b.x, any_of(b.cs)),
        pl.ControlProgramError,
        "popnn.nonLinearityInputGradient: SOFTMAX_STABLE in compute set 'cs'",
    ),
    "other view of itself": (
        lambda b: popops.cast(b.graph, b.x.reshape((4, 2)), b.x.reverse(0).reshape((4, 2)), b.cs),
        pl.ControlProgramError,
        "popops.cast: 'x' shares elements with 'x', which compute set 'cs' would",
    ),
    "another graph": (
        lambda b: popops.cast(b.graph, b.x, pl.INT, Bench().cs),
        pl.GraphConnectionError,
        "popops.cast: compute set 'cs' belongs to another graph",
    ),
    "one for a list": (
        lambda b: popops.reduce(b.graph, b.x, [0], Operation.ADD, b.cs),
        pl.ControlProgramError,
        "popops.reduce: compute set 'cs' in place of a list of them",
    ),
    "a list of others": (
        lambda b: popops.reduce(b.graph, b.x, [0], Operation.ADD, [b.cs, 3]),
        pl.ElementTypeError,
        "popops.reduce: 3 where a compute set is asked for",
    ),
    "no such tile": (
        lambda b: popops.fill(b.graph, b.x, 4, b.cs, 1),
        pl.InvalidTileMapping,
        "popops.fill",
    ),
    "an enormous tile": (
        lambda b: popops.zero(b.graph, b.x, 2**40, b.cs),
        pl.InvalidTileMapping,
        "popops.zero",
    ),
    "no such element": (
        lambda b: popops.fill(b.graph, b.x, [(0, 9)], 1, b.cs, 1),
        pl.InvalidTileMapping,
        "popops.fill",
    ),
    "twice": (
        lambda b: popops.zero(b.graph, b.x, [[(0, 3)], [(2, 4)]], b.cs),
        pl.InvalidTileMapping,
        "popops.zero: element 2 is given to tile 0 and to tile 1",
    ),
    "no tile": (
        lambda b: popops.fill(b.graph, b.x, any_of(b.cs), 1),
        pl.ControlProgramError,
        "compute set 'cs' in place of a sequence",
    ),
    "other functions": (
        lambda b: popops.add(b.graph, b.x, b.x, b.cs),
        pl.ControlProgramError,
        "compute set 'cs' in place of a sequence",
    ),
}


def any_of(value: object) -> Any:
    """A value in a place that is not typed for it."""
    return value


@pytest.mark.parametrize("case", REFUSED)
def test_what_compute_sets_cannot_take_is_refused_and_leaves_them_empty(case: str) -> None:
    call, error, message = REFUSED[case]
    bench = Bench()
    with pytest.raises(error) as caught:
        call(bench)
    assert message in str(caught.value)
    assert __name__.rpartition(".")[2] in str(caught.value)
    assert not bench.cs.vertices


def test_steps_that_are_no_vertices_have_no_place_in_compute_sets() -> None:
    bench = Bench()
    with pytest.raises(
        pl.ControlProgramError, match="needs another compute set, 'final'"
    ) as caught:
        ops.map(ops.sum(bench.x), name="s", program=ComputeSetList([bench.cs], most=1))
    assert "1 compute set: 'cs'" in caught.value.found
    x = bench.x.reshape((1, 1, 8))
    with pytest.raises(pl.ControlProgramError, match="compute sets needs <Copy") as caught:
        ops.convolution(x, x[:, :, :3], program=ComputeSetList([bench.cs]))
    assert caught.value.fix == "the form with a program, which takes all steps"
