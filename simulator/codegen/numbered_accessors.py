"""Accessors that take the number of a field, called by `compute` in the text of other compilers.

                         running                                   priced
    vertex.exit          nothing; checked: stores where to return  nothing
    vertex.enter         0; checked: 1 when it returns there       0
    vertex.inside        1; checked: whether index < length        1
    vertex.outside       ends the vertex, with its fault           nothing
    vertex.row_start     by the form of the list                   by the form of the list
    vertex.row_length    likewise                                  likewise
    vertex.turn          nothing; counted: ends an endless vertex  nothing

Their arguments are numbers of 64 bits and addresses, so that compilers agree on their calling
convention::

    vertex.exit(about, place)                                place has `EXIT_BYTES`
    vertex.enter(place)
    vertex.inside(about, field, index, length)
    vertex.outside(about, field, index, length, file, line)  file: the address of its name
    vertex.row_start(field, stride, length, table, row)      in elements
    vertex.row_length(field, stride, length, table, row)

A vertex that stops returns to its place by `longjmp`, since its calls have no results that say so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import llvmlite.binding as llvm
from llvmlite import ir

from poplite.jit.native_code import TURN
from poplite.simulator.codegen.accessors import (
    ABOUT_EXIT,
    ABOUT_FAULTS,
    ABOUT_VERTEX,
    INDEX,
    NARROW,
    Use,
    pair_type,
    record_fault,
)
from poplite.vertex.vertex import Vertex

if TYPE_CHECKING:
    from poplite.executable.encoding import Forms

EXIT, ENTER, INSIDE, OUTSIDE, ROW_START, ROW_LENGTH = (
    f"vertex.{name}" for name in ("exit", "enter", "inside", "outside", "row_start", "row_length")
)

MARK = "vertex.mark"
"""Name of the function to which marked uses pass each index, with its limit."""

EXIT_BYTES = 512
"""Size of what `setjmp` saves: at most 400 bytes in the C libraries of Linux and macOS."""

_BYTES = ir.IntType(8).as_pointer()
_ROW = [INDEX, INDEX, INDEX, _BYTES, INDEX]


def numbered_accessors(cls: type[Vertex], forms: Forms, use: Use) -> str:
    """Return the text of a module that defines the accessors of a class for one use."""
    module = ir.Module()
    exits, (about, place) = _define(module, EXIT, ir.VoidType(), [INDEX.as_pointer(), _BYTES])
    if use.checked:
        address = exits.gep(about, [INDEX(ABOUT_EXIT)])
        exits.store(exits.ptrtoint(place, INDEX), address)
        _outside(module)
    else:
        _define(module, ENTER, NARROW, [_BYTES])[0].ret(NARROW(0))
        _define(module, OUTSIDE, ir.VoidType(), [INDEX.as_pointer(), *_WORDS])[0].unreachable()
    exits.ret_void()
    builder, arguments = _define(module, INSIDE, NARROW, [INDEX.as_pointer(), *[INDEX] * 3])
    if use.marked:
        kind = ir.FunctionType(ir.VoidType(), [INDEX, INDEX])
        builder.call(ir.Function(module, kind, MARK), arguments[2:])
    is_inside = builder.icmp_unsigned("<", arguments[2], arguments[3])
    builder.ret(builder.zext(is_inside, NARROW) if use.checked else NARROW(1))
    _turn(module, counts=use.counts_turns)
    _by_form(module, ROW_START, cls, forms, 0, lambda b, stride, length, row: b.mul(row, stride))
    _by_form(module, ROW_LENGTH, cls, forms, 1, lambda b, stride, length, row: length)
    return str(module)


_WORDS = [INDEX, INDEX, INDEX, _BYTES, INDEX]
"""The arguments of `vertex.outside` after the record of the vertex."""


def with_exit(module: llvm.ModuleRef) -> None:
    """Make `vertex.enter`, which is only declared, the function of the C library.

    It cannot be called by an accessor, since a place must not outlive the call that remembers it.
    """
    function = module.get_function(ENTER)
    function.name = "_setjmp"
    function.add_function_attribute("returns_twice")


def _define(
    module: ir.Module, name: str, result: ir.Type, arguments: Sequence[ir.Type]
) -> tuple[ir.IRBuilder, Sequence[Any]]:
    function = ir.Function(module, ir.FunctionType(result, arguments), name)
    function.attributes.add("alwaysinline")
    return ir.IRBuilder(function.append_basic_block()), function.args


def _outside(module: ir.Module) -> None:
    """Define the function that records a fault and ends the vertex."""
    function = ir.Function(
        module, ir.FunctionType(ir.VoidType(), [INDEX.as_pointer(), *_WORDS]), OUTSIDE
    )
    for attribute in ("noinline", "cold", "noreturn"):
        function.attributes.add(attribute)
    builder = ir.IRBuilder(function.append_basic_block())
    about, field, index, length, file, line = function.args
    faults, vertex, place = (
        builder.load(builder.gep(about, [INDEX(word)]))
        for word in (ABOUT_FAULTS, ABOUT_VERTEX, ABOUT_EXIT)
    )
    number = builder.ptrtoint(file, INDEX)
    address = builder.inttoptr(faults, INDEX.as_pointer())
    record_fault(builder, address, vertex, field, index, length, number, line)
    _leave(builder, place)


TURNS, ABOUT = "vertex.turns", "vertex.about"
"""Names of the variables with the number of iterations left, and with the record of the vertex."""


def _turn(module: ir.Module, *, counts: bool) -> None:
    """Define the function that precedes iterations of loops; counted ones end at a limit."""
    builder, _ = _define(module, TURN, ir.VoidType(), [])
    if not counts:
        builder.ret_void()
        return
    left = ir.GlobalVariable(module, INDEX, TURNS)
    about = ir.GlobalVariable(module, INDEX.as_pointer(), ABOUT)
    left.initializer, about.initializer = INDEX(0), about.value_type(None)
    number = builder.sub(builder.load(left), INDEX(1))
    builder.store(number, left)
    with builder.if_then(builder.icmp_signed("<", number, INDEX(0)), likely=False):
        place = builder.gep(builder.load(about), [INDEX(ABOUT_EXIT)])
        _leave(builder, builder.load(place))
    builder.ret_void()


def _leave(builder: ir.IRBuilder, place: Any) -> None:
    """Emit the return to a place that was remembered, given its address as a number."""
    kind = ir.FunctionType(ir.VoidType(), [_BYTES, NARROW])
    module = builder.module
    leave = module.globals.get("_longjmp") or ir.Function(module, kind, "_longjmp")
    leave.attributes.add("noreturn")
    builder.call(leave, [builder.inttoptr(place, _BYTES), NARROW(1)])
    builder.unreachable()


def _by_form(
    module: ir.Module,
    name: str,
    cls: type[Vertex],
    forms: Forms,
    word: int,
    even: Callable[..., Any],
) -> None:
    """Define an accessor of lists; `even` emits its result for rows that are evenly spaced.

    For other rows, it is a word of the row's entry in the table.
    """
    builder, (field, stride, length, table, row) = _define(module, name, INDEX, _ROW)
    lists = [n for n, each in enumerate(cls.fields.values()) if each.depth == 2]
    for number in lists:
        with builder.if_then(builder.icmp_unsigned("==", field, INDEX(number))):
            form = forms[number] or "stride"
            if form == "stride":
                builder.ret(even(builder, stride, length, row))
                continue
            pairs = builder.bitcast(table, pair_type(form).as_pointer())
            place = builder.add(builder.shl(row, INDEX(1)), INDEX(word))
            entry = builder.load(builder.gep(pairs, [place]))
            builder.ret(entry if entry.type == INDEX else builder.zext(entry, INDEX))
    builder.unreachable()
