"""The language of `compute`: a small, typed subset of Python.

It allows assignments to local variables and fields, `if`, `while`, `for` over `range`, a vector,
`enumerate` or `zip` of vectors, `break`, `continue`, `pass`, `return`, `raise`, `assert`,
arithmetic, comparisons, `and`, `or`, `not`, conditional expressions, indexing, and calls of
the listed functions and of functions written in the same dialect.  Everything else is rejected
here, at the node in the user's text, before a compiler runs::

    'Sum.compute': 'with' cannot be used in compute  (sum.py:14 in compute)
      with open("data.txt") as file:
      try: read files on the host, and pass the values with engine.write(...)

Names refer to locals, or to numbers and functions that are fixed when the vertex is
compiled: module globals, names of an enclosing function, class attributes::

    TAPS = 9                            # a module number

    class Blur(Vertex):
        SCALE = 1 / 16                  # a class number, self.SCALE

Negative indices, steps of ranges and shift counts are checked if they consist of such numbers.

Methods of the vertex class are looked up along its bases, as in Python; functions by name, like
numbers outside `compute`.  Parameters are positional or keyword, defaults are numbers::

    def near(value, low=0.0, high=1.0):         # near(x), near(x, high=2.0)
        ...

    class Soften(Vertex):
        def weight(self, row, i): ...           # self.weight(self.rows[0], 3)

        @staticmethod
        def share(n, parts): ...                # self.share(len(self.x), 4)

A helper may contain what `compute` may contain; see docs/vertices.md.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import operator
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any, NoReturn, TypeGuard

import numpy as np

from poplite.errors import VertexCompileError, did_you_mean
from poplite.frozen import frozen
from poplite.poplar.callable_values import number_or_text
from poplite.source import SourceLocation
from poplite.types import AS_CODES, BOOL, FLOAT, HALF, INTEGERS, ElementType
from poplite.vertex.compute import lanes
from poplite.vertex.compute.arithmetic import INT_MAX, INT_MIN, OPERATORS
from poplite.vertex.compute.mathematics import KERNELS
from poplite.vertex.compute.number_functions import BITS, fma
from poplite.vertex.compute.source_text import (
    DEEPEST,
    SHALLOWER,
    TOO_DEEP,
    SourceText,
    read,
    why_no_text,
)
from poplite.vertex.vertex import Field, Vertex, promise_of

LIMITS = {"**": 64, "<<": 63, ">>": 63}
"""The maximum of a constant right operand, keyed by operator."""

SQUARE = 2
"""The largest exponent for a float32; higher powers could be rounded once or several times."""

STORED: tuple[type[ElementType[Any]], ...] = (BOOL, *INTEGERS, HALF, FLOAT)
"""Element types that may be called: they convert a number as storing and reading it back would."""

FUSED: tuple[Callable[..., Any], ...] = (fma,)
if sys.version_info >= (3, 13):
    FUSED = (fma, math.fma)
"""Functions that `compute` may call for a fused multiply-add."""

FUNCTIONS: Mapping[object, str] = {
    abs: "absolute",
    bool: "as_bool",
    float: "as_float",
    int: "truncate",
    max: "maximum",
    min: "minimum",
    math.ceil: "ceil",
    math.fabs: "fabs",
    math.floor: "floor",
    math.sqrt: "sqrt",
    **{getattr(math, name): name for name in KERNELS},
    **dict.fromkeys(FUSED, "fma"),
    **{function: function.__name__ for function in BITS},
    np.ceil: "round_up",
    np.floor: "round_down",
    np.maximum: "larger",
    np.minimum: "smaller",
    np.rint: "round_to_even",
    np.trunc: "round_to_zero",
    **{element: f"as_{element.__name__}" for element in STORED},
}
"""Functions of numbers, and the name of each in `poplite.vertex.compute.arithmetic`."""

OPERATIONS: Mapping[type[ast.AST], str] = {getattr(ast, row.node): row.name for row in OPERATORS}
"""Operators, and the name of each in `poplite.vertex.compute.arithmetic`."""

FOLDED: Mapping[type[ast.AST], Callable[..., bool | int | float]] = {
    getattr(ast, row.node): getattr(operator, row.pythons) for row in OPERATORS
}
"""Python's operations on literals."""


