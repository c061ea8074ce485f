"""What a tensor says of itself: its name, its one-line repr, its expression.

    <Tensor 'weights' float32[64, 128] on 32 tiles (0-31), 32,768 B>
    VAR:weights DIMSHUFFLE(1,0)
    float32[3, 2]: t from 0, extent:stride (3:1) (2:3)

A repr must stay cheap, since debuggers and error messages ask for it: tiles are looked up
only for views of few runs, or for all of one variable.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from poplite.view import Cat, Storage, View, contains_aliases, num_runs, storages, whole
from poplite.view.digits import digits_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from poplite.mapping import TileMapping
    from poplite.tensor_queries import TensorQueries
    from poplite.variable import Variable

FEW_RUNS = 10_000
"""Runs whose tiles a repr still looks up: under a millisecond."""

SHOWN_NAMES = 3
SHOWN_RANGES = 3


def name(tensor: TensorQueries) -> str:
    """Return the name of the variable viewed, or `concat(...)` of several.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> a, b = graph.add_variable(pl.INT, (2,), "a"), graph.add_variable(pl.INT, (2,), "b")
    >>> name(pl.concat([a, b]))
    'concat(a, b)'
    """
    space = tensor.view.space
    below = space.storages if isinstance(space, Cat) else storages(tensor.view)
    names = [tensor.graph.variable_of(storage).name for storage in below[:SHOWN_NAMES]]
    if len(below) < 2:
        return "".join(names)
    more = [f"{len(below) - SHOWN_NAMES:,} more"] if len(below) > SHOWN_NAMES else []
    return f"concat({', '.join([*names, *more])})"


def type_and_shape(tensor: TensorQueries) -> str:
    """Return `float32[64, 128]`.

    >>> import poplite as pl
    >>> type_and_shape(pl.Graph().add_variable(pl.FLOAT, (64, 128)))
    'float32[64, 128]'
    """
    return f"{tensor.element_type.dtype}{list(tensor.shape)}"


def one_line(tensor: TensorQueries) -> str:
    """Return the repr of a tensor.

    >>> import poplite as pl
    >>> one_line(pl.Graph().add_variable(pl.FLOAT, (64, 128), "weights"))
    "<Tensor 'weights' float32[64, 128] on no tile, 32,768 B>"
    """
    if not tensor.num_elements:
        return f"<Tensor {type_and_shape(tensor)}, no elements>"
    size_bytes = tensor.num_elements * tensor.element_type.size_bytes
    mapping = _cheap_mapping(tensor)
    where = "" if mapping is None else " " + _tiles(mapping)
    text = f"<Tensor '{tensor.name}' {type_and_shape(tensor)}{where}, {size_bytes:,} B"
    if mapping is not None and len(mapping.tiles) and mapping.num_unmapped:
        text += f", {mapping.num_unmapped:,} elements unmapped"
    return text + ">"


def _cheap_mapping(tensor: TensorQueries) -> TileMapping | None:
    view = tensor.view
    space = view.space
    if isinstance(space, Cat):
        if tensor.num_elements > FEW_RUNS:
            return None
    elif num_runs(view) > FEW_RUNS:
        # Every element once, in whatever order: the tiles are the variable's.
        if view.num_elements != space.num_elements or contains_aliases(view):
            return None
        view = whole(space, (space.num_elements,))
    # Tensors stand above their text.
    from poplite.tensor import Tensor

    shown = Tensor(tensor.graph, tensor.element_type, view)
    return tensor.graph.tile_mapping(shown, require_complete=False)


def _tiles(mapping: TileMapping) -> str:
    tiles = mapping.tiles
    if not len(tiles):
        return "on no tile"
    if len(tiles) == 1:
        return f"on tile {tiles[0]}"
    return f"on {len(tiles):,} tiles ({_ranges(tiles)})"


def _ranges(numbers: npt.NDArray[np.int64]) -> str:
    """Return sorted numbers as ranges: 0-3, 7."""
    ranges: list[list[int]] = []
    for n in numbers.tolist():
        if ranges and n == ranges[-1][1] + 1:
            ranges[-1][1] = n
        else:
            ranges.append([n, n])
    texts = [f"{a}" if a == b else f"{a}-{b}" for a, b in ranges[:SHOWN_RANGES]]
    return ", ".join(texts + (["..."] if len(ranges) > SHOWN_RANGES else []))


def summary(tensor: TensorQueries, label: Callable[[Variable], str]) -> str:
    """Return the first variable and what was done to it, as Poplar's getVarStr does.

    Args:
        tensor: any tensor.
        label: what to call the variable.

    >>> import poplite as pl
    >>> t = pl.Graph().add_variable(pl.INT, (2, 3), "t")
    >>> summary(t.T, lambda variable: variable.name)
    'VAR:t DIMSHUFFLE(1,0)'
    """
    view = tensor.view
    below = view.space.storages if isinstance(view.space, Cat) else storages(view)
    if not below:
        return "VAR:"
    parts = [f"VAR:{label(tensor.graph.variable_of(below[0]))}"]
    factor = math.prod([extent for extent, stride in view.flat_digits() if stride == 0])
    if factor > 1:
        parts.append(f"BROADCAST[{factor}]")
    order = _shuffled(view)
    if order != sorted(order):
        parts.append(f"DIMSHUFFLE({','.join(map(str, order))})")
    if isinstance(view.space, Cat) and len(view.space.kids) > 1:
        parts.append(f"INTERLEAVE[{len(view.space.kids)}]")
    return " ".join(parts)


def _shuffled(view: View) -> list[int]:
    """Return which dimension of a row-major tensor each stored dimension was."""
    reach = []
    for d, (size, dim) in enumerate(zip(view.shape, view.dims, strict=True)):
        steps = [abs(stride) for _, stride in digits_of(size, dim) if stride]
        if steps:
            reach.append((-max(steps), d))
    by_stride = [d for _, d in sorted(reach)]
    stored = sorted(by_stride)
    return [by_stride.index(d) for d in stored]


def expression(tensor: TensorQueries) -> str:
    """Return the view behind a tensor, down to its variables.

    >>> import poplite as pl
    >>> expression(pl.Graph().add_variable(pl.INT, (2, 3), "t").T.flatten())
    'int32[6]: t from 0, extent:stride (3:1, 2:3)'
    """
    return f"{type_and_shape(tensor)}: {_expression(tensor, tensor.view)}"


def _expression(tensor: TensorQueries, view: View) -> str:
    if not view.num_elements:
        return "no elements"
    if isinstance(view.space, Storage):
        source = tensor.graph.variable_of(view.space).name
    else:
        kids = "; ".join([_expression(tensor, kid) for kid in view.space.kids])
        source = f"{view.space.outer} x [{kids}]"
    numbers = [
        ", ".join(f"{extent}:{stride}" for extent, stride in digits_of(size, dim)) or "1"
        for size, dim in zip(view.shape, view.dims, strict=True)
    ]
    digits = " ".join(f"({number})" for number in numbers)
    return f"{source} from {view.off}, extent:stride {digits}".rstrip()
