"""Bits of floats in `compute`, and `pl.fma`: equal in every form."""

from __future__ import annotations

import hashlib
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import poplite as pl
from helpers.depth import deep, thinned, values_only
from helpers.running import words_of
from poplite.vertex.compute.meaning import check

# -- bits ------------------------------------------------------------------------------------------


Array = npt.NDArray[Any]

HALVES = np.arange(1 << 16, dtype=np.uint16)
"""The bits of every half."""


class Bits(pl.Vertex):
    """Bits of numbers, and numbers of bits."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    n: pl.Input[pl.Vector[pl.UNSIGNED_INT]]
    bits: pl.Output[pl.Vector[pl.UNSIGNED_INT]]
    halves: pl.Output[pl.Vector[pl.UNSIGNED_SHORT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]
    z: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        """Each in its field."""
        for i in range(len(self.x)):
            self.bits[i] = pl.float_bits(self.x[i])
            self.halves[i] = pl.half_bits(self.x[i])
            self.y[i] = pl.float_from_bits(self.n[i] ^ 1)
            self.z[i] = pl.half_from_bits(self.n[i])


def numbers(step: int) -> tuple[Array, Array]:
    """Return halves, numbers between them, edges, and as many bits; each `step`-th of all."""
    halves = HALVES[::7].view(np.float16).astype(np.float32)
    drawn = np.random.default_rng(3).integers(0, 1 << 32, 1000, dtype=np.uint32)
    edges = [
        65519.0,
        65520.0,
        2.0**-25,
        np.nextafter(np.float32(2.0**-25), 1),
        1e-45,
        0.0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
    ]
    halves = halves[np.isfinite(halves)]
    x = np.concatenate(
        [halves, halves * 1.0004, drawn.view(np.float32), np.array(edges, np.float32)]
    )
    n = np.resize(np.concatenate([HALVES[::3].astype(np.uint32), drawn]), len(x))
    return x.astype(np.float32)[::step], n.astype(np.uint32)[::step]


def one_nan(bits: Array, kind: Any, nan: int) -> Array:
    """Return bits, with those of one NaN for each."""
    return np.where(np.isnan(bits.view(kind)), nan, bits)


def expected(x: Array, n: Array) -> list[Array]:
    """Return what `Bits` writes, by NumPy's views; floats as their bits."""
    with np.errstate(all="ignore"):
        halves = x.astype(np.float16).view(np.uint16)
        z = n.astype(np.uint16).view(np.float16).astype(np.float32).view(np.uint32)
    return [
        one_nan(x.view(np.uint32), np.float32, 0x7FC00000),
        one_nan(halves, np.float16, 0x7E00),
        n ^ 1,
        one_nan(z, np.float32, 0x7FC00000),
    ]


@pytest.mark.parametrize("traps", [False, True])
@pytest.mark.parametrize("interpret", [False, True])
def test_bits_are_those_of_numpy_in_every_form(interpret: bool, traps: bool) -> None:
    x, n = numbers(17 if interpret else 1)
    graph = pl.Graph(pl.Target(tiles=1))
    cs = graph.add_compute_set("bits")
    fields = {
        "x": graph.add_variable(pl.FLOAT, x.shape, "x", mapping=0),
        "n": graph.add_variable(pl.UNSIGNED_INT, x.shape, "n", mapping=0),
        "bits": graph.add_variable(pl.UNSIGNED_INT, x.shape, "bits", mapping=0),
        "halves": graph.add_variable(pl.UNSIGNED_SHORT, x.shape, "halves", mapping=0),
        "y": graph.add_variable(pl.FLOAT, x.shape, "y", mapping=0),
        "z": graph.add_variable(pl.FLOAT, x.shape, "z", mapping=0),
    }
    graph.add_vertex(cs, Bits, tile=0, **fields)
    options = {**(values_only() or {}), "debug.floatPointOpException": traps}
    engine = pl.Engine(graph, pl.Execute(cs), interpret=interpret, options=options)
    engine.write(fields["x"], x)
    engine.write(fields["n"], n)
    engine.run()
    found = [engine.read(fields[name]) for name in ("bits", "halves", "y", "z")]
    found = [each.view(np.uint32) if each.dtype == np.float32 else each for each in found]
    for one, other in zip(found, expected(x, n), strict=True):
        assert np.array_equal(one, other)


