"""examples/attention.py: outputs and slopes as in NumPy, and wrong ones."""

from __future__ import annotations

from types import ModuleType

import pytest

import poplite as pl
from helpers.depth import deep


@deep
def test_the_layer_is_numpys(attention: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    attention.main(4)
    assert "Total cycles:" in capsys.readouterr().out


@pytest.mark.parametrize("wrong", ["output", "gradients"])
def test_a_wrong_value_fails_loudly(
    attention: ModuleType, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    values = attention.VALUES
    out = attention.in_numpy(values)
    shapes = [out.shape, *(value.shape for value in values)]
    tensors = [graph.add_constant(pl.FLOAT, shape, 0, mapping=0) for shape in shapes]
    if wrong == "gradients":
        tensors[0] = graph.add_constant(pl.FLOAT, out.shape, out, mapping=0)
    monkeypatch.setattr(attention, "build", lambda tiles: (graph, pl.Sequence(), tensors))
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        attention.main()
