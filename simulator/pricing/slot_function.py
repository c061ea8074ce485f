"""The function that is priced, changed into one that computes only its own cost.

    loop:                                       loop:
      %x = load float, ptr %a                     %x = freeze float zeroinitializer
      %y = fmul float %x, 2.0                     %y = fmul float %x, 2.0
      store float %y, ptr %b                      %sum = add i64 %before, 256      64ths of a slot
      br i1 %more, label %loop, label %end        br i1 %more, label %loop, label %end

It does not read or write memory; loads return zero.  LLVM then replaces loops by multiplications
wherever it can compute their number of iterations.  Other loops could run forever, so the function
returns `OVER` if the cost exceeds a budget.

In code that runs vertices, such a loop of one block counts its iterations, and its cost is added at
the end::

    loop:                                       left:
      %time = phi i64 [ 0, ...                    %by.now = add i64 %earlier, %next.time
      %next.time = add i64 %time, 1             end:
      br i1 %more, label %loop, label %left       %own = mul i64 %by.now, 256

If the loop already has a counter, as is common, LLVM uses one counter for both purposes.  An
additional addition in a loop of six instructions takes no time if one thread uses the core, but up
to a sixth more if two threads share the core.

Its arguments are those of `poplite.simulator.codegen.compute_code`.

Counting code compares each access with the lengths of fields while it runs::

    %a = getelementptr i32, ptr %x, i64 %i        %is.inside.7 = icmp ult i64 %i, %x.length
    %b = load i32, ptr %a                   ->    br i1 %is.inside.7, label %inside.7, ...
                                                inside.7:
                                                  %b = load i32, ptr %a

For an index out of range, the field, the index and the length are recorded, and the function
returns `OUTSIDE`. An element whose value is unused is not checked, since LLVM has removed its load.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from poplite.frozen import frozen
from poplite.simulator.codegen.compute_code import OVER, Parameter
from poplite.simulator.pricing.blocks import SIZES, BasicBlock, Instruction

# -- code that counts slots ------------------------------------------------------------------------


_PLAIN = re.compile(r"[-a-zA-Z._][-a-zA-Z._0-9]*")  # LLVM quotes all others, as %"$phi"
_MARKS = re.compile(r"(, ![\w.]+ !\d+| #\d+)")
_ARRAY = re.compile(r"alloca [\[<](\d+) x (\w+)[\]>]")
_VECTOR = re.compile(r"<(\d+) x (.+)>")
_MASK = re.compile(r"<(\d+) x i1> (%[-\w.]+|<[^<>]*>|[^,()]+(?:\([^()]*\))?)(?=[,)])")
"""The mask argument of a masked load or store."""

_LABEL = re.compile(r'label (%"[^"]+"|%[^\s,\]]+)')


Memory = Callable[[Instruction, int], str]
"""Returns the text that replaces an instruction, given with its number."""


@frozen(eq=False)
class BlockCost:
    """The cost of a block.

    Attributes:
        parts: the cost in 64ths of a slot.
        short: the cost if all of `lengths` fit the hardware's repeat counter.
        lengths: names of arguments.
        limit: the largest value of the hardware's repeat counter.
        may_not_end: whether it is the header of a loop that might run forever, or for very long.
        counts_times: whether it is a loop of one block that counts its iterations.
    """

    parts: int
    short: int = 0
    lengths: frozenset[str] = frozenset()
    limit: int = 0
    may_not_end: bool = False
    counts_times: bool = False


def slot_counting_text(
    exported: str,
    arguments: Iterable[str],
    blocks: Sequence[BasicBlock],
    costs: Mapping[str, BlockCost],
    declared: Iterable[str],
    memory: Memory,
    splits: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return the text of a module with a function that returns the cost of another one.

    The arguments (types and names) include the budget if any block may not end; `declared` contains
    the declarations of the functions it calls, and `memory` returns the text of each instruction
    within a block. If that text splits blocks, `splits` contains the last label of each, by the
    block's name. Added names contain a dot, unlike names of fields.
    """
    names = {block.name: named(block.name) for block in blocks}
    loops = [number for number, block in enumerate(blocks) if costs[block.name].counts_times]
    ends = {names[name]: label for name, label in splits.items()}
    going_on = {
        names[block.name]: f"%going.on.{number}"
        for number, block in enumerate(blocks)
        if costs[block.name].may_not_end
    }
    left = {names[blocks[number].name]: f"%left.{number}" for number in loops}
    tails = {**going_on, **ends, **left}
    lines = [*declared, f"define i64 @{exported}({', '.join(arguments)}) {{"]
    for number, block in enumerate(blocks):
        name = names[block.name]
        lines.append(f"{name[1:]}:")
        phis = [i for i in block.instructions if i.opcode == "phi"]
        end = ends.get(name, name)
        sources = {**tails, name: end} if number in loops else tails  # it repeats from its end
        lines += [_from(_MARKS.sub("", phi.text), sources) for phi in phis]
        if not number:
            places = ["%slots.taken", *(f"%times.{loop}" for loop in loops)]
            lines += [f"{place} = alloca i64\nstore i64 0, ptr {place}" for place in places]
            lines += ["%no.where = alloca [64 x i64]"]  # as wide as the widest load
            lines += ["store [64 x i64] zeroinitializer, ptr %no.where"]
        if number in loops:
            before = [names[each.name] for each in blocks if block.name in each.successors]
            lines.append(_time(number, end, [sources.get(each, each) for each in before]))
        else:
            lines += _count(costs[block.name], str(number))
        for instruction in block.instructions[len(phis) : -1]:
            lines.append(memory(instruction, len(lines)))
        if block.end.opcode == "ret":
            for loop in loops:
                times = f"%all.times.{loop}.{number}"
                lines.append(f"{times} = load i64, ptr %times.{loop}")
                lines += _count(costs[blocks[loop].name], f"{loop}.{number}", times)
            lines += [f"%result.{number} = load i64, ptr %slots.taken", f"ret i64 %result.{number}"]
        elif number in loops:
            (behind,) = {names[each] for each in block.successors} - {name}
            lines += _times(number, block, behind)
        else:
            lines.append(_MARKS.sub("", block.end.text))
    return "\n".join([*lines, "is.over:", f"ret i64 {OVER}", "}", ""])


