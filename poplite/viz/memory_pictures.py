"""The pictures of the memory of a report, and of what its tiles do, as functions.

print(memory_text(engine.report()))
memory_svg(report, stack="variable").write("memory.png")
print(tile_text(report, 37))
print(liveness_text(report))
print(quantity_text(report, "waited"))
"""

from __future__ import annotations

from typing import get_args

from poplite.errors import annotated, instance_of, one_of
from poplite.report import Report
from poplite.viz.draw.svg import SvgText
from poplite.viz.draw.terminal import Style
from poplite.viz.liveness import WORST, live_steps, liveness_forms
from poplite.viz.memory import Sort, Stack, memory_bars, memory_forms
from poplite.viz.one_tile import tile_contents, tile_forms
from poplite.viz.tile_map import Quantity, Scale, quantity_forms, quantity_map

TOP = 10
"""Things of the fullest tile that are listed, unless more are asked for."""

_checked = annotated(
    "viz",
    {
        "Report": instance_of(Report, "a report, as engine.report() returns it"),
        "Stack": one_of(*get_args(Stack)),
        "Sort": one_of(*get_args(Sort)),
        "Quantity": one_of(*get_args(Quantity)),
        "Scale": one_of(*get_args(Scale)),
    },
)


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
    """Draw what every tile needs, and list what lies on the fullest one, as text.

    Args:
        report: of an engine, or loaded; nothing needs to have run.
        stack: what is told of the fullest tile: kinds of things, the largest things, or what is
            always live.
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
    bars = memory_bars(report, stack=stack, sort=sort)
    return memory_forms(bars, top).text(Style(color, ascii_only, width))


@_checked
def memory_svg(
    report: Report, *, stack: Stack = "kind", sort: Sort = "tile", top: int = TOP
) -> SvgText:
    """Draw what every tile needs, and list what lies on the fullest one, as SVG.

    It takes and raises what `memory_text` does, but for what is of text alone.

    Returns:
        The picture.

    >>> import poplite as pl
    >>> memory_svg(pl.Engine(pl.Graph(), pl.Sequence()).report())[:4]
    '<svg'
    """
    return memory_forms(memory_bars(report, stack=stack, sort=sort), top).svg()


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
    """Draw the memory of a tile by address, and list what lies and runs there, as text.

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
    contents = tile_contents(report, tile, step=step)
    return tile_forms(contents).text(Style(color, ascii_only, width))


@_checked
def tile_svg(report: Report, tile: int, *, step: str | None = None) -> SvgText:
    """Draw the memory of a tile by address, and list what lies and runs there, as SVG.

    It takes and raises what `tile_text` does, but for what is of text alone.

    Returns:
        The picture.

    >>> import poplite as pl
    >>> tile_svg(pl.Engine(pl.Graph(), pl.Sequence()).report(), 0)[:4]
    '<svg'
    """
    return tile_forms(tile_contents(report, tile, step=step)).svg()


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
    """Draw what a tile needs in each step, as text.

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
    live = live_steps(report, tile, top=top)
    return liveness_forms(live).text(Style(color, ascii_only, width))


@_checked
def liveness_svg(report: Report, tile: int | str = WORST, *, top: int | None = None) -> SvgText:
    """Draw what a tile needs in each step, as SVG.

    It takes and raises what `liveness_text` does, but for what is of text alone.

    Returns:
        The picture.

    >>> import poplite as pl
    >>> liveness_svg(pl.Engine(pl.Graph(), pl.Sequence()).report())[:4]
    '<svg'
    """
    return liveness_forms(live_steps(report, tile, top=top)).svg()


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
    """Draw the tile map of what a report knows of every tile, as text.

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
    return quantity_forms(found, by).text(Style(color, ascii_only, width))


@_checked
def quantity_svg(
    report: Report,
    by: Quantity = "memory",
    *,
    step: str | None = None,
    scale: Scale | None = None,
    tiles: range | None = None,
) -> SvgText:
    """Draw the tile map of what a report knows of every tile, as SVG.

    It takes and raises what `quantity_text` does, but for what is of text alone.

    Returns:
        The picture.

    >>> import poplite as pl
    >>> quantity_svg(pl.Engine(pl.Graph(), pl.Sequence()).report())[:4]
    '<svg'
    """
    found = quantity_map(report, by, step=step, scale=scale, tiles=tiles)
    return quantity_forms(found, by).svg()
