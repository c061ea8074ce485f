"""Drawings of graphs and mappings, as text and SVG.

Two steps, kept apart: the data of a picture is gathered (`load`, `ownership`), then drawn
(`tiles`, `tensor_text`, `tensor_svg`); drawing computes nothing.  Positions follow from
the data (tile number, element index), so nothing here needs a layout engine.
"""

from poplite.viz.pictures import tensor_svg as tensor_svg
from poplite.viz.pictures import tensor_text as tensor_text
from poplite.viz.pictures import tiles_svg as tiles_svg
from poplite.viz.pictures import tiles_text as tiles_text
from poplite.viz.svg import SvgText as SvgText

__all__ = ["SvgText", "tensor_svg", "tensor_text", "tiles_svg", "tiles_text"]
