"""Notebook displays of poplite's objects.

Pictures are drawn by a higher layer, which the packages of the objects cannot import. The class
of an object that a notebook can show derives from `Displayed`, and the module that draws it is
looked up by name when a notebook first asks for a picture::

    Tensor, TileMapping, ComputeSet, Graph, Program, Report, ReportPart
         |  is a
    Displayed._repr_html_() - - by name - -> poplite.viz.notebook.html(value)
    Report.to_html() - - - - - by name - -> poplite.viz.page.report_page(report)

`Graph.output_vertex_graph` gets its text in the same way.  Lower layers have no other access to
`poplite.viz`.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from importlib import import_module
from typing import TextIO

from poplite.files import check_stream

_PICTURES = "poplite.viz.notebook"
_DATAFLOW = "poplite.viz.dataflow.picture"
_PAGE = "poplite.viz.page"
_PROGRAM = "poplite.viz.program"


class Displayed:
    """Base class of the objects that a notebook shows as pictures.

    >>> from poplite.graph import Graph
    >>> isinstance(Graph(), Displayed), Graph()._repr_html_().startswith("<div")
    (True, True)
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        shown: str = import_module(_PICTURES).html(self)
        return shown


class ReportPart(Displayed):
    """Base class of the parts of reports, which a notebook shows as tables of their fields.

    >>> import poplite as pl
    >>> report = pl.Engine(pl.Graph(pl.Target(tiles=4)), pl.Sequence()).report()
    >>> isinstance(report.execution, ReportPart)
    True
    """

    __slots__ = ()


class ShownPage:
    """A page in a frame of a notebook's cell, as `report.show()` returns it.

    Attributes:
        html: the page.
        height: pixels of the frame.

    >>> ShownPage("<head></head>", 90)._repr_html_()[:23]
    '<iframe class="poplite"'
    """

    __slots__ = ("height", "html")

    height: int
    html: str

    def __init__(self, html: str, height: int) -> None:
        self.html, self.height = html, height

    def _repr_html_(self) -> str:
        # What is chosen stands in the address, which the page may change on this base alone.
        page = self.html.replace("<head>", '<head>\n<base href="about:srcdoc">', 1)
        return (
            f'<iframe class="poplite" sandbox="allow-scripts allow-downloads" '
            f'style="width:100%;height:{self.height}px;border:0" srcdoc="{escape(page)}"></iframe>'
        )


def write_dataflow(graph: Displayed, programs: Iterable[Displayed], stream: TextIO) -> None:
    """Write the data flow of `programs`, which run one after the other, in Graphviz's language.

    >>> import io
    >>> from poplite.graph import Graph
    >>> write_dataflow(Graph(), [], file := io.StringIO())
    >>> "digraph {" in file.getvalue()
    True
    """
    check_stream(stream, "graph.output_vertex_graph")
    stream.write(import_module(_DATAFLOW).programs_dot(graph, programs))


def dump_program(graph: Displayed, program: Displayed, stream: TextIO) -> None:
    """Write the steps of a program as text, as `poplite-viz program` shows them.

    Args:
        graph: the program's graph, an argument in Poplar; it has no effect.
        program: the program.
        stream: a text file, open for writing.

    >>> import io
    >>> import poplite as pl
    >>> text = io.StringIO()
    >>> pl.dump_program(pl.Graph(), pl.Repeat(3, pl.Program()), text)
    >>> text.getvalue().splitlines()[3].split()[:3]
    ['Repeat', '3', 'times']
    """
    check_stream(stream, "dump_program")
    stream.write(import_module(_PROGRAM).program_text(program))


def report_page(report: Displayed, title: str, *, source: bool) -> str:
    """Return a report as an HTML page, from a module that is looked up by name."""
    page: str = import_module(_PAGE).report_page(report, title=title, source=source)
    return page
