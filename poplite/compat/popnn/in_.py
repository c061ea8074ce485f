"""Normalisation of each channel of each sample; `in` is a keyword of Python.

    popnn::in::instanceNormalise(graph, acts, gamma, beta, mean, invStdDev, prog)
    popnn.in_.instanceNormalise(graph, acts, gamma, beta, mean, inv_std_dev, prog)

Source: PopLibs, `popnn/InstanceNorm.hpp`.
"""

from poplite.compat.popnn.norms import Norm as _Norm
from poplite.poplar.absent import shown as _shown
from poplite.public import names_of as _names_of

_NORM = _Norm("instanceNorm", "channel")

createInstanceNormParams = _NORM.named("createInstanceNormParams", _Norm.params)
instanceNormStatistics = _NORM.named("instanceNormStatistics", _Norm.statistics)
instanceNormWhiten = _NORM.named("instanceNormWhiten", _Norm.whiten)
instanceNormalise = _NORM.named("instanceNormalise", _Norm.normalise)
instanceNormParamGradients = _NORM.named("instanceNormParamGradients", _Norm.param_gradients)
instanceNormGradients = _NORM.named("instanceNormGradients", _Norm.gradients)
instanceNormParamUpdate = _NORM.named("instanceNormParamUpdate", _Norm.param_update)

__all__ = _shown(globals(), _names_of(globals()), "popnn.in_")
