"""Normalisation of groups of channels of each sample.

    popnn::gn::groupNormalise(graph, acts, gamma, beta, mean, invStdDev, prog)
    popnn.gn.groupNormalise(graph, acts, gamma, beta, mean, inv_std_dev, prog)

Source: PopLibs, `popnn/GroupNorm.hpp`.
"""

from poplite.compat.popnn.norms import Norm

__all__ = [
    "createGroupNormParams",
    "groupNormGradients",
    "groupNormParamGradients",
    "groupNormParamUpdate",
    "groupNormStatistics",
    "groupNormWhiten",
    "groupNormalise",
]


def __dir__() -> list[str]:
    return __all__


_NORM = Norm("groupNorm")

createGroupNormParams = _NORM.params
groupNormStatistics = _NORM.of_groups
groupNormWhiten = _NORM.whiten
groupNormalise = _NORM.normalise
groupNormParamGradients = _NORM.param_gradients
groupNormGradients = _NORM.gradients
groupNormParamUpdate = _NORM.param_update
