"""Normalisation of groups of channels of each sample.

    popnn::gn::groupNormalise(graph, acts, gamma, beta, mean, invStdDev, prog)
    popnn.gn.groupNormalise(graph, acts, gamma, beta, mean, inv_std_dev, prog)

Source: PopLibs, `popnn/GroupNorm.hpp`.
"""

from poplite.compat.popnn.norms import Norm as _Norm
from poplite.poplar.absent import shown as _shown
from poplite.public import names_of as _names_of

_NORM = _Norm("groupNorm", "groups")

createGroupNormParams = _NORM.named("createGroupNormParams", _Norm.params)
groupNormStatistics = _NORM.named("groupNormStatistics", _Norm.of_groups)
groupNormWhiten = _NORM.named("groupNormWhiten", _Norm.whiten)
groupNormalise = _NORM.named("groupNormalise", _Norm.normalise)
groupNormParamGradients = _NORM.named("groupNormParamGradients", _Norm.param_gradients)
groupNormGradients = _NORM.named("groupNormGradients", _Norm.gradients)
groupNormParamUpdate = _NORM.named("groupNormParamUpdate", _Norm.param_update)

__all__ = _shown(globals(), _names_of(globals()), "popnn.gn")
