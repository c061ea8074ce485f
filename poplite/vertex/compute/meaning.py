"""The meaning of `compute`, behind one protocol for all languages in which vertices are written.

    meaning_of(Axpy).flow           whether its running time depends on data
    meaning_of(Axpy).identity       the key of its compiled code
    meaning_of(Axpy).interpreted()  a function that runs one vertex

A class with a Python `compute` has a `PythonMeaning`, which is derived from its checked text::

    code            the record of the class in files of executables
    identity        the key of compiled code
    remembered      anything else: costs, compiled forms

The text, and the numbers and functions that it names, are compared at each look; if they changed,
the class is checked again.

A faster form is a separate vertex class that no graph contains.  It derives from the class, and its
`compute` is the faster method, so it is checked, typed and lowered like any other class.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import FunctionType, MappingProxyType, new_class
from typing import Any, TypeVar

from poplite.errors import VertexCompileError, VertexDefinitionError
from poplite.source import SourceLocation
from poplite.vertex.compute.bounds import conditions
from poplite.vertex.compute.data_flow import DataFlow, Ends, Loops
from poplite.vertex.compute.dialect import Constants, Scope, helper_of, scope_of
from poplite.vertex.compute.identity import ClassCode, class_code, identity_of
from poplite.vertex.compute.interpret import Turns, bounded_form, compiled_when_called
from poplite.vertex.compute.source_text import read, why_no_text
from poplite.vertex.compute.typed_compute import infer
from poplite.vertex.compute.typed_facts import Checked
from poplite.vertex.fields import definition_error
from poplite.vertex.from_source import why_missing
from poplite.vertex.vertex import Vertex, faster_method, promise_of

T = TypeVar("T")

Form = Callable[..., bool | None]
"""Runs one vertex: takes an `InterpretedSelf`, and for a `MultiVertex` the number of a worker."""

OPERATIONS = (
    *(ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call, ast.Subscript),
    *(ast.Attribute, ast.If, ast.While, ast.For, ast.Break, ast.Continue, ast.Return),
    *(ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Raise, ast.Assert),
)
"""Syntax nodes that count as operations, since they compute, load, store or branch."""

# -- the protocol ----------------------------------------------------------------------------------


class Meaning(ABC):
    """The meaning of the `compute` of a vertex class.

    It is stored as an attribute of the class, so that it does not keep the class alive.
    """

    def __init__(self) -> None:
        self._derived: dict[object, Any] = {}

    @property
    @abstractmethod
    def returns(self) -> bool:
        """Whether `compute` returns a truth value."""

    @property
    @abstractmethod
    def raises(self) -> bool:
        """Whether it may stop its vertex by an exception."""

    @property
    @abstractmethod
    def shows(self) -> bool:
        """Whether it prints, or stops at a breakpoint."""

    @property
    @abstractmethod
    def operations(self) -> int:
        """The number of operations of its code."""

    @property
    @abstractmethod
    def kernels(self) -> frozenset[str]:
        """The names of the functions of `math` that it calls."""

    @property
    @abstractmethod
    def may_lack_price(self) -> bool:
        """Whether its code may contain instructions without a price; it is then guessed."""

    @property
    @abstractmethod
    def flow(self) -> DataFlow:
        """The data flow of its code."""

    @property
    @abstractmethod
    def code(self) -> ClassCode:
        """Its record in files of executables."""

    @property
    @abstractmethod
    def identity(self) -> tuple[object, ...]:
        """A value whose `repr` is equal for classes that compile to the same code."""

    @property
    @abstractmethod
    def conditions(self) -> list[ast.expr] | None:
        """Conditions that put all indices in range (`bounds`); None if there are none."""

    @property
    @abstractmethod
    def indices_follow_shapes(self) -> bool:
        """Whether a run without data may show that all indices are in range."""

    @property
    @abstractmethod
    def writes_outputs_only(self) -> bool:
        """Whether `compute` cannot read Outputs, and interpreted runs mark the elements stored."""

    @abstractmethod
    def is_current(self) -> bool:
        """Return whether the class still has this meaning."""

    @abstractmethod
    def interpreted(self, traps: int = 0) -> Form:
        """Return a function that runs one vertex, and raises an error at the line where it stops.

        `traps` are bits of `poplite.machine.floating_point`. Callers run it under
        `np.errstate(all="ignore")`, since infinities and NaN are valid results.
        """

    @abstractmethod
    def bounded(self) -> tuple[Form, Turns]:
        """Return an interpreted form that raises `TooManyTurns`, and its counter of iterations."""

    @abstractmethod
    def lowered(self, lower: Callable[[Checked], str]) -> str:
        """Return `compute` as the text of an LLVM module; `lower` compiles checked Python."""

    def place(self, file: int, line: int) -> SourceLocation | None:
        """Return the place of a fault that compiled code recorded; None if it records no lines."""
        return None

    def remembered(self, what: object, make: Callable[[], T]) -> T:
        """Return the cached result of `make`, which is called again if the code changed.

        `what` is the key; it includes everything else on which the result depends.
        """
        if what not in self._derived:
            self._derived[what] = make()
        derived: T = self._derived[what]
        return derived

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle as nothing, since addresses of code are valid only in this process."""
        return _nothing, ()


