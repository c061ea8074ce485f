"""Vectors laid out in memory in drawn ways: a vertex must not care where its elements come from.

    contiguous | 0 1 2 3 4 |                          all of a variable
    strided    | . 0 . 1 . 2 . 3 . 4 |                every second element, on several tiles
    reversed   | 4 . 3 . 2 . 1 . 0 . |
    pieces     | . 3 4 . . 0 1 . 2 |                  cut, shuffled, with gaps

The elements between, shown as dots, belong to nobody: whoever writes them is at fault.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import Any

from poplite.graph.graph import Graph
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor
from poplite.text import amount
from poplite.types import QUARTER, ElementType, QuarterMetadata

MOST_GAP = 3
"""Elements between two neighbours, at most."""

MOST_PIECES = 4
"""Pieces that a vector is cut into, and tiles that a variable is spread over, at most."""


@dataclass(frozen=True, slots=True)
class LaidOut:
    """A vector somewhere in a variable.

    Attributes:
        tensor: the elements, in order.
        variable: the variable that holds them, and what is between them.
        text: how it lies there, for messages.
    """

    tensor: Tensor
    variable: Tensor
    text: str


def laid_out_contiguously(
    graph: Graph,
    name: str,
    element: type[ElementType[Any]],
    length: int,
    tile: int,
    metadata: QuarterMetadata | None = None,
) -> LaidOut:
    """Make a variable that is the vector.

    Args:
        graph: where.
        name: of the variable.
        element: its element type.
        length: elements of the vector.
        tile: where the variable lies.
        metadata: of QUARTER.

    >>> from poplite.types import INT
    >>> laid_out_contiguously(Graph(), "x", INT, 3, tile=0).text
    '3 elements side by side on tile 0'
    """
    whole = _variable(graph, name, element, length, metadata)
    graph.set_tile_mapping(whole, tile)
    return LaidOut(whole, whole, f"{amount(length, 'element')} side by side on tile {tile}")


def laid_out(
    graph: Graph,
    name: str,
    element: type[ElementType[Any]],
    length: int,
    random: Random,
    metadata: QuarterMetadata | None = None,
) -> LaidOut:
    """Make a variable that holds the vector in a drawn way, on drawn tiles.

    Args:
        graph: where.
        name: of the variable.
        element: its element type.
        length: elements of the vector.
        random: decides.
        metadata: of QUARTER.

    >>> from poplite.machine.target import Target
    >>> from poplite.types import INT
    >>> laid_out(Graph(Target(tiles=4)), "x", INT, 3, Random(1)).tensor.shape
    (3,)
    """

    def variable(size: int) -> Tensor:
        return _variable(graph, name, element, size, metadata)

    draw = _strided if random.random() < 0.5 else _pieces
    tensor, whole, text = draw(variable, length, random)
    tiles = _spread(graph, whole, random)
    return LaidOut(tensor, whole, f"{text}, on tiles {', '.join(map(str, tiles))}")


def _strided(
    variable: Callable[[int], Tensor], length: int, random: Random
) -> tuple[Tensor, Tensor, str]:
    first, step = random.randint(0, MOST_GAP), random.randint(1, MOST_GAP)
    end = first + step * length
    whole = variable(end + random.randint(0, MOST_GAP))
    tensor = whole[first:end:step]
    text = f"[{first}:{end}:{step}] of {amount(whole.num_elements, 'element')}"
    if random.random() < 0.5:
        return tensor.reverse(0), whole, f"{text}, reversed"
    return tensor, whole, text


def _pieces(
    variable: Callable[[int], Tensor], length: int, random: Random
) -> tuple[Tensor, Tensor, str]:
    cuts = sorted({0, length, *(random.randint(0, length) for _ in range(MOST_PIECES - 1))})
    pieces = list(pairwise(cuts))
    gaps = [random.randint(0, MOST_GAP) for _ in range(len(pieces) + 1)]
    whole = variable(length + sum(gaps))
    at, places = gaps[0], {}
    for (begin, end), gap in zip(random.sample(pieces, len(pieces)), gaps[1:], strict=True):
        places[begin] = (at, at + end - begin)
        at += end - begin + gap
    intervals = [places[begin] for begin, _ in pieces]
    tensor = concat([whole[begin:end] for begin, end in intervals]) if intervals else whole[:0]
    shown = " ".join(f"[{begin}, {end})" for begin, end in intervals)
    return tensor, whole, f"{shown or 'none'} of {amount(whole.num_elements, 'element')}"


def _variable(
    graph: Graph,
    name: str,
    element: type[ElementType[Any]],
    size: int,
    metadata: QuarterMetadata | None,
) -> Tensor:
    return graph.add_variable(
        element, (size,), name, metadata=metadata if element is QUARTER else None
    )


def _spread(graph: Graph, whole: Tensor, random: Random) -> list[int]:
    """Map a variable in stretches to drawn tiles; return the tiles."""
    size = whole.num_elements
    cuts = sorted({0, size, *(random.randint(0, size) for _ in range(MOST_PIECES - 1))})
    tiles = []
    for begin, end in pairwise(cuts):
        tiles.append(random.randrange(graph.target.tiles))
        graph.set_tile_mapping(whole[begin:end], tiles[-1])
    return sorted(set(tiles))
