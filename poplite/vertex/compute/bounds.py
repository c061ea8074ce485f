"""Bounds checks of indices in loops, done once before the loop.

An access is checked if its guard is false.  Guards are constant within their loop, so LLVM splits
it into two loops: one without checks, and one with them.  A guard may be false although all
accesses are in range, since the limits of an index are derived from the limits of its parts.

An access without a guard is checked every time: its index is read from memory or counted by a
`while` loop, or it is in rows of a list whose length changes within the loop.

The limits of a number are expressions that are computed before a loop::

    i in range(1, n), then 2 * i + 1        from 3 to 2 * (n - 1) + 1

A span has an upper bound for the bits of its limits, so that no limit can wrap around.

Importing this module does not compile anything: `poplite.vertex.compute.identity` puts guards into
the text, and `poplite.simulator.codegen.accesses` emits the functions that the text calls.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from poplite.frozen import frozen
from poplite.vertex.compute.arithmetic import Kind
from poplite.vertex.compute.dialect import is_num_workers
from poplite.vertex.compute.lanes import WIDTH
from poplite.vertex.compute.typed_facts import Checked

# -- functions that guards call --------------------------------------------------------------------


NUMBER_BITS = 29
"""Bits of a small number, without its sign: the product of two, and some sums, fit in 64 bits."""


def element(owner: Any, index: int, is_inside: bool) -> Any:
    """Return an element or a row; the index is checked if `is_inside` is false."""
    raise NotImplementedError


def store(owner: Any, index: int, value: Any, is_inside: bool) -> None:
    """Store an element; the index is checked if `is_inside` is false."""
    raise NotImplementedError


def lanes(owner: Any, first: int, count: int, is_inside: bool) -> Any:
    """Return lanes of a vector; the indices are checked if `is_inside` is false."""
    raise NotImplementedError


def holds(is_inside: bool) -> bool:
    """Return whether a guard holds; always true in code without checks, where one loop is left."""
    raise NotImplementedError


def fits(owner: Any, least: int, most: int) -> bool:
    """Return whether indices from `least` to `most` are in range."""
    raise NotImplementedError


def row_fits(rows: Any, row: int, least: int, most: int) -> bool:
    """Return whether these indices are in range of a row, and the row in range of the list."""
    raise NotImplementedError


def rows_fit(rows: Any, least: int, most: int) -> bool:
    """Return whether all rows have one length, and these indices are in range."""
    raise NotImplementedError


def is_small(number: int) -> bool:
    """Return whether a number has at most `NUMBER_BITS` bits besides its sign."""
    raise NotImplementedError


FUNCTIONS = {
    f"@{each.__name__}": each
    for each in (element, store, lanes, holds, fits, row_fits, rows_fit, is_small)
}
"""By name in the text; the names are not identifiers, so no user's name can hide them."""


ROW_LENGTH = "row_length"
"""The function that conditions call for the length of all rows of a list; never compiled."""


def call(name: str, *arguments: ast.expr) -> ast.Call:
    """Return a call of one of these functions."""
    return ast.Call(ast.Name(f"@{name}", ast.Load()), list(arguments), [])


# -- guards ----------------------------------------------------------------------------------------


_OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
"""Comparisons and their negations."""

DEEPEST = 60
"""Maximum nesting of the parts of an index that are analysed."""


@dataclass(slots=True, eq=False)
class Guard:
    """The conditions that are computed before a loop.

    Attributes:
        always: conditions of accesses in every iteration, by their dump.
        at_times: conditions of accesses in only some iterations.
    """

    always: dict[str, ast.expr] = field(default_factory=dict)
    at_times: dict[str, ast.expr] = field(default_factory=dict)


