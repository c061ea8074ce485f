"""The vertex classes for recipes, each generated once while it is in use, with names and texts."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary, WeakValueDictionary

from poplite.expr.operations import CAST, OPERATIONS
from poplite.expr.tree import PRECEDENCE, REDUCTIONS, Writer, applied, bracketed
from poplite.ops.fuse import pricing
from poplite.ops.fuse.recipe import (
    JOINS,
    Body,
    MapRecipe,
    OperandPart,
    Recipe,
    ReductionRecipe,
    SumRecipe,
    WrittenLines,
    helper_texts,
    written,
)
from poplite.types import FLOAT
from poplite.vertex.from_source import made_from_source
from poplite.vertex.vertex import Vertex
from poplite.vertices.estimators import MapOperation
from poplite.vertices.reduce import FEW

# -- names -----------------------------------------------------------------------------------------
# Generated vertex classes have display names that show the computation.
#
#     (x0 - x1) * k0 + k1                 a map; its fields are tensors x0, x1 and numbers k0, k1
#     out * k0 + x1 [HALF]                a map that replaces its first operand, of HALF
#     x0 - x1 (x1 a row)                  a map whose vertices iterate over rows
#     sum(x0 * x1) of rows                a reduction that computes the elements it adds
#     sum(slices) + x1                    the sum of a product's slices, and a computation on it
#
# The class also has a name of letters and digits, which files and C++ need (`class_text`).


_MOST_NODES, _MOST_LEVELS = 40, 20
"""Limits on the length of the formula in a name."""

_PARTS = {
    OperandPart.ROWS: "rows",
    OperandPart.ROW: "a row",
    OperandPart.COLUMN: "a column",
    OperandPart.NUMBER: "a number",
}
"""Descriptions of the part of a tensor that a vertex reads, unless it is a range of elements."""


def display_name(recipe: Recipe) -> str:
    """Return the name of a recipe's class in reports, messages and pictures.

    >>> from poplite.ops.fuse.recipe import Line
    >>> lines = Line("subtract", FLOAT, ("a0", "a1")), Line("multiply", FLOAT, ("v0", "k0"))
    >>> body = Body(lines, "v1", (FLOAT, FLOAT), (FLOAT,))
    >>> display_name(MapRecipe(body, (OperandPart.ELEMENTS, OperandPart.ROW), FLOAT))
    '(x0 - x1) * k0 (x1 a row)'
    """
    body = recipe.body
    fields = {f"a{n}": f"x{n}" for n in range(len(body.tensors))}
    if isinstance(recipe, MapRecipe):
        if recipe.in_place is not None:
            fields[f"a{recipe.in_place}"] = "out"
        text, parts = _formula(body, fields), recipe.parts
    elif isinstance(recipe, SumRecipe):
        fields[f"a{recipe.total}"] = "sum(slices)"
        text, parts = _formula(body, fields), recipe.parts
    else:
        how = REDUCTIONS.get(recipe.how, recipe.how)
        text = f"{how}({_formula(body, fields)}) of {'columns' if recipe.is_columns else 'rows'}"
        parts = tuple(
            OperandPart.NUMBER if n in recipe.scalars else OperandPart.ELEMENTS
            for n in range(len(fields))
        )
    return f"{text}{_types(recipe)}{_shapes(list(fields.values()), parts)}"


def _formula(body: Body, fields: dict[str, str]) -> str:
    """Return the formula for the result of a body, in terms of the names of its tensors."""

    def with_precedence(name: str, written: Writer) -> tuple[str, int]:
        if name[0] != "v":
            return fields.get(name, name), PRECEDENCE["name"]
        line = body.lines[int(name[1:])]
        operation = OPERATIONS.get(line.operation, CAST)
        return applied(operation, line.operands, line.element_type, written)

    return bracketed(body.result, with_precedence, _MOST_NODES, _MOST_LEVELS)


def _types(recipe: Recipe) -> str:
    """Return the element types in brackets, or an empty string if all are FLOAT."""
    given = list(dict.fromkeys(recipe.body.tensors)) or [recipe.out]
    if given == [recipe.out] == [FLOAT]:
        return ""
    taken = ", ".join(map(repr, given))
    return f" [{taken}]" if given == [recipe.out] else f" [{taken} -> {recipe.out!r}]"


def _shapes(fields: list[str], parts: tuple[OperandPart, ...]) -> str:
    """Return the parts of tensors that vertices read, in brackets, unless all are ranges."""
    said = [
        f"{name} {_PARTS[part]}" for name, part in zip(fields, parts, strict=True) if part in _PARTS
    ]
    return f" ({', '.join(said)})" if said else ""


# -- texts -----------------------------------------------------------------------------------------
# The lines of an expression as the text of a vertex class.
#
# A vertex of a map iterates over a range of elements, or over rows of them where operands are
# broadcast or the elements of a tile are not contiguous::
#
#     Elements    x0, x1   vectors as long as out     x2   one number
#     Rows        x0       a list of rows, like out   x1   one row for all rows
#                 x2       one number for each row    x3   one number
#
# A vertex that sums slices of a product processes them in lanes divided among all workers of a
# tile.
#
# Fields `x0`, ... are the tensors of the expression, `k0`, ... its numbers. The text is ordinary
# vertex code: it can be read, interpreted, and exported.


class ClassText(NamedTuple):
    """The text of a module with one vertex class, and the name of the class."""

    text: str
    name: str


_FIELDS = {
    OperandPart.ELEMENTS: "Vector[{}]",
    OperandPart.ROWS: "Vector[Vector[{}]]",
    OperandPart.ROW: "Vector[{}]",
    OperandPart.COLUMN: "Vector[{}]",
    OperandPart.NUMBER: "{}",
}


LANES = "from poplite.vertex.compute import lanes"
"""The import of `lanes`, through which methods are called on several elements at a time."""

ESTIMATE = "from poplite.graph.compute_sets.perf_estimates import VertexPerfEstimate"
"""The import of the type that a formula with floating-point operations returns."""


def class_text(recipe: Recipe) -> ClassText:
    """Return the text of the class for a recipe.

    >>> from poplite.ops.fuse.recipe import Line
    >>> from poplite.types import FLOAT
    >>> body = Body((Line("multiply", FLOAT, ("a0", "k0")),), "v0", (FLOAT,), (FLOAT,))
    >>> print(class_text(MapRecipe(body, (OperandPart.ELEMENTS,), FLOAT)).text.split("class")[1])
     Map_533f9617(Vertex):
        out: Output[Vector[FLOAT]]
        x0: Input[Vector[FLOAT]]
        k0: State[FLOAT]
    <BLANKLINE>
        def cycles(self, target: Any) -> Any:
            slots = map_slots(
                [len(self.out)],
                [
                    ("multiply", FLOAT, FLOAT, "vn"),
                ],
                [FLOAT],
                target,
            )
            return VertexPerfEstimate(slots, 1 * len(self.out))
    <BLANKLINE>
        def compute(self) -> None:
            k0 = self.k0
            for i in range(len(self.out)):
                a0 = self.x0[i]
                v0 = a0 * k0
                self.out[i] = v0
    <BLANKLINE>
    """
    lines = written(recipe.body)
    if isinstance(recipe, MapRecipe):
        return _map(recipe, lines)
    if isinstance(recipe, SumRecipe):
        return _sum(recipe, lines)
    return _reduction(recipe, lines)


def _numbers(body: Body) -> tuple[list[str], list[str]]:
    """Return the fields for the numbers of a body, and the lines that read them."""
    fields = [f"k{n}: State[{each.__name__}]" for n, each in enumerate(body.numbers)]
    return fields, [f"k{n} = self.k{n}" for n in range(len(body.numbers))]


def _map(recipe: MapRecipe, lines: WrittenLines) -> ClassText:
    body, parts, in_place = recipe.body, recipe.parts, recipe.in_place
    is_rows = any(part not in (OperandPart.ELEMENTS, OperandPart.NUMBER) for part in parts)
    own = "Vector[Vector[{}]]" if is_rows else "Vector[{}]"
    role = "Output" if in_place is None else "InOut"
    fields = [f"out: {role}[{own.format(recipe.out.__name__)}]"]
    for number, (element, part) in enumerate(zip(body.tensors, parts, strict=True)):
        if number != in_place:
            fields.append(f"x{number}: Input[{_FIELDS[part].format(element.__name__)}]")
    before = [f"a{n} = self.x{n}" for n, part in enumerate(parts) if part is OperandPart.NUMBER]
    numbers, reads = _numbers(body)
    loops = _rows(recipe, lines) if is_rows else _elements(recipe, lines)
    steps = pricing.steps_of(body, [pricing.KINDS[part] for part in parts])
    if steps is None:
        return _module("Map", fields + numbers, before + reads + loops, lines)
    typed = {each.__name__ for step in steps for each in (step.element, step.result)}
    return _module(
        "Map",
        fields + numbers,
        before + reads + loops,
        lines._replace(types=lines.types | typed),
        _map_price(recipe, steps, is_rows),
        imports=[ESTIMATE, "from poplite.vertices.estimators import map_slots"],
    )


def _map_price(recipe: MapRecipe, steps: Sequence[MapOperation], is_rows: bool) -> list[str]:
    """Return the method that prices a map: PopLibs' loops, with each tensor loaded once."""
    rows = "[len(row) for row in self.out]" if is_rows else "[len(self.out)]"
    elements = f"sum({rows})" if is_rows else "len(self.out)"
    loads = [
        element.__name__
        for element, part in zip(recipe.body.tensors, recipe.parts, strict=True)
        if pricing.KINDS[part] == "v"
    ]
    return [
        "def cycles(self, target: Any) -> Any:",
        "    slots = map_slots(",
        f"        {rows},",
        "        [",
        *[f"            {_step_text(step)}," for step in steps],
        "        ],",
        f"        [{', '.join(loads or [recipe.out.__name__])}],",
        "        target,",
        *["        in_place=True,"][: recipe.in_place is not None],
        *["        is_listed=True,"][:is_rows],
        "    )",
        f"    return VertexPerfEstimate(slots, {flops_text(steps, elements)})",
    ]


