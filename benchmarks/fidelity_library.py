"""What calls of the library take by the report, and what sources say of them.

    python benchmarks/fidelity_library.py [--only KEY] [--json FILE] [--markdown FILE]

    popsparse   products of a whole Bow, on hardware              here
    networks    layers, reductions, tables: Graphcore's model     fidelity_library_networks.py
    formulas    measured vertices, and formulas of PopLibs        fidelity_library_formulas.py

Every row has all that a call takes: compute, exchange, copies and sync, of a program that is
compiled and not run.  Paths of sources are those of graphcore/poplibs where no other is named.
Rows of a formula by which poplite prices the vertex are marked `formula`; rows of another algorithm
or of older code `other`, with the reason.  What must be reached is that of rows without a mark:
a median error of 10 %, and nine of ten within 25 %.  `--markdown` writes the tables of
docs/fidelity.md, which a test compares.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import fidelity_library_formulas
import fidelity_library_networks
import poplite as pl
from fidelity_library_rows import LibraryRow, LibraryRows, run
from fidelity_matmul import FLOAT, GATED, HALF, cycles as product_cycles


def popsparse() -> Iterator[LibraryRow]:
    """Products whose rates were read off a figure, as cycles at the clock of a Bow.

    Syncs were not in what was measured, and are not in poplite's number.
    """
    clock = pl.Target(architecture="bow").clock_hz
    for element, rates in ((pl.HALF, HALF), (pl.FLOAT, FLOAT)):
        for m, by_columns in rates.items():
            for n, rate in by_columns.items():
                if n in GATED:
                    yield LibraryRow(
                        "products",
                        f"matmul, {element.__name__} [{m}, {m}] x [{m}, {n}]",
                        product_cycles(element, m, n),
                        2 * m * m * n * clock / (rate * 1e12),
                        "measured; sparsity-benchmarks, analysis/Analysis.ipynb",
                        reason=REASONS.get((element, m, n), ""),
                    )


REASONS: dict[tuple[object, int, int], str] = {
    (pl.HALF, 1024, 64): "PopLibs' plan for that size, which nobody published: with 256 columns "
    "both agree"
}

ROWS: LibraryRows = {
    "popsparse": popsparse,
    **fidelity_library_networks.ROWS,
    **fidelity_library_formulas.ROWS,
}

if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], ROWS))
