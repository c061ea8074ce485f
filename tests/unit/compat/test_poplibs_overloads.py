"""Functions of PopLibs with several declarations: each form, in C++'s order and by names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import poplite as pl
from poplite.compat import poplin, popnn, popops, poputil
from poplite.poplar.binder import Declaration
from poplite.poplar.declarations import rows_of
from poplite.poplar.libraries import LIBRARIES

ADD = popops.Operation.ADD


class World:
    """A graph, a program and two matrices with values."""

    def __init__(self) -> None:
        self.graph, self.prog = pl.Graph(pl.Target(tiles=3)), pl.Sequence()
        rng = np.random.default_rng(3)
        self.x, self.y = rng.integers(-4, 5, (2, 4, 4)).astype(np.float32)
        self.a, self.b = (
            self.graph.add_variable(pl.FLOAT, (4, 4), name, mapping="linear", initial_value=values)
            for name, values in (("a", self.x), ("b", self.y))
        )

    def set(self) -> pl.ComputeSet:
        """Return a new compute set."""
        return self.graph.add_compute_set("cs")

    def read(self, made: pl.Tensor) -> Any:
        """Run, and return the values of a tensor."""
        engine = pl.Engine(self.graph, self.prog)
        engine.run()
        return engine.read(made)


@pytest.mark.parametrize(
    ("positional", "named"),
    [
        (lambda w: ([1], ADD, w.prog, "n", {}), {}),
        (lambda w: (pl.FLOAT, [1], ADD, w.prog), {}),
        (lambda w: ("float32", (1,), "ADD", w.prog, "n"), {}),
        (lambda w: ([1], ADD), {"output_type": pl.FLOAT, "debug_context": "n"}),
    ],
)
def test_reductions_take_the_type_first_or_by_its_name(positional: Any, named: Any) -> None:
    world = World()
    given = positional(world)
    program = {} if world.prog in given else {"prog": world.prog}
    made = popops.reduce(world.graph, world.a, *given, **program, **named)
    assert world.read(made).tolist() == world.x.sum(1).tolist()


@pytest.mark.parametrize("factor", [2.0, "tensor"])
def test_scaled_additions_take_the_factor_of_what_is_changed_first(factor: Any) -> None:
    for by_name in (False, True):
        world = World()
        scale = factor
        if factor == "tensor":
            scale = world.graph.add_constant(pl.FLOAT, (), 2, mapping=0)
        if by_name:
            popops.scaledSubtractFrom(
                world.graph, world.a, world.b, 3.0, prog=world.prog, scale=scale
            )
        else:
            popops.scaledSubtractFrom(world.graph, world.a, scale, world.b, 3.0, world.prog)
        assert world.read(world.a).tolist() == (2 * world.x - 3 * world.y).tolist()


def test_products_take_the_type_before_the_name_or_by_its_name() -> None:
    for given, named in (((pl.FLOAT, "n"), {}), (("n",), {"output_type": pl.FLOAT}), ((), {})):
        world = World()
        made = poplin.matMul(world.graph, world.a, world.b, world.prog, *given, **named)
        assert world.read(made).tolist() == (world.x @ world.y).tolist()
    graph = World().graph
    for shapes in ((pl.HALF, (4, 3), (3, 2), "n"), (pl.HALF, pl.FLOAT, (4, 3), (3, 2))):
        assert poplin.createMatMulOutput(graph, *shapes).shape == (4, 2)


def test_scaled_additions_take_expressions() -> None:
    world = World()
    popops.scaledAddTo(world.graph, world.a, world.b + 1, 2.0, world.prog)
    assert world.read(world.a).tolist() == (world.x + 2 * (world.y + 1)).tolist()


def test_what_begins_a_declaration_takes_the_rest_by_name() -> None:
    world = World()
    made = popops.reduce(world.graph, world.a, pl.FLOAT, [0], ADD, prog=world.prog)
    assert world.read(made).tolist() == world.x.sum(0).tolist()


def test_an_error_shows_what_was_written() -> None:
    world = World()
    for name, *given in (("fill", 1), ("scaledSubtractFrom", 3)):
        with pytest.raises(pl.ElementTypeError) as caught:
            vars(popops)[name](world.graph, world.a, *given)
        assert caught.value.found.startswith("given <Graph ")
        assert caught.value.found.endswith(f">, {given[0]}")


MISFITS: dict[str, tuple[Any, str, str]] = {
    "reduce": (
        lambda w: popops.reduce(w.graph, w.a, [1], ADD),
        "popops.reduce: missing a required argument: 'prog'",
        "Tensor reduce(Graph &graph, const Tensor &in, const std::vector<std::size_t> &dims,",
    ),
    "matMul": (
        lambda w: poplin.matMul(w.graph, w.a, w.b, w.prog, nonsense=1),
        "poplin.matMul: got an unexpected keyword argument 'nonsense'",
        "by name as matMul(graph, A, B, prog, debug_context='', options=None, cache=None",
    ),
    "too many": (
        lambda w: vars(popops)["zero"](w.graph, w.a, w.prog, "n", 3, 4, 5),
        "popops.zero: 3 arguments too many",
        "void zero(Graph &graph, const Tensor &t, program::Sequence &prog,",
    ),
    "one declaration": (
        lambda w: vars(popops)["sort"](w.graph, w.a, 0),
        "popops.sort: missing a required argument: 'prog'",
        "",
    ),
    "no tensor": (
        lambda w: popops.scaledAddTo(w.graph, w.a, 2, 3, w.prog),
        "popops.scaledAddTo: b is 2",
        "a tensor",
    ),
    "no truth value": (
        lambda w: poputil.mapTensorLinearlyWithOffset(w.graph, w.a, 1, "yes"),
        "poputil.mapTensorLinearlyWithOffset: ascendingOrder is 'yes', not true or false",
        "True or False",
    ),
    "no element type": (
        lambda w: popops.reduce(w.graph, w.a, 3, [0], ADD, w.prog),
        "3 is not an element type",
        "one of FLOAT",
    ),
    "a factor missing": (
        lambda w: vars(popops)["scaledAddTo"](w.graph, w.a, 2.0, w.b, 3.0),
        "popops.scaledAddTo: missing a required argument: 'prog'",
        "void scaledAddTo(Graph &graph, Tensor A, float scaleA, Tensor B, float scaleB",
    ),
    "an offset twice": (
        lambda w: poputil.mapTensorLinearlyWithOffset(w.graph, w.a, 2, 1, offset=1),
        "multiple values for argument 'offset'",
        "unsigned offset = 0, bool ascendingOrder",
    ),
    "misspelt": (
        lambda w: vars(popops)["fill"](w.graph, w.a, w.prog, 3, debug_contxt="n"),
        "popops.fill: got an unexpected keyword argument 'debug_contxt'",
        "by name as fill(graph, t, prog, value, debug_context='', *, cs=None",
    ),
    "misspelt for zero": (
        lambda w: vars(popops)["zero"](w.graph, w.a, prog=w.prog, nme="n"),
        "popops.zero: got an unexpected keyword argument 'nme'",
        "by name as zero(graph, t, prog,",
    ),
    "a tile of a program": (
        lambda w: vars(popops)["fill"](w.graph, w.a, w.prog, 3, tile=1),
        "popops.fill: tile without a compute set",
        "popops.fill(graph, t, tile, cs, ...)",
    ),
    "a program beside a compute set": (
        lambda w: vars(popops)["zero"](w.graph, w.a, w.prog, cs=w.set(), tile=1),
        "popops.zero: prog beside a compute set",
        "popops.zero(graph, t, prog, ...)",
    ),
    "a tile and a mapping": (
        lambda w: vars(popops)["fill"](
            w.graph, w.a, None, 3, cs=w.set(), tile=1, mapping=[[(0, 4)]]
        ),
        "popops.fill: tile and mapping",
        "mapping alone, or tile and regions",
    ),
    "twice": (
        lambda w: popops.reduce(w.graph, w.a, pl.INT, [1], ADD, w.prog, output_type=pl.FLOAT),
        "popops.reduce: output_type in order, INT, and by name",
        "give it once",
    ),
}


@pytest.mark.parametrize("case", MISFITS)
def test_what_fits_no_declaration_is_refused_with_it(case: str) -> None:
    call, message, fix = MISFITS[case]
    world = World()
    with pytest.raises(pl.PopliteError) as caught:
        call(world)
    assert message in str(caught.value)
    assert fix in caught.value.fix
    assert caught.value.at is not None
    assert caught.value.at.file == __file__
    assert world.prog.is_empty


def test_every_declaration_of_a_library_names_its_function_here() -> None:
    modules = {"popops": popops, "poplin": poplin, "popnn": popnn, "poputil": poputil}
    assert set(modules) == set(LIBRARIES)
    for owner, module in modules.items():
        for row in rows_of(owner):
            assert Declaration(row).method == row.member
            assert row.member in dir(module)
