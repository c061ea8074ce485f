"""Drawings of graphs, programs and mappings, as text, SVG and pages of their own.

A picture is made in two steps: its data is gathered from a report by a function, as a `PictureData`
of `painters`, whose method `picture` returns a `Picture`, which is `marks`; `paint_text`,
`paint_svg` and `paint_html` paint marks, and nothing else does.  Roles and their colours are in
`colours`::

    file        functions                 of
    memory      memory_bars, live_steps   what every tile needs, or one tile in each step
    one_tile    tile_contents             one tile
    steps       step_list, timeline_of,   steps as a list, all tiles in time,
                scope_tree                scopes of names
    program     program_tree              programs
    dataflow    dataflow_of               what reads and writes what
    exchange    traffic_of                what tiles send each other
    compare     Comparison, sweep_grid    two reports, or the many of a sweep
    tile_map    quantity_map, tile_load   a quantity for every tile
    summary     summary_of, overview_of   a graph in numbers, a report at a glance
    tensors     ownership_of, frames_of   tensors and views

The folder `dataflow` gathers in `links` and `graph` what its `picture` draws; `tensors` has the two
pictures of tensors, and views and operations as text.

`draw` holds what all of them are made of: words with units, columns, the terminal, SVG, PNG, and
layouts.  `painters` lists the forms of each picture, and three doors lead to it: the
functions that users call and that are listed here, in `pictures`; `notebook`, which draws what a
notebook shows (`poplite.display` calls it); and `poplite.tools.viz`, the command line.

Imports go one way: colours, `draw`, marks, painters, pictures of reports, `tensors` and `program`,
then `summary`, `dataflow`, and `notebook` and `pictures`.  Nothing below imports a module
of this package.

Positions follow from the data (tile number, element index, program order); the dataflow graph alone
has a layout of its own, and a better one where Graphviz is installed (`draw.layouts`).
"""

from poplite.public import names_of
from poplite.viz.draw.svg import SvgText as SvgText
from poplite.viz.pictures import (
    graph_dot as graph_dot,
    graph_svg as graph_svg,
    graph_text as graph_text,
    liveness_svg as liveness_svg,
    liveness_text as liveness_text,
    memory_svg as memory_svg,
    memory_text as memory_text,
    program_svg as program_svg,
    program_text as program_text,
    quantity_svg as quantity_svg,
    quantity_text as quantity_text,
    regions_svg as regions_svg,
    regions_text as regions_text,
    summary_svg as summary_svg,
    summary_text as summary_text,
    tensor_html as tensor_html,
    tensor_svg as tensor_svg,
    tensor_text as tensor_text,
    tile_svg as tile_svg,
    tile_text as tile_text,
    tiles_html as tiles_html,
    tiles_svg as tiles_svg,
    tiles_text as tiles_text,
)

__all__ = names_of(globals())


def __dir__() -> list[str]:
    return __all__
