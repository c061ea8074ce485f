"""Functions of `math` for float32: near the true values, and equal bits in every form."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import Any

import numpy as np
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
)
from poplite.vertex.compute.mathematics.functions import KERNELS, PAIRS, evaluate

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
    assert "of 4,295 numbers  ok" in line


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
