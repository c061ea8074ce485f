"""The table of docs/operations.md: integers by 0, shifts past the width, negative powers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import thinned, values_only
from poplite import ops

SIGNED = (pl.CHAR, pl.SHORT, pl.INT, pl.LONGLONG)
UNSIGNED = (pl.UNSIGNED_CHAR, pl.UNSIGNED_SHORT, pl.UNSIGNED_INT, pl.UNSIGNED_LONGLONG)


def rows(bits: int, least: int, most: int) -> list[tuple[str, int, int, int]]:
    """Return operations, two operands, and what they come to."""
    found = [
        ("floor_divide", 7, 0, 0),
        ("divide_trunc", 7, 0, 0),
        ("remainder", 7, 0, 0),
        ("shift_left", 1, bits - 1, least or most // 2 + 1),
        ("shift_left", 1, bits, 0),
        ("shift_left", 1, bits + 5, 0),
        ("shift_right", most, bits, 0),
        ("shift_right_logical", most, bits, 0),
        ("power", 0, 0, 1),
        ("power", 2, bits, 0),
        ("power", most, 2, 1),
        ("add", most, 1, least),
        ("subtract", least, 1, most),
    ]
    if least:
        found += [
            ("floor_divide", least, -1, least),
            ("divide_trunc", least, -1, least),
            ("remainder", least, -1, 0),
            ("remainder_trunc", least, -1, 0),
            ("remainder", -7, 0, 0),
            ("shift_left", 1, -1, 0),
            ("shift_right", -7, bits, -1),
            ("shift_right", -7, -1, -1),
            ("shift_right", 7, -1, 0),
            ("shift_right_logical", -7, bits, 0),
            ("shift_right_logical", -1, bits - 1, 1),
            ("power", 1, -1, 0),
            ("power", -1, -3, 0),
            ("power", 0, -1, 0),
            ("multiply", least, -1, least),
        ]
    return found


@pytest.mark.parametrize("element", thinned([*SIGNED, *UNSIGNED], [pl.INT]))
def test_of_two_tensors_and_of_a_number(element: Any) -> None:
    limits = np.iinfo(element.dtype)
    table = rows(limits.bits, int(limits.min), int(limits.max))
    graph = pl.Graph(pl.Target(tiles=2))
    made: list[pl.Tensor] = []
    with graph.steps() as step, ops.together():
        for number, (name, one, other, _) in enumerate(table):
            a, b = (
                graph.add_variable(element, (1,), f"{name}{number}", mapping=0, initial_value=each)
                for each in (one, other)
            )
            made.append(ops.map(getattr(ops, name)(a, b)))
            # A negative number as an exponent is refused.
            expr = getattr(ops, name)(one, b) if name == "power" else getattr(ops, name)(a, other)
            made.append(ops.map(expr))
    for interpret in (False, True):
        engine = pl.Engine(graph, step, interpret=interpret, options=values_only())
        engine.run()
        found = [int(engine.read(each)[0]) for each in made]
        expected = [row for row in table for _ in range(2)]
        wrong = [(row, got) for row, got in zip(expected, found, strict=True) if row[3] != got]
        assert not wrong
