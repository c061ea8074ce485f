"""Every class of `poplite.vertices` writes what its NumPy reference says, for all its types."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import poplite as pl
from helpers.depth import INTERPRETED_ENGINES, interpreted, interpreted_everywhere, thinned
from helpers.recipes import RECIPES
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
