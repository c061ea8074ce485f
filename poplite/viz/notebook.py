r"""What a notebook shows for graphs, programs, tensors, mappings, compute sets and reports.

Every element also holds its content as text, which is seen where a page strips style sheets:
the sheet hides the text and shows the picture, which a style of its own hides otherwise.
Nothing is fetched and no script runs; rules apply to `.poplite` only, so that a page may hold
many elements.

What would be too fine or too large to draw is left out, and the element says so: it is made
quickly, whatever the size.

    >>> shown("two < three", "<p>2</p>").endswith('style="display:none"><p>2</p></div></div>')
    True
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import singledispatch
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tile_mapping import TileMapping, ranges
from poplite.program.base import Program
from poplite.report.report import Report
from poplite.text import amount, shortened
from poplite.view import Cat, num_runs, runs, storages
from poplite.viz.colours import CATEGORIES, KINDS
from poplite.viz.draw.html import asset, escaped, facts_table, folded, table
from poplite.viz.draw.terminal import DEFAULT_STYLE
from poplite.viz.draw.units import name_text, shape_text, size_text
from poplite.viz.program_nodes import label_of, roles_of
from poplite.viz.summary import class_counts, classes_text, overview_of, summary_of
from poplite.viz.tensors.ownership import ownership_of, tensor_forms
from poplite.viz.tile_map import TileMap, vertices_map

if TYPE_CHECKING:
    from poplite.graph.space import Variable

T = TypeVar("T")

MOST_PARTS = 50_000
"""Parts of the finest tensor drawn: runs of its variables' elements on one tile."""

MOST_JOINED = 1_000_000
"""Elements of the largest tensor drawn that views several parts: counting those takes time."""

MOST_TILES = 5000
"""Tiles of the largest map."""

LISTED = 100
"""Variables, and compute sets, that are listed."""

MOST_VARIABLES = 2000
"""Variables of the largest graph that is counted tile by tile."""

MOST_LINES = 200
"""Lines of the longest tree."""

MOST_LEVELS = 12
"""Levels of the deepest tree."""

OPEN_LINES = 30
"""Lines of the longest tree that is open at first."""

MOST_VERTICES = 20_000
"""Vertices of the largest graph, and compute set, that are counted by class and tile."""

NAME_LENGTH = 60


@singledispatch
def html(value: object) -> str:
    """Return the element that a notebook shows for a value; `poplite.display` calls it.

    >>> html(Program()).startswith('<div class="poplite">')
    True
    """
    raise NotImplementedError(f"a notebook has no picture of {type(value).__name__}")


@html.register
def graph_cell(graph: Graph) -> str:
    """Return a graph's summary and lists of what is in it; a virtual one shows its top-level graph.

    >>> graph = Graph()
    >>> _ = graph.add_variable("int32", (3,), "x", mapping=7)
    >>> "tile 7: 3,180 B of 638,976 B" in graph_cell(graph)
    True
    """
    graph = graph.top_level_graph
    facts = _summary(graph)
    variables = [v for v in graph.variables if not v.constant]
    constants = [v for v in graph.variables if v.constant]
    heading = ["name", "type and shape", "bytes", "tiles"]
    lists = [
        _listed("variable", heading, variables, _variable),
        _listed("constant", heading, constants, _variable),
        _listed("compute set", ["name", "vertices", "tiles"], graph.compute_sets, _compute_set),
    ]
    return shown(f"{graph!r}\n{rows_text(facts)}", facts_table(facts) + "".join(lists))


def _summary(graph: Graph) -> dict[str, str]:
    """Return what `poplite-viz summary` says, or less of it when counting takes long."""
    if len(graph.variables) <= MOST_VARIABLES and graph.num_vertices <= MOST_VERTICES:
        summary = summary_of(graph)
        rows = dict(summary.rows())
        del rows["program"]  # a graph has none of its own
        return {"verdict": summary.verdict, **rows}
    size = sum(v.num_elements * v.element_type.size_bytes for v in graph.variables)
    return {
        "variables and constants": f"{len(graph.variables):,} ({size_text(size)})",
        "compute sets": f"{len(graph.compute_sets):,}",
        "vertices": f"{graph.num_vertices:,}",
        "tiles": f"not counted here, for more than {MOST_VARIABLES:,} variables or "
        f"{MOST_VERTICES:,} vertices; poplite-viz summary does",
    }


def _listed(
    noun: str, heading: list[str], items: Sequence[T], row: Callable[[T], list[str]]
) -> str:
    """Return a list that folds; nothing when it is empty."""
    if not items:
        return ""
    left = len(items) - LISTED
    note = f"<p>... {left:,} more</p>" if left > 0 else ""
    body = table(heading, [row(item) for item in items[:LISTED]], "numbers first")
    return folded(amount(len(items), noun), body + note)


def _variable(variable: Variable) -> list[str]:
    kind = variable.element_type
    tiles = variable.mapping.tiles_used()
    return [
        shortened(variable.name, NAME_LENGTH),
        f"{kind.dtype}{shape_text(variable.shape)}",
        f"{variable.num_elements * kind.size_bytes:,}",
        f"{ranges(tiles)}{'' if variable.mapping.is_complete else ' !'}",
    ]


def _compute_set(compute_set: ComputeSet) -> list[str]:
    name, vertices = shortened(compute_set.name, NAME_LENGTH), compute_set.vertices
    if sum(1 for _ in islice(vertices.singles(), MOST_VERTICES + 1)) > MOST_VERTICES:
        return [name, f"{len(vertices):,}", "not counted"]
    classes = classes_text(class_counts(vertices.items()))
    return [name, classes or "0", ranges(sorted(vertices.tiles()))]


