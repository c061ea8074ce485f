"""Native code that returns the slots of the vertices of a class.

`compute` is a separate LLVM function, in the form in which the IPU's compiler receives it::

    define i1 @priced(ptr %x, i64 %x.length, i64 %count, ptr %scale, ...)

Its arguments are those of `slot_function`; values in memory are read where they are used.  LLVM
optimizes it for a generic processor.  It neither vectorizes nor unrolls, except for loops with a
constant number of iterations, which it unrolls completely.

If the slots of a vertex depend on data, loads and stores are kept, and the code runs the vertex.
Uneven rows of a list are then looked up in the list's table, as in a normal run.

Importing this module imports llvmlite.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace
from typing import TYPE_CHECKING, Any

import llvmlite.binding as llvm
from llvmlite import ir

from poplite.errors import VertexCompileError
from poplite.jit.build import Job, Made, exported
from poplite.jit.kernel_code import count_up
from poplite.jit.native_code import Processor, hide, object_of, optimized_object
from poplite.simulator.codegen.accessors import (
    COMPUTE,
    INDEX,
    RESULT,
    TRUTH,
    DriverArgument,
    arguments_of,
)
from poplite.simulator.codegen.compute_code import (
    PARTS,
    POINTERS,
    PRICED,
    Parameter,
    linked_compute,
    parameters_of,
)
from poplite.simulator.pricing.block_slots import (
    FREE,
    Cost,
    block_parts,
    flops_of,
    prices_of,
)
from poplite.simulator.pricing.blocks import (
    BasicBlock,
    NaturalLoop,
    blocks_of,
    counting_of,
    deciding,
    has_constant_trip,
    loop_costs,
    loops_of,
    pointers_of,
    without_checks,
)
from poplite.simulator.pricing.slot_function import (
    RECORD,
    BlockCost,
    Memory,
    declarations,
    inside_fields,
    is_loop,
    slot_counting_text,
    with_bounded_memory,
    with_its_memory,
    without_memory,
)
from poplite.vertex.compute.meaning import meaning_of
from poplite.vertex.vertex import Vertex

if TYPE_CHECKING:
    from poplite.executable.encoding import Forms

# -- `compute`, prepared for pricing ---------------------------------------------------------------


_BYTES = ir.IntType(8).as_pointer()


def priced_text(cls: type[Vertex], forms: Forms = (), *, marked: bool = False) -> str:
    """Return the text of a module in which the function `PRICED` is `compute`, as it was lowered.

    Rows of lists are evenly spaced unless `forms` gives another form. With `marked`, each index is
    passed to `MARK`. Raises `VertexCompileError` when `compute` is outside the dialect.
    """
    forms = forms or tuple("stride" if f.depth == 2 else None for f in cls.fields.values())
    module = ir.Module()
    parameters = parameters_of(cls, forms)
    kinds = [_BYTES if p.what in POINTERS else INDEX for p in parameters]
    function = ir.Function(module, ir.FunctionType(TRUTH, kinds), PRICED)
    for argument, parameter in zip(function.args, parameters, strict=True):
        argument.name = parameter.name
    operands = {argument.name: argument for argument in function.args}
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    arguments = arguments_of(cls)
    compute = ir.Function(module, ir.FunctionType(RESULT, [a.kind for a in arguments]), COMPUTE)
    given = [_compute_argument(builder, each, forms, operands) for each in arguments]
    # Always inlined, because calls have no price.
    result = builder.call(compute, given, attrs=("alwaysinline",))
    # The status is returned, as LLVM would otherwise drop the code that only computes it.
    status, returned = (builder.extract_value(result, number) for number in range(2))
    failed = builder.icmp_signed("!=", status, status.type(0))
    has_result = meaning_of(cls).returns
    builder.ret(builder.or_(failed, returned) if has_result else failed)
    linked = llvm.parse_assembly(str(module))
    linked.link_in(linked_compute(cls, COMPUTE, forms, priced=True, marked=marked))
    hide(linked, PRICED)
    return str(linked)


def _compute_argument(
    builder: ir.IRBuilder, argument: DriverArgument, forms: Forms, operands: Mapping[str, Any]
) -> Any:
    """Emit an argument of `compute`; arguments that are not priced are undefined."""
    value = operands.get(argument.name)
    if argument.part == "table" and (form := forms[argument.field or 0]) in ("pairs", "wide"):
        value = operands[f"{argument.name.removesuffix('.table')}.{form}"]
    elif argument.part in ("data", "value"):
        value = operands.get(argument.name.removesuffix(".value"))
        is_address = value is not None and isinstance(value.type, ir.PointerType)
        value = value if is_address == (argument.part == "data") else None
    if value is None:
        return ir.Constant(argument.kind, ir.Undefined)
    if isinstance(argument.kind, ir.PointerType):
        return builder.bitcast(value, argument.kind)
    if argument.kind == TRUTH:  # a tile tests a bit; `trunc` alone would be free
        return builder.icmp_unsigned("!=", builder.and_(value, INDEX(1)), INDEX(0))
    return value


def folded(text: str) -> llvm.ModuleRef:
    """Return a lowered module prepared for pricing: optimized, with a name for every value."""
    module = llvm.parse_assembly(_DEFINITION.sub(rf"\1 {_MARKED} {{", text))
    optimize(module, unrolling=False)
    _name_values(module)
    module = llvm.parse_assembly(_rolled(module))
    optimize(module)
    _name_values(module)
    return module


def optimize(module: llvm.ModuleRef, *, unrolling: bool = True) -> None:
    """Optimize a module in place, for a generic processor and without vectors."""
    tuning = llvm.create_pipeline_tuning_options(2)
    tuning.loop_vectorization = tuning.slp_vectorization = tuning.loop_interleaving = False
    tuning.loop_unrolling = unrolling
    builder = llvm.create_pass_builder(_machine(), tuning)
    builder.getModulePassManager().run(module, builder)


def _name_values(module: llvm.ModuleRef) -> None:
    passes = llvm.create_new_module_pass_manager()
    passes.add_instruction_namer_pass()
    passes.run(module, llvm.create_pass_builder(_machine(), llvm.create_pipeline_tuning_options(0)))


def _machine() -> llvm.TargetMachine:
    # For a generic processor, so that prices are the same on every machine.
    llvm.initialize_native_target()
    return llvm.Target.from_default_triple().create_target_machine(cpu="generic", opt=2)


def _rolled(module: llvm.ModuleRef) -> str:
    """Return a module's text in which loops with a varying trip count are marked `unroll.disable`.

    LLVM would unroll them by four, which suits other processors but not a tile.
    """
    blocks = blocks_of(module.get_function(PRICED))
    varying = (loop for loop in loops_of(blocks) if not has_constant_trip(loop, blocks))
    latches = {latch for loop in varying for latch in loop.latches}
    lines: list[str] = []
    marks: list[str] = []
    block = None
    for line in str(module).splitlines():
        if line.startswith("define"):
            block = "" if f"@{PRICED}(" in line else None
        elif block is not None and (label := re.match(r'("[^"]+"|[\w.$-]+):', line)):
            block = label[1].strip('"')
        elif block in latches and line.lstrip().startswith("br "):
            number = _MARKS + len(marks)
            line = re.sub(r", !llvm\.loop !\d+", "", line) + f", !llvm.loop !{number}"
            marks.append(f"!{number} = distinct !{{!{number}, !{_MARKS - 1}}}")
        lines.append(line)
    return "\n".join([*lines, *marks, f'!{_MARKS - 1} = !{{!"llvm.loop.unroll.disable"}}', ""])


_DEFINITION = re.compile(r"^(define .*) \{$", re.MULTILINE)
"""The first line of a function."""

_MARKED = '"no-builtins" "no-jump-tables"="true"'
"""Keeps LLVM from replacing loops by C library calls, and choices between constants by tables."""

_MARKS = 1 << 20
"""First number of poplite's metadata, beyond those that LLVM assigns."""


