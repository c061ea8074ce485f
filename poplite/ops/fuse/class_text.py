"""The lines of an expression as the text of a vertex class.

A vertex of a map goes through a range of elements, or through rows of them, where operands are
broadcast or the elements of a tile lie in several places::

    Elements    x0, x1   vectors as long as out     x2   one number
    Rows        x0       a list of rows, as out     x1   one row for all rows
                x2       one number for each row    x3   one number

Fields `x0`, ... are the tensors of the expression, `k0`, ... its numbers. The text is ordinary
code of a vertex: it can be read, interpreted, and exported.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import NamedTuple

from poplite.ops.fuse.recipe import JOINS, Body, MapRecipe, Part, Recipe, ReductionRecipe
from poplite.ops.fuse.straight import Written, helper_texts, written


class ClassText(NamedTuple):
    """The text of a module with one vertex class, and the name of the class."""

    text: str
    name: str


_FIELDS = {
    Part.ELEMENTS: "Vector[{}]",
    Part.ROWS: "Vector[Vector[{}]]",
    Part.ROW: "Vector[{}]",
    Part.COLUMN: "Vector[{}]",
    Part.NUMBER: "{}",
}


def class_text(recipe: Recipe) -> ClassText:
    """Return the class of a recipe.

    >>> from poplite.ops.fuse.recipe import Line
    >>> from poplite.types import FLOAT
    >>> body = Body((Line("multiply", FLOAT, ("a0", "k0")),), "v0", (FLOAT,), (FLOAT,))
    >>> print(class_text(MapRecipe(body, (Part.ELEMENTS,), FLOAT)).text.split("class")[1])
     Map_430fb31f(Vertex):
        out: Output[Vector[FLOAT]]
        x0: Input[Vector[FLOAT]]
        k0: State[FLOAT]
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
    return _reduction(recipe, lines)


def _numbers(body: Body) -> tuple[list[str], list[str]]:
    """Return the fields of the numbers of a body, and the lines that read them."""
    fields = [f"k{n}: State[{each.__name__}]" for n, each in enumerate(body.numbers)]
    return fields, [f"k{n} = self.k{n}" for n in range(len(body.numbers))]


def _map(recipe: MapRecipe, lines: Written) -> ClassText:
    body, parts, in_place = recipe.body, recipe.parts, recipe.in_place
    is_rows = any(part not in (Part.ELEMENTS, Part.NUMBER) for part in parts)
    own = "Vector[Vector[{}]]" if is_rows else "Vector[{}]"
    role = "Output" if in_place is None else "InOut"
    fields = [f"out: {role}[{own.format(recipe.out.__name__)}]"]
    for number, (element, part) in enumerate(zip(body.tensors, parts, strict=True)):
        if number != in_place:
            fields.append(f"x{number}: Input[{_FIELDS[part].format(element.__name__)}]")
    before = [f"a{n} = self.x{n}" for n, part in enumerate(parts) if part is Part.NUMBER]
    numbers, reads = _numbers(body)
    loops = _rows(recipe, lines) if is_rows else _elements(recipe, lines)
    return _module("Map", fields + numbers, before + reads + loops, lines)


def _elements(recipe: MapRecipe, lines: Written) -> list[str]:
    loads = [
        f"a{n} = self.{'out' if n == recipe.in_place else f'x{n}'}[i]"
        for n, part in enumerate(recipe.parts)
        if part is Part.ELEMENTS
    ]
    inner = [*loads, *lines.lines, f"self.out[i] = {recipe.body.result}"]
    return ["for i in range(len(self.out)):", *_indented(inner)]


def _rows(recipe: MapRecipe, lines: Written) -> list[str]:
    rows, loads = ["out = self.out[r]"], []
    for n, part in enumerate(recipe.parts):
        name = "out" if n == recipe.in_place else f"x{n}"
        if part is Part.ROWS and n != recipe.in_place:
            rows.append(f"x{n} = self.x{n}[r]")
        elif part is Part.COLUMN:
            rows.append(f"a{n} = self.x{n}[r]")
        if part is Part.ROWS:
            loads.append(f"a{n} = {name}[i]")
        elif part is Part.ROW:
            loads.append(f"a{n} = self.x{n}[i]")
    inner = [*loads, *lines.lines, f"out[i] = {recipe.body.result}"]
    each = [*rows, "for i in range(len(out)):", *_indented(inner)]
    return ["for r in range(len(self.out)):", *_indented(each)]


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _module(prefix: str, fields: list[str], compute: list[str], body: Written) -> ClassText:
    """Return the text of a module; its name says what it computes, so that equal ones are one."""
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
        "",
        'INFINITY = float("inf")',
    ]
    for helper in helper_texts(body.helpers):
        text += ["", "", helper]
    inner = [*fields, "", "def compute(self) -> None:", *_indented(compute)]
    lines = [line if not line else f"    {line}" for line in inner]
    digest = hashlib.sha256("\n".join([*text, *lines]).encode()).hexdigest()[:8]
    name = f"{prefix}_{digest}"
    return ClassText("\n".join([*text, "", "", f"class {name}(Vertex):", *lines, ""]), name)


