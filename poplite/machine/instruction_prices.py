"""The prices of instructions: how long each takes a worker of a tile, and in which of two pipes.

    multiply of floats    fmul, in the aux pipe     `slot_float`, 1 slot
    multiply of integers  mul, in the main pipe     `slot_integer`, 1 slot

`PRICES` are rows of `poplite.machine.facts`; the other tables give the row of an instruction of
LLVM. `poplite.simulator.pricing.block_slots` applies them to compiled code.
"""

from __future__ import annotations

from typing import Literal

Pipe = Literal["main", "aux"]
"""The main pipe loads, stores, branches and computes integers; the aux pipe computes floats."""

_BACK_END = "llvm-ipu, llvm/lib/Target/Colossus, scheduling model and lowering"
_ESTIMATORS = "poplibs, lib/popops/popopsCycleEstimators.cpp"
_LISTING = "popc listings in simehaa/IPU and UoB-HPC/ipu-hpc-cookbook"

PRICES = f"""
    issue_width              2 instructions/slot model: one integer, one float; {_BACK_END}
    pairing               0.65 derived: least error over 11 popc loops: the one fitted number
    slot_float               1 slots model: add, sub, mul, neg, min, max, rounding, {_BACK_END}
    slot_float_divide        3 slots model: 1 to 3 by operand, {_ESTIMATORS}
    slot_sqrt                5 slots model: {_ESTIMATORS}
    slot_exp                 3 slots model: {_ESTIMATORS}
    slot_log                 6 slots model: {_ESTIMATORS}
    slot_tanh                6 slots model: {_ESTIMATORS}
    slot_sin             2_300 slots model: a library call; cos too, {_ESTIMATORS}
    slot_tan             5_100 slots model: a library call, {_ESTIMATORS}
    slot_pow               312 slots model: a library call, {_ESTIMATORS}
    slot_asin              102 slots model: a library call; acos and atan like it, {_ESTIMATORS}
    slot_atan2             136 slots model: a library call, 272 for two, {_ESTIMATORS}
    slot_cbrt               27 slots model: a library call, {_ESTIMATORS}
    slot_erf                18 slots model: a library call; erfc like it, {_ESTIMATORS}
    slot_log1p             180 slots model: a library call, {_ESTIMATORS}
    slot_fma                40 slots derived: a library call: two operations of doubles, {_BACK_END}
    slot_float_compare       2 slots derived: with the move to the main pipe, {_ESTIMATORS}
    slot_convert             2 slots derived: int to float and back, {_ESTIMATORS}
    slot_half                1 slots model: half to float and back, 2 lanes, {_BACK_END}
    slot_select              1 slots assumed: in the pipe of its operands
    slot_memory              1 slots model: load or store of up to 64 bits, {_BACK_END}
    slot_narrow_store       11 slots assumed: a call below 32 bits: load, merge, store
    slot_integer             1 slots model: {_BACK_END}
    slot_integer_divide    270 slots model: a library call, {_ESTIMATORS}
    slot_double             20 slots model: a library call, {_BACK_END}
    slot_branch              1 slots model: {_BACK_END}
    slot_switch              3 slots model: {_BACK_END}
    farthest_step          127 elements model: by which an access moves on, {_BACK_END}
    slot_row_pointer         4 slots derived: 32 slots for 7 rows of an outer loop, {_LISTING}
    slot_entry               8 slots derived: entry and exit of a single loop nest, {_LISTING}
    slot_entry_nested       20 slots derived: entry and exit otherwise, {_LISTING}
"""

FREE_OPCODES = frozenset(
    ("phi", "getelementptr", "zext", "sext", "trunc", "bitcast", "inttoptr", "ptrtoint")
    + ("freeze", "alloca", "unreachable", "ret")
    + ("insertelement", "extractelement", "shufflevector")
)
"""Opcodes without cost. `ret` is free because starting and ending a vertex has a separate cost."""
FREE_CALLS = ("llvm.lifetime", "llvm.assume", "llvm.experimental", "llvm.dbg")

BY_OPCODE: dict[str, tuple[Pipe, str]] = {
    **dict.fromkeys(("fadd", "fsub", "fmul", "fneg"), ("aux", "slot_float")),
    "fdiv": ("aux", "slot_float_divide"),
    "fcmp": ("aux", "slot_float_compare"),
    **dict.fromkeys(("sitofp", "uitofp", "fptosi", "fptoui"), ("aux", "slot_convert")),
    **dict.fromkeys(("fpext", "fptrunc"), ("aux", "slot_half")),
    **dict.fromkeys(("sdiv", "udiv", "srem", "urem"), ("main", "slot_integer_divide")),
    "frem": ("aux", "slot_integer_divide"),  # also a loop in the library
    **dict.fromkeys(
        ("add", "sub", "mul", "shl", "lshr", "ashr", "and", "or", "xor", "icmp"),
        ("main", "slot_integer"),
    ),
    "switch": ("main", "slot_switch"),
}

BY_CALL: dict[str, tuple[Pipe, str]] = {
    **dict.fromkeys(
        ("fabs", "floor", "ceil", "trunc", "rint", "round", "minnum", "maxnum", "copysign"),
        ("aux", "slot_float"),
    ),
    "sqrt": ("aux", "slot_sqrt"),
    **dict.fromkeys(("exp", "exp2"), ("aux", "slot_exp")),
    **dict.fromkeys(("log", "log2"), ("aux", "slot_log")),
    "tanh": ("aux", "slot_tanh"),
    # The nearest function for which PopLibs has a number.
    **dict.fromkeys(("expm1", "sinh", "cosh"), ("aux", "slot_exp")),
    "log10": ("aux", "slot_log"),
    "log1p": ("aux", "slot_log1p"),
    **dict.fromkeys(("erf", "erfc"), ("aux", "slot_erf")),
    **dict.fromkeys(("asin", "acos", "atan"), ("aux", "slot_asin")),
    "atan2": ("aux", "slot_atan2"),
    "cbrt": ("aux", "slot_cbrt"),
    **dict.fromkeys(("sin", "cos"), ("aux", "slot_sin")),
    "tan": ("aux", "slot_tan"),
    "pow": ("aux", "slot_pow"),
    "fma": ("aux", "slot_fma"),
    "fptosi.sat": ("aux", "slot_convert"),
    **dict.fromkeys(
        ("smax", "smin", "umax", "umin", "abs", "uadd.sat", "usub.sat", "sadd.sat", "ssub.sat")
        + ("fshl", "fshr", "ctpop", "ctlz", "cttz", "bswap", "bitreverse", "ucmp", "scmp"),
        ("main", "slot_integer"),
    ),
}
"""Calls, by name without the prefix `llvm.` and without a suffix of types or `f`."""

LIBRARY_CALLS = frozenset(
    ("slot_integer_divide", "slot_sin", "slot_tan", "slot_pow", "slot_double", "slot_narrow_store")
    + ("slot_asin", "slot_atan2", "slot_cbrt", "slot_erf", "slot_fma", "slot_log1p")
)
"""Prices that are library calls; the others are those of single instructions."""

NO_OPERATIONS = ("slot_float_compare", "slot_convert", "slot_half")
"""Prices of the aux pipe for comparisons and conversions."""
