"""Python functions of tensors as graph functions, recorded once for each signature.

The steps of a call:

    first call    parameters = clones of the arguments; the body is recorded once
    every call    Copy argument -> parameter, Call, Copy parameter -> argument of `inout`,
                  Copy result -> a new tensor, which is returned

As in poputil::graphfn, the results of a call are not overwritten by the next call.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Hashable, Iterator
from typing import Any, Generic, ParamSpec, TypeVar, overload

from poplite.errors import (
    ControlProgramError,
    ElementTypeError,
    GraphRecursionError,
    checked_items,
)
from poplite.expr.operand import as_read
from poplite.expr.tree import Expr, stored_first
from poplite.frozen import frozen
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.program import Call, Copy, Function, Sequence
from poplite.program.recording import RecordedSteps, graph_for, target
from poplite.text import clipped, of_type

P = ParamSpec("P")
R = TypeVar("R")


@frozen
class _Recorded:
    """The recorded function for one signature."""

    function: Function
    parameters: dict[str, Tensor]
    results: Any


class GraphFunction(Generic[P, R]):
    """A Python function that is recorded once for each signature; see `graph_function`."""

    def __init__(self, body: Callable[P, R], inout: tuple[str, ...]) -> None:
        if not callable(body):
            raise ControlProgramError(
                f"graph_function: {clipped(body)} is not a function",
                found=of_type(body),
                fix="write @pl.graph_function above a def",
            )
        functools.update_wrapper(self, body)
        self._body = body
        self._inout = checked_items(inout, "graph_function: inout", "pass inout=('weights',)")
        self._signature = inspect.signature(body)
        self._recording: set[int] = set()
        self.__name__: str = getattr(body, "__name__", "function")
        known = self._signature.parameters
        unknown = [name for name in self._inout if not isinstance(name, str) or name not in known]
        if unknown:
            raise ControlProgramError(
                f"graph_function '{self.__name__}': inout contains {clipped(unknown[0])}, "
                "which is not a parameter",
                found=f"it is {self.__name__}{self._signature}",
                fix="pass names of parameters, such as inout=('weights',)",
            )

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Append copies of the arguments, a call, and copies of the results.

        Raises:
            ControlProgramError: outside any steps, if no argument is a tensor, if an argument is
                not hashable, if the body returns anything but tensors, or if two arguments that
                are copied back share elements.
            ElementTypeError: if an argument or a result is an expression, or arguments do not match
                the function's parameters.
            GraphRecursionError: if the function calls itself.
            PopliteError: for tensors of different graphs, and the errors of the body.
        """
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise ElementTypeError(
                f"graph_function '{self.__name__}': {error}",
                found=f"it is {self.__name__}{self._signature}",
                fix="pass the arguments of the function",
            ) from None
        bound.apply_defaults()
        bound.arguments = {name: as_read(value) for name, value in bound.arguments.items()}
        arguments = dict(bound.arguments)
        for name, value in arguments.items():
            if isinstance(value, Expr):
                raise ElementTypeError(
                    f"graph_function '{self.__name__}': argument {name} is not a tensor",
                    found=repr(value),
                    fix=stored_first(value, ""),
                )
        tensors = {name: value for name, value in arguments.items() if isinstance(value, Tensor)}
        if not tensors:
            raise ControlProgramError(
                f"graph_function '{self.__name__}': no argument is a tensor",
                found=", ".join(f"{n}={clipped(v)}" for n, v in arguments.items()),
                fix="pass the tensors that it works on",
            )
        self._check_inout(tensors)
        first, *others = tensors.values()
        graph = graph_for(first.graph, (first, *others), None)
        steps = target(graph, None, f"{self.__name__}(...)")
        recorded = self._recorded(graph, bound, tensors)
        for name, tensor in tensors.items():
            steps.add(Copy(tensor, recorded.parameters[name]))
        steps.add(Call(recorded.function))
        for name in self._inout:
            if name in tensors:
                steps.add(Copy(recorded.parameters[name], tensors[name]))
        results: R = _copied(graph, steps, recorded.results)
        return results

    def _check_inout(self, tensors: dict[str, Tensor]) -> None:
        changed = [(name, tensors[name]) for name in self._inout if name in tensors]
        for n, (name, tensor) in enumerate(changed):
            for other, second in changed[:n]:
                if tensor.intersects_with(second):
                    raise ControlProgramError(
                        f"graph_function '{self.__name__}': '{other}' and '{name}' share elements, "
                        "and both are copied back",
                        found=f"{other}={second!r}, {name}={tensor!r}",
                        fix="pass tensors that share no elements: one copy overwrites the other",
                    )

    def _recorded(
        self, graph: Graph, bound: inspect.BoundArguments, tensors: dict[str, Tensor]
    ) -> _Recorded:
        key = self, graph, tuple(self._keys(bound.arguments))
        functions = graph._parts.recorded_functions  # kept there to live as long as the graph
        known = functions.get(key)
        if known is None:
            known = functions[key] = self._record(graph, bound, tensors)
        assert isinstance(known, _Recorded)
        return known

    def _keys(self, arguments: dict[str, object]) -> Iterator[Hashable]:
        for name, value in arguments.items():
            if isinstance(value, Tensor):
                mapping = value.graph.tile_mapping(value, require_complete=False)
                arrays = mapping.tiles, mapping.ptr, mapping.begin, mapping.end
                places = tuple(array.tobytes() for array in arrays)
                yield name, value.shape, value.element_type, places
                continue
            try:
                hash(value)
            except TypeError:
                raise ControlProgramError(
                    f"graph_function '{self.__name__}': argument {name}={clipped(value)} is "
                    "neither a tensor nor a value that can be compared with those of other calls",
                    found=of_type(value),
                    fix="pass each tensor as a separate argument, and a tuple instead of a list",
                ) from None
            # 1, 1.0 and True are equal, and so are 0.0 and -0.0: the key must distinguish them.
            yield name, type(value), value, repr(value) if isinstance(value, float) else ""

    def _record(
        self, graph: Graph, bound: inspect.BoundArguments, tensors: dict[str, Tensor]
    ) -> _Recorded:
        if id(graph._parts) in self._recording:
            raise GraphRecursionError(
                f"graph_function '{self.__name__}' calls itself",
                found="its body is being recorded",
                fix="loop with ops.repeat or ops.while_",
            )
        self._recording.add(id(graph._parts))
        try:
            with graph.scope(self.__name__):
                parameters = {name: graph.clone(tensor, name) for name, tensor in tensors.items()}
                bound.arguments.update(parameters)
                steps = RecordedSteps(graph, self.__name__, is_function=True)
                with steps:
                    results = self._body(*bound.args, **bound.kwargs)
            self._check(results)
            function = graph.add_function(steps, self.__name__)
        finally:
            self._recording.discard(id(graph._parts))
        return _Recorded(function, parameters, results)

    def _check(self, results: object) -> None:
        for each in results if isinstance(results, tuple | list) else [results]:
            if each is not None and not isinstance(each, Tensor):
                raise ElementTypeError(
                    f"graph_function '{self.__name__}' returns {clipped(each, 60)}, "
                    "which is not a tensor",
                    found=of_type(each),
                    fix=stored_first(each, "return tensors, a tuple or list of them, or nothing"),
                )


