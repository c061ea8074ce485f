"""Normalisation of each channel of each sample; `in` is a keyword of Python.

    popnn::in::instanceNormalise(graph, acts, gamma, beta, mean, invStdDev, prog)
    popnn.in_.instanceNormalise(graph, acts, gamma, beta, mean, inv_std_dev, prog)

Source: PopLibs, `popnn/InstanceNorm.hpp`.
"""

from poplite.compat.popnn.norms import Norm as _Norm
from poplite.poplar.absent import shown as _shown
from poplite.public import names_of as _names_of

_NORM = _Norm("instanceNorm", "channel")

createInstanceNormParams = _NORM.params
instanceNormStatistics = _NORM.statistics
instanceNormWhiten = _NORM.whiten
instanceNormalise = _NORM.normalise
instanceNormParamGradients = _NORM.param_gradients
instanceNormGradients = _NORM.gradients
instanceNormParamUpdate = _NORM.param_update

__all__ = _shown(globals(), _names_of(globals()), "popnn.in_")
