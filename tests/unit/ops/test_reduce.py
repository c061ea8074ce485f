"""pl.ops.reduce of tensors: what it refuses, what it makes, where its vertices are."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import poplite as pl
from helpers.depth import deep, interpreted, thinned
from poplite import ops
from poplite.graph.partitioners import map_linearly
from poplite.ops.reductions.stage import pieces_of


def graph_of(
    shape: tuple[int, ...],
    tiles: int = 4,
    element: type[pl.ElementType[Any]] = pl.INT,
    values: npt.ArrayLike | None = None,
) -> tuple[pl.Graph, pl.Tensor, pl.Sequence]:
    graph = pl.Graph(pl.Target(tiles=tiles))
    x = graph.add_variable(element, shape, "x", mapping="linear", initial_value=values)
    return graph, x, pl.Sequence()


def compute_sets(graph: pl.Graph) -> list[str]:
    return [compute_set.name for compute_set in graph.compute_sets]


def value(graph: pl.Graph, program: pl.Program, tensor: pl.Tensor) -> Any:
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    return engine.read(tensor).tolist()


def reduced(
    x: pl.Tensor,
    dims: int | list[int],
    op: str,
    program: pl.Sequence,
    output: pl.Tensor | None = None,
    name: str = "reduce",
) -> pl.Tensor:
    return pl.ops.map(pl.ops.reduce(x, dims, op), out=output, name=name, program=program)


# What is refused


@pytest.mark.parametrize(
    ("dims", "message"),
    [
        ([2], "ops.reduce 'add': dimension 2 of 'x', which has 2"),
        (-3, "ops.reduce 'add': dimension -3 of 'x', which has 2"),
        ([0, 1, 0], "ops.reduce 'add': a dimension is listed twice"),
        (["rows"], "are not valid dimensions"),
    ],
)
def test_dimensions_are_checked(dims: Any, message: str) -> None:
    _, x, _ = graph_of((2, 3))
    with pytest.raises(pl.TensorIndexError, match=message):
        pl.ops.reduce(x, dims, "add")


@pytest.mark.parametrize(
    ("operation", "near"),
    [
        *(("ad", "'add'"), ("log_or", "'logical_or'")),
        *(("sum", "'add'"), ("prod", "'mul'"), ("any", "'logical_or'")),
        *((3, ""), (["add"], "")),
    ],
)
def test_operations_are_known_by_name(operation: Any, near: str) -> None:
    _, x, _ = graph_of((2, 3))
    with pytest.raises(pl.TensorCreationError, match="is not an operation") as caught:
        pl.ops.reduce(x, [0], operation)
    assert (f"did you mean {near}" in caught.value.what) == bool(near)
    assert "'add', 'square_add', 'mul', 'min', 'max', 'logical_and'" in caught.value.found


@pytest.mark.parametrize(
    ("element", "operation", "fix"),
    [
        (pl.BOOL, "add", "ops.cast(x, FLOAT) first"),
        (pl.BOOL, "log_add", "ops.cast(x, FLOAT) first"),
        (pl.INT, "log_add", "ops.cast(x, FLOAT) first"),
        (pl.INT, "logical_or", "pass a comparison, such as x > 0"),
        (pl.QUARTER, "max", "use a vertex, which reads QUARTER"),
        (pl.QUARTER_METADATA, "min", "use a vertex, which reads QUARTER"),
    ],
)
def test_element_types_that_do_not_fit(
    element: type[pl.ElementType[Any]], operation: str, fix: str
) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    metadata = pl.QuarterMetadata("F143", scale=0) if element is pl.QUARTER else None
    x = graph.add_variable(element, (4,), "x", mapping=0, metadata=metadata)
    with pytest.raises(pl.ElementTypeError, match=f"is {element!r}") as caught:
        pl.ops.reduce(x, [0], operation)
    assert fix in caught.value.fix


def test_a_tensor_or_an_expression_is_needed() -> None:
    with pytest.raises(
        pl.ElementTypeError, match=r"ops.reduce 'add': \[1, 2\] is not a valid operand"
    ):
        pl.ops.reduce([1, 2], 0, "add")  # type: ignore[arg-type]
    with pytest.raises(pl.ElementTypeError, match="ops.reduce 'add': cannot reduce the number 2.0"):
        pl.ops.reduce(2.0, 0, "add", scale=2)  # type: ignore[arg-type]
    with pytest.raises(
        pl.ElementTypeError,
        match="'square_add': the shape and type of an expression with arguments",
    ):
        pl.ops.reduce(pl.ops.arg(0), 0, "square_add")


@pytest.mark.parametrize("operation", ["mul", "min", "max", "logical_and", "logical_or"])
@pytest.mark.parametrize("option", ["scale", "update"])
def test_scale_and_update_are_of_sums(operation: str, option: str) -> None:
    _, x, _ = graph_of((2, 3))
    options: dict[str, Any] = {option: 2}
    with pytest.raises(pl.ElementTypeError, match=f"'{operation}' takes no {option}") as caught:
        pl.ops.reduce(x, 0, operation, **options)
    assert caught.value.fix == "use one of 'add', 'square_add', 'log_add'"


def test_a_scale_is_one_number_and_an_update_does_not_stretch_the_result() -> None:
    graph, x, _ = graph_of((2, 3), element=pl.FLOAT)
    row = graph.add_variable(pl.FLOAT, (3,), "row", mapping=0)
    whole = graph.add_variable(pl.INT, (), "whole", mapping=0)
    with pytest.raises(pl.TensorCreationError, match=r"'add': scale has shape \(3,\)"):
        pl.ops.reduce(x, 0, "add", scale=row)
    with pytest.raises(pl.TensorCreationError, match=r"update has shape \(3,\), but the result"):
        pl.ops.reduce(x, 1, "add", update=row)
    with pytest.raises(pl.TensorCreationError, match=r"update has shape \(2, 3\), but the result"):
        pl.ops.reduce(x, 0, "add", update=x)
    with pytest.raises(pl.ElementTypeError, match="INT"):
        pl.ops.reduce(x, 0, "add", scale=whole)


# Values at the edges


def test_of_no_elements() -> None:
    graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    numbers = graph.add_variable(pl.HALF, (0, 3), "numbers", mapping=0)
    truths = graph.add_variable(pl.BOOL, (2, 0), "truths", mapping=0)
    wholes = graph.add_variable(pl.SHORT, (0, 1), "wholes", mapping=0)
    results = [
        reduced(numbers, [0], "add", program),
        reduced(numbers, [0], "mul", program),
        reduced(truths, [1], "logical_and", program),
        reduced(truths, [1], "logical_or", program),
        reduced(numbers, [1], "max", program),
        reduced(numbers, [0], "min", program),
        reduced(numbers, [0], "max", program),
        reduced(wholes, [0], "min", program),
        reduced(wholes, [0], "max", program),
    ]
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    got = [engine.read(result).tolist() for result in results]
    assert got[:5] == [[0, 0, 0], [1, 1, 1], [True, True], [False, False], []]
    assert got[5:] == [[np.inf] * 3, [-np.inf] * 3, [2**15 - 1], [-(2**15)]]
    for refused in (pl.ops.min, pl.ops.max, pl.ops.log_sum_exp):
        with pytest.raises(pl.TensorCreationError, match=f"{refused.__name__} of no elements"):
            refused(numbers, 0)
    assert pl.ops.log_sum_exp(numbers, 1).shape == (0,)


def test_no_dimension_is_a_copy_and_all_are_one_element() -> None:
    graph, x, program = graph_of((2, 3), values=[[1, 2, 3], [4, 5, 6]])
    same = reduced(x, [], "add", program)
    total = reduced(x, [1, 0], "add", program)
    scalar = reduced(x[0, 0], [], "max", program)
    assert not same.intersects_with(x)
    assert (total.shape, scalar.shape) == ((), ())
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    assert engine.read(same).tolist() == [[1, 2, 3], [4, 5, 6]]
    assert engine.read(total) == 21
    assert engine.read(scalar) == 1


@pytest.mark.parametrize("operation", ["min", "max"])
@pytest.mark.parametrize("length", [3, 50])
def test_nan_is_the_least_and_the_greatest(operation: str, length: int) -> None:
    values = np.arange(3 * length, dtype=np.float32).reshape(3, length)
    values[1, length // 2] = np.nan
    graph, x, program = graph_of((3, length), element=pl.FLOAT, values=values)
    rows = reduced(x, [1], operation, program)
    columns = reduced(x, [0], operation, program)
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    assert np.isnan(engine.read(rows)).tolist() == [False, True, False]
    assert np.flatnonzero(np.isnan(engine.read(columns))).tolist() == [length // 2]


@pytest.mark.parametrize("shape", [(4097,), (4097, 3)])
def test_sums_of_half_are_made_in_float_and_rounded_once(shape: tuple[int, ...]) -> None:
    graph, x, program = graph_of(shape, element=pl.HALF, values=np.ones(shape))
    total = reduced(x, [0], "add", program)
    assert total.element_type is pl.HALF
    # In steps of HALF the sum would end at 2,048, as 2,049 cannot be told from it.
    assert np.all(np.array(value(graph, program, total)) == np.float16(4097))
    partials = [v for v in graph.variables if "partials" in v.name]
    assert partials
    assert {v.element_type for v in partials} == {pl.FLOAT}


def test_least_of_half_needs_no_float() -> None:
    graph, x, program = graph_of((500,), element=pl.HALF, values=np.arange(500) - 250)
    assert value(graph, program, reduced(x, [0], "min", program)) == -250
    assert {v.element_type for v in graph.variables} == {pl.HALF}


def test_constants_and_repeated_elements_are_reduced_too() -> None:
    graph, x, program = graph_of((2, 3), values=[[1, 2, 3], [4, 5, 6]])
    fixed = graph.add_constant(pl.INT, (2, 1), [[10], [20]], "fixed", mapping=3)
    both = pl.concat([x.broadcast(2, 1), fixed], 1)
    total = reduced(both, [1], "add", program)
    assert value(graph, program, total) == [22, 50]


# What is made


def test_names_begin_with_the_name_given() -> None:
    graph, x, program = graph_of((4, 1000))
    with graph.scope("model"):
        total = reduced(x, [1], "add", program, name="total")
    again = reduced(x, [0, 1], "add", program)
    assert (total.name, again.name) == ("model/total", "reduce")
    names = {v.name for v in graph.variables} | set(compute_sets(graph))
    assert {"model/total/tiles", "model/total/workers", "reduce/final"} <= names
    assert all(n.split("/")[0] in ("model", "reduce", "x") for n in names)
    assert [child.name for child in program.children if isinstance(child, pl.Sequence)] == [
        "total",
        "reduce",
    ]


def test_steps_go_behind_those_that_are_there() -> None:
    graph, x, program = graph_of((3,), values=[1, 2, 3])
    other = graph.add_variable(pl.INT, (3,), "other", mapping=0, initial_value=[5, 6, 7])
    program.add(pl.Copy(other, x))
    total = reduced(x, [0], "add", program)
    assert value(graph, program, total) == 18


def test_a_result_is_where_its_elements_are() -> None:
    graph, x, program = graph_of((8, 100))
    total = reduced(x, [1], "add", program)
    assert graph.tile_mapping(total) == [[(0, 2)], [(2, 4)], [(4, 6)], [(6, 8)]]
    columns = reduced(x, [0], "add", program)
    assert graph.tile_mapping(columns).elements_per_tile.tolist() == [32, 34, 34, 0]


def test_an_output_stays_where_it_is_and_its_tiles_do_the_work() -> None:
    graph, x, program = graph_of((400, 6))
    output = graph.add_variable(pl.INT, (2, 3), "output", initial_value=7)
    graph.set_tile_mapping(output[:, :2], 1)
    graph.set_tile_mapping(output[:, 2:], 3)
    result = reduced(x.reshape((400, 3, 2)), [0], "add", program, output=output.T, name="sums")
    assert result is not None
    assert result == output.T
    (final,) = (cs for cs in graph.compute_sets if cs.name == "sums/final")
    for vertex in final.vertices:
        out = vertex.connections["out"]
        assert isinstance(out, pl.Tensor)
        assert graph.tile_mapping(out).tiles.tolist() == [vertex.tile]


@pytest.mark.parametrize("dims", [[0], [1], [0, 1]])
@pytest.mark.parametrize("transposed", [False, True])
def test_the_first_stage_reads_only_what_its_tile_holds(dims: list[int], transposed: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=7))
    x = graph.add_variable(pl.INT, (90, 70), "x")
    map_linearly(graph, x.T if transposed else x)
    reduced(x, dims, "add", pl.Sequence())
    first = graph.compute_sets[0]
    assert first.name == "reduce/tiles"
    for vertex in first.vertices:
        read = vertex.connections["x"]
        assert isinstance(read, pl.Tensor)
        assert graph.tile_mapping(read).tiles.tolist() == [vertex.tile]


def test_workers_share_one_output_evenly() -> None:
    graph, x, program = graph_of((6000,), tiles=1)
    reduced(x, [0], "add", program)
    assert compute_sets(graph) == ["reduce/tiles", "reduce/workers"]
    lengths = [v.connections["x"].num_elements for v in graph.compute_sets[0].vertices]  # type: ignore[union-attr]
    assert lengths == [1000] * 6


def test_workers_share_rows_and_columns_evenly() -> None:
    for dims in ([0], [1]):
        graph, x, program = graph_of((60, 60), tiles=1)
        reduced(x, dims, "add", program)
        assert compute_sets(graph) == ["reduce/tiles"]
        lengths = [v.connections["out"].num_elements for v in graph.compute_sets[0].vertices]  # type: ignore[union-attr]
        assert lengths == ([60], [10] * 6)[dims[0]]


SHARED = [
    ((100, 90), 7, [7, 4]),  # each tile begins within a row
    ((3, 40, 50), 5, [3, 1]),  # tiles 1 and 3 have less of one matrix than is worth it
    ((3, 40, 100), 3, [3]),
    ((90, 13), 1, [1]),
]


@pytest.mark.parametrize(
    ("shape", "tiles", "shared", "op"),
    thinned(
        [(*case, op) for op in ("add", "max", "mul", "min") for case in SHARED],
        keep=len(SHARED) + 1,
    ),
)
def test_workers_of_a_tile_share_all_that_it_has(
    shape: tuple[int, ...], tiles: int, shared: list[int], op: str
) -> None:
    values = np.random.default_rng(1).uniform(0.9, 1.1, shape).astype(np.float32)
    graph, x, program = graph_of(shape, tiles, pl.FLOAT, values)
    dim = len(shape) - 2
    columns = reduced(x, [dim], op, program)
    kinds = [[str(v.vertex_class) for v in each.vertices] for each in graph.compute_sets]
    assert [n for n in (sum("OfTile" in k for k in each) for each in kinds) if n] == shared
    engines = [pl.Engine(graph, program, faster=each, **interpreted()) for each in (True, False)]
    for engine in engines:
        engine.run()
    found = engines[0].read(columns)
    assert found.tobytes() == engines[1].read(columns).tobytes()
    joined = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}[op]
    np.testing.assert_allclose(found, joined.reduce(values, dim), rtol=1e-5)


def test_regular_tensors_take_few_vertices() -> None:
    for dims in ([0], [1]):
        graph, x, program = graph_of((10_000, 10), tiles=4)
        reduced(x, dims, "add", program)
        assert graph.num_vertices <= 4 * 6 + 10 + 4 * 3


def test_transposed_tensors_are_read_in_the_order_of_memory() -> None:
    graph, x, program = graph_of((40, 30), tiles=1)
    reduced(x.T[::-1], [0], "add", program)
    for vertex in graph.compute_sets[0].vertices:
        read = vertex.connections["x"]
        assert isinstance(read, pl.Tensor)
        assert read.is_contiguous()


def test_an_output_of_many_tiles_is_joined_in_steps() -> None:
    graph, x, program = graph_of((500,), tiles=500, values=np.arange(500))
    total = reduced(x, [0], "add", program)
    assert compute_sets(graph) == ["reduce/groups", "reduce/final"]  # a tile alone has no work
    for compute_set in graph.compute_sets:
        for vertex in compute_set.vertices:
            read = vertex.connections["x"]
            assert isinstance(read, pl.Tensor)
            assert read.num_elements <= 64
    assert value(graph, program, total) == 499 * 250


@deep
def test_many_outputs_of_many_tiles_are_spread() -> None:
    graph, x, program = graph_of((300, 80), tiles=300, values=np.arange(24_000).reshape(300, 80))
    total = reduced(x, [0], "add", program)
    assert len(graph.tile_mapping(total).tiles) > 4
    assert value(graph, program, total) == np.arange(24_000).reshape(300, 80).sum(0).tolist()


def test_on_a_virtual_graph() -> None:
    graph = pl.Graph(pl.Target(tiles=8))
    high = graph.create_virtual_graph(4, 8)
    program = pl.Sequence()
    x = high.add_variable(
        pl.INT, (500, 3), "x", mapping="linear", initial_value=np.arange(1500).reshape(500, 3)
    )
    total = reduced(x, [0], "add", program)
    assert set(graph.tile_mapping(total).tiles.tolist()) <= {4, 5, 6, 7}
    tiles = {v.tile for compute_set in graph.compute_sets for v in compute_set.vertices}
    assert tiles == {4, 5, 6, 7}
    assert value(graph, program, total) == np.arange(1500).reshape(500, 3).sum(0).tolist()


def test_equal_calls_make_equal_graphs() -> None:
    def made() -> list[str]:
        graph, x, program = graph_of((97, 31), tiles=11)
        reduced(x, [0], "add", program)
        return [f"{cs.name} {v} {v.connections}" for cs in graph.compute_sets for v in cs.vertices]

    assert made() == made()


# The cutting of intervals into pieces


@pytest.mark.parametrize("reduced", [1, 2, 5])
@pytest.mark.parametrize("inner", [1, 3, 4])
def test_pieces_hold_every_element_once(reduced: int, inner: int) -> None:
    size = 3 * reduced * inner
    output = (np.arange(size) // (reduced * inner)) * inner + np.arange(size) % inner
    for begin in range(size):
        for end in range(begin + 1, size + 1):
            tile, first, last = (np.array([k]) for k in (7, begin, end))
            pieces = pieces_of(tile, first, last, reduced, inner)
            held = []
            for number, low, high, at, rows in zip(*pieces, strict=True):
                assert number == 7
                for row in range(rows):
                    elements = np.arange(at + row * inner, at + row * inner + high - low)
                    assert output[elements].tolist() == list(range(low, high))
                    held += elements.tolist()
            assert sorted(held) == list(range(begin, end))


# -- `reduce_many` ---------------------------------------------------------------------------------


def random_graph(
    shape: tuple[int, ...] = (60, 50), tiles: int = 8
) -> tuple[pl.Graph, pl.Tensor, Any]:
    graph = pl.Graph(pl.Target(tiles=tiles))
    values = np.random.default_rng(0).integers(-50, 50, shape).astype(np.float32)
    x = graph.add_variable(pl.FLOAT, shape, "x", mapping="linear", initial_value=values)
    return graph, x, values


def test_stages_of_all_share_compute_sets() -> None:
    graph, x, values = random_graph()
    p = graph.add_variable(pl.BOOL, (300,), "p", mapping="linear", initial_value=True)
    h = graph.add_variable(pl.HALF, (30, 40), "h", mapping="linear", initial_value=2)
    with graph.steps() as step:
        made = ops.reduce_many(
            [
                ("min", x, [0]),
                ("max", x, [0]),
                ("add", x - 1, None),
                ("logical_and", p, 0),
                ops.sum(x * x, 1),
                ops.reduce(h, 0, "square_add", scale=0.5),
            ],
            name="many",
        )
    alone = pl.Graph(pl.Target(tiles=8))
    y = alone.add_variable(pl.FLOAT, x.shape, "x", mapping="linear")
    z = alone.add_variable(pl.HALF, h.shape, "h", mapping="linear")
    longest = 0
    for expr in (ops.min(y, 0), ops.sum(y - 1), ops.reduce(z, 0, "square_add", scale=0.5)):
        before = len(alone.compute_sets)
        ops.map(expr, program=pl.Sequence())
        longest = max(longest, len(alone.compute_sets) - before)
    assert len(graph.compute_sets) == longest
    assert [t.name for t in made][:3] == ["many/min", "many/max", "many/sum"]
    engine = pl.Engine(graph, step, **interpreted())
    engine.run()
    found = [engine.read(each).tolist() for each in made]
    assert found[0] == values.min(0).tolist()
    assert found[1] == values.max(0).tolist()
    assert found[2] == (values - 1).sum()
    assert found[3] is True
    assert found[4] == (values**2).sum(1).tolist()
    assert found[5] == [60] * 40


def test_bits_are_those_of_each_by_itself() -> None:
    graph, x, _ = random_graph((7, 900))
    program = pl.Sequence()
    many = ops.reduce_many([("add", x * 0.1, 1), ("log_add", x, 0)], program=program)
    one = [ops.map(e, program=program) for e in (ops.sum(x * 0.1, 1), ops.log_sum_exp(x, 0))]
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    for a, b in zip(many, one, strict=True):
        assert engine.read(a).tobytes() == engine.read(b).tobytes()


def test_outputs_and_mappings() -> None:
    graph, x, values = random_graph()
    low = graph.add_variable(pl.FLOAT, (50,), "low", mapping=3)
    high = graph.add_variable(pl.FLOAT, (1, 50), "high")
    with graph.steps() as step:
        made = ops.reduce_many([("min", x, 0), ops.max(x, 0, keepdims=True)], [low, high])
        (total,) = ops.reduce_many([("add", x, 1)], mapping=5)
        assert ops.reduce_many([]) == []
    assert made == [low, high]
    assert graph.tile_mapping(total).tiles.tolist() == [5]
    engine = pl.Engine(graph, step, **interpreted())
    engine.run()
    assert engine.read(low).tolist() == values.min(0).tolist()
    assert engine.read(high).tolist() == [values.max(0).tolist()]
    assert engine.read(total).tolist() == values.sum(1).tolist()


def test_within_a_block_of_together_it_shares_with_the_others() -> None:
    graph, x, _ = random_graph()
    with graph.steps(), ops.together():
        ops.map(ops.sum(x, 0))
        ops.reduce_many([("min", x, 0), ("max", x, 0)])
    assert len(graph.compute_sets) == 2


def test_what_is_refused() -> None:
    graph, x, _ = random_graph()
    out = graph.add_variable(pl.FLOAT, (50,), "out", mapping=0)
    with graph.steps() as step:
        with pytest.raises(pl.TensorCreationError, match="1 output for 2 reductions"):
            ops.reduce_many([("min", x, 0), ("max", x, 0)], [out])
        with pytest.raises(pl.GraphCycleError, match="writes 'out'"):
            ops.reduce_many([("min", x, 0), ("max", x, 0)], [out, out])
        with pytest.raises(pl.TensorCreationError, match="mapping cannot be given with outputs"):
            ops.reduce_many([("min", x, 0)], [out], mapping=2)
        with pytest.raises(pl.TensorCreationError, match="'minn' is not an operation"):
            ops.reduce_many([("minn", x, 0)])
        for entry in (x, x + 1, ("min", x), "min"):
            with pytest.raises(pl.ElementTypeError, match="entry 1 is not a reduction"):
                ops.reduce_many([("min", x, 0), entry])  # type: ignore[list-item]
    assert step.is_empty
    with pytest.raises(pl.ControlProgramError, match="called outside its graph's steps"):
        ops.reduce_many([("min", x, 0)])


@pytest.mark.parametrize("rows", [64, 128])
def test_single_rows_of_halves_are_sent_as_they_are(rows: int) -> None:
    values = np.random.default_rng(4).uniform(1, 2, (rows, 60)).astype(np.float16)
    graph = pl.Graph(pl.Target(tiles=64))
    x = graph.add_variable(pl.HALF, values.shape, "x", mapping="linear", initial_value=values)
    with graph.steps() as program:
        total = ops.map(ops.sum(x, 0), name="total")
        mean = ops.map(ops.mean(x, 0), name="mean")
    names = [each.name for each in graph.compute_sets]
    assert ("total/tiles" in names, "mean/sum/tiles" in names) == (rows > 64, rows > 64)
    engine = pl.Engine(graph, program)
    engine.run()
    received = [int(np.sum(step.bytes_received)) for step in engine.report().execution.steps]
    size = 2 if rows == 64 else 4
    assert [sent for sent in received if sent] == [63 * 60 * size] * 2
    sums = np.add.accumulate(values.astype(np.float32))[-1]
    if rows == 64:
        assert np.array_equal(engine.read(total), sums.astype(np.float16))
    assert np.allclose(engine.read(mean), sums / rows, rtol=1e-3)


def test_more_rows_never_take_less_time() -> None:
    cycles = []
    for rows in (1, 2, 4, 10, 11, 16):
        graph, x, program = graph_of((rows, 60), 1, pl.FLOAT, 1)
        reduced(x, [0], "add", program)
        engine = pl.Engine(graph, program)
        engine.run()
        cycles.append(engine.report().cycles or 0)
    assert cycles[0] > 0
    assert cycles == sorted(cycles)
