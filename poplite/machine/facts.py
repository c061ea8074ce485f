"""The constants of the modelled machines, each with its source.

    >>> print(fact("bow", "clock_hz"))
    1,850,000,000 Hz (measured: tessellate-ipu, notebooks/IPU Peak Flops.ipynb)

The cost model takes all its numbers from here.  Each fact states its evidence:

    document    published by Graphcore
    measured    measured on hardware
    model       assumed by estimators, planners and toolchains, by Graphcore or open source
    derived     computed from such numbers, as explained in the source
    assumed     not published: a choice, documented so that it can be replaced

The sources refer to these repositories: graphcore/poplibs, graphcore/examples, osmarks/ipu-stack
(an open toolchain for the C600), graphcore-research/tessellate-ipu, thorbenlouw/lbm-graphcore,
esa-tu-darmstadt/llvm-ipu (the compiler back end), simehaa/IPU.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Literal, get_args

from poplite.frozen import frozen
from poplite.machine.instruction_prices import PRICES
from poplite.machine.library_cycles import VERTICES

Evidence = Literal["document", "measured", "model", "derived", "assumed"]
"""The evidence for a number."""

Architecture = Literal["gc2", "gc200", "bow", "c600"]
ARCHITECTURES: tuple[Architecture, ...] = get_args(Architecture)

PoplarArchitecture = Literal["ipu1", "ipu2", "ipu21"]
POPLAR_ARCHITECTURES: Mapping[str, Architecture] = {"ipu1": "gc2", "ipu2": "gc200", "ipu21": "bow"}
"""Poplar's names; source: Poplar API reference, "Target::createIPUTarget"."""


@frozen
class Fact:
    """A constant of the model.

    Attributes:
        value: the number.
        unit: its unit.
        evidence: the kind of evidence for it.
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

_MACHINE = f"""
    tiles                           1472 tiles document: {_DATASHEET}
    workers                            6 workers document: IPU Programmer's Guide, Programming model
    tile_memory_bytes            638_976 B measured: out-of-memory reports; {_PROFILE}
    clock_hz                      1.33e9 Hz derived: 6,681,766 cycles = 5,023.9 us; {_PROFILE}
    exchange_bytes_per_cycle           4 B/cycle model: Target::getExchangeBytesPerCycle, {_COST}
    memcpy_bytes_per_cycle             8 B/cycle model: Target::getMemcpyBytesPerCycle, {_COST}
    data_path_bytes                    8 B model: dataPathWidth of 64 bits, {_ESTIMATORS}
    load_bytes_per_cycle               8 B/cycle model: one 64-bit access of an element; {_MEMORY}
    paced_bytes_per_cycle             24 B/cycle measured: simehaa/IPU, STREAMTriad/README.md
    memory_element_bytes          16_384 B model: {_MEMORY}
    interleaved_begin_bytes      212_992 B model: 0x80000 - 0x4c000, {_MEMORY}
    amp_outputs                       16 outputs model: made at once, of halves summed up in halves
        and of floats; {_UNITS}
    amp_mixed_outputs                  8 outputs model: of halves summed up in floats; {_UNITS}
    amp_half_row_cycles                4 cycles model: 16 halves, all outputs; {_CONVOLUTION}
    amp_float_row_cycles               8 cycles model: 8 floats, all outputs; {_CONVOLUTION}
    weight_load_bytes_per_cycle       16 B/cycle model: {_CONVOLUTION}
    repeat_limit                   4_095 iterations model: repeat count of 12 bits, {_ESTIMATORS}
    supervisor_overhead               11 cycles model: basicOpSupervisorOverhead, {_ESTIMATORS}
    worker_call                      288 cycles measured: six workers, both rendezvous, {_COST}
    tile_copy_call                   280 cycles derived: intercept over 4 lengths, tessellate-ipu
        README
