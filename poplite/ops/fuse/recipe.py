"""The computation of a generated vertex class, as plain data that a file can hold.

A generated class is not in any module. So the file of an executable holds its recipe, and loading
the file generates the same class from the recipe again: text from a file is never executed. Every
entry of a recipe is a name in a table, an element type, or an earlier line, and is validated as
such (`fault_of`).
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from enum import Enum
from typing import Any, Literal, NamedTuple
from weakref import WeakKeyDictionary

from poplite.errors import made_by
from poplite.expr.operations import CAST, HELPERS, OPERATIONS, ElementOperation, cast_text, kind_of
from poplite.expr.tree import Applied, ElementClass, Expr, Leaf, Number, Shape, formula
from poplite.frozen import frozen
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.text import clipped_text
from poplite.types import BOOL, FLOAT, HALF, LONGLONG, UNSIGNED_LONGLONG, ElementType
from poplite.walks import bottom_up

# -- recipes ---------------------------------------------------------------------------------------


MOST_LINES = 1 << 14
"""Maximum number of lines of a recipe in a file."""


class OperandPart(Enum):
    """The part of an operand that a vertex reads."""

    ELEMENTS = "elements"
    ROWS = "rows"
    ROW = "row"
    COLUMN = "column"
    NUMBER = "number"


@frozen
class Line:
    """An operation: `v2 = a0 - v1` is `Line("subtract", FLOAT, ("a0", "v1"))`.

    Attributes:
        operation: the name of the operation in `OPERATIONS`, or "cast".
        element_type: the element type of the result.
        operands: names of tensors, numbers, and lines before this one.
    """

    operation: str
    element_type: type[ElementType[Any]]
    operands: tuple[str, ...]


@frozen
class Body:
    """An expression as lines, in an order in which they can be executed.

    Attributes:
        lines: `v0`, `v1`, ...
        result: the name of the result: a line, a tensor or a number.
        tensors: element types of `a0`, `a1`, ...
        numbers: element types of `k0`, `k1`, ...
    """

    lines: tuple[Line, ...]
    result: str
    tensors: tuple[type[ElementType[Any]], ...]
    numbers: tuple[type[ElementType[Any]], ...]

    def types(self) -> dict[str, type[ElementType[Any]]]:
        """Return the element type of each name."""
        found = {f"a{n}": each for n, each in enumerate(self.tensors)}
        found |= {f"k{n}": each for n, each in enumerate(self.numbers)}
        return found | {f"v{n}": line.element_type for n, line in enumerate(self.lines)}


@frozen
class MapRecipe:
    """The vertex class of a map.

    Attributes:
        body: the computation for each element.
        parts: the part of each tensor that a vertex reads.
        out: the element type of the result.
        in_place: the index of the tensor that the result replaces, or None.
    """

    body: Body
    parts: tuple[OperandPart, ...]
    out: type[ElementType[Any]]
    in_place: int | None = None


@frozen
class ReductionRecipe:
    """The vertex class that computes elements and combines them.

    Attributes:
        body: the computation for each element.
        scalars: indices of the tensors with a single element, in ascending order.
        how: how elements are combined: a name in `JOINS`.
        out: the element type of the result.
        is_columns: whether rows are combined element by element (`poplite.vertices.reduce`).
    """

    body: Body
    scalars: tuple[int, ...]
    how: str
    out: type[ElementType[Any]]
    is_columns: bool


@frozen
class SumRecipe:
    """The vertex class that sums slices of a product, and computes an expression of each sum.

    Attributes:
        body: the expression.
        parts: the part of each tensor that a vertex reads; for the sum, `ELEMENTS`.
        out: the element type of the result.
        total: the index of the tensor for the sum; its type is that of the slices.
    """

    body: Body
    parts: tuple[OperandPart, ...]
    out: type[ElementType[Any]]
    total: int


Recipe = MapRecipe | ReductionRecipe | SumRecipe

JOINS = {
    "add": "{0} + {1}",
    "mul": "{0} * {1}",
    "min": "np.minimum({0}, {1})",
    "max": "np.maximum({0}, {1})",
    "logical_and": "{0} & {1}",
    "logical_or": "{0} | {1}",
}
"""Two lanes, as the vertices of `poplite.vertices.reduce` combine them."""


def fault_of(recipe: Recipe) -> str | None:
    """Return the first invalid part of a recipe from a file; None for a valid recipe.

    >>> from poplite.types import FLOAT
    >>> body = Body((Line("negative", FLOAT, ("a1",)),), "v0", (FLOAT,), ())
    >>> fault_of(MapRecipe(body, (OperandPart.ELEMENTS,), FLOAT))
    "line 0 of its recipe uses the unknown name 'a1'"
    """
    return next(_faults(recipe), None)


def _faults(recipe: Recipe) -> Iterator[str]:
    body = recipe.body
    if len(body.lines) > MOST_LINES:
        yield f"its recipe has {len(body.lines):,} lines; at most {MOST_LINES:,} are accepted"
        return
    yield from _faults_of_lines(body)
    types = body.types()
    if body.result not in types:
        yield f"its recipe has the unknown result {body.result!r}"
        return
    numbers = range(len(body.tensors))
    if isinstance(recipe, MapRecipe | SumRecipe):
        if types[body.result] is not recipe.out:
            yield f"its recipe gives {types[body.result]!r}, not {recipe.out!r}"
        if len(recipe.parts) != len(body.tensors):
            yield f"its recipe has {len(body.tensors)} tensors and {len(recipe.parts)} parts"
    if isinstance(recipe, SumRecipe):
        if OperandPart.ROWS in recipe.parts:
            yield "its recipe combines lists of rows with a sum"
        if recipe.total not in numbers or body.tensors[recipe.total] not in (FLOAT, HALF):
            yield f"its recipe cannot add up tensor {recipe.total}"
        return
    if isinstance(recipe, MapRecipe):
        if recipe.in_place is not None and recipe.in_place not in numbers:
            yield f"its recipe replaces tensor {recipe.in_place}, which does not exist"
        elif recipe.in_place is not None and body.tensors[recipe.in_place] is not recipe.out:
            yield "its recipe replaces a tensor of another type"
        return
    if not set(recipe.scalars) < set(numbers):
        yield f"its recipe has invalid scalars {recipe.scalars} for {len(numbers)} tensors"
    is_logical = types[body.result] is BOOL
    if recipe.how not in JOINS or recipe.how.startswith("logical") != is_logical:
        yield f"its recipe cannot combine elements of {types[body.result]!r} by {recipe.how!r}"


def _faults_of_lines(body: Body) -> Iterator[str]:
    types, known = body.types(), {f"a{n}" for n in range(len(body.tensors))}
    known |= {f"k{n}" for n in range(len(body.numbers))}
    if any(kind_of(types[each]) is None for each in known):
        yield "its recipe has tensors of a type that expressions do not support"
        return
    for number, line in enumerate(body.lines):
        where = f"line {number} of its recipe"
        operation, unknown = OPERATIONS.get(line.operation), set(line.operands) - known
        if unknown:
            yield f"{where} uses the unknown name {min(unknown)!r}"
            return
        operands = [types[each] for each in line.operands]
        if line.operation == "cast":
            is_sound = len(operands) == 1 and kind_of(line.element_type) is not None
        else:
            is_sound = operation is not None and _is_sound(operation, operands, line.element_type)
        if not is_sound:
            taken = ", ".join(map(repr, operands))
            yield f"{where} cannot apply {line.operation!r} to {taken} as {line.element_type!r}"
            return
        known.add(f"v{number}")


def _is_sound(
    operation: ElementOperation,
    operands: list[type[ElementType[Any]]],
    result: type[ElementType[Any]],
) -> bool:
    """Return whether an operation on operands of these types gives a result of that type."""
    if len(operands) != operation.arity:
        return False
    same = operands[:2] if operation.name == "select" else operands
    if operation.name == "select" and operands[2] is not BOOL:
        return False
    element = same[0]
    return (
        all(each is element for each in same)
        and operation.text_for(element) is not None
        and result is (BOOL if operation.gives == "bool" else element)
    )


# -- trees as lines --------------------------------------------------------------------------------
# A tree as numbered lines, in which equal subtrees occur once.
#
#     (x - y) ** 2 * 0.5          v0 = a0 - a1
#                                 v1 = v0 * v0
#                                 v2 = v1 * k0
#
# Operands, which differ between expressions of one structure, are not part of the lines: tensors
# `a0`, `a1`, ... and numbers `k0`, `k1`, ... are fields of the vertex. So a different learning rate
# does not require recompilation.


UNSIGNED = {
    "CHAR": "UNSIGNED_CHAR",
    "SIGNED_CHAR": "UNSIGNED_CHAR",
    "SHORT": "UNSIGNED_SHORT",
    "INT": "UNSIGNED_INT",
    "LONGLONG": "UNSIGNED_LONGLONG",
}
"""The unsigned type for each signed type."""


class Straight(NamedTuple):
    """An expression as lines, with the operands to which its names refer.

    Attributes:
        body: the lines.
        tensors: the tensors, starting with `a0`.
        numbers: the numbers, starting with `k0`.
    """

    body: Body
    tensors: list[Tensor]
    numbers: list[Number]


def straight(root: Expr, stored: Mapping[Expr, Tensor]) -> Straight:
    """Return the lines of a tree; nodes in `stored`, except the root itself, are leaves.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, y = (graph.add_variable(pl.HALF, (4,), name) for name in "xy")
    >>> written(straight((x - y) * (x - y), {}).body).lines
    ['v0 = HALF(a0 - a1)', 'v1 = HALF(v0 * v0)']
    """
    names: dict[Expr, str] = {}
    leaves: dict[Tensor, str] = {}
    numbers: list[Number] = []
    known: dict[Line, str] = {}
    for node in in_order(root, stored):
        if isinstance(node, Number):
            names[node] = f"k{len(numbers)}"
            numbers.append(node)
        elif isinstance(node, Leaf) or (node in stored and node is not root):
            tensor = node.tensor if isinstance(node, Leaf) else stored[node]
            assert isinstance(tensor, Tensor)
            names[node] = leaves.setdefault(tensor, f"a{len(leaves)}")
        else:
            assert isinstance(node, Applied), type(node)
            operands = tuple([names[each] for each in node.operands])
            line = Line(node.operation.name, node.element_type, operands)
            names[node] = known.setdefault(line, f"v{len(known)}")
    types = tuple([tensor.element_type for tensor in leaves])
    kinds = tuple([number.element_type for number in numbers])
    return Straight(Body(tuple(known), names[root], types, kinds), list(leaves), numbers)


def in_order(root: Expr, stored: Container[Expr]) -> list[Expr]:
    """Return the nodes of a tree, each once, after its operands; omit those below stored nodes."""
    return bottom_up(
        [root], lambda node: node.operands if node is root or node not in stored else ()
    )


class WrittenLines(NamedTuple):
    """Lines as statements of `compute`.

    Attributes:
        lines: assignments to `v0`, `v1`, ...
        helpers: names of the functions of `HELPERS` that they call.
        types: names of the element types that they call.
    """

    lines: list[str]
    helpers: set[str]
    types: set[str]


def written(body: Body) -> WrittenLines:
    """Return the lines of a body as text."""
    made = WrittenLines([], set(), set())
    types = body.types()
    for number, line in enumerate(body.lines):
        made.lines.append(f"v{number} = {_text(line, types[line.operands[0]], made)}")
    return made


def _text(line: Line, source: ElementClass, made: WrittenLines) -> str:
    """Return the text of a line on operands of type `source`, rounded to its own type."""
    operation, element = OPERATIONS.get(line.operation, CAST), line.element_type
    text = cast_text(source, element) if operation is CAST else operation.text_for(source)
    assert text is not None, line
    unsigned = UNSIGNED.get(source.__name__, source.__name__)
    bits = str(source.size_bytes * 8)
    found = text.format(*line.operands, U=unsigned, bits=bits)
    made.helpers.update(name for name in operation.helpers if f"{name}(" in found)
    made.types.update(each for each in (unsigned, element.__name__) if f"{each}(" in found)
    is_kept = element.__name__ not in operation.other_kind
    if operation is CAST or is_kept and (operation.is_exact or _is_stored_so(element)):
        return found
    made.types.add(element.__name__)
    return f"{element.__name__}({found})"


def _is_stored_so(element: ElementClass) -> bool:
    """Return whether operations on the type give results of the type without rounding."""
    return element in (FLOAT, BOOL, LONGLONG, UNSIGNED_LONGLONG)


def helper_texts(names: set[str]) -> list[str]:
    """Return the text of the helper functions that lines call directly or indirectly."""
    needed = {name for name in HELPERS if any(name in HELPERS[each] for each in names)}
    return [HELPERS[name].strip("\n") for name in HELPERS if name in needed | names]


# -- notes -----------------------------------------------------------------------------------------
# Notes on the parts of expressions, for `ops.explain`.


What = Literal["stored", "reduced", "multiplied", "computed again", "copied", "filled"]

SHOWN = 80
"""Maximum number of characters in a formula; `x + y` has three parts in five characters."""

LINES_SHOWN = 40
"""Maximum number of lines in a vertex."""


@made_by("ops.explain(tensor)")
@frozen(eq=False)
class Note:
    """How a part of an expression was lowered.

    Attributes:
        what: "stored", "reduced", "multiplied", "computed again", "copied" or "filled".
        formula: the part as a formula.
        why: the reason, with numbers.
        vertex: the name of the vertex class, or empty.
        bytes: the size of the tensor that holds it.
        body: the computation of the vertex for each element; None without one.
        origin: the operation of another layer to which the part belongs, or None.
        result: the name of the tensor that holds it, or empty.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> x = graph.add_variable(pl.FLOAT, (4,), "x", mapping="linear")
    >>> y = pl.ops.map(x * 2 + 1, name="y", program=pl.Sequence())
    >>> print(pl.ops.explain(y))
    stored: x * 2.0 + 1.0, by x0 * k0 + k1, 16 B (a result, like x)
        v0 = a0 * k0
        v1 = v0 + k1
    """

    what: What
    formula: str
    why: str
    vertex: str = ""
    bytes: int = 0
    body: Body | None = None
    origin: object = None
    result: str = ""

    @classmethod
    def of(
        cls,
        what: What,
        expr: Expr,
        why: str,
        vertex: str = "",
        size: int = 0,
        body: Body | None = None,
        result: str = "",
    ) -> Note:
        """Return a note for an expression, with its formula truncated for display."""
        name = f"{expr.label} = " if expr.label else ""
        shown = name + formula(expr, SHOWN // 2)
        return cls(what, shown, why, vertex, size, body, expr.origin, result)

    def __str__(self) -> str:
        shown = f"{self.what}: {clipped_text(self.formula, SHOWN)}"
        by = f", by {self.vertex}" if self.vertex else ""
        size = f", {self.bytes:,} B" if self.bytes else ""
        why = f" ({self.why})" if self.why else ""
        lines = [] if self.body is None else written(self.body).lines[:LINES_SHOWN]
        return "\n    ".join([f"{shown}{by}{size}{why}", *lines])


NOTES: WeakKeyDictionary[Graph, dict[tuple[str, Shape], list[Note]]] = WeakKeyDictionary()
"""The notes for each result, by name and shape: a tensor would keep the graph alive."""
