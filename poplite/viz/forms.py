"""The forms that every picture can take: text, SVG, JSON, and a page where there is one.

Users' functions (`pictures`), notebooks (`notebook`) and the command (`poplite.tools.viz`)
gather the data of a picture and have it drawn by what these functions return::

    gathered by     data          drawn as
    summary_of      Summary       summary_forms
    program_tree    ProgramTree   program_forms
    dataflow_of     Dataflow      dataflow_forms
"""

from __future__ import annotations

from functools import partial

from poplite.viz.dataflow.graph import Dataflow, dataflow_json
from poplite.viz.dataflow.svg import draw_dataflow_svg
from poplite.viz.dataflow.text import draw_dataflow_text
from poplite.viz.painters import Forms
from poplite.viz.program.svg import draw_program_svg
from poplite.viz.program.text import draw_program_text
from poplite.viz.program.tree import ProgramTree, program_json
from poplite.viz.summary import Summary, draw_summary_svg, draw_summary_text, summary_json


def summary_forms(summary: Summary) -> Forms:
    """Return the forms of a graph's summary."""
    return Forms(
        partial(draw_summary_text, summary),
        partial(draw_summary_svg, summary),
        partial(summary_json, summary),
    )


def program_forms(tree: ProgramTree, *, counts: bool) -> Forms:
    """Return the forms of a program tree; `counts` adds how often each row runs."""
    return Forms(
        partial(draw_program_text, tree, counts=counts),
        partial(draw_program_svg, tree, counts=counts),
        partial(program_json, tree),
    )


def dataflow_forms(flow: Dataflow) -> Forms:
    """Return the forms of a dataflow graph, with its SVG by the built-in layout."""
    return Forms(
        partial(draw_dataflow_text, flow),
        partial(draw_dataflow_svg, flow),
        partial(dataflow_json, flow),
    )
