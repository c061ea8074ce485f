"""Batch normalisation.

    popnn::bn::batchNormalise(graph, acts, gamma, beta, mean, invStdDev, prog)
    popnn.bn.batchNormalise(graph, acts, gamma, beta, mean, inv_std_dev, prog)

Source: PopLibs, `popnn/BatchNorm.hpp`.
"""

from poplite.compat.popnn.norms import Norm

__all__ = [
    "batchNormGradients",
    "batchNormParamGradients",
    "batchNormParamUpdate",
    "batchNormStatistics",
    "batchNormWhiten",
    "batchNormalise",
    "createBatchNormParams",
]


def __dir__() -> list[str]:
    return __all__


_NORM = Norm("batchNorm", is_batch=True)

createBatchNormParams = _NORM.params
batchNormStatistics = _NORM.of_batch
batchNormWhiten = _NORM.whiten
batchNormalise = _NORM.normalise
batchNormParamGradients = _NORM.param_gradients
batchNormGradients = _NORM.gradients
batchNormParamUpdate = _NORM.param_update
