"""Every vertex of the repository gives the same bits compiled and interpreted.

Each vertex class in `vertices/`, `examples/`, `benchmarks/` and the code blocks of the README and
`docs/` has a recipe in `tests/helpers/recipes`, by file and class, that draws values for its fields
and says what NumPy expects; a class without a recipe fails the first test, and so does a recipe
without a class.

Every faster form does what the `compute` of its class does, on drawn fields: a class with a faster
form that is not in `CHECKED` fails a test, and so does a key without one.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
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
from poplite.testing import check_faster
from poplite.vertex.faster import faster_method
from poplite.vertices.amp import AmpMatMul

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


# -- every faster form of the repository does what the `compute` of its class does, on drawn fie


PRODUCT: Mapping[str, Any] = {"shapes": lambda n: {"a": (3, n), "b": (n, 65), "c": (3, 65)}}
"""Matrices that fit each other."""

BLOCKS: Mapping[str, Any] = {
    "shapes": lambda n: {"weights": 14 * 7, "x": 7 * max(1, n), "out": 14 * max(1, n)},
    "values": {"columns": [1, 7, 15, 16, 31, 32, 33, 63, 64, 65]},
}
"""Blocks row by row, of which some have as many columns as `columns` says."""

WINDOWS: Mapping[str, Any] = {
    "shapes": lambda n: {"weights": 5 * 17, "x": 40, "out": 14 * max(1, n), "taps": 3, "rows": 5},
    "values": {
        "taps": [0, 1, 2, 5],
        "rows": [0, 3, 4, 9],
        "columns": [1, 2, 7],
        "step": [1, 2],
        "outputs": [1, 3, 4, 7, 15, 16, 17],
        "inputs": [0, 1, 2, 3],
    },
}
"""Places of x, most of which are there."""

COLUMNS: Mapping[str, Any] = {
    "shapes": lambda n: ({"x": 65 * 8 + 7, "out": 65}, {"x": 27 * 7, "out": 27})[n % 2],
    "values": {"stride": [27, 65], "first": [0, 0, 5, 26, 64], "share": [5, 11]},
}
"""Columns of a matrix, or of a run of its elements."""

PARTIALS: Mapping[str, Any] = {"shapes": lambda n: {"partials": (3, n), "out": n}}
"""Partial results of some outputs."""

NON_ZEROS: Mapping[str, Any] = {
    "shapes": lambda n: dict(values=9, x=(4, 113), starts=4, places=9, shares=7, out=3 * 113),  # noqa: C408
    "values": {
        "starts": [0, 1, 3, 7, 9],
        "places": [0, 1, 2, 3],
        "shares": [0, 1, 2, 3],
        "columns": [1, 7, 15, 16, 33, 48, 63, 64, 65, 113],
    },
}
"""Rows of a sparse matrix, some empty, and what workers have of them."""

CHECKED: Mapping[Key, Mapping[str, Any]] = {
    ("benchmarks/engine_faster.py", "AddProduct"): PRODUCT,
    ("docs/vertices.md", "AddProduct"): PRODUCT,
    ("vertices/amp.py", "AmpMatMul"): BLOCKS,
    ("vertices/convolution.py", "AmpConvolution"): WINDOWS,
    ("vertices/reduce.py", "AddPartials"): PARTIALS,
    **{
        ("vertices/reduce.py", f"{how}ColumnsOfTile"): COLUMNS
        for how in ("All", "Any", "Max", "Min", "Product", "Sum")
    },
    ("vertices/sparse.py", "SparseRows"): NON_ZEROS,
}
"""The arguments of `check_faster` for each class, by file and name, beside those by default."""


def test_every_faster_form_is_checked(classes: dict[Key, type[pl.Vertex]]) -> None:
    with_form = [key for key, cls in classes.items() if faster_method(cls) is not None]
    assert sorted(with_form) == sorted(CHECKED)


OFTEN_RUN = {
    key for key in CHECKED if key[0][9:-3] in ("convolution", "reduce", "slices", "sparse")
}
"""Classes that many other tests compare with NumPy, and whose form takes long to draw for."""


def name_of(key: object) -> str | None:
    """Name a case by file and class."""
    return ":".join(key) if isinstance(key, tuple) else None


@pytest.mark.parametrize(
    "key",
    [pytest.param(k, marks=deep) if k in OFTEN_RUN else k for k in sorted(CHECKED)],
    ids=name_of,
)
def test_a_faster_form_does_what_compute_does(
    classes: dict[Key, type[pl.Vertex]], key: Key
) -> None:
    check_faster(classes[key], **CHECKED[key])


@deep
def test_so_does_one_for_registers_that_this_processor_has_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Others(AmpMatMul[pl.FLOAT]):
        """The same, of which no form is known."""

    module = import_module("poplite.vertex.compute.compiled")
    is_long = not module.has_long_registers()
    monkeypatch.setattr(module, "has_long_registers", lambda: is_long)
    form = module.faster_form(Others)
    assert (32 if is_long else 16) == form.vertex.LANES
    assert Others.LANES == 16
    check_faster(Others, **BLOCKS)


@deep
@pytest.mark.parametrize("key", sorted(CHECKED), ids=name_of)
def test_a_faster_form_does_so_for_any_shapes(
    classes: dict[Key, type[pl.Vertex]], key: Key
) -> None:
    check_faster(classes[key])
