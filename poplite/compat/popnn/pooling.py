"""Pooling of popnn; its options have no effect here.

    popnn::pooling::pool(graph, params, in, prog)
    popnn.pooling.pool(graph, params, in_, prog)

Source: PopLibs, `popnn/Pooling.hpp`, `popnn/PoolingDef.hpp`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from poplite.compat.arguments import Options, check_known, check_params, checked, sizes_of
from poplite.errors import Enumeration, InvalidOption, TensorCreationError, checked_member
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_text import type_and_shape
from poplite.ops.nn import pooling
from poplite.ops.products.convolution_request import check_fields, check_number, forward, spacings
from poplite.poplar.absent import shown as _shown
from poplite.program import Sequence as Steps
from poplite.text import clipped
from poplite.types import ElementTypeLike, element_type

__all__ = _shown(globals(), "PoolParams PoolingType pool poolInputGradient", "popnn.pooling")

_KNOWN = ("poolUseIntrospectiveMapping", "optimizeForSpeed", "useFloatPartialsWhereBeneficial")


class PoolingType(Enumeration):
    """How the elements of a window are reduced."""

    MAX = "max"
    AVG = "average"
    SUM = "sum"


@dataclass(slots=True)
class PoolParams:
    """Parameters of pooling, `popnn::pooling::PoolParams`.

    Attributes:
        poolingType: how the elements of a window are reduced.
        inputFieldShape: sizes of the input.
        kernelShape: sizes of the window.
        stride: distances between windows.
        inputTruncationOrPaddingLower: padding before the input; negative numbers omit elements.
        inputTruncationOrPaddingUpper: padding after the input, with the same rule.
        numChannels: number of channels of the input.
        batchSize: number of inputs.
        dType: element type.
    """

    poolingType: PoolingType
    inputFieldShape: Sequence[int]
    kernelShape: Sequence[int]
    stride: Sequence[int]
    inputTruncationOrPaddingLower: Sequence[int]
    inputTruncationOrPaddingUpper: Sequence[int]
    numChannels: int
    batchSize: int
    dType: ElementTypeLike

    def __post_init__(self) -> None:
        self.poolingType = self._kind()

    def _kind(self) -> PoolingType:
        return checked_member(self.poolingType, PoolingType, "popnn.PoolParams: poolingType")

    def getOutputFieldShape(self) -> list[int]:
        """Return the sizes of the output.

        Raises:
            TensorCreationError: if a window is larger than the padded input.
            InvalidOption: for invalid strides and paddings.

        >>> from poplite.types import FLOAT
        >>> params = PoolParams(PoolingType.MAX, [5], [2], [2], [0], [1], 1, 1, FLOAT)
        >>> params.getOutputFieldShape()
        [3]
        """
        what = "PoolParams.getOutputFieldShape"
        field, window, stride = self._sizes(what)
        how = spacings(what, len(field), list(stride), self._sides(), 1)
        check_number(what, "kernelShape", window, len(field))
        check_fields(what, field, window, how)
        return [forward(*each).count for each in zip(field, window, how, strict=True)]

    def _sizes(self, what: str) -> Iterator[tuple[int, ...]]:
        """Yield the sizes of the input and of the window, and its strides."""
        for name in ("inputFieldShape", "kernelShape", "stride"):
            yield sizes_of(what, name, getattr(self, name))

    def _sides(self) -> list[tuple[int, int]]:
        """Return the padding before and after each dimension."""
        lower, upper = (
            sizes_of("PoolParams", name, getattr(self, name))
            for name in ("inputTruncationOrPaddingLower", "inputTruncationOrPaddingUpper")
        )
        if len(lower) != len(upper):
            raise InvalidOption(
                f"PoolParams: inputTruncationOrPaddingLower is {clipped(lower)}, "
                f"inputTruncationOrPaddingUpper {clipped(upper)}",
                fix="pass a number for each dimension of the field in both",
            )
        return list(zip(lower, upper, strict=True))

    def _call(self, what: str, options: Options, x: Tensor) -> dict[str, Any]:
        """Return the arguments for pooling x with these parameters, or raise."""
        check_known(what, options, _KNOWN)
        field, window, stride = self._sizes(what)
        many = sizes_of(what, "batchSize and numChannels", [self.batchSize, self.numChannels])
        shape, kind = (*many, *field), element_type(self.dType)
        if x.shape != shape or x.element_type is not kind:
            raise TensorCreationError(
                f"{what}: '{x.name}' is {type_and_shape(x)}, but the parameters say "
                f"{kind!r} {shape}",
                found="compared with batchSize, numChannels, inputFieldShape and dType",
                fix="pass parameters that match the input",
            )
        return {"window": list(window), "stride": list(stride), "padding": self._sides()}


_FUNCTIONS: dict[PoolingType, tuple[Callable[..., Tensor], Callable[..., Tensor]]] = {
    PoolingType.MAX: (pooling.max_pool, pooling.max_pool_gradient),
    PoolingType.AVG: (pooling.average_pool, pooling.average_pool_gradient),
    PoolingType.SUM: (pooling.sum_pool, pooling.sum_pool_gradient),
}
"""The operation of each kind of pooling, and its gradient."""


@checked("popnn")
def pool(
    graph: Graph,
    params: PoolParams,
    in_: Tensor,
    prog: Steps,
    debug_context: str = "",
    options: Options = None,
) -> Tensor:
    """Record pooling, `popnn::pooling::pool`.

    Args:
        graph: the graph of the input.
        params: parameters of the pooling.
        in_: [batch, channels, field ...].
        prog: where the steps go.
        debug_context: name of the result.
        options: PopLibs' options, which have no effect here.

    Returns:
        A new tensor [batch, channels, output field ...].

    Raises:
        whatever `poplite.ops.nn.max_pool` raises; TensorCreationError for an input whose shape does
        not match the parameters, and InvalidOption for an unknown option.
    """
    check_params("popnn.pool", params, PoolParams)
    how = params._call("popnn.pool", options, in_)
    made, _ = _FUNCTIONS[params._kind()]
    return made(in_, **how, name=debug_context or "pool", program=prog)


@checked("popnn")
def poolInputGradient(
    graph: Graph,
    params: PoolParams,
    in_: Tensor,
    pooled: Tensor,
    pooled_gradient: Tensor,
    use_scaled_gradient: bool,
    prog: Steps,
    debug_context: str = "",
    options: Options = None,
) -> Tensor:
    """Record the gradient of the input of `pool`, `popnn::pooling::poolInputGradient`.

    Args:
        graph: the graph of the tensors.
        params: as in `pool`.
        in_: the input of `pool`.
        pooled: the result of `pool`.
        pooled_gradient: the gradient with respect to `pooled`, of its shape.
        use_scaled_gradient: for MAX, whether equal largest elements of a window share its
            gradient; must be false, since in poplite each gets all of it.
        prog: where the steps go.
        debug_context: name of the result.
        options: PopLibs' options, which have no effect here.

    Returns:
        A new tensor of the shape and type of the input.

    Raises:
        whatever `pool` raises; InvalidOption for a scaled gradient of MAX.

    >>> import poplite as pl
    >>> graph, prog = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.FLOAT, (1, 1, 4), "x", mapping=0, initial_value=[[[1, 3, 4, 2]]])
    >>> g = graph.add_variable(pl.FLOAT, (1, 1, 2), "g", mapping=1, initial_value=[[[5, 7]]])
    >>> params = PoolParams(PoolingType.MAX, [4], [2], [2], [0], [0], 1, 1, pl.FLOAT)
    >>> y = pool(graph, params, x, prog)
    >>> by_x = poolInputGradient(graph, params, x, y, g, False, prog)
    >>> engine = pl.Engine(graph, prog)
    >>> engine.run()
    >>> engine.read(by_x).tolist()
    [[[0.0, 5.0, 7.0, 0.0]]]
    """
    what = "popnn.poolInputGradient"
    check_params(what, params, PoolParams)
    how = params._call(what, options, in_)
    own: dict[str, Any] = {"name": debug_context or "poolInputGradient", "program": prog}
    kind = params._kind()
    _, gradient = _FUNCTIONS[kind]
    if kind is not PoolingType.MAX:
        return gradient(pooled_gradient, in_.shape[2:], **how, **own)
    if use_scaled_gradient:
        raise InvalidOption(
            f"{what}: use_scaled_gradient is true",
            found="each of several greatest elements of a window gets the whole gradient",
            fix="pass use_scaled_gradient=False",
        )
    return gradient(pooled_gradient, in_, pooled, **how, **own)
