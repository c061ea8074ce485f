r"""What a notebook shows for tensors, mappings, compute sets and reports.

Every answer holds the same as text, which is seen where a page strips style sheets: the
sheet hides the text and shows the rest, whose own style hides it.  Nothing is fetched and
no script runs; rules and names are kept to `.poplite`, so that a page may hold many.

What would be too fine or too large to draw is left out, in words: an answer comes at once,
whatever the size.

    >>> shown("two < three", "<p>2</p>").endswith('style="display:none"><p>2</p></div></div>')
    True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from poplite.graph.mapping.tile_mapping import TileMapping, ranges
from poplite.text import counted
from poplite.view import Cat, num_runs, runs, storages
from poplite.viz.draw.html_part import asset, escaped, facts_table
from poplite.viz.draw.units import name_text, shape_text, size_text
from poplite.viz.tensor.ownership import ownership_of
from poplite.viz.tensor.svg import draw_tensor_svg
from poplite.viz.tensor.text import draw_tensor_text
from poplite.viz.tiles.report_maps import report_maps
from poplite.viz.tiles.tile_map import TileMap, draw_map_svg, draw_map_text
from poplite.viz.tiles.vertex_counts import class_counts, classes_text, vertices_map

if TYPE_CHECKING:
    from poplite.graph.compute_sets.compute_set import ComputeSet
    from poplite.graph.tensor.tensor import Tensor
    from poplite.report import Report

MOST_PARTS = 50_000
"""Parts of the finest tensor drawn: runs of its variables' elements on one tile."""

MOST_JOINED = 1_000_000
"""Elements of the largest tensor drawn that views several parts: counting those takes time."""

MOST_TILES = 5000
"""Tiles of the largest map."""


def shown(text: str, rich: str) -> str:
    """Return what a notebook shows.

    Args:
        text: the same as text.
        rich: the same as HTML.

    Returns:
        One element.
    """
    return (
        f'<div class="poplite"><style>\n{asset("notebook.css")}</style>'
        f'<pre class="poplite-text">{escaped(text)}</pre>'
        f'<div class="poplite-rich" style="display:none">{rich}</div></div>'
    )


def tensor_cell(tensor: Tensor) -> str:
    """Return what a notebook shows for a tensor: its facts, and who owns its elements.

    Args:
        tensor: whole or a view.

    >>> from poplite.graph import Graph
    >>> "on 1 tile (0), 12 B" in tensor_cell(Graph().add_variable("int32", (3,), "x", mapping=0))
    True
    """
    fine = _too_fine(tensor)
    if fine:
        size = tensor.num_elements * tensor.element_type.size_bytes
        facts = {
            "name": name_text(tensor.name),
            "type and shape": f"{tensor.element_type.dtype}{shape_text(tensor.shape)}",
            "elements": f"{tensor.num_elements:,}, {size_text(size)}",
            "picture": f"none: {fine}",
        }
        return shown(f"{tensor!r}\n{rows_text(facts)}", facts_table(facts))
    owned = ownership_of(tensor)
    facts = {
        "name": name_text(owned.name),
        "type and shape": f"{owned.type_name}{shape_text(owned.shape)}",
        "elements": f"{owned.num_elements:,}",
        "placement": owned.placement(),
    }
    return shown(draw_tensor_text(owned), facts_table(facts) + draw_tensor_svg(owned))


def _too_fine(tensor: Tensor) -> str:
    """Return why a tensor is not drawn; empty when it is."""
    if tensor.num_elements <= MOST_PARTS:
        return ""
    if isinstance(tensor.view.space, Cat) and tensor.num_elements > MOST_JOINED:
        return "a large tensor of several parts; draw a slice of it"
    parts = num_runs(tensor.view)
    if parts <= MOST_PARTS:
        parts += _tile_changes(tensor)
    return f"{parts:,} separate parts; draw a slice of it" if parts > MOST_PARTS else ""


