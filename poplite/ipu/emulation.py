"""What a tile would have to emulate in a `compute`, or would do dearly.

A tile computes floats of 32 and 16 bits and ints of 32 bits. Doubles, and divisions of 64-bit ints,
are calls of software there::

    x = (i + 0.5) * self.step       i + 0.5 is a double, of an index and a literal
    if self.n < 0.5:                n becomes a double, to be compared with one
    k = self.n // 3                 ints have 64 bits, whatever the field has

So are functions of `math` other than `exp` of a float32, whose kernels compute in double, and
`pl.fma`, for which a tile has no instruction. Stores of
less than 4 bytes change a whole word of memory, which two workers must not do at once.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from poplite.ipu.codelets.class_text import own_text
from poplite.ipu.findings import Finding
from poplite.vertex.compute import check
from poplite.vertex.compute.mathematics.functions import KERNELS
from poplite.vertex.compute.parse.constants import Constants
from poplite.vertex.compute.parse.dialect import BINARY
from poplite.vertex.compute.typing.facts import Checked
from poplite.vertex.compute.typing.kinds import Kind, binary_kind
from poplite.vertex.compute.typing.values import ElementsValue, LanesOf
from poplite.vertex.fields import Field
from poplite.vertex.vertex import MultiVertex, Vertex

WORD = 4
"""Bytes that a tile stores at a time."""

_OF_FLOATS = frozenset(
    {"as_float", "fabs", "round_down", "round_up", "round_to_zero", "round_to_even"}
)
"""Functions that make a double of an int."""

_OF_DOUBLES = (_OF_FLOATS - {"as_float"}) | frozenset(
    {"minimum", "maximum", "smaller", "larger", "truncate", "floor", "ceil", "as_HALF"}
    | {"as_UNSIGNED_LONGLONG"}
)
"""Functions that, of a double, compute in double; `pl.FLOAT` only rounds it."""


def emulated(vertex: type[Vertex]) -> list[Finding]:
    """Return what a tile would emulate, and stores of parts of words by several workers.

    A class whose `cpp` stands for its `compute` has none. Raises `VertexCompileError` when
    `compute` is outside the dialect.
    """
    if own_text(vertex) is not None:
        return []
    found: dict[tuple[object, ...], Finding] = {}
    for function in check(vertex).functions():
        for each in _of_function(function):
            found.setdefault((each.rule, each.at, each.what), each)
    return list(found.values())


def _of_function(checked: Checked) -> Iterator[Finding]:
    stores_by_workers = issubclass(checked.vertex, MultiVertex)
    for node in _in_order(checked.text.tree):
        if isinstance(node, ast.BinOp | ast.AugAssign):
            yield from _operation(checked, node)
        elif isinstance(node, ast.Compare):
            yield from _comparison(checked, node)
        elif isinstance(node, ast.Call) and node in checked.facts.calls:
            yield from _function(checked, node)
        if stores_by_workers:
            field = _stored(checked, node)
            if field is not None and field.element.size_bytes < WORD:
                yield _by_workers(checked, node, field)


def _in_order(tree: ast.AST) -> list[ast.AST]:
    nodes = [node for node in ast.walk(tree) if hasattr(node, "lineno")]
    return sorted(nodes, key=lambda node: (node.lineno, node.col_offset))  # type: ignore[attr-defined]


def _operation(checked: Checked, node: ast.BinOp | ast.AugAssign) -> Iterator[Finding]:
    left = node.target if isinstance(node, ast.AugAssign) else node.left
    right = node.value if isinstance(node, ast.AugAssign) else node.right
    kinds, constants = checked.facts.kinds, Constants(checked.scope)
    if left not in kinds or right not in kinds:  # they are lanes
        return
    if isinstance(node, ast.BinOp) and constants.evaluate(node) is not None:
        return
    symbol = BINARY[type(node.op)]
    kind = binary_kind(symbol, kinds[left], kinds[right])
    text = ast.unparse(node)
    if kind is Kind.FLOAT:
        if not any(_is_made_double(checked, part) for part in (left, right)):
            yield _double(checked, node)
    elif symbol in ("//", "%") and kind in (Kind.INT, Kind.UINT):
        divisor = constants.evaluate(right)
        if isinstance(divisor, int) and divisor > 0 and divisor & (divisor - 1) == 0:
            return
        yield _finding(
            checked,
            node,
            "division",
            f"'{text}' divides 64-bit ints, which a tile emulates",
            "divide by a power of two, count along in the loop, or hand the quotient over as State",
        )


def _comparison(checked: Checked, node: ast.Compare) -> Iterator[Finding]:
    kinds, constants = checked.facts.kinds, Constants(checked.scope)
    for pair in pairwise([node.left, *node.comparators]):
        if any(each not in kinds or _is_made_double(checked, each) for each in pair):
            continue
        is_fixed = all(constants.evaluate(each) is not None for each in pair)
        if max(kinds[each] for each in pair) is Kind.FLOAT and not is_fixed:
            yield _double(checked, node)


def _double(checked: Checked, node: ast.expr | ast.AugAssign) -> Finding:
    return _finding(
        checked,
        node,
        "double",
        f"'{ast.unparse(node)}' is computed in 64-bit float, which a tile emulates",
        "write pl.FLOAT(...) around one of the numbers",
    )


def _is_made_double(checked: Checked, node: ast.expr) -> bool:
    """Return whether an operand is an operation in double itself, which is found as such."""
    is_number = isinstance(node, ast.Name) or Constants(checked.scope).evaluate(node) is not None
    return checked.facts.kinds[node] is Kind.FLOAT and not is_number


def _function(checked: Checked, node: ast.Call) -> Iterator[Finding]:
    name, kind = checked.facts.calls[node], checked.facts.kinds.get(node)
    if name == "fma":
        yield _finding(
            checked,
            node,
            "double",
            f"'{ast.unparse(node)}' is a call of the library on a tile, which computes in "
            "64-bit float inside",
            "write x * y + z, which is rounded twice, or give the class a cpp of its own",
        )
        return
    if name not in KERNELS:
        if _computes_in_double(checked, node, name):
            yield _finding(
                checked,
                node,
                "double",
                f"'{ast.unparse(node)}' is computed in 64-bit float, which a tile emulates",
                "write pl.FLOAT(...) in place of float(...)"
                if name == "as_float"
                else "write pl.FLOAT(...) around the argument",
            )
        return
    if name == "exp" and kind is Kind.F32:
        return
    fix = (
        "call it once for each vertex and not for each element, or give the class a cpp of its own"
    )
    if kind is Kind.FLOAT:
        fix = f"write pl.FLOAT(...) around the argument; {fix}" if name == "exp" else fix
    yield _finding(
        checked,
        node,
        "double",
        f"'{ast.unparse(node)}' is computed in 64-bit float inside, which a tile emulates",
        fix,
    )


def _computes_in_double(checked: Checked, node: ast.Call, name: str) -> bool:
    """Return whether a function that is no kernel makes a double, or takes one that is made."""
    facts, constants = checked.facts, Constants(checked.scope)
    numbers = [each for each in node.args if each in facts.kinds]
    kinds = [facts.kinds[each] for each in numbers]
    if not kinds or all(constants.evaluate(each) is not None for each in node.args):
        return False
    if name == "sqrt":
        return max(kinds) is Kind.FLOAT or facts.kinds.get(node) is Kind.FLOAT
    if name in _OF_FLOATS and max(kinds) < Kind.FLOAT:
        return True
    is_made = any(_is_made_double(checked, each) for each in numbers)
    return name in _OF_DOUBLES and max(kinds) is Kind.FLOAT and not is_made


def _stored(checked: Checked, node: ast.AST) -> Field | None:
    """Return the field that a node stores in; None where it does not store."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return checked.vertex.fields[node.attr]
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        owner = checked.facts.containers.get(node.value)
        return owner.field if isinstance(owner, ElementsValue) else None
    is_lanes = isinstance(node, ast.Call) and node in checked.facts.lane_accesses
    if is_lanes and len(node.args) == 2 and isinstance(node.func, ast.Attribute):  # type: ignore[attr-defined]
        owner = checked.facts.containers.get(node.func.value)  # type: ignore[attr-defined]
        value = checked.facts.containers.get(node.args[1])  # type: ignore[attr-defined]
        if isinstance(owner, ElementsValue) and isinstance(value, LanesOf):
            return owner.field
    return None


def _by_workers(checked: Checked, node: ast.AST, field: Field) -> Finding:
    return _finding(
        checked,
        node,
        "sub-word store",
        f"workers store '{field.name}', elements of {field.element.size_bytes} "
        f"byte{'s' * (field.element.size_bytes > 1)}: two of them may change one word of {WORD}",
        f"give each worker a multiple of {WORD // field.element.size_bytes} elements, side by side",
    )


def _finding(checked: Checked, node: ast.AST, rule: str, what: str, fix: str) -> Finding:
    place = checked.scope.place(node)
    return Finding(rule, checked.scope.label, what, place, checked.text.line(place.line), fix)
