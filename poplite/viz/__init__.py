"""Drawings of graphs, programs and mappings, as text, SVG and pages of their own.

A picture is made in two separate steps: its data is gathered, then drawn; drawing computes
nothing.  Each picture has a folder, or a module where it is small::

    picture     gathered by                               drawn by
    tiles       load, vertex_counts, quantities           tile_map, page
    memory      memory_bars                               text, svg
    one_tile    tile_contents                             text, svg
    liveness    live_steps                                text, svg
    tensor      selection, ownership, interval_table,     text, svg, page
                flat_page
    program     labels, tree                              text, svg
    dataflow    links, nodes, fold, graph                 text, dot, svg
    summary     one module gathers and draws

`draw` holds what all of them are made of: words with units, columns, colours, the terminal,
SVG, PNG, HTML, JSON, and layouts.  `forms` lists the forms of each picture, and three doors lead
to it: `pictures` and `memory_pictures` have the functions that users call and that are listed here,
`notebook` draws what a notebook shows (`poplite.display` calls it), and `poplite.tools.viz` is the
command line.

Imports go one way: `draw`, `memory`, `steps`, the other pictures of reports with `tiles`, `tensor`
and `program`, then `dataflow`, `summary`, `forms`, and `notebook` and `pictures`.
Nothing below imports a module of this package.

Positions follow from the data (tile number, element index, program order); the dataflow
graph alone has a layout of its own (`draw.layered_layout`), and a better one where Graphviz
is installed (`draw.graphviz_layout`).
"""

from poplite.public import names_of
from poplite.viz.draw.svg import SvgText as SvgText
from poplite.viz.memory_pictures import (
    liveness_svg as liveness_svg,
    liveness_text as liveness_text,
    memory_svg as memory_svg,
    memory_text as memory_text,
    quantity_svg as quantity_svg,
    quantity_text as quantity_text,
    tile_svg as tile_svg,
    tile_text as tile_text,
)
from poplite.viz.pictures import (
    graph_dot as graph_dot,
    graph_svg as graph_svg,
    graph_text as graph_text,
    program_svg as program_svg,
    program_text as program_text,
    summary_svg as summary_svg,
    summary_text as summary_text,
    tensor_html as tensor_html,
    tensor_svg as tensor_svg,
    tensor_text as tensor_text,
    tiles_html as tiles_html,
    tiles_svg as tiles_svg,
    tiles_text as tiles_text,
)

__all__ = names_of(globals())


def __dir__() -> list[str]:
    return __all__