def test_arrays_have_the_bits_of_a_vertex() -> None:
    x, n = numbers(31)
    made = [pl.float_bits(x), pl.half_bits(x), pl.float_from_bits(n ^ 1), pl.half_from_bits(n)]
    assert [each.dtype for each in made] == [np.uint32, np.uint16, np.float32, np.float32]
    found = [each.view(np.uint32) if each.dtype == np.float32 else each for each in made]
    for one, other in zip(found, expected(x, n), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: pl.float_bits("1"), "pl.float_bits: value is '1'"),
        (lambda: pl.half_bits(np.array(["a"])), "pl.half_bits does not take an array of <U1"),
        (lambda: pl.float_from_bits(1.0), "pl.float_from_bits: value is 1.0"),
        (
            lambda: pl.half_from_bits(np.zeros(2)),
            "pl.half_from_bits does not take an array of float64",
        ),
    ],
)
def test_what_is_not_a_number_is_refused(call: Any, told: str) -> None:
    with pytest.raises(pl.ElementTypeError) as caught:
        call()
    assert told in caught.value.what


def test_bits_of_a_float_are_refused_in_compute() -> None:
    class Wrong(pl.Vertex):
        x: pl.InOut[pl.FLOAT]

        def compute(self) -> None:
            self.x = pl.float_from_bits(self.x)

    graph = pl.Graph(pl.Target(tiles=1))
    cs = graph.add_compute_set("cs")
    x = graph.add_variable(pl.FLOAT, (), "x", mapping=0, initial_value=1)
    graph.add_vertex(cs, Wrong, tile=0, x=x)
    with pytest.raises(pl.VertexCompileError, match="from_bits does not take a float") as caught:
        pl.Engine(graph, pl.Execute(cs))
    assert caught.value.fix == "write pl.float_from_bits(int(self.x))"