def flops_text(steps: Iterable[MapOperation], elements: str) -> str:
    """Return the floating-point operations of a vertex, given the text of its number of elements.

    Those of numbers are made once, and those of a number for each row once for each row.

    >>> steps = [MapOperation("add", FLOAT, FLOAT, each) for each in ("nn", "vn", "vv")]
    >>> flops_text(steps, "len(self.out)")
    '1 * 1 + 2 * len(self.out)'
    """
    counts = Counter(step.kind for step in steps if pricing.is_float_operation(step))
    times = {"v": elements, "c": "len(self.out)", "n": "1"}
    return " + ".join(f"{count} * {times[kind]}" for kind, count in counts.items()) or "0"


def _step_text(step: MapOperation) -> str:
    types = f"{step.element.__name__}, {step.result.__name__}"
    return f'("{step.operation}", {types}, "{step.operands}")'


def _elements(recipe: MapRecipe, lines: WrittenLines) -> list[str]:
    loads = [
        f"a{n} = self.{'out' if n == recipe.in_place else f'x{n}'}[i]"
        for n, part in enumerate(recipe.parts)
        if part is OperandPart.ELEMENTS
    ]
    inner = [*loads, *lines.lines, f"self.out[i] = {recipe.body.result}"]
    return ["for i in range(len(self.out)):", *_indented(inner)]


