"""The inner loops of PopLibs' elementwise vertices, by operation and element type.

    add  FLOAT  1/v+    each vector of 64 bits: 1 slot, besides loads, stores and the loop
    abs  INT    2/1+    each element: 2 slots, besides the same
    divide FLOAT 10/2   each 2 elements: 10 slots

    >>> print(BINARY["divide", "FLOAT"])
    10 slots/2 elements (model: binaryOpPerfInfo; poplibs, lib/popops/popopsCycleEstimators.hpp)

Source: PopLibs, tables of `lib/popops/popopsCycleEstimators.hpp` where nothing else is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from poplite.frozen import frozen
from poplite.machine.library_facts import ESTIMATORS
from poplite.text import amount

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
