"""The costs of PopLibs' vertices: the constants of their estimators.

All constants are from the estimators of PopLibs, Graphcore's library, which were validated against
a cycle-accurate simulator to within 10 %.  `poplite.vertices.estimators` contains the formulas.

    >>> print(BINARY["divide", "FLOAT"])
    10 slots/2 elements (model: binaryOpPerfInfo; poplibs, lib/popops/popopsCycleEstimators.hpp)
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

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

VERTICES: Mapping[str, str] = MappingProxyType(
    {
        f"; {ESTIMATORS}": """
    binary_float_entry            29 slots model: BinaryOp1D of FLOAT
    binary_entry                  26 slots model: BinaryOp1D of other types
    binary_in_place_entry         58 slots model: BinaryOp1DInPlace
    binary_loop                    5 slots model: binaryOpInnerLoopCycles, in C++
    binary_fast_loop               2 slots model: binaryOpInnerLoopCycles, add, subtract, multiply
    unary_entry                   17 slots model: UnaryOp1D
    unary_exp_entry               33 slots model: UnaryOp1D of exp
    unary_in_place_entry          55 slots model: UnaryOp1DInPlace
    unary_loop                     4 slots model: unaryOpInnerLoopCycles
    unary_rows_entry              20 slots model: UnaryOp2D, in place as well
    binary_rows_entry              5 slots model: BinaryOp2D
    binary_rows_in_place_entry    20 slots model: BinaryOp2DInPlace
    broadcast_entry               20 slots model: BroadcastScalar1D, and 2D
    broadcast_row                 28 slots model: each region, BroadcastScalar2D
    outer_entry                   15 slots model: BroadcastVectorOuterByRow1D
    outer_row                      7 slots model: a row of whole vectors,
        BroadcastVectorOuterByRow1D
    outer_row_apart               25 slots model: rows that are not aligned
    inner_add_entry               22 slots model: 3 + 15 + 1 + 3, VectorInner2D add
    inner_subtract_entry          23 slots model: 3 + 15 + 1 + 4, VectorInner2D subtract
    inner_multiply_entry          19 slots model: 3 + 13 + 1 + 2, VectorInner2D multiply
    inner_divide_entry            19 slots model: 6 + 9 + 1 + 3, VectorInner2D divide of FLOAT
    inner_divide_half_entry       25 slots model: 6 + 15 + 1 + 3, VectorInner2D divide of HALF
    inner_add_most              2048 elements model: from which halves go one by one, add
    inner_add_one                  9 slots model: 1 + 2 + 5 + 1, add one by one
    inner_one_entry                5 slots model: 2 + 3, each column, add one by one
    inner_one_loop                 9 slots model: each half, add one by one
    inner_add_eight               12 slots model: 1 + 2 + 2 + 2 + 4 + 1, add by eight
    inner_add_eight_entry         13 slots model: 8 + 7 - 2, eight columns
    inner_add_four                15 slots model: 1 + 2 + 2 + 2 + 2 + 5 + 1, add by four
    inner_add_four_entry          11 slots model: 7 - 2 + 1 + 5, four columns
    inner_multiply                13 slots model: 1 + 2 + 2 + 2 + 2 + 3 + 1, multiply
    inner_multiply_piped           9 slots model: 6 + 3, four columns
    inner_multiply_in_place        9 slots model: 1 + 2 + 2 + 3 + 1, multiply in place
    inner_multiply_long           11 slots model: 1 + 2 + 2 + 2 + 3 + 1, multiply long rows
    inner_multiply_apart           7 slots model: 4 + 3, four columns, load and store apart
    inner_multiply_most         2044 elements model: up to which load and store are one, multiply
    inner_divide                  10 slots model: 1 + 5 + 3 + 1, divide of FLOAT
    inner_divide_loop              6 slots model: two elements, divide of FLOAT
    inner_divide_half             14 slots model: 1 + 8 + 4 + 1, divide of HALF
    inner_divide_half_loop         8 slots model: two elements, divide of HALF
    inner_divide_odd               9 slots model: 1 + 5 + 2 + 1, divide of odd rows
    inner_divide_odd_loop          4 slots model: an element, divide of odd rows
    inner_divide_pair              5 slots model: two columns, or one of an odd row, divide
    choice_entry                   5 slots model: Select, Clamp
    choice_row                     6 slots model: each region, Select, Clamp
    broadcast_loop                 4 slots model: BroadcastScalar1D, in C++
    broadcast_fast_loop            1 slots model: BroadcastScalar1D, add, subtract, multiply
    iota_entry                    10 slots model: Iota
    iota_row                       4 slots model: each region, Iota
    iota_loop                      3 slots model: each vector of 64 bits, Iota
    loop_counter                  43 slots model: ForLoopCounter
    slice_launch                  14 cycles model: 1 + 6 + 1 + 6, DynamicSlice1D
    slice_entry                   35 slots model: DynamicSlice1D
    slice_each                    24 slots model: each slice, DynamicSlice1D
    slice_bytes_entry             72 slots model: 8-bit types, DynamicSlice1D
    slice_bytes_each              70 slots model: 8-bit types, DynamicSlice1D
    slice_loop                     2 slots model: 64 bits, or four of 8 bits
    bytes_at_once                  4 elements model: of 8 bits, DynamicSlice1D