class Guards:
    """The guards of one function.

    Attributes:
        of_loops: the computations before each loop.
        flags: for each access, the loop that its guard precedes, and whether the access is in every
            iteration; None if its index is always in range.
    """

    def __init__(self, checked: Checked) -> None:
        self._facts, self._vertex, self._sites = checked.facts, checked.vertex, Sites(checked)
        self.of_loops: dict[ast.For, Guard] = defaultdict(Guard)
        self.flags: dict[ast.expr, tuple[ast.For, bool] | None] = {}
        self._spans: dict[tuple[ast.expr, IndexedPart], Span | None] = {}
        self._depth = 0

    def find(self) -> None:
        """Find the comparisons before each loop."""
        for site in self._sites.found:
            self._find(site)

    def conditions(self) -> list[ast.expr] | None:
        """Return the conditions before a vertex runs, or None if these do not suffice."""
        found: dict[str, ast.expr] = {}
        for site in self._sites.found:
            if not self._is_proved(site):
                conditions = self._of_owner(site, self._sites.body)
                if conditions is None:
                    conditions = self._of_even_rows(site, self._sites.body)
                if conditions is None:
                    return None
                conditions = self._where_reached(site.path, conditions)
                found.update({ast.dump(each): each for each in conditions})
        return list(found.values())

    def _where_reached(self, path: Path, conditions: list[ast.expr]) -> list[ast.expr]:
        """Return the conditions of an access, which are not needed if a branch is not taken.

        The last one means that the indices are in range; it is valid only if the others are true.
        """
        *needs, inside = conditions
        for k, part in enumerate(path):
            match part:
                case (
                    ast.If(test=ast.Compare(left=left, ops=[op], comparators=[right])),
                    bool() as is_taken,
                ) if type(op) in _OPPOSITES:
                    a, b = (self._span(each, path[:k], self._sites.body) for each in (left, right))
                    if a is None or b is None or not (a.is_exact and b.is_exact):
                        continue
                    other = _OPPOSITES[type(op)]() if is_taken else op
                    needs += [*a.needs, *b.needs]
                    skipped = ast.Compare(a.least, [other], [b.least])
                    inside = ast.BinOp(skipped, ast.BitOr(), inside)
        return [*needs, inside]

    # The guard of a site

    def _find(self, site: Site) -> None:
        if self._is_proved(site):
            self.flags[site.node] = None
            return
        for of_owner in (self._of_owner, self._of_even_rows):
            for level in site.loops():
                conditions = of_owner(site, level)
                if conditions is not None:
                    after = site.path[site.path.index(level) + 1 :]
                    is_always = all(isinstance(each, RangeLoop) for each in after)
                    guard = self.of_loops[level.node]
                    stored = guard.always if is_always else guard.at_times
                    stored.update({ast.dump(each): each for each in conditions})
                    self.flags[site.node] = (level.node, is_always)
                    return

    def _is_proved(self, site: Site) -> bool:
        """Return whether an index is that of a loop over all indices of the vector or list."""
        owner, index = site.place
        loop = self._loop_of(index, site.path)
        if site.more or loop is None or loop.step is None or loop.step < 0:
            return False
        begin, stop = loop.limits
        match stop:
            case ast.Call(func=ast.Name("len"), args=[over]) if is_same(over, owner):
                pass
            case _:
                return False
        first = self._sites.constant(begin)
        return first is not None and first >= 0 and self._stays(owner, loop)

    def _loop_of(self, node: ast.expr, path: Path) -> RangeLoop | None:
        if isinstance(node, ast.Name):
            for each in reversed(path):
                if isinstance(each, RangeLoop) and each.variable == node.id:
                    return each
        return None

    def _stays(self, node: ast.expr, level: IndexedPart) -> bool:
        """Return whether an expression has one value while a loop runs."""
        for each in ast.walk(node):
            if isinstance(each, ast.Name) and each.id in level.assigned:
                return False
            if isinstance(each, ast.Attribute) and not self._is_fixed(each):
                return False
            if isinstance(each, ast.Call):
                return False
            if isinstance(each, ast.Subscript) and each in self._facts.kinds:
                return False  # a number in memory
        return True

    def _is_fixed(self, node: ast.Attribute) -> bool:
        """Return whether the number `self.name`, or the address of the field, never changes."""
        field = self._vertex.fields.get(node.attr)
        return field is None or field.depth > 0 or not field.writes

    def _of_owner(self, site: Site, level: IndexedPart) -> list[ast.expr] | None:
        """Return the conditions of an access whose vector or list is the same throughout a loop."""
        owner, of_row = self._row(site.place[0], site.path, level)
        if not self._stays(owner, level) or (span := self._span_of(site, level)) is None:
            return None
        if not isinstance(owner, ast.Subscript):
            return [*span.needs, call("fits", owner, span.least, span.most)]
        # A single row of the list is looked up, so its number must not change in the loop.
        row = self._span(owner.slice, of_row, level)
        if row is None or not row.is_exact or isinstance(owner.value, ast.Subscript):
            return None
        found = call("row_fits", owner.value, row.least, span.least, span.most)
        return [*span.needs, *row.needs, found]

    def _of_even_rows(self, site: Site, level: IndexedPart) -> list[ast.expr] | None:
        """Return the same for a different row in each iteration, if all rows have one length."""
        owner, _ = self._row(site.place[0], site.path, level)
        if not isinstance(owner, ast.Subscript) or not self._stays(owner.value, level):
            return None
        if (span := self._span_of(site, level)) is None:
            return None
        return [*span.needs, call("rows_fit", owner.value, span.least, span.most)]

    def _row(self, owner: ast.expr, path: Path, level: IndexedPart) -> tuple[ast.expr, Path]:
        """Return the expression assigned to a local within a loop, and its place."""
        while isinstance(owner, ast.Name) and owner.id in level.assigned:
            made = self._sites.assignments.get(owner)
            if made is None or level not in made.path:
                break
            owner, path = made.node, made.path
        return owner, path

    # The limits of numbers

    def _span_of(self, site: Site, level: IndexedPart) -> Span | None:
        """Return the limits of the indices that an access uses while a loop runs."""
        span = self._span(site.place[1], site.path, level)
        if span is None or not site.more:
            return span
        most = plus(span.most, ast.Constant(site.more))
        return bounded(span.least, most, span.bits + 1, span.needs)

    def _span(self, node: ast.expr, path: Path, level: IndexedPart) -> Span | None:
        """Return the limits of an int while a loop runs, or None if they are unknown."""
        known = (node, level)
        if known not in self._spans:
            self._spans[known] = None  # for expressions that are recursive or too deep
            self._depth += 1
            if self._depth <= DEEPEST:
                self._spans[known] = self._new_span(node, path, level)
            self._depth -= 1
        return self._spans[known]

    def _new_span(self, node: ast.expr, path: Path, level: IndexedPart) -> Span | None:
        if (constant := self._sites.constant(node)) is not None:
            number = ast.Constant(constant)
            return Span(number, number, constant.bit_length())
        if self._facts.kinds.get(node) is not Kind.INT and node not in self._sites.sums:
            return None
        match node:
            case ast.Name():
                return self._of_name(node, path, level)
            case ast.Attribute() if self._is_fixed(node):
                return self._of_field(node)
            case ast.Call(func=ast.Name("len"), args=[owner]) if self._stays(owner, level):
                if isinstance(owner, ast.Subscript):
                    return None  # its own row would have to be checked
                return Span(node, node, NUMBER_BITS, (call("is_small", node),))
            case ast.Call(func=ast.Name("len"), args=[owner]) if level is self._sites.body:
                return self._of_rows(owner, path)
            case ast.BinOp(left=left, op=op, right=right):
                if (b := self._span(right, path, level)) is None:
                    return None
                return of_rest(op, b) or of_operation(op, self._span(left, path, level), b)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                if (inner := self._span(operand, path, level)) is not None:
                    return negative(inner)
            case ast.Call(
                func=ast.Name("max"), args=[low, ast.Call(func=ast.Name("min"), args=[_, high])]
            ):
                return self._of_limits(low, high, path, level)
        return None

    def _of_limits(
        self, low: ast.expr, high: ast.expr, path: Path, level: IndexedPart
    ) -> Span | None:
        """Return the limits of `max(low, min(any number, high))`."""
        a, b = (self._span(each, path, level) for each in (low, high))
        if a is None or b is None:
            return None
        rising = ast.Compare(a.most, [ast.LtE()], [b.least])
        return bounded(a.least, b.most, max(a.bits, b.bits), (*a.needs, *b.needs, rising))

    def _of_rows(self, owner: ast.expr, path: Path) -> Span | None:
        """Return the limits of the length of a row, if all rows of its list have one length.

        Only conditions need it: before a loop over a row, that row is known.
        """
        row, _ = self._row(owner, path, self._sites.body)
        if not isinstance(row, ast.Subscript) or not self._stays(row.value, self._sites.body):
            return None
        length = call(ROW_LENGTH, row.value)
        return Span(length, length, NUMBER_BITS, (call("is_small", length),))

    def _of_name(self, node: ast.Name, path: Path, level: IndexedPart) -> Span | None:
        if node.id not in level.assigned:
            return Span(node, node, NUMBER_BITS, (call("is_small", node),))
        loop = self._loop_of(node, path)
        if loop is not None and path.index(loop) >= path.index(level):
            return self._of_loop(loop, path[: path.index(loop)], level)
        made = self._sites.assignments.get(node)
        if made is None or level not in made.path:
            return None
        return self._span(made.node, made.path, level)

    def _of_loop(self, loop: RangeLoop, path: Path, level: IndexedPart) -> Span | None:
        begin, stop = (self._span(each, path, level) for each in loop.limits)
        if begin is None or stop is None:
            return None
        bits, needs = max(begin.bits, stop.bits) + 1, (*begin.needs, *stop.needs)
        if loop.step is not None and loop.step < 0:
            return bounded(plus(stop.least, ast.Constant(1)), begin.most, bits, needs)
        most = minus(stop.most, ast.Constant(1))
        if loop.step != 1 and loop.step is not None and begin.is_exact:
            turns = over(minus(most, begin.least), ast.Constant(loop.step))
            most = plus(begin.least, times(turns, ast.Constant(loop.step)))
        return bounded(begin.least, most, bits, needs)

    def _of_field(self, node: ast.Attribute) -> Span | None:
        field = self._vertex.fields.get(node.attr)
        if field is None or field.depth:
            return None
        if field.element.size_bytes * 8 <= NUMBER_BITS:
            return Span(node, node, field.element.size_bytes * 8)
        return Span(node, node, NUMBER_BITS, (call("is_small", node),))


