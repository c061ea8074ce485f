"""Normalisation of groups of channels of each sample.

    popnn::gn::groupNormalise(graph, acts, gamma, beta, mean, invStdDev, prog)
    popnn.gn.groupNormalise(graph, acts, gamma, beta, mean, inv_std_dev, prog)

Source: PopLibs, `popnn/GroupNorm.hpp`.
"""

from poplite.compat.popnn.norms import Norm as _Norm
from poplite.poplar.absent import shown as _shown
from poplite.public import names_of as _names_of

_NORM = _Norm("groupNorm", "groups")

createGroupNormParams = _NORM.params
groupNormStatistics = _NORM.of_groups
groupNormWhiten = _NORM.whiten
groupNormalise = _NORM.normalise
groupNormParamGradients = _NORM.param_gradients
groupNormGradients = _NORM.gradients
groupNormParamUpdate = _NORM.param_update

__all__ = _shown(globals(), _names_of(globals()))
