"""The cost of vertices without a formula, estimated from their compiled code.

    parameters          the arguments of `compute`
    module              `compute` as LLVM sees it, folded but neither vectorized nor unrolled
    blocks              its basic blocks and loops, as plain data
    loops               what counting costs, and what is free
    pointers            addresses that advance with loops, and what their rows cost
    divisors            checks of divisors, which are free, and division by zero
    instruction_prices  what each instruction costs, in which of the two pipes of a tile
    schedule            what a block costs when neighbours run side by side
    taint               whether data decide what is done
    slot_function       the same function, changed into one that returns its own cost
    native_slots        that function as native code, for shapes
    measured_slots      the same for vertices that run, where data decide
    formula             its cost as a polynomial in lengths
    class_slots         the slots of vertices of a class

Error: mean 4 %, worst 14 % over 8 loops of the IPU's own compiler and hardware.  Two more, of a few
instructions, are 25 % and 43 % too low: one is repeated by hardware here and was not there, the
other loaded its bound again each time.
"""

from poplite.simulator.pricing.class_slots import (
    Priced as Priced,
    deciding_fields as deciding_fields,
    is_data_dependent as is_data_dependent,
    slots_of as slots_of,
)
