"""pl.ops.reduce against NumPy: shapes, dimensions, types, mappings, views, both forms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import deep, examples, forms, interpreted, values_only
from helpers.running import both_forms, interpreted_sooner
from poplite import ops
from poplite.graph.partitioners import map_blocks, map_linearly

Array = npt.NDArray[Any]

UFUNCS = {
    "add": np.add,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
}
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
MAPPINGS = ("linear", "one tile", "scattered", "intervals", "blocks", "transposed")
TILES = 5


def put_on_tiles(graph: pl.Graph, x: pl.Tensor, how: str, rng: np.random.Generator) -> None:
    if how == "one tile":
        graph.set_tile_mapping(x, 3)
    elif how == "blocks" and x.rank == 2 and 0 not in x.shape:
        map_blocks(graph, x)
    elif how in ("scattered", "intervals") and x.num_elements:
        longest = 2 if how == "scattered" else 40
        begin = 0
        while begin < x.num_elements:
            end = min(begin + int(rng.integers(1, longest)), x.num_elements)
            graph.set_tile_mapping(x.flatten()[begin:end], int(rng.integers(TILES)))
            begin = end
    else:
        map_linearly(graph, x.T if how == "transposed" else x)


def values(dtype: str, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Draw numbers that every operation keeps exact, but integers that may wrap."""
    if dtype == "bool":
        return rng.random(shape) < rng.random()
    if dtype in ("float32", "float16"):
        signs = rng.choice([-1, 1], shape)
        return np.asarray(2.0 ** rng.integers(0, 2, shape) * signs, dtype)
    limits = np.iinfo(dtype)
    drawn: Array = rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    return drawn


def viewed(t: pl.Tensor, a: Array, seed: int) -> tuple[pl.Tensor, Array]:
    """Apply the same few view operations to a tensor and an array."""
    rng = np.random.default_rng(seed)
    for _ in range(int(rng.integers(0, 4))):
        if not t.rank:
            break
        dim = int(rng.integers(t.rank))
        kind = int(rng.integers(5))
        if kind == 0:
            order = rng.permutation(t.rank).tolist()
            t, a = t.dim_shuffle(order), a.transpose(order)
        elif kind == 1:
            t, a = t.sub_sample(2, dim), a[(slice(None),) * dim + (slice(None, None, 2),)]
        elif kind == 2:
            n = int(rng.integers(1, 4))
            t, a = t.broadcast(n, dim), np.concatenate([a] * n, axis=dim)
        elif kind == 3:
            t, a = t.reverse(dim), np.flip(a, dim)
        else:
            t, a = pl.concat([t, t[:1]]), np.concatenate([a, a[:1]])
    return t, a


def reduced(operation: str, a: Array, dims: tuple[int, ...]) -> Array:
    """Return what NumPy makes of it, in the type that it has."""
    if a.dtype == bool:
        return np.asarray(UFUNCS[operation].reduce(a, axis=dims))
    wide = np.float32 if a.dtype == np.float16 else a.dtype
    with np.errstate(over="ignore"):
        return np.asarray(UFUNCS[operation].reduce(a, axis=dims, dtype=wide)).astype(a.dtype)


CASES = [
    *((operation, "bool") for operation in ("logical_and", "logical_or")),
    *((operation, t) for operation in ("add", "mul", "min", "max") for t in ("float32", "float16")),
    *(("add", dtype) for dtype in INTEGERS),
    ("mul", "int32"),
    ("min", "int32"),
    ("max", "uint64"),
]


