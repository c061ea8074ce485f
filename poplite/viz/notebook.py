r"""Notebook output for graphs, programs, tensors, mappings, compute sets and reports.

A cell is a picture, painted as HTML.  It also holds the picture as text, which is seen where a
page strips style sheets: the sheet hides the text and shows the rest, which a style of its own
hides otherwise.  Nothing is fetched and no script runs; rules apply to `.poplite` only, so that a
page may hold many cells.  Colours are those of the notebook's theme, or else of the system's.

What would be too fine or too large to draw is left out, and the cell says so: it is made quickly,
whatever the size.

    >>> cell = shown(Words("two < three"))
    >>> cell.endswith('style="display:none"><p>two &lt; three</p></div></div>')
    True
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import partial, singledispatch
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from poplite.display import ReportPart
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.graph import Graph
from poplite.graph.space import Variable
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tile_mapping import TileMapping, ranges
from poplite.machine.target import Target
from poplite.program.base import Program
from poplite.report.execution import TilePairs
from poplite.report.findings import Insights
from poplite.report.per_tile import PerTile
from poplite.report.report import Report
from poplite.text import amount, shortened
from poplite.view import Cat, num_runs, runs, storages
from poplite.viz.draw.svg import DARK_PAGE, STYLE
from poplite.viz.draw.words import name_text, shape_text, size_text
from poplite.viz.marks import (
    FactList,
    Gap,
    ListColumn,
    Listing,
    ListRow,
    Mark,
    Picture,
    Words,
    left_out,
)
from poplite.viz.paint_html import asset, escaped, paint_html
from poplite.viz.paint_text import paint_text
from poplite.viz.program import program_tree
from poplite.viz.summary import class_counts, classes_text, overview_of, summary_of
from poplite.viz.tensors.ownership import ownership_of
from poplite.viz.tile_map import TileMap, tile_load, vertices_map

T = TypeVar("T")

MOST_PARTS = 50_000
"""Parts of the finest tensor drawn: runs of its variables' elements on one tile."""

MOST_JOINED = 1_000_000
"""Elements of the largest tensor drawn that views several parts: counting those takes time."""

MOST_TILES = 5000
"""Tiles of the largest map."""

LISTED = 100
"""Rows of the longest list."""

MOST_VARIABLES = 2000
"""Variables of the largest graph that is counted tile by tile."""

MOST_LINES = 200
"""Lines of the longest tree."""

MOST_LEVELS = 12
"""Levels of the deepest tree."""

MOST_VERTICES = 20_000
"""Vertices of the largest graph, and compute set, that are counted by class and tile."""

NAME_LENGTH, LONGEST_FIELD = 60, 120


@singledispatch
def html(value: object) -> str:
    """Return the element that a notebook shows for a value; `poplite.display` calls it.

    >>> html(Program()).startswith('<div class="poplite">')
    True
    """
    raise NotImplementedError(f"a notebook has no picture of {type(value).__name__}")


def shown(*marks: Mark, text: str = "") -> str:
    """Return a cell of marks, which also holds them as text, unless there is better text."""
    picture = Picture("", marks)
    rich = paint_html(picture).replace(STYLE, "")
    style = asset("notebook.css") + STYLE * ("<svg" in rich)
    return themed(
        f'<div class="poplite"><style>\n{style}</style>'
        f'<pre class="poplite-text">{escaped(text or paint_text(picture))}</pre>'
        f'<div class="poplite-rich" style="display:none">{rich}</div></div>'
    )


LIGHT = "[data-jp-theme-light=true],.vscode-light,[theme=light]"
DARK = "[data-jp-theme-light=false],.vscode-dark,.vscode-high-contrast,[theme=dark]"
"""Selectors of the elements around cells in JupyterLab, Visual Studio Code and Colab."""


def themed(text: str) -> str:
    r"""Make the rules for dark pages those for dark notebooks, and for others on a dark system.

    >>> print(themed(f"{DARK_PAGE}{{\n.poplite .ink{{fill:#fff}}\n}}\n").replace(DARK, "DARK"))
    @media (prefers-color-scheme:dark){
    .poplite .ink:not(:where([data-jp-theme-light=true],...) *){fill:#fff}
    }
    .poplite .ink:where(:where(DARK) *){fill:#fff}
    <BLANKLINE>
    """

    def both(found: re.Match[str]) -> str:
        on_system = found[1].replace("{", f":not(:where({LIGHT}) *){{")
        in_notebook = found[1].replace("{", f":where(:where({DARK}) *){{")
        return f"{DARK_PAGE}{{\n{on_system}}}\n{in_notebook}"

    return re.sub(rf"{re.escape(DARK_PAGE)}\{{\n((?:\.poplite .*\n)+)\}}\n", both, text)


