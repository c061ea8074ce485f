"""Drawn computations, with hints, views of results and effects, as NumPy has them.

Each is called twice; several of one transformer, which share what effects change, in any order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
import poplite.named as ng
from helpers.depth import deep, examples, values_only
from helpers.named_drawing import STEPS, Drawn, public
from helpers.named_items import Computation, Run
from helpers.named_oracle import evaluate
from poplite.named.op import Op, nodes_below
from poplite.named.programs import Item, roots_of
from poplite.named.reducing import DotProduct, Reduce
from poplite.named.tensors import TensorOp


def check_computation(data: st.DataObject, forms: list[dict[str, Any]]) -> None:
    """Compare two calls of a computation, in several forms, with the oracle."""
    drawn = Computation(data)
    read = read_by(drawn.items)
    params = [each for each in read if each.input]
    tiles = data.draw(st.sampled_from([1, 3, 8]))
    start = {each: np.array(drawn.values.get(each, each.value), float) for each in read}
    random = np.random.default_rng(len(read))
    calls = [eighths(params, random) for _ in range(2)]
    for form in forms:
        oracle, interpret = Run(dict(start)), form["interpret"]
        options = {name: value for name, value in form.items() if name != "interpret"}
        device = ng.make_transformer(tiles=tiles, **options)
        work = device.computation(drawn.items, *params)
        engine = pl.Engine(
            device.graph,
            {work.name: work.program},
            interpret=interpret,
            checks=options.get("checks", "fast"),
            options=values_only() if interpret else {},
        )
        for values in calls:
            compare(engine, work, values, oracle)


def read_by(items: list[Item]) -> list[TensorOp]:
    return [each for each in nodes_below(roots_of(items)) if isinstance(each, TensorOp)]


def eighths(params: Iterable[TensorOp], random: np.random.Generator) -> dict[TensorOp, Any]:
    return {each: random.integers(-16, 17, each.shape) / 8 for each in params}


def compare(
    engine: pl.Engine, work: ng.Computation, values: dict[TensorOp, Any], oracle: Run
) -> None:
    """Call a computation with the values of its parameters, and compare with the oracle."""
    for each, value in values.items():
        engine.write(work.tensor(each), value.astype(np.float32))
    oracle.values |= values
    expected = oracle.call(list(work.items))
    engine.run(work.name)
    for item, tensor, right in zip(work.items, work.results, expected, strict=True):
        assert (tensor is None) == (right is None)
        if tensor is not None and right is not None:
            np.testing.assert_allclose(engine.read(tensor), right, 1e-4, 1e-4, err_msg=repr(item))


STRICT = {"interpret": True, "checks": "strict"}


@examples(60, quick=6)
@given(data=st.data())
def test_interpreted(data: st.DataObject) -> None:
    check_computation(data, [STRICT, {"interpret": True, "fuse": "none"}])


@examples(60, quick=3)
@given(data=st.data())
def test_several_of_one_transformer(data: st.DataObject) -> None:
    drawn = Computation(data)
    half = len(drawn.items) // 2
    parts = [drawn.items[:half], drawn.items[half:], [drawn._item(1)]]
    form: dict[str, Any] = data.draw(
        st.sampled_from([{"checks": "strict"}, {"checks": "fast", "fuse": "none"}])
    )
    device = ng.make_transformer(tiles=data.draw(st.sampled_from([1, 3, 8])), **form)
    works = []
    for items in parts:
        params = [each for each in read_by(items) if each.input]
        works.append(device.computation(items, *params))
    first, *later = works
    engine = pl.Engine(
        device.graph,
        {first.name: first.program},
        interpret=True,
        checks=form["checks"],
        options=values_only(),
    )
    for work in later:
        engine.add_program(work.program, work.name)
    tensors = {each for items in parts for each in read_by(items)}
    oracle = Run({each: np.array(drawn.values.get(each, each.value), float) for each in tensors})
    random = np.random.default_rng(len(tensors))
    for number in data.draw(st.lists(st.integers(0, 2), min_size=3, max_size=6)):
        work = works[number]
        compare(engine, work, eighths(work.params, random), oracle)


@deep
@examples(5)
@given(data=st.data())
def test_compiled(data: st.DataObject) -> None:
    check_computation(
        data, [{"interpret": False}, {"interpret": False, "fuse": "none", "checks": "strict"}]
    )


# -- drawn programs --------------------------------------------------------------------------------


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


def check_program(data: st.DataObject, names: list[str], forms: list[dict[str, Any]]) -> None:
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


@pytest.mark.parametrize("part", range(PARTS))
@examples(30, quick=2)
@given(data=st.data())
def test_programs_interpreted(data: st.DataObject, part: int) -> None:
    check_program(data, [*STEPS][part::PARTS], [STRICT, {"interpret": True, "fuse": "none"}])


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
    check_program(data, [*STEPS][part::PARTS], FORMS)