@both_forms
@examples(60, quick=3)
@given(
    case=st.sampled_from(CASES),
    shape=st.lists(st.integers(1, 7), max_size=4).map(tuple),
    how=st.sampled_from(MAPPINGS),
    given_output=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_view_on_any_tiles(
    interpret: bool,
    case: tuple[str, str],
    shape: tuple[int, ...],
    how: str,
    given_output: bool,
    seed: int,
) -> None:
    (operation, dtype), rng = case, np.random.default_rng(seed)
    graph, program = pl.Graph(pl.Target(tiles=TILES)), pl.Sequence()
    array = values(dtype, shape, rng)
    x = graph.add_variable(dtype, shape, "x", initial_value=array)
    put_on_tiles(graph, x, how, rng)
    tensor, array = viewed(x, array, seed)
    dims = tuple(rng.permutation(tensor.rank)[: int(rng.integers(0, tensor.rank + 1))].tolist())
    want = reduced(operation, array, dims)
    output = None
    if given_output:
        output = graph.add_variable(dtype, want.shape[::-1], "output")
        put_on_tiles(graph, output, "scattered", rng)
        output = output.T
    result = pl.ops.map(pl.ops.reduce(tensor, dims, operation), out=output, program=program)
    assert graph.tile_mapping(result).is_complete
    engine = pl.Engine(graph, program, interpret=interpret, options=values_only())
    engine.run()
    got = engine.read(result)
    if operation == "mul" and dtype == "float16":
        got, want = (np.clip(each, -65504, 65504) for each in (got, want))
    assert got.dtype == want.dtype
    assert np.array_equal(got, want)


@examples(40, quick=2)
@given(
    operation=st.sampled_from(["add", "square_add"]),
    dtype=st.sampled_from(["float32", "float16", "int32", "uint16"]),
    scale=st.sampled_from([None, 3, "tensor", "row", "expression"]),
    update=st.sampled_from([None, 1, "tensor", "row", "expression"]),
    keepdims=st.booleans(),
    dims=st.sampled_from([None, 0, -1, [0, 1], []]),
    seed=st.integers(0, 2**32 - 1),
)
def test_scaled_and_updated_sums(
    operation: str,
    dtype: str,
    scale: int | str | None,
    update: int | str | None,
    keepdims: bool,
    dims: int | list[int] | None,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    graph, program = pl.Graph(pl.Target(tiles=TILES)), pl.Sequence()
    tensors: dict[str, tuple[pl.Tensor, Array]] = {}

    def drawn(name: str, shape: tuple[int, ...]) -> pl.Tensor:
        array = rng.integers(0, 5, shape).astype(dtype)
        tensor = graph.add_variable(dtype, shape, name, initial_value=array)
        put_on_tiles(graph, tensor, str(rng.choice(MAPPINGS)), rng)
        tensors[name] = tensor, array
        return tensor

    x = drawn("x", (6, 9))
    axes = tuple(dims) if isinstance(dims, list) else dims
    wide = np.dtype(np.float32 if dtype == "float16" else dtype)
    array = tensors["x"][1].astype(wide)
    terms = array * array if operation == "square_add" else array
    want = np.asarray(terms.sum(axes, dtype=wide, keepdims=keepdims))
    by: Any = scale
    if isinstance(scale, str):
        tensor = drawn("scale", (1, 1, 1) if scale == "row" else ())
        by = tensor + 1 if scale == "expression" else tensor
        want = want * (tensors["scale"][1].reshape(()) + wide.type(scale == "expression"))
    elif scale is not None:
        want = want * wide.type(scale)
    old: Any = update
    if isinstance(update, str):
        tensor = drawn("update", want.shape[-1:] if update == "row" else want.shape)
        old = tensor * 2 if update == "expression" else tensor
        want = want + tensors["update"][1] * wide.type(1 + (update == "expression"))
    elif update is not None:
        want = want + wide.type(update)
    expr = pl.ops.reduce(x, dims, operation, keepdims=keepdims, scale=by, update=old)
    result = pl.ops.map(expr, program=program)
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    got = engine.read(result)
    assert got.dtype == dtype
    assert np.array_equal(got, np.asarray(want).astype(dtype))


@examples(25, quick=3)
@given(
    sizes=st.sampled_from([(1500, 3), (3, 1500), (70, 70), (4000, 1), (2, 700, 3), (300, 9)]),
    how=st.sampled_from(MAPPINGS),
    tiles=st.sampled_from([1, 6, 150]),
    seed=st.integers(0, 2**32 - 1),
)
def test_many_elements_take_several_stages(
    sizes: tuple[int, ...], how: str, tiles: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    graph, program = pl.Graph(pl.Target(tiles=max(tiles, TILES))), pl.Sequence()
    array = rng.integers(-1000, 1000, sizes, np.int32)
    x = graph.add_variable(pl.INT, sizes, "x", initial_value=array)
    put_on_tiles(graph, x, how, rng)
    results = {
        d: pl.ops.map(pl.ops.reduce(x, d, "add"), name=f"along {d}", program=program)
        for d in range(len(sizes))
    }
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    for d, result in results.items():
        assert np.array_equal(engine.read(result), array.sum(d, dtype=np.int32))


@examples(15)
@given(
    shape=st.sampled_from([(40, 30), (1200,), (5, 17, 9)]),
    how=st.sampled_from(MAPPINGS),
    seed=st.integers(0, 2**32 - 1),
)
def test_float_sums_have_the_same_bits_in_both_forms_and_every_run(
    shape: tuple[int, ...], how: str, seed: int
) -> None:
    bits = set()
    for interpret in (False, True, False):
        rng = np.random.default_rng(seed)
        graph, program = pl.Graph(pl.Target(tiles=TILES)), pl.Sequence()
        array = (rng.standard_normal(shape) * 10.0 ** rng.integers(-6, 7, shape)).astype(np.float32)
        x = graph.add_variable(pl.FLOAT, shape, "x", initial_value=array)
        put_on_tiles(graph, x, how, rng)
        total = pl.ops.map(pl.ops.reduce(x, None, "add"), program=program)
        engine = pl.Engine(graph, program, interpret=interpret, options=values_only())
        engine.run()
        exact = array.sum(dtype=np.float64)
        assert abs(engine.read(total) - exact) <= 1e-4 * np.abs(array).sum(dtype=np.float64)
        bits.add(engine.read(total).tobytes())
    assert len(bits) == 1


# -- variances, norms, positions of extremes -------------------------------------------------------


SPECIAL = (0.0, -0.0, 1.0, 1.0, -1.0, math.inf, -math.inf, math.nan)


SOONER = forms()[0]
"""The form that is tried where a test names none: by default the interpreted one."""


def computed(expr: pl.Expr, interpret: bool = SOONER) -> Array:
    program = pl.Sequence()
    result = ops.map(expr, program=program)
    assert isinstance(result, pl.Tensor)
    engine = pl.Engine(result.graph, program, interpret=interpret, options=values_only())
    engine.run()
    found: Array = engine.read(result)
    return found


def tensor_of(values: Array, tiles: int = 5, transposed: bool = False) -> pl.Tensor:
    graph = pl.Graph(pl.Target(tiles=tiles))
    stored = values.T if transposed else values
    x = graph.add_variable(values.dtype, stored.shape, "x", mapping="linear", initial_value=stored)
    return x.T if transposed else x


@interpreted_sooner
@examples(40, quick=2)
@given(
    dtype=st.sampled_from(["float32", "float16", "int32", "uint8", "int64"]),
    shape=st.lists(st.integers(1, 6), max_size=3).map(tuple),
    name=st.sampled_from(["argmin", "argmax"]),
    keepdims=st.booleans(),
    is_expression=st.booleans(),
    transposed=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_positions_of_extremes(
    interpret: bool,
    dtype: str,
    shape: tuple[int, ...],
    name: str,
    keepdims: bool,
    is_expression: bool,
    transposed: bool,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        some = rng.choice(SPECIAL, int(rng.integers(1, len(SPECIAL) + 1)))
        values = np.asarray(rng.choice(some, shape), dtype)
    else:
        values = np.asarray(rng.integers(0, 3, shape), dtype)
    dim = None if not shape or rng.random() < 0.3 else int(rng.integers(-len(shape), len(shape)))
    x = tensor_of(values, transposed=transposed)
    operand: Any = abs(x) if is_expression else x
    array = np.abs(values) if is_expression else values
    found = computed(getattr(ops, name)(operand, dim, keepdims=keepdims), interpret)
    assert found.dtype == np.uint32
    np.testing.assert_array_equal(found, getattr(np, name)(array, dim, keepdims=keepdims))


@deep
@examples(12)
@given(
    shape=st.sampled_from([(5000,), (3, 4001), (4001, 3), (700, 11), (2, 257, 5)]),
    tiles=st.sampled_from([1, 7, 100]),
    seed=st.integers(0, 2**32 - 1),
)
def test_positions_among_many(shape: tuple[int, ...], tiles: int, seed: int) -> None:
    values = np.random.default_rng(seed).integers(0, 2000, shape).astype(np.float32)
    for dim in (None, *range(len(shape))):
        x = tensor_of(values, tiles)
        np.testing.assert_array_equal(computed(ops.argmax(x, dim)), values.argmax(dim))
        held = [v for v in x.graph.variables if v.name != "x" and "partials" not in v.name]
        large = [v.num_elements for v in held if v.num_elements >= values.size]
        assert large in ([], [values.size])  # the positions, stored where that is cheaper


@examples(25, quick=2)
@given(
    dtype=st.sampled_from(["float32", "float16"]),
    shape=st.sampled_from([(7,), (40, 30), (3, 200, 2)]),
    dims=st.sampled_from([None, 0, -1, [0, -1]]),
    keepdims=st.booleans(),
    ddof=st.sampled_from([0, 1, 1.5]),
    offset=st.sampled_from([0, 300]),
    seed=st.integers(0, 2**32 - 1),
)
def test_variances_and_norms(
    dtype: str,
    shape: tuple[int, ...],
    dims: int | list[int] | None,
    keepdims: bool,
    ddof: float,
    offset: int,
    seed: int,
) -> None:
    values = np.random.default_rng(seed).normal(offset, 2, shape).astype(dtype)
    x, exact = tensor_of(values), values.astype(np.float64)
    if isinstance(dims, list) and len(shape) == 1:
        dims = None
    axes = tuple(dims) if isinstance(dims, list) else dims
    rest: dict[str, Any] = {"keepdims": keepdims}
    steps = 1e-3 if dtype == "float16" else 3e-5
    small = (2.0**-23 * np.abs(exact).max()) ** 2  # of two nearly equal numbers; means are rounded
    with np.errstate(over="ignore"):
        for found, expected in (
            (
                ops.variance(x, dims, ddof=ddof, keepdims=keepdims),
                exact.var(axes, ddof=ddof, **rest),
            ),
            (
                ops.std(x, dims, ddof=ddof, keepdims=keepdims),
                exact.std(axes, ddof=ddof, **rest),
            ),
            (ops.norm(x, dims, keepdims=keepdims), np.sqrt((exact**2).sum(axes, **rest))),
            (ops.norm(x, dims, ord=1, keepdims=keepdims), np.abs(exact).sum(axes, **rest)),
            (ops.norm(x, dims, ord=math.inf, keepdims=keepdims), np.abs(exact).max(axes, **rest)),
        ):
            got = computed(found)
            assert got.dtype == dtype
            assert got.shape == np.shape(expected)
            np.testing.assert_allclose(got, np.asarray(expected).astype(dtype), steps, small)
