"""Random programs of copies between tensors, streams, remote buffers and host functions.

A Python model of the same steps over NumPy arrays says what memory, streams and rows hold in the
end, for one replica and for two.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples, values_only
from helpers.running import both_forms

SIZE, ROWS = 6, 4
Int = np.int32


@dataclass
class World:
    """The machine in NumPy: one row of each array for each replica."""

    replicas: int
    x: Any = None
    y: Any = None
    row: Any = None
    table: Any = None
    taken: list[list[int]] = field(default_factory=list)
    fetched: int = 0
    broadcast: int = 0

    def __post_init__(self) -> None:
        self.x, self.y = (np.zeros((self.replicas, SIZE), Int) for _ in range(2))
        self.row = np.zeros((self.replicas, 2), Int)
        self.table = np.zeros((self.replicas, ROWS, SIZE // 2), Int)

    def step(self, name: str) -> None:
        """Do what one step does."""
        if name == "broadcast":
            self.broadcast += 1
            self.y[:] = 1000 + self.broadcast
        for replica in range(self.replicas):
            x, y, table = self.x[replica], self.y[replica], self.table[replica]
            rows = self.row[replica]
            if name == "in":
                self.fetched += 1
                x[:] = block(self.fetched)
            elif name == "in reversed":
                self.fetched += 1
                y[::-1] = block(self.fetched)
            elif name == "out":
                self.taken.append(y.tolist())
            elif name == "swap":
                y[:] = x.reshape(2, 3).T.ravel()
            elif name == "put":
                table[rows[0]] = x[1:4]
            elif name == "put both":
                table[rows[0]], table[rows[1]] = y[:3], y[3:]
            elif name == "get both":
                x[:] = table[rows].ravel()
            elif name == "get first":
                y[::2] = table[0]
            elif name == "count":
                rows[:] = (rows + 1) % ROWS
            elif name == "mix":
                x[:] = x[::-1] + y


def block(number: int) -> Any:
    """The block of a stream that is fetched as number so and so."""
    return np.arange(SIZE, dtype=Int) * 7 + number


STEPS = (
    *("in", "in reversed", "broadcast", "out", "swap", "put", "put both", "get both"),
    *("get first", "count", "mix"),
)
TREES = st.recursive(
    st.sampled_from(STEPS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=5), st.tuples(st.integers(0, 3), st.lists(inner, max_size=4))
    ),
    max_leaves=12,
)


def play(world: World, tree: Any) -> None:
    """Run a tree of steps on the model."""
    if isinstance(tree, str):
        world.step(tree)
    elif isinstance(tree, tuple):
        for _ in range(tree[0]):
            play(world, tree[1])
    else:
        for part in tree:
            play(world, part)


def program_of(graph: pl.Graph, tree: Any) -> tuple[pl.Program, dict[str, pl.Tensor]]:
    """Return the program of a tree, and its tensors."""
    x = graph.add_variable(pl.INT, (SIZE,), "x", mapping="linear")
    y = graph.add_variable(pl.INT, (SIZE,), "y", mapping="linear")
    row = graph.add_variable(pl.INT, (2,), "row", mapping=0)
    broadcast = pl.ReplicatedStreamMode.BROADCAST
    source = graph.add_host_to_device_fifo("in", pl.INT, SIZE, buffering_depth=3)
    common = graph.add_host_to_device_fifo("broadcast", pl.INT, SIZE, broadcast)
    sink = graph.add_device_to_host_fifo("out", pl.INT, SIZE)
    table = graph.add_remote_buffer("table", pl.INT, SIZE // 2, repeats=ROWS)
    count = graph.add_host_function("count", [(pl.INT, 2)], [(pl.INT, 2)])
    mix = graph.add_host_function("mix", [(pl.INT, SIZE)] * 2, [(pl.INT, SIZE)])
    made: dict[str, pl.Program] = {
        "in": pl.Copy(source, x),
        "in reversed": pl.Copy(source, y.reverse(0)),
        "broadcast": pl.Copy(common, y),
        "out": pl.Copy(y, sink),
        "swap": pl.Copy(x.reshape((2, 3)).T, y),
        "put": pl.Copy(x[1:4], table, row[0]),
        "put both": pl.Copy(y, table, row),
        "get both": pl.Copy(table, x, row),
        "get first": pl.Copy(table, y.sub_sample(2, 0)),
        "count": pl.Call(count, [row], [row]),
        "mix": pl.Call(mix, [x.reverse(0), y], [x]),
    }

    def build(tree: Any) -> pl.Program:
        if isinstance(tree, str):
            return made[tree]
        if isinstance(tree, tuple):
            return pl.Repeat(tree[0], build(tree[1]))
        return pl.Sequence(*map(build, tree))

    # A run of nothing uses them all, so that all can be connected.
    everything = pl.Repeat(0, pl.Sequence(*made.values()))
    return pl.Sequence(build(tree), everything), {"x": x, "y": y, "row": row}


class Ahead(pl.StreamCallback):
    """Fills blocks by number, some of them ahead."""

    def __init__(self, pattern: list[bool]) -> None:
        self.pattern, self.asked, self.filled = pattern, 0, 0

    def fetch(self, array: Any) -> None:
        self.filled += 1
        array[:] = block(self.filled)

    def prefetch(self, array: Any) -> bool:
        self.asked += 1
        if not self.pattern or not self.pattern[self.asked % len(self.pattern)]:
            return False
        self.fetch(array)
        return True


@pytest.mark.parametrize("replicas", [1, 2])
@both_forms
@examples(60)
@given(tree=st.lists(TREES, max_size=6), pattern=st.lists(st.booleans(), max_size=4))
def test_memory_streams_and_rows(
    replicas: int, interpret: bool, tree: Any, pattern: list[bool]
) -> None:
    graph = pl.Graph(pl.Target(tiles=4 * replicas, ipus=replicas), replicas)
    program, tensors = program_of(graph, tree)
    engine = pl.Engine(graph, program, interpret=interpret, options=values_only())
    world = World(replicas)
    taken: list[list[int]] = []
    numbers = iter(range(1001, 10**6))
    engine.connect_stream_to_callback("in", Ahead(pattern))
    engine.connect_stream_to_callback("broadcast", lambda array: array.fill(next(numbers)))
    engine.connect_stream_to_callback("out", lambda array: taken.append(array.tolist()))

    def count(inputs: Any, outputs: Any) -> None:
        outputs[0][:] = (inputs[0] + 1) % ROWS

    def mix(inputs: Any, outputs: Any) -> None:
        outputs[0][:] = inputs[0] + inputs[1]

    engine.connect_host_function("count", count)
    engine.connect_host_function("mix", mix)
    for name, tensor in tensors.items():
        engine.write(tensor, getattr(world, name)[0] * 0)
    for number in range(ROWS):  # which nothing has written otherwise
        engine.copy_to_remote_buffer([0] * (SIZE // 2), "table", number)
    for _ in range(2):
        engine.run()
        play(world, tree)
        for name, tensor in tensors.items():
            expected = getattr(world, name)
            assert engine.read(tensor).reshape(expected.shape).tolist() == expected.tolist(), name
        assert taken == world.taken
        for replica in range(replicas):
            rows = [engine.copy_from_remote_buffer("table", k, replica) for k in range(ROWS)]
            assert np.array(rows).tolist() == world.table[replica].tolist()