def _time(number: int, name: str, before: Iterable[str]) -> str:
    """Return the phi that counts the iterations so far of a loop of one block.

    `before` are the labels of its predecessors; `name` is its own, from which it repeats.
    """
    values = [f"[ {f'%next.time.{number}' if each == name else 0}, {each} ]" for each in before]
    return f"%time.{number} = phi i64 {', '.join(values)}"


def _times(number: int, block: BasicBlock, behind: str) -> list[str]:
    """Return the end of a loop of one block, and the code that adds its cost, before `behind`."""
    end = _LABEL.sub(
        lambda label: f"label %left.{number}" if label[1] == behind else label[0],
        _MARKS.sub("", block.end.text),
    )
    return [
        # Most loops already have an induction variable, which LLVM merges with this one.
        f"%next.time.{number} = add i64 %time.{number}, 1",
        end,
        f"left.{number}:",
        f"%earlier.{number} = load i64, ptr %times.{number}",
        f"%by.now.{number} = add i64 %earlier.{number}, %next.time.{number}",
        f"store i64 %by.now.{number}, ptr %times.{number}",
        f"br label {behind}",
    ]


def is_loop(block: BasicBlock, blocks: Sequence[BasicBlock]) -> bool:
    """Return whether a block only repeats itself or exits to one other, by single edges."""
    repeats = block.name in block.successors and len(set(block.successors)) == 2
    return repeats and all(
        len(set(each.successors)) == len(each.successors)  # no switch with two equal edges
        for each in blocks
        if block.name in each.successors
    )


def declarations(module: object) -> list[str]:
    """Return what the functions of an LLVM module (or its text) refer to: types, variables, others.

    Declarations of functions have no attributes.
    """
    lines = (line for line in str(module).splitlines() if line.startswith(("declare", "@", "%")))
    return [line.split("#")[0] if line.startswith("declare") else line for line in lines]


def named(name: str) -> str:
    """Return a name as LLVM writes it."""
    return f"%{name}" if _PLAIN.fullmatch(name) else f'%"{name}"'


def with_its_memory(instruction: Instruction, number: int = 0) -> str:
    """Return the text of an instruction."""
    return _MARKS.sub("", instruction.text)


