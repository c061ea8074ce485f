"""Python functions of tensors as functions of a graph: code that is there once, and called often.

    @pl.graph_function
    def layer(x, w, b):
        return ops.map(ops.relu(x * w + b))

    with graph.steps() as step:
        h = layer(layer(x, w0, b0), w1, b1)       one function, two calls

The first call for certain shapes, element types and mappings records the body, with tensors of its
own; every call copies its arguments to these, and the result to a new tensor. So a program takes
the code of one body however often it is called, and the copies take time.

Source: poplibs, `poputil/GraphFunction.hpp`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection
from typing import Any, NamedTuple, overload
from weakref import WeakKeyDictionary

from poplite.errors import ControlProgramError, GraphConnectionError
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.program import Call, Copy
from poplite.program.function import Function
from poplite.program.recording import Steps, innermost
from poplite.source import here
from poplite.text import clipped, of_type

Body = Callable[..., Any]


class _Made(NamedTuple):
    """A function of a graph for one signature.

    Attributes:
        function: what calls run.
        parameters: its own tensors, by the name of the parameter.
        results: what the body returned: a tensor, several, or None.
    """

    function: Function
    parameters: dict[str, Tensor]
    results: Any


class GraphFunction:
    """A Python function whose calls are calls of a function of the graph; see `graph_function`."""

    def __init__(self, body: Body, inout: Collection[str]) -> None:
        functools.update_wrapper(self, body)
        self._body, self._signature = body, inspect.signature(body)
        self._inout = tuple(inout)
        self._made: WeakKeyDictionary[Graph, dict[Any, _Made | None]] = WeakKeyDictionary()
        unknown = [name for name in self._inout if name not in self._signature.parameters]
        if unknown:
            raise ControlProgramError(
                f"graph_function: '{self._name}' has no parameter '{unknown[0]}'",
                at=here(),
                found=f"{self._name}{self._signature}",
                fix=f"one of {', '.join(self._signature.parameters)}",
            )

    @property
    def _name(self) -> str:
        return getattr(self._body, "__name__", "function")

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Record a call, and return new tensors with the results.

        Raises:
            ControlProgramError: outside of all blocks of `graph.steps()`, and where the function
                calls itself.
            GraphConnectionError: for tensors of another graph than that of the block.
        """
        steps = innermost(f"{self._name}(...)")
        bound = self._signature.bind(*args, **named)
        bound.apply_defaults()
        arguments = dict(bound.arguments)
        tensors = {name: value for name, value in arguments.items() if isinstance(value, Tensor)}
        for name, tensor in tensors.items():
            if tensor.graph is not steps.graph:
                raise GraphConnectionError(
                    f"{self._name}: '{name}' belongs to another graph",
                    at=here(),
                    found=f"{tensor!r}, but the steps are of {steps.graph!r}",
                    fix="tensors of the graph of the block",
                )
        made = self._for(steps.graph, arguments, tensors)
        for name, tensor in tensors.items():
            steps.add(Copy(tensor, made.parameters[name]))
        steps.add(Call(made.function))
        for name in self._inout:
            if name in tensors:
                steps.add(Copy(made.parameters[name], tensors[name]))
        return _copied(steps, made.results, self._name)

    def _for(self, graph: Graph, arguments: dict[str, Any], tensors: dict[str, Tensor]) -> _Made:
        """Return the function for the signature of some arguments."""
        known = self._made.setdefault(graph, {})
        key = tuple(
            (name, _signature(graph, value) if name in tensors else value)
            for name, value in arguments.items()
        )
        if key in known:
            made = known[key]
            if made is None:
                raise ControlProgramError(
                    f"graph_function: '{self._name}' calls itself",
                    at=here(),
                    fix="a loop: with ops.repeat(n): ..., or with ops.while_(condition): ...",
                )
            return made
        known[key] = None
        try:
            known[key] = made = self._make(graph, arguments, tensors)
        except BaseException:
            del known[key]
            raise
        return made

    def _make(self, graph: Graph, arguments: dict[str, Any], tensors: dict[str, Tensor]) -> _Made:
        with graph.scope(self._name):
            parameters = {name: graph.clone(tensor, name) for name, tensor in tensors.items()}
            body = Steps(graph, self._name)
            with body:
                results = self._body(**{**arguments, **parameters})
        _check_results(results, self._name)
        return _Made(graph.add_function(body, self._name), parameters, results)


@overload
def graph_function(body: Body, /) -> GraphFunction: ...
@overload
def graph_function(*, inout: Collection[str] = ...) -> Callable[[Body], GraphFunction]: ...
def graph_function(
    body: Body | None = None, /, *, inout: Collection[str] = ()
) -> GraphFunction | Callable[[Body], GraphFunction]:
    """Make a function of the graph of a Python function of tensors.

    It is made once for each signature: the shapes, element types and mappings of tensors, and the
    values of other arguments, which are hashable. Operations in the body record as in a block of
    `graph.steps()`.

    Args:
        body: returns a tensor, several in a tuple or list, or None.
        inout: names of parameters that the body changes: they are copied back after each call.

    Returns:
        A function that records a call in the block that is open, and returns new tensors.

    Raises:
        ControlProgramError: for a name in `inout` that is no parameter.

    >>> import poplite as pl
    >>> @graph_function
    ... def double(x):
    ...     return pl.ops.map(x * 2)
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> x = graph.add_variable(pl.INT, (3,), "x", mapping="linear", initial_value=[1, 2, 3])
    >>> with graph.steps() as step:
    ...     y = double(double(x))
    >>> engine = pl.Engine(graph, step)
    >>> engine.run()
    >>> engine.read(y)
    array([ 4,  8, 12], dtype=int32)
    """
    if body is None:
        return lambda each: GraphFunction(each, inout)
    return GraphFunction(body, inout)


def _signature(graph: Graph, tensor: Tensor) -> tuple[Any, ...]:
    """Return what two tensors share for which one function is made."""
    mapping = graph.tile_mapping(tensor, require_complete=False)
    where = tuple(each.tobytes() for each in (mapping.ptr, mapping.begin, mapping.end))
    return tensor.shape, tensor.element_type, where


def _check_results(results: Any, name: str) -> None:
    for each in results if isinstance(results, tuple | list) else [results]:
        if each is not None and not isinstance(each, Tensor):
            raise ControlProgramError(
                f"graph_function: '{name}' returns {clipped(each)}",
                at=here(),
                found=of_type(each),
                fix="tensors: ops.map(expression) stores one",
            )


def _copied(steps: Steps, results: Any, name: str) -> Any:
    """Copy the results of a call to new tensors."""
    if isinstance(results, tuple | list):
        return type(results)(_copied(steps, each, name) for each in results)
    if results is None:
        return None
    made = steps.graph.clone(results, f"{name}/result")
    steps.add(Copy(results, made))
    return made
