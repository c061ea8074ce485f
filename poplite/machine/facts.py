"""The constants of the modelled machines, each with its source.

    >>> print(fact("bow", "clock_hz"))
    1,850,000,000 Hz (measured: tessellate-ipu, notebooks/IPU Peak Flops.ipynb)

The cost model takes all its numbers from here.  Each fact says how reliable it is:

    document    published by Graphcore
    measured    on hardware
    model       assumed by estimators, planners and toolchains, of Graphcore or open source
    derived     computed from such numbers, as the source says
    assumed     not published: a choice, written down to be replaced

Repositories that sources name: graphcore/poplibs, graphcore/examples, osmarks/ipu-stack (an open
toolchain for the C600), graphcore-research/tessellate-ipu, thorbenlouw/lbm-graphcore,
esa-tu-darmstadt/llvm-ipu (the compiler back end), simehaa/IPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, get_args

from poplite.frozen import frozen
from poplite.machine.library_facts import ROWS as VERTICES

Evidence = Literal["document", "measured", "model", "derived", "assumed"]
"""How reliable a number is."""

Architecture = Literal["gc2", "gc200", "bow", "c600"]
ARCHITECTURES: tuple[Architecture, ...] = get_args(Architecture)

PoplarArchitecture = Literal["ipu1", "ipu2", "ipu21"]
POPLAR_ARCHITECTURES: Mapping[str, Architecture] = {"ipu1": "gc2", "ipu2": "gc200", "ipu21": "bow"}
"""What Poplar calls them; source: Poplar API reference, "Target::createIPUTarget"."""


@frozen
class Fact:
    """A constant of the model.

    Attributes:
        value: the number.
        unit: what it counts.
        evidence: how reliable it is.
        source: document, or repository and path.
    """

    value: float
    unit: str
    evidence: Evidence
    source: str

    def __str__(self) -> str:
        number = int(self.value) if self.value == int(self.value) else self.value
        unit = f" {self.unit}" if self.unit else ""
        return f"{number:,}{unit} ({self.evidence}: {self.source})"


def fact(architecture: Architecture, name: str) -> Fact:
    """Return a constant of a machine; raise KeyError for an unknown one.

    >>> fact("gc2", "tiles").value
    1216
    """
    return FACTS[architecture][name]


_JIA = "Jia et al. 2019, arXiv 1912.03413"
_DATASHEET = "Bow-2000 datasheet; IPU Programmer's Guide"
_PROFILE = "Poplar profile summaries in graphcore/examples, tutorials/poplar"
_ESTIMATORS = "poplibs, lib/popops/popopsCycleEstimators.cpp"
_POOLING = "getPoolingCycles, poplibs, lib/popnn/PerformanceEstimation.hpp"
_CONVOLUTION = "poplibs, lib/poplin/PerformanceEstimation.hpp"
_UNITS = "hasAssembly, poplibs, lib/poplin/codelets/ConvPartial1x1Out.cpp"
_LINKS = "poplibs, lib/poplibs_test/Util.cpp"
_CTC = "poplibs, lib/popnn/CTCLossPlan.cpp"
_COST = "ipu-stack, cost.rs"
_EXCHANGE = "ipu-stack, docs/EXCHANGE_INSTRUCTION_REFERENCE.md"
_MEMORY = "ipu-stack, memory.rs"
_TOPOLOGY = "ipu-stack, topology.rs"
_BACK_END = "llvm-ipu, llvm/lib/Target/Colossus, scheduling model and lowering"
_LISTING = "popc listings in simehaa/IPU and UoB-HPC/ipu-hpc-cookbook"

_Rows = dict[str, tuple[float, str, Evidence, str]]

_MACHINE: _Rows = {
    "tiles": (1472, "tiles", "document", _DATASHEET),
    "workers": (6, "workers", "document", "IPU Programmer's Guide, Programming model"),
    "tile_memory_bytes": (638_976, "B", "measured", f"out-of-memory reports; {_PROFILE}"),
    "clock_hz": (1.33e9, "Hz", "derived", f"6,681,766 cycles = 5,023.9 us; {_PROFILE}"),
    "exchange_bytes_per_cycle": (
        4,
        "B/cycle",
        "model",
        f"Target::getExchangeBytesPerCycle, {_COST}",
    ),
    "memcpy_bytes_per_cycle": (8, "B/cycle", "model", f"Target::getMemcpyBytesPerCycle, {_COST}"),
    "data_path_bytes": (8, "B", "model", f"dataPathWidth of 64 bits, {_ESTIMATORS}"),
    "load_bytes_per_cycle": (
        8,
        "B/cycle",
        "model",
        f"one 64-bit access of an element; {_MEMORY}",
    ),
    "paced_bytes_per_cycle": (24, "B/cycle", "measured", "simehaa/IPU, STREAMTriad/README.md"),
    "memory_element_bytes": (16_384, "B", "model", _MEMORY),
    "interleaved_begin_bytes": (212_992, "B", "model", f"0x80000 - 0x4c000, {_MEMORY}"),
    "amp_outputs": (
        16,
        "outputs",
        "model",
        f"made at once, of halves summed up in halves and of floats; {_UNITS}",
    ),
    "amp_mixed_outputs": (8, "outputs", "model", f"of halves summed up in floats; {_UNITS}"),
    "amp_half_row_cycles": (4, "cycles", "model", f"16 halves, all outputs; {_CONVOLUTION}"),
    "amp_float_row_cycles": (8, "cycles", "model", f"8 floats, all outputs; {_CONVOLUTION}"),
    "weight_load_bytes_per_cycle": (16, "B/cycle", "model", _CONVOLUTION),
    "repeat_limit": (4_095, "iterations", "model", f"repeat count of 12 bits, {_ESTIMATORS}"),
}

_LAUNCH: _Rows = {
    "supervisor_overhead": (11, "cycles", "model", f"basicOpSupervisorOverhead, {_ESTIMATORS}"),
    "worker_call": (288, "cycles", "measured", f"six workers, both rendezvous, {_COST}"),
    "tile_copy_call": (280, "cycles", "derived", "intercept over 4 lengths, tessellate-ipu README"),
}

_AMP: _Rows = {
    "amp_inputs_bytes": (32, "B", "model", f"of one row: 16 halves, 8 floats; {_CONVOLUTION}"),
    "amp_supervisor": (74, "cycles", "model", f"outside the loops, 50 + 13 + 11; {_CONVOLUTION}"),
    "amp_depth": (15, "cycles", "model", f"each further group of inputs; {_CONVOLUTION}"),
    "amp_pass": (25, "cycles", "model", f"each group of outputs, 19 + 6 or 18 + 7; {_CONVOLUTION}"),
    "amp_wait": (14, "cycles", "model", f"after the worker that ends first; {_CONVOLUTION}"),
    "amp_half_no_row": (22, "slots", "model", f"a worker with nothing to do; {_CONVOLUTION}"),
    "amp_half_one_row": (33, "slots", "model", f"a worker, of one row; {_CONVOLUTION}"),
    "amp_half_two_rows": (42, "slots", "model", f"a worker, of two rows; {_CONVOLUTION}"),
    "amp_half_three_rows": (38, "slots", "model", f"a worker, of three rows; {_CONVOLUTION}"),
    "amp_half_last": (1, "slots", "model", f"saved in the last group of inputs; {_CONVOLUTION}"),
    "amp_half_kept": (7, "slots", "model", f"state a worker keeps between passes; {_CONVOLUTION}"),
    "amp_half_kept_inputs": (3, "slots", "model", f"of that, by group of inputs; {_CONVOLUTION}"),
    "amp_float_no_row": (24, "slots", "model", f"a worker with nothing to do; {_CONVOLUTION}"),
    "amp_float_one_row": (
        47,
        "slots",
        "model",
        f"a worker, of one row; {_CONVOLUTION}, where three take no longer: a row more takes "
        "amp_float_row_cycles, as [m, m] x [m, 4] to [m, 32] of sparsity-benchmarks differ by that",
    ),
    "amp_float_zero": (2, "slots", "model", f"before rows are set to zero; {_CONVOLUTION}"),
    "amp_float_zero_row": (8, "slots", "model", f"each row that is set to zero; {_CONVOLUTION}"),
    "amp_launch": (
        37,
        "cycles",
        "derived",
        "measured less estimated, 36 to 39 at 17 of 18 lengths, tessellate-ipu, "
        "notebooks/IPU Peak Flops.ipynb",
    ),
    "conv_supervisor": (121, "cycles", "model", f"109 + 16 - 6 + 1 + 1, n x 1; {_CONVOLUTION}"),
    "conv_depth": (14, "cycles", "model", f"each group of inputs, or of outputs; {_CONVOLUTION}"),
    "conv_kernel_row": (14, "cycles", "model", f"a row of the kernel, n x 1; {_CONVOLUTION}"),
    "conv_tap": (12, "cycles", "model", f"17 - 5, a tap of the kernel, n x 1; {_CONVOLUTION}"),
    "conv_pass": (18, "cycles", "model", f"15 + 3, besides loading weights; {_CONVOLUTION}"),
    "conv_wait": (9, "cycles", "model", f"after the worker that ends first; {_CONVOLUTION}"),
    "conv_worker": (17, "slots", "model", f"a worker, for a tap, n x 1; {_CONVOLUTION}"),
    "conv_stretch": (3, "slots", "model", f"each stretch of a row, n x 1; {_CONVOLUTION}"),
    "conv_half_one": (29, "slots", "model", f"a stretch of one place, n x 1; {_CONVOLUTION}"),
    "conv_half_two": (33, "slots", "model", f"a stretch of two places; {_CONVOLUTION}"),
    "conv_half_three": (34, "slots", "model", f"a stretch of three places; {_CONVOLUTION}"),
    "conv_float_one": (33, "slots", "model", f"a stretch of one place, n x 1; {_CONVOLUTION}"),
    "conv_float_two": (44, "slots", "model", f"a stretch of two places; {_CONVOLUTION}"),
    "conv_float_three": (45, "slots", "model", f"a stretch of three places; {_CONVOLUTION}"),
    "conv_kept": (9, "slots", "model", f"state a worker keeps between taps; {_CONVOLUTION}"),
    "conv_zero": (14, "slots", "model", f"a worker that sets partials to zero; {_CONVOLUTION}"),
    "conv_zero_kept": (9, "slots", "model", f"of that, state that it keeps; {_CONVOLUTION}"),
    "conv_zero_pass": (23, "cycles", "model", f"17 + 6, setting outputs to zero; {_CONVOLUTION}"),
    "pool_launch": (13, "cycles", "model", f"7 + 6, supervisor; {_POOLING}"),
    "pool_worker": (26, "slots", "model", f"4 + 1 + 2 + 7 + 2 + 5 + 1 + 1 + 2 + 1; {_POOLING}"),
    "pool_start": (7, "slots", "model", f"2 + 1 + 1 + 2 + 1, a worker with rows; {_POOLING}"),
    "pool_sum_start": (1, "slots", "model", f"loading the scale of sums; {_POOLING}"),
    "pool_backward": (10, "slots", "model", f"6 + 2 + 2, other pointers; {_POOLING}"),
    "pool_row": (17, "slots", "model", f"13 + 2 + 2, each row of positions; {_POOLING}"),
    "pool_item": (36, "slots", "model", f"20 + 12 + 1 + 3, a row for a tap; {_POOLING}"),
    "pool_item_backward": (10, "slots", "model", f"1 + 1 + 2 + 2 + 4, more pointers; {_POOLING}"),
    "pool_vector": (3, "slots", "model", f"2 + 1, each 64 bits of channels; {_POOLING}"),
    "pool_max_entry": (4, "slots", "model", f"before the inner loop; {_POOLING}"),
    "pool_sum_entry": (5, "slots", "model", f"before the inner loop; {_POOLING}"),
    "pool_backward_entry": (7, "slots", "model", f"before the inner loop; {_POOLING}"),
    "pool_loop": (3, "slots", "model", f"each further position; {_POOLING}"),
    "pool_backward_loop": (5, "slots", "model", f"each further position; {_POOLING}"),
    "add_partials_bytes": (16, "B", "model", f"of outputs in a loop of ReduceAdd, {_CONVOLUTION}"),
    "add_partials_supervisor": (33, "cycles", "model", f"of a single input, {_CONVOLUTION}"),
    "add_partials_entry": (20, "slots", "model", f"of a worker, {_CONVOLUTION}"),
    "add_partials_float": (7, "slots", "model", f"a loop besides its partials, {_CONVOLUTION}"),
    "add_partials_half": (9, "slots", "model", f"a loop besides its partials, {_CONVOLUTION}"),
    "add_partials_to_float": (1, "slots", "model", f"more where results are, {_CONVOLUTION}"),
}

_SYNC: _Rows = {
    "sync_cycles": (90, "cycles", "model", f"before an exchange, {_CTC}"),
    "exchange_cycles": (100, "cycles", "model", f"fixed part of an exchange, {_CTC}"),
    "sync_stagger_cycles": (126, "cycles", "model", f"Target::getMaxIPUSyncDelay, {_COST}"),
    "global_sync_cycles": (600, "cycles", "model", f"Target::getGlobalSyncCycles, {_COST}"),
    "cycle_stamp_cycles": (
        45,
        "cycles",
        "measured",
        "between two reads of the counter, tessellate-ipu, tests/core/"
        "test_tile_interpreter_hw_primitives.py",
    ),
    "global_sync_hop_seconds": (15e-9, "s", "model", _LINKS),
}

_EXCHANGES: _Rows = {
    "word_bytes": (4, "B", "model", _EXCHANGE),
    "pair_tiles": (2, "tiles", "model", "tilesPerSuperTile, poplibs, lib/poputil"),
    "send_controls": (1, "cycles", "model", f"one instruction a fragment, {_EXCHANGE}"),
    "receive_controls": (2, "cycles", "model", f"source and neutral, {_EXCHANGE}"),
    "pointer_controls": (1, "cycles", "model", f"where it does not continue, {_EXCHANGE}"),
    "longest_send_words": (4_148, "words", "model", _EXCHANGE),
    "send_lanes": (2, "lanes", "model", f"of a pair: each tile has its own, {_EXCHANGE}"),
    "latency_cycles": (
        87,
        "cycles",
        "derived",
        "mean over all pairs of the C600's map, ipu-stack, topology.rs",
    ),
    "strided_copy_bytes_per_cycle": (4, "B/cycle", "model", f"2 cycles per 8 B, {_ESTIMATORS}"),
    "copy_piece_cycles": (
        9,
        "cycles",
        "derived",
        "fitted: four copies of the largest tile of a blur, lbm-graphcore, experiments, less "
        "worker_call and 8 B/cycle",
    ),
    "global_exchange_cycles": (
        2_054,
        "cycles",
        "derived",
        "intercept of halos of 8 and 16 B a pixel, 16 Mk1 IPUs, lbm-graphcore, experiments",
    ),
    "link_bits_per_second": (128 * 1024**3, "bit/s", "model", _LINKS),
    "link_efficiency": (0.85, "", "model", _LINKS),
    "card_links": (4, "links", "model", f"between the IPUs of a pair, {_LINKS}"),
    "cross_links": (
        2,
        "links",
        "model",
        f"between the IPUs of a pair, for data to another pair, {_LINKS}",
    ),
    "ladder_links": (2, "links", "model", f"from a pair to the next, {_LINKS}"),
    "host_bytes_per_cycle": (
        16.1,
        "B/cycle",
        "derived",
        "40 MB in 2,641,488 cycles less host_exchange_cycles, graphcore/examples, "
        "tut6_matrix_vector_opt/README.md",
    ),
    "host_exchange_cycles": (
        160_000,
        "cycles",
        "measured",
        "begin and end of one stream copy, graphcore/examples, lightweight_profiling",
    ),
}

_ROUTE: _Rows = {
    "die_rows": (23, "rows", "model", f"of pairs, {_TOPOLOGY}"),
    "die_columns": (16, "columns", "model", f"of two pairs side by side, {_TOPOLOGY}"),
    "row_cycles": (2, "cycles", "model", f"from row to row, {_TOPOLOGY}"),
    "column_cycles": (6, "cycles", "model", f"from column to column, {_TOPOLOGY}"),
    "left_column_cycles": (5, "cycles", "model", f"a tile's place left of the middle, {_TOPOLOGY}"),
    "right_column_cycles": (3, "cycles", "model", f"a place right of the middle, {_TOPOLOGY}"),
    "near_entry_cycles": (1, "cycles", "model", f"into the pair next to its lane, {_TOPOLOGY}"),
    "far_entry_cycles": (5, "cycles", "model", f"into the other pair, {_TOPOLOGY}"),
    "turn_cycles": (16, "cycles", "model", f"from the right half to the left, {_TOPOLOGY}"),
    "release_cycles": (30, "cycles", "model", f"what sync lets receivers wait more, {_TOPOLOGY}"),
    "arrival_cycles": (52, "cycles", "measured", f"from a tile's entry to its SRAM, {_EXCHANGE}"),
    "setup_cycles": (
        6,
        "cycles",
        "derived",
        f"least phase of 58 less arrival_cycles, {_TOPOLOGY}",
    ),
}

_BYTES: _Rows = {
    "stack_bytes": (3_168, "B", "derived", f"3,852,288 B over 1,216 tiles, {_PROFILE}"),
    "instruction_bytes": (4, "B", "assumed", "IPUModel.instructionBytes has no published default"),
    "pointer_bytes": (4, "B", "document", "pointers are 32 bits, user guide, Supported types"),
    "atomic_store_bytes": (4, "B", "assumed", "Target::getAtomicStoreGranularity, not published"),
    "align_bytes": (8, "B", "assumed", "where variables begin: at what a 64-bit load can read"),
    "stride_bits": (10, "bits", "assumed", "IPUModel.numStrideBits has no published default"),
    "count_bytes": (4, "B", "document", "of a Span, 32 bits, user guide, Vertex vector types"),
    "scaled_pointer_bytes": (2, "B", "document", "16 bits, user guide, Vertex vector types"),
    "delta_bytes": (4, "B", "assumed", "offset and count of one vector of a VectorList"),
    "vertex_entry_bytes": (8, "B", "assumed", "code and state of a vertex, in a tile's table"),
}

_CODE: _Rows = {
    "operation_instructions": (2, "instructions", "assumed", "one, and a load, move or branch"),
    "sync_instructions": (1, "instructions", "assumed", "in each phase that tiles wait for"),
    "run_instructions": (6, "instructions", "assumed", "set up, start and await six workers"),
    "branch_instructions": (4, "instructions", "assumed", "of a loop or a decision"),
    "exchange_instructions": (6, "instructions", "assumed", "set up to send, or to receive"),
}

_SLOTS: _Rows = {
    "issue_width": (2, "instructions/slot", "model", f"one integer, one float; {_BACK_END}"),
    "pairing": (0.65, "", "derived", "least error over 11 popc loops: the one fitted number"),
    "slot_float": (1, "slots", "model", f"add, sub, mul, neg, min, max, rounding, {_BACK_END}"),
    "slot_float_divide": (3, "slots", "model", f"1 to 3 by operand, {_ESTIMATORS}"),
    "slot_sqrt": (5, "slots", "model", _ESTIMATORS),
    "slot_exp": (3, "slots", "model", _ESTIMATORS),
    "slot_log": (6, "slots", "model", _ESTIMATORS),
    "slot_tanh": (6, "slots", "model", _ESTIMATORS),
    "slot_sin": (2_300, "slots", "model", f"a library call; cos too, {_ESTIMATORS}"),
    "slot_tan": (5_100, "slots", "model", f"a library call, {_ESTIMATORS}"),
    "slot_pow": (312, "slots", "model", f"a library call, {_ESTIMATORS}"),
    "slot_asin": (102, "slots", "model", f"a library call; acos and atan like it, {_ESTIMATORS}"),
    "slot_atan2": (136, "slots", "model", f"a library call, 272 for two, {_ESTIMATORS}"),
    "slot_cbrt": (27, "slots", "model", f"a library call, {_ESTIMATORS}"),
    "slot_erf": (18, "slots", "model", f"a library call; erfc like it, {_ESTIMATORS}"),
    "slot_log1p": (180, "slots", "model", f"a library call, {_ESTIMATORS}"),
    "slot_fma": (40, "slots", "derived", f"a library call: two operations of doubles, {_BACK_END}"),
    "slot_float_compare": (2, "slots", "derived", f"with the move to the main pipe, {_ESTIMATORS}"),
    "slot_convert": (2, "slots", "derived", f"int to float and back, {_ESTIMATORS}"),
    "slot_half": (1, "slots", "model", f"half to float and back, 2 lanes, {_BACK_END}"),
    "slot_select": (1, "slots", "assumed", "in the pipe of its operands"),
    "slot_memory": (1, "slots", "model", f"load or store of up to 64 bits, {_BACK_END}"),
    "slot_narrow_store": (11, "slots", "assumed", "a call below 32 bits: load, merge, store"),
    "slot_integer": (1, "slots", "model", _BACK_END),
    "slot_integer_divide": (270, "slots", "model", f"a library call, {_ESTIMATORS}"),
    "slot_double": (20, "slots", "model", f"a library call, {_BACK_END}"),
    "slot_branch": (1, "slots", "model", _BACK_END),
    "slot_switch": (3, "slots", "model", _BACK_END),
    "farthest_step": (127, "elements", "model", f"by which an access moves on, {_BACK_END}"),
    "slot_row_pointer": (
        4,
        "slots",
        "derived",
        f"32 slots for 7 rows of an outer loop, {_LISTING}",
    ),
    "slot_entry": (8, "slots", "derived", f"entry and exit of a single loop nest, {_LISTING}"),
    "slot_entry_nested": (20, "slots", "derived", f"entry and exit otherwise, {_LISTING}"),
}

CODE_FACTS = (*_SLOTS, "repeat_limit")
"""Names of the facts that compiled code is priced by."""

_SAME_DIE: _Rows = {
    name: (value, unit, "assumed", f"as the C600's, the same die family: {source}")
    for name, (value, unit, _, source) in _ROUTE.items()
}

_DIFFERENCES: dict[Architecture, _Rows] = {
    "gc200": _SAME_DIE,
    "gc2": {
        "tiles": (1216, "tiles", "document", _JIA),
        "tile_memory_bytes": (262_144, "B", "document", _JIA),
        "clock_hz": (
            1_600_000_000,
            "Hz",
            "derived",
            "126,351,372 cycles = 78,969.6 us, lbm-graphcore, experiments",
        ),
        "send_lanes": (
            1,
            "lanes",
            "derived",
            "of a pair: halos of 8 and 16 B a pixel then come within 1 %, lbm-graphcore, "
            "experiments; Graphcore's own model lets both send at once",
        ),
        "issue_width": (
            1,
            "instructions/slot",
            "derived",
            "no pairs in the cycles of blur codelets, lbm-graphcore, and STREAM, ipu-hpc-cookbook",
        ),
        "interleaved_begin_bytes": (
            131_072,
            "B",
            "derived",
            "262,144 B less the 131,072 B that reports of full tiles call interleaved",
        ),
        "amp_outputs": (
            8,
            "outputs",
            "derived",
            f"124.5 TFLOP/s of halves, 31.1 of floats, with the cycles of a row of Mk2; {_JIA}",
        ),
    },
    "bow": {
        **_SAME_DIE,
        "clock_hz": (
            1_850_000_000,
            "Hz",
            "measured",
            "tessellate-ipu, notebooks/IPU Peak Flops.ipynb",
        ),
    },
    "c600": {
        **_ROUTE,
        "clock_hz": (1.5e9, "Hz", "model", "ipu-stack, README"),
    },
}


def _facts(architecture: Architecture) -> Mapping[str, Fact]:
    tables = (
        *(_MACHINE, _LAUNCH, _AMP, _SYNC, _EXCHANGES, _BYTES, _CODE, _SLOTS, VERTICES),
        _DIFFERENCES[architecture],
    )
    rows = {name: row for table in tables for name, row in table.items()}
    return MappingProxyType({name: Fact(*row) for name, row in rows.items()})


FACTS: Mapping[Architecture, Mapping[str, Fact]] = MappingProxyType(
    {architecture: _facts(architecture) for architecture in ARCHITECTURES}
)
"""All constants, by machine and name."""