def _symbols(kind: type[ast.AST]) -> dict[type[Any], str]:
    nodes = [(getattr(ast, row.node), row.symbol) for row in OPERATORS]
    return {node: symbol for node, symbol in nodes if issubclass(node, kind)}


BINARY: Mapping[type[ast.operator], str] = {**_symbols(ast.operator), ast.MatMult: "@"}

UNARY: Mapping[type[ast.unaryop], str] = {**_symbols(ast.unaryop), ast.Not: "not"}

COMPARISONS: Mapping[type[ast.cmpop], str] = {
    **_symbols(ast.cmpop),
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}

_ALLOWED = (
    *(ast.FunctionDef, ast.Pass, ast.Return, ast.Break, ast.Continue, ast.If, ast.While),
    *(ast.For, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Name, ast.Constant),
    *(ast.Raise, ast.Assert),
    *(ast.Attribute, ast.Subscript, ast.Tuple, ast.Call, ast.BinOp, ast.UnaryOp, ast.BoolOp),
    *(ast.Compare, ast.IfExp, ast.operator, ast.unaryop, ast.boolop, ast.cmpop),
    *(ast.JoinedStr, ast.FormattedValue),
    *(ast.expr_context, ast.arguments, ast.arg, ast.keyword),
)

_ON_HOST = "read files on the host, and pass the values with engine.write(...)"
_USE_A_LOOP = "use a for loop over range(...) and a local variable"
_REFUSED: Mapping[type[ast.AST], tuple[str, str]] = {
    ast.With: ("'with'", _ON_HOST),
    ast.Try: ("'try'", "test the values with if; division by zero gives inf and nan"),
    ast.Import: ("'import'", "import at the top of the module"),
    ast.ImportFrom: ("'import'", "import at the top of the module"),
    ast.Global: ("'global'", "declare a State field for values that vary"),
    ast.Nonlocal: ("'nonlocal'", "declare a State field for values that vary"),
    ast.Delete: ("'del'", "do not delete the variable"),
    ast.Lambda: ("a lambda", "write the expression where it is used, or define a method"),
    ast.FunctionDef: ("a nested function", "make it a method, or define it outside of the class"),
    ast.ClassDef: ("a nested class", "declare fields for the values"),
    ast.Dict: ("a dict", "use a State[Vector[...]] field, indexed by number"),
    ast.Set: ("a set", "use a State[Vector[...]] field"),
    ast.List: ("a list", "use an InOut[Vector[...]] field for working memory"),
    ast.ListComp: ("a list comprehension", _USE_A_LOOP),
    ast.SetComp: ("a set comprehension", _USE_A_LOOP),
    ast.DictComp: ("a dict comprehension", _USE_A_LOOP),
    ast.GeneratorExp: ("a generator expression", _USE_A_LOOP),
    ast.NamedExpr: ("':='", "assign in a separate statement"),
    ast.Slice: ("a slice", "use a for loop over range(...), or connect the part that is needed"),
    ast.Starred: ("'*'", "write out each value"),
    ast.Yield: ("'yield'", "write the values to an Output field"),
    ast.Match: ("'match'", "use if and elif"),
}


