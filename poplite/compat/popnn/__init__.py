"""popnn: non-linearities, losses, pooling; with modules for normalisation and recurrent layers.

    popnn::nonLinearityInPlace(graph, popnn::NonLinearityType::RELU, x, prog)
    popnn.nonLinearityInPlace(graph, popnn.NonLinearityType.RELU, x, prog)

The namespaces `bn`, `gn`, `ln`, `in` (here `in_`), `lstm`, `gru` and `pooling` are modules.

Source: PopLibs, `popnn/NonLinearity.hpp`, `popnn/LogSoftmax.hpp`, `popnn/Loss.hpp`,
`popnn/Pooling.hpp`.
"""

from poplite.compat.arguments import library_codelets as _library_codelets
from poplite.compat.popnn import (
    bn as bn,
    gn as gn,
    gru as gru,
    in_ as in_,
    ln as ln,
    lstm as lstm,
    pooling as pooling,
)
from poplite.compat.popnn.functions import (
    CROSS_ENTROPY_LOSS as CROSS_ENTROPY_LOSS,
    MASKED_LABEL_CODE as MASKED_LABEL_CODE,
    SOFTMAX_SCALING as SOFTMAX_SCALING,
    SUM_SQUARED_LOSS as SUM_SQUARED_LOSS,
    LossType as LossType,
    NonLinearityType as NonLinearityType,
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
from poplite.compat.popnn.pooling import (
    PoolingType as PoolingType,
    PoolParams as PoolParams,
    pool as pool,
    poolInputGradient as poolInputGradient,
)
from poplite.poplar.absent import shown as _shown
from poplite.public import names_of

addCodelets = _library_codelets("popnn")

__all__ = _shown(globals(), names_of(globals(), "bn gn gru in_ ln lstm pooling"), "popnn")