def conditions(checked: Checked) -> list[ast.expr] | None:
    """Return conditions on lengths and numbers of a vertex that put all indices in range.

    They are calls of `fits` and `is_small`, and comparisons, with constants, `len(self.name)`, the
    length of the rows of `self.name`, and `self.name`; None if indices are not known before the
    vertex runs.
    """
    own, *helpers = checked.functions()
    if own.facts.lane_accesses or any(helper.facts.lane_accesses for helper in helpers):
        return None  # one check for 64 elements has no measurable cost
    for helper in helpers:
        if Guards(helper).conditions() != []:
            return None
    return Guards(own).conditions()


# -- sites -----------------------------------------------------------------------------------------


Path = tuple[Any, ...]


@frozen
class IndexedPart:
    """A part of a function over which indices range: a loop, or the whole function.

    Attributes:
        node: the loop, or the function.
        assigned: names that are assigned in it.
    """

    node: Any
    assigned: frozenset[str]


@frozen
class RangeLoop(IndexedPart):
    """A loop over a range.

    Attributes:
        limits: the beginning and the (exclusive) end.
        step: None if it is positive but unknown.
    """

    variable: str
    limits: tuple[ast.expr, ast.expr]
    step: int | None


@frozen(eq=False)
class Site:
    """An access by index, a load of lanes, or an assignment to a local.

    Attributes:
        node: the subscript, the call that loads lanes, or the assigned expression.
        path: the loops and branches around it, outermost first.
        more: number of elements that are accessed after that of the index.
    """

    node: ast.expr
    path: Path
    more: int = 0

    @property
    def place(self) -> tuple[ast.expr, ast.expr]:
        """The vector or list that is accessed, and the index."""
        if isinstance(self.node, ast.Subscript):
            return self.node.value, self.node.slice
        assert isinstance(self.node, ast.Call)
        assert isinstance(self.node.func, ast.Attribute)
        return self.node.func.value, self.node.args[0]

    def loops(self) -> list[RangeLoop]:
        """Return the loops over ranges around it, outermost first."""
        return [each for each in self.path if isinstance(each, RangeLoop)]


