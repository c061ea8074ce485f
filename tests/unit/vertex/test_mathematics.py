"""Functions of `math` for float32 and doubles: near the true values, equal bits in every form."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import poplite as pl
from helpers.depth import deep, values_only
from helpers.running import words_of
from poplite.testing.mathematics import (
    COMPOSITES,
    FUNCTIONS,
    LIMITS,
    USUAL,
    errors,
    in_double,
    main,
    worst_double,
)
from poplite.vertex.compute.mathematics import DOUBLES, KERNELS, PAIRS, evaluate

# -- float32 ---------------------------------------------------------------------------------------


STEP = 40_009
"""Every so many numbers of float32 are tried: some 100,000; all signs and exponents are there."""

SPECIAL = np.array(
    [
        *(0.0, 1.0, np.inf, np.nan, 1e-45, 1.1754944e-38, 3.4028235e38, 0.5, 2.0, 3.0, 2.5, 10.0),
        *(1e3, 88.72, 88.73, 103.9, 104.0, 27.0, 16777216.0, 16777217.0, 0.99999994, 1.0000001),
        *(0.785398, 1.5707964, 3.1415927, 1e10, 1e30),
    ],
    np.float32,
)
SPECIAL = np.concatenate([SPECIAL, -SPECIAL])


def numbers() -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """Numbers of all exponents, of the sizes that functions are used for, and special ones."""
    random = np.random.default_rng(1)
    spread = np.arange(0, 1 << 32, STEP, dtype=np.uint32).view(np.float32)
    usual = random.standard_normal(20_000) * random.choice([1e-3, 0.5, 2, 10, 50], 20_000)
    return np.concatenate([spread, usual.astype(np.float32), SPECIAL])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_one_number_are_near_the_true_values(name: str) -> None:
    x = numbers()
    with np.errstate(all="ignore"):
        error = errors(evaluate(name, x), in_double(name)(x.astype(np.float64)))
    worst = int(error.argmax())
    assert error[worst] <= LIMITS.get(name, USUAL), (x[worst], evaluate(name, x[worst]))


@pytest.mark.parametrize("name", sorted(PAIRS))
def test_functions_of_two_numbers_are_near_the_true_values(name: str) -> None:
    random = np.random.default_rng(2)
    x, y = numbers(), random.permutation(numbers())
    near_one = 1 + random.standard_normal(20_000).astype(np.float32) * np.float32(1e-4)
    large = (random.standard_normal(20_000) * 1e5).astype(np.float32)
    x = np.concatenate([x, np.repeat(SPECIAL, len(SPECIAL)), near_one])
    y = np.concatenate([y, np.tile(SPECIAL, len(SPECIAL)), large])
    with np.errstate(all="ignore"):
        error = errors(evaluate(name, x, y), in_double(name)(x.astype(float), y.astype(float)))
    worst = int(error.argmax())
    assert error[worst] <= LIMITS.get(name, USUAL), (x[worst], y[worst])


def test_all_functions_are_measured() -> None:
    assert set(FUNCTIONS) | PAIRS == set(KERNELS)


ALL = """
import math

import numpy as np

import poplite as pl


