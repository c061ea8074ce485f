"""Programs as data: one list of nodes, children before what they are part of.

    0  ["Execute", 3, [0, null]]      compute set 0, made at line 3
    1  ["Repeat", 4, [9, 0]]          node 0, nine times

Reading makes each node by its class, which checks what it is given, as it does for users.  What
operations recorded in a block is a Sequence; that of an operation names the variables it made.  A
loop that counts says how often:

    2  ["Sequence", 5, ["softmax", [0, 1], [4, 9]]]      variables 4 to 8
    3  ["RepeatWhileTrue", 6, [1, "go_on", 2, 10]]       ten times
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, get_type_hints

from poplite.codec.codec import coder_of
from poplite.codec.coders import Coder, EitherCoder, Json, PartsCoder, ScalarCoder, decoded
from poplite.codec.loading import Malformed, at, shown
from poplite.executable.graph_file.references import GraphReader, GraphWriter, ReferenceCoder
from poplite.frozen import frozen
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.program import Call, Copy, CycleStamp, Program, RepeatWhile, Sequence, Switch
from poplite.program.base import children_first, made_kinds, saved_fields, unknown_kind
from poplite.program.control import MOST_TIMES, with_times
from poplite.program.function import Function, FunctionBuffer
from poplite.source import SourceLocation
from poplite.types import UNSIGNED_INT

_KINDS = {kind.__name__: kind for kind in made_kinds()}

_LOCATION = coder_of(SourceLocation)


def _variables(of: GraphReader, data: Json) -> range:
    """Return the numbers of the variables that an operation made."""
    count = len(of.graph.variables)
    match data:
        case None:
            return range(0)
        case [int(first), int(end)] if 0 <= first < end <= count:
            return range(first, end)
    raise Malformed(f"{shown(data)} are not the numbers of variables up to {count:,}")


_TIMES = ScalarCoder(int, range(MOST_TIMES + 1), "is not how often a loop runs")

_CODERS: dict[str, Coder] = {
    "programs": coder_of(tuple[Program, ...]),
    "_made": ReferenceCoder(
        range, lambda _, made: [made.start, made.stop] if made else None, _variables
    ),
    "times": EitherCoder([_TIMES], optional=True),
    "cases": coder_of(Mapping[int, Program]),
}
"""Coders of what no annotation tells."""


@frozen(eq=False)
class SavedFunction:
    """A function, and the line that made its buffer, if there is one."""

    name: str
    program: int
    location: SourceLocation
    buffer: SourceLocation | None = None


class ProgramWriter:
    """Writes programs, each distinct one once; connects itself to what writes all else."""

    def __init__(self, graph: Graph, to: GraphWriter) -> None:
        self.nodes: list[Json] = []
        self.functions: list[SavedFunction] = []
        self._to, self._buffers = to, graph.function_buffers
        self._numbers: dict[int, int] = {}
        self._kept: list[Program | Function] = []
        to.number_of = self.number

    def number(self, part: Program | Function) -> int:
        """Return the number of a program or function, which is written first if it is new."""
        if id(part) not in self._numbers:
            if isinstance(part, Function):
                self._add_function(part)
            else:
                for node in children_first(part):
                    if id(node) not in self._numbers:
                        self._add(node)
        return self._numbers[id(part)]

    def _add_function(self, function: Function) -> None:
        program = self.number(function.program)
        buffer = self._buffers.get(function.name)
        made = None if buffer is None else buffer.location
        self._keep(function, len(self.functions))
        self.functions.append(SavedFunction(function.name, program, function.location, made))

    def _add(self, node: Program) -> None:
        kind = Sequence if isinstance(node, Sequence) else type(node)
        if _KINDS.get(kind.__name__) is not kind:
            raise unknown_kind(node, "no file keeps what {} does")
        data = _coder(kind.__name__).encode(node, self._to)
        self._keep(node, len(self.nodes))
        self.nodes.append([kind.__name__, _LOCATION.encode(node.location, self._to), data])

    def _keep(self, part: Program | Function, number: int) -> None:
        self._kept.append(part)  # so that no other gets its id
        self._numbers[id(part)] = number


@cache
def _coder(name: str) -> PartsCoder:
    kind = _KINDS[name]
    hints = get_type_hints(kind, localns={"RecordedSteps": object})
    coders = {name: _CODERS.get(name) or coder_of(hints[name]) for name in saved_fields(kind)}
    make = next((_MADE_BY[base] for base in kind.__mro__ if base in _MADE_BY), kind)
    return PartsCoder(kind, coders, lambda _, *parts: make(*parts))


class ProgramReader:
    """Reads programs; connects itself to what reads all else."""

    def __init__(self, functions: tuple[SavedFunction, ...], of: GraphReader) -> None:
        self._saved, self._of = functions, of
        self._functions: dict[int, Function] = {}
        of.function, of.buffer = self.function, self.buffer

    def read(self, nodes: Json) -> None:
        """Read all programs, then the functions that none of them calls."""
        if type(nodes) is not list:
            raise Malformed(f"{shown(nodes)} is not a valid list of programs")
        for number, each in enumerate(nodes):
            with at(f".programs[{number}]"):
                self._of.programs.append(self._program(each))
        for number, saved in enumerate(self._saved):
            if saved.buffer is not None:
                self.buffer(number)

    def function(self, number: Json) -> Function:
        """Return a function, which is made when it is first asked for."""
        if type(number) is not int or not 0 <= number < len(self._saved):
            raise Malformed(f"{shown(number)} is the number of no function")
        if number not in self._functions:
            saved = self._saved[number]
            if not 0 <= saved.program < len(self._of.programs):
                raise Malformed(
                    f"function '{saved.name}' runs a program that is not before its calls"
                )
            graph = self._of.graph
            made = graph.add_function(self._of.programs[saved.program], saved.name)
            if made.name != saved.name:
                raise Malformed(f"two functions are called '{saved.name}'")
            object.__setattr__(made, "location", saved.location)
            self._functions[number] = made
        return self._functions[number]

    def buffer(self, number: Json) -> FunctionBuffer:
        """Return the buffer of a function."""
        function, graph = self.function(number), self._of.graph
        location = self._saved[number].buffer
        if location is None:
            raise Malformed(f"function '{function.name}' has no buffer")
        if function.name not in graph.function_buffers:
            made = graph.add_function_buffer(function)
            object.__setattr__(made, "location", location)
        return graph.function_buffers[function.name]

    def _program(self, data: Json) -> Program:
        match data:
            case [str() as name, location, parts] if name in _KINDS:
                made: Program = decoded(_coder(name), parts, self._of)
                object.__setattr__(made, "location", _LOCATION.decode(location, self._of))
                return made
        raise Malformed(f"{shown(data)} is not a valid program")


# -- programs that are not made by their class alone -----------------------------------------------


def _sequence(name: str, programs: tuple[Program, ...], made: range) -> Sequence:
    sequence = Sequence(list(programs), name=name)
    object.__setattr__(sequence, "_made", made)
    return sequence


def _loop(kind: type[RepeatWhile]) -> Callable[..., RepeatWhile]:
    return lambda *parts: with_times(kind(*parts[:3]), parts[3])


def _switch(
    control: Tensor, unmatched: str, default: Program, cases: Mapping[int, Program]
) -> Switch:
    if unmatched != "default" and not default.is_empty:
        raise Malformed("a Switch runs something where it has no default")
    switch = Switch.__new__(Switch)
    switch._fill(control, cases, unmatched, default)
    return switch


def _stamp(tensor: Tensor, sync_type: Any, since: Tensor | None) -> CycleStamp:
    """Refuse what `cycle_stamp` and `cycle_count` do not make."""
    for each in (tensor,) if since is None else (tensor, since):
        if each.element_type is not UNSIGNED_INT or each.shape != (2,):
            raise Malformed(f"'{each.name}' is not a valid stamp of the cycle counter")
    if not tensor.is_parallel_writeable():
        raise Malformed(f"'{tensor.name}' cannot be written")
    return CycleStamp(tensor, sync_type, since)


_MADE_BY: dict[type[Program], Callable[..., Program]] = {
    Copy: Copy,
    Call: Call,
    Sequence: _sequence,
    **{kind: _loop(kind) for kind in made_kinds() if issubclass(kind, RepeatWhile)},
    Switch: _switch,
    CycleStamp: _stamp,
}