class Sites:
    """The accesses of one function.

    Attributes:
        body: the whole function.
        found: the accesses, in the order of the text.
        assignments: for each read of a local, the expression last assigned to it; no entry if that
            is unknown.
        sums: the sums that `local += number` assigns, as new expressions.
    """

    def __init__(self, checked: Checked) -> None:
        self._facts = checked.facts
        self.found: list[Site] = []
        self.assignments: dict[ast.Name, Site] = {}
        self.sums: set[ast.expr] = set()
        self._last: dict[str, Site] = {}
        tree = checked.text.tree
        parameters = [argument.arg for argument in tree.args.args if argument.arg != "self"]
        self.body = IndexedPart(tree, frozenset([*assigned(tree), *parameters]))
        self._statements(tree.body, (self.body,))

    def _statements(self, statements: Sequence[ast.stmt], path: Path) -> None:
        for node in statements:
            match node:
                case ast.For():
                    self._expressions(node.iter, path)
                    inner = self._loop(node) or node
                    self._forget(node)  # an iteration may follow another
                    self._statements(node.body, (*path, inner))
                    self._forget(node)
                    self._statements(node.orelse, (*path, node))
                    self._forget(node)
                case ast.While():
                    self._forget(node)
                    self._expressions(node.test, (*path, node))
                    self._statements(node.body, (*path, node))
                    self._forget(node)
                    self._statements(node.orelse, (*path, node))
                    self._forget(node)
                case ast.If():
                    self._expressions(node.test, path)
                    before = dict(self._last)
                    self._statements(node.body, (*path, (node, True)))
                    self._last = before
                    self._statements(node.orelse, (*path, (node, False)))
                    self._forget(node)
                case ast.Raise():
                    pass  # its exception is not compiled
                case ast.Assert():
                    self._expressions(node.test, path)
                case _:
                    self._expressions(node, path)
                    self._note_assignment(node, path)

    def _note_assignment(self, node: ast.stmt, path: Path) -> None:
        made: dict[str, ast.expr] = {}
        match node:
            case ast.Assign(targets=[ast.Name(name)], value=value):
                made[name] = value
            case ast.Assign(targets=[ast.Tuple(names)], value=ast.Tuple(values)):
                pairs = zip(names, values, strict=True)
                made = {name.id: value for name, value in pairs if isinstance(name, ast.Name)}
            case ast.AugAssign(target=ast.Name(name), op=op, value=value):
                old = ast.Name(name, ast.Load())
                if name in self._last:
                    self.assignments[old] = self._last[name]
                made[name] = ast.BinOp(old, op, value)
                self.sums |= {old, made[name]}
        self._forget(node)
        self._last.update((name, Site(value, path)) for name, value in made.items())

    def _forget(self, node: ast.AST) -> None:
        """Remove the assignments to the names that a node assigns."""
        for name in assigned(node):
            self._last.pop(name, None)

    def _expressions(self, node: ast.AST, path: Path) -> None:
        if isinstance(node, ast.Subscript):
            self.found.append(Site(node, path))
        if isinstance(node, ast.Call) and (count := self._lanes_of(node)):
            self.found.append(Site(node, path, count - 1))
        if isinstance(node, ast.Name) and node.id in self._last:
            self.assignments[node] = self._last[node.id]
        children = list(ast.iter_child_nodes(node))
        sometimes: list[ast.AST] = []
        if isinstance(node, ast.IfExp):
            sometimes = [node.body, node.orelse]
        elif isinstance(node, ast.BoolOp):
            sometimes = list(node.values[1:])
        for child in children:
            self._expressions(child, (*path, (node, child)) if child in sometimes else path)

    def _lanes_of(self, node: ast.Call) -> int:
        """Return the number of lanes that a call loads, or 0 if there are none or it varies."""
        is_load = node in self._facts.lane_accesses and len(node.args) == 2
        if not is_load or not isinstance(node.func, ast.Attribute) or node.func.attr != "lanes":
            return 0
        count = self.constant(node.args[1])
        return count if count is not None and 0 < count <= WIDTH else 0

    def _loop(self, node: ast.For) -> RangeLoop | None:
        if not isinstance(node.iter, ast.Call) or not isinstance(node.target, ast.Name):
            return None
        if self._facts.calls.get(node.iter) != "indices" or not node.iter.args:
            return None
        inside = frozenset(assigned(node))
        name, arguments = node.target.id, node.iter.args
        if any(name in assigned(each) for each in (*node.body, *node.orelse)):
            return None
        begin: ast.expr = ast.Constant(0)
        step: int | None = 1
        if len(arguments) == 1:
            stop = arguments[0]
        else:
            begin, stop = arguments[:2]
        if len(arguments) > 2:
            step = self.constant(arguments[2])
            if step is None and not is_num_workers(arguments[2]):
                return None
        return RangeLoop(node, inside, name, (begin, stop), step)

    def constant(self, node: ast.expr) -> int | None:
        """Return an int that is fixed when the vertex is compiled."""
        match node:
            case ast.Constant():
                return number_in(node)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                number = self.constant(operand)
                return None if number is None else -number
        found = self._facts.constants.get(node)
        return found if type(found) is int else None


