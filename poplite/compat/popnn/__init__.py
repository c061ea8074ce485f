"""popnn: non-linearities and pooling.

    popnn::nonLinearityInPlace(graph, popnn::NonLinearityType::RELU, x, prog)
    popnn.nonLinearityInPlace(graph, popnn.NonLinearityType.RELU, x, prog)

Source: PopLibs, `popnn/NonLinearity.hpp`, `popnn/LogSoftmax.hpp`, `popnn/Pooling.hpp`.
"""

from poplite.compat.popnn.nonlinearities import (
    SOFTMAX_SCALING as SOFTMAX_SCALING,
    NonLinearityType as NonLinearityType,
    gelu as gelu,
    geluErf as geluErf,
    geluErfInPlace as geluErfInPlace,
    geluInPlace as geluInPlace,
    logSoftmax as logSoftmax,
    logSoftmaxInPlace as logSoftmaxInPlace,
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
)
from poplite.compat.popnn.pooling import (
    PoolingType as PoolingType,
    PoolParams as PoolParams,
    pool as pool,
)
