"""Every vertex of the repository gives the same bits compiled and interpreted.

Each vertex class in `vertices/` and `examples/` has a recipe below that draws values for its
fields and says what NumPy expects; a class without a recipe fails the first test.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import poplite as pl
import poplite.vertices
from poplite.vertices import add_reference

Floats = npt.NDArray[np.float32]
Values = dict[str, Any]
"""What each field holds before the vertex runs."""
Expected = dict[str, Any]
"""What the writable fields hold afterwards; None where bits are compared between forms only."""

EXAMPLES = ("pi", "first_tiles", "heat", "photo")


def floats(rng: np.random.Generator, *shape: int) -> Floats:
    """Draw numbers of very different sizes, with zeros of both signs."""
    values = rng.standard_normal(shape) * 10.0 ** rng.integers(-6, 7, shape)
    values[rng.random(shape) < 0.1] *= 0.0
    return values.astype(np.float32)


def add(rng: np.random.Generator) -> tuple[Values, Expected]:
    n = int(rng.integers(0, 40))
    a, b = floats(rng, n), floats(rng, n)
    return {"a": a, "b": b, "out": floats(rng, n)}, {"out": add_reference(a, b)}


def slice_(rng: np.random.Generator) -> tuple[Values, Expected]:
    first, count = (int(v) for v in rng.integers(0, 500, 2))
    state = {"first": first, "count": count, "step": float(1 / rng.integers(1, 2000))}
    return {**state, "partial": floats(rng, 1)}, {"partial": None}


def suffix_sum(rng: np.random.Generator) -> tuple[Values, Expected]:
    tail = floats(rng, int(rng.integers(0, 40)))
    total = np.float32(0)
    for value in tail:
        total += value
    return {"tail": tail, "total": floats(rng, 1)}, {"total": total.reshape(1)}


def diffuse(rng: np.random.Generator) -> tuple[Values, Expected]:
    rows, cols = (int(v) for v in rng.integers(1, 9, 2))
    u = floats(rng, rows + 2, cols + 2)
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    new = np.float32(0.6) * u[1:-1, 1:-1] + np.float32(0.1) * around
    return {"old": u, "new": floats(rng, rows, cols)}, {"new": new}


def blur(rng: np.random.Generator) -> tuple[Values, Expected]:
    rows, cols = (int(v) for v in rng.integers(1, 7, 2))
    x = floats(rng, rows + 2, (cols + 2) * 4)
    y = np.float32(0.0625) * x[:-2, :-8]
    for r in range(3):
        for c in range(3):
            if (r, c) != (0, 0):
                weight = np.float32((1, 2, 1)[r] * (1, 2, 1)[c] / 16)
                y = y + weight * x[r : r + rows, 4 * c : 4 * (c + cols)]
    return {"x": x, "y": floats(rng, rows, cols * 4)}, {"y": y}


RECIPES: dict[str, Callable[[np.random.Generator], tuple[Values, Expected]]] = {
    "Add": add,
    "Slice": slice_,
    "SuffixSum": suffix_sum,
    "Diffuse": diffuse,
    "Blur": blur,
}


def vertex_classes(modules: list[ModuleType]) -> Iterator[type[pl.Vertex]]:
    """Yield the vertex classes that these modules define."""
    for module in modules:
        for _, value in inspect.getmembers(module, inspect.isclass):
            if issubclass(value, pl.Vertex) and value.__module__ == module.__name__:
                yield value


@pytest.fixture(scope="session")
def classes(request: pytest.FixtureRequest, root: Path) -> dict[str, type[pl.Vertex]]:
    """All vertex classes of the repository by name."""
    scripts = sorted(path.stem for path in (root / "examples").glob("*.py"))
    assert scripts == sorted(EXAMPLES)
    modules = [request.getfixturevalue(name) for name in EXAMPLES]
    for path in (root / "vertices").glob("[!_]*.py"):
        modules.append(getattr(poplite.vertices, path.stem))
    return {cls.__name__: cls for cls in vertex_classes(modules)}


def run(vertex: type[pl.Vertex], values: Values, *, interpret: bool) -> dict[str, Any]:
    """Run one vertex over these values; return what its writable fields hold."""
    graph = pl.Graph(pl.Target(tiles=2))
    work = graph.add_compute_set("work")
    tensors = {}
    fields = dict(values)
    for field in vertex.fields.values():
        if field.is_edge:
            array = np.asarray(values[field.name])
            tensors[field.name] = graph.add_variable(
                field.element, array.shape, field.name, mapping=1, initial_value=array
            )
            fields[field.name] = tensors[field.name]
    graph.add_vertex(work, vertex, tile=1, **fields)
    engine = pl.Engine(graph, pl.Execute(work), interpret=interpret)
    engine.run()
    return {
        field.name: engine.read(tensors[field.name])
        for field in vertex.fields.values()
        if field.writes
    }


def test_every_vertex_has_a_recipe(classes: dict[str, type[pl.Vertex]]) -> None:
    assert set(classes) == set(RECIPES)


@pytest.mark.parametrize("name", sorted(RECIPES))
@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1))
def test_both_forms_give_the_same_bits(
    classes: dict[str, type[pl.Vertex]], name: str, seed: int
) -> None:
    values, expected = RECIPES[name](np.random.default_rng(seed))
    compiled = run(classes[name], values, interpret=False)
    interpreted = run(classes[name], values, interpret=True)
    for field, want in expected.items():
        assert compiled[field].tobytes() == interpreted[field].tobytes(), field
        if want is not None:
            assert compiled[field].tobytes() == want.tobytes(), field