@frozen(eq=False)
class Scope:
    """One function, `compute` or one it calls: its text, and the meaning of its names.

    Attributes:
        label: its name in messages.
        parameters: names of its parameters, without `self`.
        locals: its parameters, and names assigned somewhere in it.
        takes_self: whether its first parameter is the vertex.
        callers: the calls that led to it, innermost first.
    """

    vertex: type[Vertex]
    text: SourceText
    label: str
    parameters: tuple[str, ...]
    locals: frozenset[str]
    takes_self: bool
    callers: tuple[SourceLocation, ...]

    def place(self, node: ast.AST) -> SourceLocation:
        """Return the location of a node."""
        code = self.text.code
        line = getattr(node, "lineno", self.text.tree.lineno)
        return SourceLocation(code.co_filename, line, code.co_name)

    def refuse(self, node: ast.AST, what: str, fix: str, *, found: str = "") -> NoReturn:
        """Raise a `VertexCompileError` at a node; `found` defaults to the source line."""
        place = self.place(node)
        calls = [f"called from {caller}" for caller in self.callers]
        raise VertexCompileError(
            f"'{self.label}': {what}",
            at=place,
            found="\n".join([found or self.text.line(place.line), *calls]),
            fix=fix,
        )

    def check_read(self, node: ast.AST, field: Field) -> None:
        """Reject reading elements of an Output."""
        if field.role == "output":
            self.refuse(
                node,
                f"output '{field.name}' is read",
                f"declare {field.name}: InOut[...] to read its elements",
                found=f"declared: {field}",
            )

    def check_written(self, node: ast.AST, field: Field) -> None:
        """Reject storing elements of a read-only field."""
        if not field.writes:
            self.refuse(
                node,
                f"field '{field.name}' is read-only",
                f"declare {field.name}: InOut[...] to change it in place",
                found=f"declared: {field}",
            )

    def global_of(self, node: ast.expr) -> object:
        """Return the value of a name that is not local, or of an attribute of a module.

        Raises `VertexCompileError` when there is no such name.
        """
        if isinstance(node, ast.Name):
            return self._global(node)
        if isinstance(node, ast.Attribute):
            owner = self.global_of(node.value)
            if isinstance(owner, ModuleType):
                if hasattr(owner, node.attr):
                    return getattr(owner, node.attr)
                self._refuse_missing(node, owner)
        return self.refuse(
            node,
            f"'{ast.unparse(node)}' is not a local, a field or a number known at compile time",
            "use fields, locals, and module attributes such as math.pi",
        )

    def _refuse_missing(self, node: ast.Attribute, module: ModuleType) -> NoReturn:
        """Reject a name that a module lacks, and list its functions that compute may call."""
        prefix = ast.unparse(node.value)
        known = [str(getattr(each, "__name__", "")) for each in FUNCTIONS]
        known = [name for name in known if hasattr(module, name)]
        near = [f"{prefix}.{name}(...)" for name in known if f"_{node.attr}" in name]
        if node.attr in ("quarter_bits", "quarter_from_bits"):
            near = [AS_CODES]
        self.refuse(
            node,
            f"'{module.__name__}' has no '{node.attr}'"
            + ("" if near else did_you_mean(node.attr, dir(module))),
            " or ".join(near) or "use fields, locals, and module attributes such as math.pi",
        )

    def is_local(self, node: ast.expr) -> bool:
        """Return whether a name, or the first part of a dotted one, is a local or `self`."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return not isinstance(node, ast.Name) or node.id in self.locals or node.id == "self"

    def _global(self, node: ast.Name) -> object:
        function = self.text.function
        if node.id in function.__code__.co_freevars:
            cells = dict(
                zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
            )
            with suppress(ValueError):  # the enclosing function has not assigned it yet
                return cells[node.id].cell_contents
        else:
            for names in (function.__globals__, vars(builtins)):
                if node.id in names:
                    return names[node.id]
        names = _visible(self)
        if node.id in self.vertex.fields:
            what = f"name '{node.id}' is not defined, but there is a field with that name"
            return self.refuse(node, what, f"self.{node.id}")
        return self.refuse(
            node,
            f"name '{node.id}' is not defined" + did_you_mean(node.id, [*self.locals, *names]),
            "assign it first, or declare a field and use self." + node.id,
        )


def _visible(scope: Scope) -> dict[str, Any]:
    function = scope.text.function
    names = dict(vars(builtins)) | function.__globals__
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    for name, cell in cells:
        try:
            names[name] = cell.cell_contents
        except ValueError:  # the enclosing function has not assigned it yet
            names.pop(name, None)
    return names


def scope_of(
    vertex: type[Vertex],
    text: SourceText,
    *,
    label: str = "",
    takes_self: bool = True,
    callers: tuple[SourceLocation, ...] = (),
) -> Scope:
    """Check the form of a function and return its scope.

    Arithmetic on literals is folded in the tree, as Python's compiler does.  `label` is by default
    the name of the method.  Raises `VertexCompileError` for a statement or expression that is not
    allowed.
    """
    stored = (
        node.id
        for node in ast.walk(text.tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )
    name, body = text.tree.name, text.tree.body
    parameters = tuple(arg.arg for arg in text.tree.args.args)[takes_self:]
    scope = Scope(
        vertex,
        text,
        label or f"{vertex.__name__}.{name}",
        parameters,
        frozenset((*parameters, *stored)),
        takes_self,
        callers,
    )
    is_faster = promise_of(text.function) is not None
    for decorator in text.tree.decorator_list:
        is_allowed = is_faster and isinstance(decorator, ast.Call)
        if ast.unparse(decorator) != "staticmethod" and not is_allowed:
            scope.refuse(decorator, "decorators are not supported", f"remove it from {name}")
    _check_depth(scope)
    docstring = ast.get_docstring(text.tree, clean=False) is not None
    for statement in body[docstring:]:
        _check(scope, statement)
    _Fold(scope).visit(text.tree)
    return scope


def _check_depth(scope: Scope) -> None:
    level: list[ast.AST] = [scope.text.tree]
    for _ in range(DEEPEST):
        level = [inner for node in level for inner in ast.iter_child_nodes(node)]
    deep = next((node for node in level if hasattr(node, "lineno")), None)
    if deep is not None:
        scope.refuse(
            deep,
            TOO_DEEP,
            SHALLOWER,
            found=f"a line of {len(scope.text.line(scope.place(deep).line)):,} characters",
        )


def _check(scope: Scope, statement: ast.stmt) -> None:
    for node in ast.walk(statement):
        if isinstance(node, ast.FunctionDef) or not isinstance(node, _ALLOWED):
            what, fix = _REFUSED.get(type(node), (f"'{type(node).__name__}'", "remove it"))
            scope.refuse(node, f"{what} cannot be used in compute", fix)
        if isinstance(node, ast.Expr) and type(node.value) not in (ast.Call, *_REFUSED):
            what = "an expression used as a statement has no effect"
            scope.refuse(node, what, "assign its value")
        if is_num_workers(node) and "num_workers" not in scope.vertex.fields:
            scope.refuse(
                node,
                f"'{scope.vertex.__name__}' has no num_workers: a Vertex runs on one worker",
                f"class {scope.vertex.__name__}(MultiVertex), "
                "with def compute(self, worker: int) -> None",
            )
        if isinstance(node, ast.Name) and node.id == "self" and not scope.takes_self:
            fix = "make the function a method, or pass it the numbers"
            scope.refuse(node, "self is not defined here", fix)


class _Fold(ast.NodeTransformer):
    """Evaluates arithmetic on literals with Python's unlimited ints.

    Python's compiler does the same before Numba sees the code, so an intermediate value that does
    not fit in 64 bits would give a different result than arithmetic at run time; it is rejected.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._outermost: ast.AST | None = None

    def visit(self, node: ast.AST) -> Any:
        """Visit a node; remember the outermost expression, which error messages quote."""
        if self._outermost is not None or not isinstance(node, (ast.BinOp, ast.UnaryOp)):
            return super().visit(node)
        self._outermost = node
        folded = super().visit(node)
        self._outermost = None
        return folded

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        value = node.operand.value if isinstance(node.operand, ast.Constant) else None
        if isinstance(node.op, ast.USub) and isinstance(value, (int, float)):
            return ast.copy_location(ast.Constant(-value), node)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        left, right, symbol = node.left, node.right, BINARY[type(node.op)]
        if not (isinstance(left, ast.Constant) and isinstance(right, ast.Constant)):
            return node
        if symbol in LIMITS and not is_count(right, LIMITS[symbol]):
            return node
        try:
            value = FOLDED[type(node.op)](left.value, right.value)
        except (ArithmeticError, TypeError, KeyError):
            return node
        for part in (left.value, right.value, value):
            check_range(self._scope, node, part, within=self._outermost)
        return ast.copy_location(ast.Constant(value), node)


