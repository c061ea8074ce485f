"""Sort 512 numbers on eight tiles: sorted blocks, then passes that swap between neighbours.

    python examples/sort.py

Every tile sorts its own block of 64.  A pass then looks at the pairs of blocks (0, 1), (2, 3), ...
and after that at (1, 2), (3, 4), ...  The vertex of a pair merges its two blocks, if they are out
of order, gives the lower half to the left tile and the upper half to the right one, and raises a
flag::

    tile       0        1        2        3                       flags
    before     2 7 9    1 4 8    0 5 6    3 10 11
               [---------------] [---------------]    pairs 0, 2    1, 1
               1 2 4    7 8 9    0 3 5    6 10 11
                        [---------------]             pair  1       1
               1 2 4    0 3 5    7 8 9    6 10 11

How many passes it takes depends on the numbers, so the machine itself decides: flags of all pairs
are reduced to one, and `RepeatWhileTrue` runs another pass as long as it is true.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

import poplite as pl
from poplite.tools.script import one_line_errors

if TYPE_CHECKING:
    from collections.abc import Sequence

TILES, BLOCK = 8, 64
SEED = 701

# Worked out by hand-written Python.
EXPECTED = {0: -2144539202, 256: 68265528, 511: 2141161603}
EXPECTED_PASSES = 5  # the last one finds nothing to do


class SortBlock(pl.Vertex):
    """Sorts one block in place, by insertion."""

    keys: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        """Move each key to the left until its neighbour is not greater."""
        for i in range(1, len(self.keys)):
            key = self.keys[i]
            k = i
            while k > 0:
                if self.keys[k - 1] <= key:
                    break
                self.keys[k] = self.keys[k - 1]
                k -= 1
            self.keys[k] = key


class MergeSplit(pl.Vertex):
    """Merges two sorted blocks, unless all of the left one comes before the right one."""

    left: pl.InOut[pl.Vector[pl.INT]]
    right: pl.InOut[pl.Vector[pl.INT]]
    scratch: pl.InOut[pl.Vector[pl.INT]]
    swapped: pl.Output[pl.BOOL]

    def compute(self) -> None:
        """Merge into the scratch memory, and copy the halves back."""
        n = len(self.left)
        in_order = self.left[n - 1] <= self.right[0]
        self.swapped = not in_order
        if in_order:
            return
        i, j = 0, 0
        for k in range(2 * n):
            from_left = i < n
            if from_left and j < n:
                from_left = self.left[i] <= self.right[j]
            if from_left:
                self.scratch[k] = self.left[i]
                i += 1
            else:
                self.scratch[k] = self.right[j]
                j += 1
        for k in range(n):
            self.left[k] = self.scratch[k]
            self.right[k] = self.scratch[n + k]


class Count(pl.Vertex):
    """Counts how often it runs."""

    number: pl.InOut[pl.INT]

    def compute(self) -> None:
        """One more."""
        self.number = self.number + 1


def keys() -> npt.NDArray[np.int32]:
    """Return the numbers to sort: states of a small generator, read as signed."""
    state, drawn = SEED, []
    for _ in range(TILES * BLOCK):
        state = (1664525 * state + 1013904223) % 2**32
        drawn.append(state)
    return np.array(drawn, np.uint32).view(np.int32)


def build() -> tuple[pl.Graph, pl.Program, pl.Tensor, pl.Tensor]:
    """Return the graph, its program, the numbers, and the count of passes."""
    graph = pl.Graph(pl.Target(tiles=TILES))
    numbers = graph.add_variable(
        pl.INT, (TILES, BLOCK), "numbers", mapping="linear", initial_value=keys().reshape(TILES, -1)
    )
    scratch = graph.add_variable(pl.INT, (TILES, 2 * BLOCK), "scratch", mapping="linear")
    flags = graph.add_variable(pl.BOOL, (TILES - 1,), "flags", mapping="linear")
    passes = graph.add_variable(pl.INT, (), "passes", mapping=0, initial_value=0)

    sort = graph.add_compute_set("sort blocks")
    graph.add_vertices(sort, SortBlock, tile=np.arange(TILES), keys=numbers)
    even, odd = graph.add_compute_set("even pairs"), graph.add_compute_set("odd pairs")
    for k in range(TILES - 1):
        graph.add_vertex(
            odd if k % 2 else even,
            MergeSplit,
            tile=k,
            left=numbers[k],
            right=numbers[k + 1],
            scratch=scratch[k],
            swapped=flags[k],
        )
    graph.add_vertex(even, Count, tile=0, number=passes)

    one_pass = pl.Sequence(pl.Execute(even), pl.Execute(odd))
    go_on = pl.ops.map(pl.ops.any(flags), name="go on", program=one_pass)
    passes_until_quiet = pl.RepeatWhileTrue(one_pass, go_on, pl.Sequence())
    return graph, pl.Sequence(pl.Execute(sort), passes_until_quiet), numbers, passes


def faults(got: npt.NDArray[np.int32], passes: int) -> list[str]:
    """Compare with NumPy, and with the numbers above."""
    found = []
    different = int(np.count_nonzero(got != np.sort(keys())))
    if different:
        found.append(f"{different} of {got.size} numbers are not where NumPy puts them")
    for k, value in EXPECTED.items():
        if got[k] != value:
            found.append(f"number {k} is {got[k]}, expected {value}")
    if passes != EXPECTED_PASSES:
        found.append(f"{passes} passes, expected {EXPECTED_PASSES}")
    return found


@one_line_errors
def main(argv: Sequence[str] | None = None) -> int:
    argparse.ArgumentParser(description="Sort 512 numbers on eight tiles.").parse_args(argv)
    graph, program, numbers, passes = build()
    engine = pl.Engine(graph, program)
    engine.run()
    got, count = engine.read(numbers).flatten(), int(engine.read(passes))
    print(f"{got[0]}, {got[1]}, {got[2]}, ..., {got[-1]}: sorted in {count} passes")
    print(engine.report())
    problems = faults(got, count)
    for problem in problems:
        print(f"WRONG: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