class All(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Input[pl.Vector[pl.FLOAT]]
    out: pl.Output[pl.Vector[pl.Vector[pl.FLOAT]]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            x = self.x[i]
{lines}


def results(x, y, **options):
    graph = pl.Graph(pl.Target(tiles=1))
    fields = dict(
        x=graph.add_constant(pl.FLOAT, x.shape, x, "x", mapping=0),
        y=graph.add_constant(pl.FLOAT, y.shape, y, "y", mapping=0),
        out=graph.add_variable(pl.FLOAT, ({count}, len(x)), "out", mapping=0),
    )
    work = graph.add_compute_set("all")
    graph.add_vertex(work, All, tile=0, **fields)
    options["options"] = {{"debug.allowOutOfMemory": True}}
    engine = pl.Engine(graph, pl.Execute(work), **options)
    engine.run()
    return engine.read(fields["out"])
"""


def source() -> str:
    """A module with one vertex class that computes all functions."""
    lines = [
        f"            self.out[{row}][i] = math.{name}(x{', self.y[i]' if name in PAIRS else ''})"
        for row, name in enumerate(KERNELS)
    ]
    return ALL.format(lines="\n".join(lines), count=len(KERNELS))


def test_compiled_and_interpreted_have_equal_bits(tmp_path: Path) -> None:
    names: dict[str, object] = {"__name__": "all_functions"}
    path = tmp_path / "all_functions.py"
    path.write_text(source())
    exec(compile(source(), str(path), "exec"), names)
    results = names["results"]
    assert callable(results)
    x = numbers()
    y = np.random.default_rng(3).permutation(x)
    compiled = results(x, y, checks="fast")
    for name, row in zip(KERNELS, compiled, strict=True):
        expected = evaluate(name, x, y) if name in PAIRS else evaluate(name, x)
        np.testing.assert_array_equal(bits(row), bits(expected), err_msg=name)
    few = np.concatenate([SPECIAL, x[::1_000]])
    other = few[::-1].copy()
    interpreted = results(few, other, interpret=True)
    np.testing.assert_array_equal(bits(interpreted), bits(results(few, other)))


def bits(values: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> object:
    """The bits of numbers; those of NaN, whichever it is, are the same."""
    return np.where(np.isnan(values), np.float32(np.nan), values).view(np.int32)


@deep
def test_a_processor_without_vectors_has_equal_bits(tmp_path: Path) -> None:
    x = numbers()
    np.save(tmp_path / "x.npy", x)
    script = source() + (
        "\nimport hashlib\n"
        "x = np.load('x.npy')\n"
        "found = results(x, x[::-1].copy(), checks='fast')\n"
        "found = np.where(np.isnan(found), np.float32(np.nan), found)\n"
        "print(hashlib.sha256(found.tobytes()).hexdigest())\n"
    )
    y = x[::-1].copy()
    rows = [evaluate(n, x, y) if n in PAIRS else evaluate(n, x) for n in KERNELS]
    expected = np.where(np.isnan(rows), np.float32(np.nan), rows)
    generic = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    assert words_of(tmp_path, script, **generic) == [hashlib.sha256(expected.tobytes()).hexdigest()]


class Waves(pl.Vertex):
    """Sines whose cycles depend on data, so that they are counted where vertices run."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            wave = math.sin(self.x[i])
            halves = 0
            while wave < 0.5:
                wave += 0.5
                halves += 1
            self.y[i] = wave - halves * 0.5


def test_a_vertex_that_is_counted_has_equal_bits() -> None:
    numbers = np.random.default_rng(4).standard_normal(3_000).astype(np.float32)
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_constant(pl.FLOAT, numbers.shape, numbers, "x", mapping=0)
    y = graph.add_variable(pl.FLOAT, numbers.shape, "y", mapping=0)
    work = graph.add_compute_set("waves")
    graph.add_vertex(work, Waves, tile=0, x=x, y=y)
    found = []
    for engine in (
        pl.Engine(graph, pl.Execute(work), checks="fast", options=values_only()),
        pl.Engine(graph, pl.Execute(work), interpret=True, options=values_only()),
    ):
        engine.run()
        found.append(engine.read(y))
    np.testing.assert_array_equal(bits(found[0]), bits(found[1]))


def test_the_command_prints_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--function", "exp", "--step", "1000003"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("exp    0.")
    assert "among 4,295 numbers  ok" in line


def test_functions_of_several_operations_are_near_the_true_values(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--function", *COMPOSITES, "--step", "50021"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(COMPOSITES)


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [("swish", -87.0, 3.5), ("gelu", -1.0, 4.0), ("gelu_erf", -1.0, 4.0)],
)
def test_functions_of_several_operations_are_near_above_a_number(
    name: str, least: float, most: float
) -> None:
    x = numbers()
    x = np.concatenate([x[x >= least], np.linspace(least, 12, 100_001, dtype=np.float32)])
    assert errors(computed(name, x)[0], in_double(name)(x.astype(np.float64))).max() <= most


@pytest.mark.parametrize("name", COMPOSITES)
def test_functions_of_several_operations_have_limits_at_infinity(name: str) -> None:
    with np.errstate(all="ignore"):
        true = in_double(name)(SPECIAL.astype(np.float64))
        for found in computed(name, SPECIAL):
            assert (errors(found, true) <= LIMITS[name]).all()
    compiled, interpreted = computed(name, SPECIAL)
    is_number = ~np.isnan(true)
    assert compiled[is_number].tobytes() == interpreted[is_number].tobytes()


@pytest.mark.parametrize("name", ["swish", "gelu", "gelu_erf"])
def test_what_vanishes_far_below_is_a_negative_zero(name: str) -> None:
    x = np.array([-np.inf, -1e30, -200.0])
    for element in (np.float32, np.float16):
        with np.errstate(over="ignore"):
            given = x.astype(element)
        for found in computed(name, given):
            assert (found == 0).all()
            assert np.signbit(found).all()


def computed(name: str, x: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """Return what the operation gives, compiled and interpreted."""
    graph, program = pl.Graph(pl.Target(tiles=64)), pl.Sequence()
    element = {"float32": pl.FLOAT, "float16": pl.HALF}[x.dtype.name]
    given = graph.add_variable(element, x.shape, "x", mapping="linear", initial_value=x)
    result = pl.ops.map(getattr(pl.ops, name)(given), program=program)
    made = []
    for interpret in (False, True)[: 1 + (len(x) < 1000)]:
        engine = pl.Engine(graph, program, interpret=interpret, options=values_only())
        engine.run()
        made.append(engine.read(result))
    return made


def test_errors_are_in_units_of_the_true_value() -> None:
    found = np.array([1.0, -0.0, np.inf, np.nan, np.inf, 1e-45], np.float32)
    true = np.array([1 + 2.0**-24, 0.0, np.inf, np.nan, 1.0, 2**-149 * 1.25])
    assert errors(found, true).tolist() == [0.5, math.inf, 0.0, 0.0, math.inf, 0.25]
    assert np.isinf(errors(np.array([1], np.float32), np.array([np.nan]))).all()
    assert pl.FLOAT.size_bytes == 4


# -- doubles ---------------------------------------------------------------------------------------


Doubles = npt.NDArray[np.float64]

SPECIAL_DOUBLES = np.array(
    [
        *(0.0, 1.0, 0.5, 2.0, 3.0, 2.5, 8.0, 10.0, 27.0, 1e3, np.inf, np.nan),
        *(5e-324, 2.225e-308, 2.2250738585072014e-308, 1.7976931348623157e308, 1e-300, 1e300),
        *(709.78, 709.79, 710.47, 710.48, 745.13, 745.14, 1024.0, 1074.0, 1075.0, 26.5, 27.3),
        *(9007199254740992.0, 9007199254740994.0, 1 + 2**-52, 1 - 2**-53, 1e22, 1e-20, 1 / 3),
        *(math.pi / 4, math.pi / 2, math.pi, 6381956970095103 * 2.0**797),
    ]
)
"""The last one is next to a multiple of pi/2, of all doubles the nearest."""
SPECIAL_DOUBLES = np.concatenate([SPECIAL_DOUBLES, -SPECIAL_DOUBLES])


def doubles(count: int) -> Doubles:
    """Numbers of all exponents, of the sizes that functions are used for, and special ones."""
    random = np.random.default_rng(1)
    spread = random.integers(0, 1 << 64, count, np.uint64).view(np.float64)
    usual = random.standard_normal(count) * random.choice([1e-3, 0.5, 2, 10, 50, 300], count)
    return np.concatenate([spread, usual, SPECIAL_DOUBLES])


BY_CASE: dict[str, list[tuple[Any, ...]]] = {
    # function: operands, then what `math` says it is
    "exp": [(-math.inf, 0.0), (math.inf, math.inf), (-745.14, 0.0), (709.79, math.inf), (0.0, 1.0)],
    "expm1": [(-0.0, -0.0), (-math.inf, -1.0), (5e-324, 5e-324), (-800.0, -1.0)],
    "exp2": [(-1074.0, 5e-324), (1024.0, math.inf), (-1076.0, 0.0), (3.0, 8.0)],
    "log": [(0.0, -math.inf), (-0.0, -math.inf), (-1.0, math.nan), (math.inf, math.inf), (1, 0.0)],
    "log2": [(5e-324, -1074.0), (8.0, 3.0), (2.0**1000, 1000.0)],
    "log10": [(1000.0, 3.0), (1e22, 22.0)],
    "log1p": [(-0.0, -0.0), (-1.0, -math.inf), (-1.5, math.nan), (5e-324, 5e-324)],
    "cbrt": [(-27.0, -3.0), (-0.0, -0.0), (-math.inf, -math.inf), (2.0**-1071, 2.0**-357)],
    "sin": [(-0.0, -0.0), (math.inf, math.nan), (5e-324, 5e-324)],
    "cos": [(0.0, 1.0), (-math.inf, math.nan)],
    "tan": [(-0.0, -0.0), (math.inf, math.nan)],
    "asin": [(1.0, math.pi / 2), (1.0000000000000002, math.nan), (-0.0, -0.0)],
    "acos": [(-1.0, math.pi), (1.0, 0.0), (-2.0, math.nan)],
    "atan": [(-math.inf, -math.pi / 2), (-0.0, -0.0)],
    "atan2": [
        *((0.0, -0.0, math.pi), (-0.0, 1.0, -0.0), (math.inf, -math.inf, 2.356194490192345)),
        *((1.0, math.inf, 0.0), (-5.0, -math.inf, -math.pi), (5e-324, 1e308, 0.0)),
        (math.nan, 1.0, math.nan),
    ],
    "sinh": [(-0.0, -0.0), (-math.inf, -math.inf), (710.48, math.inf)],
    "cosh": [(-math.inf, math.inf), (0.0, 1.0), (-710.48, math.inf)],
    "tanh": [(-0.0, -0.0), (-math.inf, -1.0), (25.0, 1.0)],
    "pow": [
        *((math.nan, 0.0, 1.0), (1.0, math.nan, 1.0), (-1.0, math.inf, 1.0)),
        *((-0.0, -3.0, -math.inf), (-0.0, -2.0, math.inf), (-8.0, 1 / 3, math.nan)),
        *((-math.inf, 3.0, -math.inf), (0.5, math.inf, 0.0), (-2.0, -1074.0, 5e-324)),
        *((10.0, 22.0, 1e22), (-3.0, 33.0, -(3.0**33)), (-math.inf, -3.0, -0.0)),
    ],
    "erf": [(-0.0, -0.0), (-math.inf, -1.0), (5e-324, 5e-324)],
    "erfc": [(-math.inf, 2.0), (math.inf, 0.0), (28.0, 0.0), (0.0, 1.0)],
}


@pytest.mark.parametrize("name", DOUBLES)
def test_special_cases_are_those_of_c(name: str) -> None:
    for *operands, expected in BY_CASE[name]:
        found = evaluate(name, *map(np.float64, operands))
        assert bits_of_doubles(found) == bits_of_doubles(np.float64(expected)), (
            name,
            operands,
            found,
        )
    nan = evaluate(name, *[np.float64(np.nan)] * (2 if name in PAIRS else 1))
    assert np.isnan(nan)


def test_all_functions_have_both_types() -> None:
    assert set(DOUBLES) == set(KERNELS)


@pytest.mark.parametrize("name", DOUBLES)
def test_functions_are_near_the_true_values(name: str) -> None:
    pytest.importorskip("mpmath")
    found = worst_double(name, 2_000, seed=1)
    assert found.is_right, found


def test_the_command_prints_errors_of_doubles(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("mpmath")
    assert main(["--double", "--function", "pow", "exp", "--samples", "300"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("pow    0.")
    assert second.startswith("exp    0.")
    assert "<= 1.0 units in the last place" in second
    assert second.endswith("  ok")


def test_two_operands_of_float32_are_not_measured_by_the_command() -> None:
    with pytest.raises(SystemExit):
        main(["--function", "pow"])


ALL_OF_DOUBLES = """
import math

import numpy as np

import poplite as pl


def scaled(value, exponent):
    while exponent >= 60:
        value *= 1152921504606846976.0
        exponent -= 60
    while exponent > 0:
        value *= 2.0
        exponent -= 1
    while exponent <= -60:
        value *= 8.673617379884035e-19
        exponent += 60
    while exponent < 0:
        value *= 0.5
        exponent += 1
    return value


def number_of(digits, exponent):
    if exponent == 5000:
        return digits / 0
    if exponent == -5000:
        return digits * 0.0
    return scaled(float(digits), exponent)


def exponent_of(value):
    exponent = 0
    if value - value != 0:
        return 5000
    if value == 0:
        return -5000
    value = abs(value)
    while value < 0.0001:
        value *= 1152921504606846976.0
        exponent -= 60
    while value < 4503599627370496.0:
        value *= 2.0
        exponent -= 1
    while value > 1e34:
        value *= 8.673617379884035e-19
        exponent += 60
    while value >= 9007199254740992.0:
        value *= 0.5
        exponent += 1
    return exponent


def digits_of(value, exponent):
    if value != value:
        return 0
    if exponent == -5000:
        value = 1 / value
    if abs(exponent) == 5000:
        return 1 if value > 0 else -1
    return int(scaled(value, -exponent))


class All(pl.Vertex):
    digits: pl.Input[pl.Vector[pl.LONGLONG]]
    exponents: pl.Input[pl.Vector[pl.INT]]
    found: pl.Output[pl.Vector[pl.Vector[pl.LONGLONG]]]
    places: pl.Output[pl.Vector[pl.Vector[pl.INT]]]

    def compute(self) -> None:
        last = len(self.digits) - 1
        for i in range(len(self.digits)):
            x = number_of(self.digits[i], self.exponents[i])
            y = number_of(self.digits[last - i], self.exponents[last - i])
{lines}


def results(x, **options):
    graph = pl.Graph(pl.Target(tiles=1))
    is_usual = np.isfinite(x) & (x != 0)
    fraction, exponents = np.frexp(np.where(is_usual, x, 1.0))
    digits = (fraction * 2.0**53).astype(np.int64)
    spare = np.frexp((digits & -digits).astype(float))[1] - 1  # zeros at the end
    sign = np.where(np.isnan(x), 0, np.where(np.signbit(x), -1, 1))
    digits = np.where(is_usual, digits >> spare, sign)
    exponents = np.where(is_usual, exponents - 53 + spare, np.where(x == 0, -5000, 5000))
    shape = ({count}, len(x))
    fields = dict(
        digits=graph.add_constant(pl.LONGLONG, x.shape, digits, "digits", mapping=0),
        exponents=graph.add_constant(pl.INT, x.shape, exponents, "exponents", mapping=0),
        found=graph.add_variable(pl.LONGLONG, shape, "found", mapping=0),
        places=graph.add_variable(pl.INT, shape, "places", mapping=0),
    )
    work = graph.add_compute_set("all")
    graph.add_vertex(work, All, tile=0, **fields)
    options["options"] = {{"debug.allowOutOfMemory": True}}
    engine = pl.Engine(graph, pl.Execute(work), **options)
    engine.run()
    found, places = engine.read(fields["found"]).astype(float), engine.read(fields["places"])
    with np.errstate(all="ignore"):
        found = np.where(places == 5000, np.where(found == 0, np.nan, found * np.inf), found)
        found = np.where(places == -5000, found * 0.0, found)
        return np.where(abs(places) == 5000, found, np.ldexp(found, places))
"""
"""Fields have no doubles: a number goes in and out as an integer and an exponent, which is exact;
the exponent 5000 says that it is infinite or NaN, and -5000 that it is 0."""


def source_of_doubles() -> str:
    """A module with one vertex class that computes all functions."""
    lines = [
        f"            r = math.{name}(x{', y' if name in PAIRS else ''})\n"
        f"            self.places[{row}][i] = exponent_of(r)\n"
        f"            self.found[{row}][i] = digits_of(r, exponent_of(r))"
        for row, name in enumerate(DOUBLES)
    ]
    return ALL_OF_DOUBLES.format(lines="\n".join(lines), count=len(DOUBLES))


def made(folder: Path) -> Callable[..., Doubles]:
    """The function of that module."""
    names: dict[str, Any] = {"__name__": "all_functions_of_doubles"}
    path = folder / "all_functions_of_doubles.py"
    path.write_text(source_of_doubles())
    exec(compile(source_of_doubles(), str(path), "exec"), names)
    results: Callable[..., Doubles] = names["results"]
    return results


def expected_of(x: Doubles) -> Doubles:
    """What the interpreted form of each kernel makes of all numbers at once."""
    y = x[::-1].copy()
    rows = [evaluate(name, *((x, y) if name in PAIRS else (x,))) for name in DOUBLES]
    return np.array(rows)


def bits_of_doubles(values: npt.ArrayLike) -> Any:
    """The bits of doubles; those of NaN, whichever it is, are the same."""
    return np.where(np.isnan(values), np.nan, values).view(np.int64).tolist()


@deep
def test_doubles_have_equal_bits_in_both_forms(tmp_path: Path) -> None:
    results = made(tmp_path)
    x = doubles(20_000)
    compiled = results(x, checks="fast")
    for name, row, expected in zip(DOUBLES, compiled, expected_of(x), strict=True):
        assert bits_of_doubles(row) == bits_of_doubles(expected), name
    few = np.concatenate([SPECIAL_DOUBLES, x[::2_000]])
    assert bits_of_doubles(results(few, interpret=True)) == bits_of_doubles(expected_of(few))


@deep
def test_doubles_without_vectors_have_equal_bits(tmp_path: Path) -> None:
    x = doubles(2_000)
    np.save(tmp_path / "x.npy", x)
    script = source_of_doubles() + (
        "\nimport hashlib\n"
        "found = results(np.load('x.npy'), checks='fast')\n"
        "found = np.where(np.isnan(found), np.nan, found)\n"
        "print(hashlib.sha256(found.tobytes()).hexdigest())\n"
    )
    expected = expected_of(x)
    expected = np.where(np.isnan(expected), np.nan, expected)
    generic = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    assert words_of(tmp_path, script, **generic) == [hashlib.sha256(expected.tobytes()).hexdigest()]
