"""Every vertex of the repository gives the same bits compiled and interpreted.

Each vertex class in `vertices/`, `examples/`, `benchmarks/` and the code blocks of the README and
`docs/` has a recipe in `tests/helpers/recipes`, by file and class, that draws values for its fields
and says what NumPy expects; a class without a recipe fails the first test, and so does a recipe
without a class.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import deep, examples, values_only
from helpers.recipes import RECIPES
from helpers.recipes.shared import METADATA, Values
from helpers.vertex_classes import Key, vertex_classes
from poplite import vertices

INTERPRETED = frozenset({("docs/vertices.md", "Running")})
"""Classes that print, and so cannot be compiled."""

ALIKE = {
    *(f"{how}ColumnsOfTile" for how in ("All", "Any", "Min", "Max", "Product")),
    *(f"{how}{what}" for how in ("Any", "Min", "Product") for what in ("Rows", "Columns")),
    *(f"{how}Listed" for how in ("Max", "Mul")),
    *(f"MultiUpdate{how}" for how in ("Max", "Mul")),
    *("CumulativeProduct", "TotalProduct", "Unary", "Binary"),
    *("Absolute", "Square", "Sqrt", "Log", "Tanh", "Sigmoid", "Relu"),
    *("Subtract", "Multiply", "Divide", "Maximum", "Minimum", "Iota", "Copy", "CastToInteger"),
    "IotaRows",
}
"""Classes that differ from another one by one operation."""


def is_shown(key: Key) -> bool:
    """Return whether users see a class: one of an example, of a page, or of the public library."""
    file, name = key
    is_public = not file.startswith("vertices/") or name in vertices.__all__
    return is_public and not file.startswith("benchmarks/")


KEYS = [
    pytest.param(key, id=":".join(key), marks=[deep] * (not is_shown(key) or key[1] in ALIKE))
    for key in sorted(RECIPES)
]
"""Classes that users are shown, and at full depth those of operations, benchmarks, and alike."""


def run(vertex: type[pl.Vertex], values: Values, *, interpret: bool) -> dict[str, Any]:
    """Run one vertex over these values; return what its writable fields hold."""
    graph = pl.Graph(pl.Target(tiles=2))
    work = graph.add_compute_set("work")
    tensors = {}
    fields = dict(values)
    for field in vertex.fields.values():
        if field.is_edge and not field.is_implicit:
            array = np.asarray(values[field.name])
            element = field.element if field.variable is None else array.dtype
            metadata = METADATA if field.element is pl.QUARTER else None
            tensors[field.name] = graph.add_variable(
                element, array.shape, field.name, mapping=1, initial_value=array, metadata=metadata
            )
            fields[field.name] = tensors[field.name]
    graph.add_vertex(work, vertex, tile=1, **fields)
    engine = pl.Engine(graph, pl.Execute(work), interpret=interpret, options=values_only())
    engine.run()
    return {
        field.name: engine.read(tensors[field.name])
        for field in vertex.fields.values()
        if field.writes
    }


def test_every_vertex_has_a_recipe(classes: dict[Key, type[pl.Vertex]]) -> None:
    assert sorted(classes) == sorted(RECIPES)


@pytest.mark.filterwarnings("ignore::poplite.UnwrittenOutputWarning")  # one of docs/vertices.md
@pytest.mark.parametrize("key", KEYS)
@examples(10, quick=1)
@given(seed=st.integers(0, 2**32 - 1))
def test_both_forms_give_the_same_bits(
    classes: dict[Key, type[pl.Vertex]], key: Key, seed: int
) -> None:
    vertex = classes[key]
    values, expected = RECIPES[key](np.random.default_rng(seed))
    interpreted = run(vertex, values, interpret=True)
    if key in INTERPRETED:
        with pytest.raises(pl.VertexCompileError, match="interpreted form only"):
            run(vertex, values, interpret=False)
        compiled = interpreted
    else:
        compiled = run(vertex, values, interpret=False)
    assert set(expected) == {field.name for field in vertex.fields.values() if field.writes}
    for field, want in expected.items():
        assert compiled[field].tobytes() == interpreted[field].tobytes(), field
        assert compiled[field].tobytes() == want.tobytes(), field


def test_classes_of_one_name_are_both_found(tmp_path: Path) -> None:
    text = "import poplite as pl\n\n\nclass Same(pl.Vertex):\n    pass\n"
    for folder in ("examples", "benchmarks"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "one.py").write_text(text)
    paths = sorted(tmp_path.rglob("*.py"))
    found = [key for path in paths for key, _ in vertex_classes(path, tmp_path)]
    assert found == [("benchmarks/one.py", "Same"), ("examples/one.py", "Same")]


def test_a_class_defined_twice_is_refused(tmp_path: Path) -> None:
    block = "```python\nimport poplite as pl\n\nclass Same(pl.Vertex):\n    pass\n```\n"
    (tmp_path / "page.md").write_text(f"# Page\n\n{block}\n{block}")
    with pytest.raises(AssertionError, match=r"page\.md defines 1 vertex classes twice"):
        list(vertex_classes(tmp_path / "page.md", tmp_path))
