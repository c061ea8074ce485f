"""Drawings of graphs and mappings, as text, SVG and pages of their own.

Two steps, kept apart: the data of a picture is gathered (`load`, `ownership`), then drawn
(`tiles`, `tensor_text`, `tensor_svg`); drawing computes nothing.  Positions follow from
the data (tile number, element index, program order); the dataflow graph alone has a layout
of its own (`layered`), and a better one where Graphviz is installed (`layout`).
"""

from poplite.viz.dataflow_pictures import graph_dot as graph_dot
from poplite.viz.dataflow_pictures import graph_svg as graph_svg
from poplite.viz.dataflow_pictures import graph_text as graph_text
from poplite.viz.overview import program_svg as program_svg
from poplite.viz.overview import program_text as program_text
from poplite.viz.overview import summary_svg as summary_svg
from poplite.viz.overview import summary_text as summary_text
from poplite.viz.pictures import tensor_html as tensor_html
from poplite.viz.pictures import tensor_svg as tensor_svg
from poplite.viz.pictures import tensor_text as tensor_text
from poplite.viz.pictures import tiles_html as tiles_html
from poplite.viz.pictures import tiles_svg as tiles_svg
from poplite.viz.pictures import tiles_text as tiles_text
from poplite.viz.svg import SvgText as SvgText

__all__ = [
    "SvgText",
    "graph_dot",
    "graph_svg",
    "graph_text",
    "program_svg",
    "program_text",
    "summary_svg",
    "summary_text",
    "tensor_html",
    "tensor_svg",
    "tensor_text",
    "tiles_html",
    "tiles_svg",
    "tiles_text",
]
