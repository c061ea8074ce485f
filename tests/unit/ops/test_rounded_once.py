"""Functions of HALF compute in FLOAT and round once, all of `ops.nn` and `ops.mathematics`."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

import poplite as pl
from helpers.depth import interpreted
from poplite import ops
from poplite.ops import mathematics, nn

SHAPE = (2, 4, 3)

POOLS = [f"{how}_pool{part}" for how in ("max", "average", "sum") for part in ("", "_gradient")]
RECURRENT = [f"{part}{kind}" for part in ("plan_", "") for kind in ("gru", "lstm")]
RECORD_STEPS = {
    *POOLS,
    *RECURRENT,
    *("gru_gradient", "lstm_gradient", "multi_head_attention", "multi_head_attention_gradient"),
    *("adam", "adam_state", "sgd", "running_statistics"),
}
"""Functions of `nn` that return no expressions."""


def functions() -> dict[str, Any]:
    """Return all functions that make expressions of floats."""
    shown = {name: getattr(nn, name) for name in nn.__all__}
    of_nn = {name: each for name, each in shown.items() if inspect.isfunction(each)}
    assert of_nn.keys() >= RECORD_STEPS
    found = {f"nn.{name}": each for name, each in of_nn.items() if name not in RECORD_STEPS}
    for name, each in vars(mathematics).items():
        if inspect.isfunction(each) and each.__module__ == mathematics.__name__:
            found[name] = each
    del found["sqrt_trunc"]  # of integers
    return found


def test_half_is_rounded_once() -> None:
    rng = np.random.default_rng(5)
    graph, program = pl.Graph(pl.Target(tiles=1)), pl.Sequence()

    def constants(number: int, shape: tuple[int, ...], low: float, high: float) -> Any:
        values = rng.uniform(low, high, shape).astype(np.float16)
        return [graph.add_constant(e, shape, values, mapping=0) for e in (pl.HALF, pl.FLOAT)]

    ranges = {"a": (-3, 3), "b": (0.05, 0.95), "mean": (-1, 1), "variance": (0.5, 2)}
    of_channels = {"mean", "variance"}
    values = {
        name: constants(n, SHAPE[1:2] if name in of_channels else SHAPE, *limits)
        for n, (name, limits) in enumerate(ranges.items())
    }
    labels = graph.add_constant(pl.INT, SHAPE[:-1], rng.integers(0, 3, SHAPE[:-1]), mapping=0)
    stored: list[tuple[str, pl.Tensor, pl.Tensor]] = []
    for name, function in functions().items():
        required = [
            each.name
            for each in inspect.signature(function).parameters.values()
            if each.default is each.empty
        ]
        results = []
        for form in (0, 1):
            given = {
                "groups": 2,
                "labels": labels,
                "result": values["b"][form],
                "targets": values["b"][form],
                **{each: values[each][form] for each in of_channels},
            }
            made = function(*[given.get(each, values["a"][form]) for each in required])
            made = made if isinstance(made, tuple) else (made,)
            results.append([ops.map(each, program=program) for each in made])
        stored += [(name, one, other) for one, other in zip(*results, strict=True)]
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    for name, half, single in stored:
        once = engine.read(single).astype(engine.read(half).dtype)
        np.testing.assert_array_equal(engine.read(half), once, err_msg=name)
    assert len({name for name, *_ in stored}) >= 50
