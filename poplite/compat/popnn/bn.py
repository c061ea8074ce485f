"""Batch normalisation.

    popnn::bn::batchNormalise(graph, acts, gamma, beta, mean, invStdDev, prog)
    popnn.bn.batchNormalise(graph, acts, gamma, beta, mean, inv_std_dev, prog)

Source: PopLibs, `popnn/BatchNorm.hpp`.
"""

from poplite.compat.popnn.norms import Norm as _Norm
from poplite.poplar.absent import shown as _shown
from poplite.public import names_of as _names_of

_NORM = _Norm("batchNorm", "batch")

createBatchNormParams = _NORM.named("createBatchNormParams", _Norm.params)
batchNormStatistics = _NORM.named("batchNormStatistics", _Norm.statistics)
batchNormWhiten = _NORM.named("batchNormWhiten", _Norm.whiten)
batchNormalise = _NORM.named("batchNormalise", _Norm.normalise)
batchNormParamGradients = _NORM.named("batchNormParamGradients", _Norm.param_gradients)
batchNormGradients = _NORM.named("batchNormGradients", _Norm.gradients)
batchNormParamUpdate = _NORM.named("batchNormParamUpdate", _Norm.param_update)

__all__ = _shown(globals(), _names_of(globals()), "popnn.bn")
