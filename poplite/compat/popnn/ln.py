"""Normalisation of each sample.

    popnn::ln::layerNormalise(graph, acts, gamma, beta, mean, invStdDev, prog)
    popnn.ln.layerNormalise(graph, acts, gamma, beta, mean, inv_std_dev, prog)

Source: PopLibs, `popnn/LayerNorm.hpp`.
"""

from poplite.compat.popnn.norms import Norm

__all__ = [
    "createLayerNormParams",
    "layerNormGradients",
    "layerNormParamGradients",
    "layerNormParamUpdate",
    "layerNormStatistics",
    "layerNormWhiten",
    "layerNormalise",
]


def __dir__() -> list[str]:
    return __all__


_NORM = Norm("layerNorm")

createLayerNormParams = _NORM.params
layerNormStatistics = _NORM.of_samples
layerNormWhiten = _NORM.whiten
layerNormalise = _NORM.normalise
layerNormParamGradients = _NORM.param_gradients
layerNormGradients = _NORM.gradients
layerNormParamUpdate = _NORM.param_update