class LowBits(pl.Vertex):
    """Lanes without their lowest 16 bits."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        """Through a function of one lane."""
        for i in range(0, len(self.x), 64):
            self.x.set_lanes(i, pl.lanes.map(cut, self.x.lanes(i)))


def cut(x: float) -> Any:
    """Return a number without its lowest 16 bits."""
    return pl.float_from_bits(pl.float_bits(x) & 0xFFFF0000)


@pytest.mark.parametrize("interpret", [False, True])
def test_lanes_are_mapped(interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    cs = graph.add_compute_set("cs")
    values = np.random.default_rng(1).standard_normal(100).astype(np.float32)
    x = graph.add_variable(pl.FLOAT, (100,), "x", mapping=0, initial_value=values)
    graph.add_vertex(cs, LowBits, tile=0, x=x)
    engine = pl.Engine(graph, pl.Execute(cs), interpret=interpret, options=values_only())
    engine.run()
    assert np.array_equal(engine.read(x), (values.view(np.uint32) & 0xFFFF0000).view(np.float32))


def test_bits_are_priced() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    cs = graph.add_compute_set("cs")
    x = graph.add_variable(pl.FLOAT, (100,), "x", mapping=0, initial_value=1)
    graph.add_vertex(cs, LowBits, tile=0, x=x)
    engine = pl.Engine(graph, pl.Execute(cs))
    engine.run()
    cycles = engine.report().cycles
    assert cycles is not None
    assert 100 <= cycles <= 10_000


class NextCode(pl.Vertex):
    """The code after each one of a QUARTER tensor, whose elements are connected as codes."""

    codes: pl.InOut[pl.Vector[pl.UNSIGNED_CHAR]]

    def compute(self) -> None:
        """One more, and the same sign."""
        for i in range(len(self.codes)):
            self.codes[i] = (self.codes[i] & 0x80) | ((self.codes[i] + 1) & 0x7F)


@pytest.mark.parametrize("form", [{"interpret": True}, {"checks": "strict"}, {"checks": "fast"}])
def test_codes_of_quarter_are_unsigned_chars(form: Any) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    metadata = pl.QuarterMetadata("F143", 0)
    q = graph.add_variable(pl.QUARTER, (4,), "q", mapping=0, metadata=metadata)
    cs = graph.add_compute_set("next")
    graph.add_vertex(cs, NextCode, tile=0, codes=q.reinterpret(pl.UNSIGNED_CHAR))
    engine = pl.Engine(graph, pl.Execute(cs), options=values_only(), **form)
    engine.write(q, [1.0, -1.5, 0.0, 224.0])
    engine.run()
    assert engine.read(q).tolist() == [1.125, -1.625, 2.0**-10, 240.0]


# -- `pl.fma` --------------------------------------------------------------------------------------


SPECIAL = np.array(
    [
        *(0.0, 1.0, 2.0, 3.0, np.inf, np.nan, 1e-45, 2.0**-126, 2.0**-75, 2.0**-74, 2.0**64),
        *(3.4028235e38, 1 + 2.0**-23, 1 - 2.0**-24, 2.0**-24, 2.0**-25, 1e-30, 16777217.0),
    ],
    np.float32,
)
SPECIAL = np.concatenate([SPECIAL, -SPECIAL])


def once(x: float, y: float, z: float, digits: int, least: int, most: int) -> float:
    """Return `x * y + z` by fractions, rounded to some digits, to multiples of 2 ** least."""
    if not (math.isfinite(x) and math.isfinite(y)):
        return x * y + z
    if not math.isfinite(z):
        return z
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    if exact == 0:
        sign = math.copysign(1, x) * math.copysign(1, y)
        is_sum_of_zeros = x * y == 0 == z
        return -0.0 if is_sum_of_zeros and sign < 0 and math.copysign(1, z) < 0 else 0.0
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    unit = Fraction(2) ** max(exponent - digits + 1, least)
    rounded = round(size / unit) * unit
    result = math.inf if rounded >= Fraction(2) ** most else float(rounded)
    return result if exact > 0 else -result


def drawn(seed: int, count: int) -> tuple[Array, Array, Array]:
    """Draw float32 of which many cancel, or lie near the middle between two numbers."""
    rng = np.random.default_rng(seed)

    def numbers() -> Array:
        bits = rng.integers(0, 1 << 32, count, dtype=np.uint32)
        few = bits & np.uint32(0xFFFFF000)
        small = bits & np.uint32(0x80FFFFFF)
        usual = rng.standard_normal(count).astype(np.float32)
        kinds = [bits.view(np.float32), few.view(np.float32), small.view(np.float32), usual]
        return np.choose(rng.integers(0, 5, count), [*kinds, rng.choice(SPECIAL, count)])

    x, y, z = numbers(), numbers(), numbers()
    with np.errstate(all="ignore"):
        near = x.astype(np.float64) * y * rng.choice([-1, 2.0**-24, -(2.0**25), 2.0**30], count)
        z = np.where(rng.random(count) < 0.4, near.astype(np.float32), z)
        scale = np.float32(2) ** rng.integers(-60, 60, count).astype(np.float32)
    # Products in the middle of two float32, and a third number that decides.
    of_tie = rng.random(count) < 0.2
    middle = 1 + 2.0**-12 * (2 * rng.integers(0, 1 << 11, (2, count)) + 1)
    x = np.where(of_tie, middle[0].astype(np.float32) * scale, x)
    y = np.where(of_tie, middle[1].astype(np.float32), y)
    tiny = rng.choice([-1, 1], count) * 2.0 ** rng.integers(-149, -30, count)
    return x, y, np.where(of_tie, tiny.astype(np.float32), z)


def bits(values: Any) -> Any:
    """The bits of numbers; those of NaN, whichever it is, are the same."""
    values = np.asarray(values)
    kind = np.int32 if values.dtype == np.float32 else np.int64
    return np.where(np.isnan(values), values.dtype.type(np.nan), values).view(kind)


@pytest.mark.parametrize("seed", thinned(range(40), [0]))
def test_it_is_rounded_once(seed: int) -> None:
    x, y, z = drawn(seed, 3_000)
    rows = list(zip(x.tolist(), y.tolist(), z.tolist(), strict=True))
    expected = np.array([once(*row, 24, -149, 128) for row in rows], np.float32)
    np.testing.assert_array_equal(bits(pl.fma(x, y, z)), bits(expected))
    each = [pl.fma(*row) for row in zip(x, y, z, strict=True)]
    assert {type(number) for number in each} == {np.float32}
    np.testing.assert_array_equal(bits(each), bits(expected))
    lanes = [pl.lanes.Lanes(part[:64]) for part in (x, y, z)]
    np.testing.assert_array_equal(bits(pl.fma(*lanes).to_numpy()), bits(expected[:64]))


@pytest.mark.parametrize("seed", thinned(range(20), [0]))
def test_doubles_are_rounded_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1.0, 1.0], (3, 2_000))
    x, y, z = signs * rng.random((3, 2_000)) * 2.0 ** rng.integers(-1074, 1024, (3, 2_000))
    with np.errstate(all="ignore"):
        z = np.where(rng.random(2_000) < 0.5, -x * y * rng.choice([1, 2.0**53], 2_000), z)
    values = [*zip(x.tolist(), y.tolist(), z.tolist(), strict=True)]
    values += [(a, b, c) for a in SPECIAL[:6].tolist() for b in (-0.0, 3.0) for c in (-0.0, -3.0)]
    expected = [once(*row, 53, -1074, 1024) for row in values]
    np.testing.assert_array_equal(bits([pl.fma(*row) for row in values]), bits(expected))
    np.testing.assert_array_equal(bits(pl.fma(x, y, z)), bits(expected[:2_000]))


SOURCE = """
import numpy as np

