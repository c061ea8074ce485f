"""Random tensors for tests.

All choices are drawn from a `random.Random`, so that a seed determines a tensor::
    variables and a constant, of a few sizes that have many divisors
    up to n steps, each a random operation with random valid arguments, such as
    slice, reverse, dim_shuffle, reshape, broadcast; concatenation with itself, with slices,
    with shifted windows as in a convolution, with other variables

Sizes of 0 and 1, rank 0, and reshapes that do not match strides occur often enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random

from poplite.errors import TensorCreationError
from poplite.machine.target import Target
from poplite.testing.addressed import AddressedTensor, appended, checked, concatenated, variables
from poplite.text import clipped

MOST_ELEMENTS = 600
"""Maximum number of elements of a random tensor; variables have fewer."""

LARGEST = 2**20
"""Maximum size for which a shape or a mapping is drawn, and maximum number of steps."""

SIZES = {"v0": 24, "c1": 36, "v2": 60, "v3": 1, "v4": 24}
"""Number of elements of each random variable; c1 is a constant."""


@checked
def random_variables(random: Random, num_tiles: int = 4) -> tuple[AddressedTensor, ...]:
    """Create the variables of a new graph, one of them a constant; some elements have no tile.

    Args:
        random: source of shapes and tiles.
        num_tiles: number of tiles of the graph.

    >>> [v.tensor.num_elements for v in random_variables(Random(0))]
    [24, 36, 60, 1, 24]
    """
    return variables(
        {name: random_shape(random, size) for name, size in SIZES.items()},
        num_tiles=num_tiles,
        constants=["c1"],
        mappings={name: random_mapping(random, size, num_tiles) for name, size in SIZES.items()},
    )


@checked
def random_tensor(
    random: Random, sources: Sequence[AddressedTensor], max_steps: int = 8
) -> AddressedTensor:
    """Draw a tensor that is the result of random operations.

    Args:
        random: source of all choices.
        sources: whole variables of one graph.
        max_steps: maximum number of operations.

    >>> random = Random(8)
    >>> print(random_tensor(random, random_variables(random), 3).text)
    t
    """
    _check_size("testing.random_tensor: max_steps", max_steps)
    made = random_reshaped_variable(random, sources)
    for _ in range(random.randint(0, max_steps)):
        made = random_step(random, made, sources)
    return made


def random_reshaped_variable(random: Random, sources: Sequence[AddressedTensor]) -> AddressedTensor:
    """Draw a variable in a random shape.

    Args:
        random: source of the choice.
        sources: whole variables of one graph.

    >>> random = Random(0)
    >>> random_reshaped_variable(random, random_variables(random)).tensor.is_contiguous()
    True
    """
    source = random.choice(sources)
    return source.call("reshape", random_shape(random, source.tensor.num_elements)).assigned()


@checked
def random_step(
    random: Random, one: AddressedTensor, sources: Sequence[AddressedTensor]
) -> AddressedTensor:
    """Apply one random operation to a tensor.

    Args:
        random: source of the choice.
        one: a tensor.
        sources: whole variables of its graph, to concatenate with.

    >>> random = Random(3)
    >>> sources = random_variables(random)
    >>> print(random_step(random, sources[0], sources).lines[-1])
    t = v0.reshape((24,))
    """
    rank = one.tensor.rank
    dim = random.randrange(max(rank, 1))
    if rank and random.random() < 0.06:
        made = _with_others(random, one, dim, sources)
    else:
        made = random.choice(_WITH_DIMENSIONS if rank else _ANY_RANK)(random, one, dim)
    return one if made is one else made.assigned()


@checked
def random_shape(random: Random, size: int) -> tuple[int, ...]:
    """Draw a shape with a given number of elements, of rank 0 to 4.

    >>> math.prod(random_shape(Random(0), 24))
    24
    """
    _check_size("testing.random_shape: size", size)
    shape = []
    if size == 0:
        shape = [0, *(random.randint(0, 3) for _ in range(random.randint(0, 2)))]
    while size > 1 and len(shape) < 3 and random.random() < 0.8:
        extent = random.choice([d for d in range(1, size + 1) if size % d == 0])
        shape.append(extent)
        size //= extent
    if size > 1 or (size == 1 and random.random() < 0.3):
        shape.append(size)
    random.shuffle(shape)
    return tuple(shape)


@checked
def random_mapping(random: Random, size: int, num_tiles: int) -> list[list[tuple[int, int]]]:
    """Draw, for each tile, disjoint intervals of a flattened tensor; some elements get no tile.

    >>> random_mapping(Random(1), 8, 2)
    [[], [(0, 1), (1, 8)]]
    """
    _check_size("testing.random_mapping: size", size)
    Target(tiles=num_tiles)  # rejects too many tiles
    cuts = sorted({0, size, *(random.randint(0, size) for _ in range(random.randint(0, 6)))})
    mapping: list[list[tuple[int, int]]] = [[] for _ in range(num_tiles)]
    for begin, end in pairwise(cuts):
        if random.random() < 0.9:
            random.choice(mapping).append((begin, end))
    return mapping


def _check_size(what: str, size: int) -> None:
    if not 0 <= size <= LARGEST:
        raise TensorCreationError(
            f"{what} must be from 0 to {LARGEST:,}; found {clipped(size)}",
            fix=f"pass a number from 0 to {LARGEST:,}",
        )


_Step = Callable[[Random, AddressedTensor, int], AddressedTensor]


def _slice(random: Random, one: AddressedTensor, dim: int) -> AddressedTensor:
    size = one.tensor.shape[dim]
    begin = random.randint(0, size // 2)
    end = random.randint(min(begin + 1, size), size) if random.random() < 0.98 else begin
    return one.call("slice", begin, end, dim)


def _index(random: Random, one: AddressedTensor, dim: int) -> AddressedTensor:
    if not one.tensor.shape[0] or (one.tensor.num_elements < 9 and random.random() < 0.8):
        return one
    return one.call("index", [random.randrange(one.tensor.shape[0])])


def _shuffle(random: Random, one: AddressedTensor, dim: int) -> AddressedTensor:
    rank = one.tensor.rank
    if random.random() < 0.2:
        return one.call("dim_roll", dim, random.randrange(rank))
    return one.call("dim_shuffle", random.sample(range(rank), rank))


def _sub_sample(random: Random, one: AddressedTensor, dim: int) -> AddressedTensor:
    return one.call("sub_sample", random.randint(1, 5), dim)


def _reverse(random: Random, one: AddressedTensor, dim: int) -> AddressedTensor:
    return one.call("reverse", dim)


def _repeat(random: Random, one: AddressedTensor, dim: int) -> AddressedTensor:
    times = random.randint(1, 3) if 3 * one.tensor.num_elements <= MOST_ELEMENTS else 1
    times = 0 if random.random() < 0.02 else times
    return one.call(random.choice(["broadcast", "upsample"]), times, dim)


def _reshape(random: Random, one: AddressedTensor, dim: int) -> AddressedTensor:
    return one.call("reshape", random_shape(random, one.tensor.num_elements))


def _flatten(random: Random, one: AddressedTensor, dim: int) -> AddressedTensor:
    if random.random() < 0.7:
        return one.call("flatten")
    begin = random.randint(0, one.tensor.rank)
    return one.call("flatten", begin, random.randint(begin, one.tensor.rank))


def _expand(random: Random, one: AddressedTensor, dim: int) -> AddressedTensor:
    if one.tensor.rank < 5:
        return one.call("expand", [random.randint(0, one.tensor.rank)])
    return one.call("squeeze", [d for d, size in enumerate(one.tensor.shape) if size == 1])


def _pieces(random: Random, one: AddressedTensor, dim: int) -> AddressedTensor:
    """Cut the tensor, and concatenate all pieces in order, or a selection in any order."""
    size = one.tensor.shape[dim]
    cuts = sorted({0, size, *(random.randint(0, size) for _ in range(random.randint(0, 5)))})
    ranges = list(pairwise(cuts)) or [(0, 0)]
    if random.random() < 0.5:
        ranges = random.sample(ranges, random.randint(1, len(ranges)))
    return _of_slices(random, one, ranges, dim)


def _windows(random: Random, one: AddressedTensor, dim: int) -> AddressedTensor:
    """Concatenate shifted windows of equal size."""
    size = one.tensor.shape[dim]
    if size < 2:
        return one
    width, step = random.randint(1, size - 1), random.randint(1, 2)
    ranges = [(begin, begin + width) for begin in range(0, size - width + 1, step)]
    if len(ranges) * width * (one.tensor.num_elements // size) > MOST_ELEMENTS:
        return one
    return _of_slices(random, one, ranges, dim)


def _of_slices(
    random: Random, one: AddressedTensor, ranges: list[tuple[int, int]], dim: int
) -> AddressedTensor:
    if random.random() < 0.3:
        return one.joined_slices(ranges, dim)
    return concatenated([one.call("slice", begin, end, dim) for begin, end in ranges], dim)


def _with_itself(random: Random, one: AddressedTensor, dim: int) -> AddressedTensor:
    times = random.randint(1, 4)
    if times * one.tensor.num_elements > MOST_ELEMENTS:
        return one
    return concatenated(
        [one.call("reverse", dim) if random.random() < 0.3 else one for _ in range(times)], dim
    )


def _grown(random: Random, one: AddressedTensor, dim: int) -> AddressedTensor:
    """Append one of the tensor's own indices."""
    size = one.tensor.shape[dim]
    if not size:
        return one
    own = one.call("dim_roll", dim, 0).call("index", [random.randrange(size)])
    return appended(one, own, dim)


def _with_others(
    random: Random, one: AddressedTensor, dim: int, sources: Sequence[AddressedTensor]
) -> AddressedTensor:
    """Concatenate with elements of other variables, cut to a shape that fits."""
    shape, parts, total = one.tensor.shape, [one], int(one.tensor.num_elements)
    chunk = math.prod(shape) // max(shape[dim], 1)
    for other in random.choices(sources, k=random.randint(1, 3)):
        rows = other.tensor.num_elements // chunk if chunk else 0
        total += rows * chunk
        if not rows or total > MOST_ELEMENTS:
            break
        part = other.call("flatten").call("slice", 0, rows * chunk, 0)
        parts.append(part.call("reshape", (*shape[:dim], rows, *shape[dim + 1 :])))
    random.shuffle(parts)
    return concatenated(parts, dim)


_ANY_RANK: tuple[_Step, ...] = (_reshape, _reshape, _flatten, _expand)
_WITH_DIMENSIONS: tuple[_Step, ...] = (
    *_ANY_RANK, _slice, _slice, _index, _shuffle, _sub_sample, _reverse, _repeat, _repeat,
    _pieces, _pieces, _with_itself, _windows, _grown,
)  # fmt: skip
