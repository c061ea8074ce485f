"""Find code that a real tile would emulate, copy for, or get wrong, unlike the simulator.

Memory: the vertices on a tile run in parallel, and each store changes a word of 4 bytes. If two
vertices write adjacent elements of 1 or 2 bytes, they may write to the same word::

    h   HALF   | 0 1 | 2 3 | 4 5 |        vertex 0 writes h[0:3], vertex 1 writes h[3:6]:
                       ^                   elements 2 and 3 are one word

Words are counted from the start of a variable's part on the tile. Data that are copied within the
tile, or come from other tiles, have their own buffers, as in the cost model.

Emulation: a tile computes with floats of 32 and 16 bits and ints of 32 bits. Doubles and divisions
of 64-bit ints are software calls::

    x = (i + 0.5) * self.step       i + 0.5 is a double, from an index and a literal
    if self.n < 0.5:                n is converted to a double for the comparison
    k = self.n // 3                 ints have 64 bits, for any type of the field

Functions of `math` are software calls as well, except `exp` of a float32: their kernels compute in
double. So is `pl.fma`, for which a tile has no instruction. A store of less than 4 bytes changes a
whole word of memory, which two workers must not do at the same time.
"""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.cost.exchange_phases import KEPT, phases_of_compute_set
from poplite.cost.locations import locations_of
from poplite.cost.moved_data import edge_tiles, edges_in_place
from poplite.cpp.saved import codelet_recipe
from poplite.errors import ControlProgramError, made_by
from poplite.frozen import frozen
from poplite.graph.compute_sets.compute_set import ComputeSet, VertexInstance
from poplite.graph.compute_sets.edge_table import EdgeTable, Family, FieldEdges, edge_table
from poplite.graph.compute_sets.vertex_block import VertexBlock
from poplite.graph.graph import Graph
from poplite.graph.space import Variable
from poplite.graph.tensor.tensor_text import element_text
from poplite.ipu.codelet_file import own_text
from poplite.report.execution import Cause
from poplite.source import SourceLocation
from poplite.text import amount, clipped, of_type
from poplite.vertex.compute.arithmetic import Kind, binary_kind
from poplite.vertex.compute.dialect import BINARY, Constants
from poplite.vertex.compute.mathematics import KERNELS
from poplite.vertex.compute.meaning import check
from poplite.vertex.compute.typed_facts import Checked, ElementsValue, LanesOf
from poplite.vertex.fields import Field
from poplite.vertex.vertex import MultiVertex, Vertex

_OF_POPLITE = ("poplite.", "<poplite ")
"""Module prefixes of poplite's classes, including those generated from expressions."""


def lint(graph: Graph) -> list[Finding]:
    """Return findings about code that a real tile would emulate, copy for, or get wrong.

    The classes of all vertices are checked for doubles, divisions of 64-bit ints, functions of
    `math` that compute in double, and stores of less than a word by the workers of a MultiVertex.
    Compute sets whose vertices and elements all have tiles are also checked for their use of
    memory: words that two vertices on a tile write, edges without the alignment that their layout
    requires, inputs that share elements with an output of their vertex, and fields that, according
    to the cost model, are copied on their tiles.

    Args:
        graph: any graph; it is not changed.

    Returns:
        Findings, in the order of compute sets, vertices and lines, those for the user's classes
        before those for poplite's; printed, each has the user's line, the fault and the remedy.
        For a class of poplite there is one of each kind, at the line that added its vertices.

    Raises:
        ControlProgramError: if `graph` is not a graph.
        VertexCompileError: if a `compute` is outside the dialect.

    >>> import poplite as pl
    >>> class Midpoint(pl.Vertex):
    ...     first: pl.State[pl.INT]
    ...     y: pl.Output[pl.FLOAT]
    ...     def compute(self) -> None:
    ...         self.y = (self.first + 0.5) * 0.1
    >>> graph = pl.Graph(pl.Target(tiles=1))
    >>> y = graph.add_variable(pl.FLOAT, (), "y", mapping=0)
    >>> work = graph.add_compute_set("work")
    >>> vertex = graph.add_vertex(work, Midpoint, tile=0, first=1, y=y)
    >>> [(finding.rule, finding.found) for finding in pl.ipu.lint(graph)]
    [('double', 'self.y = (self.first + 0.5) * 0.1')]
    """
    check_graph(graph, "lint(graph)")
    of_user: dict[Finding, None] = {}
    of_poplite: dict[Finding, None] = {}
    seen: set[type[Vertex]] = set()
    for compute_set in graph.compute_sets:
        classes: dict[type[Vertex], SourceLocation] = {}
        for item in compute_set.vertices.items():
            classes.setdefault(item.vertex_class, item.location)
        users = [cls for cls in classes if not _is_of_poplite(cls)]
        for cls, at in classes.items():
            if cls in users:
                of_user |= dict.fromkeys(emulated(cls))
            elif cls not in seen:
                of_poplite |= dict.fromkeys(_at_the_user(cls, compute_set, at))
                seen.add(cls)
        if is_placed(graph, compute_set):
            found = of_user if users else of_poplite
            found |= dict.fromkeys(in_memory(graph, compute_set))
    return list(of_user | of_poplite)


