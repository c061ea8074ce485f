"""Normalisation of each channel of each sample; `in` is a keyword of Python.

    popnn::in::instanceNormalise(graph, acts, gamma, beta, mean, invStdDev, prog)
    popnn.in_.instanceNormalise(graph, acts, gamma, beta, mean, inv_std_dev, prog)

Source: PopLibs, `popnn/InstanceNorm.hpp`.
"""

from poplite.compat.popnn.norms import Norm
from poplite.poplar.absent import shown as _shown

__all__ = _shown(
    globals(),
    """
    createInstanceNormParams instanceNormGradients instanceNormParamGradients
    instanceNormParamUpdate instanceNormStatistics instanceNormWhiten instanceNormalise
    """,
    "popnn.in_",
)

_NORM = Norm("instanceNorm", "channel")
createInstanceNormParams = _NORM.named("createInstanceNormParams", Norm.params)
instanceNormStatistics = _NORM.named("instanceNormStatistics", Norm.statistics)
instanceNormWhiten = _NORM.named("instanceNormWhiten", Norm.whiten)
instanceNormalise = _NORM.named("instanceNormalise", Norm.normalise)
instanceNormParamGradients = _NORM.named("instanceNormParamGradients", Norm.param_gradients)
instanceNormGradients = _NORM.named("instanceNormGradients", Norm.gradients)
instanceNormParamUpdate = _NORM.named("instanceNormParamUpdate", Norm.param_update)
