"""Every class of `poplite.vertices` writes what its NumPy reference says, and takes its price."""

from __future__ import annotations

from functools import partial
from math import ceil

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import INTERPRETED_ENGINES, interpreted, interpreted_everywhere, thinned
from helpers.recipes import RECIPES
from helpers.running import both_forms
from helpers.vertex_library import (
    EXAMPLES,
    Elements,
    inputs_of,
    made_of,
    reference_of,
    types_of,
)
from poplite import vertices
from poplite.testing import assert_vertex
from poplite.vertices import CountFrom, CountOn
from poplite.vertices.filling import count_reference
from poplite.vertices.reduce import AddPartials, partials_cycles

CASES = [(name, elements) for name in EXAMPLES for elements in types_of(name)]

DRAWN = [key for key in RECIPES if key[0].startswith("vertices/") and key[1] in EXAMPLES]


def test_what_only_operations_use_is_not_shown() -> None:
    assert not {"ListRows", "TotalSum", "SumColumnsOfTile", "PoolMax"} & set(dir(vertices))
    assert dir(vertices) == vertices.__all__
    assert all(issubclass(getattr(vertices, name), pl.Vertex) for name in vertices.__all__)


LAST = [(name, types_of(name)[-1]) for name in EXAMPLES]
"""A case of each class; of the others only the values are asked, as `test_both_forms` compiles."""


@pytest.mark.parametrize(
    ("name", "elements"),
    thinned(CASES, LAST),
    ids=lambda case: case if isinstance(case, str) else "-".join(map(repr, case)),
)
def test_a_vertex_writes_what_its_reference_says(
    name: str, elements: Elements, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = interpreted_everywhere() if (name, elements) in LAST else INTERPRETED_ENGINES
    for variable, value in chosen.items():
        monkeypatch.setenv(variable, value)
    cls = made_of(name, elements)
    assert_vertex(cls, inputs_of(name, cls), reference_of(name, cls), layouts=2)


@pytest.mark.parametrize("key", DRAWN, ids=":".join)
@pytest.mark.parametrize("seed", range(3))
def test_a_reference_is_what_numpy_expects_of_drawn_values(key: tuple[str, str], seed: int) -> None:
    values, expected = RECIPES[key](np.random.default_rng(seed))
    cls = getattr(vertices, key[1])
    if cls.type_variables:
        types = {
            field.variable: np.asarray(values[field.name]).dtype
            for field in cls.fields.values()
            if field.variable is not None
        }
        cls = cls[tuple(types[variable] for variable in cls.type_variables)]
    reference = cls.reference
    if EXAMPLES[key[1]].size is not None:
        reference = partial(reference, size=len(values["out"]))
    needed = {
        field.name: values[field.name]
        for field in cls.fields.values()
        if field.role != "output" and not field.is_implicit and field.name in values
    }
    made = reference(**needed)
    made = made if isinstance(made, dict) else {next(iter(expected)): made}
    for field, want in expected.items():
        assert np.asarray(made[field], want.dtype).tobytes() == want.tobytes()


def test_a_reference_of_a_template_asks_for_its_types() -> None:
    with pytest.raises(pl.ElementTypeError) as caught:
        vertices.SumRows.reference(np.ones(2, np.float32), size=1)
    assert caught.value.what == "the element type of 'out' of SumRows is not known"
    assert caught.value.fix == "name the type: SumRows[FLOAT, FLOAT].reference(...)"


def test_a_class_goes_in_by_both_calls_of_a_graph() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.HALF, (4, 3), "x", mapping="linear", initial_value=np.ones((4, 3)))
    y = graph.add_variable(pl.HALF, (4, 3), "y", mapping="linear")
    total = graph.add_variable(pl.FLOAT, (), "total", mapping=0)
    scale, dot = graph.add_compute_set("scale"), graph.add_compute_set("dot")
    graph.add_vertices(scale, vertices.Scale, tile=np.arange(4), factor=3.0, x=x, out=y)
    graph.add_vertex(dot, vertices.Dot, tile=0, a=x.flatten(), b=y.flatten(), out=total)
    engine = pl.Engine(graph, pl.Sequence(pl.Execute(scale), pl.Execute(dot)), **interpreted())
    engine.run()
    assert engine.read(total) == 36


