"""The native functions through which vertices of C++ classes run.

    with_entry(Axpy, text)      adds `vertex.compute`, which drivers call, to the text of the class
    one_vertex(Axpy, meaning)   a function that runs one vertex on arrays: its interpreted form

The entry fills in what the text of the class needs besides the members of its object: room for the
objects of rows, and the place to which a vertex returns when it stops.

In its interpreted form, a vertex runs with checked indices. If one is out of range, the error is
raised at its line of the C++ file, as the interpreted form of a Python class raises it in Python.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Callable, Mapping
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from poplite.jit import digest
from poplite.jit.build import Job, built, exported
from poplite.vertex.compute.interpret import MOST_TURNS, TooManyTurns, Turns, raised_at
from poplite.vertex.compute.interpreted_fields import InterpretedSelf, outside_field
from poplite.vertex.compute.meaning import Form, Meaning
from poplite.vertex.vertex import Vertex

if TYPE_CHECKING:
    from llvmlite import ir

    from poplite.executable.encoding import Forms
    from poplite.simulator.codegen.accessors import DriverArgument

# -- the function that drivers call ----------------------------------------------------------------

ROW_WORDS = 3
"""Size of the object of a row in words: its address, number of elements, field, and record."""

RUN = "vertex.run"
"""Name of the function that runs `compute` on an object with the given members."""


def with_entry(cls: type[Vertex], text: str) -> str:
    """Return the text of a class, which defines `RUN`, with the function that drivers call."""
    import llvmlite.binding as llvm
    from llvmlite import ir

    from poplite.jit.kernel_code import OUTSIDE_STATUS
    from poplite.simulator.codegen import accessors as acc
    from poplite.simulator.codegen.numbered_accessors import ENTER, EXIT, EXIT_BYTES

    module, arguments = ir.Module(), acc.arguments_of(cls)
    kind = ir.FunctionType(acc.RESULT, [each.kind for each in arguments])
    builder = ir.IRBuilder(ir.Function(module, kind, acc.COMPUTE).append_basic_block())
    operands = dict(zip(arguments, builder.function.args, strict=True))
    for argument, operand in operands.items():
        operand.name = argument.name
    about = next(operands[each] for each in arguments if each.part == "about")
    place = builder.alloca(ir.IntType(8), size=EXIT_BYTES)
    place.align = 16
    remember = ir.Function(module, ir.FunctionType(ir.VoidType(), [about.type, place.type]), EXIT)
    builder.call(remember, [about, place])
    enter = ir.Function(module, ir.FunctionType(acc.NARROW, [place.type]), ENTER)
    stopped = builder.icmp_unsigned("!=", builder.call(enter, [place]), acc.NARROW(0))
    with builder.if_then(stopped, likely=False):
        ended = builder.insert_value(acc.RESULT(ir.Undefined), OUTSIDE_STATUS, 0)
        builder.ret(builder.insert_value(ended, acc.TRUTH(1), 1))
    given = [_as_in_c(builder, each, operands) for each in arguments]
    given += [
        builder.alloca(ir.IntType(64), size=builder.mul(operands[each], acc.INDEX(ROW_WORDS)))
        for each in arguments
        if each.part == "rows"
    ]
    function = ir.FunctionType(acc.INDEX, [each.type for each in given])
    returned = builder.call(ir.Function(module, function, RUN), given)
    ended = builder.insert_value(acc.RESULT(ir.Undefined), acc.NARROW(0), 0)
    is_true = builder.icmp_unsigned("!=", returned, acc.INDEX(0))
    builder.ret(builder.insert_value(ended, is_true, 1))
    linked = llvm.parse_assembly(text)
    linked.link_in(llvm.parse_assembly(str(module)))
    linked.get_function(RUN).linkage = "internal"
    return str(linked)


def _as_in_c(
    builder: ir.IRBuilder, argument: DriverArgument, operands: Mapping[DriverArgument, Any]
) -> Any:
    """Emit an argument as C passes it: an address, a float, or a number of 64 bits."""
    from llvmlite import ir

    from poplite.simulator.codegen.accessors import STATE

    value = operands[argument]
    if argument.part == "value":  # the accessor of Python classes, which loads what is priced
        data = next(o for a, o in operands.items() if a.field == argument.field)
        kind = ir.FunctionType(value.type, [value.type, data.type])
        function = ir.Function(builder.module, kind, f"{STATE}{argument.field}")
        value = builder.call(function, [value, data])
    narrow = isinstance(value.type, ir.IntType) and value.type.width < 64
    return builder.zext(value, ir.IntType(64)) if narrow else value


# -- one vertex ------------------------------------------------------------------------------------

VERTEX = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
"""A compiled vertex, as a function of the words of its arguments, of its fault record, and of the
number of iterations of loops that it may make."""

_STOPPED = 2
"""Returned by a vertex that stopped."""

_lock = Lock()
"""Held while a vertex runs, since its iterations are counted in one place for all threads."""


def one_vertex(cls: type[Vertex], meaning: Meaning, turns: Turns | None = None) -> Form:
    """Return a function that runs one vertex; it is compiled when it is first called.

    With `turns`, it raises `TooManyTurns` after `MOST_TURNS` iterations of its loops.
    """
    from poplite.executable.encoding import FAULT_WORDS

    made: list[Callable[[int, int, int], int]] = []
    most = sys.maxsize if turns is None else MOST_TURNS

    def form(vertex: InterpretedSelf, worker: int = 0) -> bool:
        if not made:
            name = digest([__name__], "vertex", meaning.identity)
            made.append(VERTEX(built(name, partial(_job, name, cls)).address))
        given = _Given(cls, vertex.__values__, worker)
        faults = np.zeros(FAULT_WORDS, np.int64)
        with _lock:
            returned = made[0](given.words.ctypes.data, faults.ctypes.data, most)
        if returned == _STOPPED and not faults[0]:
            raise TooManyTurns
        if faults[0]:
            _, _, field, index, length, file, line = faults.tolist()
            error = outside_field(cls, field, index, length)
            raised_at(meaning.place(file, line) or cls.location, error)
        return bool(returned)

    return form


class _Given:
    """The arguments of a vertex as words, int64[arguments], with the arrays that they refer to."""

    def __init__(self, cls: type[Vertex], values: Any, worker: int) -> None:
        from poplite.simulator.codegen.accessors import arguments_of

        self._names, self._fields = list(cls.fields), cls.fields
        self._kept: list[Any] = []
        self._values = {name: self._arrays(name, values[name]) for name in cls.fields}
        self._worker = worker
        self.words = np.array([self._word(each) for each in arguments_of(cls)], np.int64)

    def _arrays(self, name: str, value: Any) -> Any:
        """Return a field as arrays; State may be a number."""
        field = self._fields[name]
        if field.depth == 2 or isinstance(value, np.ndarray):
            return value
        array = np.array([value], field.element.dtype)
        self._kept.append(array)
        return array

    def _word(self, argument: DriverArgument) -> int:
        if argument.field is None:
            return self._worker if argument.part == "worker" else 0
        name = self._names[argument.field]
        value, field = self._values[name], self._fields[name]
        match argument.part:
            case "data":
                first = value if field.depth < 2 else next(iter(value), np.zeros(0, np.uint8))
                return int(first.ctypes.data)
            case "value" if field.element.is_floating_point:
                return int.from_bytes(struct.pack("<f", float(value[0])), "little")
            case "value":
                return int(value[0])
            case "length":
                return len(value) if field.depth == 1 else 0
            case "rows":
                return len(value)
            case "table":
                return self._table(value, field.element.size_bytes)
        return 0  # the stride, which rows of a table do not need

    def _table(self, rows: list[Any], size: int) -> int:
        """Return the address of a table of rows: start from the first one, and length."""
        if not rows:
            return 0
        starts = [(row.ctypes.data - rows[0].ctypes.data) // size for row in rows]
        table = np.array([(s, len(row)) for s, row in zip(starts, rows, strict=True)], np.int64)
        self._kept.append(table)
        return int(table.ctypes.data)


def _job(name: str, cls: type[Vertex]) -> Job:
    """Return the job that compiles the function that runs one vertex."""
    import llvmlite.binding as llvm
    from llvmlite import ir

    from poplite.jit.kernel_code import on_stack
    from poplite.jit.numba_context import processor
    from poplite.simulator.codegen import accessors as acc
    from poplite.simulator.codegen.compute_code import linked_compute
    from poplite.simulator.codegen.numbered_accessors import ABOUT, TURNS

    module, words = ir.Module(), acc.INDEX.as_pointer()
    kind = ir.FunctionType(acc.INDEX, [words, words, acc.INDEX])
    function = ir.Function(module, kind, exported(name))
    builder = ir.IRBuilder(function.append_basic_block())
    given, faults, most = function.args
    about = on_stack(builder, acc.INDEX, acc.ABOUT_WORDS)
    builder.store(most, ir.GlobalVariable(module, acc.INDEX, TURNS))
    builder.store(about, ir.GlobalVariable(module, about.type, ABOUT))
    place = builder.gep(about, [acc.INDEX(acc.ABOUT_FAULTS)])
    builder.store(builder.ptrtoint(faults, acc.INDEX), place)
    builder.store(acc.INDEX(0), builder.gep(about, [acc.INDEX(acc.ABOUT_VERTEX)]))
    arguments = acc.arguments_of(cls)
    kinds = [each.kind for each in arguments]
    compute = ir.Function(module, ir.FunctionType(acc.RESULT, kinds), "compute.0")
    operands = [
        about
        if each.part == "about"
        else _operand(builder, builder.load(builder.gep(given, [acc.INDEX(number)])), each.kind)
        for number, each in enumerate(arguments)
    ]
    result = builder.call(compute, operands)
    status, returned = (builder.extract_value(result, number) for number in range(2))
    has_ended = builder.icmp_signed("==", status, acc.NARROW(0))
    returned = builder.zext(returned, acc.INDEX)
    builder.ret(builder.select(has_ended, returned, acc.INDEX(_STOPPED)))
    linked = llvm.parse_assembly(str(module))
    forms: Forms = tuple("wide" if field.depth == 2 else None for field in cls.fields.values())
    linked.link_in(linked_compute(cls, "compute.0", forms, checked=True, counts_turns=True))
    arguments_of_job = str(linked), processor().words(), "little"
    return Job(name, "poplite.jit.native_code:optimized_object", arguments_of_job)


def _operand(builder: Any, word: Any, kind: Any) -> Any:
    """Emit an argument of the given LLVM type that was passed as a word."""
    from llvmlite import ir

    if isinstance(kind, ir.PointerType):
        return builder.inttoptr(word, kind)
    if isinstance(kind, ir.FloatType):
        return builder.bitcast(builder.trunc(word, ir.IntType(32)), kind)
    return word if kind == word.type else builder.trunc(word, kind)
