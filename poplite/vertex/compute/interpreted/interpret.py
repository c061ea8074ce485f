"""The interpreted form: `compute` as Python that computes what the compiled form computes.

The method's own syntax tree is compiled again, under the user's file name and line numbers,
with every operation replaced by its function in `poplite.vertex.compute.arithmetic` and
every use of a narrower value widened where `infer` says so::

    x = (i + 0.5) * self.step    ->    x = multiply(add(i, 0.5), self.step)

Break points, stepping and tracebacks therefore work in the user's text.  A function that
`compute` calls is compiled in the same way, once for each kinds of its arguments, and the
calls lead straight to it::

    self.y = self.near(x, 1)    ->    self.y = @near1(self, x, 1)
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping
from types import CodeType, FunctionType, TracebackType
from typing import Any

import numpy as np

from poplite.source import SourceLocation
from poplite.vertex.compute.identity import remembered
from poplite.vertex.compute.interpreted.trapping import trapping
from poplite.vertex.compute.typing.facts import Checked, Facts, in_order
from poplite.vertex.compute.typing.kinds import Kind
from poplite.vertex.vertex import Vertex

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

_CASTS = {
    Kind.INT: "positive",
    Kind.UINT: "as_unsigned",
    Kind.FLOAT: "as_float",
    Kind.F32: "as_f32",
}


def interpreted(vertex: type[Vertex], traps: int = 0) -> Callable[..., bool | None]:
    """Return the interpreted form of `compute`.

    Args:
        vertex: the vertex class.
        traps: what stops it, by the bits of `poplite.machine.floating_point`.

    Returns:
        A function that runs one vertex, on an `InterpretedSelf`, and returns what `compute` does.

    Raises:
        VertexCompileError: when `compute` is outside the dialect, or has no text.
    """

    def made(checked: Checked) -> Callable[..., bool | None]:
        return np.errstate(all="ignore")(_Compiler(traps).compiled(checked))

    return remembered(vertex, ("interpreted form", traps), made)


def calls_in(traceback: TracebackType | None) -> list[SourceLocation]:
    """Return the lines of `compute`, and of what it called, that led to an error.

    Args:
        traceback: of an error that an interpreted form raised.

    Returns:
        The lines, the one that failed first.
    """
    lines: list[SourceLocation] = []
    while traceback is not None:
        if _ARITHMETIC in traceback.tb_frame.f_globals:
            code = traceback.tb_frame.f_code
            lines.insert(0, SourceLocation(code.co_filename, traceback.tb_lineno, code.co_name))
        traceback = traceback.tb_next
    return lines


class _Compiler:
    """Compiles a `compute` and the functions that it calls.

    Args:
        traps: what stops it.
    """

    def __init__(self, traps: int) -> None:
        self._arithmetic = trapping(traps)
        self._compiled: dict[Checked, Callable[..., Any]] = {}

    def compiled(self, checked: Checked) -> Callable[..., Any]:
        """Return the interpreted form of one function."""
        if checked not in self._compiled:
            self._compiled[checked] = self._compile(checked)
        return self._compiled[checked]

    def _compile(self, checked: Checked) -> Callable[..., Any]:
        callees = dict.fromkeys(in_order(checked.facts.helpers))
        names = {callee: f"@{callee.text.tree.name}{n}" for n, callee in enumerate(callees, 1)}
        raised = dict.fromkeys(in_order(checked.facts.exceptions))
        exceptions = {cls: f"@{cls.__name__}{n}" for n, cls in enumerate(raised, 1)}
        # One copy: facts keep pointing at nodes.  Callees stay what they are.
        kept: dict[int, Any] = {id(callee): callee for callee in callees}
        tree, facts = copy.deepcopy((checked.text.tree, checked.facts), kept)
        tree = _Instrument(facts, checked, names, exceptions).visit(tree)
        module = ast.fix_missing_locations(ast.Module([tree], []))
        function = checked.function
        code = compile(module, function.__code__.co_filename, "exec", dont_inherit=True)
        inner = next(const for const in code.co_consts if isinstance(const, CodeType))
        visible: dict[str, Any] = {"__name__": function.__module__, _ARITHMETIC: self._arithmetic}
        visible |= {names[callee]: self.compiled(callee) for callee in callees}
        visible |= {name: cls for cls, name in exceptions.items()}
        return FunctionType(inner, visible, argdefs=function.__defaults__)


class _Instrument(ast.NodeTransformer):
    """Replaces operations by calls; consumes the tree it visits.

    What `visit` returns is Any, as in `ast`: a node of whatever class belongs there.
    """

    def __init__(
        self,
        facts: Facts,
        checked: Checked,
        names: Mapping[Checked, str],
        exceptions: Mapping[type[Exception], str],
    ) -> None:
        self._facts, self._checked = facts, checked
        self._names, self._exceptions = names, exceptions
        self._temporaries = 0

    def _kept(self, value: ast.expr) -> tuple[ast.expr, ast.expr]:
        """Return an expression that keeps a value, and one that gives it again."""
        self._temporaries += 1
        name = f"@kept{self._temporaries}"
        kept = ast.NamedExpr(ast.Name(name, ast.Store()), value)
        return ast.copy_location(kept, value), ast.Name(name, ast.Load())

    def visit(self, node: ast.AST) -> Any:
        if not isinstance(node, ast.expr):
            return super().visit(node)
        if node in self._facts.constants:
            return ast.copy_location(ast.Constant(self._facts.constants[node]), node)
        if node in self._facts.exceptions:
            name = self._exceptions[self._facts.exceptions[node]]
            return ast.copy_location(ast.Name(name, ast.Load()), node)
        new: ast.expr = super().visit(node)
        is_target = isinstance(getattr(node, "ctx", None), ast.Store)
        return new if is_target else self._widened(node, new)

    def _widened(self, node: ast.expr, value: ast.expr) -> ast.expr:
        kind = self._facts.casts.get(node)
        return value if kind is None else _call(node, _CASTS[kind], value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        parameters = [ast.arg(arg.arg) for arg in node.args.args]
        arguments = ast.arguments([], parameters, None, [], [], None, [])
        body = [self.visit(statement) for statement in node.body]
        return ast.copy_location(ast.FunctionDef(node.name, arguments, body, [], None), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.Assign:
        assert node.value is not None
        return ast.copy_location(ast.Assign([node.target], self.visit(node.value)), node)

    def visit_Return(self, node: ast.Return) -> ast.Return:
        """Widen what is returned to what the function returns on other paths."""
        kind = None if node.value is None else self._facts.kinds.get(node.value)
        if node.value is not None:
            node.value = self.visit(node.value)
        result = self._checked.result
        if kind is not None and result is not None and kind is not result.kind:
            assert node.value is not None
            node.value = _call(node, _CASTS[result.kind], node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.Assign:
        target = self.visit(node.target)
        old = copy.deepcopy(target)
        old.ctx = ast.Load()
        if isinstance(target, ast.Subscript):  # a helper may stand in it: evaluate it once
            old.value, target.value = self._kept(target.value)
            old.slice, target.slice = self._kept(target.slice)
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
                right, following = self._kept(right)
            tests.append(_call(node, _OPERATIONS[type(op)], left, right))
            left = following
        whole = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
        return ast.copy_location(whole, node)

    def visit_Call(self, node: ast.Call) -> ast.Call:
        helper, name = self._facts.helpers.get(node), self._facts.calls.get(node)
        node.args = [self.visit(arg) for arg in node.args]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        if name is not None:
            return _call(node, name, *node.args)
        if helper is not None:
            node.func = ast.Name(self._names[helper], ast.Load())
            if helper.scope.takes_self:
                node.args.insert(0, ast.Name("self", ast.Load()))
        elif node in self._facts.debugging:
            node.func = ast.Name(self._facts.debugging[node], ast.Load())
        else:
            node.func = self.visit(node.func)
        return node

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.FormattedValue:
        """Show numbers as `print` does: NumPy has other digits for `{x}`, a name in `{x!r}`."""
        self.generic_visit(node)
        if node.format_spec is None or node.conversion != -1:
            node.conversion = ord("s")
        return node


def _call(node: ast.AST, operation: str, *args: ast.expr) -> ast.Call:
    function = ast.Attribute(ast.Name(_ARITHMETIC, ast.Load()), operation, ast.Load())
    return ast.copy_location(ast.Call(function, list(args), []), node)
