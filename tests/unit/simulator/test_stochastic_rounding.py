"""Stochastic rounding, and what too large a value becomes: stores in both forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import poplite as pl
from helpers.depth import thinned, values_only
from helpers.running import simulated
from poplite.simulator.run.launches import pays_ns
from poplite.vertex.compute.arithmetic import random_bits, vertex_key

FORMS = pytest.mark.parametrize("interpret", [False, True])
OFF = pl.FloatingPointBehaviour(inv=False, div0=False, oflo=False, esr=False, nanoo=False)
CHANCE = pl.FloatingPointBehaviour(inv=False, div0=False, oflo=False, esr=True, nanoo=False)
CHANCE_NAN = pl.FloatingPointBehaviour(inv=False, div0=False, oflo=False, esr=True, nanoo=True)
NAN = pl.FloatingPointBehaviour(inv=False, div0=False, oflo=False, esr=False, nanoo=True)
Floats = npt.NDArray[np.float32]

STEP = 2.0**-10
"""From 1 to the next HALF number."""


class ToHalf(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.HALF]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.y[i] = self.x[i]


class ToQuarter(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.QUARTER]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.y[i] = self.x[i]


class Places(pl.MultiVertex):
    """Stores to scalars, vectors and lists, from all workers."""

    x: pl.State[pl.FLOAT]
    scalar: pl.Output[pl.HALF]
    vector: pl.Output[pl.Vector[pl.HALF]]
    rows: pl.Output[pl.Vector[pl.Vector[pl.HALF]]]

    def compute(self, worker: int) -> None:
        if worker == 0:
            self.scalar = self.x
        for i in range(worker, len(self.vector), self.num_workers):
            self.vector[i] = self.x
        for row in range(worker, len(self.rows), self.num_workers):
            for i in range(len(self.rows[row])):
                self.rows[row][i] = self.x


class Increment(pl.Vertex):
    y: pl.InOut[pl.Vector[pl.HALF]]
    step: pl.State[pl.FLOAT]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] += self.step


def converted(
    values: Any,
    *steps: pl.Program,
    interpret: bool,
    vertices: int = 1,
    metadata: pl.QuarterMetadata | None = None,
    **options: Any,
) -> tuple[pl.Engine, pl.Tensor]:
    """An engine that converts values after some steps, and what it writes to."""
    values = np.asarray(values, np.float32)
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.FLOAT, values.shape, "x", mapping="linear", initial_value=values)
    if metadata is None:
        y = graph.add_variable(pl.HALF, values.shape, "y", mapping="linear")
    else:
        y = graph.add_variable(pl.QUARTER, values.shape, "y", mapping="linear", metadata=metadata)
    work = graph.add_compute_set("convert")
    size = len(values) // vertices
    for number in range(vertices):
        part = slice(number * size, (number + 1) * size)
        cls = ToHalf if metadata is None else ToQuarter
        graph.add_vertex(work, cls, tile=number % 4, x=x[part], y=y[part])
    program = pl.Sequence(*steps, pl.Execute(work))
    return pl.Engine(graph, program, interpret=interpret, **options), y


def codes(engine: pl.Engine, tensor: pl.Tensor) -> npt.NDArray[Any]:
    """Read the bits of a HALF or QUARTER tensor."""
    if tensor.element_type is pl.HALF:
        return engine.read(tensor).view(np.uint16)
    return engine.read(tensor.reinterpret(pl.UNSIGNED_CHAR))


def any_bits(number: int) -> Floats:
    """float32 numbers of all magnitudes, NaN and infinities among them."""
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2**32, number, dtype=np.uint32).view(np.float32)
    small = rng.standard_normal(number) * 10.0 ** rng.integers(-9, 6, number)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 65504, 65519.996, 65520, 1e-45]
    return np.concatenate([bits, small.astype(np.float32), np.array(special, np.float32)])


@pytest.mark.parametrize("behaviour", [OFF, CHANCE, CHANCE_NAN, NAN], ids=str)
@pytest.mark.parametrize(
    "metadata",
    thinned(
        [None, *(pl.QuarterMetadata(f, s) for f in ("F143", "F152") for s in (-32, 0, 31))],
        keep=[None, *(pl.QuarterMetadata(f, 0) for f in ("F143", "F152"))],
    ),
    ids=str,
)
def test_both_forms_store_the_same_bits(
    behaviour: pl.FloatingPointBehaviour, metadata: pl.QuarterMetadata | None
) -> None:
    found = []
    for interpret in (False, True):
        engine, y = converted(
            any_bits(500),
            pl.SetFloatingPointBehaviour(behaviour),
            interpret=interpret,
            metadata=metadata,
            seed=3,
        )
        engine.run()
        found.append(codes(engine, y))
        engine.run()
        found.append(codes(engine, y))
    assert found[0].tolist() == found[2].tolist()
    assert found[1].tolist() == found[3].tolist()
    assert (found[0].tolist() == found[1].tolist()) is (not behaviour.esr)


@FORMS
def test_a_value_is_rounded_to_one_of_its_neighbours(interpret: bool) -> None:
    values = any_bits(2000)
    values = values[np.abs(values) < 65504]
    engine, y = converted(values, pl.SetStochasticRounding(True), interpret=interpret)
    engine.run()
    got = engine.read(y)
    with np.errstate(under="ignore"):
        nearest = values.astype(np.float16)
    exact = nearest.astype(np.float32) == values
    assert got[exact].tolist() == nearest[exact].tolist()
    below = np.where(nearest.astype(np.float32) <= values, nearest, np.nextafter(nearest, -np.inf))
    above = np.where(nearest.astype(np.float32) >= values, nearest, np.nextafter(nearest, np.inf))
    assert ((got == below) | (got == above)).all()
    inexact = ~exact
    assert (got[inexact] == below[inexact]).any()
    assert (got[inexact] == above[inexact]).any()


@pytest.mark.parametrize("fraction", [1 / 64, 1 / 4, 1 / 2, 7 / 8])
@pytest.mark.parametrize("step", [STEP, 2.0**-24])
@pytest.mark.parametrize("sign", [1, -1])
def test_how_often_a_value_is_rounded_up_is_its_fraction(
    fraction: float, step: float, sign: int
) -> None:
    low = 1.0 if step == STEP else 5 * step
    values = np.full(40_000, sign * (low + fraction * step), np.float32)
    engine, y = converted(values, pl.SetStochasticRounding(True), interpret=False, vertices=200)
    engine.run()
    away = np.abs(engine.read(y).astype(np.float64)) > low
    deviation = np.sqrt(fraction * (1 - fraction) / len(values))
    assert abs(away.mean() - fraction) < 4 * deviation
    # Neither neighbours in a vertex nor vertices side by side are alike.
    table = away.reshape(200, 200) - fraction
    variance = fraction * (1 - fraction)
    for products in (table[:, 1:] * table[:, :-1], table[1:] * table[:-1]):
        assert abs(products.mean()) < 4 * variance / np.sqrt(products.size)


def test_runs_and_seeds_differ_and_a_seed_repeats() -> None:
    values = np.full(1000, 1 + STEP / 2, np.float32)

    def runs(seed: int) -> list[Any]:
        engine, y = converted(values, pl.SetStochasticRounding(True), interpret=False, seed=seed)
        found = []
        for _ in range(3):
            engine.run()
            found.append(codes(engine, y).tolist())
        return found

    first, again, other = runs(1), runs(1), runs(2)
    assert first == again
    assert len({tuple(found) for found in first + other}) == 6


def test_bits_do_not_hang_on_how_a_launch_is_cut() -> None:
    values = np.full(3000, 1 + STEP / 2, np.float32)
    found = []
    for threads in (0, 2, 5):
        engine, y = converted(values, pl.SetStochasticRounding(True), interpret=False, vertices=300)
        if threads:
            table: Any = simulated(engine).runs.programs["0"]._steps.table
            pays_ns()  # which starts the threads
            for number in filter(table.is_shareable, range(len(table.launches))):
                table.share(number, threads)
        engine.run()
        found.append(codes(engine, y).tolist())
    assert found[0] == found[1] == found[2]


@FORMS
def test_replicas_round_alike(interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=2, ipus=2), replication_factor=2)
    x = graph.add_variable(pl.FLOAT, (100,), "x", mapping=0, initial_value=1 + STEP / 2)
    y = graph.add_variable(pl.HALF, (100,), "y", mapping=0)
    work = graph.add_compute_set("convert")
    graph.add_vertex(work, ToHalf, tile=0, x=x, y=y)
    program = pl.Sequence(pl.SetStochasticRounding(True), pl.Execute(work))
    engine = pl.Engine(graph, program, interpret=interpret, options=values_only())
    engine.run()
    first, second = (engine.read(y, replica=replica).tolist() for replica in range(2))
    assert first == second
    assert len(set(first)) == 2


@FORMS
def test_workers_and_all_kinds_of_fields(interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = np.float32(1 + STEP / 2)
    scalar = graph.add_variable(pl.HALF, (), "scalar", mapping=0)
    vector = graph.add_variable(pl.HALF, (400,), "vector", mapping=0)
    rows = graph.add_variable(pl.HALF, (40, 10), "rows", mapping=0)
    work = graph.add_compute_set("places")
    graph.add_vertex(work, Places, tile=0, x=x, scalar=scalar, vector=vector, rows=list(rows))
    program = pl.Sequence(pl.SetStochasticRounding(True), pl.Execute(work))
    engine = pl.Engine(graph, program, interpret=interpret, seed=9, options=values_only())
    engine.run()
    counts = [0] * 6

    def expected(worker: int) -> float:
        # An independent form of the rule: as many of 13 bits as the fraction has.
        bits = random_bits(vertex_key(9, 1, 0, worker), counts[worker])
        counts[worker] += 1
        return 1 + STEP if bits % 2**13 >= 2**12 else 1.0

    assert engine.read(scalar) == expected(0)
    assert engine.read(vector).tolist() == [
        value for _, value in sorted((i, expected(i % 6)) for i in _by_worker(400))
    ]
    lists = {row: [expected(row % 6) for _ in range(10)] for row in _by_worker(40)}
    assert engine.read(rows).tolist() == [lists[row] for row in range(40)]


def _by_worker(number: int) -> list[int]:
    return [i for worker in range(6) for i in range(worker, number, 6)]


@FORMS
def test_small_steps_add_up_only_by_chance(interpret: bool) -> None:
    sums = []
    for on in (True, False):
        graph = pl.Graph(pl.Target(tiles=1))
        y = graph.add_variable(pl.HALF, (100,), "y", mapping=0, initial_value=1.0)
        work = graph.add_compute_set("increment")
        graph.add_vertex(work, Increment, tile=0, y=y, step=STEP / 8)
        program = pl.Sequence(pl.SetStochasticRounding(on), pl.Repeat(160, pl.Execute(work)))
        engine = pl.Engine(graph, program, interpret=interpret, options=values_only())
        engine.run()
        sums.append(float(engine.read(y).astype(np.float64).mean()))
    # 160 times an eighth of a last place is 20 of them; 100 elements average the chance away.
    assert abs(sums[0] - (1 + 20 * STEP)) < 4 * STEP * np.sqrt(160 * 7 / 64 / 100)
    assert sums[1] == 1.0


@FORMS
@pytest.mark.parametrize(
    ("steps", "large"),
    [
        ((), np.inf),
        ((pl.SetStochasticRounding(True),), np.inf),
        ((pl.SetFloatingPointBehaviour(OFF),), 65504),
        ((pl.SetFloatingPointBehaviour(NAN),), np.nan),
        ((pl.SetFloatingPointBehaviour(NAN), pl.ModifyFloatingPointBehaviour(NAN, OFF)), 65504),
        ((pl.ModifyFloatingPointBehaviour(OFF, NAN),), np.nan),
        ((pl.ModifyFloatingPointBehaviour(OFF, OFF),), np.inf),
        ((pl.SetFloatingPointBehaviour(NAN), pl.SetStochasticRounding(True)), np.nan),
    ],
)
def test_what_too_large_a_half_becomes(
    steps: tuple[pl.Program, ...], large: float, interpret: bool
) -> None:
    engine, y = converted([1e6, -7e4, 65504, np.inf, -np.inf], *steps, interpret=interpret)
    engine.run()
    np.testing.assert_array_equal(engine.read(y), [large, -large, 65504, np.inf, -np.inf])


@FORMS
def test_what_too_large_a_quarter_becomes(interpret: bool) -> None:
    values = [250.0, -1000.0, np.inf, -np.inf, 240.0, np.nan]
    for behaviour, expected in (
        (OFF, [240, -240, 240, -240, 240, np.nan]),
        (NAN, [np.nan, np.nan, np.nan, np.nan, 240, np.nan]),
    ):
        step = pl.SetFloatingPointBehaviour(behaviour)
        metadata = pl.QuarterMetadata("F143")
        engine, y = converted(values, step, interpret=interpret, metadata=metadata)
        engine.run()
        np.testing.assert_array_equal(engine.read(y), expected)


@FORMS
def test_the_behaviour_holds_until_it_is_changed(interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (200,), "x", mapping=0, initial_value=1 + STEP / 4)
    y = graph.add_variable(pl.HALF, (200,), "y", mapping=0)
    turn = graph.add_variable(pl.INT, (), "turn", mapping=0)
    work = graph.add_compute_set("convert")
    graph.add_vertex(work, ToHalf, tile=0, x=x, y=y)
    on = graph.add_function(pl.Sequence(pl.SetStochasticRounding(True)), "on")
    engine = pl.Engine(
        graph,
        {
            "convert": pl.Execute(work),
            "function": pl.Call(on),
            "branch": pl.If(turn, pl.SetStochasticRounding(True), pl.SetStochasticRounding(False)),
            "loop": pl.Repeat(3, pl.SetStochasticRounding(False)),
        },
        interpret=interpret,
        options=values_only(),
    )

    def is_random() -> bool:
        engine.run("convert")
        return len(set(engine.read(y).tolist())) == 2

    assert not is_random()
    engine.run("function")
    assert is_random()
    assert is_random()
    engine.run("loop")
    assert not is_random()
    for number in (1, 0, 1):
        engine.write(turn, number)
        engine.run("branch")
        assert is_random() is bool(number)


def test_free_functions_append_to_a_sequence() -> None:
    graph, sequence = pl.Graph(), pl.Sequence()
    pl.set_floating_point_behaviour(graph, sequence, NAN)
    pl.get_and_modify_floating_point_behaviour(graph, sequence, NAN, CHANCE)
    pl.set_stochastic_rounding(graph, sequence, False)
    assert [str(step) for step in sequence.children] == [
        "SetFloatingPointBehaviour nanoo",
        "ModifyFloatingPointBehaviour off nanoo, on esr",
        "SetStochasticRounding off",
    ]
    assert sequence.num_steps == 3


@pytest.mark.parametrize("seed", [-1, 2**63, 0.5, True, "1"])
def test_a_seed_is_a_whole_number_of_63_bits(seed: Any) -> None:
    text = r"seed must be a whole number from 0 to 2\*\*63 - 1; found"
    with pytest.raises(pl.ControlProgramError, match=text):
        pl.Engine(pl.Graph(), pl.Sequence(), seed=seed, options=values_only())


def test_bad_arguments() -> None:
    graph, sequence = pl.Graph(), pl.Sequence()
    bad: Any = 1
    with pytest.raises(pl.ControlProgramError, match="esr=1 is not True or False"):
        pl.FloatingPointBehaviour(esr=bad)
    with pytest.raises(
        pl.ControlProgramError, match="SetStochasticRounding: 1 is not True or False"
    ):
        pl.SetStochasticRounding(bad)
    with pytest.raises(pl.ControlProgramError, match="behaviour 1 is not a behaviour"):
        pl.SetFloatingPointBehaviour(bad)
    with pytest.raises(pl.ControlProgramError, match="set 1 is not a behaviour"):
        pl.ModifyFloatingPointBehaviour(OFF, bad)
    with pytest.raises(pl.ControlProgramError, match="set_stochastic_rounding: 1 is not a graph"):
        pl.set_stochastic_rounding(bad, sequence, True)
    with pytest.raises(pl.ControlProgramError, match="behaviour: 1 is not a sequence"):
        pl.set_floating_point_behaviour(graph, bad, OFF)
    with pytest.raises(pl.ControlProgramError, match="modify_floating_point_behaviour: 1 is no"):
        pl.get_and_modify_floating_point_behaviour(graph, bad, OFF, OFF)
