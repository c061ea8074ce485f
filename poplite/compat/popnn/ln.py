"""Normalisation of each sample.

    popnn::ln::layerNormalise(graph, acts, gamma, beta, mean, invStdDev, prog)
    popnn.ln.layerNormalise(graph, acts, gamma, beta, mean, inv_std_dev, prog)

Source: PopLibs, `popnn/LayerNorm.hpp`.
"""

from poplite.compat.popnn.norms import Norm as _Norm
from poplite.poplar.absent import shown as _shown
from poplite.public import names_of as _names_of

_NORM = _Norm("layerNorm", "sample")

createLayerNormParams = _NORM.named("createLayerNormParams", _Norm.params)
layerNormStatistics = _NORM.named("layerNormStatistics", _Norm.statistics)
layerNormWhiten = _NORM.named("layerNormWhiten", _Norm.whiten)
layerNormalise = _NORM.named("layerNormalise", _Norm.normalise)
layerNormParamGradients = _NORM.named("layerNormParamGradients", _Norm.param_gradients)
layerNormGradients = _NORM.named("layerNormGradients", _Norm.gradients)
layerNormParamUpdate = _NORM.named("layerNormParamUpdate", _Norm.param_update)

__all__ = _shown(globals(), _names_of(globals()), "popnn.ln")
