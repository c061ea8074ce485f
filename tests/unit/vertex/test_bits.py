"""Bits of floats in `compute`: NumPy's, in every form."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import poplite as pl
from helpers.depth import values_only

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
        (lambda: pl.half_bits(np.array(["a"])), "pl.half_bits of an array of <U1"),
        (lambda: pl.float_from_bits(1.0), "pl.float_from_bits: value is 1.0"),
        (lambda: pl.half_from_bits(np.zeros(2)), "pl.half_from_bits of an array of float64"),
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
    with pytest.raises(pl.VertexCompileError, match="from_bits of a float") as caught:
        pl.Engine(graph, pl.Execute(cs))
    assert caught.value.fix == "pl.float_from_bits(int(self.x))"


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
