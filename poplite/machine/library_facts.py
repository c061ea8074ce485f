"""The costs of PopLibs' vertices: the constants of their estimators.

All are from the estimators of PopLibs, Graphcore's library, where they were compared with a
cycle-accurate simulator, to 10 %.  `poplite.vertices.estimators.poplibs` has the formulas.

>>> print(BINARY["divide", "FLOAT"])
10 slots/2 elements (model: binaryOpPerfInfo; poplibs, lib/popops/popopsCycleEstimators.hpp)
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from poplite.frozen import frozen
from poplite.text import amount

ESTIMATORS = "poplibs, lib/popops/popopsCycleEstimators.cpp"
_ESTIMATION = "poplibs, lib/popops/PerformanceEstimation.cpp"
_REDUCTION = "poplibs, lib/popops/reduction/CycleEstimationFunctions.cpp"
_EXTREMES = "poplibs, lib/popnn/popnnCycleEstimators.cpp"
_SPARSE = "sparseDenseElementwiseMultiply; poplibs, lib/popsparse/PerformanceEstimation.hpp"
_CHOLESKY = "Cholesky, fitted to the machine; poplibs, lib/poplin/poplinCycleEstimators.cpp"
_SOLVE = "TriangularSolve of FLOAT, fitted; poplibs, lib/poplin/poplinCycleEstimators.cpp"
_DOTS = "sparseDenseGradWElementwiseMultiply; poplibs, lib/popsparse/PerformanceEstimation.hpp"

ROWS: dict[str, tuple[float, str, Literal["model"], str]] = {
    "binary_float_entry": (29, "slots", "model", f"BinaryOp1D of FLOAT; {ESTIMATORS}"),
    "binary_entry": (26, "slots", "model", f"BinaryOp1D of other types; {ESTIMATORS}"),
    "binary_in_place_entry": (58, "slots", "model", f"BinaryOp1DInPlace; {ESTIMATORS}"),
    "binary_loop": (5, "slots", "model", f"binaryOpInnerLoopCycles, in C++; {ESTIMATORS}"),
    "binary_fast_loop": (
        2,
        "slots",
        "model",
        f"binaryOpInnerLoopCycles, add, subtract, multiply; {ESTIMATORS}",
    ),
    "unary_entry": (17, "slots", "model", f"UnaryOp1D; {ESTIMATORS}"),
    "unary_exp_entry": (33, "slots", "model", f"UnaryOp1D of exp; {ESTIMATORS}"),
    "unary_in_place_entry": (55, "slots", "model", f"UnaryOp1DInPlace; {ESTIMATORS}"),
    "unary_loop": (4, "slots", "model", f"unaryOpInnerLoopCycles; {ESTIMATORS}"),
    "unary_rows_entry": (20, "slots", "model", f"UnaryOp2D, in place as well; {ESTIMATORS}"),
    "binary_rows_entry": (5, "slots", "model", f"BinaryOp2D; {ESTIMATORS}"),
    "binary_rows_in_place_entry": (20, "slots", "model", f"BinaryOp2DInPlace; {ESTIMATORS}"),
    "broadcast_entry": (20, "slots", "model", f"BroadcastScalar1D, and 2D; {ESTIMATORS}"),
    "broadcast_row": (28, "slots", "model", f"each region, BroadcastScalar2D; {ESTIMATORS}"),
    "outer_entry": (15, "slots", "model", f"BroadcastVectorOuterByRow1D; {ESTIMATORS}"),
    "outer_row": (
        7,
        "slots",
        "model",
        f"a row of whole vectors, BroadcastVectorOuterByRow1D; {ESTIMATORS}",
    ),
    "outer_row_apart": (25, "slots", "model", f"rows that are not aligned; {ESTIMATORS}"),
    "inner_add_entry": (22, "slots", "model", f"3 + 15 + 1 + 3, VectorInner2D add; {ESTIMATORS}"),
    "inner_subtract_entry": (
        23,
        "slots",
        "model",
        f"3 + 15 + 1 + 4, VectorInner2D subtract; {ESTIMATORS}",
    ),
    "inner_multiply_entry": (
        19,
        "slots",
        "model",
        f"3 + 13 + 1 + 2, VectorInner2D multiply; {ESTIMATORS}",
    ),
    "inner_divide_entry": (
        19,
        "slots",
        "model",
        f"6 + 9 + 1 + 3, VectorInner2D divide of FLOAT; {ESTIMATORS}",
    ),
    "inner_divide_half_entry": (
        25,
        "slots",
        "model",
        f"6 + 15 + 1 + 3, VectorInner2D divide of HALF; {ESTIMATORS}",
    ),
    "inner_add_most": (
        2048,
        "elements",
        "model",
        f"from which halves go one by one, add; {ESTIMATORS}",
    ),
    "inner_add_one": (9, "slots", "model", f"1 + 2 + 5 + 1, add one by one; {ESTIMATORS}"),
    "inner_one_entry": (5, "slots", "model", f"2 + 3, each column, add one by one; {ESTIMATORS}"),
    "inner_one_loop": (9, "slots", "model", f"each half, add one by one; {ESTIMATORS}"),
    "inner_add_eight": (12, "slots", "model", f"1 + 2 + 2 + 2 + 4 + 1, add by eight; {ESTIMATORS}"),
    "inner_add_eight_entry": (13, "slots", "model", f"8 + 7 - 2, eight columns; {ESTIMATORS}"),
    "inner_add_four": (
        15,
        "slots",
        "model",
        f"1 + 2 + 2 + 2 + 2 + 5 + 1, add by four; {ESTIMATORS}",
    ),
    "inner_add_four_entry": (11, "slots", "model", f"7 - 2 + 1 + 5, four columns; {ESTIMATORS}"),
    "inner_multiply": (13, "slots", "model", f"1 + 2 + 2 + 2 + 2 + 3 + 1, multiply; {ESTIMATORS}"),
    "inner_multiply_piped": (9, "slots", "model", f"6 + 3, four columns; {ESTIMATORS}"),
    "inner_multiply_in_place": (
        9,
        "slots",
        "model",
        f"1 + 2 + 2 + 3 + 1, multiply in place; {ESTIMATORS}",
    ),
    "inner_multiply_long": (
        11,
        "slots",
        "model",
        f"1 + 2 + 2 + 2 + 3 + 1, multiply long rows; {ESTIMATORS}",
    ),
    "inner_multiply_apart": (
        7,
        "slots",
        "model",
        f"4 + 3, four columns, load and store apart; {ESTIMATORS}",
    ),
    "inner_multiply_most": (
        2044,
        "elements",
        "model",
        f"up to which load and store are one, multiply; {ESTIMATORS}",
    ),
    "inner_divide": (10, "slots", "model", f"1 + 5 + 3 + 1, divide of FLOAT; {ESTIMATORS}"),
    "inner_divide_loop": (6, "slots", "model", f"two elements, divide of FLOAT; {ESTIMATORS}"),
    "inner_divide_half": (14, "slots", "model", f"1 + 8 + 4 + 1, divide of HALF; {ESTIMATORS}"),
    "inner_divide_half_loop": (8, "slots", "model", f"two elements, divide of HALF; {ESTIMATORS}"),
    "inner_divide_odd": (9, "slots", "model", f"1 + 5 + 2 + 1, divide of odd rows; {ESTIMATORS}"),
    "inner_divide_odd_loop": (4, "slots", "model", f"an element, divide of odd rows; {ESTIMATORS}"),
    "inner_divide_pair": (
        5,
        "slots",
        "model",
        f"two columns, or one of an odd row, divide; {ESTIMATORS}",
    ),
    "choice_entry": (5, "slots", "model", f"Select, Clamp; {ESTIMATORS}"),
    "choice_row": (6, "slots", "model", f"each region, Select, Clamp; {ESTIMATORS}"),
    "broadcast_loop": (4, "slots", "model", f"BroadcastScalar1D, in C++; {ESTIMATORS}"),
    "broadcast_fast_loop": (
        1,
        "slots",
        "model",
        f"BroadcastScalar1D, add, subtract, multiply; {ESTIMATORS}",
    ),
    "fill_entry": (23, "slots", "model", f"16 + 6 + 1, other types than HALF; {_ESTIMATION}"),
    "fill_half_entry": (26, "slots", "model", f"three or more halves; {_ESTIMATION}"),
    "fill_half_one": (15, "slots", "model", f"one half; {_ESTIMATION}"),
    "fill_half_two": (21, "slots", "model", f"two halves; {_ESTIMATION}"),
    "fill_bytes_entry": (28, "slots", "model", f"8-bit types, up to 63 elements; {_ESTIMATION}"),
    "fill_bytes_at_once": (4, "elements", "model", f"of 8-bit types, up to 63; {_ESTIMATION}"),
    "fill_many_bytes_entry": (39, "slots", "model", f"8-bit types, 64 and more; {_ESTIMATION}"),
    "fill_many_bytes": (64, "elements", "model", f"from which 64 bits are stored; {_ESTIMATION}"),
    "fill_words_entry": (5, "slots", "model", f"64-bit types, one a slot; {_ESTIMATION}"),
    "fill_rows_entry": (6, "slots", "model", f"Fill2d, 5 of HALF and 64 bits; {_ESTIMATION}"),
    "fill_row_less": (3, "slots", "model", f"Fill2d, 2 of HALF and 64 bits; {_ESTIMATION}"),
    "iota_entry": (10, "slots", "model", f"Iota; {ESTIMATORS}"),
    "iota_row": (4, "slots", "model", f"each region, Iota; {ESTIMATORS}"),
    "iota_loop": (3, "slots", "model", f"each vector of 64 bits, Iota; {ESTIMATORS}"),
    "loop_counter": (43, "slots", "model", f"ForLoopCounter; {ESTIMATORS}"),
    "cast_launch": (12, "cycles", "model", f"Cast1D; {_ESTIMATION}"),
    "cast_entry": (37, "slots", "model", f"18 + 19, Cast1D; {_ESTIMATION}"),
    "cast_rows_entry": (5, "slots", "model", f"Cast2D; {_ESTIMATION}"),
    "cast_row": (30, "slots", "model", f"11 + 19, each region, Cast2D; {_ESTIMATION}"),
    "cast_wide": (4, "slots", "model", f"an element to 64 bits, castWorkerCycles; {_ESTIMATION}"),
    "cast_wide_signed": (
        1,
        "slots",
        "model",
        f"more, of a signed one, castWorkerCycles; {_ESTIMATION}",
    ),
    "cast_rest": (1, "slots", "model", f"looking for a rest, castWorkerCycles; {_ESTIMATION}"),
    "cast_rest_step": (
        2,
        "slots",
        "model",
        f"each part of a rest, castWorkerCycles; {_ESTIMATION}",
    ),
    "scaled_add_launch": (33, "cycles", "model", f"21 + 12, ScaledAdd; {_ESTIMATION}"),
    "scaled_add_variable": (6, "cycles", "model", f"a scale that is an input; {_ESTIMATION}"),
    "scaled_add_no_rest": (7, "cycles", "model", f"whole vectors only, ScaledAdd; {_ESTIMATION}"),
    "scaled_add_rest": (13, "cycles", "model", f"dividing a rest, ScaledAdd; {_ESTIMATION}"),
    "scaled_add_entry": (19, "slots", "model", f"15 + 2 + 1 + 1, ScaledAdd; {_ESTIMATION}"),
    "scaled_add_first": (6, "slots", "model", f"the first vector, ScaledAdd; {_ESTIMATION}"),
    "scaled_add_loop": (3, "slots", "model", f"each other vector, ScaledAdd; {_ESTIMATION}"),
    "scaled_add_float": (8, "slots", "model", f"a float left over, ScaledAdd; {_ESTIMATION}"),
    "scaled_add_half": (5, "slots", "model", f"a half left over, ScaledAdd; {_ESTIMATION}"),
    "scaled_add_two_halves": (12, "slots", "model", f"5 + 7, two left over; {_ESTIMATION}"),
    "scaled_add_three_halves": (18, "slots", "model", f"5 + 7 + 6, three left; {_ESTIMATION}"),
    "slice_launch": (14, "cycles", "model", f"1 + 6 + 1 + 6, DynamicSlice1D; {ESTIMATORS}"),
    "slice_entry": (35, "slots", "model", f"DynamicSlice1D; {ESTIMATORS}"),
    "slice_each": (24, "slots", "model", f"each slice, DynamicSlice1D; {ESTIMATORS}"),
    "slice_bytes_entry": (72, "slots", "model", f"8-bit types, DynamicSlice1D; {ESTIMATORS}"),
    "slice_bytes_each": (70, "slots", "model", f"8-bit types, DynamicSlice1D; {ESTIMATORS}"),
    "slice_loop": (2, "slots", "model", f"64 bits, or four of 8 bits; {ESTIMATORS}"),
    "multi_slice_entry": (30, "slots", "model", f"MultiSlice; {_ESTIMATION}"),
    "multi_slice_each": (19, "slots", "model", f"an offset in range, MultiSlice; {_ESTIMATION}"),
    "multi_slice_outside": (8, "slots", "model", f"an offset out of it; {_ESTIMATION}"),
    "multi_slice_loop": (2, "slots", "model", f"8 B, or two of 16 bits; {_ESTIMATION}"),
    "multi_slice_bytes_loop": (3, "slots", "model", f"four of 8 bits, MultiSlice; {_ESTIMATION}"),
    "multi_update_entry": (33, "slots", "model", f"3 + 30, MultiUpdateAdd; {_ESTIMATION}"),
    "multi_update_each": (12, "slots", "model", f"an offset in range; {_ESTIMATION}"),
    "multi_update_outside": (5, "slots", "model", f"an offset out of it; {_ESTIMATION}"),
    "multi_update_loop": (3, "slots", "model", f"each other 4 B; {_ESTIMATION}"),
    "bytes_at_once": (4, "elements", "model", f"of 8 bits, DynamicSlice1D; {ESTIMATORS}"),
    "reduce_rows_entry": (17, "slots", "model", f"10 + 7, AllRegionsContinuous; {_REDUCTION}"),
    "reduce_rows_output": (12, "slots", "model", f"an output, AllRegionsContinuous; {_REDUCTION}"),
    "reduce_rows_odd": (2, "slots", "model", f"an odd length, AllRegionsContinuous; {_REDUCTION}"),
    "reduce_one_entry": (17, "slots", "model", f"3 + 6 + 5 + 3, SingleInput; {_REDUCTION}"),
    "reduce_one_not_float": (
        5,
        "slots",
        "model",
        f"to store other types, SingleInput; {_REDUCTION}",
    ),
    "reduce_columns_entry": (15, "slots", "model", f"2 + 2 + 6 + 5, StridedReduce; {_REDUCTION}"),
    "reduce_columns_outer": (3, "slots", "model", f"a column, StridedReduce; {_REDUCTION}"),
    "reduce_columns_inner": (3, "slots", "model", f"its loop, StridedReduce; {_REDUCTION}"),
    "reduce_columns_sum": (
        5,
        "slots",
        "model",
        f"3 + 2, end of a sum, StridedReduce; {_REDUCTION}",
    ),
    "reduce_columns_other": (4, "slots", "model", f"2 + 2, of others, StridedReduce; {_REDUCTION}"),
    "reduce_columns_half": (8, "slots", "model", f"1 + 7, of halves, StridedReduce; {_REDUCTION}"),
    "reduce_columns_widened": (
        7,
        "slots",
        "model",
        f"1 + 6, of a sum of halves stored as FLOAT, StridedReduce; {_REDUCTION}",
    ),
    "reduce_float_lanes": (4, "elements", "model", f"accumulators of FLOAT; {_REDUCTION}"),
    "extreme_entry": (
        13,
        "slots",
        "model",
        f"3 + 2 + 4 + 3 + 1, ReduceMaxClassGather; {_EXTREMES}",
    ),
    "extreme_row": (17, "slots", "model", f"3 + 1 + 3 + 6 + 4, the first of a row; {_EXTREMES}"),
    "extreme_element": (3, "slots", "model", f"each other element of a row; {_EXTREMES}"),
    "extreme_sparse_entry": (
        27,
        "slots",
        "model",
        f"5 + 2 + 3 + 3 + 1 + 3 + 6 + 4, MaxClassSparse; {_EXTREMES}",
    ),
    "cholesky_cube": (1, "cycles", "model", f"rows to the third, FLOAT; {_CHOLESKY}"),
    "cholesky_square": (102, "cycles", "model", f"rows to the second; {_CHOLESKY}"),
    "cholesky_row": (101, "cycles", "model", f"each row; {_CHOLESKY}"),
    "cholesky_entry": (102, "cycles", "model", f"besides; {_CHOLESKY}"),
    "solve_lower_square": (1.5, "cycles", "model", f"rows to the second, lower; {_SOLVE}"),
    "solve_lower_row": (180, "cycles", "model", f"each row, lower; {_SOLVE}"),
    "solve_lower_less": (126, "cycles", "model", f"taken off, lower; {_SOLVE}"),
    "solve_upper_square": (6.75, "cycles", "model", f"27 / 4, upper; {_SOLVE}"),
    "solve_upper_row": (163.5, "cycles", "model", f"327 / 2, upper; {_SOLVE}"),
    "solve_upper_entry": (54, "cycles", "model", f"besides, upper; {_SOLVE}"),
    "sparse_launch": (30, "cycles", "model", f"supervisorOverhead, {_SPARSE}"),
    "sparse_float_entry": (27, "slots", "model", f"FLOAT, {_SPARSE}"),
    "sparse_float_row": (12, "slots", "model", f"a row of FLOAT, {_SPARSE}"),
    "sparse_float_four": (12, "slots", "model", f"columns by four, {_SPARSE}"),
    "sparse_float_rest": (8, "slots", "model", f"two columns, or one, {_SPARSE}"),
    "sparse_float_end": (1, "slots", "model", f"end of a row, {_SPARSE}"),
    "sparse_float_rest_end": (3, "slots", "model", f"end of a rest, {_SPARSE}"),
    "sparse_float_four_each": (3, "slots", "model", f"4 FLOAT, {_SPARSE}"),
    "sparse_float_rest_each": (2, "slots", "model", f"2 FLOAT, or one, {_SPARSE}"),
    "sparse_half_entry": (30, "slots", "model", f"HALF, {_SPARSE}"),
    "sparse_half_row": (11, "slots", "model", f"a row of HALF, {_SPARSE}"),
    "sparse_half_eight": (16, "slots", "model", f"columns by eight, {_SPARSE}"),
    "sparse_half_four": (13, "slots", "model", f"four columns, {_SPARSE}"),
    "sparse_half_rest": (11, "slots", "model", f"up to three columns, {_SPARSE}"),
    "sparse_half_eight_each": (3, "slots", "model", f"8 HALF, {_SPARSE}"),
    "sparse_half_rest_each": (2, "slots", "model", f"4 HALF, or one, {_SPARSE}"),
    "sparse_dots_launch": (37, "cycles", "model", f"supervisorOverhead, {_DOTS}"),
    "sparse_dots_float_entry": (32, "slots", "model", f"26 + 6, FLOAT, {_DOTS}"),
    "sparse_dots_float_row": (7, "slots", "model", f"a row of FLOAT, {_DOTS}"),
    "sparse_dots_float_value": (9, "slots", "model", f"a value of FLOAT, {_DOTS}"),
    "sparse_dots_half_entry": (33, "slots", "model", f"26 + 7, HALF, {_DOTS}"),
    "sparse_dots_half_row": (6, "slots", "model", f"a row of HALF, {_DOTS}"),
    "sparse_dots_half_value": (11, "slots", "model", f"a value of HALF, {_DOTS}"),
    "sparse_dots_half_two": (3, "slots", "model", f"two HALF left over, {_DOTS}"),
    "sparse_dots_half_one": (4, "slots", "model", f"a HALF left over, {_DOTS}"),
    "sparse_dots_loop": (1, "slots", "model", f"a vector, or a FLOAT left over, {_DOTS}"),
    "reduce_half_lanes": (8, "elements", "model", f"accumulators of HALF; {_REDUCTION}"),
}
"""Constants of complete vertices; facts of every machine, by name."""


# -- inner loops of elementwise vertices -----------------------------------------------------------
#     add  FLOAT  1/v+    each vector of 64 bits: 1 slot, besides loads, stores and the loop
#     abs  INT    2/1+    each element: 2 slots, besides the same
#     divide FLOAT 10/2   each 2 elements: 10 slots
#
# Source: PopLibs, tables of `lib/popops/popopsCycleEstimators.hpp` where nothing else is said.

LOOPS = "poplibs, lib/popops/popopsCycleEstimators.hpp"


@frozen
class LibraryLoop:
    """The inner loop of an elementwise vertex.

    Attributes:
        slots: slots of one iteration.
        elements: elements of one iteration; 0 for a vector of 64 bits.
        is_whole: whether the slots include loads, stores and the loop itself.
        source: the table that contains it.
    """

    slots: int
    elements: int
    is_whole: bool
    source: str

    def __str__(self) -> str:
        of = amount(self.elements, "element") if self.elements else "vector"
        more = "" if self.is_whole else " and more"
        return f"{self.slots} slots/{of}{more} (model: {self.source})"


Loops = Mapping[tuple[str, str], LibraryLoop]
"""Loops by operation and element type."""


_HEADS = {
    "UINT": "UNSIGNED_INT",
    "LONG": "LONGLONG",
    "ULONG": "UNSIGNED_LONGLONG",
    "USHORT": "UNSIGNED_SHORT",
}
"""Element types that are abbreviated at the top of tables."""


def _table(source: str, text: str) -> Loops:
    """Read a table: element types at the top, operations at the left, a dot for no entry."""
    named = f"{source}; {LOOPS}" if source.endswith("PerfInfo") else source
    (_, *heads), *rows = (line.split() for line in text.strip().splitlines())
    types = [_HEADS.get(head, head) for head in heads]
    return MappingProxyType(
        {
            (row[0], element): _loop(named, cell)
            for row in rows
            for element, cell in zip(types, row[1:], strict=True)
            if cell != "."
        }
    )


def _loop(source: str, cell: str) -> LibraryLoop:
    slots, elements = cell.rstrip("+").split("/")
    width = 0 if elements == "v" else int(elements)
    return LibraryLoop(int(slots), width, not cell.endswith("+"), source)


UNARY = _table(
    "unaryOpPerfInfo",
    """
    operation      FLOAT    HALF    INT     UINT  LONG   ULONG  SHORT  USHORT  BOOL
    abs            1/1+     1/1+    2/1+    .     10/1+  .      .      .       .
    asin           102/1+   102/1+  .       .     .      .      .      .       .
    bit_not        .        .       1/v+    1/v+  3/v+   3/v+   2/4    2/4     .
    cbrt           27/v+    17/v+   .       .     .      .      .      .       .
    ceil           2/v+     2/v+    .       .     .      .      .      .       .
    cos            2300/1+  25/1    .       .     .      .      .      .       .
    erf            41/1     13/1    .       .     .      .      .      .       .
    exp            6/2      4/4     .       .     .      .      .      .       .
    exp2           6/2      4/4     .       .     .      .      .      .       .
    expm1          4/1+     5/v+    .       .     .      .      .      .       .
    floor          2/v+     2/v+    .       .     .      .      .      .       .
    gelu_erf       22/1     16/1    .       .     .      .      .      .       .
    inverse        6/2      15/4    .       .     .      .      .      .       .
    is_finite      5/v+     5/v+    .       .     .      .      .      .       .
    is_inf         3/v+     5/v+    .       .     .      .      .      .       .
    is_nan         3/v+     3/v+    .       .     .      .      .      .       .
    leading_zeros  .        .       1/1+    1/1+  .      .      .      .       .
    log            12/2     4/4     .       .     .      .      .      .       .
    log1p          18/v+    18/v+   .       .     .      .      .      .       .
    nearby_int     2/v+     2/v+    .       .     .      .      .      .       .
    negate         2/2      2/4     2/1+    .     5/1+   .      .      .       .
    not            .        .       .       .     .      .      .      .       17/1+
    popcount       .        .       1/1+    1/1+  .      .      .      .       .
    relu           3/2      3/4     .       .     .      .      .      .       .
    round          2/v+     2/v+    .       .     .      .      .      .       .
    rsqrt          8/2      19/4    .       .     .      .      .      .       .
    sigmoid        12/2     6/4     .       .     .      .      .      .       .
    sign           5/v+     5/v+    5/1+    .     .      .      .      .       .
    sin            2300/1+  25/1    .       .     .      .      .      .       .
    sqrt           10/2     23/4    110/1+  .     .      .      .      .       .
    square         2/2      2/4     1/v+    1/v+  .      .      .      .       .
    tan            5100/1   5700/1  .       .     .      .      .      .       .
    tanh           12/2     4/4     .       .     .      .      .      .       .
    trunc          3/2      11/4    .       .     .      .      .      .       .
