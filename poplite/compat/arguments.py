"""Checks of the arguments of PopLibs' functions against their annotations.

A decorated function refuses values that do not match::

    @checked("poplin")
    def triangularMask(graph: Graph, a: Tensor, lower: bool, ...)

    poplin.triangularMask(graph, None, True)       poplin.triangularMask: a is None
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial, wraps
from types import MappingProxyType
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

import numpy as np

from poplite.errors import (
    ControlProgramError,
    ElementTypeError,
    GraphConnectionError,
    InvalidOption,
    TensorCreationError,
    checked_integer,
    checked_kind,
    checked_truth,
    did_you_mean,
)
from poplite.expr.operand import Operand, as_read
from poplite.expr.tree import Expr
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.graph import Graph, working_graph
from poplite.graph.tensor.tensor import Tensor
from poplite.machine.target import Target
from poplite.ops.operands import invalid_value
from poplite.poplar.spelling import binder_of
from poplite.program import Sequence as Steps
from poplite.program.base import Program
from poplite.program.recording import ComputeSetList, deciding_tiles
from poplite.public import checked_call
from poplite.text import clipped, integer_or_none, of_type

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

Number = bool | int | float

_KINDS: Mapping[str, tuple[Any, str]] = MappingProxyType(
    {
        "Graph": (Graph, "a graph"),
        "Tensor": (Tensor, "a tensor, such as one from graph.add_variable"),
        "Operand": (Operand, "a tensor, such as one from graph.add_variable"),
        "str": (str, 'a name, such as "x"'),
        "ComputeSet": (ComputeSet, "a compute set from graph.add_compute_set"),
        "Target": (Target, "a target, such as graph.target"),
    }
)
"""Classes by annotation, with their names in messages."""

HAVE_OUTPUTS = frozenset(
    f"popops.{name}" for name in ("cast", "dynamicSlice", "map", "reduce")
) | frozenset(("poplin.convolution", "poplin.matMul", "poplin.matMulGrouped"))
"""Functions with a form for a given output, whose name ends in `WithOutput`."""


def checked(library: str, method: str = "") -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Reject arguments that do not match their annotations, before anything else.

    The graph among them determines the tiles of everything that the function makes; the function
    receives it in the form that operations take.

    Args:
        library: the prefix of the name in messages.
        method: the name in messages, if it differs from the function's.
    """

    def made(function: Callable[P, R]) -> Callable[P, R]:
        code: Any = getattr(function, "func", function)  # unwrap `with_first`
        names = code.__code__.co_varnames[code is not function : code.__code__.co_argcount]
        texts, own_name = code.__annotations__, method or code.__name__
        has_graph, what = texts.get("graph") == "Graph", f"{library}.{own_name}"
        place = names.index("graph") if has_graph else 0

        @wraps(code)
        def door(*args: P.args, **kwargs: P.kwargs) -> R:
            given: Any = kwargs.get("graph", args[place] if place < len(args) else None)
            args = tuple([as_read(each, given) for each in args])  # type: ignore[assignment]
            kwargs = {name: as_read(each, given) for name, each in kwargs.items()}  # type: ignore[assignment]
            for name, value in (*zip(names, args, strict=False), *kwargs.items()):
                _check(what, name, value, texts.get(name, ""))
            if not has_graph or given is None:
                return function(*args, **kwargs)
            graph: Any = working_graph(given)
            if "graph" in kwargs:
                kwargs["graph"] = graph
            else:
                args = (*args[:place], graph, *args[place + 1 :])  # type: ignore[assignment]
            with deciding_tiles(graph):
                return function(*args, **kwargs)

        vars(door)["__wrapped__"] = function
        if method:
            door.__name__ = door.__qualname__ = own_name
            door.__doc__ = (code.__doc__ or "").replace("{name}", own_name)
        return checked_call(door, what)

    return made


