"""The checked code of a vertex class: its identity, and what compilers get of it.

The text of `compute` and of all functions that it calls is compared as syntax trees, without line
numbers, comments, docstrings and annotations.  So formatting, the version of Python and the file
of the class do not matter.  Named numbers that are defined outside the text are listed with their
values::

    TAPS = 9

    class Blur(Vertex):                      fields     x: Input[FLOAT], ...
        def compute(self) -> None:           compute    <digest of its tree>, TAPS 9
            self.y = weight(self.x) / TAPS   weight     <digest of its tree>

The method `cycles` is ordinary Python that is never compiled, so it may refer to anything.
Its text, the text of the functions of its module that it calls, and the plain values that they
name are recorded::

    def make(factor):
        class Scale(Vertex):
            def cycles(self, target):
                return factor * len(self.x)      cycles  <digest of its tree>, factor 3

In the form that is compiled, an exception only stops the vertex, and loops have guards::

    raise EmptyBlock(n)                 ->    raise @Raised
    assert x > 0, f"pivot {x}"          ->    if not x > 0: raise @Raised
    for i in range(n): ... x[i] ...     ->    see `poplite.vertex.compute.bounds`

The interpreted form determines the exception and its text: the vertex is run again in that form
after it stopped.  A function without exceptions and loops is compiled unchanged.

Guards come before loops::

    for i in range(n):                         @inside0 = @fits(self.y, 0, n - 1)
        self.y[i] += self.x[i]       ->        for i in range(n):
                                                   ...    @element(self.x, i, @inside0)

LLVM splits a short loop into one where its guard is true and one where it is false. A loop over
lanes has too many instructions for that, and is split here::

    for k in range(n):                     if @holds(@inside0):
        total += self.x.lanes(k, 16)           for k in range(n): ... @lanes(self.x, k, 16, True)
                                   ->      else:
                                               for k in range(n): ... @lanes(self.x, k, 16, False)
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType, FunctionType
from typing import Any, TypeVar

from poplite.frozen import frozen
from poplite.vertex.compute.bounds import FUNCTIONS, Guard, Guards, call
from poplite.vertex.compute.source_text import (
    FUTURE_FLAGS,
    copied,
    nested,
    read,
    with_free_names,
)
from poplite.vertex.compute.typed_facts import Checked, in_order
from poplite.vertex.vertex import Vertex, has_cycles

# -- the code of a class, as data ------------------------------------------------------------------

_IGNORED = frozenset(
    {"annotation", "ctx", "decorator_list", "defaults", "kind", "returns", "type_comment"}
    | {"type_ignores", "type_params"}
)
"""Parts of a syntax tree that do not change results; defaults are compared by value."""


@frozen
class FunctionCode:
    """A function that a vertex runs: the digest of its text, and the numbers that it names."""

    name: str
    digest: str
    numbers: Mapping[str, str]


@frozen
class ClassCode:
    """The code of a vertex class.

    Attributes:
        arguments: the parameters of `compute`.
        fields: the declared fields.
        functions: `compute`, and the functions that it calls.
    """

    arguments: tuple[str, ...]
    fields: tuple[str, ...]
    functions: tuple[FunctionCode, ...]

    def differences(self, other: ClassCode) -> list[str]:
        """Return descriptions of the differences of this class from the saved one."""
        found = []
        if (self.arguments, self.fields) != (other.arguments, other.fields):
            found.append(_difference("fields", self.fields, other.fields))
        names, saved_names = ([f.name for f in code.functions] for code in (self, other))
        if names != saved_names:
            return [*found, _difference("functions", names, saved_names)]
        for function, saved in zip(self.functions, other.functions, strict=True):
            for name in sorted({*function.numbers, *saved.numbers}):
                numbers = [each.numbers.get(name, "not used") for each in (function, saved)]
                if numbers[0] != numbers[1]:
                    what = f"'{name}' in {function.name}"
                    found.append(_difference(what, numbers[:1], numbers[1:]))
            if function.digest != saved.digest:
                found.append(f"the text of {function.name} differs")
        return found


def _difference(what: str, here: Any, saved: Any) -> str:
    return f"{what}: {', '.join(here) or 'none'}; saved with {', '.join(saved) or 'none'}"


def class_code(checked: Checked) -> ClassCode:
    """Return the code of a vertex class, given its `compute`."""
    functions: dict[object, Checked] = {}
    for each in checked.functions():  # a function occurs once for each set of argument kinds
        functions.setdefault(each.function, each)
    cls = checked.vertex
    return ClassCode(
        cls._arguments,
        tuple(str(field) for field in cls.fields.values()),
        tuple(map(_function, functions.values())),
    )


def identity_of(checked: Checked) -> tuple[object, ...]:
    """Return a value whose `repr` is equal for classes that compile to the same code.

    Numba does not detect edits outside the function that it caches, so everything that affects
    machine code is part of the value.  Names of classes and line numbers are not: errors get them
    from the class itself.  Raises `VertexCompileError` if `compute` prints.
    """
    functions = list(checked.functions())
    for each in functions:
        for node, name in each.facts.debugging.items():
            each.scope.refuse(
                node,
                f"{name}(...) runs in the interpreted form only",
                "run it with Engine(..., interpret=True), or store the value in an Output field",
            )
    texts = list(dict.fromkeys(each.function for each in functions))
    return (
        class_code(checked),
        __debug__,  # there are no assertions if false
        tuple(
            (
                texts.index(each.function),
                tuple(map(str, each.arguments)),
                tuple(functions.index(callee) for callee in in_order(each.facts.helpers)),
                str(each.result),
            )
            for each in functions
        ),
    )


def _function(checked: Checked) -> FunctionCode:
    facts = checked.facts
    return FunctionCode(
        checked.function.__name__,
        digest(
            comparable_tree(checked.text.tree),
            [repr(default) for default in checked.function.__defaults__ or ()],
            in_order(facts.calls),
            [callee.function.__name__ for callee in in_order(facts.helpers)],
        ),
        dict(sorted((ast.unparse(node), repr(value)) for node, value in facts.constants.items())),
    )


def digest(*parts: object) -> str:
    """Return a digest of parts that `repr` distinguishes."""
    import hashlib  # here, as it takes 3 ms, and graphs without code do not need it

    return hashlib.sha256(repr(parts).encode("utf-8", "backslashreplace")).hexdigest()[:32]


def comparable_tree(node: Any) -> Any:
    """Return a syntax tree as tuples and strings, without the parts in `_IGNORED`."""
    if isinstance(node, list):
        return [comparable_tree(each) for each in node]
    if isinstance(node, ast.Constant):
        return repr(node.value)
    if not isinstance(node, ast.AST):
        return repr(node)
    parts: list[Any] = [type(node).__name__]
    for name in node._fields:
        part = getattr(node, name, None)
        if name in _IGNORED or part is None or part == []:
            continue
        if name == "body" and isinstance(node, ast.FunctionDef) and ast.get_docstring(node, False):
            part = part[1:]
        parts.append((name, comparable_tree(part)))
    return parts


# -- the code of cycles ----------------------------------------------------------------------------


_PLAIN = (bool, int, float, complex, str, bytes, type(None))
"""Types whose `repr` represents the value; tuples of these are plain, too."""

_LONG = 80
"""Values with a longer `repr` are recorded by digest: a table may have thousands of entries."""


def cycles_code(cls: type[Vertex]) -> tuple[FunctionCode, ...]:
    """Return the code of `cycles` and of the functions of its module that it calls, or ().

    >>> from poplite.types import FLOAT
    >>> from poplite.vertices import Add
    >>> [function.name for function in cycles_code(Add[FLOAT])]
    ['cycles']
    """
    if not has_cycles(cls):
        return ()
    found: dict[FunctionType, FunctionCode] = {}
    waiting = [inspect.getattr_static(cls, "cycles")]
    while waiting:
        function = waiting.pop(0)
        if not isinstance(function, FunctionType) or function in found:
            continue
        names = dict(_names(function, cls))
        values = {name: _shown(value) for name, value in names.items() if _is_plain(value)}
        found[function] = FunctionCode(
            function.__name__, _digest(function), dict(sorted(values.items()))
        )
        own = [each for each in names.values() if getattr(each, "__module__", "") == cls.__module__]
        waiting += [getattr(each, "__func__", each) for each in own]
    return tuple(found.values())


def _digest(function: FunctionType) -> str:
    text = read(function)
    defaults = [repr(default) for default in function.__defaults__ or ()]
    if text is not None:
        return digest(comparable_tree(text.tree), defaults)
    code = function.__code__  # without text, as of `exec`
    constants = [repr(each) for each in code.co_consts if not isinstance(each, CodeType)]
    return digest(code.co_code, code.co_names, constants, defaults)


def _names(function: FunctionType, cls: type[Vertex]) -> Iterator[tuple[str, Any]]:
    """Yield the names that a function uses and does not define, with their values."""
    outside = inspect.getclosurevars(function)
    yield from outside.globals.items()
    yield from outside.nonlocals.items()
    for name in sorted(outside.unbound):  # attributes, those of `self` among them
        if name not in cls.fields and hasattr(cls, name):
            yield f"self.{name}", inspect.getattr_static(cls, name)


def _is_plain(value: object) -> bool:
    return all(map(_is_plain, value)) if type(value) is tuple else type(value) in _PLAIN


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) < _LONG else digest(text)


# -- guards in the text ----------------------------------------------------------------------------


N = TypeVar("N", bound=ast.AST)


def guarded(checked: Checked) -> ast.FunctionDef | None:
    """Return the text of a function with guards, as a new tree, or None if it needs none."""
    if not any(isinstance(node, ast.For) for node in ast.walk(checked.text.tree)):
        return None
    guards = Guards(checked)
    guards.find()
    if not guards.flags:
        return None
    copies: dict[int, Any] = {}
    tree = copied(checked.text.tree, copies)
    numbers = {node: number for number, node in enumerate(guards.of_loops)}
    flags: dict[ast.AST, ast.expr] = {}
    for node, flag in guards.flags.items():
        where: ast.expr = ast.Constant(True)
        if flag is not None:
            where = ast.Name(_flag(numbers[flag[0]], is_always=flag[1]), ast.Load())
        flags[copies[id(node)]] = where
    before = {copies[id(node)]: _before(numbers[node], g) for node, g in guards.of_loops.items()}
    of_lanes = {
        copies[id(flag[0])]: _flag(numbers[flag[0]], is_always=True)
        for node, flag in guards.flags.items()
        if flag is not None and flag[1] and isinstance(node, ast.Call)
    }
    return _Rewriting(flags, before, of_lanes).visit(tree)  # type: ignore[no-any-return]


def _flag(number: int, *, is_always: bool) -> str:
    return f"@inside{number}" if is_always else f"@inside{number}.at_times"


def _before(number: int, guard: Guard) -> list[ast.stmt]:
    """Return the statements before a loop."""
    found: list[ast.stmt] = []
    name = _flag(number, is_always=True)
    conditions = list(guard.always.values())
    found.append(_set(name, conditions))
    if guard.at_times:
        also: list[ast.expr] = [ast.Name(name, ast.Load())]
        also += [each for dump, each in guard.at_times.items() if dump not in guard.always]
        found.append(_set(_flag(number, is_always=False), also))
    return found


def _set(name: str, conditions: Sequence[ast.expr]) -> ast.stmt:
    value = copied(conditions[0]) if conditions else ast.Constant(True)
    for each in conditions[1:]:
        value = ast.BinOp(value, ast.BitAnd(), copied(each))
    return ast.Assign([ast.Name(name, ast.Store())], value)


class _Rewriting(ast.NodeTransformer):
    """Puts guards before loops, and their names into accesses; consumes the tree it visits.

    `of_lanes` are the loops to split, with the names of their guards.
    """

    def __init__(
        self,
        flags: dict[ast.AST, ast.expr],
        before: dict[Any, list[ast.stmt]],
        of_lanes: dict[Any, str],
    ) -> None:
        self._flags, self._before, self._of_lanes = flags, before, of_lanes

    def visit_For(self, node: ast.For) -> Any:
        before, flag = self._before.get(node, []), self._of_lanes.get(node)
        self.generic_visit(node)
        loop: ast.stmt = node
        if flag is not None:
            holds = call("holds", ast.Name(flag, ast.Load()))
            other = _Known(flag, False).visit(copied(node))
            loop = _at(ast.If(holds, [_Known(flag, True).visit(node)], [other]), node)
        return [*(_at(each, node.iter) for each in before), loop]

    def visit_Call(self, node: ast.Call) -> ast.expr:
        flag = self._flags.get(node)
        self.generic_visit(node)
        if flag is None:
            return node
        assert isinstance(node.func, ast.Attribute)
        return _at(call("lanes", node.func.value, *node.args, flag), node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        flag = self._flags.get(node)
        self.generic_visit(node)
        if flag is None or not isinstance(node.ctx, ast.Load):
            return node
        return _at(call("element", node.value, node.slice, flag), node)

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        target = node.targets[0]
        flag = self._flags.get(target)
        self.generic_visit(node)
        if len(node.targets) > 1 or flag is None:
            return node
        assert isinstance(target, ast.Subscript)
        value = node.value
        before: list[ast.stmt] = []
        if not isinstance(value, ast.Constant | ast.Name):  # computed before the row is looked up
            name = f"@value{node.lineno}.{node.col_offset}"
            before = [_at(ast.Assign([ast.Name(name, ast.Store())], value), node)]
            value = ast.Name(name, ast.Load())
        stored = ast.Expr(call("store", target.value, target.slice, value, flag))
        return [*before, _at(stored, node)]

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        target = node.target
        flag = self._flags.get(target)
        self.generic_visit(node)
        if flag is None:
            return node
        assert isinstance(target, ast.Subscript)
        old = call("element", copied(target.value), copied(target.slice), flag)
        new = ast.BinOp(old, node.op, node.value)
        return _at(ast.Expr(call("store", target.value, target.slice, new, flag)), node)


class _Known(ast.NodeTransformer):
    """Replaces the name of a guard by its value; consumes the tree it visits."""

    def __init__(self, name: str, is_inside: bool) -> None:
        self._name, self._is_inside = name, is_inside

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id != self._name:
            return node
        return ast.copy_location(ast.Constant(self._is_inside), node)


def _at(made: N, where: ast.AST) -> N:
    """Give new nodes the location of a user's node."""
    for each in ast.walk(made):
        if "lineno" in each._attributes and not hasattr(each, "lineno"):
            ast.copy_location(each, where)
    return made


