"""What `ops.map`, `assign` and `lower` make: vertices, memory, places; and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import deep, interpreted, thinned, values_only
from helpers.running import both_forms
from poplite import ops, vertices as vertices_lib
from poplite.ops.fuse.storing import MOST_FIELDS


def untyped(value: object) -> Any:
    """Hide a type that is refused from type checkers."""
    return value


@pytest.fixture
def graph() -> pl.Graph:
    return pl.Graph(pl.Target(tiles=4))


def variable(graph: pl.Graph, name: str, shape: tuple[int, ...] = (24,), **more: Any) -> pl.Tensor:
    options: dict[str, Any] = {"mapping": "linear", "initial_value": 1.0, **more}
    return graph.add_variable(pl.FLOAT, shape, name, **options)


def vertices(program: pl.Program) -> list[type[pl.Vertex]]:
    """Return the classes of all vertices of a program, one for each compute set."""
    found = []
    waiting = [program]
    while waiting:
        each = waiting.pop(0)
        waiting += each.children
        if isinstance(each, pl.Execute):
            (cls,) = {vertex.vertex_class for vertex in each.compute_set.vertices}
            found.append(cls)
    return found


def test_one_class_for_a_structure(graph: pl.Graph) -> None:
    x, y, z = (
        variable(graph, "x"),
        variable(graph, "y", (7,), mapping=2),
        variable(graph, "z", (3, 8)),
    )
    with graph.steps() as step:
        ops.map(x * 2 + 1)
        ops.map(y * 0.5 + 7)
        ops.map(z.flatten() * -1 + 0)
        ops.map(z * 2 - 1)
    first, second, third, other = vertices(step)
    assert first is second is third
    assert other is not first


def test_a_tile_has_one_vertex_for_each_worker(graph: pl.Graph) -> None:
    x = variable(graph, "x", (96,), mapping=None)
    for k in range(24):  # every fourth element pair
        graph.set_tile_mapping(x[4 * k : 4 * k + 4], k % 4)
    with graph.steps() as step:
        y = ops.map(x + 1)
    (execute,) = step.programs
    assert isinstance(execute, pl.Execute)
    assert len(execute.compute_set.vertices) <= 4 * graph.target.workers
    assert graph.tile_mapping(y) == graph.tile_mapping(x)
    engine = pl.Engine(graph, step, **interpreted())
    engine.run()
    assert engine.read(y).tolist() == [2] * 96


def test_results_lie_as_the_operand_that_is_spread_best(graph: pl.Graph) -> None:
    here = variable(graph, "here", (400,), mapping=0)
    spread = variable(graph, "spread", (400,))
    row = variable(graph, "row", (400,), mapping=3)
    with graph.steps() as step:
        ops.map(here + spread, name="a")
        ops.map(here + 1, name="b")
        ops.map(row.reshape((20, 20))[0] + here.reshape((20, 20)), name="c", mapping=2)
    names = [each.compute_set.name for each in step.programs if isinstance(each, pl.Execute)]
    assert names == ["a[like spread]", "b[linear]", "c[mapping=]"]


def test_an_out_in_another_place_is_refused_with_both_views(graph: pl.Graph) -> None:
    x = variable(graph, "x", (6, 6))
    with graph.steps() as step:
        with pytest.raises(pl.TensorCreationError) as refused:
            ops.assign(x[1:], x[:-1] + 1)
        tiles = "on 4 tiles (0-3), 120 B>"
        found = f"out is <Tensor 'x'[1:] float32[5, 6] {tiles}; "
        found += (
            f"the expression reads <Tensor 'x'[:5] float32[5, 6] {tiles}; both hold 'x'[1:5, 0:6]"
        )
        assert refused.value.found == found
        ops.copy(ops.map(x[:-1] + 1), x[1:])
    engine = pl.Engine(graph, step, **interpreted())
    engine.run()
    assert engine.read(x)[:, 0].tolist() == [1, 2, 2, 2, 2, 2]


def test_elements_of_out_without_a_tile_get_one(graph: pl.Graph) -> None:
    x = variable(graph, "x", (8, 8))
    outs = [graph.add_variable(pl.FLOAT, (8,), f"out{n}") for n in range(4)]
    for out in outs:
        graph.set_tile_mapping(out[3:5], 3)
    with graph.steps() as step:
        ops.assign(outs[0], x[0] + 1)
        ops.assign(outs[1], ops.sum(x, 0))
        ops.copy(x[0], outs[2])
        ops.fill(outs[3], 7)
    engine = pl.Engine(graph, step, **interpreted())
    engine.run()
    assert [engine.read(out).tolist() for out in outs] == [[n] * 8 for n in (2, 8, 1, 7)]
    assert all(graph.tile_mapping(out[3:5]).tiles.tolist() == [3] for out in outs)


def test_in_place_makes_no_variable(graph: pl.Graph) -> None:
    w, g = variable(graph, "w"), variable(graph, "g")
    with graph.steps() as step:
        assert ops.assign(w, w - 0.5 * g) is w
    assert [each.name for each in graph.space.variables] == ["w", "g"]
    (cls,) = vertices(step)
    assert [field.role for field in cls.fields.values()] == ["inout", "input", "state"]


def test_what_is_reduced_is_not_stored(graph: pl.Graph) -> None:
    x, y = variable(graph, "x", (4000,)), variable(graph, "y", (4000,))
    with graph.steps():
        loss = ops.map(ops.sum((x - y) ** 2))
    made = graph.space.variables[2:]
    assert sum(each.num_elements for each in made) <= 4 * graph.target.workers + 8
    assert "which is not stored" in ops.explain(loss)


def test_what_is_read_twice_is_stored_where_that_is_quicker(graph: pl.Graph) -> None:
    x = variable(graph, "x", (40, 8))
    with graph.steps():
        dear = ops.map(ops.exp(x) / ops.sum(ops.exp(x), 1, keepdims=True))
        cheap = ops.map((x - 1) * ops.sum(x - 1, 1, keepdims=True))
    assert "stored: exp(x) (2 * 1 * 6 = 12 > 6 + 2 + 2 = 10 slots)" in ops.explain(dear)
    assert "computed again: x - 1.0 (2 * 1 * 2 = 4 <= 2 + 2 + 2 = 6 slots)" in ops.explain(cheap)


def test_roots_see_what_roots_before_them_stored(graph: pl.Graph) -> None:
    x, y = variable(graph, "x"), variable(graph, "y")
    with graph.steps() as step:
        ops.lower(graph, [ops.Root(x + 1, out=x), ops.Root(x * 10, out=y)])
        shifted = ops.lower(graph, [ops.Root(x[:-1] + 1, out=x[1:])])
    engine = pl.Engine(graph, step, **interpreted())
    engine.run()
    assert engine.read(y).tolist() == [20] * 24
    assert engine.read(shifted[0]).tolist() == [3] * 23
    assert "/temporary, 92 B (out shares elements with an operand)" in ops.explain(shifted[0])


def test_numbers_and_tensors_are_roots(graph: pl.Graph) -> None:
    x, y, z = (variable(graph, name, (4,)) for name in "xyz")
    with graph.steps() as step:
        ops.map(3.0, out=x)
        roots: Any = [ops.Root(untyped(5), out=y), ops.Root(untyped(y), out=z), y]
        made = ops.lower(graph, roots)
    assert made[0] is y
    engine = pl.Engine(graph, step, **interpreted())
    engine.run()
    assert [engine.read(each)[0] for each in (x, y, z, made[2])] == [3, 5, 5, 5]


def test_numbers_of_numpy_are_operands_and_its_functions_are_refused(graph: pl.Graph) -> None:
    x: Any = variable(graph, "x")
    assert repr(np.float32(2) - x) == "<Expr 2.0 - x float32[24]>"
    assert repr(np.int64(2) < x + 1) == "<Expr 2.0 < x + 1.0 bool[24]>"
    uses: list[Any] = [
        (lambda: np.exp(x), "ops.exp"),
        (lambda: np.arctan2(x, x + 1), "ops.atan2"),
        (lambda: np.add(x, x), "ops.add"),
        (lambda: np.sum(x + 1), "ops.sum"),
        (lambda: np.isnan(x), "ops.is_nan"),
        (lambda: np.nextafter(x, x), "engine.read"),
        (lambda: np.float32(2) == x + 1, "ops.equal"),
        (lambda: np.ones(24) * x, "graph.add_constant"),
    ]
    for use, name in uses:
        with pytest.raises(pl.ElementTypeError, match=name):
            use()


def test_a_formula_means_what_it_shows(graph: pl.Graph) -> None:
    i = graph.add_variable(pl.INT, (4,), "i")
    assert repr((-2) ** i) == "<Expr (-2) ** i int32[4]>"
    assert repr(-(2**i)) == "<Expr -2 ** i int32[4]>"
    assert repr(i - -2) == "<Expr i - -2 int32[4]>"


def test_arguments_are_places_for_tensors(graph: pl.Graph) -> None:
    blend = 0.75 * ops.arg(0) + ops.exp(ops.arg(1)) * 0
    x, y = variable(graph, "x"), variable(graph, "y", (1,))
    with graph.steps() as step:
        z = ops.map(blend, [x, y])
        with pytest.raises(
            pl.TensorIndexError, match=r"ops.arg\(1\) needs at least 2 tensors; found 1"
        ):
            ops.map(blend, [x])
    engine = pl.Engine(graph, step, **interpreted())
    engine.run()
    assert engine.read(z).tolist() == [0.75] * 24


def refusals(graph: pl.Graph) -> list[tuple[Any, type[pl.PopliteError], str]]:
    x, b = variable(graph, "x", (4, 6)), variable(graph, "b", (6,))
    i = graph.add_variable(pl.INT, (4, 6), "i", mapping="linear", initial_value=0)
    bare = graph.add_variable(pl.FLOAT, (4, 6), "bare")
    loose: Any = ops
    foreign = pl.Graph().add_variable(pl.FLOAT, (4, 6), "foreign", mapping=0)
    return [
        (lambda: ops.map(x + 1, out=x.reshape((6, 4)).T.reshape((4, 6))), pl.TensorCreationError,
         "'x' shares elements with 'x'(.|\n)*in another order or position"),
        (lambda: ops.assign(b, x + 1), pl.TensorCreationError, r"shape \(6,\)(.|\n)*\(4, 6\)"),
        (lambda: ops.assign(i, x + 1), pl.ElementTypeError, "but the expression is FLOAT"),
        (lambda: ops.assign(i, 0.5), pl.ElementTypeError, "0.5 cannot be combined with INT"),
        (lambda: ops.assign(x, x + i), pl.ElementTypeError, r"'x' is FLOAT, 'i' is INT"),
        (lambda: ops.map(x + bare), pl.InvalidTileMapping, "'bare'"),
        (lambda: ops.map(x + foreign), pl.GraphConnectionError, "'foreign' belongs to another"),
        (lambda: ops.assign(b.reshape((1, 6)).broadcast(4, 0), x), pl.GraphConnectionError, "'b'"),
        (lambda: ops.map(ops.arg(0) + 1), pl.TensorIndexError, r"ops.arg\(0\) needs at least 1"),
        (lambda: ops.map(3.0), pl.ElementTypeError, "the operands contain no tensor"),
        (lambda: ops.map(untyped("x")), pl.ElementTypeError, "'x' is not a valid operand"),
        (lambda: x + 1e39, pl.SizeOverflowError, r"1e\+39 does not fit FLOAT"),
        (lambda: i + 2**31, pl.SizeOverflowError, "2147483648 does not fit INT"),
        (lambda: i / 2, pl.ElementTypeError, "'/': 'i' is INT"),
        (lambda: ops.where(x, x, 0), pl.ElementTypeError, "predicate 'x' is FLOAT, not BOOL"),
        (lambda: ops.where(untyped(True), x, 0), pl.ElementTypeError, "True is a Python bool"),
        (lambda: ops.sum(x, 2), pl.TensorIndexError, "dimension 2 of 'x', which has 2"),
        (lambda: ops.sum(x, [0, -2]), pl.TensorIndexError, "listed twice"),
        (lambda: ops.all(x), pl.ElementTypeError, "'x' is FLOAT"),
        (lambda: x + b.reshape((6, 1)), pl.TensorCreationError, "size 4 in dimension 0"),
        (lambda: x << 1, pl.ElementTypeError, r"'<<': 'x' is FLOAT(.|\n)*ops.cast\(x, INT\) first"),
        (lambda: ops.all(x > 0, 2), pl.TensorIndexError, "ops.all: dimension 2 of x > 0.0"),
        (lambda: loose.sum(x, 0.5), pl.TensorIndexError, "ops.sum: 0.5 are not valid dimensions"),
        (lambda: loose.map(ops.arg(0) + 1, x), pl.ElementTypeError, "'x', a tensor, not"),
        (lambda: loose.lower(graph, [3]), pl.ElementTypeError, "3 alone has no element type"),
        (lambda: loose.zero(3), pl.ElementTypeError, "ops.zero: 3 is not a tensor"),
        (lambda: ops.fill(x, True), pl.ElementTypeError, "ops.fill: True cannot be combined with"),
        (lambda: loose.explain(3), pl.ElementTypeError, "ops.explain: int"),
        (lambda: ops.cast(x, pl.QUARTER), pl.ElementTypeError, "QUARTER needs metadata"),
    ]  # fmt: skip


@pytest.mark.parametrize("number", range(29))
def test_what_is_refused(graph: pl.Graph, number: int) -> None:
    call, error, text = refusals(graph)[number]
    with graph.steps() as step:
        before = len(graph.space.variables), len(graph.compute_sets)
        with pytest.raises(error, match=text):
            call()
        assert (len(graph.space.variables), len(graph.compute_sets)) == before
    assert step.is_empty


def test_where_a_tensor_is_needed_an_expression_is_stored_first(graph: pl.Graph) -> None:
    x = variable(graph, "x")
    e: Any = x + 1
    work = graph.add_compute_set("work")
    engine = pl.Engine(graph, pl.Sequence(), **interpreted())
    uses: list[Any] = [
        lambda: graph.add_vertex(work, vertices_lib.Add, tile=0, a=e, b=x, out=x),
        lambda: graph.create_host_read("e", e),
        lambda: pl.Copy(e, x),
        lambda: pl.WriteUndef(e),
        lambda: engine.read(e),
        lambda: ops.explain(e),
    ]
    for use in uses:
        with pytest.raises(pl.ElementTypeError, match=r"store it first: t = ops.map\(expression\)"):
            use()


def test_an_exponent_that_no_float_holds_is_refused(graph: pl.Graph) -> None:
    x = variable(graph, "x")
    huge = int("1" + "0" * 400)
    with pytest.raises(pl.SizeOverflowError, match="does not fit FLOAT"):
        _ = x**huge


def test_a_condition_of_many_elements_is_reduced_first(graph: pl.Graph) -> None:
    e: Any = variable(graph, "x") + 1
    with pytest.raises(
        pl.ElementTypeError, match=r"reduce it to one element: ops.map\(ops.any\(t\)\)"
    ):
        pl.If(e, pl.Sequence(), pl.Sequence())


def test_an_expression_is_no_tensor(graph: pl.Graph) -> None:
    x = variable(graph, "x")
    e = x + 1
    uses: list[Any] = [bool, len, list, np.asarray, lambda e: e[0], lambda e: e == e + 1]
    uses += [lambda e: e != x, lambda e: e.T, lambda e: 1 in e]
    assert not hasattr(e, "reshape")
    with pytest.raises(AttributeError, match="an expression has no 'reshape'(.|\n)*store it first"):
        untyped(e).reshape((2, 12))
    for use in uses:
        with pytest.raises(pl.ElementTypeError):
            use(e)
    with pytest.raises(pl.ElementTypeError, match=r"record the change: ops.assign\(x, x \+ 1\)"):
        exec("x += 1", {"x": x})
    with pytest.raises(pl.ElementTypeError, match=r"write e = e \* \(x - 1.0\)"):
        exec("e *= x - 1", {"e": x + 1, "x": x})
    assert repr(e) == "<Expr x + 1.0 float32[24]>"
    assert (e.leaves, e.shape, e.element_type) == ((x,), (24,), pl.FLOAT)
    assert {e: 1}[e] == 1


def stored(graph: pl.Graph, program: pl.Program, *tensors: pl.Tensor) -> list[Any]:
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    return [engine.read(each).tolist() for each in tensors]


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_reductions_of_expressions_of_one_element(graph: pl.Graph, shape: tuple[int, ...]) -> None:
    x = variable(graph, "x", shape, mapping=1)
    with graph.steps() as step:
        total, greatest = ops.map(ops.sum(x * 3)), ops.map(ops.max(x * 2 - x))
        kept = ops.map(ops.sum(x + x, keepdims=True))
    assert kept.shape == shape
    assert stored(graph, step, total, greatest, kept.reshape(())) == [3, 1, 2]


def test_one_number_for_ranges_of_elements(graph: pl.Graph) -> None:
    """The result lies in several ranges of each tile, and no operand has its elements."""
    x = variable(graph, "x", ())
    out = variable(graph, "out", (40,), mapping=None)
    for k in range(40):
        graph.set_tile_mapping(out[k], k // 3 % 2)
    with graph.steps() as step:
        ops.assign(out, x * 2 + 1)
    assert stored(graph, step, out) == [[3] * 40]


def test_elements_without_a_tile_get_one_and_the_others_stay(graph: pl.Graph) -> None:
    x, rows = variable(graph, "x", (8,)), variable(graph, "rows", (8, 8))
    makers: list[Any] = [
        lambda out: ops.assign(out, x + 1),
        lambda out: ops.assign(out, rows[0, 0] + 1),
        lambda out: ops.copy(x, out),
        lambda out: ops.fill(out, 1),
        lambda out: ops.map(ops.sum(rows, 1), out=out),
        lambda out: ops.map(ops.sum(rows * x, 1), out=out),
    ]
    with graph.steps() as step:
        partly = [graph.add_variable(pl.FLOAT, (8,), "partly") for _ in makers]
        bare = [graph.add_variable(pl.FLOAT, (8,), "bare") for _ in makers]
        for make, some, none in zip(makers, partly, bare, strict=True):
            graph.set_tile_mapping(some[1:6], 3)
            make(some)
            make(none)
    for out, want in zip(partly, (2, 2, 1, 1, 8, 8), strict=True):
        assert graph.tile_mapping(out[1:6])[3] == [(0, 5)]
        assert stored(graph, step, out) == [[want] * 8]
    assert stored(graph, step, *bare) == [[want] * 8 for want in (2, 2, 1, 1, 8, 8)]


def test_reductions_lie_where_they_are_to(graph: pl.Graph) -> None:
    x = variable(graph, "x", (8, 8))
    with graph.steps() as step:
        results = [
            ops.map(ops.sum(each, 1, keepdims=keeps), mapping=2)
            for each in (x, x * 2)
            for keeps in (False, True)
        ]
    for each in results:
        assert graph.tile_mapping(each)[2] == [(0, 8)]
    assert (
        stored(graph, step, *[each.flatten() for each in results]) == [[8] * 8] * 2 + [[16] * 8] * 2
    )


def test_what_is_reduced_into_a_tensor_is_not_stored(graph: pl.Graph) -> None:
    x = variable(graph, "x", (100, 100), initial_value=np.arange(10_000).reshape(100, 100) % 7)
    out, kept = variable(graph, "out", (100,)), variable(graph, "kept", (100, 1))
    before = len(graph.variables)
    with graph.steps() as step:
        ops.assign(out, ops.sum(x * x, 0))
        ops.assign(kept, ops.sum(x - 1, 1, keepdims=True))
        ops.assign(x[0], ops.sum(out.reshape((1, 100)) * 2, 0))
    made = graph.variables[before:]
    assert sum(each.num_elements for each in made) < 2_000
    values = (np.arange(10_000).reshape(100, 100) % 7).astype(np.float32)
    sums = (values * values).sum(0)
    assert stored(graph, step, out, kept.flatten()) == [sums.tolist(), (values - 1).sum(1).tolist()]
    assert stored(graph, step, x[0]) == [(sums * 2).tolist()]


def test_lower_takes_tensors_and_numbers_and_copies_over_what_it_reads(graph: pl.Graph) -> None:
    x, y = variable(graph, "x", (6,), initial_value=range(6)), variable(graph, "y", (6,))
    with graph.steps() as step:
        ops.lower(graph, [ops.Root(untyped(x.reverse(0)), out=x), ops.Root(x + 1, out=y)])
        ops.map(2.5, out=y[:2])
    assert stored(graph, step, x, y) == [[5, 4, 3, 2, 1, 0], [2.5, 2.5, 4, 3, 2, 1]]
    with graph.steps(), pytest.raises(pl.ElementTypeError, match="2.5 alone has no element type"):
        ops.lower(graph, [untyped(2.5)])


def test_numbers_of_numpy_are_stored_as_those_of_python(graph: pl.Graph) -> None:
    whole = graph.add_variable(pl.INT, (3,), "whole", mapping=0)
    truth = graph.add_variable(pl.BOOL, (3,), "truth", mapping=0)
    with graph.steps() as step:
        ops.assign(whole, np.int8(-7))  # type: ignore[arg-type]
        ops.assign(truth, np.bool_(True))  # type: ignore[arg-type]
        for target, value in (
            (whole, np.float32(0.5)),
            (whole, np.bool_(True)),
            (truth, np.int8(1)),
        ):
            with pytest.raises(pl.ElementTypeError, match="cannot be combined with"):
                ops.assign(target, value)  # type: ignore[arg-type]
    assert stored(graph, step, whole, truth) == [[-7] * 3, [True] * 3]


@deep
@pytest.mark.parametrize("is_tree", thinned([True, False], keep=1))
def test_expressions_of_hundreds_of_numbers_are_several_vertices(
    graph: pl.Graph, is_tree: bool
) -> None:
    """The time to compile a class grows with the square of its fields."""
    x, y = variable(graph, "x", (5,), initial_value=range(5)), variable(graph, "y", (5,))
    parts: list[pl.Expr] = [x * k for k in range(300)]
    while len(parts) > 1:
        if is_tree:
            parts = [a + b for a, b in zip(parts[::2], parts[1::2], strict=False)] + parts[
                len(parts) // 2 * 2 :
            ]
        else:
            parts = [parts[0] + parts[1], *parts[2:]]
    with graph.steps() as step:
        one = ops.map(parts[0])
        ops.lower(graph, [ops.Root(ops.sum(parts[0] * y)), ops.Root(parts[0] - y, out=y)])
    assert max(len(cls.fields) for cls in vertices(step)) <= MOST_FIELDS + 1
    assert f"at most {MOST_FIELDS} tensors and numbers" in ops.explain(one)
    want = np.arange(5) * (299 * 300 / 2)
    assert stored(graph, step, one, y) == [want.tolist(), (want - 1).tolist()]


def test_iota_counts_in_every_type(graph: pl.Graph) -> None:
    cases: list[Any] = [
        (pl.INT, (2, 3), 0),
        (pl.CHAR, (200,), -100),
        (pl.UNSIGNED_LONGLONG, (4,), 2**64 - 4),
        (pl.LONGLONG, (4,), -(2**63)),
        (pl.FLOAT, (5,), 2**24),
        (pl.HALF, (4000,), -2000),
        (pl.INT, (0,), 7),
        (pl.INT, (), -7),
    ]
    with graph.steps() as step:
        made = [ops.map(ops.iota(shape, kind, start=first)) for kind, shape, first in cases]
    engine = pl.Engine(graph, step, **interpreted())
    engine.run()
    for (kind, shape, first), result in zip(cases, made, strict=True):
        exact = [first + k for k in range(result.num_elements)]
        expected = np.array(exact, kind.dtype).reshape(shape)
        np.testing.assert_array_equal(engine.read(result), expected)


def test_long_expressions_are_stored_before_they_are_reduced(graph: pl.Graph) -> None:
    x = variable(graph, "x", (6, 5), initial_value=np.arange(30).reshape(6, 5))
    y = variable(graph, "y", (6, 5))
    e = x + y
    for _ in range(299):
        e = e + y
    with graph.steps() as step:
        rows, columns = ops.map(ops.sum(e, 1)), ops.map(ops.sum(e, 0))
    assert all("(a reduction)" in ops.explain(each) for each in (rows, columns))
    values = np.arange(30).reshape(6, 5) + 300
    assert stored(graph, step, rows, columns) == [values.sum(1).tolist(), values.sum(0).tolist()]


@pytest.mark.parametrize("at", [5, "train.py:3", False])
def test_a_root_takes_no_line_of_another_kind(at: Any) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (2,), "x", mapping=0)
    with graph.steps(), pytest.raises(pl.ElementTypeError) as error:
        ops.lower(graph, [ops.Root(x + 1, at=at)])
    assert f"ops.lower: at= of a root must be a source location; found {at!r}" in str(error.value)
    with graph.steps() as step:
        ops.lower(graph, [ops.Root(x + 1, name="y", at=None)])
    assert not step.is_empty


# -- independent parts share compute sets ----------------------------------------------------------


def drawn(graph: pl.Graph, shape: tuple[int, ...], name: str) -> tuple[pl.Tensor, np.ndarray]:
    values = np.random.default_rng(len(name)).integers(-3, 4, shape).astype(np.float32)
    return (
        graph.add_variable(pl.FLOAT, shape, name, mapping="linear", initial_value=values),
        values,
    )


@both_forms
def test_sums_of_several_roots_take_the_steps_of_one(graph: pl.Graph, interpret: bool) -> None:
    (x, a), (y, b) = drawn(graph, (40, 30), "x"), drawn(graph, (40, 30), "yy")
    alone, program = pl.Sequence(), pl.Sequence()
    ops.map(ops.sum(x), program=alone)
    steps = len(graph.compute_sets)
    roots = [ops.sum(x), ops.sum(x * y), ops.sum(y) * 2 + ops.sum(x - y), ops.sum(x, 0)]
    made = ops.lower(graph, roots, program)
    assert len(graph.compute_sets) - steps <= steps + 1
    engine = pl.Engine(graph, program, interpret=interpret, options=values_only())
    engine.run()
    expected = [a.sum(), (a * b).sum(), b.sum() * 2 + (a - b).sum(), a.sum(0)]
    for tensor, values in zip(made, expected, strict=True):
        np.testing.assert_array_equal(engine.read(tensor), values)


def test_what_depends_on_a_sum_comes_behind_it(graph: pl.Graph) -> None:
    x, a = drawn(graph, (12, 10), "x")
    program = pl.Sequence()
    mean = ops.mean(x, 1, keepdims=True)
    roots = [ops.sum((x - mean) ** 2), x - mean, ops.max(x - mean, 0), mean]
    made = ops.lower(graph, roots, program)
    engine = pl.Engine(graph, program, checks="strict", **interpreted())
    engine.run()
    d = a - a.mean(1, keepdims=True)
    for tensor, values in zip(
        made, [(d**2).sum(), d, d.max(0), a.mean(1, keepdims=True)], strict=True
    ):
        np.testing.assert_allclose(engine.read(tensor), values, rtol=1e-5, atol=1e-6)


def test_roots_that_write_are_done_in_their_order(graph: pl.Graph) -> None:
    x, a = drawn(graph, (12,), "x")
    program = pl.Sequence()
    roots = [
        ops.Root(ops.sum(x)),
        ops.Root(x * 2, out=x),
        ops.Root(ops.sum(x)),
    ]
    before, _, after = ops.lower(graph, roots, program)
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    assert (engine.read(before), engine.read(after)) == (a.sum(), 2 * a.sum())


def test_products_and_what_stands_around_them(graph: pl.Graph) -> None:
    (x, a), (y, b) = drawn(graph, (8, 6), "x"), drawn(graph, (6, 5), "yy")
    program = pl.Sequence()
    roots = [ops.maximum(x @ y, 0), x @ y + 1, ops.sum(x), ops.sum((x + 1) @ y)]
    made = ops.lower(graph, roots, program)
    engine = pl.Engine(graph, program, checks="strict", **interpreted())
    engine.run()
    expected = [np.maximum(a @ b, 0), a @ b + 1, a.sum(), ((a + 1) @ b).sum()]
    for tensor, values in zip(made, expected, strict=True):
        np.testing.assert_array_equal(engine.read(tensor), values)


def test_equal_roots_are_two_tensors(graph: pl.Graph) -> None:
    x, a = drawn(graph, (12,), "x")
    program = pl.Sequence()
    one, other = ops.lower(graph, [ops.exp(x), ops.exp(x)], program)
    assert not one.intersects_with(other)
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    assert engine.read(one).tobytes() == engine.read(other).tobytes()


@pytest.mark.parametrize("is_first", [True, False])
def test_a_root_that_another_one_reads(graph: pl.Graph, is_first: bool) -> None:
    x, a = drawn(graph, (12,), "x")
    program = pl.Sequence()
    total = x + x
    roots = [total, total * total - ops.sum(total)]
    made = ops.lower(graph, roots if is_first else roots[::-1], program)
    engine = pl.Engine(graph, program, checks="strict", **interpreted())
    engine.run()
    expected = [2 * a, 4 * a * a - (2 * a).sum()]
    for tensor, values in zip(made, expected if is_first else expected[::-1], strict=True):
        np.testing.assert_array_equal(engine.read(tensor), values)


def test_sums_with_and_without_their_dimensions_are_one(graph: pl.Graph) -> None:
    x, a = drawn(graph, (4, 6), "x")
    program = pl.Sequence()
    made = ops.lower(graph, [x - ops.sum(x, 1, keepdims=True), ops.exp(0 * ops.sum(x, 1))], program)
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    np.testing.assert_array_equal(engine.read(made[0]), a - a.sum(1, keepdims=True))
    assert engine.read(made[1]).tolist() == [1] * 4
