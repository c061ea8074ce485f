"""A tree as numbered lines of `compute`, in which equal parts stand once.

    (x - y) ** 2 * 0.5          v0 = a0 - a1
                                v1 = v0 * v0
                                v2 = v1 * k0

What differs between expressions of one structure stands outside: tensors `a0`, `a1`, ... and
numbers `k0`, `k1`, ..., which are fields of the vertex. So another learning rate compiles nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from poplite.expr.operations import CAST, HELPERS, cast_text
from poplite.expr.tree import Applied, ElementClass, Expr, Leaf, Number
from poplite.graph.tensor.tensor import Tensor
from poplite.types import BOOL, FLOAT, LONGLONG, UNSIGNED_LONGLONG

UNSIGNED = {
    "CHAR": "UNSIGNED_CHAR",
    "SIGNED_CHAR": "UNSIGNED_CHAR",
    "SHORT": "UNSIGNED_SHORT",
    "INT": "UNSIGNED_INT",
    "LONGLONG": "UNSIGNED_LONGLONG",
}
"""The unsigned types of signed ones; others stand for themselves."""


@dataclass(slots=True, eq=False)
class Straight:
    """The lines of a tree.

    Attributes:
        lines: assignments to `v0`, `v1`, ..., in an order in which they can run.
        result: the name of the result: the last line, a leaf or a number.
        tensors: the leaves, `a0` first.
        numbers: `k0` first.
        helpers: names of the functions of `HELPERS` that the lines call.
        types: names of the element types that they call.
    """

    lines: list[str] = field(default_factory=list)
    result: str = ""
    tensors: list[Tensor] = field(default_factory=list)
    numbers: list[Number] = field(default_factory=list)
    helpers: set[str] = field(default_factory=set)
    types: set[str] = field(default_factory=set)


def straight(root: Expr, stored: Mapping[Expr, Tensor]) -> Straight:
    """Return the lines of a tree; nodes in `stored`, but for the root itself, are leaves.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, y = (graph.add_variable(pl.HALF, (4,), name) for name in "xy")
    >>> straight((x - y) * (x - y), {}).lines
    ['v0 = HALF(a0 - a1)', 'v1 = HALF(v0 * v0)']
    """
    made = Straight()
    names: dict[Expr, str] = {}
    leaves: dict[Tensor, str] = {}
    known: dict[tuple[object, ...], str] = {}

    def leaf(tensor: Tensor) -> str:
        if tensor not in leaves:
            leaves[tensor] = f"a{len(made.tensors)}"
            made.tensors.append(tensor)
        return leaves[tensor]

    for node in in_order(root, stored):
        if node in stored and node is not root:
            names[node] = leaf(stored[node])
        elif isinstance(node, Leaf):
            assert isinstance(node.tensor, Tensor)
            names[node] = leaf(node.tensor)
        elif isinstance(node, Number):
            names[node] = f"k{len(made.numbers)}"
            made.numbers.append(node)
        else:
            assert isinstance(node, Applied), type(node)
            operands = [names[each] for each in node.operands]
            key = (node.operation, node.element_type, *operands)
            if key not in known:
                known[key] = f"v{len(made.lines)}"
                made.lines.append(f"{known[key]} = {_text(node, operands, made)}")
            names[node] = known[key]
    made.result = names[root]
    return made


def in_order(root: Expr, stored: Mapping[Expr, Tensor]) -> list[Expr]:
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


def _text(node: Applied, operands: list[str], made: Straight) -> str:
    """Return what a node computes, stored in its element type."""
    operation, element = node.operation, node.element_type
    source = node.operands[0].element_type
    if operation is CAST:
        text, is_exact = cast_text(source, element), True
    else:
        found = operation.text_for(source)
        assert found is not None
        text, is_exact = found, operation.is_exact
    unsigned = UNSIGNED.get(source.__name__, source.__name__)
    bits = str(source.size_bytes * 8)
    written = text.format(*operands, U=unsigned, bits=bits)
    made.helpers |= {name for name in operation.helpers if f"{name}(" in written}
    made.types |= {each for each in (unsigned, element.__name__) if f"{each}(" in written}
    if is_exact or _is_stored_so(element):
        return written
    made.types.add(element.__name__)
    return f"{element.__name__}({written})"


def _is_stored_so(element: ElementClass) -> bool:
    """Return whether every operation gives numbers of the type already."""
    return element in (FLOAT, BOOL, LONGLONG, UNSIGNED_LONGLONG)


def helper_texts(names: set[str]) -> list[str]:
    """Return the functions that lines call, and those that these call."""
    needed = {name for name in HELPERS if any(name in HELPERS[each] for each in names)}
    return [HELPERS[name].strip("\n") for name in HELPERS if name in needed | names]
