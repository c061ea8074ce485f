"""Pooling of popnn; its options change nothing here.

Source: PopLibs, `popnn/Pooling.hpp`, `popnn/PoolingDef.hpp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from poplite.compat.options import Options, check_known, check_params
from poplite.errors import InvalidOption, TensorCreationError
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.ops import nn
from poplite.ops.convolution.arguments import check_fields, spacings
from poplite.ops.convolution.call import check_number
from poplite.ops.convolution.dimension import forward
from poplite.program import Sequence as Steps
from poplite.source import here
from poplite.text import clipped
from poplite.types import ElementTypeLike

_KNOWN = ("poolUseIntrospectiveMapping", "optimizeForSpeed", "useFloatPartialsWhereBeneficial")


class PoolingType(Enum):
    """What becomes of a window."""

    MAX = "max"
    AVG = "average"
    SUM = "sum"


@dataclass(frozen=True, slots=True)
class PoolParams:
    """Parameters of pooling, `popnn::pooling::PoolParams`.

    Attributes:
        poolingType: what becomes of a window.
        inputFieldShape: sizes of the input.
        kernelShape: sizes of the window.
        stride: distances between windows.
        inputTruncationOrPaddingLower: padding before the input; negative numbers leave elements
            out.
        inputTruncationOrPaddingUpper: padding behind it, likewise.
        numChannels: of the input.
        batchSize: inputs.
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

    def getOutputFieldShape(self) -> list[int]:
        """Return the sizes of the output.

        Raises:
            TensorCreationError: for a window that is larger than the input with its padding.
            InvalidOption: for strides and paddings that are none.

        >>> params = PoolParams(PoolingType.MAX, [5], [2], [2], [0], [1], 1, 1, "float")
        >>> params.getOutputFieldShape()
        [3]
        """
        what = "PoolParams.getOutputFieldShape"
        field, window = tuple(self.inputFieldShape), tuple(self.kernelShape)
        how = spacings(what, len(field), list(self.stride), self._sides(), 1)
        check_number(what, "kernelShape", window, len(field))
        check_fields(what, field, window, how)
        return [forward(*each).count for each in zip(field, window, how, strict=True)]

    def _sides(self) -> list[tuple[int, int]]:
        """Return the padding before and behind each dimension."""
        lower, upper = self.inputTruncationOrPaddingLower, self.inputTruncationOrPaddingUpper
        if len(lower) != len(upper):
            raise InvalidOption(
                f"PoolParams: inputTruncationOrPaddingLower is {clipped(lower)}, "
                f"inputTruncationOrPaddingUpper {clipped(upper)}",
                at=here(),
                fix="a number for each dimension of the field in both",
            )
        return list(zip(lower, upper, strict=True))


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
        graph: of the input.
        params: what is pooled.
        in_: [batch, channels, field ...].
        prog: where the steps go.
        debug_context: name of the result.
        options: those of PopLibs, which change nothing.

    Returns:
        A new tensor [batch, channels, output field ...].

    Raises:
        the errors of `poplite.ops.nn.max_pool`; TensorCreationError for an input of another shape
        than the parameters say, and InvalidOption for an unknown option.
    """
    check_known("popnn.pool", options, _KNOWN)
    check_params("popnn.pool", params, PoolParams)
    shape = params.batchSize, params.numChannels, *params.inputFieldShape
    if in_.shape != shape:
        raise TensorCreationError(
            f"popnn.pool: '{in_.name}' has shape {in_.shape}, the parameters say {shape}",
            at=here(),
            found="batchSize, numChannels, inputFieldShape",
            fix="the parameters of the input",
        )
    how = {
        PoolingType.MAX: nn.max_pool,
        PoolingType.AVG: nn.average_pool,
        PoolingType.SUM: nn.sum_pool,
    }[params.poolingType]
    return how(
        in_,
        list(params.kernelShape),
        stride=list(params.stride),
        padding=params._sides(),
        name=debug_context or "pool",
        program=prog,
    )