"""

_AMP = f"""
    amp_inputs_bytes          32 B model: of one row: 16 halves, 8 floats; {_CONVOLUTION}
    amp_supervisor            74 cycles model: outside the loops, 50 + 13 + 11; {_CONVOLUTION}
    amp_depth                 15 cycles model: each further group of inputs; {_CONVOLUTION}
    amp_pass                  25 cycles model: each group of outputs, 19 + 6 or 18 + 7;
        {_CONVOLUTION}
    amp_wait                  14 cycles model: after the worker that ends first; {_CONVOLUTION}
    amp_half_no_row           22 slots model: a worker with nothing to do; {_CONVOLUTION}
    amp_half_one_row          33 slots model: a worker, of one row; {_CONVOLUTION}
    amp_half_two_rows         42 slots model: a worker, of two rows; {_CONVOLUTION}
    amp_half_three_rows       38 slots model: a worker, of three rows; {_CONVOLUTION}
    amp_half_last              1 slots model: saved in the last group of inputs; {_CONVOLUTION}
    amp_half_kept              7 slots model: state a worker keeps between passes; {_CONVOLUTION}
    amp_half_kept_inputs       3 slots model: of that, by group of inputs; {_CONVOLUTION}
    amp_float_no_row          24 slots model: a worker with nothing to do; {_CONVOLUTION}
    amp_float_one_row         47 slots model: a worker, of one row; {_CONVOLUTION}, where three take
        no longer: a row more takes amp_float_row_cycles, as [m, m] x [m, 4] to [m, 32] of
        sparsity-benchmarks differ by that
    amp_float_zero             2 slots model: before rows are set to zero; {_CONVOLUTION}
    amp_float_zero_row         8 slots model: each row that is set to zero; {_CONVOLUTION}
    amp_launch                37 cycles derived: measured less estimated, 36 to 39 at 17 of 18
        lengths, tessellate-ipu, notebooks/IPU Peak Flops.ipynb
    conv_supervisor          121 cycles model: 109 + 16 - 6 + 1 + 1, n x 1; {_CONVOLUTION}
    conv_depth                14 cycles model: each group of inputs, or of outputs; {_CONVOLUTION}
    conv_kernel_row           14 cycles model: a row of the kernel, n x 1; {_CONVOLUTION}
    conv_tap                  12 cycles model: 17 - 5, a tap of the kernel, n x 1; {_CONVOLUTION}
    conv_pass                 18 cycles model: 15 + 3, besides loading weights; {_CONVOLUTION}
    conv_wait                  9 cycles model: after the worker that ends first; {_CONVOLUTION}
    conv_worker               17 slots model: a worker, for a tap, n x 1; {_CONVOLUTION}
    conv_stretch               3 slots model: each stretch of a row, n x 1; {_CONVOLUTION}
    conv_half_one             29 slots model: a stretch of one place, n x 1; {_CONVOLUTION}
    conv_half_two             33 slots model: a stretch of two places; {_CONVOLUTION}
    conv_half_three           34 slots model: a stretch of three places; {_CONVOLUTION}
    conv_float_one            33 slots model: a stretch of one place, n x 1; {_CONVOLUTION}
    conv_float_two            44 slots model: a stretch of two places; {_CONVOLUTION}
    conv_float_three          45 slots model: a stretch of three places; {_CONVOLUTION}
    conv_kept                  9 slots model: state a worker keeps between taps; {_CONVOLUTION}
    conv_zero                 14 slots model: a worker that sets partials to zero; {_CONVOLUTION}
    conv_zero_kept             9 slots model: of that, state that it keeps; {_CONVOLUTION}
    conv_zero_pass            23 cycles model: 17 + 6, setting outputs to zero; {_CONVOLUTION}
    pool_launch               13 cycles model: 7 + 6, supervisor; {_POOLING}
    pool_worker               26 slots model: 4 + 1 + 2 + 7 + 2 + 5 + 1 + 1 + 2 + 1; {_POOLING}
    pool_start                 7 slots model: 2 + 1 + 1 + 2 + 1, a worker with rows; {_POOLING}
    pool_sum_start             1 slots model: loading the scale of sums; {_POOLING}
    pool_backward             10 slots model: 6 + 2 + 2, other pointers; {_POOLING}
    pool_row                  17 slots model: 13 + 2 + 2, each row of positions; {_POOLING}
    pool_item                 36 slots model: 20 + 12 + 1 + 3, a row for a tap; {_POOLING}
    pool_item_backward        10 slots model: 1 + 1 + 2 + 2 + 4, more pointers; {_POOLING}
    pool_vector                3 slots model: 2 + 1, each 64 bits of channels; {_POOLING}
    pool_max_entry             4 slots model: before the inner loop; {_POOLING}
    pool_sum_entry             5 slots model: before the inner loop; {_POOLING}
    pool_backward_entry        7 slots model: before the inner loop; {_POOLING}
    pool_loop                  3 slots model: each further position; {_POOLING}
    pool_backward_loop         5 slots model: each further position; {_POOLING}
    add_partials_bytes        16 B model: of outputs in a loop of ReduceAdd, {_CONVOLUTION}
    add_partials_supervisor   33 cycles model: of a single input, {_CONVOLUTION}
    add_partials_entry        20 slots model: of a worker, {_CONVOLUTION}
    add_partials_float         7 slots model: a loop besides its partials, {_CONVOLUTION}
    add_partials_half          9 slots model: a loop besides its partials, {_CONVOLUTION}
    add_partials_to_float      1 slots model: more where results are, {_CONVOLUTION}
