"""Cycles of library calls in the report, compared with those of published sources.

    python benchmarks/fidelity_library.py [--only KEY] [--json FILE] [--markdown FILE]

    popsparse   products of a whole Bow, on hardware              here
    networks    layers, reductions, tables: Graphcore's model     fidelity_networks.py
    formulas    measured vertices, and formulas of PopLibs        here

Every row is the total cost of a call: compute, exchange, copies and sync, for a program that is
compiled and not run.  Paths of sources are in graphcore/poplibs unless another repository is named.
Rows whose source is the formula by which poplite prices the vertex are marked `formula`; rows from
a different algorithm or older code are marked `other`, with the reason.  The required accuracy
applies to rows without a mark: a median error of 10 %, and nine of ten within 25 %.  `--markdown`
writes the tables of docs/fidelity.md, which a test compares.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import poplite as pl
from fidelity_networks import FLOAT, GATED, HALF, NETWORKS, product_cycles
from fidelity_rows import LibraryRow, LibraryRows, Mark, cycles, run_library
from poplite import ops
from poplite.expr.operand import Operand

# -- formulas of PopLibs ---------------------------------------------------------------------------
# A formula is evaluated here independently, with the constants of its file, without poplite's
# estimators.  If poplite prices the vertex by the same formula, the row is marked.  Work of a call
# besides that vertex, such as copies, is included in poplite's number and not in the source's.


TILES, WORKERS = 1472, 6
Element = type[pl.ElementType[float]]


def row(
    kind: str,
    name: str,
    record: Callable[[pl.Graph, pl.Sequence], object],
    source: float,
    origin: str,
    mark: Mark = "",
    reason: str = "",
    *,
    target: pl.Target | None = None,
) -> LibraryRow:
    """Return the row of a call that a function records."""
    graph, program = pl.Graph(target or pl.Target()), pl.Sequence()
    record(graph, program)
    return LibraryRow(kind, name, cycles(graph, program), source, origin, mark, reason)


def amp() -> Iterator[LibraryRow]:
    """Products by the matrix unit of every tile, measured on a Bow."""
    for columns, measured in ((16, 402), (64, 584), (256, 1_352), (1024, 4_424), (2048, 8_525)):

        def record(graph: pl.Graph, program: pl.Sequence, columns: int = columns) -> None:
            plan = ops.plan_matmul(
                graph, m=16, k=16, n=columns, groups=TILES, type=pl.HALF, partials=pl.HALF
            )
            ops.map(ops.matmul(plan.create_left(), plan.create_right(), plan), program=program)

        yield row(
            "products",
            f"matmul, HALF, {TILES:,} of [16, 16] x [16, {columns}]",
            record,
            measured,
            "measured; tessellate-ipu, notebooks/IPU Peak Flops.ipynb",
            target=pl.Target(architecture="bow"),
        )


def copies() -> Iterator[LibraryRow]:
    """Copies on a tile, measured on a C600."""
    c600 = pl.Target(tiles=2, architecture="c600")
    origin = "measured; ipu-stack, cost.rs"
    for size, measured in ((8, 289), (8_192, 1_308)):

        def record(graph: pl.Graph, program: pl.Sequence, size: int = size) -> None:
            x = graph.add_variable(pl.INT, (size // 4,), "x", mapping=0)
            y = graph.add_variable(pl.INT, (size // 4,), "y", mapping=0)
            ops.copy(x, y, program=program)

        name = f"copy, {size:,} B on a tile"
        yield row("movement", name, record, measured, origin, target=c600)

    def turned(graph: pl.Graph, program: pl.Sequence) -> None:
        x = graph.add_variable(pl.HALF, (40, 16), "x", mapping=0)
        y = graph.add_variable(pl.HALF, (16, 40), "y", mapping=0)
        ops.copy(x.T, y, program=program)

    yield row("movement", "copy, HALF [40, 16].T on a tile", turned, 2_364, origin, target=c600)


def exchanges() -> Iterator[LibraryRow]:
    """Rows sent to other tiles: by PopLibs' formula 90 cycles of sync, 100, and one per 4 bytes."""
    origin = "lib/popnn/CTCLossPlan.cpp: syncCycles, fixedOverheadExchangeCycles, bytes / 4"
    for words in (100, 1_000, 4_000):

        def shifted(graph: pl.Graph, program: pl.Sequence, words: int = words) -> None:
            x = graph.add_variable(pl.FLOAT, (TILES, words), "x", mapping="linear")
            y = graph.add_variable(pl.FLOAT, (TILES, words), "y", mapping="linear")
            ops.assign(y, ops.roll(x, 1, 0), program=program)

        name = f"assign(roll), {words:,} FLOAT to the next tile"
        yield row("movement", name, shifted, 190 + words, origin)

        def to_all(graph: pl.Graph, program: pl.Sequence, words: int = words) -> None:
            x = graph.add_variable(pl.FLOAT, (words,), "x", mapping=0)
            y = graph.add_variable(pl.FLOAT, (TILES - 1, words), "y")
            for tile in range(1, TILES):
                graph.set_tile_mapping(y[tile - 1], tile)
            ops.assign(y, x, program=program)

        name = f"assign(broadcast), {words:,} FLOAT to all tiles"
        yield row("movement", name, to_all, 190 + words, origin)