def check_range(
    scope: Scope, node: ast.AST, value: object, *, within: ast.AST | None = None
) -> None:
    """Reject an integer constant, or an intermediate value, that does not fit in 64 bits."""
    if isinstance(value, int) and not INT_MIN <= value <= INT_MAX:
        step = "" if within is None else f"in '{scope.text.segment(within)}', "
        scope.refuse(
            node,
            f"{step}{value} does not fit in 64 bits; ints range from -2**63 to 2**63 - 1",
            "use a float, or a smaller int",
        )


def is_self(node: ast.expr) -> bool:
    """Return whether a node is the name `self`.

    >>> is_self(ast.Name("self")), is_self(ast.Name("x"))
    (True, False)
    """
    return isinstance(node, ast.Name) and node.id == "self"


def is_num_workers(node: ast.AST) -> bool:
    """Return whether a node is `self.num_workers`.

    >>> is_num_workers(ast.parse("self.num_workers", mode="eval").body)
    True
    """
    return isinstance(node, ast.Attribute) and node.attr == "num_workers" and is_self(node.value)


def is_count(node: ast.expr, limit: int) -> bool:
    """Return whether a node is an int literal from 0 to a limit.

    >>> is_count(ast.Constant(3), 63), is_count(ast.Constant(-1), 63)
    (True, False)
    """
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= limit