import poplite as pl


class Fused(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Input[pl.Vector[pl.FLOAT]]
    z: pl.Input[pl.Vector[pl.FLOAT]]
    out: pl.Output[pl.Vector[pl.Vector[pl.FLOAT]]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.out[0][i] = pl.fma(self.x[i], self.y[i], self.z[i])
        for i in range(len(self.x)):
            self.out[1][i] = pl.fma(0.1 * i, 0.1, -0.01 * i * i)
        for i in range(0, len(self.x), 64):
            self.out[2].set_lanes(i, pl.fma(self.x.lanes(i), self.y.lanes(i), self.z.lanes(i)))
        for i in range(0, len(self.x), 64):
            self.out[3].set_lanes(i, pl.fma(i, pl.lanes.map(pl.fma, self.x.lanes(i), 0.1, 2), 0.1))


def results(x, y, z, **options):
    graph = pl.Graph(pl.Target(tiles=1))
    fields = {
        name: graph.add_variable(pl.FLOAT, x.shape, name, mapping=0, initial_value=values)
        for name, values in {"x": x, "y": y, "z": z}.items()
    }
    fields["out"] = graph.add_variable(pl.FLOAT, (4, len(x)), "out", mapping=0)
    work = graph.add_compute_set("work")
    graph.add_vertex(work, Fused, tile=0, **fields)
    engine = pl.Engine(graph, pl.Execute(work), **options)
    engine.run()
    return engine.read(fields["out"])
"""


def module(folder: Path) -> dict[str, Any]:
    """Return what the text above defines."""
    names: dict[str, Any] = {"__name__": "all_fused"}
    path = folder / "all_fused.py"
    path.write_text(SOURCE)
    exec(compile(SOURCE, str(path), "exec"), names)
    return names


def by_numpy(x: Array, y: Array, z: Array) -> Array:
    """The results of the vertex."""
    i = np.arange(len(x))
    first = (i // 64 * 64).astype(np.float32)
    tenth = np.float32(0.1)
    return np.stack(
        [
            pl.fma(x, y, z),
            pl.fma(0.1 * i, 0.1, -0.01 * i * i).astype(np.float32),
            pl.fma(x, y, z),
            pl.fma(first, pl.fma(x, tenth, 2), tenth),
        ]
    )


def test_all_forms_have_equal_bits(tmp_path: Path) -> None:
    results = module(tmp_path)["results"]
    x, y, z = drawn(1, 10_007)
    expected = by_numpy(x, y, z)
    np.testing.assert_array_equal(bits(results(x, y, z, options=values_only())), bits(expected))
    few = slice(0, 333)
    interpreted = results(x[few], y[few], z[few], interpret=True, options=values_only())
    np.testing.assert_array_equal(bits(interpreted), bits(expected[:, few]))


@deep
def test_a_processor_without_the_instruction_has_equal_bits(tmp_path: Path) -> None:
    x, y, z = drawn(2, 10_007)
    np.save(tmp_path / "xyz.npy", [x, y, z])
    script = SOURCE + (
        "\nimport hashlib\n"
        "x, y, z = np.load('xyz.npy')\n"
        "found = results(x, y, z, options={'debug.allowOutOfMemory': True})\n"
        "found = np.where(np.isnan(found), np.float32(np.nan), found)\n"
        "print(hashlib.sha256(found.tobytes()).hexdigest())\n"
    )
    made = by_numpy(x, y, z)
    expected = np.where(np.isnan(made), np.float32(np.nan), made)
    generic = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    assert words_of(tmp_path, script, **generic) == [hashlib.sha256(expected.tobytes()).hexdigest()]


class Lengths(pl.Vertex):
    """Lanes of three lengths, and numbers in their places."""

    n: pl.Input[pl.Vector[pl.INT]]
    x: pl.Input[pl.Vector[pl.FLOAT]]
    out: pl.Output[pl.Vector[pl.Vector[pl.FLOAT]]]

    def compute(self) -> None:
        a = self.x.lanes(0, self.n[0])
        b = self.x.lanes(1, self.n[1])
        c = self.x.lanes(2, self.n[2])
        self.out[0].set_lanes(0, pl.fma(a, b, c))
        self.out[1].set_lanes(0, pl.fma(a, 0.3, c))
        self.out[2].set_lanes(0, pl.fma(0.3, a, 1))
        self.out[3].set_lanes(0, pl.fma(3, 0.3, c))
        self.out[4].set_lanes(0, pl.fma(self.x.lanes(0, 16), b, pl.lanes.full(1.0)))


def of_lanes(x: Any, y: Any, z: Any) -> list[Any]:
    """What lanes give, one by one; numbers are float32."""

    def lane(values: Any, j: int) -> Any:
        return values[j] if isinstance(values, np.ndarray) else values

    product = min(len(each) for each in (x, y) if isinstance(each, np.ndarray))
    third = len(z) if isinstance(z, np.ndarray) else product
    beside = [lane(z, j) if j < third else np.float32(-0.0) for j in range(product)]
    made = [pl.fma(lane(x, j), lane(y, j), beside[j]) for j in range(product)]
    return made + [z[j] for j in range(product, third)]


LENGTHS = [(a, b, c) for a in (0, 5, 64) for b in (5, 7) for c in (0, 6, 64)]


@pytest.mark.parametrize(("first", "second", "third"), thinned(LENGTHS, LENGTHS[4:18:5]))
def test_absent_lanes_take_no_part(first: int, second: int, third: int) -> None:
    n = first, second, third
    x = np.random.default_rng(sum(n)).standard_normal(66).astype(np.float32)
    x[3] = -0.0
    a, b, c = (x[k : k + count] for k, count in enumerate(n))
    number, ones = np.float32(0.3), np.ones(64, np.float32)
    lists = [of_lanes(a, b, c), of_lanes(a, number, c), of_lanes(number, a, np.float32(1))]
    lists += [list(pl.fma(np.float32(3), number, c)), of_lanes(x[:16], b, ones)]
    expected = [np.array(each, np.float32) for each in lists]
    for interpret in (False, True):
        graph = pl.Graph(pl.Target(tiles=1))
        out = graph.add_variable(pl.FLOAT, (5, 64), "out", mapping=0)
        work = graph.add_compute_set("work")
        fields = {
            "n": graph.add_constant(pl.INT, (3,), n, mapping=0),
            "x": graph.add_constant(pl.FLOAT, x.shape, x, mapping=0),
        }
        graph.add_vertex(work, Lengths, tile=0, out=out, **fields)
        engine = pl.Engine(
            graph, pl.Execute(work), interpret=interpret, checks="fast", options=values_only()
        )
        engine.run()
        for row, values in zip(engine.read(out), expected, strict=True):
            assert row[: len(values)].tobytes() == values.tobytes()
            assert not row[len(values) :].any()


class Adds(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    in_lanes: pl.State[pl.BOOL]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        if self.in_lanes:
            x = self.x.lanes(0, 1)
            self.y.set_lanes(0, pl.fma(x, self.x.lanes(1, 1), self.x.lanes(2, 1)))
        else:
            self.y[0] = pl.fma(self.x[0], self.x[1], self.x[2])


@pytest.mark.parametrize(
    ("x", "trapped"),
    [
        ((3e38, 2.0, -3e38), ""),  # the product alone would be too large
        ((3e38, 2.0, 0.0), "OVERFLOW: fma"),
        ((3e38, np.inf, 0.0), ""),
        ((np.inf, 0.0, 1.0), "INVALID_OPERATION: fma"),
        ((np.inf, 1.0, -np.inf), "INVALID_OPERATION: fma"),
        ((1.0, 1.0, np.nan), "INVALID_OPERATION: fma"),
    ],
)
@pytest.mark.parametrize("in_lanes", [False, True])
def test_what_is_trapped(x: tuple[float, ...], trapped: str, in_lanes: bool) -> None:
    for interpret in (False, True):
        graph = pl.Graph(pl.Target(tiles=1))
        y = graph.add_variable(pl.FLOAT, (1,), "y", mapping=0)
        work = graph.add_compute_set("work")
        given = graph.add_constant(pl.FLOAT, (3,), x, mapping=0)
        graph.add_vertex(work, Adds, tile=0, x=given, y=y, in_lanes=in_lanes)
        behaviour = pl.FloatingPointBehaviour(esr=False, nanoo=False)
        program = pl.Sequence(pl.SetFloatingPointBehaviour(behaviour), pl.Execute(work))
        engine = pl.Engine(graph, program, interpret=interpret, options=values_only())
        if trapped:
            with pytest.raises(pl.FloatingPointTrap, match=f"FLOATING_POINT_{trapped}"):
                engine.run()
        else:
            engine.run()
            assert engine.read(y)[0] == pl.fma(*np.array(x, np.float32))


fused: Any = pl.fma


class TwoNumbers(pl.Vertex):
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        self.y = fused(0.5, 2.0)


class OfInts(pl.Vertex):
    n: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        self.n.set_lanes(0, pl.fma(self.n.lanes(0), 2, 1))


@pytest.mark.parametrize(
    ("cls", "what", "fix"),
    [
        (TwoNumbers, "fused takes 3 numbers, not 2", "pass three numbers"),
        (
            OfInts,
            "pl.fma is not defined for lanes of ints",
            "use x * y + z, which is exact for ints",
        ),
    ],
)
def test_what_is_refused(cls: type[pl.Vertex], what: str, fix: str) -> None:
    with pytest.raises(pl.VertexCompileError) as raised:
        check(cls)
    assert what in raised.value.what
    assert raised.value.fix == fix


class ByName(pl.Vertex):
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        self.y = pl.fma(0.5, 2.0, z=1.0)


def test_it_takes_no_keywords() -> None:
    with pytest.raises(pl.VertexCompileError, match="pl.fma takes no keyword arguments"):
        check(ByName)


ROW = np.ones(2, np.float32)
FLOATS = pl.lanes.Lanes(ROW)
X = pl.Graph().add_variable(pl.FLOAT, (2,), "x")


@pytest.mark.parametrize(
    ("values", "what", "fix"),
    [
        ((None, 1, 2), "x is None", "a number"),
        ((1, "1.5", 2), "y is '1.5'", "a number"),
        ((1, 2, [1.0]), "z is [1.0]", "a number"),
        ((1j, 1, 2), "x is 1j", "a number"),
        ((Fraction(1, 3), 1, 2), "x is Fraction(1, 3)", "a number"),
        ((np.longdouble(1), 1, 2), "x is np.longdouble", "a number"),
        ((10**400, 1, 2), "x is about 10^400", "a float"),
        ((X, 1, 2), "x is <Tensor 'x'", "use x * y + z in a graph"),
        ((1, X + 1, 2), "y is <Expr x + 1.0", "use x * y + z in a graph"),
        ((ROW, None, 1), "y is None", "a number"),
        ((ROW, "1.5", 1), "y is '1.5'", "a number"),
        ((np.ma.array(ROW, mask=[False, True]), 1, 1), "x is masked_array", "a number"),
        ((ROW, np.ones(2), 1), "arrays of float32 and float64", "x.astype(np.float32)"),
        ((np.arange(2), 2, 1), "arrays of int64", "x.astype(np.float32)"),
        ((ROW, np.ones(3, np.float32), 1), "shapes (2,) and (3,) do not match", "one shape"),
        ((FLOATS, None, 1), "y is None", "a number"),
        (
            (FLOATS, np.ones(2), 1),
            "the value combined with lanes is array([1., 1.])",
            "pass lanes or a number",
        ),
        (
            (FLOATS, pl.lanes.Lanes(np.arange(2)), 1),
            "lanes of float32s cannot be combined with lanes of ints",
            "one",
        ),
        (
            (pl.lanes.Lanes(np.arange(2, dtype=np.int32)), 2, 1),
            "lanes of ints",
            "which is exact",
        ),
        (
            (pl.lanes.Lanes(np.arange(2)), 0.5, 1),
            "lanes of ints cannot be combined with a Python float",
            "converted to it",
        ),
        (
            (pl.lanes.Lanes(ROW > 0), 2, 1),
            "lanes of truth values cannot be combined with an int",
            "converted to it",
        ),
    ],
)
def test_what_is_refused_outside_of_compute(values: Any, what: str, fix: str) -> None:
    with pytest.raises(
        (pl.ElementTypeError, pl.SizeOverflowError, pl.TensorCreationError)
    ) as raised:
        pl.fma(*values)
    assert raised.value.what.startswith("pl.fma")
    assert what in raised.value.what
    assert fix in raised.value.fix
    assert raised.value.at is not None
    assert raised.value.at.file == __file__


def test_halves_count_as_float32() -> None:
    halves = np.array([[0.1], [0.1], [0.3]], np.float16)
    expected = pl.fma(*halves.astype(np.float32))
    for values in (halves, halves[:, 0]):
        made = pl.fma(*values)
        assert made.dtype == np.float32
        assert made == expected
    assert pl.fma(*map(pl.lanes.Lanes, halves)).to_numpy() == expected


@pytest.mark.filterwarnings("error")
def test_a_number_that_becomes_an_infinity_beside_float32_does_not_warn() -> None:
    for one in (ROW[0], ROW, FLOATS, pl.lanes.full(1e300)):
        made = pl.fma(one, 1e300, 0)
        assert np.isinf(made.to_numpy() if isinstance(made, pl.lanes.Lanes) else made).all()