# -- the vertices that count: drawn bounds, in both forms, against Python's range ------------------


LARGEST = 2**32 - 1
NUMBERS = st.one_of(st.integers(0, 9), st.integers(LARGEST - 9, LARGEST), st.integers(0, LARGEST))


def engine_of(interpret: bool, step: int) -> tuple[pl.Engine, dict[str, pl.Tensor]]:
    graph = pl.Graph(pl.Target(tiles=1))
    names = {"begin", "end", "index"}
    fields = {
        name: graph.add_variable(pl.UNSIGNED_INT, (), name, mapping=0) for name in sorted(names)
    }
    fields["goes_on"] = graph.add_variable(pl.BOOL, (), "goes_on", mapping=0)
    first, on = graph.add_compute_set("first"), graph.add_compute_set("on")
    graph.add_vertex(first, CountFrom, tile=0, **fields)
    rest = {name: field for name, field in fields.items() if name != "begin"}
    graph.add_vertex(on, CountOn, tile=0, step=step, **rest)
    programs = {"first": pl.Execute(first), "on": pl.Execute(on)}
    return pl.Engine(graph, programs, interpret=interpret), fields


@both_forms
@given(begin=NUMBERS, end=NUMBERS, step=st.one_of(st.integers(1, 9), st.integers(1, LARGEST)))
def test_the_first_indices(interpret: bool, begin: int, end: int, step: int) -> None:
    engine, fields = engine_of(interpret, step)
    engine.write(fields["begin"], np.uint32(begin))
    engine.write(fields["end"], np.uint32(end))
    engine.run("first")
    assert engine.read(fields["index"]) == begin
    for index in range(begin, min(end, begin + 5 * step), step):
        assert engine.read(fields["index"]) == index
        assert engine.read(fields["goes_on"])
        engine.run("on")
        assert engine.read(fields["goes_on"]) == (index + step < end)
        assert engine.read(fields["index"]) == min(index + step, end)
    if begin >= end:
        assert not engine.read(fields["goes_on"])


def test_the_reference_counts_as_range_does() -> None:
    assert count_reference(LARGEST - 4, LARGEST, 3) == [
        LARGEST - 4,
        LARGEST - 1,
    ]
    assert count_reference(5, 5, 1) == count_reference(6, 5, 1) == []


# -- poplite.vertices.reduce: what adding up takes, against the estimator of poplibs ---------------


TYPES = st.sampled_from([pl.FLOAT, pl.HALF])


@given(loops=st.integers(0, 100), others=st.integers(0, 50), partials=TYPES, result=TYPES)
def test_it_is_the_estimate_of_poplibs_for_whole_loops(
    loops: int,
    others: int,
    partials: type[pl.ElementType[float]],
    result: type[pl.ElementType[float]],
) -> None:
    at_once = 4 if partials is pl.FLOAT else 8
    beside = {(True, True): 8, (True, False): 7, (False, True): 10, (False, False): 9}
    each = beside[partials is pl.FLOAT, result is pl.FLOAT] + 2 * others
    found = partials_cycles(loops * at_once, others, partials, result, pl.Target())
    assert found == 33 + 6 * (20 + ceil(loops / 6) * each)


def test_a_part_of_a_loop_takes_as_long_as_a_whole_one() -> None:
    outputs = np.arange(1, 60)
    found = partials_cycles(outputs, 3, pl.FLOAT, pl.FLOAT, pl.Target())
    assert found.tolist() == [33 + 6 * (20 + 14 * ceil(n / 24)) for n in outputs.tolist()]


@pytest.mark.parametrize(("outputs", "others"), [(16, 3), (16, 0), (0, 0)])
def test_a_vertex_costs_what_its_lengths_say(outputs: int, others: int) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    partials = graph.add_variable(pl.HALF, (others + 1, outputs), "partials", mapping=0)
    out = graph.add_variable(pl.HALF, (outputs,), "out", mapping=0)
    work = graph.add_compute_set("one")
    vertex = graph.add_vertex(work, AddPartials, tile=0, partials=partials, out=out)
    cycles = int(partials_cycles(outputs, others, pl.HALF, pl.HALF, graph.target))
    assert graph.perf_estimate(vertex) == pl.VertexPerfEstimate(cycles, outputs * others)
