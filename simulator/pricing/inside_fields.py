"""Accesses of code that counts, compared with the lengths of fields while it runs.

    %a = getelementptr i32, ptr %x, i64 %i        %is.inside.7 = icmp ult i64 %i, %x.length
    %b = load i32, ptr %a                   ->    br i1 %is.inside.7, label %inside.7, ...
                                                inside.7:
                                                  %b = load i32, ptr %a

Outside, the field, the index and the length are written down, and the function returns `OUTSIDE`.
An element that is read for nothing is not compared, as its load is not there any more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from poplite.simulator.pricing.blocks import SIZES, BasicBlock, Instruction
from poplite.simulator.pricing.parameters import Parameter
from poplite.simulator.pricing.slot_function import named, with_its_memory

OUTSIDE = -2
"""Returned instead of the cost when an index is out of range."""

RECORD = "outside.record"
"""The parameter that points to three i64: the position of the field, the index, the length."""

_STEP = re.compile(
    r"= getelementptr (?:[a-z]+ )*?(\w+), ptr %(\"[^\"]+\"|[^\s,]+), i64 (-?\d+|%[^\s,]+)"
)


@dataclass(frozen=True, slots=True)
class _Access:
    """An access to an element of a vector.

    Attributes:
        number: distinguishes its names from those of others.
        field: the position of the field in its class.
        length: how many elements there are, as LLVM writes it.
        index: the terms of the index, as LLVM writes them.
    """

    number: int
    field: int
    length: str
    index: tuple[str, ...]


class InsideFields:
    """Gives the text of instructions (`slot_function.Memory`), with comparisons before accesses.

    Attributes:
        ends: the last label within each block that comparisons split, by its name.
    """

    def __init__(self, accesses: Mapping[int, _Access], ends: Mapping[str, str]) -> None:
        self._accesses, self.ends = accesses, ends

    def __call__(self, instruction: Instruction, number: int = 0) -> str:
        """Return the text of an instruction."""
        text, access = with_its_memory(instruction), self._accesses.get(id(instruction))
        return text if access is None else f"{_compared(access)}\n{text}"


def inside_fields(
    blocks: Sequence[BasicBlock], parameters: Sequence[Parameter], sizes: Mapping[str, int]
) -> InsideFields | None:
    """Return the comparisons of a function; None where some access cannot be followed.

    Accesses to rows of lists cannot, as rows lie side by side, nor those to lanes. `sizes` are the
    bytes of an element, by field.
    """
    made = {each.name: each for block in blocks for each in block.instructions if each.name}
    fields = list(dict.fromkeys(each.field for each in parameters))
    data = {each.name: each for each in parameters if each.what == "data"}
    accesses, ends = dict[int, _Access](), dict[str, str]()
    for block in blocks:
        for each in block.instructions:
            if each.opcode == "call" and "ptr " in each.text:
                return None
            if each.opcode not in ("load", "store"):
                continue
            found = _element(each.operands[-1], made, data, sizes)
            if found is None:
                return None
            parameter, index = found
            if SIZES.get(each.kind) != sizes[parameter.field] or parameter.kind == "rows":
                return None
            if parameter.kind == "length":
                position, length = fields.index(parameter.field), named(f"{parameter.field}.length")
                number = len(accesses)
                accesses[id(each)] = _Access(number, position, length, index)
                ends[block.name] = f"%inside.{number}"
            elif index:
                return None
    return InsideFields(accesses, ends)


def _element(
    pointer: str,
    made: Mapping[str, Instruction],
    data: Mapping[str, Parameter],
    sizes: Mapping[str, int],
) -> tuple[Parameter, tuple[str, ...]] | None:
    """Return the argument that an address is made from, and the terms of its index.

    None where it is made otherwise, or its steps are not those from element to element: a multiple
    of an index may have wrapped around.
    """
    steps: list[tuple[int, str]] = []
    while pointer not in data:
        step = _STEP.search(made[pointer].text) if pointer in made else None
        if step is None or step[1] not in SIZES:
            return None
        steps.append((SIZES[step[1]], step[3]))
        pointer = step[2].strip('"')
    terms, size = [], sizes[data[pointer].field]
    for each, term in steps:
        if not term.startswith("%") and int(term) * each % size == 0:
            terms.append(str(int(term) * each // size))
        elif each == size:
            terms.append(term)
        else:
            return None
    return data[pointer], tuple(terms)


def _compared(access: _Access) -> str:
    """Return the text that goes on where an access is inside, and else returns."""
    number, (index, *others) = access.number, access.index or ("0",)
    lines = []
    for k, term in enumerate(others):  # which wraps around as in `compute`
        lines.append(f"%index.{number}.{k} = add i64 {index}, {term}")
        index = f"%index.{number}.{k}"
    lines += [
        f"%is.inside.{number} = icmp ult i64 {index}, {access.length}",
        f"br i1 %is.inside.{number}, label %inside.{number}, label %outside.{number}",
        f"outside.{number}:",
    ]
    for k, word in enumerate((access.field, index, access.length)):
        place = f"%place.{number}.{k}"
        lines.append(f"{place} = getelementptr i64, ptr %{RECORD}, i64 {k}")
        lines.append(f"store i64 {word}, ptr {place}")
    return "\n".join([*lines, f"ret i64 {OUTSIDE}", f"inside.{number}:"])