# -- the compiled form -----------------------------------------------------------------------------


_RAISED = "@Raised"  # not an identifier, so no user's name can hide it


def compiled_form(checked: Checked) -> FunctionType:
    """Return the function to pass to a compiler: a `compute`, or a function that it calls."""
    function = checked.text.function
    tree = guarded(checked)
    if tree is None and not checked.facts.raises:
        return function
    tree = _Bare().visit(tree or copied(checked.text.tree))
    tree.decorator_list = []
    code = function.__code__
    module = compile(
        ast.fix_missing_locations(with_free_names(ast.Module([tree], []), code.co_freevars)),
        code.co_filename,
        "exec",
        flags=code.co_flags & FUTURE_FLAGS,
        dont_inherit=True,
    )
    inner: CodeType = next(each for each in nested(module) if each.co_name == code.co_name)
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    return FunctionType(
        inner,
        {**function.__globals__, **FUNCTIONS, _RAISED: Exception},
        argdefs=function.__defaults__,
        closure=tuple(cells[name] for name in inner.co_freevars),
    )


class _Bare(ast.NodeTransformer):
    """Replaces exceptions by a bare one; consumes the tree it visits."""

    def visit_Raise(self, node: ast.Raise) -> ast.Raise:
        return ast.copy_location(ast.Raise(ast.Name(_RAISED, ast.Load()), None), node)

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        if not __debug__:
            return ast.copy_location(ast.Pass(), node)
        test = ast.UnaryOp(ast.Not(), node.test)
        raised = self.visit_Raise(ast.copy_location(ast.Raise(None, None), node))
        return ast.copy_location(ast.If(test, [raised], []), node)
