"""Whole numbers of thousands of digits are refused by name, in short messages."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import poplite as pl

CALLS: dict[str, Callable[[pl.Tensor, int], object]] = {
    "tiles": lambda _, n: pl.Target(tiles=n),
    "ipus": lambda _, n: pl.Target(ipus=n),
    "costs": lambda _, n: pl.Target(costs={"sync_stagger_cycles": n}),
    "repeat": lambda _, n: pl.Repeat(n, pl.Sequence()),
    "variable": lambda x, n: x.graph.add_variable(pl.FLOAT, (n,)),
    "index": lambda x, n: x[n],
    "slice": lambda x, n: x.slice(0, n, 0),
    "broadcast": lambda x, n: x.broadcast(n, 0),
    "reshape": lambda x, n: x.reshape((2, n)),
    "mapping": lambda x, n: x.graph.set_tile_mapping(x, n),
}


@pytest.mark.parametrize("number", [10**5000, -(10**5000), 10**400], ids=["5000", "-5000", "400"])
@pytest.mark.parametrize("call", CALLS)
def test_very_large_numbers_are_refused_in_short_messages(call: str, number: int) -> None:
    x = pl.Graph(pl.Target(tiles=4)).add_variable(pl.FLOAT, (8,), "x", mapping=0)
    with pytest.raises(pl.PopliteError) as caught:
        CALLS[call](x, number)
    assert len(str(caught.value)) < 500
