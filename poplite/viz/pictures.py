"""The pictures of graphs and tensors, as functions of the things drawn.

picture = tensor_svg(weights, "2:5, ::2")      a str that notebooks show as a picture
picture.write("weights.svg")
print(tiles_text(graph))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from poplite.viz.draw.svg import SvgText
from poplite.viz.draw.terminal import Style
from poplite.viz.tensor.ownership import ownership_of
from poplite.viz.tensor.page import tensor_page
from poplite.viz.tensor.selection import Index
from poplite.viz.tensor.svg import draw_tensor_svg
from poplite.viz.tensor.text import draw_tensor_text
from poplite.viz.tiles.load import tile_load
from poplite.viz.tiles.page import tiles_page
from poplite.viz.tiles.tile_map import draw_tiles_svg, draw_tiles_text

if TYPE_CHECKING:
    from poplite.graph.graph import Graph
    from poplite.graph.tensor.tensor import Tensor

View = str | Index | tuple[Index, ...]
"""Part of a tensor: what `t[...]` takes, or the same as text."""


def tiles_text(
    graph: Graph,
    variables: Sequence[str] = (),
    *,
    width: int = 80,
    color: bool = False,
    ascii_only: bool = False,
) -> str:
    """Draw what lies on every tile, as text.

    Args:
        graph: the graph.
        variables: names of the variables and constants to count; all when empty.
        width: columns to fit.
        color: write escape codes for a terminal.
        ascii_only: keep to ASCII.

    Returns:
        Lines, the last one ended.

    Raises:
        UnknownName: when the graph has no variable of a name.

    >>> from poplite.graph import Graph
    >>> from poplite.machine.target import Target
    >>> graph = Graph(Target(tiles=4))
    >>> _ = graph.add_variable("float32", (8,), "x", mapping="linear")
    >>> tiles_text(graph).splitlines()[1]
    '32 B on 4 of 4 tiles'
    """
    style = Style(color=color, ascii_only=ascii_only)
    return draw_tiles_text(tile_load(graph, variables), width=width, style=style)


def tiles_svg(graph: Graph, variables: Sequence[str] = ()) -> SvgText:
    """Draw what lies on every tile, as SVG.

    Args:
        graph: the graph.
        variables: names of the variables and constants to count; all when empty.

    Returns:
        The picture.

    Raises:
        UnknownName: when the graph has no variable of a name.

    >>> from poplite.graph import Graph
    >>> tiles_svg(Graph())[:4]
    '<svg'
    """
    return draw_tiles_svg(tile_load(graph, variables))


def tiles_html(graph: Graph, variables: Sequence[str] = ()) -> str:
    """Return what lies on every tile as one page: picture, numbers, text and JSON.

    Args:
        graph: the graph.
        variables: names of the variables and constants to count; all when empty.

    Returns:
        A file's content; it needs no other file and no network.

    Raises:
        UnknownName: when the graph has no variable of a name.

    >>> from poplite.graph import Graph
    >>> tiles_html(Graph()).splitlines()[0]
    '<!doctype html>'
    """
    return tiles_page(tile_load(graph, variables))


def tensor_text(
    tensor: Tensor,
    view: View | None = None,
    *,
    width: int = 80,
    color: bool = False,
    ascii_only: bool = False,
    full: bool = False,
) -> str:
    """Draw which tile owns which elements of a tensor, as text with a table of intervals.

    Args:
        tensor: whole or a view; its own elements are drawn.
        view: part of it to point out.
        width: columns to fit.
        color: write escape codes for a terminal.
        ascii_only: keep to ASCII.
        full: draw all lines and list all tiles, however many.

    Returns:
        Lines, the last one ended.

    Raises:
        TensorIndexError: when the view does not fit the tensor.

    >>> from poplite.graph import Graph
    >>> x = Graph().add_variable("float32", (2, 4), "x", mapping=[[(0, 4)], [(4, 8)]])
    >>> print(tensor_text(x).splitlines()[5])
    0 │0                              │
    """
    style = Style(color=color, ascii_only=ascii_only)
    return draw_tensor_text(ownership_of(tensor, view), width=width, style=style, full=full)


def tensor_svg(tensor: Tensor, view: View | None = None) -> SvgText:
    """Draw which tile owns which elements of a tensor, as SVG.

    Args:
        tensor: whole or a view; its own elements are drawn.
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
    return draw_tensor_svg(ownership_of(tensor, view))


def tensor_html(tensor: Tensor, view: View | None = None) -> str:
    """Return which tile owns which elements as one page: picture, numbers, text and JSON.

    Args:
        tensor: whole or a view; its own elements are drawn.
        view: part of it to outline; the rest is dimmed.

    Returns:
        A file's content; it needs no other file and no network.

    Raises:
        TensorIndexError: when the view does not fit the tensor.

    >>> from poplite.graph import Graph
    >>> x = Graph().add_variable("float32", (2, 4), "x", mapping=0)
    >>> tensor_html(x, "0, 1:3").splitlines()[0]
    '<!doctype html>'
    """
    return tensor_page(ownership_of(tensor, view))
