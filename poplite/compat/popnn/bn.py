"""Batch normalisation.

    popnn::bn::batchNormalise(graph, acts, gamma, beta, mean, invStdDev, prog)
    popnn.bn.batchNormalise(graph, acts, gamma, beta, mean, inv_std_dev, prog)

Source: PopLibs, `popnn/BatchNorm.hpp`.
"""

from poplite.compat.popnn.norms import Norm as _Norm
from poplite.poplar.absent import shown as _shown
from poplite.public import names_of as _names_of

_NORM = _Norm("batchNorm", "batch")

createBatchNormParams = _NORM.params
batchNormStatistics = _NORM.statistics
batchNormWhiten = _NORM.whiten
batchNormalise = _NORM.normalise
batchNormParamGradients = _NORM.param_gradients
batchNormGradients = _NORM.gradients
batchNormParamUpdate = _NORM.param_update

__all__ = _shown(globals(), _names_of(globals()), "popnn.bn")
