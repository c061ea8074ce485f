"""Notebook displays of poplite's objects.

Pictures are made from the packages below them, which therefore do not import them: a value that a
notebook is to show is `Displayed`, and the module that draws it is looked up by its name when
a notebook asks for the first time::

    Tensor, TileMapping, ComputeSet, Graph, Program, Report
         |  is a
    Displayed._repr_html_() - - by name - -> poplite.viz.notebook.html(value)
    Report.to_html() - - - - - by name - -> poplite.viz.page.report_page(report)

`Graph.output_vertex_graph` gets its text the same way.  This is the only way from below
`poplite.viz` into it.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import TextIO

from poplite.files import check_stream

_PICTURES = "poplite.viz.notebook"
_DATAFLOW = "poplite.viz.dataflow.dot"
_PAGE = "poplite.viz.page"
_PROGRAM = "poplite.viz.program.text"


class Displayed:
    """Base of what a notebook shows as a picture.

    >>> from poplite.graph import Graph
    >>> isinstance(Graph(), Displayed), Graph()._repr_html_().startswith("<div")
    (True, True)
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        shown: str = import_module(_PICTURES).html(self)
        return shown


def write_dataflow(graph: Displayed, programs: Iterable[Displayed], stream: TextIO) -> None:
    """Write what reads and writes what, in Graphviz's language; programs run in their order.

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
        graph: the program's graph, as in Poplar; nothing depends on it.
        program: what to write.
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


def report_page(report: Displayed, title: str) -> str:
    """Return a report as an HTML page; the module that makes it is found by its name as well."""
    page: str = import_module(_PAGE).report_page(report, title=title)
    return page
