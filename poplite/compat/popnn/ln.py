"""Normalisation of each sample.

    popnn::ln::layerNormalise(graph, acts, gamma, beta, mean, invStdDev, prog)
    popnn.ln.layerNormalise(graph, acts, gamma, beta, mean, inv_std_dev, prog)

Source: PopLibs, `popnn/LayerNorm.hpp`.
"""

from poplite.compat.popnn.norms import Norm
from poplite.poplar.absent import shown as _shown

__all__ = _shown(
    globals(),
    """
    createLayerNormParams layerNormGradients layerNormParamGradients layerNormParamUpdate
    layerNormStatistics layerNormWhiten layerNormalise
    """,
    "popnn.ln",
)

_NORM = Norm("layerNorm", "sample")
createLayerNormParams = _NORM.named("createLayerNormParams", Norm.params)
layerNormStatistics = _NORM.named("layerNormStatistics", Norm.statistics)
layerNormWhiten = _NORM.named("layerNormWhiten", Norm.whiten)
layerNormalise = _NORM.named("layerNormalise", Norm.normalise)
layerNormParamGradients = _NORM.named("layerNormParamGradients", Norm.param_gradients)
layerNormGradients = _NORM.named("layerNormGradients", Norm.gradients)
layerNormParamUpdate = _NORM.named("layerNormParamUpdate", Norm.param_update)