def _nothing() -> None:
    """Return the replacement for a meaning that is pickled by value."""


_MEANING = "@meaning"  # not an identifier, so no user's name can hide it


def meaning_of(vertex: type[Vertex]) -> Meaning:
    """Return the current meaning of the `compute` of a class.

    Raises `VertexCompileError` at the first line that is outside the dialect, and if there is no
    text to check.
    """
    known: Meaning | None = vars(vertex).get(_MEANING)
    if known is not None and known.is_current():
        return known
    made = PythonMeaning(_typed(vertex))
    set_meaning(vertex, made)
    return made


def stored_meaning(vertex: type[Vertex]) -> Meaning | None:
    """Return the meaning that a class has so far, without checking its text."""
    known: Meaning | None = vars(vertex).get(_MEANING)
    return known


def set_meaning(vertex: type[Vertex], meaning: Meaning) -> None:
    """Give a class its meaning."""
    setattr(vertex, _MEANING, meaning)


def loops_of(vertices: Iterable[type[Vertex]]) -> Loops:
    """Return the loops of vertex classes, as if they were one class."""
    every = [meaning_of(vertex).flow.loops for vertex in vertices]
    ends = {each.ends for each in every}
    worst: Ends = "perhaps" if "perhaps" in ends else "by order" if "by order" in ends else "always"
    return Loops(worst, max((each.depth for each in every), default=0))


# -- Python ----------------------------------------------------------------------------------------