""",
)
"""Loops of operations with one argument."""

UNARY_IN_PLACE = MappingProxyType(
    {
        **UNARY,
        **_table(
            "unaryOpInPlacePerfInfo",
            """
    operation  FLOAT  HALF   BOOL
    abs        1/v+   1/v+   .
    log        14/2   6/4    .
    log1p      .      17/v+  .
    negate     3/2    3/4    .
    not        .      .      17/v+
    relu       2/2    2/4    .
    sigmoid    10/2   4/4    .
    tanh       10/2   2/4    .
    trunc      4/2    .      .
""",
        ),
    }
)
"""Loops of operations that replace their one argument."""

NONLINEAR = _table(
    "getNonLinearityOpCycles; poplibs, lib/popnn/PerformanceEstimation.hpp",
    """
    operation  FLOAT  HALF
    gelu       10/2   5/4
    swish      11/2   5/4
""",
)
"""Loops of functions that popnn has, and popops does not."""

BINARY = _table(
    "binaryOpPerfInfo",
    """
    operation           FLOAT  HALF   INT    UINT   LONG   ULONG  SHORT  USHORT  BOOL
    add                 1/v+   1/v+   7/1    7/1    11/1   11/1   .      .       .
    and                 .      .      .      .      .      .      .      .       5/4
    atan2               272/2  578/4  .      .      .      .      .      .       .
    bit_and             .      .      7/1    7/1    9/1    9/1    3/4    3/4     .
    bit_or              .      .      7/1    7/1    9/1    9/1    3/4    3/4     .
    bit_xnor            .      .      7/1    7/1    9/1    9/1    6/2    6/2     .
    bit_xor             .      .      7/1    7/1    9/1    9/1    5/2    5/2     .
    divide              10/2   21/4   277/1  265/1  130/1  115/1  .      .       .
    equal               14/4   9/4    22/4   22/4   48/4   48/4   22/4   22/4    6/4
    greater             14/4   9/4    22/4   22/4   56/4   56/4   .      .       31/4
    greater_equal       14/4   9/4    26/4   26/4   62/4   62/4   .      .       28/4
    left_shift          .      .      7/1    7/1    18/1   18/1   .      .       .
    less                14/4   9/4    22/4   22/4   56/4   56/4   .      .       28/4
    less_equal          14/4   9/4    26/4   26/4   62/4   62/4   .      .       28/4
    maximum             3/2    4/4    7/1    8/1    15/1   13/1   .      .       .
    minimum             3/2    4/4    7/1    8/1    15/1   13/1   .      .       .
    multiply            1/v+   1/v+   7/1    7/1    30/1   30/1   .      .       .
    not_equal           20/4   11/4   22/4   22/4   48/4   48/4   22/4   22/4    5/4
    or                  .      .      .      .      .      .      .      .       5/4
    power               312/1  325/1  32/1   .      .      .      .      .       .
    remainder           133/2  300/4  292/1  282/1  166/1  149/1  .      .       .
    right_shift         .      .      7/1    7/1    6/1    6/1    .      .       .
    right_shift_signed  .      .      7/1    .      19/1   .      .      .       .
    subtract            1/v+   1/v+   7/1    7/1    11/1   11/1   .      .       .
