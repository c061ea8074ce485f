"""Normalisation of groups of channels of each sample.

    popnn::gn::groupNormalise(graph, acts, gamma, beta, mean, invStdDev, prog)
    popnn.gn.groupNormalise(graph, acts, gamma, beta, mean, inv_std_dev, prog)

Source: PopLibs, `popnn/GroupNorm.hpp`.
"""

from poplite.compat.popnn.norms import Norm
from poplite.poplar.absent import shown as _shown

__all__ = _shown(
    globals(),
    """
    createGroupNormParams groupNormGradients groupNormParamGradients groupNormParamUpdate
    groupNormStatistics groupNormWhiten groupNormalise
    """,
    "popnn.gn",
)

_NORM = Norm("groupNorm", "groups")
createGroupNormParams = _NORM.named("createGroupNormParams", Norm.params)
groupNormStatistics = _NORM.named("groupNormStatistics", Norm.of_groups)
groupNormWhiten = _NORM.named("groupNormWhiten", Norm.whiten)
groupNormalise = _NORM.named("groupNormalise", Norm.normalise)
groupNormParamGradients = _NORM.named("groupNormParamGradients", Norm.param_gradients)
groupNormGradients = _NORM.named("groupNormGradients", Norm.gradients)
groupNormParamUpdate = _NORM.named("groupNormParamUpdate", Norm.param_update)
