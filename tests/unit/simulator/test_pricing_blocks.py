"""Prices of code that is written down here: blocks, loops, pipes, and what decides."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import llvmlite.binding as llvm
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from poplite.simulator.codegen.compute_code import DATA, PARTS
from poplite.simulator.pricing.block_slots import Price, block_parts, ideal_slots, prices_of
from poplite.simulator.pricing.blocks import (
    BasicBlock,
    Instruction,
    blocks_of,
    deciding,
    has_constant_trip,
    loop_costs,
    loops_of,
)
from poplite.simulator.pricing.slot_function import (
    BlockCost,
    is_loop,
    slot_counting_text,
    with_bounded_memory,
    with_its_memory,
    without_memory,
)

COST = pl.Target().cost


def function(text: str) -> list[BasicBlock]:
    module = llvm.parse_assembly(text)
    return blocks_of(module.get_function("priced"))


def loop(body: str, arguments: str = "ptr %x, i64 %n", bound: str = "%n") -> list[BasicBlock]:
    """Return a function with a loop that counts up; `%i` is its number, `%p` an address."""
    return function(f"""
declare float @llvm.exp.f32(float)
declare float @unheard.of(float)
define void @priced({arguments}) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr float, ptr %x, i64 %i
  {body}
  %next = add i64 %i, 1
  %done = icmp eq i64 %next, {bound}
  br i1 %done, label %end, label %loop
end:
  ret void
}}""")


def slots(blocks: list[BasicBlock], name: str = "loop") -> tuple[int, int, int]:
    """Return main, aux and ideally paired slots of a block."""
    free = loop_costs(blocks, loops_of(blocks), frozenset()).free
    block = next(each for each in blocks if each.name == name)
    prices = prices_of(blocks, free, COST)[name]
    main, aux = (sum(p.slots for p in prices if p.pipe == pipe) for pipe in ("main", "aux"))
    return main, aux, ideal_slots(block.instructions, prices)


# Rows of auto-cycles, section 4: main, aux and paired slots of the listings.
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # x += c on two lanes, aligned: load, add, store, branch.
        (
            """%v = load <2 x float>, ptr %p, align 8
  %w = fadd <2 x float> %v, <float 1.5, float 1.5>
  store <2 x float> %w, ptr %p, align 8""",
            (3, 1, 4),
        ),
        # The same where the address is a multiple of 4 only: accesses of 32 bits.
        (
            """%v = load <2 x float>, ptr %p, align 4
  %w = fadd <2 x float> %v, <float 1.5, float 1.5>
  store <2 x float> %w, ptr %p, align 4""",
            (5, 1, 6),
        ),
        # Dot product: the sum waits for the product.
        (
            """%v = load float, ptr %p, align 4
  %q = getelementptr float, ptr %p, i64 4
  %w = load float, ptr %q, align 4
  %m = fmul float %v, %w
  %s = fadd float %m, %m""",
            (3, 2, 5),
        ),
        # STREAM triad: one of the two loads goes beside the product.
        (
            """%v = load float, ptr %p, align 4
  %q = getelementptr float, ptr %p, i64 4
  %w = load float, ptr %q, align 4
  %m = fmul float %w, 3.0
  %s = fadd float %v, %m
  store float %s, ptr %p, align 4""",
            (4, 2, 5),
        ),
        # A single half is stored by the library.
        (
            """%v = load half, ptr %p, align 2
  store half %v, ptr %p, align 2""",
            (1 + 11 + 1, 0, 13),
        ),
        ("%v = load i64, ptr %p, align 8", (2 + 1, 0, 3)),
        ("%e = call float @llvm.exp.f32(float 2.0)", (1, 3, 4)),
    ],
)
def test_blocks_take_what_listings_say(body: str, expected: tuple[int, int, int]) -> None:
    assert slots(loop(body)) == expected


def test_a_bound_in_memory_costs_comparison_and_addition() -> None:
    blocks = function("""