def without_memory(instruction: Instruction, number: int = 0) -> str:
    """Return the text of an instruction; a load becomes zero, and a store becomes nothing."""
    opcode = instruction.opcode
    if opcode == "store":
        return ""
    if opcode in ("getelementptr", "load") or instruction.is_of_library:
        if not instruction.name:
            return ""
        return f"{named(instruction.name)} = freeze {instruction.kind} zeroinitializer"
    return with_its_memory(instruction)


def with_bounded_memory(blocks: Sequence[BasicBlock]) -> Memory:
    """Return a function that returns instructions as text, with accesses confined to known memory.

    Instructions load from %arena.memory and %copy.memory, within their sizes, and store only to
    %copy.memory; accesses to arrays on the stack stay within them. All other addresses are replaced
    by `%no.where`.
    """
    return partial(_inside, _on_stack(blocks))


def _on_stack(blocks: Sequence[BasicBlock]) -> dict[str, tuple[str, int]]:
    """Return, for each address on the stack, the array that it points into and the array's size."""
    found: dict[str, tuple[str, int]] = {}
    for block in blocks:
        for each in block.instructions:
            if each.opcode == "alloca" and (kind := _ARRAY.search(each.text)) is not None:
                found[each.name] = named(each.name), int(kind[1]) * SIZES.get(kind[2], 8)
            elif each.opcode in ("getelementptr", "bitcast") and each.operands[0] in found:
                found[each.name] = found[each.operands[0]]
    return found


def _inside(on_stack: Mapping[str, tuple[str, int]], instruction: Instruction, number: int) -> str:
    if instruction.opcode not in ("load", "store"):
        return with_its_memory(instruction)
    is_store = instruction.opcode == "store"
    name = instruction.operands[is_store]
    if "@llvm.masked." in instruction.text and name not in on_stack:
        return _of_lanes_inside(instruction, number)
    pointer = named(name)
    places = ["copy"] if is_store else ["copy", "arena"]
    begins = {place: f"%{place}.memory" for place in places}
    ends: dict[str, object] = {place: f"%{place}.bytes" for place in places}
    if name in on_stack:
        places, begins["copy"], ends["copy"] = ["copy"], *on_stack[name]
    lines = [f"%at.{number} = ptrtoint ptr {pointer} to i64"]
    last = _bytes_of(instruction.kind) - 1
    for place in places:
        lines += [
            f"%{place}.begin.{number} = ptrtoint ptr {begins[place]} to i64",
            f"%{place}.offset.{number} = sub i64 %at.{number}, %{place}.begin.{number}",
            f"%{place}.begins.{number} = icmp ult i64 %{place}.offset.{number}, {ends[place]}",
            f"%{place}.last.{number} = add i64 %{place}.offset.{number}, {last}",
            f"%{place}.ends.{number} = icmp ult i64 %{place}.last.{number}, {ends[place]}",
            f"%{place}.holds.{number} = and i1 %{place}.begins.{number}, %{place}.ends.{number}",
        ]
    held = f"%copy.holds.{number}"
    if len(places) > 1:
        lines.append(f"%holds.{number} = or i1 {held}, %arena.holds.{number}")
        held = f"%holds.{number}"
    lines.append(f"%safe.{number} = select i1 {held}, ptr {pointer}, ptr %no.where")
    text = with_its_memory(instruction)
    before, _, behind = text.rpartition(f"ptr {pointer}")
    return "\n".join([*lines, f"{before}ptr %safe.{number}{behind}"])


def _of_lanes_inside(instruction: Instruction, number: int) -> str:
    """Return the text of a masked load or store, without the lanes outside known memory."""
    is_store = instruction.opcode == "store"
    pointer, text = named(instruction.operands[is_store]), with_its_memory(instruction)
    found = _MASK.search(text)
    assert found is not None
    count, size = int(found[1]), _bytes_of(instruction.kind) // int(found[1])
    numbers, truths = f"<{count} x i64>", f"<{count} x i1>"
    steps = ", ".join(f"i64 {size * lane}" for lane in range(count))
    lines, held = [f"%at.{number} = ptrtoint ptr {pointer} to i64"], ""
    for place in ["copy"] if is_store else ["copy", "arena"]:
        own = f"%{place}.{{}}.{number}".format
        lines += [
            f"{own('begin')} = ptrtoint ptr %{place}.memory to i64",
            f"{own('offset')} = sub i64 %at.{number}, {own('begin')}",
            *_splat(own("first"), own("offset"), count),
            *_splat(own("size"), f"%{place}.bytes", count),
            f"{own('each')} = add {numbers} {own('first')}, <{steps}>",
            f"{own('holds')} = icmp ult {numbers} {own('each')}, {own('size')}",
        ]
        if held:
            lines.append(f"%either.{number} = or {truths} {held}, {own('holds')}")
        held = f"%either.{number}" if held else own("holds")
    lines.append(f"%inside.{number} = and {truths} {held}, {found[2]}")
    begin, end = found.span(2)
    return "\n".join([*lines, f"{text[:begin]}%inside.{number}{text[end:]}"])


