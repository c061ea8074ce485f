"""What generated vertex classes are called where users read it: by what they compute.

    (x0 - x1) * k0 + k1                 a map; its fields are tensors x0, x1 and numbers k0, k1
    out * k0 + x1 [HALF]                one that replaces its first operand, of HALF
    x0 - x1 (x1 a row)                  one whose vertices go through rows
    sum(x0 * x1) of rows                a reduction that computes what it adds up
    sum(slices) + x1                    the sum of a product's slices, and what follows from it

The class keeps a name of letters and digits too, as files and C++ need it (`class_text`).
"""

from __future__ import annotations

from poplite.expr.formula import PRECEDENCE, REDUCTIONS, Writer, applied, bracketed
from poplite.expr.operations import CAST, OPERATIONS
from poplite.ops.fuse.recipe import Body, MapRecipe, OperandPart, Recipe, SumRecipe
from poplite.types import FLOAT

_MOST_NODES, _MOST_LEVELS = 40, 20
"""What of a formula is written in a name."""

_PARTS = {
    OperandPart.ROWS: "rows",
    OperandPart.ROW: "a row",
    OperandPart.COLUMN: "a column",
    OperandPart.NUMBER: "a number",
}
"""What a vertex has of a tensor, where it is no plain range of elements."""


def display_name(recipe: Recipe) -> str:
    """Return what the class of a recipe is called in reports, messages and pictures.

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
    """Return the result of a body, written with the names of its tensors."""

    def with_precedence(name: str, written: Writer) -> tuple[str, int]:
        if name[0] != "v":
            return fields.get(name, name), PRECEDENCE["name"]
        line = body.lines[int(name[1:])]
        operation = OPERATIONS.get(line.operation, CAST)
        return applied(operation, line.operands, line.element_type, written)

    return bracketed(body.result, with_precedence, _MOST_NODES, _MOST_LEVELS)


def _types(recipe: Recipe) -> str:
    """Return the element types in brackets; nothing for FLOAT alone."""
    given = list(dict.fromkeys(recipe.body.tensors)) or [recipe.out]
    if given == [recipe.out] == [FLOAT]:
        return ""
    taken = ", ".join(map(repr, given))
    return f" [{taken}]" if given == [recipe.out] else f" [{taken} -> {recipe.out!r}]"


def _shapes(fields: list[str], parts: tuple[OperandPart, ...]) -> str:
    """Return what vertices have of tensors, where it is no plain range, in brackets."""
    said = [
        f"{name} {_PARTS[part]}" for name, part in zip(fields, parts, strict=True) if part in _PARTS
    ]
    return f" ({', '.join(said)})" if said else ""
