"""Facts about a typed `compute`, including the functions that it calls.

Each function is typed once for each combination of argument kinds, as in Numba, so a helper that
is called with an int and with a float32 appears twice::

    compute ──┬── clamp(a float32, a Python float)
              └── clamp(an int, an int) ──── larger(an int, an int)

Where paths merge, a variable takes the wider of its kinds.  It is then *ragged*: its value may
still be of the narrower kind, and each use widens it::

    FLOAT ──┐
            ├── F32, ragged
    F32  ───┘

Widening at the use has the same result as widening where the paths merge, with two exceptions: an
int of more than 53 bits that merges with a Python float and then a float32 would be rounded twice
or once, and a negative int that merges with an unsigned one and then a float would be large or
negative.  In Numba that depends on the nesting of merges; here both are marked as a clash.

The values of numbers that are the same in every run are computed, by the machine's arithmetic::

    k = 2**40           1099511627776
    k >> 9              2147483648
    k + self.n          unknown

They are checked by stores: a constant that is neither a value nor a bit pattern of an integer field
is an error, while a number that is known only at run time is truncated to its low bits.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from poplite.frozen import frozen
from poplite.types import ElementType
from poplite.vertex.compute import arithmetic
from poplite.vertex.compute.arithmetic import Kind, element_kind, lanes_text
from poplite.vertex.compute.dialect import Constant, Scope
from poplite.vertex.compute.source_text import SourceText
from poplite.vertex.vertex import Field, Vertex
from poplite.walks import top_down

# -- known values ----------------------------------------------------------------------------------


Known = bool | int | float | np.uint64
"""A known value, with the Python type of its kind."""


def known(value: arithmetic.Number) -> Known | None:
    """Return a value to record, or None for float32, 0.0 and NaN, where equality is not identity.

    >>> known(3), known(0.0), known(math.nan)
    (3, None, None)
    """
    if isinstance(value, np.float32):
        return None
    if isinstance(value, float) and (value == 0 or math.isnan(value)):
        return None
    return value


def evaluated(name: str, values: Iterable[Known | None]) -> Known | None:
    """Return the result of a function of `arithmetic`; None if an operand is unknown.

    >>> evaluated("add", [2**63 - 1, 1]), evaluated("add", [1, None])
    (-9223372036854775808, None)
    """
    operands = list(values)
    if None in operands:
        return None
    with np.errstate(all="ignore"):
        return known(getattr(arithmetic, name)(*operands))


def met(values: Iterable[Known | None], kind: Kind) -> Known | None:
    """Return the common value of all paths, in a kind; None if they differ.

    >>> met([True, 1], Kind.INT), met([1, 2], Kind.INT)
    (1, None)
    """
    first, *others = values
    if first is None or any(other is None or other != first for other in others):
        return None
    return known(arithmetic.cast(first, kind))


def bounds(element: type[ElementType[Any]]) -> tuple[int, int] | None:
    """Return the range of constants that an element accepts, or None if it accepts all.

    >>> from poplite.types import INT
    >>> bounds(INT)
    (-2147483648, 4294967295)
    """
    if element_kind(element) not in (Kind.INT, Kind.UINT):
        return None
    bits = 8 * element.size_bytes
    return -(1 << bits - 1), (1 << bits) - 1


# -- values of variables ---------------------------------------------------------------------------


class NumberValue(NamedTuple):
    """A number.

    Attributes:
        long: whether it is an int that may need more than 53 bits, or came from one where paths
            merged.
        clash: whether its value depends on the order in which paths merge.
        met: the kinds that were merged; empty if it has one kind on all paths.
        constant: its value if that is known and the same on all paths.
    """

    kind: Kind
    long: bool = False
    clash: bool = False
    met: tuple[Kind, ...] = ()
    constant: Known | None = None

    def __str__(self) -> str:
        return str(self.kind)


class ElementsValue(NamedTuple):
    """A vector (depth 1) or a list of vectors (depth 2), of a field."""

    field: Field
    depth: int

    def __str__(self) -> str:
        return f"a {'vector' if self.depth == 1 else 'list of vectors'} of '{self.field.name}'"


class LanesOf(NamedTuple):
    """Up to 64 numbers of a kind, see `poplite.vertex.compute.lanes`."""

    kind: Kind

    def __str__(self) -> str:
        return lanes_text(self.kind)


class Mixed(NamedTuple):
    """The value of a variable that has incompatible types on two paths."""

    one: str
    other: str


Value = NumberValue | ElementsValue | LanesOf | Mixed

Result = NumberValue | LanesOf | None
"""The result of a function."""


class Local(NamedTuple):
    """A local variable at one point.

    Attributes:
        ragged: whether its value may still be of a narrower kind.
        unset: whether it is unassigned on some path that leads here.
    """

    value: Value
    ragged: bool = False
    unset: bool = False


State = dict[str, Local]


@dataclass(slots=True, eq=False)
class WalkState:
    """The state of the walk over the statements of a function.

    Attributes:
        locals: the variables at this point; None if it is unreachable.
        settled: whether their kinds are final.
    """

    locals: State | None
    settled: bool = True


def meet_numbers(one: NumberValue, other: NumberValue) -> NumberValue:
    """Return the number that results from merging two paths.

    >>> meet_numbers(NumberValue(Kind.INT), NumberValue(Kind.F32)).kind
    Kind.F32
    """
    kind, long = max(one.kind, other.kind), one.long or other.long
    met = {k for number in (one, other) for k in number.met or (number.kind,)}
    rounded_twice = long and {Kind.FLOAT, Kind.F32} <= met
    signs_differ = {Kind.INT, Kind.UINT} <= met and kind >= Kind.FLOAT
    clash = one.clash or other.clash or rounded_twice or signs_differ
    constant = one.constant if one.kind is other.kind and one.constant == other.constant else None
    return NumberValue(kind, long, clash, tuple(sorted(met)) if met != {kind} else (), constant)


def _meet_locals(one: Local | None, other: Local | None) -> Local:
    if one is None or other is None:
        only = one or other
        assert only is not None
        return only._replace(unset=True)
    unset = one.unset or other.unset
    a, b = one.value, other.value
    if isinstance(a, NumberValue) and isinstance(b, NumberValue):
        ragged = one.ragged or other.ragged or a.kind is not b.kind
        return Local(meet_numbers(a, b), ragged, unset)
    if a == b or isinstance(a, Mixed):
        return Local(a, unset=unset)
    return Local(b if isinstance(b, Mixed) else Mixed(str(a), str(b)), unset=unset)


def meet(states: Iterable[State | None]) -> State | None:
    """Return the state where paths merge; None if no path leads there."""
    reached = [state for state in states if state is not None]
    if not reached:
        return None
    result = dict(reached[0])
    for state in reached[1:]:
        for name in result.keys() | state.keys():
            result[name] = _meet_locals(result.get(name), state.get(name))
    return result


def are_wider(seen: State, start: State) -> bool:
    """Return whether a variable at the head of a loop has a different kind at its end.

    Variables that are only assigned in iterations do not require a restart, since they cannot be
    read at the head.
    """
    return any(
        name in seen and _kind_of(seen[name]) != _kind_of(local) for name, local in start.items()
    )


def _kind_of(local: Local) -> object:
    """Return the kind or value of a variable, without its marks."""
    return local.value.kind if isinstance(local.value, NumberValue) else local.value


def restart(entry: State, seen: State) -> State:
    """Return the state at the head of a loop after wider kinds were seen at its end.

    Only the kinds that were seen remain: the other marks may come from kinds that were too narrow.
    So may constants, but the next iteration removes those that are not valid.
    """
    clean = {
        name: local._replace(
            value=NumberValue(local.value.kind, constant=local.value.constant), ragged=False
        )
        if isinstance(local.value, NumberValue)
        else local
        for name, local in seen.items()
    }
    merged = meet((entry, clean))
    assert merged is not None
    return merged


# -- functions -------------------------------------------------------------------------------------


N = TypeVar("N", bound=ast.expr)
T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Facts:
    """Facts about the nodes of one function.

    Attributes:
        kinds: the kind of every number expression.
        containers: the meaning of every other expression: a vector, a list of them, or lanes.
        casts: expressions whose value is widened after it is computed.
        constants: names of numbers that are fixed at compile time.
        calls: calls of number functions, by the name in `poplite.vertex.compute.arithmetic`.
        helpers: calls of the user's own functions.
        lanes: the kind of every expression that computes lanes from numbers or other lanes.
        lane_accesses: calls that load or store lanes of a vector.
        mapped: the call for one lane, for each call of `pl.lanes.map`.
        folds: calls of methods that reduce lanes to a number, by name.
        debugging: calls of `print` and `breakpoint`, by that name.
        exceptions: the classes that are raised, by the node that refers to them.
        raises: whether it may stop its vertex, by `raise` or `assert`.
    """

    kinds: dict[ast.expr, Kind] = field(default_factory=dict)
    containers: dict[ast.expr, ElementsValue | LanesOf] = field(default_factory=dict)
    casts: dict[ast.expr, Kind] = field(default_factory=dict)
    constants: dict[ast.expr, Constant] = field(default_factory=dict)
    calls: dict[ast.Call, str] = field(default_factory=dict)
    helpers: dict[ast.Call, Checked] = field(default_factory=dict)
    lanes: dict[ast.expr | ast.AugAssign, Kind] = field(default_factory=dict)
    lane_accesses: set[ast.Call] = field(default_factory=set)
    mapped: dict[ast.Call, ast.Call] = field(default_factory=dict)
    folds: dict[ast.Call, str] = field(default_factory=dict)
    debugging: dict[ast.Call, str] = field(default_factory=dict)
    exceptions: dict[ast.expr, type[Exception]] = field(default_factory=dict)
    raises: bool = False


@frozen(eq=False)
class Checked:
    """A `compute`, or a function it calls, that is within the dialect.

    Attributes:
        arguments: the arguments of the call, without `self`.
        result: the number or lanes that it returns, or None.
    """

    scope: Scope
    arguments: tuple[Value, ...]
    facts: Facts
    result: Result

    @property
    def vertex(self) -> type[Vertex]:
        """The vertex class."""
        return self.scope.vertex

    @property
    def text(self) -> SourceText:
        """The text of the function."""
        return self.scope.text

    @property
    def function(self) -> FunctionType:
        """The function itself."""
        return self.scope.text.function

    @property
    def raises(self) -> bool:
        """Whether the function, or one that it calls, may stop its vertex."""
        return any(checked.facts.raises for checked in self.functions())

    @property
    def shows(self) -> bool:
        """Whether the function, or one that it calls, prints or stops at a breakpoint."""
        return any(checked.facts.debugging for checked in self.functions())

    def functions(self) -> list[Checked]:
        """Return this function and all that it calls, each once, in the order of the text."""
        return top_down([self], lambda checked: in_order(checked.facts.helpers))


def in_order(found: Mapping[N, T]) -> list[T]:
    """Return the facts about nodes of one function, in the order of the text.

    >>> node = ast.parse("a + b", mode="eval").body
    >>> in_order({node.right: "second", node.left: "first"})
    ['first', 'second']
    """
    nodes = sorted(found, key=lambda node: (node.lineno, node.col_offset))
    return [found[node] for node in nodes]
