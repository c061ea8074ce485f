"""Batch normalisation.

    popnn::bn::batchNormalise(graph, acts, gamma, beta, mean, invStdDev, prog)
    popnn.bn.batchNormalise(graph, acts, gamma, beta, mean, inv_std_dev, prog)

Source: PopLibs, `popnn/BatchNorm.hpp`.
"""

from typing import TYPE_CHECKING

from poplite.compat.popnn.norms import Norm
from poplite.poplar.absent import absent_library_names as _absent_library_names

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


if not TYPE_CHECKING:  # for which an unknown name is an error
    __getattr__ = _absent_library_names("popnn.bn", __all__)


_NORM = Norm("batchNorm", is_batch=True)

createBatchNormParams = _NORM.params
batchNormStatistics = _NORM.of_batch
batchNormWhiten = _NORM.whiten
batchNormalise = _NORM.normalise
batchNormParamGradients = _NORM.param_gradients
batchNormGradients = _NORM.gradients
batchNormParamUpdate = _NORM.param_update