def _copied(graph: Graph, steps: Sequence, results: Any) -> Any:
    """Return copies of the results of a call, in the same structure."""
    if isinstance(results, tuple | list):
        return type(results)([_copied(graph, steps, each) for each in results])
    if results is None:
        return None
    made = graph.clone(results)
    steps.add(Copy(results, made))
    return made


@overload
def graph_function(body: Callable[P, R]) -> GraphFunction[P, R]: ...
@overload
def graph_function(
    *, inout: tuple[str, ...] = ()
) -> Callable[[Callable[P, R]], GraphFunction[P, R]]: ...
def graph_function(body: Any = None, *, inout: tuple[str, ...] = ()) -> Any:
    """Turn a Python function of tensors into a graph function.

    The body is recorded once for each signature: the shapes, element types and tile mappings of
    the tensor arguments, the values of the other arguments, and the virtual graph on
    whose tiles it works. A call within `graph.steps` copies the tensors to the function's
    parameters, runs it, and copies its results to new tensors. Values that the body writes to a
    parameter are not copied back, unless `inout` names it.

    Args:
        body: the function; it returns a tensor, a tuple or list of tensors, or None.
        inout: the names of parameters that are copied back to the arguments after each call.

    Raises:
        ControlProgramError: if `inout` contains something that is not the name of a parameter, or
            the body is not a function.
        ElementTypeError: for an `inout` that is not a list.

    >>> import poplite as pl
    >>> @pl.graph_function(inout=("total",))
    ... def accumulate(total, x):
    ...     pl.ops.assign(total, total + x)
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> x, y = (graph.add_variable("float32", (4,), n, mapping=0, initial_value=1) for n in "xy")
    >>> with graph.steps() as step:
    ...     accumulate(x, y)
    ...     accumulate(x, y)
    >>> engine = pl.Engine(graph, step)
    >>> engine.run()
    >>> engine.read(x)
    array([3., 3., 3., 3.], dtype=float32)
    """
    if body is None:
        return lambda function: GraphFunction(function, inout)
    return GraphFunction(body, inout)