# -- slots of shapes -------------------------------------------------------------------------------


WORD = ir.IntType(64)

FLOPS = "flops"
"""Name of the function that returns the floating-point operations of a vertex."""


def slots_job(name: str, cls: type[Vertex], costs: Mapping[str, float]) -> Job:
    """Return the job that compiles the code for the slots of the vertices of a class.

    The function is `slots(shapes, count, words, workers, budget, parts)`. For each of `count`
    shapes, of `words` words each, it writes to `parts` the slots of the slowest of `workers`
    workers, in 64ths, or `OVER` if they exceed `budget`. If `budget` is 0, it writes the
    floating-point operations of all workers instead, for shapes that are not `OVER`.

    Stored with the code is {"deciding": the names of the arguments on which the cost depends,
    "uneven": the same if rows are uneven}; or {"unpriced": an instruction that has no price}.

    Raises `VertexCompileError` when `compute` is outside the dialect.
    """
    from poplite.jit.numba_context import processor

    parameters = parameters_of(cls)
    shapes = str(over_shapes(parameters, exported(name)))
    uneven: Forms = tuple("pairs" if f.depth == 2 else None for f in cls.fields.values())
    rows = priced_text(cls, uneven) if any(uneven) else ""
    texts = priced_text(cls), rows, shapes, [astuple(each) for each in parameters]
    maker = "poplite.simulator.pricing.native_slots:slots_object"
    return Job(name, maker, (*texts, dict(costs), processor().words()))


