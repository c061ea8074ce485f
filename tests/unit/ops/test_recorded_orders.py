"""Orders of steps that an operation may not record, made wrong here: nothing runs by them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import poplite as pl
import poplite.named as ng
from helpers.depth import interpreted_everywhere
from poplite.expr.tree import View
from poplite.ops.fuse.lowering import Lowering, Root
from poplite.program.recording import Recorder

H = ng.make_axis(2, "H")
E, D, N = ng.make_axis(2, "E"), ng.make_axis(3, "D"), ng.make_axis(8, "N")

RNG = np.random.default_rng(7)
ROWS, TARGETS = RNG.normal(size=(2, 8, 2, 3)), RNG.normal(size=(2, 8))


def test_strict_engines_refuse_a_copy_before_the_step_that_makes_what_it_copies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A run after the first would return the gradient of the run before."""

    def copies_first(self: Recorder, name: str, reads: Any, writes: Any) -> None:
        if self.steps:
            self.steps.insert(-1, self.steps.pop())  # the copy, before the last Execute

    monkeypatch.setattr(Recorder, "uses", copies_first)
    for name, options in interpreted_everywhere().items():
        monkeypatch.setenv(name, options)
    x = ng.variable([E, D], np.ones((2, 3)), map={D: "tiles"}, name="x")
    rows, targets = ng.placeholder([N, E, D]), ng.placeholder([N])
    loss = ng.mean((ng.dot(ng.flatten(rows, [E, D]), ng.flatten(x)) - targets) ** 2, [N])
    gradient = ng.deriv(loss, x)
    fast = ng.make_transformer(tiles=4, checks="fast").computation([gradient], rows, targets)
    found = [fast(ROWS[0], TARGETS[0])[0] for _ in range(2)]
    assert not found[0].any()
    assert found[1].any()
    work = ng.make_transformer(tiles=4, checks="strict").computation([gradient], rows, targets)
    with pytest.raises(pl.errors.UninitializedReadError) as error:
        work(ROWS[0], TARGETS[0])
    what, then, _ = str(error.value).splitlines()
    assert what.startswith(
        "Sequence 'deriv x': Copy 'deriv x/sum_1' -> 'deriv x' reads 'deriv x/sum_1' "
        "before any step writes it  ("
    )
    assert "test_recorded_orders.py" in what
    assert then.startswith("  Execute 'deriv x/sum/final_1', a later step, writes it")


@pytest.mark.parametrize("order", [1, -1])
def test_a_result_that_shows_a_tensor_of_the_user_is_refused(
    monkeypatch: pytest.MonkeyPatch, order: int
) -> None:
    """An assignment that follows would change a part of it, in every engine."""

    def with_a_place(self: Lowering, root: Root, expr: Any) -> bool:
        return isinstance(expr, View) and (root.out is not None or root.mapping is not None)

    monkeypatch.setattr(Lowering, "_is_copied", with_a_place)
    x = ng.variable([H], [1, 2], name="x")
    items = [ng.concat([-x, x][::order], H), ng.assign(x, x * 10)]
    with pytest.raises(pl.errors.TensorCreationError) as error:
        ng.make_transformer(tiles=2).computation(items)()
    what, then, _ = str(error.value).splitlines()
    assert what.startswith("'concat': the result would be elements of 'x' itself, not a copy")
    assert "test_recorded_orders.py" in what
    assert then == "  a later write of that tensor would change the result as well"


@pytest.mark.parametrize("by", ["itself", "a step of the user", "the host"])
def test_what_others_write_too_may_be_read_before_a_recording_writes_it(by: str) -> None:
    """Only the order of a recording's own steps is its own matter."""
    graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    x = graph.add_variable(pl.FLOAT, (2,), "x", mapping="linear", initial_value=3)
    work = Recorder(graph)
    y, z = (graph.add_variable(pl.FLOAT, (2,), name, mapping="linear") for name in "yz")
    work.add(pl.Copy(y, z))
    work.add(pl.Copy(x, y))
    if by == "a step of the user":
        program.add(pl.Copy(x, y))
    if by == "the host":
        graph.create_host_write("y", y)
    work.finish(program, "work")
    if by == "itself":
        with pytest.raises(pl.errors.UninitializedReadError, match="Copy 'y' -> 'z' reads 'y'"):
            pl.Engine(graph, program, checks="strict")
        pl.Engine(graph, program, checks="fast").run()
        return
    engine = pl.Engine(graph, program, checks="strict")
    engine.write(y, [3, 3])
    engine.run()
    assert engine.read(z).tolist() == [3, 3]