define void @priced(ptr %x, ptr %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr i32, ptr %x, i64 %i
  %v = load i32, ptr %p, align 4
  %w = add i32 %v, 1
  store i32 %w, ptr %p, align 4
  %next = add i64 %i, 1
  %bound = load i32, ptr %n, align 4
  %wide = sext i32 %bound to i64
  %more = icmp slt i64 %next, %wide
  br i1 %more, label %loop, label %end
end:
  ret void
}""")
    assert slots(blocks) == (7, 0, 7)
    assert deciding(blocks) == {DATA, "n"}


def test_a_share_of_the_pairs_is_found() -> None:
    blocks = loop("""%v = load float, ptr %p, align 4
  %m = fmul float %v, 3.0
  %w = load float, ptr %p, align 4""")
    block = next(each for each in blocks if each.name == "loop")
    prices = prices_of(blocks, loop_costs(blocks, loops_of(blocks), frozenset()).free, COST)["loop"]
    # Load, product beside the other load, branch: 3 of 4 slots.
    found = [block_parts(block.instructions, prices, share) / PARTS for share in (0.0, 0.5, 1.0)]
    assert found == [4, 3.5, 3]


def slots_by_looking_at_all(code: Sequence[Instruction], prices: Sequence[Price]) -> int:
    """Return what `ideal_slots` does of instructions that do not end the block, step by step."""
    needs = []
    for k, each in enumerate(code):
        made = {int(operand) for operand in each.operands}
        if each.opcode == "store":
            made |= {j for j in range(k) if code[j].opcode in ("load", "store")}
        needs.append(made)
    urgency = [price.slots for price in prices]
    for k in reversed(range(len(code))):
        for before in needs[k]:
            urgency[before] = max(urgency[before], prices[before].slots + urgency[k])
    finished: dict[int, int] = {}
    busy, now = {"main": 0, "aux": 0}, 0
    while len(finished) < len(code):
        for pipe in ("main", "aux"):
            ready = [
                k
                for k in range(len(code))
                if k not in finished
                and prices[k].pipe == pipe
                and all(finished.get(before, now + 1) <= now for before in needs[k])
            ]
            if ready and busy[pipe] <= now:
                chosen = max(ready, key=lambda k: urgency[k])
                busy[pipe] = finished[chosen] = now + prices[chosen].slots
        now += 1
    return max(finished.values(), default=0)


@given(st.data())
def test_what_is_most_urgent_begins_first(data: st.DataObject) -> None:
    code: list[Instruction] = []
    prices: list[Price] = []
    for k in range(data.draw(st.integers(0, 12))):
        opcode = data.draw(st.sampled_from(("load", "store", "add", "fadd")))
        operands = data.draw(st.sets(st.integers(0, k - 1), max_size=2)) if k else set()
        used = tuple(str(each) for each in operands if code[each].opcode != "store")
        code.append(Instruction(str(k), opcode, used, "float", "", ""))
        slots = data.draw(st.sampled_from((1, 2, 11)))
        prices.append(Price("aux" if opcode == "fadd" else "main", slots))
    assert ideal_slots(code, prices) == slots_by_looking_at_all(code, prices)


def test_loops_as_long_as_a_field_are_repeated_by_the_hardware() -> None:
    body = "%v = load float, ptr %p, align 4"
    known, other = (
        loop_costs(blocks, loops_of(blocks), frozenset({"n"}))
        for blocks in (loop(body), loop(body, "ptr %x, i64 %count", "%count"))
    )
    assert known.repeated == {"loop": {"n"}}
    assert other.repeated == {}
    assert known.free == other.free == {"next", "done"}


def test_a_constant_number_of_iterations_is_known() -> None:
    for bound, constant in (("%n", False), ("7", True)):
        blocks = loop("", bound=bound)
        (found,) = loops_of(blocks)
        assert has_constant_trip(found, blocks) is constant
        assert (found.header, *found.latches, *found.blocks) == ("loop", "loop", "loop")


def test_nested_loops_are_found_from_outside_in() -> None:
    blocks = function("""
define void @priced(i64 %n) {
entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i.next, %outer.end ]
  br label %inner
inner:
  %j = phi i64 [ 0, %outer ], [ %j.next, %inner ]
  %j.next = add i64 %j, 1
  %j.done = icmp eq i64 %j.next, %i
  br i1 %j.done, label %outer.end, label %inner
outer.end:
  %i.next = add i64 %i, 1
  %i.done = icmp eq i64 %i.next, %n
  br i1 %i.done, label %end, label %outer
end:
  ret void
}""")
    found = [(each.header, sorted(each.blocks)) for each in loops_of(blocks)]
    assert found == [("outer", ["inner", "outer", "outer.end"]), ("inner", ["inner"])]
    assert deciding(blocks) == {"n"}


def test_what_has_no_price_is_refused() -> None:
    blocks = loop("%v = call float @unheard.of(float 1.0)")
    with pytest.raises(pl.VertexCompileError, match=r"no price for unheard\.of") as raised:
        prices_of(blocks, frozenset(), COST)
    assert "cycles method" in raised.value.fix


def test_the_counted_function_needs_no_memory_and_ends() -> None:
    blocks = function("""
