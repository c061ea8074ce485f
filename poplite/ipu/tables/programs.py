"""Program trees as columns: each distinct program once, after those below it.

    node.op, .a, .b       what it is, and up to two numbers
    node.children_end     its parts stand in `child`
    case.value            the values of the cases of a Switch, from `b` on
    call.tensor           inputs, then outputs of a call of the host, from `b` on
    stamp.tile, .sync, .tensor, .since
    program.name, .root
    function.name, .root

What is printed leaves by a stream of its own, so that Python writes it as always. An Execute whose
vertices read what they write is a sequence of copies and the Execute. A cycle counter that an
earlier one is subtracted from needs a vertex for that (`cycles.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from enum import IntEnum

import numpy as np

from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.tensor.tensor import Tensor
from poplite.ipu.tables.copied_inputs import CopiedInput
from poplite.ipu.tables.edges import EdgesTable
from poplite.ipu.tables.host_places import HostPlaces
from poplite.ipu.tables.series import NONE, Texts
from poplite.program import (
    Abort,
    AbortOnCondition,
    CodeCopy,
    CycleStamp,
    ErrorProgram,
    Execute,
    Function,
    HostCall,
    If,
    Loop,
    ModifyFloatingPointBehaviour,
    PrintTensor,
    Program,
    Repeat,
    RepeatWhile,
    RepeatWhileTrue,
    SetFloatingPointBehaviour,
    SetStochasticRounding,
    StreamCopy,
    Switch,
    Sync,
    SyncType,
    TensorCopy,
    WriteUndef,
    children_first,
)
from poplite.program.function import FunctionCall

_SYNCS = tuple(SyncType)

NO_CASE = "no case of the Switch matches"
"""What a Switch says that stops where no case matches."""


class NodeOp(IntEnum):
    """What a node does; `a` and `b` are in brackets."""

    SEQUENCE = 0
    EXECUTE = 1
    """(compute set, tensor of the result or none)"""
    COPY = 2
    """(source, destination)"""
    FROM_HOST = 3
    """(stream, destination)"""
    TO_HOST = 4
    """(stream, source)"""
    REPEAT = 5
    """(count)"""
    WHILE_TRUE = 6
    """(predicate); condition and body"""
    WHILE_FALSE = 7
    LOOP = 8
    IF = 9
    """(predicate); both bodies"""
    SWITCH = 10
    """(control, first of its cases); the default, then the cases"""
    CALL = 11
    """(function)"""
    ABORT = 12
    """(text)"""
    ABORT_ON = 13
    """(predicate, text)"""
    ERROR = 14
    """(text, tensor)"""
    SYNC = 15
    """(0 internal, 1 external, 2 global)"""
    WRITE_UNDEF = 16
    """(tensor)"""
    HOST_CALL = 17
    """(function of the host, first of its tensors)"""
    STAMP = 18
    """(stamp)"""
    SET_BEHAVIOUR = 19
    """(bits)"""
    MODIFY_BEHAVIOUR = 20
    """(bits that are cleared, bits that are set then)"""
    SET_ROUNDING = 21
    """(whether it is stochastic)"""
    LOAD_CODE = 22
    """(function)"""


class ProgramColumns:
    """Writes down programs.

    Args:
        host: numbers streams and functions of the host.
    """

    def __init__(self, host: HostPlaces, texts: Texts, edges: EdgesTable) -> None:
        self._host, self._texts, self._edges = host, texts, edges
        self._stream_of = host.stream
        self._compute_sets: dict[ComputeSet, tuple[int, Sequence[CopiedInput]]] = {}
        self._numbers: dict[Program, int] = {}
        self._functions: dict[Function, int] = {}
        self._columns: defaultdict[str, list[int]] = defaultdict(list)

    def add_compute_set(
        self, compute_set: ComputeSet, number: int, copied: Sequence[CopiedInput]
    ) -> None:
        """Note the number of a compute set, and what is copied before it runs."""
        self._compute_sets[compute_set] = number, copied

    def add(self, name: str, program: Program) -> None:
        """Write down a program under its name."""
        self._write(program)
        self._columns["program.name"].append(self._texts.number(name))
        self._columns["program.root"].append(self._numbers[program])

    def columns(self) -> dict[str, Sequence[int]]:
        """Return the columns of all programs."""
        names = (
            "node.op node.a node.b node.children_end child case.value call.tensor stamp.tile "
            "stamp.sync stamp.tensor stamp.since program.name program.root function.name "
            "function.root"
        )
        return {name: self._columns[name] for name in names.split()}

    def _write(self, program: Program) -> None:
        for node in children_first(program):
            if node not in self._numbers:
                self._numbers[node] = self._node(node)

    def _node(self, node: Program) -> int:
        match node:
            case FunctionCall(function=function):
                return self._add(NodeOp.CALL, self._function(function))
            case Execute():
                return self._execute(node)
            case TensorCopy():
                return self._add(NodeOp.COPY, self._of(node.source), self._of(node.destination))
            case StreamCopy(source=Tensor() as source, stream=stream):
                return self._add(NodeOp.TO_HOST, self._stream_of(stream), self._of(source))
            case StreamCopy(destination=Tensor() as destination, stream=stream):
                return self._add(NodeOp.FROM_HOST, self._stream_of(stream), self._of(destination))
            case PrintTensor(tensor=tensor):
                return self._add(NodeOp.TO_HOST, self._stream_of(node), self._of(tensor))
            case Repeat(count=count):
                return self._add(NodeOp.REPEAT, count, parts=node.children)
            case RepeatWhile(predicate=predicate):
                op = NodeOp.WHILE_TRUE if isinstance(node, RepeatWhileTrue) else NodeOp.WHILE_FALSE
                return self._add(op, self._of(predicate), parts=node.children)
            case Loop():
                return self._add(NodeOp.LOOP, parts=node.children)
            case If(predicate=predicate):
                return self._add(NodeOp.IF, self._of(predicate), parts=node.children)
            case Switch():
                return self._switch(node)
            case Abort(message=message):
                return self._add(NodeOp.ABORT, self._texts.number(message))
            case AbortOnCondition(predicate=predicate, message=message):
                number = self._texts.number(message)
                return self._add(NodeOp.ABORT_ON, self._of(predicate), number)
            case ErrorProgram(message=message, debug_tensor=tensor):
                return self._add(NodeOp.ERROR, self._texts.number(message), self._of(tensor))
            case Sync(sync_type=sync_type):
                return self._add(NodeOp.SYNC, _SYNCS.index(sync_type))
            case WriteUndef(tensor=tensor):
                return self._add(NodeOp.WRITE_UNDEF, self._of(tensor))
            case HostCall(function=host_function):
                first = len(self._columns["call.tensor"])
                tensors = [self._of(each) for each in (*node.inputs, *node.outputs)]
                self._columns["call.tensor"] += tensors
                return self._add(NodeOp.HOST_CALL, self._host.function(host_function), first)
            case CodeCopy(destination=function):
                return self._add(NodeOp.LOAD_CODE, self._function(function))
            case CycleStamp():
                return self._stamp(node)
            case SetFloatingPointBehaviour(behaviour=behaviour):
                return self._add(NodeOp.SET_BEHAVIOUR, behaviour.bits)
            case ModifyFloatingPointBehaviour(off=off, on=on):
                return self._add(NodeOp.MODIFY_BEHAVIOUR, off.bits, on.bits)
            case SetStochasticRounding():
                return self._add(NodeOp.SET_ROUNDING, int(node.set != 0))
        return self._add(NodeOp.SEQUENCE, parts=node.children)

    def _execute(self, node: Execute) -> int:
        result = NONE if node.result is None else self._of(node.result)
        number, copied = self._compute_sets[node.compute_set]
        copies = []
        for each in copied:
            kind = each.element_type
            source = self._edges.add(each.taken, kind)
            copies.append(self._add(NodeOp.COPY, source, self._edges.add(each.destination, kind)))
        execute = self._add(NodeOp.EXECUTE, number, result)
        return self._add(NodeOp.SEQUENCE, numbers=[*copies, execute]) if copies else execute

    def _switch(self, node: Switch) -> int:
        cases = node.cases
        if node.unmatched == "default":
            default = self._numbers[node.default]
        else:
            default = self._add(NodeOp.ABORT, self._texts.number(NO_CASE))
        first = len(self._columns["case.value"])
        self._columns["case.value"] += cases.keys()
        bodies = [self._numbers[each] for each in cases.values()]
        return self._add(NodeOp.SWITCH, self._of(node.control), first, numbers=[default, *bodies])

    def _stamp(self, node: CycleStamp) -> int:
        tiles = node.tensor.graph.top_level_graph.tile_mapping(node.tensor)
        row = {
            "tile": int(np.flatnonzero(tiles.elements_per_tile)[0]),
            "sync": _SYNCS.index(node.sync_type),
            "tensor": self._of(node.tensor),
            "since": NONE if node.since is None else self._of(node.since),
        }
        for name, number in row.items():
            self._columns[f"stamp.{name}"].append(number)
        return self._add(NodeOp.STAMP, len(self._columns["stamp.tile"]) - 1)

    def _function(self, function: Function) -> int:
        if function not in self._functions:
            self._write(function.program)  # which a program may load before it is called
            self._functions[function] = len(self._functions)
            self._columns["function.name"].append(self._texts.number(function.name))
            self._columns["function.root"].append(self._numbers[function.program])
        return self._functions[function]

    def _of(self, tensor: Tensor) -> int:
        return self._edges.tensor(tensor.view, tensor.element_type)

    def _add(
        self,
        op: NodeOp,
        a: int = 0,
        b: int = 0,
        parts: Sequence[Program] = (),
        numbers: Sequence[int] = (),
    ) -> int:
        self._columns["child"] += [*numbers, *(self._numbers[part] for part in parts)]
        row = {"op": op, "a": a, "b": b, "children_end": len(self._columns["child"])}
        for name, number in row.items():
            self._columns[f"node.{name}"].append(number)
        return len(self._columns["node.op"]) - 1
