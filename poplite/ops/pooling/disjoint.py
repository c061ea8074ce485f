"""Windows that do not overlap, as gradients see them: what each has, at every place that it has.

The elements of x see windows a and b of 2 places, 3 apart, as a a 0 b b.
"""

from __future__ import annotations

from poplite.graph.tensor.tensor import Tensor
from poplite.ops.convolution.request import ConvolutionRequest
from poplite.ops.moving import pad


def are_disjoint(request: ConvolutionRequest) -> bool:
    """Return whether no element is in two windows."""
    return all(each.count == 1 or each.stride >= len(each.taps) for each in request.dimensions)


def seen(windows: Tensor, request: ConvolutionRequest) -> Tensor:
    """Return a view of windows, [batch, channels, field ...], for the elements of what was pooled.

    Elements that are in no window see zeros.
    """
    for d, each in enumerate(request.dimensions, start=2):
        taps = len(each.taps)
        stride = taps if each.count == 1 else each.stride
        places = windows.expand([d + 1]).broadcast(taps, d + 1)
        windows = _around(places, d + 1, 0, stride - taps).flatten(d, d + 2)
        windows = _around(windows, d, each.origin, each.size - each.origin - windows.shape[d])
    return windows


def _around(x: Tensor, dim: int, before: int, after: int) -> Tensor:
    """Return x with zeros before and after a dimension; negative numbers leave elements out."""
    if not (before or after):
        return x
    none = [(0, 0)] * x.rank
    return pad(x, [*none[:dim], (before, after), *none[dim + 1 :]])
