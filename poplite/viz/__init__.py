"""Drawings of graphs, programs and mappings, as text, SVG and pages of their own.

A picture is made in two separate steps, each a function in one file: its data is gathered from a
report, and from the data a `Picture` is made, which is `marks`; `paint_text` and `paint_svg` paint
marks, and nothing else does.  Roles and their colours are in `colours`::

    picture     data                  marks
    memory      memory_bars           memory_picture
    one_tile    tile_contents         tile_picture
    liveness    live_steps            liveness_picture
    steps       step_list             steps_picture
    timeline    timeline_of           timeline_picture
    program     program_tree          program_picture
    dataflow    dataflow_of           dataflow_picture
    ops         scope_tree            scopes_picture
    sweep       sweep_grid            sweep_picture
    exchange    traffic_of            exchange_picture
    compare     Comparison            comparison_picture
    tile_map    quantity_map,         tile_map_picture
                map_of_load
    tensors     ownership_of          tensor_picture
                frames_of             regions_picture
    summary     summary_of            summary_picture
    overview    overview_of           overview_picture

The folder `dataflow` gathers in `links`, `fold` and `graph` what its `picture` draws; `tensors` has
the two pictures of tensors, and views and operations as text.

`draw` holds what all of them are made of: words with units, columns, the terminal, SVG, PNG, HTML,
JSON, and layouts.  `painters` lists the forms of each picture, and three doors lead to it: the
functions that users call and that are listed here, in `pictures` and beside the pictures of
reports; `notebook`, which draws what a notebook shows (`poplite.display` calls it); and
`poplite.tools.viz`, the command line.

Imports go one way: colours, `draw`, marks, painters, pictures of reports, `tensors` and `program`,
then `dataflow`, `summary`, and `notebook` and `pictures`.  Nothing below imports a module
of this package.

Positions follow from the data (tile number, element index, program order); the dataflow graph alone
has a layout of its own (`draw.layered_layout`), and a better one where Graphviz is installed
(`draw.graphviz_layout`).
"""

from poplite.public import names_of
from poplite.viz.draw.svg import SvgText as SvgText
from poplite.viz.liveness import liveness_svg as liveness_svg, liveness_text as liveness_text
from poplite.viz.memory import memory_svg as memory_svg, memory_text as memory_text
from poplite.viz.one_tile import tile_svg as tile_svg, tile_text as tile_text
from poplite.viz.pictures import (
    graph_dot as graph_dot,
    graph_svg as graph_svg,
    graph_text as graph_text,
    program_svg as program_svg,
    program_text as program_text,
    regions_svg as regions_svg,
    regions_text as regions_text,
    summary_svg as summary_svg,
    summary_text as summary_text,
    tensor_html as tensor_html,
    tensor_svg as tensor_svg,
    tensor_text as tensor_text,
    tiles_html as tiles_html,
    tiles_svg as tiles_svg,
    tiles_text as tiles_text,
)
from poplite.viz.tile_map import quantity_svg as quantity_svg, quantity_text as quantity_text

__all__ = names_of(globals())


def __dir__() -> list[str]:
    return __all__