def with_first(function: Callable[Concatenate[T, P], R], first: T) -> Callable[P, R]:
    """Return a function with its first argument bound, for several functions of one signature.

    `checked(library, name)` then names it, and replaces `{name}` in its docstring.
    """
    return partial(function, first)


def bound(library: str, method: str = "") -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Accept arguments in the order of any declaration of a function; check them as `checked` does.

    Args:
        library: the namespace that the function is declared in.
        method: its name there, as for `checked`.
    """

    def made(function: Callable[..., R]) -> Callable[..., R]:
        door = checked(library, method)(function)

        @wraps(door)
        def call(*arguments: Any, **named: Any) -> R:
            binder = binder_of(library, door.__name__)
            ordered, others = binder.in_our_order(arguments, named)
            try:
                return door(*ordered, **others)
            except TypeError:
                given = arguments, named
                misfit = binder.refusal(door, tuple(ordered), others, given=given)
                if misfit is None:
                    raise
            raise misfit

        return call

    return made


def over_graph(what: str, graph: Graph) -> AbstractContextManager[None]:
    """Let a call's graph determine the tiles of all that a `with` block makes, or raise."""
    _check(what, "graph", graph, "Graph")
    return deciding_tiles(graph)


def check_tensors(what: str, **tensors: object) -> None:
    """Reject arguments that are not tensors, by name."""
    for name, value in tensors.items():
        _check(what, name, value, "Tensor")


def operand_of(what: str, name: str, value: object) -> Operand | Number:
    """Return an operand whose element type is known, or a Python number; or raise.

    >>> operand_of("popops.add", "b", 2)
    2
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | int | float):
        return value
    if not isinstance(value, Operand) or (isinstance(value, Expr) and value.is_open):
        raise ElementTypeError(
            f"{what}: {name} is {clipped(value)}",
            found=of_type(value),
            fix="pass a tensor, such as one from graph.add_variable, or a number",
        )
    return value


def sizes_of(what: str, name: str, value: object) -> tuple[int, ...]:
    """Return the whole numbers of a list, or raise."""
    given = value.tolist() if isinstance(value, np.ndarray) else value
    found = given if isinstance(given, Sequence) and not isinstance(given, str | bytes) else [None]
    numbers = [integer_or_none(each) for each in found]
    if None in numbers:
        raise invalid_value(what, name, value, "a list of whole numbers")
    return tuple(each for each in numbers if each is not None)


def channels_of(what: str, name: str, x: Tensor) -> int:
    """Return the number of channels, or raise for a tensor without a channel dimension."""
    if x.rank < 2:
        raise TensorCreationError(
            f"{what}: {name} '{x.name}' has shape {x.shape}",
            fix="pass a tensor of shape [batch, channels, field ...]",
        )
    return x.shape[1]


def number_of(what: str, name: str, value: object) -> float:
    """Return a number, which an option may give as text, or raise."""
    try:
        return float(value)  # type: ignore[arg-type]  # checked by this very call
    except (TypeError, ValueError, OverflowError):
        raise invalid_value(what, name, value, "a number") from None


def check_name(what: str, name: object) -> str:
    """Return a debug name, or raise."""
    _check(what, "debug_context", name, "str")
    return str(name)


def _check(what: str, name: str, value: object, text: str) -> None:
    """Reject an argument that does not match its annotation."""
    if text == "bool":
        checked_truth(value, f"{what}: {name}")
        return
    if text == "int":
        checked_integer(value, f"{what}: {name}")
        return
    if text == "Sequence[int]":
        sizes_of(what, name, value)
        return
    kind, asked = _KINDS.get(text, (object, ""))
    fix = f"pass {asked}"
    if name == "debug_context" and isinstance(value, Program):
        fix = "pass the program right before the name, and one argument less in front of it"
        if what in HAVE_OUTPUTS:
            fix = f"call {what}WithOutput, which takes an output: {what} makes a new tensor"
    checked_kind(value, kind, f"{what}: {name}", fix)


# -- options ---------------------------------------------------------------------------------------


Options = Mapping[str, str] | None


def check_known(what: str, options: Options, known: Collection[str]) -> None:
    """Reject options that are not a mapping, and, as PopLibs does, unknown ones."""
    names = ", ".join(known) or "none"
    if not isinstance(options, Mapping | None):
        raise invalid_value(what, "options", options, f"None, or a mapping with the keys {names}")
    for name in options or ():
        if name not in known:
            raise InvalidOption(
                f"{what}: there is no option {clipped(name)}{did_you_mean(name, list(known))}",
                found=f"options: {names}",
            )


def check_options(what: str, options: Options, known: Collection[str]) -> None:
    """Reject options that PopLibs does not know, as PopLibs does."""
    check_known(f"popops.{what}", options, known)


def memory_share(what: str, options: Options, default: float = 0.6) -> float:
    """Return `availableMemoryProportion` as a number."""
    share = (options or {}).get("availableMemoryProportion", default)
    try:
        number = float(share)
    except (TypeError, ValueError):
        number = math.nan
    if not 0 < number <= 1:
        asked = 'a share of a tile\'s memory, greater than 0 and at most 1, such as "0.6"'
        raise invalid_value(what, "availableMemoryProportion", share, asked)
    return number


def check_params(what: str, params: object, kind: type, name: str = "params") -> None:
    """Reject parameters that are not of this class."""
    checked_kind(params, kind, f"{what}: {name}", f"{name}={kind.__name__}(...)")


# -- compute sets in place of a program ------------------------------------------------------------
#
#     popops::cast(graph, src, dst, cs)                    adds vertices to those that cs has
#     popops::reduce(graph, in, {0}, params, css)          each step in its own set of a list
#
# Other functions reject compute sets, since their steps are not only vertices.


Place: TypeAlias = Steps | ComputeSet | None
"""Where the steps of a function go; None for the open block."""

Places: TypeAlias = Steps | list[ComputeSet] | None


def one_set(what: str, graph: Graph, place: Place) -> Steps | None:
    """Return where a function's step goes: the program itself, or a wrapped compute set."""
    if not isinstance(place, ComputeSet):
        return place
    return ComputeSetList([checked_set(what, graph, place)], most=1)