def _is_of_poplite(cls: type[Vertex]) -> bool:
    return cls.__module__.startswith(_OF_POPLITE)


def _at_the_user(
    cls: type[Vertex], compute_set: ComputeSet, at: SourceLocation
) -> Iterator[Finding]:
    """Yield one finding of each kind for a class of poplite, whose code users cannot change."""
    by_rule: dict[str, list[Finding]] = {}
    for each in emulated(cls):
        by_rule.setdefault(each.rule, []).append(each)
    for rule, some in by_rule.items():
        yield Finding(
            rule,
            f"compute set '{compute_set.name}'",
            f"{cls.__name__}, a vertex class of poplite: {some[0].what}"
            + (f", and {len(some) - 1:,} more" if len(some) > 1 else ""),
            at,
            some[0].found,
            "add a vertex class of your own, with cpp, if the step takes much of the time there",
        )


def is_placed(graph: Graph, compute_set: ComputeSet) -> bool:
    """Return whether all vertices, and all elements of their fields, have a tile."""
    are_connected = all(
        vertex.tile is not None
        and len(vertex.connections) + len(vertex.state) == len(vertex.vertex_class.fields)
        for vertex in compute_set.vertices.singles()
    )
    return are_connected and are_mapped(graph, compute_set)


# -- words -----------------------------------------------------------------------------------------


class _InPlace(NamedTuple):
    """Edges that vertices access in place; copied or received data have their own buffers.

    Attributes:
        vertex: int64[n], positions of the vertices.
        tile: int64[n], their tiles.
        owner: int64[n], numbers of the variables.
        begin: int64[n], addresses of the first elements.
        offset: int64[n], bytes from the start of the variable's part on the tile to the edge.
        end: int64[n], bytes from the start of the variable's part to the end of the edge.
    """

    vertex: Int64
    tile: Int64
    owner: Int64
    begin: Int64
    offset: Int64
    end: Int64


def in_memory(graph: Graph, compute_set: ComputeSet) -> Iterator[Finding]:
    """Yield findings about the memory accesses of a compute set's vertices.

    All vertices must have a tile, and all fields must be connected to elements with a tile.
    """
    table = edge_table(compute_set)
    yield from _shared_words(graph, compute_set, table)
    yield from _misaligned(graph, compute_set, table)
    yield from _rearranged(graph, compute_set, table)


def are_mapped(graph: Graph, compute_set: ComputeSet) -> bool:
    """Return whether the variables of a compute set's fields have tiles."""
    variables = graph.variables
    owners = (graph.space.owners(f.runs.begin) for f in edge_table(compute_set).fields)
    numbers = {number for some in owners for number in np.unique(some).tolist()}
    return all(variables[number].mapping.is_complete for number in numbers)


