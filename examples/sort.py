"""Sort 512 numbers on eight tiles: sorted blocks, then passes that swap between neighbours.

A pass merges blocks (0, 1), (2, 3), ... and then (1, 2), (3, 4), ... where they are out of order,
and raises flags; the machine runs another one as long as any flag is raised.
"""

import numpy as np

import poplite as pl
from poplite import ops

VALUES = np.random.default_rng(7).integers(-(2**31), 2**31, (8, 64), np.int32)


class SortBlock(pl.Vertex):
    """Sorts one block in place, by insertion."""

    keys: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for i in range(1, len(self.keys)):
            key, k = self.keys[i], i
            while k > 0 and self.keys[k - 1] > key:
                self.keys[k] = self.keys[k - 1]
                k -= 1
            self.keys[k] = key


class MergeSplit(pl.Vertex):
    """Moves the lower half of two sorted blocks to the left one, the upper half to the right."""

    left: pl.InOut[pl.Vector[pl.INT]]
    right: pl.InOut[pl.Vector[pl.INT]]
    swapped: pl.Output[pl.BOOL]

    def compute(self) -> None:
        n = len(self.left)
        self.swapped = self.left[n - 1] > self.right[0]
        while self.left[n - 1] > self.right[0]:
            greatest, least, i, j = self.left[n - 1], self.right[0], n - 1, 0
            while i > 0 and self.left[i - 1] > least:
                self.left[i] = self.left[i - 1]
                i -= 1
            while j < n - 1 and self.right[j + 1] < greatest:
                self.right[j] = self.right[j + 1]
                j += 1
            self.left[i], self.right[j] = least, greatest


def build() -> tuple[pl.Graph, pl.Program, pl.Tensor, pl.Tensor]:
    graph = pl.Graph(pl.Target(tiles=8))
    numbers = graph.add_variable(pl.INT, (8, 64), "numbers", mapping="linear", initial_value=VALUES)
    flags = graph.add_variable(pl.BOOL, (7,), "flags", mapping="linear", initial_value=True)
    passes = graph.add_variable(pl.INT, (), "passes", mapping=0, initial_value=0)
    sort, even, odd = map(graph.add_compute_set, ("sort blocks", "even", "odd"))
    graph.add_vertices(sort, SortBlock, tile=range(8), keys=numbers)
    for k in range(7):
        pair = {"left": numbers[k], "right": numbers[k + 1]}
        graph.add_vertex(odd if k % 2 else even, MergeSplit, tile=k, swapped=flags[k], **pair)

    with graph.steps() as program:
        program.add(pl.Execute(sort))
        with ops.while_(ops.any(flags)):
            program.add(pl.Sequence(pl.Execute(even), pl.Execute(odd)))
            ops.assign(passes, passes + 1)
    return graph, program, numbers, passes


def main() -> None:
    graph, program, numbers, passes = build()
    engine = pl.Engine(graph, program)
    engine.run()
    np.testing.assert_array_equal(engine.read(numbers).flatten(), np.sort(VALUES, axis=None))
    print(f"sorted in {engine.read(passes)} passes")
    print(engine.report())


if __name__ == "__main__":
    main()
