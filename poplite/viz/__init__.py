"""Drawings of graphs and mappings, as text, SVG and pages of their own.

Two steps, kept apart: the data of a picture is gathered, then drawn; drawing computes
nothing::

    picture     gathered by                               drawn by
    tile map    load, vertices                            tiles, html_tiles
    tensor      ownership, selection, fold                tensor_text, tensor_svg, html_tensor
    summary     summary                                   summary_text, summary_svg
    program     program_words, program_facts,             program_text, program_svg
                program_tree
    dataflow    dataflow_links, dataflow_fold,            dataflow_text, dataflow_dot,
                dataflow_node, dataflow                   dataflow_svg

`pictures`, `overview` and `dataflow_pictures` put the two together and are what users call;
`notebook` and `notebook_graph` do so for notebooks.  The others are what pictures are made
of: words, columns and colours, SVG, HTML, JSON and files.

Positions follow from the data (tile number, element index, program order); the dataflow
graph alone has a layout of its own (`layered`), and a better one where Graphviz is
installed (`layout`).
"""

from poplite.viz.dataflow_pictures import graph_dot as graph_dot
from poplite.viz.dataflow_pictures import graph_svg as graph_svg
from poplite.viz.dataflow_pictures import graph_text as graph_text
from poplite.viz.draw.svg import SvgText as SvgText
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