define void @priced(ptr %x, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ %n, %entry ], [ %next, %loop ]
  %p = getelementptr i32, ptr %x, i64 %i
  %v = load i32, ptr %p, align 4
  store i32 7, ptr %p, align 4
  %wide = sext i32 %v to i64
  %next = sub i64 %i, %wide
  %done = icmp eq i64 %next, 0
  br i1 %done, label %end, label %loop
end:
  ret void
}""")
    costs = {"entry": BlockCost(64), "loop": BlockCost(320, may_not_end=True), "end": BlockCost(0)}
    arguments = ["ptr %x", "i64 %n", "i64 %slots.budget"]
    text = slot_counting_text("taken", arguments, blocks, costs, [], without_memory)
    llvm.parse_assembly(text).verify()
    assert "store i32" not in text
    assert "%v = freeze i32 zeroinitializer" in text
    assert "[ %next, %going.on.1 ]" in text  # where the block was cut


def test_addresses_of_any_name_are_bounded() -> None:
    blocks = function("""
define void @priced(ptr %x) {
entry:
  %"$phi1.2" = getelementptr i32, ptr %x, i64 1
  %v = load i32, ptr %"$phi1.2", align 4
  store i32 %v, ptr %x, align 4
  ret void
}""")
    arguments = ["ptr %x", "i64 %slots.budget", "ptr %arena.memory", "i64 %arena.bytes"]
    arguments += ["ptr %copy.memory", "i64 %copy.bytes"]
    text = slot_counting_text(
        "taken", arguments, blocks, {"entry": BlockCost(64)}, [], with_bounded_memory(blocks)
    )
    llvm.parse_assembly(text).verify()
    assert "%v = load i32, ptr %safe." in text


def test_a_loop_that_counts_its_times_adds_what_they_take_at_the_end() -> None:
    blocks = function("""
define void @priced(ptr %x, i64 %n) {
entry:
  %none = icmp eq i64 %n, 0
  br i1 %none, label %end, label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %more, %behind ]
  br label %loop
loop:
  %v = phi i64 [ %n, %outer ], [ %half, %loop ]
  %half = lshr i64 %v, 1
  %again = icmp ugt i64 %half, 0
  br i1 %again, label %loop, label %behind
behind:
  %last = phi i64 [ %half, %loop ]
  %more = add i64 %i, 1
  %done = icmp uge i64 %more, %n
  br i1 %done, label %end, label %outer
end:
  ret void
}""")
    assert [block.name for block in blocks if is_loop(block, blocks)] == ["loop"]
    costs = {
        "entry": BlockCost(1_000_000),
        "outer": BlockCost(0),
        "loop": BlockCost(3, short=2, lengths=frozenset({"n"}), limit=4, counts_times=True),
        "behind": BlockCost(1000),
        "end": BlockCost(0),
    }
    text = slot_counting_text("taken", ["ptr %x", "i64 %n"], blocks, costs, [], with_its_memory)
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine()
    with llvm.create_mcjit_compiler(llvm.parse_assembly(text), machine) as engine:
        kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)
        taken = kind(engine.get_function_address("taken"))
        for n in (0, 1, 4, 5, 100):
            each = n.bit_length() * (2 if n <= 4 else 3) + 1000
            assert taken(None, n) == 1_000_000 + n * each


@pytest.mark.parametrize(
    "text",
    [
        """
entry:
  switch i64 %n, label %end [ i64 1, label %loop
    i64 6, label %loop ]
loop:
  %v = phi i64 [ %n, %entry ], [ %n, %entry ], [ %half, %loop ]
  %half = lshr i64 %v, 1
  %again = icmp ugt i64 %half, 0
  br i1 %again, label %loop, label %end
end:
  ret void
""",
        """
entry:
  br label %loop
loop:
  %v = phi i64 [ %n, %entry ], [ %half, %loop ]
  %half = lshr i64 %v, 1
  switch i64 %half, label %loop [ i64 1, label %end
    i64 6, label %end ]
end:
  %w = phi i64 [ %half, %loop ], [ %half, %loop ]
  ret void
""",
    ],
)
def test_a_loop_that_a_switch_enters_or_leaves_counts_as_it_turns(text: str) -> None:
    """A phi has an entry for each edge, so that nothing may be put on one of several."""
    blocks = function(f"define void @priced(ptr %x, i64 %n) {{{text}}}")
    assert not any(is_loop(block, blocks) for block in blocks)
    costs = {block.name: BlockCost(3) for block in blocks}
    counting = slot_counting_text("taken", ["ptr %x", "i64 %n"], blocks, costs, [], with_its_memory)
    llvm.parse_assembly(counting).verify()
