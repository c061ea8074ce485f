"""Pooling of popnn; its options change nothing here.

Source: PopLibs, `popnn/Pooling.hpp`, `popnn/PoolingDef.hpp`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from poplite.errors import InvalidOption, TensorCreationError, did_you_mean
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.ops import nn
from poplite.program import Sequence as Steps
from poplite.source import here
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

        >>> params = PoolParams(PoolingType.MAX, [5], [2], [2], [0], [1], 1, 1, "float")
        >>> params.getOutputFieldShape()
        [3]
        """
        return [
            (size + low + high - window) // stride + 1
            for size, window, stride, low, high in zip(
                self.inputFieldShape,
                self.kernelShape,
                self.stride,
                self.inputTruncationOrPaddingLower,
                self.inputTruncationOrPaddingUpper,
                strict=True,
            )
        ]


def pool(
    graph: Graph,
    params: PoolParams,
    in_: Tensor,
    prog: Steps,
    debug_context: str = "",
    options: Mapping[str, str] | None = None,
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
    for name in options or ():
        if name not in _KNOWN:
            raise InvalidOption(
                f"popnn.pool: there is no option {name!r}{did_you_mean(name, list(_KNOWN))}",
                at=here(),
                found=f"options: {', '.join(_KNOWN)}",
            )
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
    sides = zip(
        params.inputTruncationOrPaddingLower, params.inputTruncationOrPaddingUpper, strict=True
    )
    return how(
        in_,
        list(params.kernelShape),
        stride=list(params.stride),
        padding=list(sides),
        name=debug_context or "pool",
        program=prog,
    )
