"""Random numbers: published vectors, NumPy's arithmetic, equal bits wherever they lie."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples, interpreted, thinned, values_only
from helpers.running import interpreted_sooner
from poplite import ops
from poplite.ops import random
from poplite.vertices.random import block_reference, words_reference

Array = npt.NDArray[Any]

PI_DIGITS = [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0]


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([2**32 - 1] * 4, [2**32 - 1] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (PI_DIGITS[:4], PI_DIGITS[4:], [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]),
    ],
)
def test_vectors_of_random123(counter: list[int], key: list[int], expected: list[int]) -> None:
    """Source: Random123, tests/kat_vectors, philox4x32 10."""
    block = counter[0] | counter[1] << 32
    found = block_reference(np.array([block], np.uint64), [*key, *counter[2:]])
    assert found[0].tolist() == expected


def drawn(
    record: Callable[[pl.Tensor, pl.Sequence], pl.Tensor],
    seed: int = 1,
    interpret: bool = False,
    runs: int = 1,
    tiles: int = 5,
) -> Array:
    """What the last of some draws gives."""
    graph, program = pl.Graph(pl.Target(tiles=tiles)), pl.Sequence()
    result = record(random.key(graph, seed, tile=tiles - 1), program)
    engine = pl.Engine(graph, program, interpret=interpret, options=values_only())
    for _ in range(runs):
        engine.run()
    found: Array = engine.read(result)
    return found


def counter(seed: int, draw: int = 0) -> list[int]:
    return [seed % 2**32, seed >> 32, draw % 2**32, draw >> 32]


def units(count: int, seed: int = 1) -> Array:
    """Numbers from 0 to 1."""
    return (words_reference(count, counter(seed)) >> 8).astype(np.float32) * np.float32(2**-24)


def place(graph: pl.Graph, x: pl.Tensor, run: int) -> None:
    """Put runs of so many elements on tiles that do not follow each other."""
    for begin in range(0, x.num_elements, run):
        graph.set_tile_mapping(x.flatten()[begin : begin + run], begin * 5 % 4)


@interpreted_sooner
@examples(40)
@given(
    shape=st.sampled_from([(), (1,), (3,), (4,), (5,), (0,), (67, 3), (2, 5, 7), (129,)]),
    seed=st.integers(0, 2**64 - 1),
    run=st.sampled_from([1, 7, 32, 1000]),
)
def test_numbers_do_not_depend_on_tiles(
    interpret: bool, shape: tuple[int, ...], seed: int, run: int
) -> None:
    def draw(key: pl.Tensor, program: pl.Sequence) -> pl.Tensor:
        out = key.graph.add_variable(pl.FLOAT, shape, "x")
        place(key.graph, out, run)
        return random.uniform(key, out=out, program=program)

    count = math.prod(shape)
    expected = units(count, seed).reshape(shape)
    np.testing.assert_array_equal(drawn(draw, seed, interpret), expected)


def test_a_view_is_drawn_in_its_own_order() -> None:
    def draw(key: pl.Tensor, program: pl.Sequence) -> pl.Tensor:
        x = key.graph.add_variable(pl.FLOAT, (6, 9), "x", mapping="linear")
        random.uniform(key, out=x.T, program=program)
        return x

    np.testing.assert_array_equal(drawn(draw), units(54).reshape(9, 6).T)


def test_each_draw_and_each_run_have_other_numbers() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    key = random.key(graph, seed=2**40 + 9)
    graph.set_initial_value(key, np.array([9, 256, 2**32 - 1, 0], np.uint32))
    seen = graph.add_variable(pl.INT, (4, 3, 10), "seen", mapping="linear")
    with graph.steps() as step, ops.repeat(2):
        for row in range(3):
            x = random.integers(key, (10,), -(2**31), 2**31)
            ops.copy(x, seen[3, row])
        for row in range(3):
            ops.copy(seen[1, row], seen[0, row])
            ops.copy(seen[3, row], seen[1, row])
    engine = pl.Engine(graph, step, checks="fast", **interpreted())
    engine.run()
    found = engine.read(seen)
    for draw in range(6):
        words = words_reference(10, counter(2**40 + 9, 2**32 - 1 + draw))
        expected = (words.astype(np.int64) - 2**31).astype(np.int32)
        np.testing.assert_array_equal(found[draw // 3, draw % 3], expected)
    assert engine.read(key).tolist() == [9, 256, 5, 1]


@interpreted_sooner
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3.0, 5.0), (1.0, 1.001), (-1e-7, 6e4)])
def test_uniform_numbers_stay_in_their_range(
    interpret: bool, dtype: str, low: float, high: float
) -> None:
    found = drawn(
        lambda key, program: random.uniform(
            key, (3000,), low, high, element_type=dtype, program=program
        ),
        interpret=interpret,
    )
    kind = np.dtype(dtype).type
    least, most = kind(low), kind(high)
    u = units(3000)
    width = np.float32(most) - np.float32(least)
    below = np.float32(np.nextafter(most, least))
    expected = np.minimum(np.float32(least) + width * u, below).astype(dtype)
    np.testing.assert_array_equal(found, expected)
    assert least <= found.min()
    assert found.max() < most


@interpreted_sooner
@examples(30, quick=2)
@given(
    dtype=st.sampled_from([*(f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64))]),
    ends=st.tuples(st.integers(), st.integers()),
    seed=st.integers(0, 2**64 - 1),
)
def test_whole_numbers(interpret: bool, dtype: str, ends: tuple[int, int], seed: int) -> None:
    limits = np.iinfo(dtype)
    low, high = sorted(int(limits.min) + e % (int(limits.max) - int(limits.min) + 1) for e in ends)
    high = min(high, low + 2**32 - 1) + 1
    found = drawn(
        lambda key, program: random.integers(
            key, (31,), low, high, element_type=dtype, program=program
        ),
        seed,
        interpret,
    )
    words = words_reference(31, counter(seed)).tolist()
    assert found.tolist() == [low + (word * (high - low) >> 32) for word in words]


@pytest.mark.parametrize(
    ("interpret", "dtype", "probability"),
    thinned(
        product([False, True], ["bool", "float32", "float16", "int32", "uint8"], [0, 1e-3, 0.5, 1]),
        [*product([True], ["bool", "float32", "float16", "int32", "uint8"], [0.5])],
    ),
)
def test_bernoulli(interpret: bool, dtype: str, probability: float) -> None:
    found = drawn(
        lambda key, program: random.bernoulli(
            key, (500,), probability, element_type=dtype, program=program
        ),
        interpret=interpret,
    )
    expected = words_reference(500, counter(1)) < round(probability * 2**32)
    np.testing.assert_array_equal(found, expected.astype(dtype))


def cumulated(z: Array) -> Array:
    """The distribution function of normal numbers."""
    return np.array([0.5 * math.erfc(-value / math.sqrt(2)) for value in z.tolist()])


def distance(found: Array, distribution: Callable[[Array], Array]) -> float:
    """The largest distance of two distribution functions, as Kolmogorov and Smirnov take it."""
    ordered = np.sort(found.astype(np.float64))
    steps = np.arange(len(ordered) + 1) / len(ordered)
    true = distribution(ordered)
    return float(max((steps[1:] - true).max(), (true - steps[:-1]).max()))


COUNT = 100_000
FAR = 1.95 / math.sqrt(COUNT)
"""One of a thousand samples is as far from its distribution."""


def test_normal_numbers_are_normal() -> None:
    found = drawn(lambda key, program: random.normal(key, (COUNT,), 3, 2, program=program))
    assert distance((found - 3) / 2, cumulated) < FAR
    words = words_reference(COUNT, counter(1)).astype(np.float64).reshape(-1, 2)
    radius = np.sqrt(-2 * np.log((words[:, 0] + 0.5) / 2**32))
    angle = words[:, 1] / 2**32 * 2 * np.pi
    exact = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).ravel()
    np.testing.assert_allclose((found - 3) / 2, exact, rtol=0, atol=1e-4)


@pytest.mark.parametrize("bound", [0.1, 1.0, 2.0, 5.0])
def test_truncated_normal_numbers_are_normal_between_their_bounds(bound: float) -> None:
    found = drawn(
        lambda key, program: random.truncated_normal(
            key, (COUNT,), deviation=1, bound=bound, program=program
        )
    )
    assert abs(found).max() <= np.float32(bound)
    low = float(cumulated(np.array([-bound]))[0])
    share = math.erf(bound / math.sqrt(2))
    assert distance(found, lambda z: (cumulated(z) - low) / share) < FAR
    t = ((words_reference(COUNT, counter(1)) >> 8) + 0.5) * 2.0**-23 - 1
    np.testing.assert_allclose(
        np.array([math.erf(z / math.sqrt(2)) for z in found.tolist()]), t * share, atol=5e-7
    )


@pytest.mark.parametrize(
    "record",
    thinned(
        [
            lambda key, program: random.normal(key, (999,), program=program),
            lambda key, program: random.truncated_normal(key, (999,), program=program),
            lambda key, program: random.normal(key, (999,), element_type=pl.HALF, program=program),
        ],
        keep=1,
    ),
)
def test_forms_have_equal_bits(record: Any) -> None:
    np.testing.assert_array_equal(drawn(record), drawn(record, interpret=True))


@pytest.mark.parametrize(
    ("interpret", "dtype", "rate"),
    thinned(
        product([False, True], ["float32", "float16"], [0, 0.25, 1]),
        [(True, "float16", 0.25), (True, "float32", 0.25)],
    ),
)
def test_dropout_and_its_gradient_drop_the_same(interpret: bool, dtype: str, rate: float) -> None:
    graph, program = pl.Graph(pl.Target(tiles=5)), pl.Sequence()
    values = np.linspace(-3, 9, 45, dtype=dtype).reshape(5, 9)
    x = graph.add_variable(dtype, (5, 9), "x", mapping="linear", initial_value=values)
    g = graph.add_variable(dtype, (9, 5), "g", mapping=2, initial_value=values.T[::-1])
    key = random.key(graph, 3)
    random.uniform(key, (3,), program=program)
    y, used = random.dropout(key, x, rate, program=program)
    back = random.dropout_gradient(used, g.T, rate, program=program)
    random.dropout(key, x, rate, out=x, program=program)
    engine = pl.Engine(graph, program, interpret=interpret, options=values_only())
    engine.run()
    for result, source, draw in ((y, values, 1), (back, values[:, ::-1], 1), (x, values, 2)):
        kept = words_reference(45, counter(3, draw)).reshape(5, 9) < round((1 - rate) * 2**32)
        scale = np.float32(1 / (1 - rate) if rate < 1 else 0)
        expected = np.where(kept, source.astype(np.float32) * scale, 0).astype(dtype)
        np.testing.assert_array_equal(engine.read(result), expected)
    assert engine.read(used).tolist() == counter(3, 1)


def test_what_is_dropped_is_zero_even_where_it_was_no_number() -> None:
    graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    x = graph.add_variable(pl.FLOAT, (40,), "x", mapping="linear", initial_value=np.nan)
    y, _ = random.dropout(random.key(graph, 3), x * 2, 0.5, program=program)
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    found = engine.read(y)
    assert 5 < np.isnan(found).sum() < 35
    assert set(found[~np.isnan(found)]) == {0}


def test_a_saved_program_draws_the_same(tmp_path: Path) -> None:
    graph, program = pl.Graph(pl.Target(tiles=5)), pl.Sequence()
    key = random.key(graph, 11)
    made = [random.normal(key, (50,), program=program), random.uniform(key, (50,), program=program)]
    for number, each in enumerate(made):
        graph.create_host_read(f"x{number}", each)
    pl.compile_graph(graph, program).save(tmp_path / "drawn.poplite")
    engines = [
        pl.Engine(graph, program, **interpreted()),
        pl.Engine(pl.Executable.load(tmp_path / "drawn.poplite"), **interpreted()),
    ]
    for engine in engines:
        engine.run()
    for number in range(2):
        mine, other = (engine.read(f"x{number}") for engine in engines)
        np.testing.assert_array_equal(mine, other)


def any_of(value: object) -> Any:
    """A value of a type that is refused."""
    return value


@pytest.mark.parametrize(
    ("record", "text"),
    [
        (lambda g, k, x: random.key(g, -1), "seed is -1"),
        (lambda g, k, x: random.key(g, 2**64), "from 0 to 18446744073709551615"),
        (lambda g, k, x: random.key(g, any_of(0.5)), "seed is 0.5"),
        (lambda g, k, x: random.uniform(x, (3,)), "key must be UNSIGNED_INT[4]"),
        (lambda g, k, x: random.uniform(any_of(7), (3,)), "given 7"),
        (lambda g, k, x: random.uniform(k), "neither shape nor out is given"),
        (lambda g, k, x: random.uniform(k, (8,), out=x), "both shape and out are given"),
        (
            lambda g, k, x: random.uniform(k, out=x, mapping=0),
            "mapping cannot be given with out 'x'",
        ),
        (
            lambda g, k, x: random.uniform(k, (3,), 1, 1),
            "low 1 and high 1 do not form a valid range of FLOAT",
        ),
        (
            lambda g, k, x: random.uniform(k, (3,), 1, 1.0001, element_type=pl.HALF),
            "rounded, they are 1.0 and 1.0, 0 apart",
        ),
        (lambda g, k, x: random.uniform(k, (3,), -3e38, 3e38), "6e+38 apart"),
        (lambda g, k, x: random.uniform(k, (3,), math.nan, 1), "low is nan"),
        (lambda g, k, x: random.uniform(k, (3,), element_type=pl.INT), "numbers of type INT"),
        (lambda g, k, x: random.uniform(k, out=x.broadcast(2, 0)), "out 'x'"),
        (lambda g, k, x: random.uniform(k, out=any_of(x * 2)), "store it first"),
        (lambda g, k, x: random.integers(k, (3,), 4, 4), "there are 0 numbers"),
        (lambda g, k, x: random.integers(k, (3,), 0, 2**31 + 1), "high is 2147483649"),
        (lambda g, k, x: random.integers(k, out=k), "out 'key' shares elements with the key"),
        (
            lambda g, k, x: random.integers(k, (3,), 0, 2**32 + 1, element_type="int64"),
            "there are 4294967297 numbers",
        ),
        (lambda g, k, x: random.bernoulli(k, (3,), 1.5), "probability is 1.5"),
        (lambda g, k, x: random.bernoulli(k, (3,), any_of("a")), "probability is 'a'"),
        (lambda g, k, x: random.normal(k, (3,), 0, -1), "deviation is -1"),
        (lambda g, k, x: random.normal(k, (3,), math.inf), "mean is inf"),
        (lambda g, k, x: random.truncated_normal(k, (3,), bound=0), "bound is 0"),
        (lambda g, k, x: random.dropout(k, x, -0.1), "rate is -0.1"),
        (lambda g, k, x: random.dropout(k, k, 0.1), "'key' is UNSIGNED_INT"),
        (lambda g, k, x: random.dropout(k, x, 0.1, out=x[:3]), "out 'x' is float32[3]"),
    ],
)
def test_refusals(record: Callable[..., Any], text: str) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    key = random.key(graph, 3)
    x = graph.add_variable(pl.FLOAT, (8,), "x", mapping="linear")
    with graph.steps(), pytest.raises(pl.PopliteError) as raised:
        record(graph, key, x)
    assert text in str(raised.value)
    assert raised.value.at is not None
    assert raised.value.at.file.endswith("test_random_numbers.py")
