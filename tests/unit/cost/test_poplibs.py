"""The maker's estimates: worked numbers, the tables they come from, and the library's vertices."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import poplite as pl
from poplite.cost.model import vertex_costs
from poplite.cost.step_cost import tile_cycles
from poplite.graph.compute_sets.edge_table import edge_table
from poplite.machine.facts import FACTS, Evidence
from poplite.machine.library_cycles import (
    BINARY,
    BINARY_IN_PLACE,
    BROADCAST,
    BROADCAST_IN_PLACE,
    NONLINEAR,
    TERNARY,
    UNARY,
    UNARY_IN_PLACE,
    VERTICES,
    LibraryLoop,
)
from poplite.types import ELEMENT_TYPES
from poplite.vertices import Add, CountOn, estimators as poplibs
from poplite.vertices.estimators import (
    Element,
    binary as binary_slots,
    broadcast,
    cast,
    cholesky,
    dynamic_slice,
    fill,
    multi_slice,
    of_tile,
    scaled_add,
    share,
    triangular_solve,
    unary,
)
from poplite.vertices.reduce import (
    MaxColumns,
    MinRows,
    ProductColumns,
    SumColumns,
    SumColumnsOfTile,
    SumRows,
)
from poplite.vertices.slices import MultiSlice, MultiUpdateAdd

TARGET = pl.Target(tiles=2)
NAMED = {repr(element): element for element in ELEMENT_TYPES}


def test_every_number_has_a_source() -> None:
    names = re.findall(r"\n {4}(\w+)", "".join(VERTICES.values()))
    assert len(set(names)) == len(names) == 151
    for name in names:
        assert FACTS["gc200"][name].evidence in get_args(Evidence)
        assert "; poplibs, lib/pop" in FACTS["gc200"][name].source


@pytest.mark.parametrize(
    "loops",
    [
        UNARY,
        UNARY_IN_PLACE,
        BINARY,
        BINARY_IN_PLACE,
        BROADCAST,
        BROADCAST_IN_PLACE,
        NONLINEAR,
        TERNARY,
    ],
)
def test_tables_are_whole(loops: dict[tuple[str, str], LibraryLoop]) -> None:
    for (operation, element), loop in loops.items():
        assert element in NAMED, operation
        assert loop.slots > 0
        assert loop.elements in (0, 1, 2, 4)
        assert loop.elements or not loop.is_whole  # of a vector, more is always added
        assert "; poplibs, lib/pop" in loop.source
    assert {name for name, _ in UNARY} == {name for name, _ in UNARY_IN_PLACE}
    assert {name for name, _ in BINARY} == {name for name, _ in BINARY_IN_PLACE}
    assert set(BROADCAST) - set(BINARY) == {
        (name, element)
        for name in ("inv_std_dev_to_variance", "variance_to_inv_std_dev")
        for element in ("FLOAT", "HALF")
    }
    assert str(UNARY["abs", "INT"]).startswith("2 slots/1 element and more (model: unaryOp")
    assert str(BINARY["add", "HALF"]).startswith("1 slots/vector and more (model: binaryOp")


@pytest.mark.parametrize(
    ("found", "worked"),
    [
        # 768 vectors, 128 of each worker: 11 + 6 * (29 + 128 * 3).
        (of_tile(binary_slots("add", pl.FLOAT, share(1536, TARGET), TARGET), TARGET), 2_489),
        (binary_slots("add", pl.HALF, 9, TARGET), 26 + 3 * 3),
        (binary_slots("add", pl.INT, 9, TARGET), 26 + 9 * 7),
        (binary_slots("divide", pl.FLOAT, 9, TARGET), 29 + 5 * 10),
        (binary_slots("less", pl.FLOAT, 9, TARGET), 29 + 3 * 14),
        (binary_slots("or", pl.BOOL, 9, TARGET), 26 + 3 * 5),
        (binary_slots("multiply", pl.FLOAT, 9, TARGET, in_place=True), 58 + 5 * 3),
        (unary("sqrt", pl.FLOAT, 9, TARGET), 17 + 5 * 10),
        (unary("abs", pl.HALF, 9, TARGET), 17 + 9 * 5),
        (unary("abs", pl.HALF, 9, TARGET, in_place=True), 55 + 3 * 5),
        (unary("floor", pl.FLOAT, 9, TARGET), 17 + 5 * 6),
        (unary("exp", pl.HALF, 9, TARGET), 33 + 3 * 4),
        (unary("exp", pl.HALF, 9, TARGET, in_place=True), 55 + 3 * 4),
        (broadcast("add", pl.FLOAT, 9, TARGET), 20 + 5 * 2),
        (broadcast("maximum", pl.HALF, 9, TARGET), 20 + 3 * 3),
        (poplibs.reduce_one(pl.FLOAT, pl.FLOAT, 11, TARGET), 17 + 2 * 11 // 4 + 3),
        (poplibs.reduce_one(pl.HALF, pl.HALF, 11, TARGET), 17 + 2 * 11 // 8 + 3 + 5),
        (poplibs.reduce_rows(pl.HALF, 3, 9, TARGET), 10 + 3 * (9 // 4) + 2 + 12 * 3 + 7),
        (poplibs.reduce_rows(pl.INT, 3, 8, TARGET), 10 + 3 * 8 + 12 * 3 + 7),
        (fill(pl.HALF, 1, TARGET), 15),
        (fill(pl.HALF, 2, TARGET), 21),
        (fill(pl.HALF, 8, TARGET), 28),
        (fill(pl.FLOAT, 9, TARGET), 16 + 9 // 2 + 6 + 1 + 1),
        (cast(pl.FLOAT, pl.HALF, 41, TARGET), 12 + 6 * (18 + 19 + 1 * 2 + 1 + 2 + 1 + 2)),
        (cast(pl.INT, pl.FLOAT, 41, TARGET), 12 + 6 * (18 + 19 + 7 * 2)),
        # What PopLibs' simulator took for 16 x 16 was 192,633, six times as much and the rest.
        (cholesky(16, TARGET), 192_633 // 6 - 179),
        (triangular_solve(8, TARGET, lower=True), 96 + 1_440 - 126),
        (triangular_solve(8, TARGET, lower=False), 432 + 1_308 + 54),
        (scaled_add(pl.FLOAT, 25, TARGET), 11 + 21 + 12 + 13 + 6 + 6 * (15 + 9 + 2 + 1 + 8 + 1)),
        (scaled_add(pl.HALF, 2, TARGET), 11 + 21 + 12 + 13 + 6 + 6 * (15 + 2 + 1 + 12 + 1)),
        (scaled_add(pl.HALF, 0, TARGET, constant=True), 11 + 21 + 12 + 7 + 6 * 19),
        (dynamic_slice(pl.HALF, 60, 2, TARGET), 25 + 6 * (35 + 2 * (24 + 2 * 2))),
        (dynamic_slice(pl.LONGLONG, 60, 2, TARGET), 25 + 6 * (35 + 2 * (24 + 2 * 10))),
        (dynamic_slice(pl.BOOL, 60, 2, TARGET), 25 + 6 * (72 + 2 * (70 + 2 * 2))),
        (multi_slice(pl.HALF, 9, 4, 3, TARGET), 6 * (30 + 4 * (19 + 5 * 2) + 3 * 8)),
        (multi_slice(pl.CHAR, 9, 4, 0, TARGET), 6 * (30 + 4 * (19 + 3 * 3))),
    ],
)
def test_worked_numbers(found: int, worked: int) -> None:
    assert found == worked


@pytest.mark.parametrize(
    ("element", "result", "adds", "stride", "worked"),
    [
        (pl.FLOAT, pl.FLOAT, True, 8, 15 + 3 * (3 + 5 + 3 + 9)),
        (pl.FLOAT, pl.FLOAT, False, 8, 15 + 3 * (3 + 4 + 3 + 9)),
        (pl.HALF, pl.HALF, True, 8, 15 + 2 * (3 + 8 + 3 + 9)),
        (pl.HALF, pl.FLOAT, True, 8, 15 + 2 * (3 + 7 + 3 + 9)),
        (pl.HALF, pl.FLOAT, False, 8, 15 + 2 * (3 + 8 + 3 + 9)),
        (pl.FLOAT, pl.FLOAT, True, 7, 15 + 5 * (3 + 5 + 3 + 9)),  # rows are not aligned
        (pl.HALF, pl.HALF, True, 6, 15 + 3 * (3 + 8 + 3 + 9)),
    ],
)
def test_columns_of_ten_rows(
    element: Element, result: Element, adds: bool, stride: int, worked: int
) -> None:
    found = poplibs.reduce_columns(element, result, 5, 10, stride, TARGET, adds=adds)
    assert found == worked


def test_what_is_not_in_the_tables_is_refused() -> None:
    with pytest.raises(
        pl.ElementTypeError, match=r"there is no estimate for 'tanh' of INT  \(.*test_popl"
    ):
        unary("tanh", pl.INT, 3, TARGET)
    with pytest.raises(
        pl.ElementTypeError, match=r"'substract' of FLOAT \(did you mean 'subtract'"
    ):
        binary_slots("substract", pl.FLOAT, 3, TARGET)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cast(pl.HALF, pl.CHAR, 3, TARGET), "'cast' of CHAR"),
        (lambda: scaled_add(pl.INT, 3, TARGET), "'scaled_add' of INT"),
        (lambda: multi_slice(pl.LONGLONG, 3, 1, 0, TARGET), "'multi_slice' of LONGLONG"),
    ],
)
def test_other_types_are_refused(call: Callable[[], int], message: str) -> None:
    with pytest.raises(
        pl.ElementTypeError, match=f"there is no estimate for {message}  .*test_poplibs.py"
    ):
        call()


def test_costs_of_the_target_count() -> None:
    target = pl.Target(tiles=2, workers=4, costs={"supervisor_overhead": 20, "binary_entry": 30})
    assert of_tile(binary_slots("add", pl.HALF, share(64, target), target), target) == (
        20 + 4 * (30 + 4 * 3)
    )


@pytest.mark.parametrize("table", [UNARY, BINARY, BROADCAST])
def test_more_elements_take_no_less(table: dict[tuple[str, str], LibraryLoop]) -> None:
    call = {id(UNARY): unary, id(BINARY): binary_slots, id(BROADCAST): broadcast}[id(table)]
    for operation, element in table:
        slots = [call(operation, NAMED[element], n, TARGET) for n in range(20)]
        assert slots == sorted(slots)
        assert slots[0] < slots[-1]


@pytest.mark.parametrize("element", [pl.FLOAT, pl.HALF, pl.INT, pl.BOOL])
def test_longer_reductions_take_longer(element: Element) -> None:
    # Of whole vectors: what is left over costs PopLibs' more than a vector does.
    lengths = range(0, 80, 8)
    for slots in (
        [poplibs.reduce_one(element, element, n, TARGET) for n in lengths],
        [poplibs.reduce_rows(element, 3, n, TARGET) for n in lengths],
        [poplibs.reduce_rows(element, n, 16, TARGET) for n in lengths],
        [poplibs.reduce_columns(element, element, n, 5, 8, TARGET, adds=True) for n in lengths],
        [poplibs.reduce_columns(element, element, 5, n, 8, TARGET, adds=False) for n in lengths],
    ):
        assert slots == sorted(set(slots))


def priced(cls: type[pl.Vertex], **fields: pl.Tensor | int) -> pl.VertexPerfEstimate:
    graph = next(value.graph for value in fields.values() if isinstance(value, pl.Tensor))
    vertex = graph.add_vertex(graph.add_compute_set("work"), cls, tile=0, **fields)
    estimate = graph.perf_estimate(vertex)
    assert estimate is not None
    return estimate


def test_vertices_of_the_library_take_what_the_makers_do() -> None:
    graph = pl.Graph(TARGET)
    x, y = (graph.add_variable(pl.FLOAT, (n,), mapping=0) for n in (60, 6))
    h = graph.add_variable(pl.HALF, (60,), mapping=0)
    n = graph.add_variable(pl.INT, (60,), mapping=0)
    k, m = (graph.add_variable(pl.INT, (size,), mapping=0) for size in (60, 60))
    expect = pl.VertexPerfEstimate
    assert priced(Add, a=x[:6], b=x[6:12], out=y) == expect(29 + 3 * 3, 6)
    assert priced(Add, a=n, b=k, out=m) == expect(26 + 60 * 7)
    assert priced(SumRows[pl.FLOAT, pl.FLOAT], x=x, out=y[:1]) == expect(17 + 30, 59)
    assert priced(SumRows[pl.HALF, pl.FLOAT], x=h, out=y) == expect(17 + 6 * (12 + 2), 54)
    assert priced(MinRows[pl.FLOAT, pl.FLOAT], x=x, out=y) == expect(17 + 6 * (12 + 5), 54)
    columns: dict[str, pl.Tensor | int] = {"x": x, "out": y, "stride": 6}
    assert priced(SumColumns[pl.FLOAT, pl.FLOAT], **columns) == expect(15 + 3 * 20, 54)
    assert priced(ProductColumns[pl.FLOAT, pl.FLOAT], **columns) == expect(15 + 3 * 19, 54)
    of_tile = columns | {"first": 0, "share": 2}
    assert priced(SumColumnsOfTile[pl.FLOAT], **of_tile) == expect(6 * (15 + 20), 54)
    run = columns | {
        "x": x[:57],
        "first": 5,
        "share": 4,
    }  # columns 0 to 1, 2 to 4, 5: 9, 9, 10 rows
    assert priced(SumColumnsOfTile[pl.FLOAT], **run) == expect(6 * (15 + 20 + 15 + 19), 51)
    whole: dict[str, pl.Tensor | int] = {"x": n, "out": k[:6], "stride": 6}
    assert priced(MaxColumns[pl.INT, pl.INT], **whole) == expect(15 + 6 * 19)
    rows: dict[str, pl.Tensor | int] = {"first": 0, "width": 4}
    rows["index"] = graph.add_variable(pl.UNSIGNED_INT, (20,), mapping=0)
    s = graph.add_variable(pl.FLOAT, (80,), mapping=0)
    gathered = priced(MultiSlice[pl.FLOAT], x=x, out=s, **rows)
    assert gathered == expect(30 + 20 * (19 + 2 * 2))
    # 15 rows are indexed once, five indices are of other workers.
    added = priced(MultiUpdateAdd[pl.FLOAT], x=x, s=s, scale=y[0], **rows)
    assert added == expect(33 + 15 * (12 + 3 * 3) + 5 * 5)
    index, end, goes_on = (graph.add_variable(t, (), mapping=0) for t in ("u4", "u4", "?"))
    counted: dict[str, pl.Tensor | int] = {"step": 2, "end": end}
    counted |= {"index": index, "goes_on": goes_on}
    assert priced(CountOn, **counted) == expect(43)


def test_an_addition_of_1536_takes_the_tile_what_the_maker_says() -> None:
    graph = pl.Graph(TARGET)
    a, b, c = (graph.add_variable(pl.FLOAT, (6, 256), mapping=0) for _ in "abc")
    work = graph.add_compute_set("add")
    graph.add_vertices(work, Add, tile=0, a=a, b=b, out=c)
    (costs,) = vertex_costs(graph, edge_table(work))
    assert (costs.source, costs.tiles.count) == ("formula", 6)
    assert costs.slots is not None
    found = tile_cycles([costs], [costs.slots], TARGET).array()
    # Without the launch of a vertex for all workers, as these are six.
    assert np.array_equal(found, [2_489 - 11, 0])


# -- numbers in the code of the cost model ---------------------------------------------------------
# A number in a calculation or comparison is 0, 1, 2 or the name of a constant: of the machine,
# from `poplite.machine.facts`, where it has a source; or of the data's form, one of the module's
# own constants, with a docstring.  Powers of two may have any exponent.


ROOT = Path(__file__).resolve().parents[3]
FILES = sorted(
    path
    for folder in ("poplite/cost", "simulator/pricing")
    for path in (ROOT / folder).rglob("*.py")
) + [
    ROOT / "vertices/estimators.py",
    ROOT / "poplite/graph/compute_sets/perf_estimates.py",
    ROOT / "poplite/vertex/fields.py",
]
PLAIN = (0, 1, 2)


def numbers(source: str) -> list[tuple[int, float]]:
    """Return (line, number) of what a calculation takes that is no plain number."""
    found = []
    for node in ast.walk(ast.parse(source)):
        operands: list[ast.expr] = []
        match node:
            case ast.BinOp(left=left, op=ast.Pow() | ast.LShift() | ast.RShift()):
                operands = [left]
            case ast.BinOp(left=ast.List() | ast.Tuple()):
                pass  # so many of the same
            case ast.BinOp(left=left, right=right):
                operands = [left, right]
            case ast.AugAssign(value=value) | ast.UnaryOp(operand=value):
                operands = [value]
            case ast.Compare(left=left, comparators=others):
                operands = [left, *others]
        found += [
            (operand.lineno, operand.value)
            for operand in operands
            if isinstance(operand, ast.Constant)
            and isinstance(operand.value, int | float)
            and operand.value not in PLAIN
        ]
    return sorted(found)


def undocumented(source: str) -> list[str]:
    """Return constants of a module that are numbers and do not say what they are."""
    body = ast.parse(source).body
    documented = {
        line.lineno
        for line, text in zip(body, body[1:], strict=False)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
    }
    return [
        ast.unparse(node)
        for node in body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, int | float)
        and node.lineno not in documented
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_numbers_of_the_machine_are_facts(path: Path) -> None:
    source = path.read_text()
    assert numbers(source) == []
    assert undocumented(source) == []


def test_a_number_in_a_calculation_is_found() -> None:
    assert numbers("cycles = 90 + words\nif words > 4.5: words *= 8\n") == [
        (1, 90),
        (2, 4.5),
        (2, 8),
    ]
    assert numbers("x = -1 * row[5] + 2 * (n - 1)\ny = (3, f(7))\n") == []
    assert undocumented('A = 64\n"""What it is."""\nB = 64\n') == ["B = 64"]
    assert len(FILES) > 10