class PythonMeaning(Meaning):
    """The meaning of a Python `compute`: its text, with the kind of every number."""

    def __init__(self, checked: Checked) -> None:
        super().__init__()
        self.checked = checked
        self._named = list(_named(checked))

    def is_current(self) -> bool:
        """Return whether names in the text still refer to the same objects."""
        checked = self.checked
        return (
            checked.function is checked.vertex.compute
            and all(map(_is_current, checked.functions()))
            and all(scope.global_of(name) is meant for scope, name, meant in self._named)
        )

    @cached_property
    def returns(self) -> bool:
        """Whether `compute` returns a truth value."""
        return self.checked.result is not None

    @cached_property
    def raises(self) -> bool:
        """Whether it has a `raise` or an `assert`."""
        return self.checked.raises

    @cached_property
    def shows(self) -> bool:
        """Whether it prints, or stops at a breakpoint."""
        return self.checked.shows

    @cached_property
    def operations(self) -> int:
        """The number of operations in its text and in those of its functions."""
        return sum(
            isinstance(node, OPERATIONS)
            for function in self.checked.functions()
            for statement in function.text.tree.body
            for node in ast.walk(statement)
        )

    @cached_property
    def kernels(self) -> frozenset[str]:
        """Names of the functions of `math` that it calls."""
        functions = self.checked.functions()
        return frozenset(name for each in functions for name in each.facts.calls.values())

    @property
    def may_lack_price(self) -> bool:
        """Return False: everything in the dialect has a price."""
        return False

    @cached_property
    def flow(self) -> DataFlow:
        """The data flow of its text."""
        return DataFlow(self.checked)

    @cached_property
    def code(self) -> ClassCode:
        """Its record in files of executables."""
        return class_code(self.checked)

    @cached_property
    def identity(self) -> tuple[object, ...]:
        """The key of its compiled code."""
        return identity_of(self.checked)

    @cached_property
    def conditions(self) -> list[ast.expr] | None:
        """Conditions that put all indices in range."""
        return conditions(self.checked)

    @property
    def writes_outputs_only(self) -> bool:
        """Return True: the checks refuse reads, and Python sees each store."""
        return True

    @property
    def indices_follow_shapes(self) -> bool:
        """Return False: the conditions show it, or it depends on data."""
        return False

    def interpreted(self, traps: int = 0) -> Form:
        """Return the interpreted form, with the current text.

        It is compiled when it is first called, since many are needed only after errors.
        """
        make = lambda: compiled_when_called(self.checked, traps)  # noqa: E731
        return self.remembered(("interpreted form", traps), make)

    def bounded(self) -> tuple[Form, Turns]:
        """Return the interpreted form that counts the iterations of `while` loops."""
        return self.remembered("bounded form", lambda: bounded_form(self.checked))

    def lowered(self, lower: Callable[[Checked], str]) -> str:
        """Return the text that `lower` makes of the checked text."""
        return lower(self.checked)


def check(vertex: type[Vertex]) -> Checked:
    """Check that a Python `compute` is within the dialect and that all its numbers have a kind.

    The result is cached as long as the numbers and functions outside `compute` that it names do not
    change.  Raises `VertexCompileError` at the first line that is outside the dialect, and if
    there is no text to check.
    """
    meaning = meaning_of(vertex)
    if isinstance(meaning, PythonMeaning):
        return meaning.checked
    raise VertexCompileError(
        f"'{vertex.__name__}.compute' is not written in Python",
        at=vertex.location,
        found="its text cannot be typed as Python",
        fix="pass a class with a compute in Python",
    )


def _typed(vertex: type[Vertex]) -> Checked:
    missing = why_missing(vertex)
    if missing is not None:
        raise VertexCompileError(
            f"only the fields of class '{vertex.__name__}' are known: {missing}",
            at=None,
            found=f"the graph was loaded, and refers to a class of module '{vertex.__module__}'",
            fix=f"pass it: Graph.load(path, vertices=[{vertex.__qualname__.partition('[')[0]}]), "
            "or --vertices FILE.py",
        )
    function = vertex.compute
    if not isinstance(function, FunctionType):
        what = f"compute is of type {type(function).__name__}, not a function"
        raise definition_error(vertex, what, "define compute(self) -> None")
    text = read(function)
    if text is None:
        found, fix = why_no_text(function)
        raise VertexCompileError(
            f"'{vertex.__name__}.compute': there is no source text to check",
            at=vertex.location,
            found=found,
            fix=fix,
        )
    return infer(scope_of(vertex, text))


def _is_current(checked: Checked) -> bool:
    if not checked.text.is_current():
        return False
    constants = Constants(checked.scope)
    for node, value in checked.facts.constants.items():
        if repr(constants.named(node)) != repr(value):
            return False
    for node, callee in checked.facts.helpers.items():
        helper = helper_of(checked.scope, node)
        if helper is None or not helper.is_of(callee.function):
            return False
    return True


def _named(checked: Checked) -> Iterator[tuple[Scope, ast.expr, object]]:
    """Yield the global names, other than numbers, that a text and those it calls refer to."""
    for each in checked.functions():
        called = [node.func for node in ast.walk(each.text.tree) if isinstance(node, ast.Call)]
        for name in (*called, *each.facts.exceptions):
            if not each.scope.is_local(name):
                yield each.scope, name, each.scope.global_of(name)


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