def slots_object(
    exported: str,
    priced: str,
    uneven: str,
    over_shapes: str,
    parameters: Sequence[Sequence[Any]],
    costs: Mapping[str, float],
    processor: list[Any],
) -> Made:
    """Compile the code for the slots of the vertices of a class, as a job.

    The texts of three modules are given: `priced` defines `PRICED`; `uneven` defines it for uneven
    rows, if the class has lists; `over_shapes` defines the function that calls it for each shape.
    """
    decoded = [Parameter(*each) for each in parameters]
    module = folded(priced)
    blocks = blocks_of(module.get_function(PRICED))
    lengths = frozenset(p.name for p in decoded if p.what in ("length", "rows"))
    arguments = [*(parameter.declared for parameter in decoded), "i64 %slots.budget"]
    try:
        block_cost = block_costs(blocks, lengths, costs.__getitem__)
    except VertexCompileError as error:
        listed = ", ".join(arguments)
        nothing = [f"define i64 @{name}({listed}) {{ ret i64 0 }}\n" for name in (PRICED, FLOPS)]
        counted = llvm.parse_assembly("".join(nothing))
        counted.link_in(llvm.parse_assembly(over_shapes))
        about = {"unpriced": error.what, "found": error.found}
        return *object_of(counted, exported, Processor(*processor)), about
    # Values that are loaded count as zero, except as divisors.
    body, declared = without_checks(blocks), declarations(module)
    text = slot_counting_text(PRICED, arguments, body, block_cost, declared, without_memory)
    counted = llvm.parse_assembly(text)
    flops = {name: BlockCost(number) for name, number in flops_of(blocks).items()}
    text = slot_counting_text(FLOPS, arguments, body, flops, declared, without_memory)
    counted.link_in(llvm.parse_assembly(text))
    counted.link_in(llvm.parse_assembly(over_shapes))
    hide(counted, exported)
    optimize(counted)
    code, needed = object_of(counted, exported, Processor(*processor))
    even = deciding(blocks)
    return (
        code,
        needed,
        {
            "deciding": sorted(even),
            "uneven": sorted(_deciding_uneven(uneven, decoded) if uneven else even),
        },
    )


def _deciding_uneven(text: str, parameters: Sequence[Parameter]) -> frozenset[str]:
    """Return the arguments on which slots depend if rows are uneven; row lengths are not data."""
    blocks = blocks_of(folded(text).get_function(PRICED))
    tables = {f"{p.field}.pairs" for p in parameters if p.kind == "rows"}
    return deciding(blocks, tables)


