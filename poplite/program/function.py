"""Functions: programs that can run from many places.

    blur = graph.add_function(Sequence(horizontal, vertical), "blur")
    Sequence(Call(blur), Copy(a, b), Call(blur))

Functions have no arguments: data is passed in variables.  A program can only call functions that
were created before it, so no function can call itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, overload

from poplite.errors import ControlProgramError, made_by, not_called, refuse_copies
from poplite.frozen import frozen
from poplite.graph.host import HostFunction
from poplite.poplar.callable_values import CalledText
from poplite.program.base import Program, checked, children_first, declared, set_once
from poplite.source import SourceLocation, here
from poplite.text import amount, clipped, fitted, of_type

if TYPE_CHECKING:
    from poplite.graph.graph import Graph
    from poplite.graph.tensor.tensor import Tensor
    from poplite.program.copy import HostCall


@made_by("graph.add_function(program)")
@refuse_copies("call graph.add_function(function.program) for another function")
@frozen(eq=False, repr=False)
class Function:
    """A program that `Call` runs; created by `graph.add_function`.

    Attributes:
        graph: the graph.
        name: unique among the graph's functions.
        program: the program that it runs.
        location: the user's line that created it.

    >>> from poplite.graph import Graph
    >>> Graph().add_function(Program(), "blur")
    <Function 'blur' 0 steps>
    """

    graph: Graph
    name: str
    program: Program
    location: SourceLocation

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", CalledText(self.name))

    def __repr__(self) -> str:
        steps = amount(self.program.num_steps, "step")
        return fitted(f"<Function '{{}}' {steps}>", self.name)

    def getId(self) -> int:
        """Return its position among the functions of the graph."""
        return self.graph.space.names.number("function", self.name)


@made_by("graph.add_function_buffer(function)")
@frozen(eq=False, repr=False)
class FunctionBuffer:
    """The code of a function, stored on the host until a Copy loads it.

    Created by `graph.add_function_buffer`. A Call of the function before the Copy is refused.

    Attributes:
        function: the function.
        location: the user's line that created it.

    >>> from poplite.graph import Graph
    >>> graph = Graph()
    >>> graph.add_function_buffer(graph.add_function(Program(), "blur"))
    <FunctionBuffer of 'blur'>
    """

    function: Function
    location: SourceLocation

    @property
    def name(self) -> str:
        """The name of the function."""
        return CalledText(f"code of {self.function.name}")

    def __repr__(self) -> str:
        return fitted("<FunctionBuffer of '{}'>", self.function.name)

    def getId(self) -> int:
        """Return the number of the function, which has at most one buffer."""
        return self.function.getId()


def function_of(graph: Graph, name: str, program: object, at: SourceLocation) -> Function:
    """Return a function of a graph; see `graph.add_function`."""
    part = checked(program, "add_function")
    for node in children_first(part):
        if isinstance(node, FunctionCall) and node.function.graph is not graph:
            raise ControlProgramError(
                f"add_function '{name}': it calls function '{node.function.name}' of another graph",
                found=f"that belongs to {node.function.graph!r} ({node.function.location})",
                fix="add both functions to the same graph: graph.add_function(program)",
            )
    part.mark_used(here())
    return Function(graph, name, part, at)


def buffer_of(graph: Graph, function: object, at: SourceLocation) -> FunctionBuffer:
    """Return a buffer for the code of a function; see `graph.add_function_buffer`."""
    if not isinstance(function, Function) or function.graph is not graph:
        raise ControlProgramError(
            f"add_function_buffer: {clipped(function, 80)} is not a function of this graph",
            fix="graph.add_function_buffer(graph.add_function(program))",
        )
    return FunctionBuffer(function, at)


@declared(init=False)
class Call(Program):
    """Runs a function, or a host function: `Call(host_function, inputs, outputs)`.

    Args:
        function: the function.
        inputs: for a host function, a tensor for each of its inputs.
        outputs: for a host function, a tensor for each of its outputs.
        name: as in Poplar; it has no effect.

    Raises:
        ControlProgramError: when it is not a function, or tensors are passed to a function of the
            graph; for a host function, when the number of tensors or elements is wrong, or the
            graphs differ.
        ElementTypeError: for a wrong element type, or anything but a tensor.
        GraphConnectionError: when an output may not be written or contains an element twice, or
            two outputs share elements.

    >>> from poplite.graph import Graph
    >>> Call(Graph().add_function(Program(), "blur"))
    <Call 'blur', 0 steps>
    """

    _title = "Call '{function.name}'"
    function: Function | HostFunction

    @overload
    def __new__(cls, function: Function, inputs: str = "", *, name: str = "") -> FunctionCall: ...
    @overload
    def __new__(
        cls,
        function: HostFunction,
        inputs: Iterable[Tensor] = (),
        outputs: Iterable[Tensor] = (),
        name: str = "",
    ) -> HostCall: ...
    # Any: the overloads above are the signature.
    def __new__(
        cls, function: Any = None, inputs: Any = (), outputs: Any = (), name: Any = ""
    ) -> Any:
        """Return a call of a function, or of a host function."""
        from poplite.program.copy import HostCall  # it derives from Call

        if cls is not Call:
            raise not_called(cls.__name__, "Call(function)", is_empty=function is None)
        form = HostCall if isinstance(function, HostFunction) else FunctionCall
        return object.__new__(form)


@declared()
class FunctionCall(Call):
    """Runs a function of the graph; created by `Call`."""

    function: Function

    def __init__(self, function: Function, *tensors: object, name: str = "") -> None:
        if len(tensors) == 1 and isinstance(tensors[0], str):
            tensors = ()
        if not isinstance(function, Function):
            raise ControlProgramError(
                f"Call: {clipped(function, 80)} is not a function",
                found=of_type(function),
                fix="Call(graph.add_function(program)), or use a program without Call",
            )
        if tensors:
            raise ControlProgramError(
                f"Call '{function.name}': a function of the graph has no inputs or outputs",
                found=f"{amount(len(tensors), 'argument')} after {function!r}",
                fix="copy to the variables that it uses before the Call, or use a host function "
                "(graph.add_host_function), which has inputs and outputs",
            )
        set_once(self, function=function)

    @property
    def children(self) -> tuple[Program, ...]:
        """The program of the function."""
        return (self.function.program,)


def written_steps(program: Program) -> int:
    """Return the number of steps of a program as compiled, with each function counted once.

    >>> from poplite.graph import Graph
    >>> from poplite.program import Execute, Sequence
    >>> graph = Graph()
    >>> blur = graph.add_function(Sequence([Execute(graph.add_compute_set())] * 1_000), "blur")
    >>> written_steps(Sequence([Call(blur)] * 5_000))
    6000
    """
    written: dict[int, int] = {}
    functions: dict[Function, None] = {}
    for node in children_first(program):
        if isinstance(node, FunctionCall):
            functions[node.function] = None
            written[id(node)] = 1
        elif node.children:
            written[id(node)] = sum(written[id(part)] for part in node.children)
        else:
            written[id(node)] = node.num_steps
    return written[id(program)] + sum(written[id(each.program)] for each in functions)


def functions_between(program: Program, inner: Program) -> list[Function] | None:
    """Return the functions through which a program runs `inner`; None if it does not run it.

    >>> from poplite.graph import Graph
    >>> inner = Program()
    >>> blur = Graph().add_function(inner, "blur")
    >>> functions_between(Call(blur), inner), functions_between(Program(), inner)
    ([<Function 'blur' 0 steps>], None)
    """
    seen = {id(program)}
    pending: list[tuple[Program, list[Function]]] = [(program, [])]
    while pending:
        node, path = pending.pop()
        if node is inner:
            return path
        for below in node.children:
            if id(below) not in seen:
                seen.add(id(below))
                through = [node.function] if isinstance(node, FunctionCall) else []
                pending.append((below, [*path, *through]))
    return None