def is_same(a: ast.expr, b: ast.expr) -> bool:
    """Return whether two expressions have the same text."""
    return ast.unparse(a) == ast.unparse(b)


def assigned(node: ast.AST) -> Iterator[str]:
    """Yield the names that are assigned in a node, once for each assignment."""
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            yield each.id


# -- spans -----------------------------------------------------------------------------------------


MOST_BITS = 63
"""Maximum number of bits of numbers in guards; larger ones could wrap around."""

MOST_PARTS = 100
"""Maximum number of nodes of an expression and of its conditions; more would compile slowly."""

Needs = tuple[ast.expr, ...]


@frozen(eq=False)
class Span:
    """The limits of a number, as expressions, and the conditions under which they are valid.

    Attributes:
        bits: maximum number of bits of the limits.
        needs: the conditions.
    """

    least: ast.expr
    most: ast.expr
    bits: int
    needs: Needs = ()

    @property
    def is_exact(self) -> bool:
        """Whether it is a single number."""
        return self.least is self.most


def of_rest(op: ast.operator, b: Span) -> Span | None:
    """Return the limits of `%` and `&` for any left operand; None for other operations."""
    known = number_in(b.least) if b.is_exact else None
    match op:
        case ast.Mod() if known is not None and known > 0:
            return bounded(ast.Constant(0), ast.Constant(known - 1), b.bits, ())
        case ast.BitAnd() if known is not None and known >= 0:
            return bounded(ast.Constant(0), ast.Constant(known), b.bits, ())
        case ast.Mod() if b.is_exact:
            positive = ast.Compare(b.least, [ast.Gt()], [ast.Constant(0)])
            most = minus(b.most, ast.Constant(1))
            return bounded(ast.Constant(0), most, b.bits + 1, (*b.needs, positive))
    return None


