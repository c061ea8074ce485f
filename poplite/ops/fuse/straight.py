"""A tree as numbered lines, in which equal parts stand once.

    (x - y) ** 2 * 0.5          v0 = a0 - a1
                                v1 = v0 * v0
                                v2 = v1 * k0

What differs between expressions of one structure stands outside: tensors `a0`, `a1`, ... and
numbers `k0`, `k1`, ..., which are fields of the vertex. So another learning rate compiles nothing.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import NamedTuple

from poplite.expr.operations import CAST, HELPERS, OPERATIONS, cast_text
from poplite.expr.tree import Applied, ElementClass, Expr, Leaf, Number
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.fuse.recipe import Body, Line
from poplite.types import BOOL, FLOAT, LONGLONG, UNSIGNED_LONGLONG

UNSIGNED = {
    "CHAR": "UNSIGNED_CHAR",
    "SIGNED_CHAR": "UNSIGNED_CHAR",
    "SHORT": "UNSIGNED_SHORT",
    "INT": "UNSIGNED_INT",
    "LONGLONG": "UNSIGNED_LONGLONG",
}
"""The unsigned types of signed ones; others stand for themselves."""


class Straight(NamedTuple):
    """An expression as lines, and what its names stand for.

    Attributes:
        body: the lines.
        tensors: the leaves, `a0` first.
        numbers: `k0` first.
    """

    body: Body
    tensors: list[Tensor]
    numbers: list[Number]


def straight(root: Expr, stored: Mapping[Expr, Tensor]) -> Straight:
    """Return the lines of a tree; nodes in `stored`, but for the root itself, are leaves.

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
    """Return the nodes of a tree, each once, behind its operands; none below a stored one."""
    found: list[Expr] = []
    seen: set[Expr] = set()
    waiting: list[tuple[Expr, bool]] = [(root, False)]
    while waiting:
        node, is_done = waiting.pop()
        if is_done:
            found.append(node)
        elif node not in seen:
            seen.add(node)
            waiting.append((node, True))
            if node is root or node not in stored:
                waiting += [(each, False) for each in reversed(node.operands)]
    return found


class WrittenLines(NamedTuple):
    """Lines as `compute` has them.

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
    """Return what a line computes of operands of a type, stored in its own."""
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
    """Return whether every operation gives numbers of the type already."""
    return element in (FLOAT, BOOL, LONGLONG, UNSIGNED_LONGLONG)


def helper_texts(names: set[str]) -> list[str]:
    """Return the functions that lines call, and those that these call."""
    needed = {name for name in HELPERS if any(name in HELPERS[each] for each in names)}
    return [HELPERS[name].strip("\n") for name in HELPERS if name in needed | names]