@html.register
def graph_cell(graph: Graph) -> str:
    """Return a graph's summary and lists of its contents; a virtual one shows its top-level graph.

    >>> graph = Graph()
    >>> _ = graph.add_variable("int32", (3,), "x", mapping=7)
    >>> "tile 7: 3,180 B of 638,976 B" in graph_cell(graph)
    True
    """
    graph = graph.top_level_graph
    variables = [v for v in graph.variables if not v.constant]
    constants = [v for v in graph.variables if v.constant]
    heading = ("name", "type and shape", "bytes", "tiles")
    return shown(
        Words(repr(graph)),
        FactList(tuple(_summary(graph))),
        *_listed("variables", heading, variables, _variable),
        *_listed("constants", heading, constants, _variable),
        *_listed("compute sets", ("name", "vertices", "tiles"), graph.compute_sets, _compute_set),
    )


def _summary(graph: Graph) -> Iterator[tuple[str, str]]:
    """Yield the facts of `poplite-viz summary`, or fewer if the memory model takes long."""
    if len(graph.variables) <= MOST_VARIABLES and graph.num_vertices <= MOST_VERTICES:
        summary = summary_of(graph)
        yield "verdict", summary.verdict
        yield from (row for row in summary.rows() if row[0] != "program")  # a graph has none
        return
    load = tile_load(graph)
    vertices = chain.from_iterable(each.vertices.items() for each in graph.compute_sets)
    yield load.title, load.summary()
    yield from (("warning", line) for line in load.warnings())
    yield "on a tile", load.balance() or "nothing"
    yield "compute sets", f"{len(graph.compute_sets):,}"
    yield "vertices", f"{graph.num_vertices:,}: {classes_text(class_counts(vertices))}"
    large = f"more than {MOST_VARIABLES:,} variables or {MOST_VERTICES:,} vertices"
    yield "memory in all", f"not counted here, for {large}; poplite-viz summary does"


def _listed(
    nouns: str, heading: Sequence[str], items: Sequence[T], row: Callable[[T], tuple[str, ...]]
) -> tuple[Mark, ...]:
    """Return a list under its number of items; nothing when it is empty."""
    if not items:
        return ()
    columns = [ListColumn(name, "name" if k == 0 else "number") for k, name in enumerate(heading)]
    rows = [ListRow(row(item)) for item in items[:LISTED]]
    return (
        Words(amount(len(items), nouns.removesuffix("s"), nouns), "strong"),
        Listing(tuple(columns), tuple(rows)),
        *left_out(len(items) - LISTED),
    )


def _variable(variable: Variable) -> tuple[str, ...]:
    kind, mapping = variable.element_type, variable.mapping
    return (
        shortened(variable.name, NAME_LENGTH),
        f"{kind.dtype}{shape_text(variable.shape)}",
        f"{variable.num_elements * kind.size_bytes:,}",
        f"{ranges(mapping.tiles_used())}{'' if mapping.is_complete else ' !'}",
    )


def _compute_set(compute_set: ComputeSet) -> tuple[str, ...]:
    vertices = compute_set.vertices
    classes = classes_text(class_counts(vertices.items()))
    tiles = ranges(sorted(vertices.tiles()))
    return shortened(compute_set.name, NAME_LENGTH), classes or "0", tiles


@html.register
def program_cell(program: Program) -> str:
    """Return a program's tree.

    >>> from poplite.program import Repeat
    >>> "Repeat 9 times" in program_cell(Repeat(9, Program()))
    True
    """
    tree = program_tree(program, depth=MOST_LEVELS, most=MOST_LINES)
    note = Words(f"... {amount(tree.hidden, 'more line')}; poplite-viz program lists all", "soft")
    return shown(*replace(tree, hidden=0).picture().marks, *[note] * bool(tree.hidden))


@html.register
def tensor_cell(tensor: Tensor) -> str:
    """Return the tiles of a tensor's elements.

    >>> "on 1 tile (0), 12 B" in tensor_cell(Graph().add_variable("int32", (3,), "x", mapping=0))
    True
    """
    if not (fine := _too_fine(tensor)):
        return shown(*ownership_of(tensor).picture().marks)
    size = tensor.num_elements * tensor.element_type.size_bytes
    facts = {
        "name": name_text(tensor.name),
        "type and shape": f"{tensor.element_type.dtype}{shape_text(tensor.shape)}",
        "elements": f"{tensor.num_elements:,}, {size_text(size)}",
        "picture": f"none: {fine}",
    }
    return shown(Words(repr(tensor)), FactList(tuple(facts.items())))


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