# -- reductions ----------------------------------------------------------------------------------

LANES = "abcdefgh"
"""Running results, as those vertices have."""


def _reduction(recipe: ReductionRecipe, lines: Written) -> ClassText:
    """Return the class that joins elements in the order of `poplite.vertices.reduce`."""
    body, scalars = recipe.body, recipe.scalars
    fields = [f"out: Output[Vector[{recipe.out.__name__}]]"]
    for n, element in enumerate(body.tensors):
        kind = element.__name__ if n in scalars else f"Vector[{element.__name__}]"
        fields.append(f"x{n}: Input[{kind}]")
    numbers, reads = _numbers(body)
    fields += numbers
    if recipe.is_columns:
        fields.append("stride: State[UNSIGNED_INT]")
    vectors = [n for n in range(len(body.tensors)) if n not in scalars]
    writer = _Elements(lines.lines, body.result, vectors, JOINS[recipe.how])
    loops = _columns_reduced(writer) if recipe.is_columns else _rows_reduced(writer)
    kind = {"add": "Sum", "mul": "Product"}.get(recipe.how, recipe.how.title().replace("_", ""))
    name = f"{kind}{'Columns' if recipe.is_columns else 'Rows'}"
    return _module(name, fields, [f"a{n} = self.x{n}" for n in scalars] + reads + loops, lines)


class _Elements:
    """Writes the element at an index, and joins it to a running result."""

    def __init__(
        self, lines: Sequence[str], result: str, vectors: Sequence[int], join: str
    ) -> None:
        self._lines, self._result, self._join = lines, result, join
        self.vectors = vectors

    def first(self, into: str, index: str) -> list[str]:
        """Return the lines that set a running result."""
        return [*self._loads(index), f"{into} = {self._result}"]

    def joined(self, into: str, index: str) -> list[str]:
        """Return the lines that join an element to a running result."""
        return [
            *self._loads(index),
            f"{into} = {self._join.format(into, self._result)}",
        ]

    def both(self, into: str, other: str) -> str:
        """Return the line that joins two running results."""
        return f"{into} = {self._join.format(into, other)}"

    def _loads(self, index: str) -> list[str]:
        return [*(f"a{n} = self.x{n}[{index}]" for n in self.vectors), *self._lines]


def _rows_reduced(write: _Elements) -> list[str]:
    a, others = LANES[0], LANES[1:]
    lanes = [line for k, lane in enumerate(others, 1) for line in write.first(lane, f"first + {k}")]
    each = [line for k, lane in enumerate(LANES) for line in write.joined(lane, f"i + {k}")]
    tree = [write.both(*pair) for pair in ("ab", "cd", "ac", "ef", "gh", "eg", "ae")]
    return [
        f"length = len(self.x{write.vectors[0]}) // len(self.out)",
        "for row in range(len(self.out)):",
        "    first = row * length",
        "    end = first + length",
        *_indented(write.first(a, "first")),
        "    if length >= 16:",
        *_indented(_indented(lanes)),
        "        for i in range(first + 8, end - 7, 8):",
        *_indented(_indented(_indented(each))),
        *_indented(_indented(tree)),
        "        for i in range(end - length % 8, end):",
        *_indented(_indented(_indented(write.joined(a, "i")))),
        "    else:",
        "        for i in range(first + 1, end):",
        *_indented(_indented(_indented(write.joined(a, "i")))),
        f"    self.out[row] = {a}",
    ]


def _columns_reduced(write: _Elements) -> list[str]:
    first = [line for k, lane in enumerate(LANES) for line in write.first(lane, f"i + {k}")]
    each = [line for k, lane in enumerate(LANES) for line in write.joined(lane, f"at + {k}")]
    return [
        "stride = self.stride",
        f"rows = (len(self.x{write.vectors[0]}) - len(self.out)) // stride + 1",
        "whole = len(self.out) // 8 * 8",
        "for i in range(0, whole, 8):",
        *_indented(first),
        "    for row in range(1, rows):",
        "        at = row * stride + i",
        *_indented(_indented(each)),
        *(f"    self.out[i + {k}] = {lane}" for k, lane in enumerate(LANES)),
        "for i in range(whole, len(self.out)):",
        *_indented(write.first("a", "i")),
        "    for row in range(1, rows):",
        *_indented(_indented(write.joined("a", "row * stride + i"))),
        "    self.out[i] = a",
    ]