def _rows(recipe: MapRecipe, lines: WrittenLines) -> list[str]:
    rows, loads = ["out = self.out[r]"], []
    for n, part in enumerate(recipe.parts):
        name = "out" if n == recipe.in_place else f"x{n}"
        if part is OperandPart.ROWS and n != recipe.in_place:
            rows.append(f"x{n} = self.x{n}[r]")
        elif part is OperandPart.COLUMN:
            rows.append(f"a{n} = self.x{n}[r]")
        if part is OperandPart.ROWS:
            loads.append(f"a{n} = {name}[i]")
        elif part is OperandPart.ROW:
            loads.append(f"a{n} = self.x{n}[i]")
    inner = [*loads, *lines.lines, f"out[i] = {recipe.body.result}"]
    each = [*rows, "for i in range(len(out)):", *_indented(inner)]
    return ["for r in range(len(self.out)):", *_indented(each)]


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _module(
    prefix: str,
    fields: list[str],
    compute: list[str],
    body: WrittenLines,
    methods: Sequence[str] = (),
    *,
    imports: Sequence[str] = (),
    base: str = "Vertex",
) -> ClassText:
    """Return the text of a module, named by a hash of it, so that equal modules are shared."""
    elements = {name for line in fields for name in re.findall(r"[A-Z][A-Z_]+", line)} | body.types
    roles = sorted({line.split(": ")[1].split("[")[0] for line in fields})
    vector = ["Vector"] if any("Vector[" in line for line in fields) else []
    text = [
        "import math",
        "from typing import Any",
        "",
        "import numpy as np",
        "",
        f"from poplite.types import {', '.join(sorted(elements | {'FLOAT'}))}",
        f"from poplite.vertex import {', '.join([*roles, *vector, 'Vertex'])}",
        *imports,
        "",
        'INFINITY = float("inf")',
    ]
    for helper in helper_texts(body.helpers):
        text += ["", "", helper]
    before = [*methods, ""] if methods else []
    signature = "self" if base == "Vertex" else "self, worker: int"
    inner = [*fields, "", *before, f"def compute({signature}) -> None:", *_indented(compute)]
    lines = [line if not line else f"    {line}" for line in inner]
    digest = hashlib.sha256("\n".join([*text, *lines]).encode()).hexdigest()[:8]
    name = f"{prefix}_{digest}"
    return ClassText("\n".join([*text, "", "", f"class {name}({base}):", *lines, ""]), name)