"""

_SYNC = f"""
    sync_cycles                 90 cycles model: before an exchange, {_CTC}
    exchange_cycles            100 cycles model: fixed part of an exchange, {_CTC}
    sync_stagger_cycles        126 cycles model: Target::getMaxIPUSyncDelay, {_COST}
    global_sync_cycles         600 cycles model: Target::getGlobalSyncCycles, {_COST}
    cycle_stamp_cycles          45 cycles measured: between two reads of the counter,
        tessellate-ipu, tests/core/test_tile_interpreter_hw_primitives.py
    global_sync_hop_seconds  15e-9 s model: {_LINKS}
"""

_EXCHANGES = f"""
    word_bytes                                  4 B model: {_EXCHANGE}
    pair_tiles                                  2 tiles model: tilesPerSuperTile, poplibs,
        lib/poputil
    send_controls                               1 cycles model: one instruction a fragment,
        {_EXCHANGE}
    receive_controls                            2 cycles model: source and neutral, {_EXCHANGE}
    pointer_controls                            1 cycles model: where it does not continue,
        {_EXCHANGE}
    longest_send_words                      4_148 words model: {_EXCHANGE}
    send_lanes                                  2 lanes model: of a pair: each tile has its own,
        {_EXCHANGE}
    latency_cycles                             87 cycles derived: mean over all pairs of the C600's
        map, ipu-stack, topology.rs
    strided_copy_bytes_per_cycle                4 B/cycle model: 2 cycles per 8 B, {_ESTIMATORS}
    copy_piece_cycles                           9 cycles derived: fitted: four copies of the largest
        tile of a blur, lbm-graphcore, experiments, less worker_call and 8 B/cycle
    global_exchange_cycles                  2_054 cycles derived: intercept of halos of 8 and 16 B a
        pixel, 16 Mk1 IPUs, lbm-graphcore, experiments
    link_bits_per_second          137_438_953_472 bit/s model: {_LINKS}
    link_efficiency                          0.85 model: {_LINKS}
    card_links                                  4 links model: between the IPUs of a pair, {_LINKS}
    cross_links                                 2 links model: between the IPUs of a pair, for data
        to another pair, {_LINKS}
    ladder_links                                2 links model: from a pair to the next, {_LINKS}
    host_bytes_per_cycle                     16.1 B/cycle derived: 40 MB in 2,641,488 cycles less
        host_exchange_cycles, graphcore/examples, tut6_matrix_vector_opt/README.md
    host_exchange_cycles                  160_000 cycles measured: begin and end of one stream copy,
        graphcore/examples, lightweight_profiling
"""

_ROUTE = f"""
    die_rows             23 rows model: of pairs, {_TOPOLOGY}
    die_columns          16 columns model: of two pairs side by side, {_TOPOLOGY}
    row_cycles            2 cycles model: from row to row, {_TOPOLOGY}
    column_cycles         6 cycles model: from column to column, {_TOPOLOGY}
    left_column_cycles    5 cycles model: a tile's place left of the middle, {_TOPOLOGY}
    right_column_cycles   3 cycles model: a place right of the middle, {_TOPOLOGY}
    near_entry_cycles     1 cycles model: into the pair next to its lane, {_TOPOLOGY}
    far_entry_cycles      5 cycles model: into the other pair, {_TOPOLOGY}
    turn_cycles          16 cycles model: from the right half to the left, {_TOPOLOGY}
    release_cycles       30 cycles model: what sync lets receivers wait more, {_TOPOLOGY}
    arrival_cycles       52 cycles measured: from a tile's entry to its SRAM, {_EXCHANGE}
    setup_cycles          6 cycles derived: least phase of 58 less arrival_cycles, {_TOPOLOGY}
