"""The pictures of graphs, tensors, programs and reports, as functions of the things drawn.

picture = tensor_svg(weights, "2:5, ::2")      a str that notebooks show as a picture
picture.write("weights.svg")
print(tiles_text(graph))
print(summary_text(graph, program))
print(program_text(program, match="blur", counts=True))
graph_svg(graph, program, around="weights").write("near_weights.svg")

Each gathers the data of a picture, then has it drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from types import EllipsisType
from typing import get_args

from poplite.errors import ArgumentKind, InvalidOption, annotated, instance_of, items_of, one_of
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.program import Program
from poplite.public import arguments_of
from poplite.report import Report
from poplite.viz.dataflow.graph import HOPS, MAX_NODES, Excerpt, dataflow_of
from poplite.viz.dataflow.picture import DataflowPicture, dataflow_dot
from poplite.viz.draw.svg import SvgText
from poplite.viz.draw.words import Style
from poplite.viz.memory import TOP, WORST, Sort, Stack, live_steps, memory_bars
from poplite.viz.one_tile import tile_contents
from poplite.viz.program import MOST_LINES, program_tree
from poplite.viz.summary import summary_of
from poplite.viz.tensors.frame_picture import RegionsPicture
from poplite.viz.tensors.frames import RegionFrames, frames_of_tensors
from poplite.viz.tensors.ownership import ownership_of
from poplite.viz.tensors.views import Index
from poplite.viz.tile_map import Quantity, Scale, TileLoad, judged_load, quantity_map, tile_load

View = str | Index | tuple[Index, ...]
"""Part of a tensor: what `t[...]` takes, or the same as text."""


def _is_view(value: object) -> bool:
    parts = value if isinstance(value, tuple) else (value,)
    if all(isinstance(part, slice | EllipsisType) or _is_whole(part) for part in parts):
        return True
    return isinstance(value, str)


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


_checked = annotated(
    "viz",
    {
        "Graph": instance_of(Graph, "a graph"),
        "Tensor": instance_of(Tensor, "a tensor"),
        "Sequence[Tensor]": items_of(Tensor, "a list of tensors"),
        "View": ArgumentKind(_is_view, "what tensor[...] takes, or the same as text"),
        "Program": instance_of(Program, "a program, such as pl.Sequence(...)"),
        "Sequence[str]": items_of(str, 'a list of names, such as ["x"]'),
        "Report": instance_of(Report, "a report, as engine.report() returns it"),
        "Stack": one_of(*get_args(Stack)),
        "Sort": one_of(*get_args(Sort)),
        "Quantity": one_of(*get_args(Quantity)),
        "Scale": one_of(*get_args(Scale)),
    },
)


@_checked
def tiles_text(
    graph: Graph,
    variables: Sequence[str] = (),
    *,
    program: Program | None = None,
    width: int = 80,
    color: bool = False,
    ascii_only: bool = False,
) -> str:
    """Draw the memory that every tile needs, as text.

    Args:
        graph: the graph.
        variables: names of the variables and constants to count; empty: what tiles need in
            all, with code, messages, stacks and copies.
        program: the program that runs; without one, only what lies there all the time is counted.
        width: columns to fit.
        color: whether to write escape codes for a terminal.
        ascii_only: whether to keep to ASCII.

    Returns:
        Lines, each ended by a newline.

    Raises:
        UnknownName: when the graph has no variable of a name.

    >>> from poplite.graph import Graph
    >>> from poplite.machine.target import Target
    >>> graph = Graph(Target(tiles=4))
    >>> _ = graph.add_variable("float32", (8,), "x", mapping="linear")
    >>> tiles_text(graph).splitlines()[1]
    '12,704 B on 4 tiles, mean 3,176 B'
    """
    return _load(graph, variables, program).text(Style(color, ascii_only, width))


@_checked
def tiles_svg(
    graph: Graph, variables: Sequence[str] = (), *, program: Program | None = None
) -> SvgText:
    """Draw the memory that every tile needs, as SVG.

    Args:
        graph: the graph.
        variables: names of the variables and constants to count; empty: what tiles need in
            all, with code, messages, stacks and copies.
        program: the program that runs; without one, only what lies there all the time is counted.

    Returns:
        The picture.

    Raises:
        UnknownName: when the graph has no variable of a name.

    >>> from poplite.graph import Graph
    >>> tiles_svg(Graph())[:4]
    '<svg'
    """
    return _load(graph, variables, program).svg()


@_checked
def tiles_html(
    graph: Graph, variables: Sequence[str] = (), *, program: Program | None = None
) -> str:
    """Return the memory that every tile needs as one page: picture, numbers, text and JSON.

    Args:
        graph: the graph.
        variables: names of the variables and constants to count; empty: what tiles need in
            all, with code, messages, stacks and copies.
        program: the program that runs; without one, only what lies there all the time is counted.

    Returns:
        The content of a file, which needs no other file and no network.

    Raises:
        UnknownName: when the graph has no variable of a name.

    >>> from poplite.graph import Graph
    >>> tiles_html(Graph()).splitlines()[0]
    '<!doctype html>'
    """
    return _load(graph, variables, program).page()


def _load(graph: Graph, variables: Sequence[str], program: Program | None) -> TileLoad:
    return tile_load(graph, variables) if len(variables) else judged_load(graph, program)


@_checked
def tensor_text(
    tensor: Tensor,
    view: View | None = None,
    *,
    width: int = 80,
    color: bool = False,
    ascii_only: bool = False,
    full: bool = False,
) -> str:
    """Draw the tiles of a tensor's elements, as text with a table of intervals.

    Args:
        tensor: the tensor; only its own elements are drawn, also where it is a slice.
        view: part of it to point out.
        width: columns to fit.
        color: whether to write escape codes for a terminal.
        ascii_only: whether to keep to ASCII.
        full: whether to draw all lines and list all tiles, however many.

    Returns:
        Lines, each ended by a newline.

    Raises:
        TensorIndexError: when the view does not fit the tensor.

    >>> from poplite.graph import Graph
    >>> x = Graph().add_variable("float32", (2, 4), "x", mapping=[[(0, 4)], [(4, 8)]])
    >>> print(tensor_text(x).splitlines()[5])
    0 │0                              │
    """
    style = Style(color, ascii_only, width, full)
    return ownership_of(tensor, view).text(style)


@_checked
def tensor_svg(tensor: Tensor, view: View | None = None) -> SvgText:
    """Draw the tiles of a tensor's elements, as SVG.

    Args:
        tensor: the tensor; only its own elements are drawn, also where it is a slice.
        view: part of it to outline; the rest is dimmed.

    Returns:
        The picture.

    Raises:
        TensorIndexError: when the view does not fit the tensor.

    >>> from poplite.graph import Graph
    >>> x = Graph().add_variable("float32", (2, 4), "x", mapping=0)
    >>> tensor_svg(x, "0, 1:3")[:4]
    '<svg'
    """
    return ownership_of(tensor, view).svg()


@_checked
def tensor_html(tensor: Tensor, view: View | None = None) -> str:
    """Return the tiles of a tensor's elements as one page: picture, numbers, text and JSON.

    Args:
        tensor: the tensor; only its own elements are drawn, also where it is a slice.
        view: part of it to outline; the rest is dimmed.

    Returns:
        The content of a file, which needs no other file and no network.

    Raises:
        TensorIndexError: when the view does not fit the tensor.

    >>> from poplite.graph import Graph
    >>> x = Graph().add_variable("float32", (2, 4), "x", mapping=0)
    >>> tensor_html(x, "0, 1:3").splitlines()[0]
    '<!doctype html>'
    """
    return ownership_of(tensor, view).page()


@_checked
def regions_text(
    tensors: Tensor | Sequence[Tensor],
    *,
    width: int = 80,
    color: bool = False,
    ascii_only: bool = False,
    full: bool = False,
) -> str:
    """Draw the intervals of variables that tensors consist of, as text.

    Args:
        tensors: a tensor, also a view, or several of one graph; their variables are drawn first.
        width: columns to fit.
        color: whether to write escape codes for a terminal.
        ascii_only: whether to keep to ASCII.
        full: whether to list all intervals, however many.

    Returns:
        Lines, each ended by a newline.

    Raises:
        InvalidOption: when there are no tensors, or they are of several graphs.
        SizeOverflowError: when a tensor has too many intervals.

    >>> from poplite.graph import Graph
    >>> x = Graph().add_variable("float32", (4, 6), "x", mapping=0)
    >>> print(regions_text(x.T[1:3]).splitlines()[0])
    regions of 'x'[:, 1:3].T
    """
    return RegionsPicture(_frames(tensors)).text(Style(color, ascii_only, width, full))


@_checked
def regions_svg(tensors: Tensor | Sequence[Tensor]) -> SvgText:
    """Draw the intervals of variables that tensors consist of, as SVG.

    Args:
        tensors: a tensor, also a view, or several of one graph; their variables are drawn first.

    Returns:
        The picture.

    Raises:
        InvalidOption: when there are no tensors, or they are of several graphs.
        SizeOverflowError: when a tensor has too many intervals.

    >>> from poplite.graph import Graph
    >>> x = Graph().add_variable("float32", (4, 6), "x", mapping=0)
    >>> regions_svg([x[1:3], x.T])[:4]
    '<svg'
    """
    return RegionsPicture(_frames(tensors)).svg()


def _frames(tensors: Tensor | Sequence[Tensor]) -> RegionFrames:
    each = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    others = [tensor for tensor in each if tensor.graph is not each[0].graph]
    if not each or others:
        raise InvalidOption(
            "regions are drawn of tensors of one graph",
            at=None,
            found="they are of several graphs" if others else "the list is empty",
            fix="give one tensor, or several of one graph",
        )
    return frames_of_tensors(each)


@_checked
def summary_text(
    graph: Graph, program: Program | None = None, *, width: int = 80, color: bool = False
) -> str:
    """Summarise a graph: its contents, its fullest tile, and whether it fits.

    Args:
        graph: the graph.
        program: the program that runs on it, if there is one.
        width: columns to fit.
        color: whether to write escape codes for a terminal.

    Returns:
        Lines, each ended by a newline.

    >>> from poplite.graph import Graph
    >>> summary_text(Graph()).splitlines()[0]
    'summary: variables fit; no program given'
    """
    style = Style(color, width=width)
    return summary_of(graph, program).text(style)


@_checked
def summary_svg(graph: Graph, program: Program | None = None) -> SvgText:
    """Draw a summary of a graph, and of the use of its fullest tile, as SVG.

    Args:
        graph: the graph.
        program: the program that runs on it, if there is one.

    Returns:
        The picture.

    >>> from poplite.graph import Graph
    >>> summary_svg(Graph())[:4]
    '<svg'
    """
    return summary_of(graph, program).svg()


@_checked
def program_text(
    program: Program,
    *,
    depth: int | None = None,
    match: str | None = None,
    counts: bool = False,
    width: int = 80,
    color: bool = False,
    full: bool = False,
) -> str:
    """Draw a program as a tree, as text.

    Args:
        program: the program.
        depth: deepest level that is drawn; deeper nodes are counted instead.
        match: a regular expression; only steps whose line matches are drawn, with the
            nodes that contain them.
        counts: whether to write how often each step runs.
        width: columns to fit.
        color: whether to write escape codes for a terminal.
        full: whether to draw all lines, however many.

    Returns:
        Lines, each ended by a newline.

    Raises:
        UnknownName: when no step matches.
        re.error: when `match` is not a valid regular expression.

    >>> from poplite.program import Repeat, Sequence
    >>> program_text(Repeat(9, Sequence())).splitlines()[0]
    'program: 0 steps'
    """
    most = None if full else MOST_LINES
    tree = program_tree(program, depth=depth, match=match, most=most, counts=counts)
    return tree.text(Style(color, width=width))


@_checked
def program_svg(
    program: Program, *, depth: int | None = None, match: str | None = None, counts: bool = False
) -> SvgText:
    """Draw a program as a tree, as SVG.

    Args:
        program: the program.
        depth: deepest level that is drawn; deeper nodes are counted instead.
        match: a regular expression; only steps whose line matches are drawn, with the
            nodes that contain them.
        counts: whether to write how often each step runs.

    Returns:
        The picture, of 300 lines at most.

    Raises:
        UnknownName: when no step matches.
        re.error: when `match` is not a valid regular expression.

    >>> from poplite.program import Sequence
    >>> program_svg(Sequence())[:4]
    '<svg'
    """
    tree = program_tree(program, depth=depth, match=match, most=MOST_LINES, counts=counts)
    return tree.svg()


@_checked
def graph_text(
    graph: Graph,
    program: Program | None = None,
    *,
    around: str | None = None,
    hops: int = HOPS,
    scope: str | None = None,
    max_nodes: int = MAX_NODES,
    width: int = 80,
    color: bool = False,
) -> str:
    """List the dataflow graph, in program order.

    Args:
        graph: the graph.
        program: the program, for its order, copies and prints.
        around: name of a variable or compute set; only its surroundings are shown.
        hops: how many edges away from it they reach.
        scope: a scope; only its contents and their neighbours are shown.
        max_nodes: how many nodes to keep; beyond, scopes and numbered names are collapsed.
        width: columns to fit.
        color: whether to write escape codes for a terminal.

    Returns:
        Lines, each ended by a newline.

    Raises:
        UnknownName: when there is nothing of that name, or no such scope.
        ControlProgramError: when the program belongs to another graph.

    >>> from poplite.graph import Graph
    >>> graph = Graph()
    >>> _ = graph.add_variable("int32", (4,), "x", mapping=0)
    >>> graph_text(graph).splitlines()[-1].split()
    ["'x'", 'int32[4],', 'not', 'used', '16', 'B', '1', '(0)']
    """
    excerpt = Excerpt(around, hops, scope, max_nodes)
    flow = dataflow_of(graph, program, excerpt=excerpt)
    return DataflowPicture(flow).text(Style(color, width=width))


@_checked
def graph_svg(
    graph: Graph,
    program: Program | None = None,
    *,
    around: str | None = None,
    hops: int = HOPS,
    scope: str | None = None,
    max_nodes: int = MAX_NODES,
) -> SvgText:
    """Draw the dataflow graph with the built-in layout.

    Args:
        graph: the graph.
        program: the program, for its order, copies and prints.
        around: name of a variable or compute set; only its surroundings are shown.
        hops: how many edges away from it they reach.
        scope: a scope; only its contents and their neighbours are shown.
        max_nodes: how many nodes to keep; beyond, scopes and numbered names are collapsed.

    Returns:
        The picture.

    Raises:
        UnknownName: when there is nothing of that name, or no such scope.
        ControlProgramError: when the program belongs to another graph.

    >>> from poplite.graph import Graph
    >>> graph_svg(Graph())[:4]
    '<svg'
    """
    excerpt = Excerpt(around, hops, scope, max_nodes)
    return DataflowPicture(dataflow_of(graph, program, excerpt=excerpt)).svg()


@_checked
def graph_dot(
    graph: Graph,
    program: Program | None = None,
    *,
    around: str | None = None,
    hops: int = HOPS,
    scope: str | None = None,
    max_nodes: int = MAX_NODES,
) -> str:
    """Write the dataflow graph in Graphviz's language.

    Args:
        graph: the graph.
        program: the program, for its order, copies and prints.
        around: name of a variable or compute set; only its surroundings are shown.
        hops: how many edges away from it they reach.
        scope: a scope; only its contents and their neighbours are shown.
        max_nodes: how many nodes to keep; beyond, scopes and numbered names are collapsed.

    Returns:
        Lines, each ended by a newline.

    Raises:
        UnknownName: when there is nothing of that name, or no such scope.
        ControlProgramError: when the program belongs to another graph.

    >>> from poplite.graph import Graph
    >>> "digraph {" in graph_dot(Graph())
    True
    """
    excerpt = Excerpt(around, hops, scope, max_nodes)
    return dataflow_dot(dataflow_of(graph, program, excerpt=excerpt))


# -- of reports ------------------------------------------------------------------------------------


@_checked
def quantity_text(
    report: Report,
    by: Quantity = "memory",
    *,
    step: str | None = None,
    scale: Scale | None = None,
    tiles: range | None = None,
    width: int = 80,
    color: bool = False,
    ascii_only: bool = False,
) -> str:
    """Draw the tile map of a quantity of a report, as text.

    Args:
        report: of an engine, or loaded.
        by: "memory" that tiles need or have "free", "vertices", "cycles" busy or "waited" for other
            tiles, bytes "sent", "received", or "copied" on their tile.
        step: number, range as in "3:7", or name of a step; left out, all of them.
        scale: where colours begin, "zero" or "least"; left out, the least, where that is over half
            of the most.
        tiles: which are drawn; left out, all.
        width: columns to fit.
        color: whether to write escape codes for a terminal.
        ascii_only: whether to keep to ASCII.

    Returns:
        Lines, each ended by a newline.

    Raises:
        UnknownName: when there is no such step.
        InvalidOption: when there are no such tiles, a step is named for memory, or memory is not
            modelled.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> x = graph.add_variable(pl.FLOAT, (100,), "x", mapping=1)
    >>> print(quantity_text(pl.Engine(graph, pl.Sequence()).report()).splitlines()[2])
    most 3,568 B (tile 1), least 3,168 B (tile 0)
    """
    found = quantity_map(report, by, step=step, scale=scale, tiles=tiles)
    return found.text(Style(color, ascii_only, width))


@arguments_of(quantity_text)
@_checked
def quantity_svg(
    report: Report,
    by: Quantity = "memory",
    *,
    step: str | None = None,
    scale: Scale | None = None,
    tiles: range | None = None,
) -> SvgText:
    """Draw the tile map of a quantity of a report, as SVG.

    Arguments and errors are those of `quantity_text`, without its options for text.

    Returns:
        The picture.

    >>> import poplite as pl
    >>> quantity_svg(pl.Engine(pl.Graph(), pl.Sequence()).report())[:4]
    '<svg'
    """
    return quantity_map(report, by, step=step, scale=scale, tiles=tiles).svg()


@_checked
def memory_text(
    report: Report,
    *,
    stack: Stack = "kind",
    sort: Sort = "tile",
    top: int = TOP,
    width: int = 80,
    color: bool = False,
    ascii_only: bool = False,
) -> str:
    """Draw the memory that every tile needs, and list the contents of the fullest, as text.

    Args:
        report: of an engine, or loaded; nothing needs to have run.
        stack: the parts of the fullest tile: kinds of things, the largest things, or those that
            are always live.
        sort: "tile" by number, or "size" for the fullest first.
        top: how many things of the fullest tile are listed.
        width: columns to fit.
        color: whether to write escape codes for a terminal.
        ascii_only: whether to keep to ASCII.

    Returns:
        Lines, each ended by a newline.

    Raises:
        InvalidOption: when memory is not modelled.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> x = graph.add_variable(pl.FLOAT, (100,), "x", mapping=1)
    >>> memory_text(pl.Engine(graph, pl.Sequence()).report()).splitlines()[0]
    'memory: fits; fullest tile 1: 3,568 B of 638,976 B, 0.6%'
    """
    bars = memory_bars(report, stack=stack, sort=sort, top=top)
    return bars.text(Style(color, ascii_only, width))


@arguments_of(memory_text)
@_checked
def memory_svg(
    report: Report, *, stack: Stack = "kind", sort: Sort = "tile", top: int = TOP
) -> SvgText:
    """Draw the memory that every tile needs, and list the contents of the fullest, as SVG.

    Arguments and errors are those of `memory_text`, without its options for text.

    Returns:
        The picture.

    >>> import poplite as pl
    >>> memory_svg(pl.Engine(pl.Graph(), pl.Sequence()).report())[:4]
    '<svg'
    """
    return memory_bars(report, stack=stack, sort=sort, top=top).svg()


@_checked
def liveness_text(
    report: Report,
    tile: int | str = WORST,
    *,
    top: int | None = None,
    width: int = 80,
    color: bool = False,
    ascii_only: bool = False,
) -> str:
    """Draw the memory that a tile needs in each step, as text.

    Args:
        report: of an engine, or loaded; nothing needs to have run.
        tile: its number, or "worst" for the fullest one.
        top: how many steps, those that need most; left out, all.
        width: columns to fit.
        color: whether to write escape codes for a terminal.
        ascii_only: whether to keep to ASCII.

    Returns:
        Lines, each ended by a newline.

    Raises:
        InvalidTileMapping: when there is no such tile.
        InvalidOption: when memory is not modelled.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> a, b, c = (graph.add_variable(pl.INT, (9,), name, mapping=0) for name in "abc")
    >>> engine = pl.Engine(graph, pl.Sequence(pl.Copy(a, b), pl.Copy(b, c)))
    >>> print(liveness_text(engine.report(), top=1, width=60).splitlines()[3])
    1  Copy 'a' -> 'b'  36 B  peak  vvvvvvvvvvvvvvvvvv  'b' 36 B
    """
    return live_steps(report, tile, top=top).text(Style(color, ascii_only, width))


@arguments_of(liveness_text)
@_checked
def liveness_svg(report: Report, tile: int | str = WORST, *, top: int | None = None) -> SvgText:
    """Draw the memory that a tile needs in each step, as SVG.

    Arguments and errors are those of `liveness_text`, without its options for text.

    Returns:
        The picture.

    >>> import poplite as pl
    >>> liveness_svg(pl.Engine(pl.Graph(), pl.Sequence()).report())[:4]
    '<svg'
    """
    return live_steps(report, tile, top=top).svg()


@_checked
def tile_text(
    report: Report,
    tile: int,
    *,
    step: str | None = None,
    width: int = 80,
    color: bool = False,
    ascii_only: bool = False,
) -> str:
    """Draw the memory of a tile by address, and list its contents and vertices, as text.

    Args:
        report: of an engine, or loaded.
        tile: its number.
        step: number or name of a step; left out, the one in which the tile needs most.
        width: columns to fit.
        color: whether to write escape codes for a terminal.
        ascii_only: whether to keep to ASCII.

    Returns:
        Lines, each ended by a newline.

    Raises:
        InvalidTileMapping: when there is no such tile.
        UnknownName: when there is no such step.
        InvalidOption: when memory is not modelled.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> x = graph.add_variable(pl.FLOAT, (100,), "x", mapping=1)
    >>> print(tile_text(pl.Engine(graph, pl.Sequence()).report(), 1).splitlines()[0])
    tile 1: 3,568 B of 638,976 B, 0.6%
    """
    return tile_contents(report, tile, step=step).text(Style(color, ascii_only, width))


@arguments_of(tile_text)
@_checked
def tile_svg(report: Report, tile: int, *, step: str | None = None) -> SvgText:
    """Draw the memory of a tile by address, and list its contents and vertices, as SVG.

    Arguments and errors are those of `tile_text`, without its options for text.

    Returns:
        The picture.

    >>> import poplite as pl
    >>> tile_svg(pl.Engine(pl.Graph(), pl.Sequence()).report(), 0)[:4]
    '<svg'
    """
    return tile_contents(report, tile, step=step).svg()