# -- matrix products -------------------------------------------------------------------------------


def _sum(recipe: SumRecipe, lines: WrittenLines) -> ClassText:
    """Return the class that sums slices in order, and then computes an expression of each sum."""
    body, parts, tensors = recipe.body, recipe.parts, range(len(recipe.parts))
    element = body.tensors[recipe.total].__name__
    is_rows = OperandPart.ROW in parts or OperandPart.COLUMN in parts
    fields = [f"out: Output[Vector[{recipe.out.__name__}]]"]
    fields.append(f"slices: Input[Vector[Vector[{element}]]]")
    for n in tensors:
        if n != recipe.total:
            fields.append(f"x{n}: Input[{_FIELDS[parts[n]].format(body.tensors[n].__name__)}]")
    numbers, reads = _numbers(body)
    fields += [*numbers, *["columns: State[UNSIGNED_INT]"][:is_rows]]
    names = ", ".join([*(f"a{n}" for n in tensors), *(f"k{n}" for n in range(len(body.numbers)))])
    rounded = [f"a{recipe.total} = {element}(a{recipe.total})"][: element != "FLOAT"]
    returned = [*rounded, *lines.lines, f"return {body.result}"]
    method = ["@staticmethod", f"def element({names}):", *_indented(returned)]
    passed = ["total" if n == recipe.total else _PASSED[parts[n]].format(n) for n in tensors]
    passed += [f"k{n}" for n in range(len(body.numbers))]
    passed_text = ", ".join(passed)

    def summed(count: str) -> list[str]:
        """Return the lines that sum slices of `count` elements and store the results."""
        return [
            f"total = self.slices[0].lanes(at, {count})",
            "for j in range(1, len(self.slices)):",
            f"    total += self.slices[j].lanes(at, {count})",
            f"self.out.set_lanes(at, lanes.map(self.element, {passed_text.format(count=count)}))",
        ]

    before = [f"a{n} = self.x{n}" for n in tensors if parts[n] is OperandPart.NUMBER]
    shared = "{0} * worker // self.num_workers, {0} * (worker + 1) // self.num_workers"
    if not is_rows:
        loops = [
            "size = len(self.out)",
            f"first, end = {shared.format('size')}",
            "rest = (end - first) % 64",
            "for at in range(first, end - 63, 64):",
            *_indented(summed("64")),
            "if rest > 0:",
            *_indented(["at = end - rest", *summed("rest")]),
        ]
    else:
        of_row = [f"a{n} = self.x{n}[row]" for n in tensors if parts[n] is OperandPart.COLUMN]
        loops = [
            "columns = self.columns",
            "across = (columns + 63) // 64",
            "pieces = len(self.out) // columns * across",
            f"for piece in range({shared.format('pieces')}):",
            *_indented(["row = piece // across", "i = piece % across * 64"]),
            *_indented(
                [*of_row, "at = row * columns + i", "count = columns - i", "if count > 63:"]
            ),
            *_indented([*_indented(summed("64")), "else:", *_indented(summed("count"))]),
        ]
    made = WrittenLines(lines.lines, lines.helpers, lines.types | {element})
    return _module(
        "Sum",
        fields,
        before + reads + loops,
        made,
        [*method, "", *_cost(recipe)],
        imports=[
            ESTIMATE,
            "from poplite.vertex.vertex import MultiVertex",
            "from poplite.vertices.reduce import sum_cycles",
            LANES,
        ],
        base="MultiVertex",
    )