def _in_place(graph: Graph, table: EdgeTable, family: Family, field: FieldEdges) -> _InPlace:
    tiles, homes = family.tiles(graph.target.tiles), locations_of(graph)
    edge, place = edges_in_place(field, tiles, table.crossings.own.get(field), homes)
    first, begin, _ = field.runs
    begin, tile = begin[first[edge]], edge_tiles(field.edges, tiles)[edge]
    owner, size = graph.space.owners(begin), field.field.element.size_bytes
    for number in np.unique(owner).tolist():
        own = owner == number
        place[own] -= _part_begins(graph.variables[number], graph.target.tiles)[tile[own]]
    offset, length = size * place, size * field.edges.length.array()[edge]
    return _InPlace(field.vertex()[edge], tile, owner, begin, offset, offset + length)


def _part_begins(variable: Variable, num_tiles: int) -> Int64:
    """Return int64[tiles], the start of the part of a variable on each tile."""
    breaks, tiles = variable.mapping.pieces()
    held = np.bincount(tiles, np.diff(breaks), num_tiles).astype(np.int64)
    return variable.base + np.cumsum(held) - held


def _shared_words(graph: Graph, compute_set: ComputeSet, table: EdgeTable) -> Iterator[Finding]:
    small = [
        _in_place(graph, table, family, each)
        for family in table.families
        for each in family.fields
        if each.field.writes and each.field.element.size_bytes < WORD and each.edges.num_elements
    ]
    if not small:
        return
    every = _InPlace(*(np.concatenate(column) for column in zip(*small, strict=True)))
    order = np.lexsort((every.offset, every.owner, every.tile))
    vertex, tile, owner, begin, offset, end = (column[order] for column in every)
    is_near = (tile[1:] == tile[:-1]) & (owner[1:] == owner[:-1]) & (vertex[1:] != vertex[:-1])
    pairs = np.flatnonzero(is_near & (offset[1:] // WORD == (end[:-1] - 1) // WORD))
    if not len(pairs):
        return
    k = int(pairs[np.argmin(begin[pairs])])
    variable = graph.variables[int(owner[k])]
    size = variable.element_type.size_bytes
    last = int(begin[k] + (end[k] - offset[k]) // size) - 1
    first, other = (compute_set.vertices[int(vertex[each])] for each in (k, k + 1))
    yield Finding(
        "sub-word store",
        f"compute set '{compute_set.name}'",
        f"{first} and {other} write parts of one word of {WORD} bytes on tile {tile[k]}"
        f" ({amount(len(pairs), 'pair')} of vertices)",
        first.location,
        f"{_two_elements(graph, last, int(begin[k + 1]))}, elements of {amount(size, 'byte')}",
        f"give each vertex a multiple of {WORD // size} elements: "
        f"a grain of {WORD // size} where they are cut",
    )


def _two_elements(graph: Graph, last: int, following: int) -> str:
    """Return text for two elements that are adjacent on a tile, but perhaps not in a variable."""
    if following == last + 1:
        return element_text(graph.variables, last, following + 1)
    each = (element_text(graph.variables, address, address + 1) for address in (last, following))
    return " and ".join(each)


def _misaligned(graph: Graph, compute_set: ComputeSet, table: EdgeTable) -> Iterator[Finding]:
    for family in table.families:
        for field in family.fields:
            align, size = field.field.layout.min_align, field.field.element.size_bytes
            if align <= size or not field.edges.num_elements:
                continue
            found = _in_place(graph, table, family, field)
            wrong = np.flatnonzero(found.offset % align)
            if not len(wrong):
                continue
            k = int(wrong[0])
            owner, begin = compute_set.vertices[int(found.vertex[k])], int(found.begin[k])
            yield Finding(
                "alignment",
                f"compute set '{compute_set.name}'",
                f"'{field.field.name}' of {owner} must be aligned to {align} bytes, but begins "
                f"{found.offset[k]} bytes into its part on the tile: a machine copies its elements "
                f"first, which reports do not count ({amount(len(wrong), 'edge')} of the field)",
                owner.location,
                element_text(graph.variables, begin, begin + 1),
                f"cut after a multiple of {align // size} elements, or request less: "
                f"min_align={size}",
            )


def _rearranged(graph: Graph, compute_set: ComputeSet, table: EdgeTable) -> Iterator[Finding]:
    """Yield findings for the copies on tiles that reports count, before and after vertices run."""
    is_own = any(not _is_of_poplite(family.cls) for family in table.families)
    other_order = "connect elements in memory order, or " if is_own else ""
    for phases, when in zip(phases_of_compute_set(graph, table), ("before", "after"), strict=True):
        for phase in phases:
            for cause in phase.causes if phase.kind == "copy" else ():
                yield Finding(
                    "copy",
                    f"compute set '{compute_set.name}'",
                    f"{cause.what} {cause.why}: {cause.bytes:,} B are copied on their tiles "
                    f"{when} the vertices run",
                    _line_of(table, cause) or compute_set.location,
                    f"the compute set copies {phase.copied.total:,} B on all tiles, in "
                    f"{amount(phase.cycles.most, 'cycle')} on the slowest tile",
                    "declare an InOut, or connect elements that its Outputs do not have"
                    if cause.why == KEPT
                    else f"{other_order}lay out the tensor in the order in which it is read; "
                    "poplite-viz regions --field draws its intervals",
                )


def _line_of(table: EdgeTable, cause: Cause) -> SourceLocation | None:
    """Return the user's line that added the vertices of a cause; None if it is ambiguous."""
    lines = {
        line
        for family in table.families
        if cause.what.endswith(f" of {family.cls.__name__}")
        for line in _lines(family.vertices)
        if line.portable == cause.at
    }
    return lines.pop() if len(lines) == 1 else None


def _lines(vertices: Sequence[VertexInstance]) -> set[SourceLocation]:
    if isinstance(vertices, VertexBlock):
        return {vertices.location}
    return {each.location for each in vertices}


# -- emulation -------------------------------------------------------------------------------------


WORD = 4
"""Number of bytes that a tile stores at a time."""

_OF_FLOATS = frozenset(
    {"as_float", "fabs", "round_down", "round_up", "round_to_zero", "round_to_even"}
)
"""Functions that convert an int to a double."""

_OF_DOUBLES = (_OF_FLOATS - {"as_float"}) | frozenset(
    {"minimum", "maximum", "smaller", "larger", "truncate", "floor", "ceil", "as_HALF"}
    | {"as_UNSIGNED_LONGLONG"}
)
"""Functions that compute in double if their argument is double; `pl.FLOAT` only rounds it."""


def emulated(vertex: type[Vertex]) -> list[Finding]:
    """Return findings about emulated operations, and about sub-word stores by several workers.

    A class with `cpp` in place of `compute` has none. Raises `VertexCompileError` if `compute` is
    outside the dialect.
    """
    if own_text(vertex) is not None or codelet_recipe(vertex) is not None:
        return []
    found: dict[tuple[object, ...], Finding] = {}
    for function in check(vertex).functions():
        for each in _of_function(function):
            found.setdefault((each.rule, each.at, each.what), each)
    return list(found.values())


def _of_function(checked: Checked) -> Iterator[Finding]:
    stores_by_workers = issubclass(checked.vertex, MultiVertex)
    for node in _in_order(checked.text.tree):
        if isinstance(node, ast.BinOp | ast.AugAssign):
            yield from _operation(checked, node)
        elif isinstance(node, ast.Compare):
            yield from _comparison(checked, node)
        elif isinstance(node, ast.Call) and node in checked.facts.calls:
            yield from _function(checked, node)
        if stores_by_workers:
            field = _stored(checked, node)
            if field is not None and field.element.size_bytes < WORD:
                yield _by_workers(checked, node, field)


def _in_order(tree: ast.AST) -> list[ast.AST]:
    nodes = [node for node in ast.walk(tree) if hasattr(node, "lineno")]
    return sorted(nodes, key=lambda node: (node.lineno, node.col_offset))  # type: ignore[attr-defined]


def _operation(checked: Checked, node: ast.BinOp | ast.AugAssign) -> Iterator[Finding]:
    left = node.target if isinstance(node, ast.AugAssign) else node.left
    right = node.value if isinstance(node, ast.AugAssign) else node.right
    kinds, constants = checked.facts.kinds, Constants(checked.scope)
    if left not in kinds or right not in kinds:  # they are lanes
        return
    if isinstance(node, ast.BinOp) and constants.evaluate(node) is not None:
        return
    symbol = BINARY[type(node.op)]
    kind = binary_kind(symbol, kinds[left], kinds[right])
    text = ast.unparse(node)
    if kind is Kind.FLOAT:
        if not any(_is_made_double(checked, part) for part in (left, right)):
            yield _double(checked, node)
    elif symbol in ("//", "%") and kind in (Kind.INT, Kind.UINT):
        divisor = constants.evaluate(right)
        if isinstance(divisor, int) and divisor > 0 and divisor & (divisor - 1) == 0:
            return
        yield _finding(
            checked,
            node,
            "division",
            f"'{text}' divides 64-bit ints, which a tile emulates",
            "divide by a power of two, keep a counter in the loop, or pass the quotient as State",
        )


def _comparison(checked: Checked, node: ast.Compare) -> Iterator[Finding]:
    kinds, constants = checked.facts.kinds, Constants(checked.scope)
    for pair in pairwise([node.left, *node.comparators]):
        if any(each not in kinds or _is_made_double(checked, each) for each in pair):
            continue
        is_fixed = all(constants.evaluate(each) is not None for each in pair)
        if max(kinds[each] for each in pair) is Kind.FLOAT and not is_fixed:
            yield _double(checked, node)


def _double(checked: Checked, node: ast.expr | ast.AugAssign) -> Finding:
    return _finding(
        checked,
        node,
        "double",
        f"'{ast.unparse(node)}' is computed in 64-bit float, which a tile emulates",
        "write pl.FLOAT(...) around one of the numbers",
    )


def _is_made_double(checked: Checked, node: ast.expr) -> bool:
    """Return whether an operand is itself an operation in double, which is reported separately."""
    is_number = isinstance(node, ast.Name) or Constants(checked.scope).evaluate(node) is not None
    return checked.facts.kinds[node] is Kind.FLOAT and not is_number


_AROUND = "around the argument"
_CALLED_LESS = "call it once per vertex instead of once per element, or give the class its own cpp"


def _function(checked: Checked, node: ast.Call) -> Iterator[Finding]:
    name, kind = checked.facts.calls[node], checked.facts.kinds.get(node)
    how, fix = "computed internally in 64-bit float, which a tile emulates", _CALLED_LESS
    if name == "fma":
        how = "a library call on a tile, which computes internally in 64-bit float"
        fix = "write x * y + z, which is rounded twice, or give the class its own cpp"
    elif name not in KERNELS:
        if not _computes_in_double(checked, node, name):
            return
        how = "computed in 64-bit float, which a tile emulates"
        is_cast = name == "as_float"
        fix = f"write pl.FLOAT(...) {'in place of float(...)' if is_cast else _AROUND}"
    elif name == "exp":
        if kind is Kind.F32:
            return
        if kind is Kind.FLOAT:
            fix = f"write pl.FLOAT(...) {_AROUND}; {fix}"
    yield _finding(checked, node, "double", f"'{ast.unparse(node)}' is {how}", fix)


def _computes_in_double(checked: Checked, node: ast.Call, name: str) -> bool:
    """Return whether a function other than a kernel returns or takes a double."""
    facts, constants = checked.facts, Constants(checked.scope)
    numbers = [each for each in node.args if each in facts.kinds]
    kinds = [facts.kinds[each] for each in numbers]
    if not kinds or all(constants.evaluate(each) is not None for each in node.args):
        return False
    if name == "sqrt":
        return max(kinds) is Kind.FLOAT or facts.kinds.get(node) is Kind.FLOAT
    if name in _OF_FLOATS and max(kinds) < Kind.FLOAT:
        return True
    is_made = any(_is_made_double(checked, each) for each in numbers)
    return name in _OF_DOUBLES and max(kinds) is Kind.FLOAT and not is_made


def _stored(checked: Checked, node: ast.AST) -> Field | None:
    """Return the field that a node stores to, or None."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return checked.vertex.fields[node.attr]
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        owner = checked.facts.containers.get(node.value)
        return owner.field if isinstance(owner, ElementsValue) else None
    is_lanes = isinstance(node, ast.Call) and node in checked.facts.lane_accesses
    if is_lanes and len(node.args) == 2 and isinstance(node.func, ast.Attribute):  # type: ignore[attr-defined]
        owner = checked.facts.containers.get(node.func.value)  # type: ignore[attr-defined]
        value = checked.facts.containers.get(node.args[1])  # type: ignore[attr-defined]
        if isinstance(owner, ElementsValue) and isinstance(value, LanesOf):
            return owner.field
    return None


def _by_workers(checked: Checked, node: ast.AST, field: Field) -> Finding:
    return _finding(
        checked,
        node,
        "sub-word store",
        f"workers store '{field.name}', elements of {field.element.size_bytes} "
        f"byte{'s' * (field.element.size_bytes > 1)}: two of them may change one {WORD}-byte word",
        f"give each worker a multiple of {WORD // field.element.size_bytes} adjacent elements",
    )


def _finding(checked: Checked, node: ast.AST, rule: str, what: str, fix: str) -> Finding:
    place = checked.scope.place(node)
    return Finding(rule, checked.scope.label, what, place, checked.text.line(place.line), fix)


# -- findings --------------------------------------------------------------------------------------


@made_by("pl.ipu.lint(graph)")
@frozen
class Finding:
    """Code that a tile would run slowly, or differently from the simulator.

    Attributes:
        rule: "double", "division", "sub-word store", "alignment" or "copy".
        name: the function, or the compute set.
        what: the fault.
        at: the user's line.
        found: the source line, or the elements.
        fix: the remedy.

    >>> from poplite.source import SourceLocation
    >>> at = SourceLocation("heat.py", 7, "compute")
    >>> print(Finding("double", "Heat.compute", "'i / 2' is ...", at, "x = i / 2", "write ..."))
    Heat.compute: 'i / 2' is ...  (heat.py:7 in compute)
      x = i / 2
      try: write ...
    """

    rule: str
    name: str
    what: str
    at: SourceLocation
    found: str
    fix: str

    def __str__(self) -> str:
        return f"{self.name}: {self.what}  ({self.at})\n  {self.found}\n  try: {self.fix}"


def findings_text(findings: Sequence[Finding], unplaced: int = 0) -> str:
    """Return findings as text, with the count of each rule.

    `unplaced` is the number of compute sets with vertices, fields or elements without a tile, whose
    copies are not known.

    >>> findings_text([])
    'a tile would not emulate any operation of this graph, or copy any data for its vertices'
    >>> print(findings_text([], unplaced=1))
    a tile would not emulate any operation of this graph
    <BLANKLINE>
    1 compute set has vertices, fields or elements without a tile: its copies are not known
    """
    nothing = "a tile would not emulate any operation of this graph"
    parts = [nothing if unplaced else f"{nothing}, or copy any data for its vertices"]
    if findings:
        rules = Counter(finding.rule for finding in findings)
        counts = ", ".join(f"{count:,} {rule}" for rule, count in rules.items())
        parts = [f"{amount(len(findings), 'finding')}: {counts}", *map(str, findings)]
    if unplaced:
        sets = amount(unplaced, "compute set")
        verb, their = ("has", "its") if unplaced == 1 else ("have", "their")
        without = "vertices, fields or elements without a tile"
        parts.append(f"{sets} {verb} {without}: {their} copies are not known")
    return "\n\n".join(parts)


def findings_json(findings: Sequence[Finding]) -> str:
    r"""Return findings as JSON, a list of objects.

    >>> findings_json([])
    '[]\n'
    """
    rows = []
    for each in findings:
        at = {"file": each.at.file, "line": each.at.line}
        own = {"rule": each.rule, "name": each.name, "what": each.what}
        rows.append({**own, **at, "found": each.found, "fix": each.fix})
    return json.dumps(rows, indent=1) + "\n"


# -- arguments of the public functions -------------------------------------------------------------


def check_graph(graph: object, call: str) -> None:
    """Reject a value that is not a graph; `call` is the user's call, for the message."""
    if not isinstance(graph, Graph):
        raise ControlProgramError(
            f"{call.partition('(')[0]}: {clipped(graph)} is not a graph",
            found=of_type(graph),
            fix=f"pass a graph: pl.ipu.{call}",
        )