def _splat(name: str, value: str, count: int) -> list[str]:
    """Return the text that makes a vector of equal i64 values."""
    kind = f"<{count} x i64>"
    return [
        f"{name}.one = insertelement {kind} poison, i64 {value}, i64 0",
        f"{name} = shufflevector {kind} {name}.one, {kind} poison, <{count} x i32> zeroinitializer",
    ]


def _bytes_of(kind: str) -> int:
    """Return the size in bytes of a number, or of a vector of numbers."""
    found = _VECTOR.fullmatch(kind)
    count, element = (int(found[1]), found[2]) if found else (1, kind)
    return count * SIZES.get(element, 8)


def _count(cost: BlockCost, number: str, times: str = "") -> list[str]:
    """Return the code that adds the cost of a block, and returns if the sum exceeds the budget.

    Names end in `number`; `times` is the name of the block's execution count, empty if that is 1.
    """
    parts, lines, all_short = str(cost.parts), [], ""
    for position, name in enumerate(sorted(cost.lengths)):
        is_short = f"%short.{number}.{position}"
        lines.append(f"{is_short} = icmp ule i64 {named(name)}, {cost.limit}")
        if all_short:
            lines.append(f"%all.{number}.{position} = and i1 {all_short}, {is_short}")
        all_short = f"%all.{number}.{position}" if all_short else is_short
    if all_short:
        lines.append(f"%cost.{number} = select i1 {all_short}, i64 {cost.short}, i64 {parts}")
        parts = f"%cost.{number}"
    if times:
        lines.append(f"%own.{number} = mul i64 {times}, {parts}")
        parts = f"%own.{number}"
    lines += [
        f"%before.{number} = load i64, ptr %slots.taken",
        f"%sum.{number} = add i64 %before.{number}, {parts}",
        f"store i64 %sum.{number}, ptr %slots.taken",
    ]
    if cost.may_not_end:
        lines += [
            f"%is.over.{number} = icmp ugt i64 %sum.{number}, %slots.budget",
            f"br i1 %is.over.{number}, label %is.over, label %going.on.{number}",
            f"going.on.{number}:",
        ]
    return lines


def _from(phi: str, tails: Mapping[str, str]) -> str:
    """Return a phi that takes its values from the tails of blocks that were split."""
    return re.sub(r'(%"[^"]+"|%[^\s,\]]+) \]', lambda m: f"{tails.get(m[1], m[1])} ]", phi)


# -- comparisons with lengths ----------------------------------------------------------------------


OUTSIDE = -2
"""Returned instead of the cost when an index is out of range."""

RECORD = "outside.record"
"""The parameter that points to three i64: the position of the field, the index, the length."""

_STEP = re.compile(
    r"= getelementptr (?:[a-z]+ )*?(\w+), ptr %(\"[^\"]+\"|[^\s,]+), i64 (-?\d+|%[^\s,]+)"
)


@frozen
class _Access:
    """An access to an element of a vector.

    Attributes:
        number: distinguishes its names from those of other accesses.
        field: the position of the field in its class.
        length: the number of elements of the vector, as LLVM writes it.
        index: the terms of the index, as LLVM writes them.
    """

    number: int
    field: int
    length: str
    index: tuple[str, ...]


class InsideFields:
    """Returns the text of instructions (`slot_function.Memory`), with comparisons before accesses.

    Attributes:
        ends: the last label within each block that comparisons split, by the block's name.
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
    """Return the comparisons of a function; None if any access cannot be checked.

    Accesses to rows of lists cannot be checked, since rows are adjacent, nor can masked accesses.
    `sizes` contains the bytes of an element, by field.
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
    """Return the argument that an address is computed from, and the terms of its index.

    Returns None if it is computed in another way, or if its stride differs from the element size: a
    multiple of an index may have wrapped around.
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
    """Return the text that continues if an access is in range, and returns otherwise."""
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
