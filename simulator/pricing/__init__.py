"""The cost of vertices without a formula, estimated from their compiled code.

    blocks              basic blocks and loops of `compute` as plain data, branches on data,
                        what counting costs, and addresses that advance with loops
    block_slots         slots of a block, in the two pipes of a worker
    slot_function       the same function, changed into one that returns its own cost
    native_slots        that function as native code, for shapes and for vertices that run
    class_slots         the slots and floating-point operations of vertices of a class, and the
                        formula of their slots

The error over 8 loops, compared with the IPU's compiler and hardware, is 4 % on average and 14 % at
most.  For two more loops, of a few instructions each, the estimates are 25 % and 43 % too low: for
the first, poplite assumed a hardware repeat that was not used; the second reloaded its bound in
each iteration.
"""
