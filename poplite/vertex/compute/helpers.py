"""The meaning of names in `compute`: functions that it calls, fixed numbers.

Methods of the vertex class are looked up along its bases, as in Python; functions by name, like
numbers outside `compute`.  Parameters are positional or keyword, defaults are numbers::

    def near(value, low=0.0, high=1.0):         # near(x), near(x, high=2.0)
        ...

    class Soften(Vertex):
        def weight(self, row, i): ...           # self.weight(self.rows[0], 3)

        @staticmethod
        def share(n, parts): ...                # self.share(len(self.x), 4)

A helper may contain what `compute` may contain; see docs/vertices.md.

A vertex is compiled with the current values of named numbers::

    TAPS = 9                            # a module number

    class Blur(Vertex):
        SCALE = 1 / 16                  # a class number, self.SCALE

Negative indices, steps of ranges and shift counts are checked if they consist of such numbers.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import NoReturn, TypeGuard

import numpy as np

from poplite.errors import did_you_mean
from poplite.poplar.callable_values import number_or_text
from poplite.vertex.compute import lanes
from poplite.vertex.compute.dialect import (
    FOLDED,
    Scope,
    check_range,
    is_self,
    scope_of,
)
from poplite.vertex.compute.number_functions import BITS, fma
from poplite.vertex.compute.source_text import read, why_no_text

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
