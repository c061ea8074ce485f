"""Drawn computations, with hints, views of results and effects, as NumPy has them, called twice."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, strategies as st

import poplite as pl
import poplite.named as ng
from helpers.depth import deep, examples, values_only
from helpers.named_items import Computation, Run
from poplite.named.ops.op import below
from poplite.named.ops.tensors import TensorOp
from poplite.named.transform.reads import roots_of


def check(data: st.DataObject, forms: list[dict[str, Any]]) -> None:
    """Compare two calls of a computation, in several forms, with the oracle."""
    drawn = Computation(data)
    read = [each for each in below(roots_of(drawn.items)) if isinstance(each, TensorOp)]
    params = [each for each in read if each.input]
    tiles = data.draw(st.sampled_from([1, 3, 8]))
    start = {each: np.array(drawn.values.get(each, each.value), float) for each in read}
    random = np.random.default_rng(len(read))
    calls = [{each: random.integers(-16, 17, each.shape) / 8 for each in params} for _ in range(2)]
    for form in forms:
        oracle, interpret = Run(dict(start)), form["interpret"]
        options = {name: value for name, value in form.items() if name != "interpret"}
        device = ng.make_transformer(tiles=tiles, **options)
        work = device.computation(drawn.items, *params)
        engine = pl.Engine(
            device.graph,
            work.program,
            interpret=interpret,
            checks=options.get("checks", "fast"),
            options=values_only() if interpret else {},
        )
        for values in calls:
            for each, value in values.items():
                engine.write(work.tensor(each), value.astype(np.float32))
            oracle.values |= values
            expected = oracle.call(drawn.items)
            engine.run()
            for item, tensor, right in zip(drawn.items, work.results, expected, strict=True):
                assert (tensor is None) == (right is None)
                if tensor is not None and right is not None:
                    np.testing.assert_allclose(
                        engine.read(tensor), right, 1e-4, 1e-4, err_msg=repr(item)
                    )


STRICT = {"interpret": True, "checks": "strict"}


@examples(60, quick=6)
@given(data=st.data())
def test_interpreted(data: st.DataObject) -> None:
    check(data, [STRICT, {"interpret": True, "fuse": "none"}])


@deep
@examples(5)
@given(data=st.data())
def test_compiled(data: st.DataObject) -> None:
    check(data, [{"interpret": False}, {"interpret": False, "fuse": "none", "checks": "strict"}])