def _cost(recipe: SumRecipe) -> list[str]:
    """Return the method that prices a sum: PopLibs' formula plus the operations on each sum."""
    body, total = recipe.body, recipe.total
    slots = 0.0
    steps = [*pricing.walked(body, [pricing.KINDS[part] for part in recipe.parts])]
    for step in steps:
        slots += pricing.slots_of(*step)
    sums = "len(self.out) * (len(self.slices) - 1)"
    is_float = body.tensors[total].is_floating_point
    flops = " + ".join([sums] * is_float + [flops_text(steps, "len(self.out)")])
    slots += sum(
        part is not OperandPart.NUMBER for n, part in enumerate(recipe.parts) if n != total
    )  # loads
    kinds = f"{recipe.body.tensors[total].__name__}, {recipe.out.__name__}"
    return [
        "def cycles(self, target: Any) -> Any:",
        f"    sizes = len(self.out), len(self.slices) - 1, {kinds}",
        f"    return VertexPerfEstimate(sum_cycles(*sizes, {slots:g}, target), {flops})",
    ]


_PASSED = {
    OperandPart.ELEMENTS: "self.x{0}.lanes(at, {{count}})",
    OperandPart.ROW: "self.x{0}.lanes(i, {{count}})",
    OperandPart.COLUMN: "a{0}",
    OperandPart.NUMBER: "a{0}",
}
"""The text for each kind of operand in formulas on lanes of sums."""


# -- reductions ------------------------------------------------------------------------------------

FOLDS = {
    "add": "sum",
    "mul": "prod",
    "min": "min",
    "max": "max",
    "logical_and": "all",
    "logical_or": "any",
}
"""The method that reduces lanes to a number, as in the vertices of `poplite.vertices.reduce`."""


def _reduction(recipe: ReductionRecipe, lines: WrittenLines) -> ClassText:
    """Return the class that combines elements in the order of `poplite.vertices.reduce`.

    A separate function computes an element, and is called for each lane.
    """
    body, scalars = recipe.body, recipe.scalars
    fields = [f"out: Output[Vector[{recipe.out.__name__}]]"]
    for n, element in enumerate(body.tensors):
        kind = element.__name__ if n in scalars else f"Vector[{element.__name__}]"
        fields.append(f"x{n}: Input[{kind}]")
    numbers, reads = _numbers(body)
    fields += numbers
    if recipe.is_columns:
        fields.append("stride: State[UNSIGNED_INT]")
    tensors = range(len(body.tensors))
    names = ", ".join([*(f"a{n}" for n in tensors), *(f"k{n}" for n in range(len(body.numbers)))])
    returned = [*lines.lines, f"return {body.result}"]
    method = ["@staticmethod", f"def element({names}):", *_indented(returned)]
    vectors = [n for n in tensors if n not in scalars]

    def lanes(first: str, count: str) -> str:
        """Return the call that makes lanes of elements."""
        passed = [
            f"a{n}" if n in scalars else f"self.x{n}.lanes({first}, {count})" for n in tensors
        ]
        passed += [f"k{n}" for n in range(len(body.numbers))]
        return f"lanes.map(self.element, {', '.join(passed)})"

    def numbers_at(index: str) -> str:
        """Return the call that makes one element."""
        passed = [f"a{n}" if n in scalars else f"self.x{n}[{index}]" for n in tensors]
        passed += [f"k{n}" for n in range(len(body.numbers))]
        return f"self.element({', '.join(passed)})"

    length, join = f"len(self.x{vectors[0]})", JOINS[recipe.how]
    if recipe.is_columns:
        loops = _columns_reduced(lanes, numbers_at, length, join)
    else:
        loops = _rows_reduced(lanes, length, join, FOLDS[recipe.how])
    kind = {"add": "Sum", "mul": "Product"}.get(recipe.how, recipe.how.title().replace("_", ""))
    name = f"{kind}{'Columns' if recipe.is_columns else 'Rows'}"
    scalars_read = [f"a{n} = self.x{n}" for n in scalars]
    price = pricing.computed_of(recipe)
    if price is None:  # vertices are priced by their compiled code
        return _module(name, fields, scalars_read + reads + loops, lines, method, imports=[LANES])
    of = "of_columns" if recipe.is_columns else "of_rows"
    made = WrittenLines(lines.lines, lines.helpers, lines.types | {price.joined.__name__})
    return _module(
        name,
        fields,
        scalars_read + reads + loops,
        made,
        [*method, "", *_price(recipe, price, of, length)],
        imports=[LANES, f"from poplite.vertices.estimators import {of}"],
    )


