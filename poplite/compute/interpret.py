"""The interpreted form: `compute` as Python that computes what the compiled form computes.

The method's own syntax tree is compiled again, under the user's file name and line numbers,
with every operation replaced by its function in `poplite.compute.arithmetic` and every use
of a narrower value widened where `infer` says so::

    x = (i + 0.5) * self.step    ->    x = multiply(add(i, 0.5), self.step)

Break points, stepping and tracebacks therefore work in the user's text.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from poplite.compute import arithmetic
from poplite.compute.constants import Constants
from poplite.compute.dialect import scope_of
from poplite.compute.expressions import Facts
from poplite.compute.fields import InterpretedSelf
from poplite.compute.infer import infer
from poplite.compute.kinds import Kind
from poplite.compute.source_text import SourceText, read
from poplite.errors import VertexCompileError
from poplite.vertex import Vertex

_ARITHMETIC = "@arithmetic"  # no identifier, so no name of the user's can hide it

_OPERATIONS: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "modulo",
    ast.Pow: "power",
    ast.LShift: "left_shift",
    ast.RShift: "right_shift",
    ast.BitAnd: "bit_and",
    ast.BitOr: "bit_or",
    ast.BitXor: "bit_xor",
    ast.USub: "negative",
    ast.UAdd: "positive",
    ast.Invert: "invert",
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
}

_CASTS = {Kind.INT: "positive", Kind.FLOAT: "as_float", Kind.F32: "as_f32"}


@dataclass(frozen=True, slots=True)
class Checked:
    """A `compute` that keeps to the dialect.

    Attributes:
        vertex: the vertex class.
        text: the text of its `compute`.
        facts: what is known about the text.
    """

    vertex: type[Vertex]
    text: SourceText
    facts: Facts


_checked: dict[type[Vertex], Checked] = {}
_interpreted: dict[type[Vertex], tuple[Checked, Callable[[InterpretedSelf], None]]] = {}


def check(vertex: type[Vertex]) -> Checked:
    """Check that `compute` keeps to the dialect and that all its numbers have a kind.

    The answer is kept as long as the numbers outside `compute` that it names stay as they are.

    Args:
        vertex: the vertex class.

    Returns:
        What was found.

    Raises:
        VertexCompileError: at the first line that is outside the dialect, and when there is
            no text to check.
    """
    known = _checked.get(vertex)
    if known is not None and _is_current(known):
        return known
    function = vertex.compute
    text = read(function) if isinstance(function, FunctionType) else None
    if text is None:
        raise VertexCompileError(
            f"'{vertex.__name__}.compute': there is no source text to check",
            at=vertex.location,
            found="the class comes from a string, or its file changed since it was imported",
            fix="put the class into a file or a notebook cell, or run the program again",
        )
    _checked[vertex] = Checked(vertex, text, infer(scope_of(vertex, text)))
    return _checked[vertex]


def _is_current(checked: Checked) -> bool:
    if checked.text.function is not checked.vertex.compute:
        return False
    constants = Constants(scope_of(checked.vertex, checked.text))
    return all(
        repr(constants.named(node)) == repr(value)
        for node, value in checked.facts.constants.items()
    )


def interpreted(vertex: type[Vertex]) -> Callable[[InterpretedSelf], None]:
    """Return the interpreted form of `compute`.

    Args:
        vertex: the vertex class.

    Returns:
        A function that runs one vertex, on an `InterpretedSelf`.

    Raises:
        VertexCompileError: when `compute` is outside the dialect, or has no text.
    """
    checked = check(vertex)
    known = _interpreted.get(vertex)
    if known is None or known[0] is not checked:
        compute = _compiled(checked.text, checked.facts, vertex.__module__)
        known = _interpreted[vertex] = checked, np.errstate(all="ignore")(compute)
    return known[1]


def _compiled(text: SourceText, facts: Facts, module: str) -> Callable[[InterpretedSelf], None]:
    tree, facts = copy.deepcopy((text.tree, facts))  # one copy: facts keep pointing at nodes
    tree = _Instrument(facts).visit(tree)
    module_tree = ast.fix_missing_locations(ast.Module([tree], []))
    code = compile(
        module_tree,
        text.function.__code__.co_filename,
        "exec",
        dont_inherit=True,
    )
    inner = next(const for const in code.co_consts if isinstance(const, CodeType))
    return FunctionType(inner, {"__name__": module, _ARITHMETIC: arithmetic})


class _Instrument(ast.NodeTransformer):
    """Replaces operations by calls; consumes the tree it visits.

    What `visit` returns is Any, as in `ast`: a node of whatever class belongs there.
    """

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._temporaries = 0

    def visit(self, node: ast.AST) -> Any:
        if not isinstance(node, ast.expr):
            return super().visit(node)
        if node in self._facts.constants:
            return ast.copy_location(ast.Constant(self._facts.constants[node]), node)
        new: ast.expr = super().visit(node)
        is_target = isinstance(getattr(node, "ctx", None), ast.Store)
        return new if is_target else self._widened(node, new)

    def _widened(self, node: ast.expr, value: ast.expr) -> ast.expr:
        kind = self._facts.casts.get(node)
        return value if kind is None else _call(node, _CASTS[kind], value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        arguments = ast.arguments([], [ast.arg("self")], None, [], [], None, [])
        body = [self.visit(statement) for statement in node.body]
        return ast.copy_location(ast.FunctionDef(node.name, arguments, body, [], None), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.Assign:
        assert node.value is not None
        return ast.copy_location(ast.Assign([node.target], self.visit(node.value)), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.Assign:
        target = self.visit(node.target)
        old = copy.deepcopy(target)
        old.ctx = ast.Load()
        operation = _OPERATIONS[type(node.op)]
        new = _call(node, operation, self._widened(node.target, old), self.visit(node.value))
        return ast.copy_location(ast.Assign([target], new), node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.Call:
        operation = _OPERATIONS[type(node.op)]
        return _call(node, operation, self.visit(node.left), self.visit(node.right))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        operand = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return ast.copy_location(ast.UnaryOp(node.op, operand), node)
        return _call(node, _OPERATIONS[type(node.op)], operand)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """Turn `a < b < c` into `less(a, t := b) and less(t, c)`."""
        tests: list[ast.expr] = []
        left: ast.expr = self.visit(node.left)
        last = node.comparators[-1]
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right: ast.expr = self.visit(comparator)
            following = right
            if comparator is not last:
                self._temporaries += 1
                name = f"@middle{self._temporaries}"
                right = ast.NamedExpr(ast.Name(name, ast.Store()), right)
                following = ast.Name(name, ast.Load())
            tests.append(_call(node, _OPERATIONS[type(op)], left, right))
            left = following
        whole = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
        return ast.copy_location(whole, node)

    def visit_Call(self, node: ast.Call) -> ast.Call:
        node.args = [self.visit(arg) for arg in node.args]
        name = self._facts.calls.get(node)
        return node if name is None else _call(node, name, *node.args)


def _call(node: ast.AST, operation: str, *args: ast.expr) -> ast.Call:
    function = ast.Attribute(ast.Name(_ARITHMETIC, ast.Load()), operation, ast.Load())
    return ast.copy_location(ast.Call(function, list(args), []), node)
