"""Check as many random tensors as time allows: `python -m poplite.testing.fuzz`.

A graph gets five variables; a tensor goes through a dozen random operations. The tensor after each
operation is a *state*, whose queries are all compared with dense arrays::

    regions, contiguity, counts, aliases        the addresses of the elements
    intersection with earlier states            the addresses of the elements
    tile mapping, after random overlapping edits   one tile number for every address
    groups in memory order, and by tile            a sort of the addresses

The first difference ends the run with a report: the Python lines that lead to it.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from random import Random
from typing import NamedTuple
from warnings import catch_warnings, simplefilter

from poplite.errors import ConstantRemappedWarning
from poplite.testing import addressed
from poplite.view import Cat

STATES_OF_A_GRAPH = 12

NUM_TILES = 5

GRAPHS_AT_ONCE = 50
"""Number of graphs after which progress is printed."""


class FuzzResult(NamedTuple):
    """The results of checking graphs.

    Attributes:
        states: number of tensors checked.
        on_cat: number of checked tensors that view a concatenation.
        multi_digit: number of checked tensors with a dimension that needs more than one stride.
        failure: the report of the first difference, or empty.
    """

    states: int = 0
    on_cat: int = 0
    multi_digit: int = 0
    failure: str = ""

    def plus(self, other: FuzzResult) -> FuzzResult:
        """Return the sum of both results, with the first failure.

        >>> FuzzResult(2, 1).plus(FuzzResult(3, failure="x"))
        FuzzResult(states=5, on_cat=1, multi_digit=0, failure='x')
        """
        return FuzzResult(
            self.states + other.states,
            self.on_cat + other.on_cat,
            self.multi_digit + other.multi_digit,
            self.failure or other.failure,
        )


class Episode:
    """One graph, and a tensor that changes.

    Args:
        seed: seed of the whole run.
        number: number of this graph.

    Attributes:
        made: the tensor.
        tiles: int64, the tile at every address.
        edits: lines that edited the tile mapping, each with the number of the tensor's lines before
            it.
        seen: earlier states.
    """

    def __init__(self, seed: int, number: int) -> None:
        self.random = Random(f"{seed}/{number}")
        self.sources = addressed.random_variables(self.random, NUM_TILES)
        self.made = addressed.random_reshaped_variable(self.random, self.sources)
        self.tiles = addressed.tiles_of(self.made.tensor.graph)
        self.edits: list[tuple[int, str]] = []
        self.seen: list[addressed.AddressedTensor] = []

    def step(self) -> None:
        """Make the next state and check it.

        Raises:
            AssertionError: if an answer is wrong.
        """
        self.made = addressed.random_step(self.random, self.made, self.sources)
        tensor, addresses = self.made.tensor, self.made.addresses
        addressed.check_view(tensor, addresses)
        if self.random.random() < 0.3:
            self._edit()
        addressed.check_tile_mapping(tensor, addresses, self.tiles)
        addressed.check_sorted_regions(tensor, addresses, self.tiles)
        for other in self.random.sample(self.seen, min(2, len(self.seen))):
            addressed.check_intersection(tensor, addresses, other.tensor, other.addresses)
        self.seen.append(self.made)

    def _edit(self) -> None:
        """Put the elements of the tensor on one tile, or intervals of it on several."""
        tensor, flat = self.made.tensor, self.made.addresses.reshape(-1)
        if self.random.random() < 0.5:
            tile = self.random.randrange(NUM_TILES)
            mapping: int | list[list[tuple[int, int]]] = tile
            edits = [(0, len(flat), tile)]
        else:
            mapping = addressed.random_mapping(self.random, len(flat), NUM_TILES)
            edits = sorted((a, b, tile) for tile, held in enumerate(mapping) for a, b in held)
        self.edits.append((len(self.made.lines), f"graph.set_tile_mapping(t, {mapping!r})"))
        with catch_warnings():
            simplefilter("ignore", ConstantRemappedWarning)  # for the variable that is a constant
            tensor.graph.set_tile_mapping(tensor, mapping)
        for begin, end, tile in edits:  # where an element occurs twice, the last interval wins
            self.tiles[flat[begin:end]] = tile

    def program(self) -> str:
        """Return Python lines that make the graph and the tensor, edits included."""
        lines = list(self.made.lines)
        for after, line in reversed(self.edits):
            lines.insert(after, line)
        return "\n".join(lines)


def run(seed: int, graphs: Sequence[int], states: int) -> FuzzResult:
    """Check the states of the given graphs, up to the first difference.

    Args:
        seed: seed of the whole run.
        graphs: the numbers of the graphs.
        states: number of states of each graph.

    >>> run(0, [0, 1], 6).states
    12
    """
    done = on_cat = multi_digit = 0
    for number in graphs:
        episode = Episode(seed, number)
        for _ in range(states):
            try:
                episode.step()
            except Exception as error:  # any exception is a fault to report
                report = f"seed {seed}, graph {number}:\n\n{episode.program()}\n\n"
                report += "".join(traceback.format_exception(error))
                return FuzzResult(done, on_cat, multi_digit, report)
            view = episode.made.tensor.view
            done += 1
            on_cat += isinstance(view.space, Cat)
            multi_digit += any([type(dim) is tuple for dim in view.dims])
    return FuzzResult(done, on_cat, multi_digit)


def results(seed: int, states: int, jobs: int) -> Iterator[FuzzResult]:
    """Check states, a group of graphs at a time.

    Args:
        seed: makes the run repeatable, whatever the number of jobs.
        states: number of states.
        jobs: number of processes.

    Yields:
        The results of each group, in order, up to the first failure.

    >>> [part.states for part in results(0, 20, 1)]
    [12, 8]
    """
    whole, rest = divmod(states, STATES_OF_A_GRAPH)
    parts = [
        (seed, range(first, min(first + GRAPHS_AT_ONCE, whole)), STATES_OF_A_GRAPH)
        for first in range(0, whole, GRAPHS_AT_ONCE)
    ]
    parts += [(seed, range(whole, whole + 1), rest)] * (rest > 0)
    if jobs == 1:
        yield from map(run, *zip(*parts, strict=True))
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(run, *zip(*parts, strict=True))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: the command-line arguments.

    Returns:
        Exit code: 1 if an answer was wrong.
    """
    options = _parser().parse_args(arguments)
    began = time.perf_counter()
    total = FuzzResult()
    for part in results(options.seed, options.states, options.jobs):
        total = total.plus(part)
        if total.failure:
            print(total.failure, end="")
            break
        print(f"{total.states:,} of {options.states:,} states", file=sys.stderr)
    seconds = time.perf_counter() - began
    print(
        f"{total.states:,} states, {total.on_cat / max(total.states, 1):.0%} of a concatenation, "
        f"{total.multi_digit / max(total.states, 1):.0%} with multi-digit dims, "
        f"{'a wrong answer' if total.failure else 'no wrong answer'}, {seconds:.1f} s"
    )
    return 1 if total.failure else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m poplite.testing.fuzz",
        description="Check random tensors against dense arrays.",
    )
    parser.add_argument("--states", type=_positive, default=240_000, help="tensors to check")
    parser.add_argument("--seed", type=int, default=0, help="the same seed checks the same tensors")
    parser.add_argument("--jobs", type=_positive, default=1, help="processes")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1; found {number}")
    return number


if __name__ == "__main__":
    sys.exit(main())