"""

_BYTES = f"""
    stack_bytes           3_168 B derived: 3,852,288 B over 1,216 tiles, {_PROFILE}
    instruction_bytes         4 B assumed: IPUModel.instructionBytes has no published default
    pointer_bytes             4 B document: pointers are 32 bits, user guide, Supported types
    atomic_store_bytes        4 B assumed: Target::getAtomicStoreGranularity, not published
    align_bytes               8 B assumed: where variables begin: at what a 64-bit load can read
    stride_bits              10 bits assumed: IPUModel.numStrideBits has no published default
    count_bytes               4 B document: of a Span, 32 bits, user guide, Vertex vector types
    scaled_pointer_bytes      2 B document: 16 bits, user guide, Vertex vector types
    delta_bytes               4 B assumed: offset and count of one vector of a VectorList
    vertex_entry_bytes        8 B assumed: code and state of a vertex, in a tile's table
"""

_CODE = """
    operation_instructions  2 instructions assumed: one, and a load, move or branch
    sync_instructions       1 instructions assumed: in each phase that tiles wait for
    run_instructions        6 instructions assumed: set up, start and await six workers
    branch_instructions     4 instructions assumed: of a loop or a decision
    exchange_instructions   6 instructions assumed: set up to send, or to receive
"""

_GC2 = f"""
    tiles                             1216 tiles document: {_JIA}
    tile_memory_bytes              262_144 B document: {_JIA}
    clock_hz                 1_600_000_000 Hz derived: 126,351,372 cycles = 78,969.6 us,
        lbm-graphcore, experiments
    send_lanes                           1 lanes derived: of a pair: halos of 8 and 16 B a pixel
        then come within 1 %, lbm-graphcore, experiments; Graphcore's own model lets both send at
        once
    issue_width                          1 instructions/slot derived: no pairs in the cycles of blur
        codelets, lbm-graphcore, and STREAM, ipu-hpc-cookbook
    interleaved_begin_bytes        131_072 B derived: 262,144 B less the 131,072 B that reports of
        full tiles call interleaved
    amp_outputs                          8 outputs derived: 124.5 TFLOP/s of halves, 31.1 of floats,
        with the cycles of a row of Mk2; {_JIA}
"""
_BOW = "clock_hz 1_850_000_000 Hz measured: tessellate-ipu, notebooks/IPU Peak Flops.ipynb"
_CARD = "clock_hz 1.5e9 Hz model: ipu-stack, README"

_EVIDENCE: dict[str, Evidence] = {name: name for name in get_args(Evidence)}


def _facts(text: str, *, end: str = "") -> dict[str, Fact]:
    """Read a table: name, number, unit and evidence, then the source, on one or more lines.

    Args:
        text: rows indented by four spaces; continuation lines by more.
        end: the common end of all sources.
    """
    rows = re.sub(r"\n {5,}", " ", text).strip().splitlines()
    return dict(_named_fact(row, end) for row in rows)


def _named_fact(row: str, end: str) -> tuple[str, Fact]:
    head, source = row.split(": ", 1)
    name, number, *unit, evidence = head.split()
    value = float(number) if set(number) & {"e", "."} else int(number)
    return name, Fact(value, "".join(unit), _EVIDENCE[evidence], f"{source}{end}")


CODE_FACTS = (*_facts(PRICES), "repeat_limit")
"""Names of the facts that determine the cost of compiled code."""

_ROUTES = _facts(_ROUTE)
_SAME_DIE = {
    name: replace(
        fact, evidence="assumed", source=f"as the C600's, the same die family: {fact.source}"
    )
    for name, fact in _ROUTES.items()
}

_COMMON: dict[str, Fact] = {}
for _text in (_MACHINE, _AMP, _SYNC, _EXCHANGES, _BYTES, _CODE, PRICES):
    _COMMON |= _facts(_text)
for _end, _text in VERTICES.items():
    _COMMON |= _facts(_text, end=_end)

FACTS: Mapping[Architecture, Mapping[str, Fact]] = MappingProxyType(
    {
        "gc2": MappingProxyType(_COMMON | _facts(_GC2)),
        "gc200": MappingProxyType(_COMMON | _SAME_DIE),
        "bow": MappingProxyType(_COMMON | _SAME_DIE | _facts(_BOW)),
        "c600": MappingProxyType(_COMMON | _ROUTES | _facts(_CARD)),
    }
)
"""All constants, by machine and name."""
