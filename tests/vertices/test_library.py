"""Every class of `poplite.vertices` against its NumPy reference, its price, and in both forms."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib import import_module
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import (
    INTERPRETED_ENGINES,
    deep,
    examples,
    interpreted,
    interpreted_everywhere,
    thinned,
    values_only,
)
from helpers.recipes import RECIPES
from helpers.recipes.shared import METADATA, Values
from helpers.running import both_forms
from helpers.vertex_library import (
    EXAMPLES,
    Elements,
    inputs_of,
    made_of,
    reference_of,
    types_of,
)
from helpers.vertices import Key, vertex_classes
from poplite import vertices
from poplite.testing import assert_vertex, check_faster
from poplite.vertex.vertex import faster_method
from poplite.vertices import CountFrom, CountOn
from poplite.vertices.amp import AmpMatMul
from poplite.vertices.filling import count_reference
from poplite.vertices.reduce import AddPartials, partials_cycles

# -- references and prices -------------------------------------------------------------------------


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
    assert caught.value.fix == "specify the type: SumRows[FLOAT, FLOAT].reference(...)"


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


# -- both forms ------------------------------------------------------------------------------------
# Each vertex class in `vertices/`, `examples/`, `benchmarks/` and the code blocks of the README
# and `docs/` has a recipe in `tests/helpers/recipes`, by file and class, that draws values for
# its fields and says what NumPy expects; a class without a recipe fails the first test, and so
# does a recipe without a class.
#
# Every faster form does what the `compute` of its class does, on drawn fields: a class with a
# faster form that is not in `CHECKED` fails a test, and so does a key without one.


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
    ("benchmarks/engine.py", "AddProduct"): PRODUCT,
    ("docs/vertices.md", "AddProduct"): PRODUCT,
    ("vertices/amp.py", "AmpMatMul"): BLOCKS,
    ("vertices/convolution.py", "AmpConvolution"): WINDOWS,
    ("vertices/reduce.py", "AddPartials"): PARTIALS,
    **{
        ("vertices/reduce.py", f"{how}ColumnsOfTile"): COLUMNS
        for how in ("All", "Any", "Max", "Min", "Product", "Sum")
    },
    ("vertices/linear.py", "SparseRows"): NON_ZEROS,
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

    module = import_module("poplite.vertex.compute.meaning")
    is_long = not module.has_long_registers()
    monkeypatch.setattr(module, "has_long_registers", lambda: is_long)
    form = module.faster_form(Others)
    assert (64 if is_long else 16) == form.vertex.LANES
    assert Others.LANES == 16
    check_faster(Others, **BLOCKS)


@deep
@pytest.mark.parametrize("key", sorted(CHECKED), ids=name_of)
def test_a_faster_form_does_so_for_any_shapes(
    classes: dict[Key, type[pl.Vertex]], key: Key
) -> None:
    check_faster(classes[key])