def list_of_sets(what: str, graph: Graph, place: Places) -> Steps | None:
    """Return where a function's steps go: the program itself, or a wrapped list of compute sets.

    Compute sets that the list lacks are appended to it.
    """
    if isinstance(place, ComputeSet):
        raise ControlProgramError(
            f"{what}: expected a list of compute sets; found compute set '{place.name}'",
            found="each step gets its own compute set; those that the list lacks are appended",
            fix=f"css = [cs]; {what}(..., css); then Execute each of css in order",
        )
    if not isinstance(place, list):
        return place
    for each in place:
        checked_set(what, graph, each)
    return ComputeSetList(place)


def checked_set(what: str, graph: Graph, each: object) -> ComputeSet:
    """Return a compute set of a graph, or raise."""
    if not isinstance(each, ComputeSet):
        raise ElementTypeError(
            f"{what}: expected a compute set; found {clipped(each)}",
            found=of_type(each),
            fix="pass a compute set from graph.add_compute_set",
        )
    if each.graph is not graph.top_level_graph:
        raise GraphConnectionError(
            f"{what}: compute set '{each.name}' belongs to another graph",
            found=f"this is {graph!r}, the compute set's is {each.graph!r}",
            fix="call graph.add_compute_set(name) on the graph of the tensors",
        )
    return each


# -- codelets --------------------------------------------------------------------------------------


def library_codelets(library: str) -> Callable[[Graph], None]:
    """Return a library's `addCodelets`."""

    @checked(library)
    def addCodelets(graph: Graph) -> None:
        """Do nothing: each operation adds the vertex classes that it needs.

        Args:
            graph: any graph.

        Raises:
            ElementTypeError: for anything but a graph.

        >>> import poplite as pl
        >>> from poplite.compat import popops
        >>> popops.addCodelets(pl.Graph())
        """

    return addCodelets