def fills() -> Iterator[LibraryRow]:
    """1,000 elements per tile, shared by its workers: Fill and Iota, on one worker each."""
    own = -(-1_000 // WORKERS)
    slots = {
        pl.FLOAT: 24 + own // 2,
        pl.HALF: 26 + own // 4,
        pl.CHAR: 39 + own // 8,
    }
    for element, each in slots.items():

        def record(graph: pl.Graph, program: pl.Sequence, element: Element = element) -> None:
            x = graph.add_variable(element, (TILES, 1_000), "x", mapping="linear")
            ops.fill(x, 1, program=program)

        name = f"fill, {element.__name__}, 1,000 a tile"
        origin = "lib/popops/PerformanceEstimation.cpp: Fill"
        yield row("movement", name, record, WORKERS * each, origin, "formula")

    def counted(graph: pl.Graph, program: pl.Sequence) -> None:
        x = graph.add_variable(pl.INT, (TILES, 1_000), "x", mapping="linear")
        ops.assign(x, ops.iota((TILES, 1_000), pl.INT), program=program)

    slots_of_iota = 10 + 4 + 3 * -(-own // 2)
    origin = "lib/popops/popopsCycleEstimators.cpp: Iota"
    yield row(
        "movement", "iota, INT, 1,000 a tile", counted, WORKERS * slots_of_iota, origin, "formula"
    )


def transposes() -> Iterator[LibraryRow]:
    """12 matrices of [64, 64] on a tile, two per worker: Transpose2d."""
    rows = columns = 64
    each = {
        pl.FLOAT: 27 + 2 * (11 + rows // 2 * (6 + 3 * (columns // 2 - 1))),
        pl.HALF: 39 + 2 * (12 + rows // 4 * (15 + 4 * (columns // 4 - 2))),
    }
    for element, slots in each.items():

        def record(graph: pl.Graph, program: pl.Sequence, element: Element = element) -> None:
            x = graph.add_variable(element, (12, rows, columns), "x", mapping=0)
            ops.transpose(x, (0, 2, 1), program=program)

        yield row(
            "movement", f"transpose, {element.__name__}, 12 of [64, 64] on a tile", record,
            WORKERS * slots, "lib/popops/popopsCycleEstimators.cpp at 3a650a11: Transpose2d",
            reason="elements are copied one by one, two cycles each; PopLibs has a vertex that "
            "reads and writes 64 bits", target=pl.Target(tiles=1),
        )  # fmt: skip


def slices() -> Iterator[LibraryRow]:
    """4 of 100 rows of 600 FLOAT on each of 8 tiles, at an offset that the program computes."""
    region, taken, tiles = 600, 4, 8
    own = -(-region // WORKERS)
    source = 25 + 11 + WORKERS * (39 + taken * (24 + 2 * (own // 2)))
    origin = "lib/popops/PerformanceEstimation.cpp: getDynamicSlice1dEstimate"

    def read(graph: pl.Graph, program: pl.Sequence) -> None:
        table = ops.create_sliceable(graph, pl.FLOAT, (100, tiles * region), [0], [taken])
        offset = graph.add_variable(pl.UNSIGNED_INT, (1,), "offset", mapping=0)
        ops.dynamic_slice(table, offset, [0], [taken], program=program)

    target = pl.Target(tiles=tiles)
    name = "dynamic_slice, 4 rows of 600 FLOAT a tile"
    reason = (
        "the place becomes numbers of rows for 984 cycles, and MultiSlice takes these rows, each "
        "worker one"
    )
    yield row("movement", name, read, source, origin, reason=reason, target=target)


def solvers() -> Iterator[LibraryRow]:
    """Blocks on one worker, whose formula PopLibs fitted to the measured time of their step."""
    origin = "lib/poplin/poplinCycleEstimators.cpp: "
    one = pl.Target(tiles=1)
    for n in (16, 32):
        of_float: float = n**3 + 102 * n**2 + 101 * n + 102
        of_half = n**3 / 2 + 795 * n**2 / 4 + 191 * n / 2 + 426
        for element, source in ((pl.FLOAT, of_float), (pl.HALF, of_half)):

            def factored(
                graph: pl.Graph, program: pl.Sequence, element: Element = element, n: int = n
            ) -> None:
                a = graph.add_variable(element, (n, n), "a", mapping=0)
                ops.linalg.cholesky(a, block=n, program=program)

            is_float = element is pl.FLOAT
            yield row(
                "linear algebra", f"linalg.cholesky, {element.__name__} [{n}, {n}] on a tile",
                factored, source, f"{origin}Cholesky", "formula" if is_float else "",
                "" if is_float else "HALF is factored in FLOAT, whose vertex PopLibs found faster",
                target=one,
            )  # fmt: skip
    for n in (16, 32):
        of_float = 3 * n**2 / 2 + 180 * n - 126
        of_half = 3 * n**2 / 4 + 318 * n - 150
        for element, source in ((pl.FLOAT, of_float), (pl.HALF, of_half)):

            def solved(
                graph: pl.Graph, program: pl.Sequence, element: Element = element, n: int = n
            ) -> None:
                a = graph.add_variable(element, (n, n), "a", mapping=0)
                b = graph.add_variable(element, (n, 1), "b", mapping=0)
                ops.linalg.triangular_solve(a, b, unit_diagonal=True, block=n, program=program)

            is_float = element is pl.FLOAT
            yield row(
                "linear algebra",
                f"linalg.triangular_solve, {element.__name__} [{n}, {n}] on a tile",
                solved, source, f"{origin}TriangularSolve", "formula" if is_float else "",
                "the call copies both operands and the result" if n == 16 and is_float else "",
                target=one,
            )  # fmt: skip


MAPS: dict[str, tuple[tuple[int, int], tuple[int, int], Callable[..., Operand]]] = {
    "add": ((1 + 2, 2), (1 + 2, 4), lambda a, b: a + b),
    "multiply": ((1 + 2, 2), (1 + 2, 4), lambda a, b: a * b),
    "maximum": ((3, 2), (4, 4), ops.maximum),
    "divide": ((10, 2), (21, 4), lambda a, b: a / b),
    "negative": ((2, 2), (2, 4), lambda a: -a),
    "relu": ((3, 2), (3, 4), ops.relu),
    "exp": ((6, 2), (4, 4), ops.exp),
    "log": ((12, 2), (4, 4), ops.log),
    "tanh": ((12, 2), (4, 4), ops.tanh),
    "sigmoid": ((12, 2), (6, 4), ops.sigmoid),
    "sqrt": ((10, 2), (23, 4), ops.sqrt),
    "rsqrt": ((8, 2), (19, 4), ops.rsqrt),
}
"""Slots for FLOAT and for HALF, each with the number of elements that they cover; the operation."""

BINARY = ("add", "multiply", "maximum", "divide")


def maps() -> Iterator[LibraryRow]:
    """1,536 elements on a tile: BinaryOp1D and UnaryOp1D, on all workers."""
    elements = 1_536
    own = -(-elements // WORKERS)
    for name, (of_float, of_half, operation) in MAPS.items():
        for element, (slots, width) in ((pl.FLOAT, of_float), (pl.HALF, of_half)):
            loops = -(-own // width)
            if name in BINARY:
                entry = 29 if element is pl.FLOAT else 26
                source, vertex = 11 + WORKERS * (entry + loops * slots), "BinaryOp1D"
            else:
                entry = 33 if name == "exp" else 17
                source, vertex = 11 + 9 + WORKERS * (entry + loops * slots), "UnaryOp1D"

            def record(
                graph: pl.Graph,
                program: pl.Sequence,
                name: str = name,
                element: Element = element,
                operation: Callable[..., Operand] = operation,
            ) -> None:
                names = "ab" if name in BINARY else "a"
                given = [graph.add_variable(element, (elements,), n, mapping=0) for n in names]
                ops.map(operation(*given), program=program)

            yield row(
                "elementwise",
                f"map({name}), {element.__name__}, {elements:,} on a tile",
                record,
                source,
                f"lib/popops/popopsCycleEstimators.cpp: {vertex}",
                "formula",
                target=pl.Target(tiles=1),
            )


FORMULAS: LibraryRows = {
    "maps": maps,
    "amp": amp,
    "copies": copies,
    "exchanges": exchanges,
    "fills": fills,
    "transposes": transposes,
    "slices": slices,
    "blocks": solvers,
}


# -- all -------------------------------------------------------------------------------------------


def popsparse() -> Iterator[LibraryRow]:
    """Products whose rates were read off a figure, as cycles at the clock of a Bow.

    Syncs are not included in the measurement, nor in poplite's number.
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
    **NETWORKS,
    **FORMULAS,
}


if __name__ == "__main__":
    sys.exit(run_library(__doc__.splitlines()[0], ROWS))