def block_costs(
    blocks: Sequence[BasicBlock], lengths: frozenset[str], cost: Cost
) -> dict[str, BlockCost]:
    """Return the cost of each block of a function; `lengths` are the arguments that are lengths."""
    by_name = {block.name: block for block in blocks}
    loops = loops_of(blocks)
    known = loop_costs(blocks, loops, lengths)
    pointers = pointers_of(blocks, loops, cost("farthest_step"))
    prices = prices_of(blocks, known.free | pointers.free, cost)
    pairs = cost("issue_width") > 1
    pairing = cost("pairing") if pairs else 0.0
    unbounded = {loop.header for loop in loops if not _is_one_product(loop, by_name)}
    outer = [
        sum(loop.blocks < other.blocks for other in loops) for loop in loops
    ]  # how deeply each loop is nested
    is_nest = len(set(outer)) == len(outer)
    entry = cost("slot_entry" if is_nest else "slot_entry_nested")
    found = {}
    for number, block in enumerate(blocks):
        own = prices[block.name]
        parts = block_parts(block.instructions, own, pairing)
        parts += int(PARTS * cost("slot_row_pointer") * pointers.made.get(block.name, 0))
        if not number:
            parts += int(PARTS * entry)
        is_short = pairs and block.name in known.repeated and not any(p.calls for p in own)
        short = block_parts(block.instructions, [*own[:-1], FREE], pairing)
        if not short and block.name in unbounded:  # without a cost it could never exceed the budget
            is_short = False
        found[block.name] = BlockCost(
            parts=parts,
            short=short,
            lengths=known.repeated[block.name] if is_short else frozenset(),
            limit=int(cost("repeat_limit")),
            may_not_end=block.name in unbounded,
        )
    for loop in loops:  # LLVM reduces a loop that never ends to a jump, which would be free
        if loop.header in unbounded and not any(found[name].parts for name in loop.blocks):
            found[loop.header] = replace(found[loop.header], parts=PARTS)
    return found


def _is_one_product(loop: NaturalLoop, blocks: Mapping[str, BasicBlock]) -> bool:
    """Return whether all iterations cost the same, and LLVM can compute their number beforehand."""
    counting = counting_of(loop, blocks)
    return len(loop.blocks) == 1 and counting is not None and counting.ends


def over_shapes(parameters: Sequence[Parameter], exported: str) -> ir.Module:
    """Return a module with the function that iterates over shapes and workers."""
    module = ir.Module()
    words = WORD.as_pointer()
    taking = [_kind(p) for p in parameters]
    priced, flops = (
        ir.Function(module, ir.FunctionType(WORD, [*taking, WORD]), name)
        for name in (PRICED, FLOPS)
    )
    kind = ir.FunctionType(ir.VoidType(), [words, WORD, WORD, WORD, WORD, words])
    function = ir.Function(module, kind, exported)
    shapes, count, width, workers, budget, parts = function.args
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    with count_up(builder, count) as number:
        shape = builder.gep(shapes, [builder.mul(number, width)])
        place = builder.gep(parts, [number])
        builder.store(WORD(0), place)
        with count_up(builder, workers) as worker:
            arguments = [_argument(builder, p, shape, worker) for p in parameters]
            before = builder.load(place)
            with builder.if_else(builder.icmp_unsigned("==", budget, WORD(0))) as (then, otherwise):
                with then:
                    done = builder.call(flops, [*arguments, budget])
                    builder.store(builder.add(before, done), place)
                with otherwise:
                    taken = builder.call(priced, [*arguments, budget])
                    # Compared unsigned, so that -1 (OVER) exceeds all others.
                    is_more = builder.icmp_unsigned(">", taken, before)
                    builder.store(builder.select(is_more, taken, before), place)
    builder.ret_void()
    return module


def _kind(parameter: Parameter) -> ir.Type:
    return ir.IntType(8).as_pointer() if parameter.what == "data" else WORD


