"""The interpreted form: `compute` as Python that computes what the compiled form computes.

The method's own syntax tree is compiled again, with the user's file name and line numbers.
Operators remain where they have bit-identical results after operands are cast; others become calls
of functions in `poplite.vertex.compute.arithmetic`.  Values are widened where `infer` found it
necessary::

    x = (i + 0.5) * self.step    ->    x = as_f32(float(i) + 0.5) * self.step
    y = n / 2                    ->    y = divide(n, 2)

Breakpoints, stepping and tracebacks therefore work in the user's text.  A function that
`compute` calls is compiled in the same way, once for each combination of argument kinds, and is
called directly::

    self.y = self.near(x, 1)    ->    self.y = @near1(self, x, 1)

The kinds of both operands are known before a vertex runs, so Python's operators can be used for::

    float32 op float32       NumPy's scalars: one operation, rounded once
    weak op float32          the weak one is cast first, a literal when the text is compiled
    int op int               Python's ints; results that may exceed 64 bits are wrapped
    float op float           doubles; `/`, `//` and `%` raise for 0 in Python, so those are calls

Everything else, and everything that may trap, calls `poplite.vertex.compute.arithmetic`.
"""

from __future__ import annotations

import ast
import copy
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FunctionType, TracebackType
from typing import Any, Literal, NoReturn

import numpy as np

from poplite.errors import VertexCompileError
from poplite.source import SourceLocation
from poplite.vertex.compute import arithmetic, lanes
from poplite.vertex.compute.arithmetic import Kind, trapping
from poplite.vertex.compute.dialect import OPERATIONS
from poplite.vertex.compute.source_text import SHALLOWER, copied
from poplite.vertex.compute.typed_facts import Checked, Facts, in_order

_ARITHMETIC = "@arithmetic"  # not an identifier, so no user's name can hide it
_LANES = "@lanes"
_TURN = "@turn"

_BUILTINS = (abs, bool, float, max, min, range)
"""Built-ins that are used as operations; in the text their names also begin with `@`."""

_UNARY: Mapping[type[ast.unaryop], Callable[[Any], int]] = {
    ast.USub: operator.neg,
    ast.Invert: operator.invert,
}

_CASTS = {
    Kind.INT: "positive",
    Kind.UINT: "as_unsigned",
    Kind.FLOAT: "as_float",
    Kind.F32: "as_f32",
}


MOST_TURNS = 1 << 20
"""Maximum number of `while` iterations of one vertex that `bounded` runs."""


class TooManyTurns(Exception):
    """The `while` loops of a vertex made more than `MOST_TURNS` iterations."""


class Turns:
    """Counts the iterations of `while` loops."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Start counting for another vertex."""
        self._left = MOST_TURNS

    def __call__(self) -> bool:
        """Count an iteration, before its condition is tested; return True."""
        self._left -= 1
        if self._left < 0:
            raise TooManyTurns
        return True


def bounded_form(checked: Checked) -> tuple[Callable[..., bool | None], Turns]:
    """Return an interpreted form that raises `TooManyTurns`, and its counter of iterations."""
    turns = Turns()
    return _new_form(checked, 0, turns), turns


def compiled_when_called(checked: Checked, traps: int) -> Callable[..., bool | None]:
    """Return a function that runs one vertex; it is compiled when it is first called."""
    forms: list[Callable[..., bool | None]] = []

    def form(*arguments: Any) -> bool | None:
        if not forms:
            forms.append(_new_form(checked, traps))
        return forms[0](*arguments)

    return form


def _new_form(
    checked: Checked, traps: int, turns: Turns | None = None
) -> Callable[..., bool | None]:
    """Return the interpreted form; this is recursive, with a few calls per level of nesting."""
    try:
        return _Compiler(traps, turns).compiled(checked)
    except RecursionError as error:
        raise VertexCompileError(
            f"'{checked.scope.label}': its text is nested too deeply for the current depth of "
            "calls",
            at=checked.scope.place(checked.text.tree),
            found=f"Python's limit of {sys.getrecursionlimit():,} nested calls was reached",
            fix=f"run the engine from fewer nested calls, or {SHALLOWER}",
        ) from error


def calls_in(traceback: TracebackType | None) -> list[SourceLocation]:
    """Return the lines of `compute` and what it called that led to an error, innermost first."""
    lines: list[SourceLocation] = []
    while traceback is not None:
        if _ARITHMETIC in traceback.tb_frame.f_globals:
            code = traceback.tb_frame.f_code
            lines.insert(0, SourceLocation(code.co_filename, traceback.tb_lineno, code.co_name))
        traceback = traceback.tb_next
    return lines