class _Line(NamedTuple):
    """One node of a program's tree, in one place."""

    level: int
    node: Program
    role: str
    first_step: int
    is_folded: bool


@html.register
def program_cell(program: Program) -> str:
    """Return a program's tree.

    >>> from poplite.program import Repeat
    >>> "Repeat 9 times, 0 steps" in program_cell(Repeat(9, Program()))
    True
    """
    lines = list(islice(_lines(program), MOST_LINES + 1))
    cut, lines = len(lines) > MOST_LINES, lines[:MOST_LINES]
    note = "<p>... and more; poplite-viz program lists all of it</p>" if cut else ""
    text = "\n".join(f"{'  ' * line.level}{_words(line)}  {_step(line)}".rstrip() for line in lines)
    return shown(text + ("\n..." if cut else ""), f"{_tree(lines)}{note}")


def _lines(program: Program) -> Iterator[_Line]:
    """Yield the nodes from top to bottom, down to a level."""
    pending = [(0, program, "", 1)]
    while pending:
        level, node, role, first = pending.pop()
        is_folded = level == MOST_LEVELS and bool(node.children)
        yield _Line(level, node, role, first, is_folded)
        below = []
        children = () if is_folded else zip(node.children, roles_of(node), strict=True)
        for child, role in islice(children, MOST_LINES):
            below.append((level + 1, child, role, first))
            first += child.num_steps
        pending += reversed(below)


def _words(line: _Line) -> str:
    role = f"{line.role}: " if line.role else ""
    return f"{role}{repr(line.node)[1:-1]}{', not shown' if line.is_folded else ''}"


def _step(line: _Line) -> str:
    is_step = line.node.num_steps and not line.node.children
    return f"step {line.first_step:,}" if is_step else ""


def _tree(lines: list[_Line]) -> str:
    """Return nested lists: a line with others below it folds."""
    opened = " open" if len(lines) <= OPEN_LINES else ""
    html, level = '<ul class="tree">', 0
    for line, after in zip(lines, [*(line.level for line in lines[1:]), 0], strict=True):
        html += "</ul></details></li>" * (level - line.level)
        level = line.level
        color = CATEGORIES[KINDS[label_of(line.node).kind]]
        item = (
            f'<i style="background:{color}"></i>{escaped(_words(line))}'
            f"<span>{_step(line)}</span><span>{escaped(name_text(line.node.location.portable))}</span>"
        )
        if after > level:
            fold = " open" if level == 0 else opened
            html += f"<li><details{fold}><summary>{item}</summary><ul>"
        else:
            html += f"<li>{item}</li>"
    return html + "</ul></details></li>" * level + "</ul>"


@html.register
def tensor_cell(tensor: Tensor) -> str:
    """Return a tensor's facts, and who owns its elements.

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
    forms = tensor_forms(owned)
    return shown(forms.text(DEFAULT_STYLE), facts_table(facts) + forms.svg())


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
    """Return how many elements of a tile mapping each tile holds.

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
    tiles = TileMap(
        "elements per tile",
        [f"{amount(int(held.sum()), 'element')} on {amount(len(used), 'tile')}"],
        elements,
        elements < 0,
        [f"{amount(n, 'element')}, {amount(k, 'interval')}" for n, k in parts],
        lambda count: amount(count, "element"),
    ).shown(says_extremes=False)
    return _shown_with_map(mapping, facts, tiles)


@html.register
def compute_set_cell(compute_set: ComputeSet) -> str:
    """Return a compute set's classes, and how many of its vertices each tile runs.

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
    return _shown_with_map(compute_set, facts, vertices_map(compute_set))


@html.register
def report_cell(report: Report) -> str:
    """Return a report's main numbers, where time and memory go, and what to look at first.

    >>> import poplite as pl
    >>> "<td>1,472</td>" in report_cell(pl.Engine(pl.Graph(), pl.Sequence()).report())
    True
    """
    modelled = report.compilation.modelled
    picture = "" if modelled is None else overview_of(report).svg()
    return shown(str(report), facts_table(report.rows()) + picture)


def shown(text: str, rich: str) -> str:
    """Return the element that a notebook shows, which holds the same as text and as HTML."""
    return (
        f'<div class="poplite"><style>\n{asset("notebook.css")}</style>'
        f'<pre class="poplite-text">{escaped(text)}</pre>'
        f'<div class="poplite-rich" style="display:none">{rich}</div></div>'
    )


def rows_text(rows: dict[str, str]) -> str:
    """Return names and facts as lines.

    >>> print(rows_text({"tiles": "4", "bytes": "16 B"}))
    tiles  4
    bytes  16 B
    """
    width = max(map(len, rows))
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows.items())


def _shown_with_map(thing: object, facts: dict[str, str], tiles: TileMap) -> str:
    """Return facts and a tile map; only facts where there are too many tiles to draw."""
    if len(tiles.value) > MOST_TILES:
        facts = facts | {"picture": f"none: more than {MOST_TILES:,} tiles"}
        return shown(f"{thing!r}\n{rows_text(facts)}", facts_table(facts))
    forms = tiles
    text = f"{rows_text(facts)}\n\n{forms.text(DEFAULT_STYLE)}"
    return shown(text, facts_table(facts) + forms.svg())