def _argument(builder: ir.IRBuilder, parameter: Parameter, shape: Any, worker: Any) -> Any:
    """Emit the value of an argument."""

    def word(number: int) -> Any:
        return builder.load(builder.gep(shape, [WORD(parameter.word + number)]))

    if parameter.what == "data":
        return ir.Constant(_kind(parameter), None)
    if parameter.what == "worker":
        return worker
    if parameter.kind != "rows" or parameter.what == "rows":
        return word(0)
    rows, elements = word(0), word(1)
    rows = builder.select(builder.icmp_unsigned("==", rows, WORD(0)), WORD(1), rows)
    return builder.udiv(builder.add(elements, builder.sub(rows, WORD(1))), rows)


# -- slots while vertices run ----------------------------------------------------------------------


COUNTED = "counted"
"""Name of the function that runs a vertex, or a copy of it, and returns its slots."""


def measuring_object(
    exported: str,
    driver: str,
    rehearsing: str,
    priced: str,
    parameters: Sequence[Sequence[Any]],
    sizes: Mapping[str, int],
    costs: Mapping[str, float],
    on_copies: bool,
    processor: list[Any],
) -> Made:
    """Compile a counting driver, as a job.

    `driver` is the text of its module, which declares `COUNTED`. If vertices are only counted
    (`on_copies`), the parameters of `COUNTED` are followed by a budget, the memory that it reads
    and the memory that it changes, each with its number of bytes
    (`slot_function.with_bounded_memory`).

    If indices are checked, `rehearsing` is the text of a driver that runs each vertex on copies
    first; otherwise it is empty. It is used only if `COUNTED` cannot check indices itself; if it
    can, its parameters are followed by `RECORD`. `sizes` contains the bytes of an element, by
    field.
    """
    decoded = [Parameter(*each) for each in parameters]
    blocks = blocks_of((module := folded(priced)).get_function(PRICED))
    lengths = {p.name for p in decoded if p.what in ("length", "rows")}
    tables = {p.name for p in decoded if p.what in ("pairs", "wide")}
    lengths |= _looked_up(blocks, tables)
    block_cost = block_costs(blocks, frozenset(lengths), costs.__getitem__)
    if not on_copies:  # a vertex that runs may run forever
        block_cost = {
            block.name: _unbounded(block, blocks, block_cost[block.name]) for block in blocks
        }
    arguments = [parameter.declared for parameter in decoded]
    if on_copies:
        arguments += ["i64 %slots.budget", "ptr %arena.memory", "i64 %arena.bytes"]
        arguments += ["ptr %copy.memory", "i64 %copy.bytes"]
    memory: Memory = with_bounded_memory(blocks) if on_copies else with_its_memory
    splits: Mapping[str, str] = {}
    inside = inside_fields(blocks, decoded, sizes) if rehearsing else None
    if inside is not None:
        memory, splits = inside, inside.ends
        arguments.append(f"ptr %{RECORD}")
    elif rehearsing:
        driver = rehearsing
    declared = declarations(module)
    counted = slot_counting_text(COUNTED, arguments, blocks, block_cost, declared, memory, splits)
    linked = llvm.parse_assembly(driver)
    linked.link_in(llvm.parse_assembly(counted))
    return optimized_object(exported, str(linked), processor)


def _unbounded(block: BasicBlock, blocks: Sequence[BasicBlock], cost: BlockCost) -> BlockCost:
    """Return the cost of a block that may run forever."""
    counts_times = cost.may_not_end and is_loop(block, blocks)
    return replace(cost, may_not_end=False, counts_times=counts_times)


def _looked_up(blocks: Sequence[BasicBlock], tables: set[str]) -> set[str]:
    """Return the i64 values that are loaded from tables: lengths and starts of rows.

    A start is never used as a number of iterations.
    """
    places, found = set(tables), set[str]()
    for block in blocks:
        for instruction in block.instructions:
            if instruction.opcode == "getelementptr" and instruction.operands[0] in places:
                places.add(instruction.name)
            elif instruction.opcode in ("load", "zext") and instruction.operands[0] in places:
                (found if instruction.kind == "i64" else places).add(instruction.name)
    return found