def _price(recipe: ReductionRecipe, price: pricing.Computed, of: str, length: str) -> list[str]:
    """Return the method that prices a reduction, including the computation for each element."""
    sizes = f"len(self.out), {length}" + ", self.stride" * recipe.is_columns
    adds = f", adds={recipe.how == 'add'}" * recipe.is_columns
    return [
        "def cycles(self, target: Any) -> Any:",
        f"    kinds = {price.joined.__name__}, {recipe.out.__name__}",
        f"    sizes = {sizes}",
        f"    computed = {{'slots': {price.slots:g}, 'flops': {price.flops}}}",
        f"    return {of}(*kinds, *sizes, target{adds}, **computed)",
    ]


Lanes = Callable[[str, str], str]
"""Returns the text for the lanes of elements, given the first element and their number."""


def _rows_reduced(lanes: Lanes, length: str, join: str, fold: str) -> list[str]:
    return [
        f"length = {length} // len(self.out)",
        "for row in range(len(self.out)):",
        "    first = row * length",
        "    if length < 64:",
        f"        total = {lanes('first', 'length')}",
        f"        self.out[row] = total.{fold}()",
        "    else:",
        "        end = first + length",
        "        rest = length % 64",
        f"        total = {lanes('first', '64')}",
        "        for i in range(first + 64, end - 63, 64):",
        f"            more = {lanes('i', '64')}",
        f"            total = {join.format('total', 'more')}",
        f"        more = {lanes('end - rest', 'rest')}",
        f"        total = {join.format('total', 'more')}",
        f"        self.out[row] = total.{fold}()",  # of 64 lanes, a constant for compiled code
    ]


def _columns_reduced(
    lanes: Lanes, numbers: Callable[[str], str], length: str, join: str
) -> list[str]:
    def columns(first: str, count: str) -> list[str]:
        return [
            f"total = {lanes(first, count)}",
            "for row in range(1, rows):",
            f"    more = {lanes(f'row * stride + {first}', count)}",
            f"    total = {join.format('total', 'more')}",
            f"self.out.set_lanes({first}, total)",
        ]

    return [
        "stride = self.stride",
        "columns = len(self.out)",
        f"rows = ({length} - columns) // stride + 1",
        "rest = columns % 64",
        "last = columns - rest",
        "for i in range(0, columns - 63, 64):",
        *_indented(columns("i", "64")),
        f"if rest <= {FEW}:",
        "    for i in range(last, columns):",
        f"        total = {numbers('i')}",
        "        for row in range(1, rows):",
        f"            more = {numbers('row * stride + i')}",
        f"            total = {join.format('total', 'more')}",
        "        self.out[i] = total",
        "else:",
        *_indented(columns("last", "rest")),
    ]


# -- classes ---------------------------------------------------------------------------------------


_made: WeakValueDictionary[Recipe, type[Vertex]] = WeakValueDictionary()
_recipes: WeakKeyDictionary[type[Vertex], Recipe] = WeakKeyDictionary()


def class_of(recipe: Recipe) -> type[Vertex]:
    """Return the vertex class for a recipe."""
    cls = _made.get(recipe)
    if cls is None:
        text, name = class_text(recipe)
        cls = made_from_source(text, name, display_name(recipe))
        _made[recipe] = cls
        _recipes[cls] = recipe
    return cls


def recipe_of(cls: type[Vertex]) -> Recipe | None:
    """Return the recipe of a generated class; None for a class that a user wrote."""
    return _recipes.get(cls)