""",
)
"""Loops of operations with two arguments."""

BINARY_IN_PLACE = MappingProxyType(
    {
        **BINARY,
        **_table(
            "binaryOpInPlacePerfInfo",
            """
    operation           FLOAT  INT   UINT   LONG   ULONG
    divide              .      .     264/1  .      113/1
    left_shift          .      .     .      16/1   16/1
    maximum             4/2    .     .      .      .
    minimum             4/2    .     .      .      .
    multiply            .      .     .      28/1   28/1
    power               .      34/1  .      .      .
    remainder           .      .     .      165/1  146/1
    right_shift_signed  .      .     .      17/1   .
""",
        ),
    }
)
"""Loops of operations that replace the first of their two arguments."""

BROADCAST = _table(
    "broadcastOpPerfInfo",
    """
    operation                FLOAT  HALF   INT    UINT   LONG   ULONG  SHORT  USHORT  BOOL
    add                      1/v+   1/v+   6/1    6/1    9/1    9/1    .      .       .
    and                      .      .      .      .      .      .      .      .       4/4
    atan2                    272/2  578/4  .      .      .      .      .      .       .
    bit_and                  .      .      6/1    6/1    7/1    7/1    2/4    2/4     .
    bit_or                   .      .      6/1    6/1    7/1    7/1    2/4    2/4     .
    bit_xnor                 .      .      6/1    6/1    7/1    7/1    4/2    4/2     .
    bit_xor                  .      .      6/1    6/1    7/1    7/1    4/2    4/2     .
    divide                   6/2    8/2    277/1  260/1  103/1  148/1  .      .       .
    equal                    12/4   8/4    16/4   16/4   32/4   32/4   16/4   16/4    14/4
    greater                  12/4   8/4    16/4   16/4   38/4   38/4   .      .       12/4
    greater_equal            12/4   8/4    20/4   20/4   50/4   50/4   .      .       12/4
    inv_std_dev_to_variance  11/2   10/2   .      .      .      .      .      .       .
    left_shift               .      .      6/1    6/1    16/1   16/1   .      .       .
    less                     12/4   8/4    16/4   16/4   38/4   38/4   .      .       16/4
    less_equal               12/4   8/4    20/4   20/4   50/4   50/4   .      .       16/4
    maximum                  3/2    3/4    6/1    7/1    14/1   11/1   .      .       .
    minimum                  3/2    3/4    6/1    8/1    14/1   13/1   .      .       .
    multiply                 1/v+   1/v+   6/1    6/1    26/1   26/1   .      .       .
    not_equal                18/4   10/4   16/4   16/4   32/4   32/4   16/4   16/4    4/4
    or                       .      .      .      .      .      .      .      .       4/4
    power                    312/1  325/1  23/1   .      .      .      .      .       .
    remainder                93/2   225/4  280/1  267/1  137/1  178/1  .      .       .
    right_shift              .      .      6/1    6/1    5/1    5/1    .      .       .
    right_shift_signed       .      .      6/1    .      17/1   .      .      .       .
    subtract                 1/v+   1/v+   6/1    6/1    9/1    9/1    .      .       .
    variance_to_inv_std_dev  12/2   24/4   .      .      .      .      .      .       .
""",
)
"""Loops of operations with a vector and one number."""

BROADCAST_IN_PLACE = MappingProxyType(
    {
        **BROADCAST,
        **_table(
            "broadcastOpInPlacePerfInfo",
            """
    operation                FLOAT  INT   LONG   ULONG  BOOL
    equal                    .      .     .      .      5/4
    inv_std_dev_to_variance  7/v+   .     .      .      .
    power                    .      25/1  .      .      .
    remainder                .      .     135/1  179/1  .
""",
        ),
    }
)
"""Loops of operations with one number that replace the vector."""

TERNARY = _table(
    f"selectCycles, clampCycles; {ESTIMATORS}",
    """
    operation  FLOAT  HALF  INT  UINT  BOOL
    clamp      2/2    2/4   7/1  .     .
    select     5/1    5/1   5/1  5/1   5/1
""",
)
"""Loops of operations with three arguments."""
