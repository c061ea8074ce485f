"""popnn: non-linearities, losses, pooling; with modules for normalisation and recurrent layers.

    popnn::nonLinearityInPlace(graph, popnn::NonLinearityType::RELU, x, prog)
    popnn.nonLinearityInPlace(graph, popnn.NonLinearityType.RELU, x, prog)

The namespaces `bn`, `gn`, `ln`, `in` (here `in_`), `lstm` and `gru` are modules.

Source: PopLibs, `popnn/NonLinearity.hpp`, `popnn/LogSoftmax.hpp`, `popnn/Loss.hpp`,
`popnn/Pooling.hpp`.
"""

from typing import TYPE_CHECKING

from poplite.compat.arguments import library_codelets as _library_codelets
from poplite.compat.popnn import gru as gru, lstm as lstm
from poplite.compat.popnn.functions import (
    CROSS_ENTROPY_LOSS as CROSS_ENTROPY_LOSS,
    MASKED_LABEL_CODE as MASKED_LABEL_CODE,
    SOFTMAX_SCALING as SOFTMAX_SCALING,
    SUM_SQUARED_LOSS as SUM_SQUARED_LOSS,
    LossType as LossType,
    NonLinearityType as NonLinearityType,
    PoolingType as PoolingType,
    PoolParams as PoolParams,
    argMax as argMax,
    argMin as argMin,
    calcAccuracy as calcAccuracy,
    calcLoss as calcLoss,
    gelu as gelu,
    geluErf as geluErf,
    geluErfInPlace as geluErfInPlace,
    geluInPlace as geluInPlace,
    logSoftmax as logSoftmax,
    logSoftmaxInPlace as logSoftmaxInPlace,
    maxAndArgMax as maxAndArgMax,
    minAndArgMin as minAndArgMin,
    nonLinearity as nonLinearity,
    nonLinearityInPlace as nonLinearityInPlace,
    nonLinearityInputGradient as nonLinearityInputGradient,
    pool as pool,
    poolInputGradient as poolInputGradient,
    relu as relu,
    reluInPlace as reluInPlace,
    scaledSoftmaxStable as scaledSoftmaxStable,
    scaledSoftmaxStableInPlace as scaledSoftmaxStableInPlace,
    sigmoid as sigmoid,
    sigmoidInPlace as sigmoidInPlace,
    softmax as softmax,
    softmaxInPlace as softmaxInPlace,
    softmaxStable as softmaxStable,
    softmaxStableInPlace as softmaxStableInPlace,
    swish as swish,
    swishInPlace as swishInPlace,
    tanh as tanh,
    tanhInPlace as tanhInPlace,
    topK as topK,
)
from poplite.poplar.absent import shown as _shown
from poplite.public import names_of

if TYPE_CHECKING:  # their functions are typed in one file
    from poplite.compat.popnn import (
        functions as pooling,
        norms as bn,
        norms as gn,
        norms as in_,
        norms as ln,
    )
else:
    from poplite.compat.popnn.functions import pooling as pooling
    from poplite.compat.popnn.norms import bn as bn, gn as gn, in_ as in_, ln as ln

addCodelets = _library_codelets("popnn")

__all__ = _shown(globals(), names_of(globals(), "bn gn gru in_ ln lstm"), "popnn")
