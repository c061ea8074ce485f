"""docs/vertex-library.md, made of the classes of `poplite.vertices` and of the examples here.

python tests/helpers/vertex_library.py        writes it anew
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import poplite as pl  # noqa: E402
from poplite import vertices  # noqa: E402
from poplite.types import ELEMENT_TYPES  # noqa: E402
from poplite.vertex.fields import allowed_elements  # noqa: E402
from poplite.vertex.vertex import has_cycles  # noqa: E402

PAGE = ROOT / "docs/vertex-library.md"

Elements = tuple[Any, ...]

STORED = tuple(each for each in ELEMENT_TYPES if each not in (pl.QUARTER, pl.QUARTER_METADATA))
NUMBERS = tuple(each for each in STORED if each is not pl.BOOL)
WHOLE = tuple(each for each in NUMBERS if not each.is_floating_point)
SCANNED = tuple((each, pl.FLOAT if each is pl.HALF else each) for each in NUMBERS)
"""Types of numbers, and in which they are added up."""

SIZES = (384, 768, 1152, 3840)
"""Where cycles are asked for: each of six workers has whole vectors of 64 bits."""

FAMILIES = {
    "filling": "Fill, copy, cast, count",
    "elementwise": "Elementwise",
    "reduce": "Reductions",
    "amp": "Matrix products",
    "scans": "Scans",
    "order": "Sorting",
    "slices": "Slices by number",
    "random": "Random numbers",
}
"""Modules of the library, in the order of the page."""


@dataclass(frozen=True)
class Example:
    """What one class is shown and tested with.

    Attributes:
        inputs: what Input, InOut and State fields hold.
        types: the element types it is for; those that its variables allow, where left out.
        size: elements of an Output that inputs do not decide.
        lengths: for n, lengths of vectors other than n, and values of State.
        of: what n is.
    """

    inputs: Mapping[str, Any]
    types: Sequence[Elements] = ()
    size: int | None = None
    lengths: Callable[[int], Mapping[str, int]] = field(default=lambda _: {})
    of: str = "elements"


def each(elements: Sequence[Any]) -> Sequence[Elements]:
    """Return the types of a template of one variable."""
    return [(element,) for element in elements]


PAIRS = {"a": [6, 8, 3, 5], "b": [2, 4, 3, 1]}
ROWS = {"x": [1, 2, 3, 4, 5, 6]}
TRUTHS = {"x": [True, True, True, False, True, False]}
TABLE = {"x": [10, 11, 20, 21, 30, 31], "first": 5, "width": 2}
UPDATE = {**TABLE, "index": [6, 9, 6], "s": [1, 2, 3, 4, 5, 6]}
COUNTER = {"counter": [1, 2, 3, 0], "first": 0}

rows = partial(Example, size=2, lengths=lambda n: {"out": 1}, of="elements of one part")
columns = partial(
    Example,
    size=3,
    lengths=lambda n: {"x": 8 * n, "stride": n},
    of="columns of 8 rows",
)
updates = partial(
    Example,
    types=each(NUMBERS),
    lengths=lambda n: {"x": 4 * 4096, "index": n, "s": 4 * n, "first": 0, "width": 4},
    of="indices of rows of 4 elements, all there",
)
REDUCED = (*((number, number) for number in NUMBERS), (pl.HALF, pl.FLOAT))
PRODUCT = {"weights": [1, 2, 3, 4, 5, 6], "x": [1, 0, 2, 1, 0, 3], "columns": 2}
products = partial(
    Example,
    PRODUCT,
    lengths=lambda n: {"weights": 16 * 16, "x": 16 * n, "out": 16 * n, "columns": n},
    of="columns, with weights of 16 x 16",
)

EXAMPLES: dict[str, Example] = {
    "Fill": Example({"value": 2}, each(NUMBERS), size=4),
    "Iota": Example({"start": 3}, size=4),
    "Copy": Example({"x": [1, 2, 3]}, each(STORED)),
    "Cast": Example({"x": [1, 2, 3]}),
    "CastToInteger": Example({"x": [1.5, 2.75, 3]}),
    "Negative": Example({"x": [1, -2, 3]}),
    "Absolute": Example({"x": [1, -2, 3]}),
    "Square": Example({"x": [1, 2, 3]}),
    "Sqrt": Example({"x": [4, 9, 2]}),
    "Exp": Example({"x": [0, 1, -1]}),
    "Log": Example({"x": [1, 2, 0.5]}),
    "Tanh": Example({"x": [0, 1, -1]}),
    "Sigmoid": Example({"x": [0, 1, -1]}),
    "Relu": Example({"x": [1, -2, 3]}),
    **{
        name: Example(PAIRS)
        for name in ("Add", "Subtract", "Multiply", "Divide", "Maximum", "Minimum")
    },
    "Scale": Example({"factor": 3, "x": [1, 2, 3]}),
    "ScaledAdd": Example({"factor": 0.5, "x": [1, 2, 3], "y": [10, 20, 30]}),
    "Clamp": Example({"x": [1, 5, 9], "low": 2, "high": 6}),
    "Select": Example(
        {"condition": [True, False, True], "a": [1, 2, 3], "b": [4, 5, 6]}, each(STORED)
    ),
    **{f"{how}Rows": rows(ROWS, REDUCED) for how in ("Sum", "Product", "Min", "Max")},
    **{
        f"{how}Columns": columns({**ROWS, "stride": 3}, REDUCED)
        for how in ("Sum", "Product", "Min", "Max")
    },
    **{f"{how}Rows": rows(TRUTHS) for how in ("All", "Any")},
    **{f"{how}Columns": columns({**TRUTHS, "stride": 3}) for how in ("All", "Any")},
    "AddPartials": Example({"partials": [[1, 2, 3], [10, 20, 30]]}, of="elements of 4 vectors"),
    "Dot": Example({"a": [1, 2, 3], "b": [4, 5, 6]}),
    "AmpMatMul": products(),
    "AmpMatMulInHalf": products(),
    "CumulativeSum": Example({"x": [1, 2, 3], "before": [10], "excludes": False}, SCANNED),
    "CumulativeProduct": Example({"x": [1, 2, 3], "before": [10], "excludes": True}, SCANNED),
    "Sort": Example({"x": [3, 1, 2, 1]}, each(NUMBERS)),
    "ArgSort": Example({"x": [3, 1, 2, 1], "out": [0, 0, 0, 0]}, each(NUMBERS)),
    "MultiSlice": Example(
        {**TABLE, "index": [7, 5, 9]},
        each(NUMBERS),
        lengths=lambda n: {"x": 4 * 4096, "index": n, "out": 4 * n, "first": 0, "width": 4},
        of="indices of rows of 4 elements",
    ),
    "MultiUpdate": updates(UPDATE),
    "MultiUpdateAdd": updates({**UPDATE, "scale": 2}),
    "MultiUpdateMax": updates(UPDATE),
    "MultiUpdateMul": updates({**UPDATE, "x": [1, 2, 3, 4, 5, 6]}),
    "Uniform": Example(
        {**COUNTER, "low": -1, "scale": 2, "last": 0.999}, each((pl.FLOAT, pl.HALF)), 4
    ),
    "Integers": Example({**COUNTER, "low": 1, "range": 6}, each(WHOLE), 4),
    "Bernoulli": Example({**COUNTER, "threshold": 2**31}, each(STORED), 4),
    "Normal": Example({**COUNTER, "mean": 0, "deviation": 1}, each((pl.FLOAT, pl.HALF)), 4),
    "TruncatedNormal": Example(
        {**COUNTER, "mean": 0, "deviation": 1, "bound": 2, "share": 0.9545},
        each((pl.FLOAT, pl.HALF)),
        4,
    ),
    "Dropout": Example(
        {**COUNTER, "x": [1, 2, 3, 4], "threshold": 2**31, "scale": 2}, each((pl.FLOAT, pl.HALF))
    ),
    "AdvanceKey": Example({"key": [1, 2, 3, 0]}),
    "CountFrom": Example({"begin": 2, "end": 9}),
    "CountOn": Example({"step": 3, "end": 9, "index": 5}),
}
"""By class."""


def types_of(name: str) -> list[Elements]:
    """Return the element types that a class is for; one empty tuple for one without variables."""
    variables = getattr(vertices, name).type_variables
    return list(EXAMPLES[name].types or product(*map(allowed_elements, variables)))


def made_of(name: str, elements: Elements) -> type[pl.Vertex]:
    """Return the class of some element types."""
    cls: Any = getattr(vertices, name)
    return cls[elements] if elements else cls  # type: ignore[no-any-return]


def inputs_of(name: str, cls: type[pl.Vertex]) -> dict[str, Any]:
    """Return the inputs of an example, vectors and numbers of edges in the type of their field."""
    return {
        key: np.asarray(value, cls.fields[key].element.dtype)[()]
        if cls.fields[key].is_edge
        else value
        for key, value in EXAMPLES[name].inputs.items()
    }


def reference_of(name: str, cls: Any) -> Callable[..., Any]:
    """Return the reference of a class, with the size of the example."""
    size = EXAMPLES[name].size
    return cls.reference if size is None else partial(cls.reference, size=size)


def expected_of(name: str, cls: type[pl.Vertex]) -> dict[str, Any]:
    """Return what an example writes, by field."""
    found = reference_of(name, cls)(**inputs_of(name, cls))
    (first, *_) = [each.name for each in cls.fields.values() if each.writes]
    return dict(found) if isinstance(found, Mapping) else {first: found}


# -- the page --------------------------------------------------------------------------------------


@cache
def meanings(cls: type[pl.Vertex]) -> dict[str, str]:
    """Return what the texts below the fields of a class say, those of bases first."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if not base.__module__.startswith("poplite.vertices") or "[" in base.__name__:
            continue
        (node,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        assert isinstance(node, ast.ClassDef)
        for line, text in zip(node.body, node.body[1:], strict=False):
            if isinstance(line, ast.AnnAssign) and isinstance(text, ast.Expr):
                assert isinstance(line.target, ast.Name)
                assert isinstance(text.value, ast.Constant)
                found[line.target.id] = str(text.value.value)
    return found


def doc(value: Any) -> str:
    """Return the text of a docstring on one line, to its first empty line."""
    return " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())


def fields(cls: type[pl.Vertex]) -> Iterator[str]:
    """Yield the rows of the table of fields."""
    yield from ("| field | type | holds |", "| --- | --- | --- |")
    for each in cls.fields.values():
        if not each.is_implicit and each.name != "num_workers":
            kind = str(each).partition(": ")[2]
            yield f"| `{each.name}` | `{kind}` | {meanings(cls)[each.name]} |"


def allowed(name: str) -> str:
    """Return the element types of a template in words."""
    variables, listed = getattr(vertices, name).type_variables, types_of(name)
    columns = [list(dict.fromkeys(column)) for column in zip(*listed, strict=True)]
    if len(listed) < np.prod([len(column) for column in columns]):
        return f"`[{', '.join(v.__name__ for v in variables)}]` is {spelled(listed)}"
    pairs = zip(variables, columns, strict=True)
    return "; ".join(f"`{v.__name__}` is {spelled(each(column))}" for v, column in pairs)


GROUPS = {
    "any type but QUARTER": STORED,
    "any type of numbers": NUMBERS,
    "any type of integers": WHOLE,
    "any integers of 8 bits": [each for each in WHOLE if each.size_bytes == 1],
    "any integers of 64 bits": [each for each in WHOLE if each.size_bytes == 8],
}


def spelled(types: Sequence[Elements]) -> str:
    """Return element types in words, two for each vertex in brackets."""
    texts, left = [], list(dict.fromkeys(types))
    for text, group in GROUPS.items():
        for members, words in (
            ([(element,) for element in group], text),
            ([(element, element) for element in group], f"{text} twice"),
        ):
            if set(members) <= set(left):
                left = [elements for elements in left if elements not in members]
                texts.append(words)
    texts[:0] = [
        ", ".join(map(repr, elements)) if len(elements) == 1 else repr(list(elements))
        for elements in left
    ]
    return ", ".join(texts)


def cycles_at(name: str, cls: type[pl.Vertex], n: int) -> int:
    """Return what a vertex of size n declares to take."""
    example = EXAMPLES[name]
    graph, lengths = pl.Graph(pl.Target(tiles=1)), example.lengths(n)
    given: dict[str, Any] = {}
    for each in cls.fields.values():
        if not each.is_edge:
            given[each.name] = lengths.get(each.name, example.inputs.get(each.name))
        elif not each.is_implicit:
            size = lengths.get(each.name, n)
            shape = ((), (size,), (4, size))[each.depth]
            given[each.name] = graph.add_variable(each.element, shape, each.name, mapping=0)
    given.pop("num_workers", None)
    vertex = graph.add_vertex(graph.add_compute_set("all"), cls, tile=0, **given)
    estimate = graph.perf_estimate(vertex)
    assert estimate is not None  # as the class has a formula
    return int(estimate.cycles)


def formula(name: str, cls: type[pl.Vertex]) -> str:
    """Return the cycles of a vertex as a function of n, or what they are for two n."""
    found = [cycles_at(name, cls, n) for n in SIZES]
    slope = Fraction(found[1] - found[0], SIZES[1] - SIZES[0])
    start = Fraction(found[0]) - slope * SIZES[0]
    if any(start + slope * n != cycles for n, cycles in zip(SIZES, found, strict=True)):
        return f"{found[0]:,} for n = {SIZES[0]}, {found[-1]:,} for n = {SIZES[-1]:,}"
    times = f"{slope.numerator} n" if slope.numerator != 1 else "n"
    text = times if slope.denominator == 1 else f"{times} / {slope.denominator}"
    return f"`{start} + {text}`" if slope else f"`{start}`"


def cost(name: str) -> str:
    """Return what vertices of a class take, as the class declares it."""
    cls = getattr(vertices, name)
    if not has_cycles(cls):
        return "priced by its compiled code"
    by_types: dict[str, list[Elements]] = {}
    for elements in types_of(name):
        by_types.setdefault(formula(name, made_of(name, elements)), []).append(elements)
    listed = "; ".join(
        text if len(by_types) == 1 else f"{text} for {spelled(types)}"
        for text, types in by_types.items()
    )
    of = f"For n {EXAMPLES[name].of}" if any(" n" in text for text in by_types) else "Always"
    return f"{doc(cls.cycles).removeprefix('Return ')} {of}: {listed}"


def literal(value: Any) -> str:
    """Return the text that makes a value."""
    if not isinstance(value, (np.ndarray, np.generic)):
        return repr(value)
    if not np.ndim(value):
        return _number(value)
    kind = "bool_" if value.dtype == np.bool_ else value.dtype.name
    return f"np.{kind}({_listed(value)})"


def _listed(value: Any) -> str:
    inner = [_listed(each) if np.ndim(each) else _number(each) for each in value]
    return f"[{', '.join(inner)}]"


def _number(value: Any) -> str:
    if isinstance(value, np.floating):
        return np.format_float_positional(value, trim="-")
    return str(value.item())


def shown(name: str) -> list[str]:
    """Return the lines of the example of a class."""
    elements = types_of(name)[0]
    cls = made_of(name, elements)
    types = f"[{', '.join(f'pl.{element!r}' for element in elements)}]" if elements else ""
    parts = [values_in, values_out] = [
        [f'"{key}": {literal(value)}' for key, value in values.items()]
        for values in (inputs_of(name, cls), expected_of(name, cls))
    ]
    call = f"assert_vertex(vertices.{name}{types}"
    one_line = f"{call}, {{{', '.join(values_in)}}}, {{{', '.join(values_out)}}})"
    if len(one_line) <= 100:
        return [one_line]
    lines = ["assert_vertex(", f"    vertices.{name}{types},"]
    for values in parts:
        line = f"    {{{', '.join(values)}}},"
        lines += (
            [line] if len(line) <= 100 else ["    {", *(f"        {v}," for v in values), "    },"]
        )
    return [*lines, ")"]


def entry(name: str) -> list[str]:
    """Return the lines of a class."""
    cls: Any = getattr(vertices, name)
    given = [
        key
        for key in inspect.signature(cls.reference).parameters
        if key != "scale" or key in cls.fields
    ]
    returned = doc(cls.reference).removeprefix("Return ").rstrip(".")
    if hasattr(cls, "UFUNC"):
        returned = returned.replace("ufunc", f"np.{cls.UFUNC.__name__}")
    return [
        f"### {name}{_variables(cls)}",
        "",
        doc(cls),
        "",
        *fields(cls),
        "",
        *([f"- Types: {allowed(name)}."] if cls.type_variables else []),
        f"- Reference: `{name}.reference({', '.join(given)})`, which is {returned}.",
        f"- Cycles: {cost(name)}.",
        "",
        "```python",
        *shown(name),
        "```",
        "",
    ]


def _variables(cls: Any) -> str:
    names = [each.__name__ for each in cls.type_variables]
    return f"[{', '.join(names)}]" if names else ""


def by_family() -> dict[str, list[str]]:
    """Return the exported classes by module, in the order of their files."""
    found: dict[str, list[str]] = {module: [] for module in FAMILIES}
    for name in vertices.__all__:
        found[getattr(vertices, name).__module__.rpartition(".")[2]].append(name)
    for names in found.values():
        names.sort(key=lambda each: inspect.getsourcelines(getattr(vertices, each))[1])
    return found


def made(page: str) -> str:
    """Return the page with its classes made anew; what precedes them stays."""
    lines = ["<!-- classes -->", ""]
    for module, names in by_family().items():
        lines += [f"## {FAMILIES[module]}", ""]
        for name in names:
            lines += entry(name)
    return page[: page.index("<!-- classes -->")] + "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(made(PAGE.read_text()))