def of_operation(op: ast.operator, a: Span | None, b: Span) -> Span | None:
    """Return the limits of an operation on two numbers, or None if they are unknown."""
    if a is None:
        return None
    known = number_in(b.least) if b.is_exact else None
    bits, needs = max(a.bits, b.bits) + 1, (*a.needs, *b.needs)
    match op:
        case ast.Add():
            return _combined(plus, a, (b.least, b.most), bits, needs)
        case ast.Sub():
            return _combined(minus, a, (b.most, b.least), bits, needs)
        case ast.Mult():
            return _product(a, b, needs)
        case ast.FloorDiv() if known is not None and known > 0:
            return _combined(over, a, (b.least, b.most), a.bits, a.needs)
        case ast.FloorDiv() if known is None and b.is_exact:
            positive = ast.Compare(b.least, [ast.Gt()], [ast.Constant(0)])
            return _combined(over, a, (b.least, b.most), a.bits, (*needs, positive))
    return None


def _product(a: Span, b: Span, needs: Needs) -> Span | None:
    if not b.is_exact:
        a, b = b, a
    if not b.is_exact:
        return None
    factor = b.least
    known = number_in(factor)
    if known is not None and known < 0:
        return None
    if known is None:
        needs = (*needs, ast.Compare(factor, [ast.GtE()], [ast.Constant(0)]))
    return _combined(times, a, (factor, factor), a.bits + b.bits, needs)


