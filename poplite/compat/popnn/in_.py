"""Normalisation of each channel of each sample; `in` is a keyword of Python.

    popnn::in::instanceNormalise(graph, acts, gamma, beta, mean, invStdDev, prog)
    popnn.in_.instanceNormalise(graph, acts, gamma, beta, mean, inv_std_dev, prog)

Source: PopLibs, `popnn/InstanceNorm.hpp`.
"""

from typing import TYPE_CHECKING

from poplite.compat.popnn.norms import Norm
from poplite.poplar.absent import absent_library_names as _absent_library_names

__all__ = [
    "createInstanceNormParams",
    "instanceNormGradients",
    "instanceNormParamGradients",
    "instanceNormParamUpdate",
    "instanceNormStatistics",
    "instanceNormWhiten",
    "instanceNormalise",
]


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:  # for which an unknown name is an error
    __getattr__ = _absent_library_names("popnn.in_", __all__)


_NORM = Norm("instanceNorm")

createInstanceNormParams = _NORM.params
instanceNormStatistics = _NORM.of_channels
instanceNormWhiten = _NORM.whiten
instanceNormalise = _NORM.normalise
instanceNormParamGradients = _NORM.param_gradients
instanceNormGradients = _NORM.gradients
instanceNormParamUpdate = _NORM.param_update