def raised_at(place: SourceLocation, error: Exception) -> NoReturn:
    """Raise an error from a line of a text that is not Python, where `calls_in` finds it."""
    text = "\n" * (place.line - 1) + "raise error"
    code = compile(text, place.file, "exec").replace(co_name=place.function)
    exec(code, {"error": error, _ARITHMETIC: None})
    raise AssertionError("the code raises")


class _Compiler:
    """Compiles a `compute` and the functions that it calls."""

    def __init__(self, traps: int, turns: Turns | None) -> None:
        self._arithmetic, self._turns = trapping(traps), turns
        self._may_trap = self._arithmetic is not arithmetic
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
        # Copied together, so that facts refer to nodes of the copied tree.  Callees are not copied.
        kept: dict[int, Any] = {id(callee): callee for callee in callees}
        tree = copied(checked.text.tree, kept)
        facts = copy.deepcopy(checked.facts, kept)
        numbers: dict[str, np.float32] = {}
        instrument = _Instrument(
            facts, checked, names, exceptions, numbers, may_trap=self._may_trap
        )
        tree = instrument.visit(tree)
        tree = tree if self._turns is None else _CountingTurns().visit(tree)
        module = ast.fix_missing_locations(ast.Module([tree], []))
        function = checked.function
        code = compile(module, checked.text.code.co_filename, "exec", dont_inherit=True)
        inner = next(const for const in code.co_consts if isinstance(const, CodeType))
        visible: dict[str, Any] = {"__name__": function.__module__, _ARITHMETIC: self._arithmetic}
        visible[_LANES], visible[_TURN] = lanes, self._turns
        visible |= {names[callee]: self.compiled(callee) for callee in callees}
        visible |= {name: cls for cls, name in exceptions.items()}
        visible |= numbers | {f"@{known.__name__}": known for known in _BUILTINS}
        return FunctionType(inner, visible, argdefs=checked.text.defaults)


