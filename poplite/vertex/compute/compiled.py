"""The forms of a vertex class that are compiled: its `compute`, its faster form.

An exception only stops the vertex, and loops have guards::

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

A faster form is a separate vertex class that no graph contains.  It derives from the class, and its
`compute` is the faster method, so it is checked, typed and lowered like any other class.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import CodeType, FunctionType, MappingProxyType, new_class
from typing import Any, TypeVar

from poplite.errors import VertexDefinitionError
from poplite.source import SourceLocation
from poplite.vertex.compute.bounds import FUNCTIONS, Guard, Guards, call
from poplite.vertex.compute.identity import check
from poplite.vertex.compute.source_text import FUTURE_FLAGS, copied, nested, with_free_names
from poplite.vertex.compute.typed_facts import Checked
from poplite.vertex.faster import faster_method, promise_of
from poplite.vertex.vertex import Vertex

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


# -- faster forms ----------------------------------------------------------------------------------

_KNOWN = "@faster"  # not an identifier, so no user's name can hide it


@dataclass(frozen=True, slots=True, eq=False)
class FasterForm:
    """The faster form of a vertex class.

    Attributes:
        vertex: the class whose `compute` is the faster method.
        method: the faster method.
        rtol: largest relative difference of results; 0 for bit-identical results.
    """

    vertex: type[Vertex]
    method: FunctionType
    rtol: float

    def __str__(self) -> str:
        return f"{self.vertex.__name__}.{self.method.__name__}"

    @property
    def ran(self) -> str:
        """The line of an error message for the faster form that a vertex ran.

        It is the same in all errors, so that it identifies the form.
        """
        return f"its faster form {self} ran, of {self.location}"

    @property
    def location(self) -> SourceLocation:
        """Where the method was defined."""
        code = self.method.__code__
        return SourceLocation(code.co_filename, code.co_firstlineno, code.co_name)


FasterForms = Mapping[type[Vertex], FasterForm]
"""The faster form of each class that has one."""


def faster_form(cls: type[Vertex]) -> FasterForm | None:
    """Return the faster form of a vertex class, or None.

    Raises `VertexCompileError` if it is outside the dialect, and `VertexDefinitionError` if it
    cannot replace `compute`: it must return the same and stop for the same reasons.

    >>> from poplite.vertices import Add
    >>> from poplite.types import FLOAT
    >>> faster_form(Add[FLOAT]) is None
    True
    """
    method = faster_method(cls)
    if method is None:
        return None
    form: FasterForm | None = vars(cls).get(_KNOWN)
    if form is None or form.method is not method:
        promise = promise_of(method)
        assert promise is not None, "faster methods have one"
        wide = promise.wide if promise.wide and has_long_registers() else {}
        form = FasterForm(_class_of(cls, method, wide), method, promise.rtol)
        setattr(cls, _KNOWN, form)
    _refuse_other_ends(cls, form)
    return form


def has_long_registers() -> bool:
    """Return whether the processor has 32 registers of 64 bytes."""
    from poplite.jit.native_code import host  # which imports llvmlite

    return "+avx512vl" in host().features.split(",")


def _class_of(cls: type[Vertex], method: FunctionType, numbers: Mapping[str, int]) -> type[Vertex]:
    namespace: dict[str, Any] = {
        **numbers,
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": cls.__doc__,
    }
    made: type[Vertex] = new_class(cls.__name__, (cls,), None, lambda body: body.update(namespace))
    made.location, made.compute = cls.location, method
    # It may read elements that it has written.
    made.fields = MappingProxyType(
        {
            name: replace(field, role="inout") if field.role == "output" else field
            for name, field in cls.fields.items()
        }
    )
    return made


def _refuse_other_ends(cls: type[Vertex], form: FasterForm) -> None:
    definition, faster = check(cls), check(form.vertex)
    what, fix = "", ""
    if (definition.result is None) != (faster.result is None):
        returns = ["nothing" if each.result is None else "a bool" for each in (faster, definition)]
        what = f"it returns {returns[0]}, but compute returns {returns[1]}"
        fix = f"make {form.method.__name__} return what compute returns"
    elif faster.raises and not definition.raises:
        what = "it may raise an exception, but compute never does"
        fix = f"remove raise and assert from {form.method.__name__}"
    if what:
        raise VertexDefinitionError(f"faster form {form}: {what}", at=form.location, fix=fix)
