"""Normalisation of each sample.

    popnn::ln::layerNormalise(graph, acts, gamma, beta, mean, invStdDev, prog)
    popnn.ln.layerNormalise(graph, acts, gamma, beta, mean, inv_std_dev, prog)

Source: PopLibs, `popnn/LayerNorm.hpp`.
"""

from poplite.compat.popnn.norms import Norm as _Norm
from poplite.poplar.absent import shown as _shown
from poplite.public import names_of as _names_of

_NORM = _Norm("layerNorm", "sample")

createLayerNormParams = _NORM.params
layerNormStatistics = _NORM.statistics
layerNormWhiten = _NORM.whiten
layerNormalise = _NORM.normalise
layerNormParamGradients = _NORM.param_gradients
layerNormGradients = _NORM.gradients
layerNormParamUpdate = _NORM.param_update

__all__ = _shown(globals(), _names_of(globals()))
