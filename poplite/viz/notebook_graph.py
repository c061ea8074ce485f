"""What a notebook shows for graphs and programs: lists and trees that fold.

>>> from poplite.graph import Graph
>>> graph = Graph()
>>> from poplite.program import Execute
>>> program = Execute(graph.add_compute_set("blur"))
>>> "1 compute set" in graph_cell(graph), "Execute &#x27;blur&#x27;" in program_cell(program)
(True, True)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from poplite.graph.mapping.tile_mapping import ranges
from poplite.program import Program
from poplite.text import counted, shortened
from poplite.viz.draw.colors import CATEGORIES, KINDS
from poplite.viz.draw.html_part import escaped, facts_table, folded, table
from poplite.viz.draw.units import name_text, shape_text, size_text
from poplite.viz.notebook import rows_text, shown
from poplite.viz.program.labels import label_of, roles_of
from poplite.viz.summary import summary_of
from poplite.viz.tiles.vertex_counts import class_counts, classes_text

if TYPE_CHECKING:
    from poplite.graph.compute_sets.compute_set import ComputeSet
    from poplite.graph.graph import Graph
    from poplite.graph.storage.variable import Variable

T = TypeVar("T")

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


def graph_cell(graph: Graph) -> str:
    """Return what a notebook shows for a graph: a summary and what is in it.

    Args:
        graph: the graph.

    >>> from poplite.graph import Graph
    >>> graph = Graph()
    >>> _ = graph.add_variable("int32", (3,), "x", mapping=7)
    >>> "tile 7: 12 B of 638,976 B" in graph_cell(graph)
    True
    """
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
    return folded(counted(len(items), noun), body + note)


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


def program_cell(program: Program) -> str:
    """Return what a notebook shows for a program: its tree.

    Args:
        program: the whole program.

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
            f"<span>{_step(line)}</span><span>{escaped(name_text(str(line.node.location)))}</span>"
        )
        if after > level:
            fold = " open" if level == 0 else opened
            html += f"<li><details{fold}><summary>{item}</summary><ul>"
        else:
            html += f"<li>{item}</li>"
    return html + "</ul></details></li>" * level + "</ul>"