def _tile_changes(tensor: Tensor) -> int:
    """Count the places within runs of elements where the tile changes."""
    owners = [tensor.graph.variable_of(storage) for storage in storages(tensor.view)]
    places = [variable.storage.base + variable.mapping.pieces()[0] for variable in owners]
    breaks = np.sort(np.concatenate(places))
    begin, length = runs(tensor.view)
    after = np.searchsorted(breaks, begin, side="right")
    return int((np.searchsorted(breaks, begin + length) - after).sum())


def mapping_cell(mapping: TileMapping) -> str:
    """Return what a notebook shows for a tile mapping: how many elements each tile holds.

    Args:
        mapping: of any tensor.

    >>> "tile 1: 6 elements, 2 intervals" in mapping_cell(
    ...     TileMapping(3, np.array([1, 0, 1]), np.array([2, 3, 4]))
    ... )
    True
    """
    elements, used = mapping.elements_per_tile, mapping.tiles
    held = elements[used]
    facts = {
        "elements": f"{mapping.num_elements:,}",
        "tiles used": f"{len(used):,} of {len(mapping):,} ({ranges(used)})",
        "intervals": f"{len(mapping.begin):,}",
    }
    if len(held):
        facts["elements of a used tile"] = f"most {held.max():,}, least {held.min():,}"
    if mapping.num_unmapped:
        facts["without a tile"] = f"! {counted(mapping.num_unmapped, 'element')}"
    parts = zip(elements.tolist(), np.diff(mapping.ptr).tolist(), strict=True)
    tiles = TileMap(
        "elements per tile",
        [f"{counted(int(held.sum()), 'element')} on {counted(len(used), 'tile')}"],
        elements,
        elements < 0,
        [f"{counted(n, 'element')}, {counted(k, 'interval')}" for n, k in parts],
        lambda count: counted(count, "element"),
    )
    return _shown_with_map(mapping, facts, tiles)


def compute_set_cell(compute_set: ComputeSet) -> str:
    """Return what a notebook shows for a compute set: its classes, and how many each tile runs.

    Args:
        compute_set: of any graph.

    >>> from poplite.graph import Graph
    >>> "vertices per tile: &#x27;blur&#x27;" in compute_set_cell(Graph().add_compute_set("blur"))
    True
    """
    vertices = compute_set.vertices
    facts = {
        "name": name_text(compute_set.name),
        "vertices": f"{len(vertices):,}",
        "classes": classes_text(class_counts(vertices.items())) or "none",
        "where": name_text(str(compute_set.location)),
    }
    return _shown_with_map(compute_set, facts, vertices_map(compute_set))


def _shown_with_map(thing: object, facts: dict[str, str], tiles: TileMap) -> str:
    """Return facts and a tile map; only facts where there are too many tiles to draw."""
    if len(tiles.value) > MOST_TILES:
        facts = facts | {"picture": f"none: more than {MOST_TILES:,} tiles"}
        return shown(f"{thing!r}\n{rows_text(facts)}", facts_table(facts))
    text = f"{rows_text(facts)}\n\n{draw_map_text(tiles)}"
    return shown(text, facts_table(facts) + draw_map_svg(tiles))


def report_cell(report: Report) -> str:
    """Return what a notebook shows for a report: its main numbers, and maps of the tiles.

    Args:
        report: of an engine.

    >>> import poplite as pl
    >>> "<td>1,472</td>" in report_cell(pl.Engine(pl.Graph(), pl.Sequence()).report())
    True
    """
    rows, maps = report.rows(), report_maps(report)
    if report.tiles > MOST_TILES:
        rows, maps = rows | {"picture": f"none: more than {MOST_TILES:,} tiles"}, []
    return shown(str(report), facts_table(rows) + "".join(map(draw_map_svg, maps)))


def rows_text(rows: dict[str, str]) -> str:
    """Return facts as lines.

    Args:
        rows: what each fact is called, and the fact.

    >>> print(rows_text({"tiles": "4", "bytes": "16 B"}))
    tiles  4
    bytes  16 B
    """
    width = max(map(len, rows))
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows.items())