""",
        f"; {_ESTIMATION}": """
    fill_entry               23 slots model: 16 + 6 + 1, other types than HALF
    fill_half_entry          26 slots model: three or more halves
    fill_half_one            15 slots model: one half
    fill_half_two            21 slots model: two halves
    fill_bytes_entry         28 slots model: 8-bit types, up to 63 elements
    fill_bytes_at_once        4 elements model: of 8-bit types, up to 63
    fill_many_bytes_entry    39 slots model: 8-bit types, 64 and more
    fill_many_bytes          64 elements model: from which 64 bits are stored
    fill_words_entry          5 slots model: 64-bit types, one a slot
    fill_rows_entry           6 slots model: Fill2d, 5 of HALF and 64 bits
    fill_row_less             3 slots model: Fill2d, 2 of HALF and 64 bits
    cast_launch              12 cycles model: Cast1D
    cast_entry               37 slots model: 18 + 19, Cast1D
    cast_rows_entry           5 slots model: Cast2D
    cast_row                 30 slots model: 11 + 19, each region, Cast2D
    cast_wide                 4 slots model: an element to 64 bits, castWorkerCycles
    cast_wide_signed          1 slots model: more, of a signed one, castWorkerCycles
    cast_rest                 1 slots model: looking for a rest, castWorkerCycles
    cast_rest_step            2 slots model: each part of a rest, castWorkerCycles
    scaled_add_launch        33 cycles model: 21 + 12, ScaledAdd
    scaled_add_variable       6 cycles model: a scale that is an input
    scaled_add_no_rest        7 cycles model: whole vectors only, ScaledAdd
    scaled_add_rest          13 cycles model: dividing a rest, ScaledAdd
    scaled_add_entry         19 slots model: 15 + 2 + 1 + 1, ScaledAdd
    scaled_add_first          6 slots model: the first vector, ScaledAdd
    scaled_add_loop           3 slots model: each other vector, ScaledAdd
    scaled_add_float          8 slots model: a float left over, ScaledAdd
    scaled_add_half           5 slots model: a half left over, ScaledAdd
    scaled_add_two_halves    12 slots model: 5 + 7, two left over
    scaled_add_three_halves  18 slots model: 5 + 7 + 6, three left
    multi_slice_entry        30 slots model: MultiSlice
    multi_slice_each         19 slots model: an offset in range, MultiSlice
    multi_slice_outside       8 slots model: an offset out of it
    multi_slice_loop          2 slots model: 8 B, or two of 16 bits
    multi_slice_bytes_loop    3 slots model: four of 8 bits, MultiSlice
    multi_update_entry       33 slots model: 3 + 30, MultiUpdateAdd
    multi_update_each        12 slots model: an offset in range
    multi_update_outside      5 slots model: an offset out of it
    multi_update_loop         3 slots model: each other 4 B
""",
        f"; {_REDUCTION}": """
    reduce_rows_entry       17 slots model: 10 + 7, AllRegionsContinuous
    reduce_rows_output      12 slots model: an output, AllRegionsContinuous
    reduce_rows_odd          2 slots model: an odd length, AllRegionsContinuous
    reduce_one_entry        17 slots model: 3 + 6 + 5 + 3, SingleInput
    reduce_one_not_float     5 slots model: to store other types, SingleInput
    reduce_columns_entry    15 slots model: 2 + 2 + 6 + 5, StridedReduce
    reduce_columns_outer     3 slots model: a column, StridedReduce
    reduce_columns_inner     3 slots model: its loop, StridedReduce
    reduce_columns_sum       5 slots model: 3 + 2, end of a sum, StridedReduce
    reduce_columns_other     4 slots model: 2 + 2, of others, StridedReduce
    reduce_columns_half      8 slots model: 1 + 7, of halves, StridedReduce
    reduce_columns_widened   7 slots model: 1 + 6, of a sum of halves stored as FLOAT, StridedReduce
    reduce_float_lanes       4 elements model: accumulators of FLOAT
    reduce_half_lanes        8 elements model: accumulators of HALF
""",
        f"; {_EXTREMES}": """
    extreme_entry         13 slots model: 3 + 2 + 4 + 3 + 1, ReduceMaxClassGather
    extreme_row           17 slots model: 3 + 1 + 3 + 6 + 4, the first of a row
    extreme_element        3 slots model: each other element of a row
    extreme_sparse_entry  27 slots model: 5 + 2 + 3 + 3 + 1 + 3 + 6 + 4, MaxClassSparse