class _Instrument(ast.NodeTransformer):
    """Replaces operations; consumes the tree it visits.

    `names` and `exceptions` are the names of called functions and raised classes in the new text.
    Literals as float32 are put into `numbers` by name.  With `may_trap`, every operation becomes a
    call.  The return type of `visit` is Any, as in `ast`, since the class of the node varies.
    """

    def __init__(
        self,
        facts: Facts,
        checked: Checked,
        names: Mapping[Checked, str],
        exceptions: Mapping[type[Exception], str],
        numbers: dict[str, np.float32],
        *,
        may_trap: bool,
    ) -> None:
        self._facts, self._checked = facts, checked
        self._names, self._exceptions = names, exceptions
        self._numbers, self._may_trap = numbers, may_trap
        self._temporaries = 0
        self._tested: set[ast.expr] = set()

    def _kind(self, node: ast.expr) -> Kind | None:
        """Return the kind of a number as written; None if all operations become calls."""
        return None if self._may_trap else self._facts.kinds.get(node)

    def _as(self, kind: Kind, value: ast.expr, known: Kind | None) -> ast.expr:
        """Cast an operand of a known kind; a literal is cast immediately."""
        if known is kind or kind <= Kind.INT:
            return value
        if not isinstance(value, ast.Constant):
            if kind is Kind.FLOAT:
                return _builtin(value, "float", value)
            return _call(value, _CASTS[kind], value)
        number: Any = value.value
        if kind is Kind.FLOAT:
            return ast.copy_location(ast.Constant(float(number)), value)
        with np.errstate(all="ignore"):
            single = arithmetic.as_f32(number)
        name = f"@{single!s}"
        self._numbers[name] = single
        return ast.copy_location(ast.Name(name, ast.Load()), value)

    def _operation(
        self,
        node: ast.AST,
        op: ast.operator | ast.cmpop,
        left: tuple[ast.expr, Kind | None],
        right: tuple[ast.expr, Kind | None],
    ) -> ast.expr:
        """Return an operation on two numbers of known kinds, or a comparison."""
        found = native(op, left[1], right[1])
        if found is None:
            return _call(node, OPERATIONS[type(op)], left[0], right[0])
        kind, gives = found
        a, b = self._as(kind, *left), self._as(kind, *right)
        new = ast.Compare(a, [op], [b]) if isinstance(op, ast.cmpop) else ast.BinOp(a, op, b)
        ast.copy_location(new, node)
        if gives == "wrapped":
            return _call(node, "as_64", new)
        if gives == "truth" and node not in self._tested:
            return _builtin(node, "bool", new)
        return new

    def _kept(self, value: ast.expr) -> tuple[ast.expr, ast.expr]:
        """Return an expression that stores a value in a local, and one that reads it."""
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
        """Widen the returned value to the type that the function returns on other paths."""
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
        old = copied(target)
        old.ctx = ast.Load()
        if isinstance(target, ast.Subscript):  # it may call a helper: evaluate it once
            old.value, target.value = self._kept(target.value)
            old.slice, target.slice = self._kept(target.slice)
        if node in self._facts.lanes:
            joined = self._joined(node, node.op, old, self._operand_of_lanes(node, node.value))
            return ast.copy_location(ast.Assign([target], joined), node)
        left = self._widened(node.target, old), self._kind(node.target)
        right = self.visit(node.value), self._kind(node.value)
        new = self._operation(node, node.op, left, right)
        return ast.copy_location(ast.Assign([target], new), node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        kinds = self._kind(node.left), self._kind(node.right)
        if node in self._facts.lanes:
            operands = (self._operand_of_lanes(node, each) for each in (node.left, node.right))
            return self._joined(node, node.op, *operands)
        left, right = self.visit(node.left), self.visit(node.right)
        return self._operation(node, node.op, (left, kinds[0]), (right, kinds[1]))

    def _operand_of_lanes(self, node: ast.expr | ast.AugAssign, operand: ast.expr) -> ast.expr:
        """Visit an operand combined with lanes; a double is rounded only once for all lanes."""
        is_double = self._facts.kinds.get(operand) is Kind.FLOAT
        visited: ast.expr = self.visit(operand)
        return _call(node, _CASTS[Kind.F32], visited) if is_double else visited

    def _joined(self, node: ast.AST, op: ast.operator, *operands: ast.expr) -> ast.expr:
        """Return an operation on lanes."""
        function = _arithmetic(OPERATIONS[type(op)])
        return ast.copy_location(_of_lanes("joined", function, *operands), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if node in self._facts.lanes:
            negative = _of_lanes("each", _arithmetic("negative"), self.visit(node.operand))
            return ast.copy_location(negative, node)
        is_not, kind = isinstance(node.op, ast.Not), self._kind(node.operand)
        if is_not:
            self._tested.add(node.operand)
        operand = self.visit(node.operand)
        found = None if is_not else native_unary(node.op, kind)
        new = ast.copy_location(ast.UnaryOp(node.op, operand), node)
        if is_not or (found is not None and found[1] == "as it is"):
            return new
        if found is None:
            return _call(node, OPERATIONS[type(node.op)], operand)
        if isinstance(operand, ast.Constant):  # such as -1
            value = arithmetic.as_64(_UNARY[type(node.op)](operand.value))
            return ast.copy_location(ast.Constant(value), node)
        return _call(node, "as_64", new)

    def visit_If(self, node: ast.If | ast.While | ast.IfExp) -> ast.AST:
        self._tested.add(node.test)
        return self.generic_visit(node)

    visit_While = visit_IfExp = visit_If

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        if node in self._tested:
            self._tested.update(node.values)
        return self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """Turn `a < b < c` into `a < (t := b) and t < c`."""
        tests: list[ast.expr] = []
        kind = self._kind(node.left)
        left: ast.expr = self.visit(node.left)
        last = node.comparators[-1]
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            kinds = kind, self._kind(comparator)
            right: ast.expr = self.visit(comparator)
            following = right
            if comparator is not last:
                right, following = self._kept(right)
            tests.append(self._operation(node, op, (left, kinds[0]), (right, kinds[1])))
            left, kind = following, kinds[1]
        result = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
        return ast.copy_location(result, node)

    def _function(self, node: ast.Call, name: str, kinds: Sequence[Kind | None]) -> ast.expr:
        """Return a call of a function of the arithmetic; its arguments are already visited."""
        wide = None if None in kinds else max(kind for kind in kinds if kind is not None)
        if wide is None or wide is Kind.UINT or self._may_trap:
            return _call(node, name, *node.args)
        if name in ("minimum", "maximum") and (wide > Kind.INT or Kind.BOOL not in kinds):
            each = zip(node.args, kinds, strict=True)
            args = [self._as(wide, arg, kind) for arg, kind in each]
            return _builtin(node, name[:3], *args)
        if name == "absolute" and wide > Kind.INT:
            return _builtin(node, "abs", *node.args)
        if name == "as_float":
            return node.args[0] if wide >= Kind.FLOAT else _builtin(node, "float", *node.args)
        if name == "as_bool":
            return _builtin(node, "bool", *node.args)
        if name == "indices" and len(node.args) == 1:
            return _builtin(node, "range", *node.args)
        return _call(node, name, *node.args)

    def _lanes_call(self, node: ast.Call) -> ast.expr:
        """Return a call that returns lanes, or reduces lanes to a number."""
        facts, fold = self._facts, self._facts.folds.get(node)
        if fold is not None:
            assert isinstance(node.func, ast.Attribute)
            owner, join = self.visit(node.func.value), _arithmetic(lanes.JOINS[fold])
            return _of_lanes("folded", ast.Constant(fold), owner, join)
        name, called = facts.calls[node], facts.mapped.get(node)
        if called is not None:
            arguments = [self.visit(each) for each in called.args]
            helper = facts.helpers.get(called)
            function: ast.expr = (
                ast.Name(self._names[helper], ast.Load())
                if helper
                else (_arithmetic(facts.calls[called]))
            )
            made = _of_lanes("each", function, *arguments)
            kind = facts.lanes[node]
            made.keywords = [ast.keyword("kind", ast.Constant(int(kind)))]
            if kind is Kind.F32:
                made.keywords.append(ast.keyword("rounded", _arithmetic(_CASTS[kind])))
            return made
        arguments = [self._operand_of_lanes(node, each) for each in node.args]
        if name == "full":
            return _of_lanes("full", *arguments)
        if name == "fma":
            return _of_lanes("fused", _arithmetic(name), *arguments)
        return _of_lanes("each" if len(arguments) == 1 else "joined", _arithmetic(name), *arguments)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if node in self._facts.lanes or node in self._facts.folds:
            return ast.copy_location(self._lanes_call(node), node)
        helper, name = self._facts.helpers.get(node), self._facts.calls.get(node)
        kinds = [self._kind(arg) for arg in node.args]
        node.args = [self.visit(arg) for arg in node.args]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        if name is not None:
            return self._function(node, name, kinds)
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
        """Format numbers like `print`; NumPy has different digits for `{x}`, a type in `{x!r}`."""
        self.generic_visit(node)
        if node.format_spec is None or node.conversion != -1:
            node.conversion = ord("s")
        return node


class _CountingTurns(ast.NodeTransformer):
    """Makes `while` loops count their iterations; consumes the tree it visits."""

    def visit_While(self, node: ast.While) -> ast.AST:
        turn = ast.Call(ast.Name(_TURN, ast.Load()), [], [])
        node.test = ast.copy_location(ast.BoolOp(ast.And(), [turn, node.test]), node.test)
        return self.generic_visit(node)


def _arithmetic(operation: str) -> ast.expr:
    return ast.Attribute(ast.Name(_ARITHMETIC, ast.Load()), operation, ast.Load())


def _call(node: ast.AST, operation: str, *args: ast.expr) -> ast.Call:
    return ast.copy_location(ast.Call(_arithmetic(operation), list(args), []), node)


def _of_lanes(operation: str, *args: ast.expr) -> ast.Call:
    function = ast.Attribute(ast.Name(_LANES, ast.Load()), operation, ast.Load())
    return ast.Call(function, list(args), [])


def _builtin(node: ast.AST, name: str, *args: ast.expr) -> ast.Call:
    function = ast.Name(f"@{name}", ast.Load())
    return ast.copy_location(ast.Call(function, list(args), []), node)


# -- native ----------------------------------------------------------------------------------------


_EXACT = (ast.BitAnd, ast.BitOr, ast.BitXor)
_WRAPPING = (ast.Add, ast.Sub, ast.Mult)
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
_ROUNDED = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, *_ORDER)

Native = tuple[Kind, Literal["as it is", "wrapped", "truth"]]
"""The kind to which operands are cast first, if it is wider than int, and what the operator
returns: the result, an int that may have more than 64 bits, or a NumPy bool."""


def native(op: ast.AST, left: Kind | None, right: Kind | None) -> Native | None:
    """Return how Python's operator can replace an operation on two numbers, or None if it cannot.

    A kind is None if it is unknown.

    >>> native(ast.Add(), Kind.INT, Kind.INT), native(ast.Div(), Kind.INT, Kind.INT)
    ((Kind.INT, 'wrapped'), None)
    """
    if left is None or right is None or Kind.UINT in (left, right):
        return None
    kind = max(left, right, Kind.INT)
    if kind is Kind.F32 and isinstance(op, _ROUNDED):
        return kind, "truth" if isinstance(op, _ORDER) else "as it is"
    if kind is Kind.FLOAT and isinstance(op, (*_WRAPPING, *_ORDER)):
        return kind, "as it is"
    if kind is Kind.INT and isinstance(op, (*_EXACT, *_ORDER, ast.RShift)):
        return kind, "as it is"
    if kind is Kind.INT and isinstance(op, (*_WRAPPING, ast.LShift)):
        return kind, "wrapped"
    return None


def native_unary(op: ast.unaryop, kind: Kind | None) -> Native | None:
    """Return how Python's operator, other than `not`, can replace an operation, or None.

    >>> native_unary(ast.USub(), Kind.F32)
    (Kind.F32, 'as it is')
    """
    if kind is None or kind is Kind.UINT or isinstance(op, ast.UAdd):
        return None
    if kind <= Kind.INT:
        return Kind.INT, "wrapped"
    return kind, "as it is"