@html.register
def mapping_cell(mapping: TileMapping) -> str:
    """Return the number of elements on each tile in a tile mapping.

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
        facts["without a tile"] = f"! {amount(mapping.num_unmapped, 'element')}"
    parts = zip(elements.tolist(), np.diff(mapping.ptr).tolist(), strict=True)
    tips = [f"{amount(n, 'element')}, {amount(k, 'interval')}" for n, k in parts]
    unit = partial(amount, noun="element")
    notes = [f"{unit(int(held.sum()))} on {amount(len(used), 'tile')}"]
    tiles = TileMap("elements per tile", notes, elements, elements < 0, tips, unit)
    return _shown_with_map(facts, tiles.shown(says_extremes=False))


@html.register
def compute_set_cell(compute_set: ComputeSet) -> str:
    """Return a compute set's classes, and the number of its vertices on each tile.

    >>> "vertices per tile: &#x27;blur&#x27;" in compute_set_cell(Graph().add_compute_set("blur"))
    True
    """
    vertices = compute_set.vertices
    facts = {
        "name": name_text(compute_set.name),
        "vertices": f"{len(vertices):,}",
        "classes": classes_text(class_counts(vertices.items())) or "none",
        "where": name_text(compute_set.location.portable),
    }
    return _shown_with_map(facts, vertices_map(compute_set))


def _shown_with_map(facts: dict[str, str], tiles: TileMap) -> str:
    """Return facts and a tile map; only facts where there are too many tiles to draw."""
    if len(tiles.value) > MOST_TILES:
        facts |= {"picture": f"none: more than {MOST_TILES:,} tiles"}
        return shown(FactList(tuple(facts.items())))
    return shown(FactList(tuple(facts.items())), Gap(), *tiles.picture().marks)


@html.register
def report_cell(report: Report) -> str:
    """Return a report's main numbers, the use of time and memory, and the first findings.

    >>> import poplite as pl
    >>> "<td>1,472</td>" in report_cell(pl.Engine(pl.Graph(), pl.Sequence()).report())
    True
    """
    modelled = report.compilation.modelled
    overview = () if modelled is None else overview_of(report).picture().marks
    return shown(FactList(tuple(report.rows().items())), Gap(), *overview, text=str(report))


# -- parts of reports ------------------------------------------------------------------------------


@html.register
def insights_cell(insights: Insights) -> str:
    """Return the busiest and the fullest tile, and what takes most cycles, with its share.

    >>> import poplite as pl
    >>> "needs 3,168" in insights_cell(pl.Engine(pl.Graph(), pl.Sequence()).report().insights)
    True
    """
    named = (("busiest", insights.busiest), ("fullest", insights.fullest))
    facts = [
        (name, f"tile {each.tile:,} needs {each.most:,} {unit}, {each.mean:,.1f} on average")
        for (name, each), unit in zip(named, ("cycles", "B"), strict=True)
        if each is not None
    ]
    facts += [(f"{each.share:.1%}", name_text(each.text)) for each in insights.findings]
    return shown(FactList(tuple(facts)))


@html.register
def part_cell(part: ReportPart) -> str:
    """Return the fields of a part of a report as a table, and its lists as tables below it.

    >>> import poplite as pl
    >>> "<td>1,472 tiles" in part_cell(pl.Engine(pl.Graph(), pl.Sequence()).report().compilation)
    True
    """
    facts, lists = _fields(part)
    tables = (mark for name, parts in lists.items() for mark in _table(name, parts))
    return shown(FactList(tuple(facts.items())), *tables)


def _table(name: str, parts: Sequence[Any]) -> tuple[Mark, ...]:
    found = [_fields(part)[0] for part in parts[:LISTED]]
    heading = list(dict.fromkeys(key for facts in found for key in facts))
    rows = (tuple(facts.get(key, "") for key in heading) for facts in found)
    return _listed(name, heading, parts, lambda _: next(rows))


def _fields(part: Any) -> tuple[dict[str, str], dict[str, Sequence[Any]]]:
    """Return the fields of a part that are numbers and words, and those that are lists of parts."""
    facts: dict[str, str] = {}
    lists: dict[str, Sequence[Any]] = {}
    for each in fields(part):
        name, value = each.name.replace("_", " "), getattr(part, each.name)
        if isinstance(value, Sequence) and len(value) and is_dataclass(value[0]):
            lists[name] = value
        elif is_dataclass(value) and each.repr and not isinstance(value, ONE_LINE):
            facts |= {f"{name}: {key}": text for key, text in _fields(value)[0].items()}
        elif text := _text(value):
            facts[name] = text
    return facts, lists


ONE_LINE = PerTile, TilePairs, Target
"""Fields that are parts themselves, and are shown in a line or not at all."""


def _text(value: object) -> str:
    """Return a field in words; empty if it is trivial or far too long."""
    match value:
        case PerTile() | Target():
            return repr(value).strip("<>").partition(" ")[2]
        case str() | bool():
            return name_text(str(value))
        case int() | float():
            return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
        case tuple():
            return shortened(", ".join(map(_text, value)), LONGEST_FIELD)
    return ""