# -- numbers ---------------------------------------------------------------------------------------


Constant = bool | int | float
"""A number fixed before `compute` runs."""


class Constants:
    """The constants visible in one function."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def named(self, node: ast.expr) -> Constant | None:
        """Return the number that a name or an attribute refers to.

        None for locals, fields and anything that is not a name.  Raises `VertexCompileError` for a
        name that does not refer to a number.
        """
        if isinstance(node, ast.Attribute) and is_self(node.value):
            return self._of_class(node)
        if not isinstance(node, (ast.Name, ast.Attribute)) or self._scope.is_local(node):
            return None
        value = number_or_text(self._scope.global_of(node))
        if _is_number(value):
            check_range(self._scope, node, value)
            return value
        is_table = isinstance(value, np.ndarray | list | tuple | dict)
        return self._scope.refuse(
            node,
            f"'{ast.unparse(node)}' is {type(value).__name__}, not an int, float or bool",
            "pass the values to a field: table: State[Vector[FLOAT]]; a vertex reads self.table[i]"
            if is_table
            else "convert it where it is defined",
        )

    def evaluate(self, node: ast.expr) -> Constant | None:
        """Evaluate an expression of constants; None if it depends on anything else."""
        try:
            return self._evaluate(node)
        except (ArithmeticError, TypeError, KeyError, ValueError):
            return None

    def _of_class(self, node: ast.Attribute) -> Constant | None:
        vertex = self._scope.vertex
        if node.attr in vertex.fields:
            return None
        value = next((vars(c)[node.attr] for c in vertex.__mro__ if node.attr in vars(c)), None)
        value = number_or_text(value)
        if not _is_number(value):
            return None
        check_range(self._scope, node, value)
        return value

    def _evaluate(self, node: ast.expr) -> Constant | None:
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return value
            case ast.Name() | ast.Attribute():
                return self.named(node)
            case ast.UnaryOp(op=op, operand=operand):
                return _apply(FOLDED[type(op)], self._evaluate(operand))
            case ast.BinOp(left=left, op=op, right=right):
                return _apply(FOLDED[type(op)], self._evaluate(left), self._evaluate(right))
        return None


def is_literal(node: ast.expr) -> bool:
    """Return whether a node is a literal, or `not` of one.

    >>> is_literal(ast.parse("not True", mode="eval").body)
    True
    """
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return is_literal(node.operand)
    return isinstance(node, ast.Constant)


def _is_number(value: object) -> TypeGuard[Constant]:
    """Return whether a value is a Python number; subclasses, such as NumPy's, have other rules."""
    return type(value) in (bool, int, float)


def _apply(function: Callable[..., Constant], *values: Constant | None) -> Constant | None:
    return None if None in values else function(*values)


# -- functions -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class HelperFunction:
    """A function that a call refers to.

    Attributes:
        method: whether it belongs to the vertex class.
        takes_self: whether it is called with `self`.
    """

    function: FunctionType
    method: bool = False
    takes_self: bool = False

    def is_of(self, function: object) -> bool:
        """Return whether this is the helper for a function; mypy binds `self.function`."""
        return self.function is function


def helper_of(scope: Scope, node: ast.Call) -> HelperFunction | None:
    """Return the user's function that a call in `scope` refers to, or None if it is something else.

    Raises `VertexCompileError` if `self` has no such method, or the name is not defined.
    """
    if isinstance(node.func, ast.Attribute) and is_self(node.func.value):
        return _method(scope, node.func)
    function = None if scope.is_local(node.func) else scope.global_of(node.func)
    is_own = any(function is each for each in (lanes.full, lanes.map, fma, *BITS))
    if not isinstance(function, FunctionType) or is_own or is_operation(scope, function):
        return None
    return HelperFunction(function)


def is_operation(scope: Scope, function: object) -> bool:
    """Return whether a user's function calls a tensor operation, which a vertex cannot do."""
    home = str(getattr(function, "__module__", "")).split(".")
    caller = scope.text.function.__module__.partition(".")[0]
    return home[:2] == ["poplite", "ops"] and caller != "poplite"


