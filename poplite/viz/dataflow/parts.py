"""Which part of its variable a tensor is, in the words of an index.

>>> from poplite.graph import Graph
>>> x = Graph().add_variable("int32", (4, 6), "x")
>>> part_text(x), part_text(x[1:3, ::2]), part_text(x[:, 2:4].T), part_text(x[3])
('all', '[1:3, 0:5:2]', '[:, 2:4] dimShuffle(1, 0)', '[3]')
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from poplite.text import amount
from poplite.view import Cat, num_runs, storages

if TYPE_CHECKING:
    from poplite.graph.tensor.tensor import Tensor


def part_text(tensor: Tensor) -> str:
    """Return the part of its variable that a tensor is, and how it is turned.

    What no index says is told by the number of its intervals.

    >>> from poplite.graph import Graph
    >>> part_text(Graph().add_variable("int32", (4, 6), "x").flatten()[3:20:5])
    '4 intervals'
    """
    if not tensor.num_elements:
        return "no elements"
    if isinstance(tensor.view.space, Cat):
        return f"{amount(len(storages(tensor.view)), 'variable')} together"
    variable = tensor.graph.variable_of(tensor.view.space)
    found = _index(tensor, variable.shape)
    if found is not None:
        return found
    if any(stride == 0 for _, stride in tensor.view.flat_digits()):
        return "a broadcast"
    intervals = num_runs(tensor.view)
    if intervals > 1:
        return f"{intervals:,} intervals"
    if tensor.num_elements == variable.num_elements:
        return "all"
    return f"elements [{tensor.view.off:,}, {tensor.view.off + tensor.num_elements:,})"


def _index(tensor: Tensor, shape: tuple[int, ...]) -> str | None:
    """Return an index of a shape and a shuffle of its dimensions; None where there is none."""
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    first, rest = [0] * len(shape), tensor.view.off
    for axis, stride in enumerate(strides):
        first[axis], rest = divmod(rest, stride)
    words = [f"{start:,}" if shape[axis] > 1 else ":" for axis, start in enumerate(first)]
    order: list[int] = []
    for extent, step in zip(tensor.shape, tensor.view.dims, strict=True):
        if extent == 1:
            continue
        if isinstance(step, tuple) or step == 0:
            return None
        fitting = [axis for axis, stride in enumerate(strides) if step % stride == 0]
        axis = next((axis for axis in fitting if shape[axis] > 1), len(shape))
        if axis == len(shape) or axis in order:
            return None
        step //= strides[axis]
        last = first[axis] + step * (extent - 1)
        if not 0 <= last < shape[axis]:
            return None
        order.append(axis)
        words[axis] = _slice(first[axis], last, step, shape[axis])
    while words and words[-1] == ":":
        words.pop()
    index = f"[{', '.join(words)}]" if words else "all"
    if order == sorted(order):
        return index
    shuffled = [sorted(order).index(axis) for axis in order]
    return f"{index} dimShuffle({', '.join(map(str, shuffled))})"


def _slice(first: int, last: int, step: int, extent: int) -> str:
    if step < 0:
        return f"{_slice(last, first, -step, extent)} reversed"
    if (first, last, step) == (0, extent - 1, 1):
        return ":"
    return f"{first}:{last + 1}" + (f":{step}" if step > 1 else "")