def _combined(
    operation: Callable[[ast.expr, ast.expr], ast.expr],
    a: Span,
    others: tuple[ast.expr, ast.expr],
    bits: int,
    needs: Needs,
) -> Span | None:
    least = operation(a.least, others[0])
    is_exact = a.is_exact and others[0] is others[1]
    return bounded(least, least if is_exact else operation(a.most, others[1]), bits, needs)


def bounded(least: ast.expr, most: ast.expr, bits: int, needs: Needs) -> Span | None:
    """Return a span, or None if its limits could wrap around or are too long."""
    if bits > MOST_BITS or len(needs) > MOST_PARTS or _is_long(least) or _is_long(most):
        return None
    return Span(least, most, bits, needs)


def _is_long(node: ast.expr) -> bool:
    return sum(1 for _ in islice(ast.walk(node), MOST_PARTS)) == MOST_PARTS


def negative(span: Span) -> Span | None:
    """Return the limits of a negated number."""
    least = minus(ast.Constant(0), span.most)
    most = least if span.is_exact else minus(ast.Constant(0), span.least)
    return bounded(least, most, span.bits, span.needs)


def number_in(node: ast.expr | None) -> int | None:
    """Return the value of an int literal, or None for any other node."""
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def plus(a: ast.expr, b: ast.expr) -> ast.expr:
    """Return a sum with constants folded.

    >>> ast.unparse(plus(plus(ast.Name("n"), ast.Constant(3)), ast.Constant(-1)))
    'n + 2'
    """
    x, y = number_in(a), number_in(b)
    if x is not None and y is not None:
        return ast.Constant(x + y)
    if x == 0 or y == 0:
        return b if x == 0 else a
    if y is not None and isinstance(a, ast.BinOp) and isinstance(a.op, ast.Add):
        return ast.BinOp(a.left, ast.Add(), plus(a.right, b))
    return ast.BinOp(a, ast.Add(), b)


def minus(a: ast.expr, b: ast.expr) -> ast.expr:
    """Return a difference."""
    if (y := number_in(b)) is not None:
        return plus(a, ast.Constant(-y))
    return ast.BinOp(a, ast.Sub(), b)


def times(a: ast.expr, b: ast.expr) -> ast.expr:
    """Return a product."""
    x, y = number_in(a), number_in(b)
    if x is not None and y is not None:
        return ast.Constant(x * y)
    return ast.BinOp(a, ast.Mult(), b)


def over(a: ast.expr, b: ast.expr) -> ast.expr:
    """Return a quotient, rounded down; the divisor is positive."""
    x, y = number_in(a), number_in(b)
    if x is not None and y is not None:
        return ast.Constant(x // y)
    return ast.BinOp(a, ast.FloorDiv(), b)