def _method(scope: Scope, node: ast.Attribute) -> HelperFunction:
    name, cls = node.attr, scope.vertex
    if name.startswith("__"):
        scope.refuse(
            node,
            f"'{name}' starts with two underscores, which Python treats specially",
            f"rename it to {name.strip('_')}",
        )
    found = inspect.getattr_static(cls, name, None)
    if isinstance(found, staticmethod) and isinstance(found.__func__, FunctionType):
        return HelperFunction(found.__func__, method=True)
    if isinstance(found, FunctionType):
        return HelperFunction(found, method=True, takes_self=True)
    methods = [n for n in dir(cls) if inspect.isfunction(getattr(cls, n)) and n[0] != "_"]
    what = f"'{cls.__name__}' has no method '{name}'{did_you_mean(name, methods)}"
    if name in cls.fields:
        what = f"'{name}' is a field, not a method"
    elif found is not None:
        what = f"'{name}' is {type(found).__name__}, not a method"
    return scope.refuse(node, what, f"define {name}(self, ...), or a @staticmethod")


def bind(
    scope: Scope, node: ast.Call, helper: HelperFunction
) -> list[ast.expr | bool | int | float]:
    """Return, for each parameter but `self`, the argument of a call, or the default's value.

    Raises `VertexCompileError` if arguments and parameters do not match.
    """
    signature = inspect.signature(helper.function, follow_wrapped=False)
    keywords: dict[str, ast.expr] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            scope.refuse(node, "'**' cannot be used in compute", "write out each value")
        keywords[keyword.arg] = keyword.value
    own = (ast.Name("self"),) if helper.takes_self else ()
    try:
        bound = signature.bind(*own, *node.args, **keywords)
    except TypeError as error:
        scope.refuse(
            node,
            f"{ast.unparse(node.func)}(...): {error}",
            "pass one value for every parameter without a default",
            found=f"def {helper.function.__name__}{_shown(signature)}",
        )
    bound.apply_defaults()
    return list(bound.arguments.values())[len(own) :]


def _shown(signature: inspect.Signature) -> str:
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return str(inspect.Signature(bare))


def scope_of_helper(scope: Scope, node: ast.Call, helper: HelperFunction) -> Scope:
    """Check the form of a helper that `node` in `scope` calls, and return its scope.

    Raises `VertexCompileError` if the helper has no source text, is not a plain function, or
    contains anything that is not allowed.
    """
    function = helper.function
    name = function.__code__.co_name
    if name == "<lambda>":
        scope.refuse(node, f"{ast.unparse(node.func)} is a lambda", "write a def statement")
    if function.__code__.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        scope.refuse(node, f"'{name}' is an async function", "write a plain def statement")
    text = read(function)
    if text is None:
        found, fix = why_no_text(function)
        scope.refuse(node, f"'{name}': there is no source text to check", fix, found=found)
    own = scope_of(
        scope.vertex,
        text,
        label=f"{scope.vertex.__name__}.{name}" if helper.method else name,
        takes_self=helper.takes_self,
        callers=(scope.place(node), *scope.callers),
    )
    _check_parameters(own)
    return own


def _check_parameters(scope: Scope) -> None:
    tree, function = scope.text.tree, scope.text.function
    parameters = inspect.signature(function, follow_wrapped=False).parameters
    for number, (name, parameter) in enumerate(parameters.items()):
        if (number == 0 and scope.takes_self) != (name == "self"):
            _refuse_self(scope, name)
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
            scope.refuse(
                tree,
                f"parameter '{name}' is {parameter.kind.description}",
                "use ordinary parameters, which a call may also pass by name",
            )
        default = parameter.default
        if default is parameter.empty:
            continue
        if type(default) not in (bool, int, float):
            scope.refuse(
                tree,
                f"the default of '{name}' is {type(default).__name__}, not an int, float or bool",
                "use a number, or no default",
            )
        check_range(scope, tree, default)


def _refuse_self(scope: Scope, name: str) -> NoReturn:
    if scope.takes_self:
        what = f"the first parameter of a method must be self, not '{name}'"
        fix = "add self as the first parameter"
    else:
        what, fix = (
            "self is a parameter of a function that is not a method",
            "make it a method: self.name(...)",
        )
    scope.refuse(scope.text.tree, what, fix)