""",
        f"; {_CHOLESKY}": """
    cholesky_cube      1 cycles model: rows to the third, FLOAT
    cholesky_square  102 cycles model: rows to the second
    cholesky_row     101 cycles model: each row
    cholesky_entry   102 cycles model: besides
""",
        f"; {_SOLVE}": """
    solve_lower_square    1.5 cycles model: rows to the second, lower
    solve_lower_row       180 cycles model: each row, lower
    solve_lower_less      126 cycles model: taken off, lower
    solve_upper_square   6.75 cycles model: 27 / 4, upper
    solve_upper_row     163.5 cycles model: 327 / 2, upper
    solve_upper_entry      54 cycles model: besides, upper
""",
        f", {_SPARSE}": """
    sparse_launch           30 cycles model: supervisorOverhead
    sparse_float_entry      27 slots model: FLOAT
    sparse_float_row        12 slots model: a row of FLOAT
    sparse_float_four       12 slots model: columns by four
    sparse_float_rest        8 slots model: two columns, or one
    sparse_float_end         1 slots model: end of a row
    sparse_float_rest_end    3 slots model: end of a rest
    sparse_float_four_each   3 slots model: 4 FLOAT
    sparse_float_rest_each   2 slots model: 2 FLOAT, or one
    sparse_half_entry       30 slots model: HALF
    sparse_half_row         11 slots model: a row of HALF
    sparse_half_eight       16 slots model: columns by eight
    sparse_half_four        13 slots model: four columns
    sparse_half_rest        11 slots model: up to three columns
    sparse_half_eight_each   3 slots model: 8 HALF
    sparse_half_rest_each    2 slots model: 4 HALF, or one
""",
        f", {_DOTS}": """
    sparse_dots_launch       37 cycles model: supervisorOverhead
    sparse_dots_float_entry  32 slots model: 26 + 6, FLOAT
    sparse_dots_float_row     7 slots model: a row of FLOAT
    sparse_dots_float_value   9 slots model: a value of FLOAT
    sparse_dots_half_entry   33 slots model: 26 + 7, HALF
    sparse_dots_half_row      6 slots model: a row of HALF
    sparse_dots_half_value   11 slots model: a value of HALF
    sparse_dots_half_two      3 slots model: two HALF left over
    sparse_dots_half_one      4 slots model: a HALF left over
    sparse_dots_loop          1 slots model: a vector, or a FLOAT left over
""",
    }
)
"""Constants of complete vertices, for `poplite.machine.facts`, by the common end of sources."""


# -- inner loops of elementwise vertices -----------------------------------------------------------
#     add  FLOAT  1/v+    1 slot per vector of 64 bits, plus loads, stores and the loop
#     abs  INT    2/1+    2 slots per element, plus the same
#     divide FLOAT 10/2   10 slots per 2 elements
#
# Source: PopLibs, tables of `lib/popops/popopsCycleEstimators.hpp` unless stated otherwise.

LOOPS = "poplibs, lib/popops/popopsCycleEstimators.hpp"


@frozen
class LibraryLoop:
    """The inner loop of an elementwise vertex.

    Attributes:
        slots: number of slots of one iteration.
        elements: number of elements of one iteration; 0 for a vector of 64 bits.
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


def _table(source: str, text: str, others: Loops | None = None) -> Loops:
    """Read a table: element types at the top, operations at the left, a dot for no entry.

    Missing entries are taken from `others`.
    """
    named = f"{source}; {LOOPS}" if source.endswith("PerfInfo") else source
    (_, *heads), *rows = (line.split() for line in text.strip().splitlines())
    types = [_HEADS.get(head, head) for head in heads]
    own = {
        (row[0], element): _loop(named, cell)
        for row in rows
        for element, cell in zip(types, row[1:], strict=True)
        if cell != "."
    }
    return MappingProxyType({**(others or {}), **own})


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

UNARY_IN_PLACE = _table(
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
    UNARY,
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
"""Loops of functions that only popnn has."""

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

BINARY_IN_PLACE = _table(
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
    BINARY,
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
"""Loops of operations with a vector and a scalar."""

BROADCAST_IN_PLACE = _table(
    "broadcastOpInPlacePerfInfo",
    """
    operation                FLOAT  INT   LONG   ULONG  BOOL
    equal                    .      .     .      .      5/4
    inv_std_dev_to_variance  7/v+   .     .      .      .
    power                    .      25/1  .      .      .
    remainder                .      .     135/1  179/1  .
""",
    BROADCAST,
)
"""Loops of operations with a vector and a scalar that replace the vector."""

TERNARY = _table(
    f"selectCycles, clampCycles; {ESTIMATORS}",
    """
    operation  FLOAT  HALF  INT  UINT  BOOL
    clamp      2/2    2/4   7/1  .     .
    select     5/1    5/1   5/1  5/1   5/1
""",
)
"""Loops of operations with three arguments."""
