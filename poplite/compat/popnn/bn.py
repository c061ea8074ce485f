"""Batch normalisation.

    popnn::bn::batchNormalise(graph, acts, gamma, beta, mean, invStdDev, prog)
    popnn.bn.batchNormalise(graph, acts, gamma, beta, mean, inv_std_dev, prog)

Source: PopLibs, `popnn/BatchNorm.hpp`.
"""

from poplite.compat.popnn.norms import Norm
from poplite.poplar.absent import shown as _shown

__all__ = _shown(
    globals(),
    """
    batchNormGradients batchNormParamGradients batchNormParamUpdate batchNormStatistics
    batchNormWhiten batchNormalise createBatchNormParams
    """,
    "popnn.bn",
)

_NORM = Norm("batchNorm", "batch")
createBatchNormParams = _NORM.named("createBatchNormParams", Norm.params)
batchNormStatistics = _NORM.named("batchNormStatistics", Norm.statistics)
batchNormWhiten = _NORM.named("batchNormWhiten", Norm.whiten)
batchNormalise = _NORM.named("batchNormalise", Norm.normalise)
batchNormParamGradients = _NORM.named("batchNormParamGradients", Norm.param_gradients)
batchNormGradients = _NORM.named("batchNormGradients", Norm.gradients)
batchNormParamUpdate = _NORM.named("batchNormParamUpdate", Norm.param_update)
