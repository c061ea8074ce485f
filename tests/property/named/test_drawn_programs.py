"""Drawn expressions over named axes as the oracle has them, in every form of running them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
import poplite.named as ng
from helpers.depth import deep, examples, values_only
from helpers.named_drawing import STEPS, Drawn, public
from helpers.named_oracle import evaluate
from poplite.named.op import Op, nodes_below
from poplite.named.reducing import DotProduct, Reduce
from poplite.named.tensors import TensorOp

PARTS = 6
"""In how many parts all operations are drawn: each program has all of one part."""


def program(data: st.DataObject, names: list[str]) -> tuple[list[Op], dict[TensorOp, Any]]:
    """An operation of each name, in any order, and values for their parameters."""
    drawn, made = Drawn(data), []
    for name in data.draw(st.permutations(names)):
        made.append(STEPS[name](drawn))
        drawn.take(name, made[-1])
    return made, drawn.values


def run(
    roots: list[Op],
    values: dict[TensorOp, Any],
    tiles: int,
    *,
    interpret: bool,
    checks: Any = "fast",
    **options: Any,
) -> list[Any]:
    """What a program comes to in one form."""
    options["checks"] = checks
    device = ng.make_transformer(tiles=tiles, **options)
    work = device.computation(roots, *values)
    if interpret:
        engine = pl.Engine(
            device.graph, work.program, interpret=True, checks=checks, options=values_only()
        )
        for each, value in values.items():
            engine.write(work.tensor(each), value)
        engine.run()
        found = [engine.read(each) for each in work.results if each is not None]
    else:
        found = list(work(*values.values()))
    return found


def check(data: st.DataObject, names: list[str], forms: list[dict[str, Any]]) -> None:
    """Compare a program in several forms with the oracle, and maps with each other in all bits."""
    roots, values = program(data, names)
    tiles = data.draw(st.sampled_from([1, 3, 8]))
    exact = evaluate(roots, values)
    first: list[Any] | None = None
    for form in forms:
        found = run(roots, values, tiles, **form)
        first = found if first is None else first
        for root, value, same, expected in zip(roots, found, first, exact, strict=True):
            assert (value.shape, value.dtype) == (root.shape, root.element_type.dtype)
            np.testing.assert_allclose(value, expected, 1e-4, 1e-4, err_msg=repr(root))
            if not any(isinstance(node, Reduce | DotProduct) for node in nodes_below([root])):
                assert value.tobytes() == same.tobytes()


def test_all_operations_are_drawn() -> None:
    assert sorted(STEPS) == sorted(public())


STRICT = {"interpret": True, "checks": "strict"}


@pytest.mark.parametrize("part", range(PARTS))
@examples(30, quick=2)
@given(data=st.data())
def test_interpreted(data: st.DataObject, part: int) -> None:
    check(data, [*STEPS][part::PARTS], [STRICT, {"interpret": True, "fuse": "none"}])


FORMS: list[dict[str, Any]] = [
    {"interpret": True},
    {"interpret": False},
    {"interpret": False, "fuse": "none"},
    {"interpret": False, "checks": "strict"},
]


@deep
@pytest.mark.parametrize("part", range(PARTS))
@examples(2)
@given(data=st.data())
def test_in_every_form(data: st.DataObject, part: int) -> None:
    check(data, [*STEPS][part::PARTS], FORMS)
