"""Which indices are compared with lengths before a loop, and how.

Importing this module compiles nothing: guards are expressions, for `rewriting` to put in the text.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import dataclass, field

from poplite.vertex.compute.bounds.functions import NUMBER_BITS, call
from poplite.vertex.compute.bounds.sites import IndexedPart, Path, RangeLoop, Site, Sites, is_same
from poplite.vertex.compute.bounds.spans import (
    Span,
    bounded,
    minus,
    negative,
    of_operation,
    of_rest,
    over,
    plus,
    times,
)
from poplite.vertex.compute.typing.facts import Checked
from poplite.vertex.compute.typing.kinds import Kind

_OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
}
"""Comparisons that hold where others do not."""

DEEPEST = 60
"""Nested parts of an index that are followed."""


@dataclass(slots=True, eq=False)
class Guard:
    """The conditions that are computed before a loop.

    Attributes:
        always: what the accesses of every iteration need, by its dump.
        at_times: what the accesses of only some iterations need.
    """

    always: dict[str, ast.expr] = field(default_factory=dict)
    at_times: dict[str, ast.expr] = field(default_factory=dict)


class Guards:
    """The guards of one function.

    Attributes:
        of_loops: what is computed before each loop.
        flags: for each access, the loop before which its guard is, and whether every iteration
            makes it; None where its index is always inside.
    """

    def __init__(self, checked: Checked) -> None:
        self._facts, self._vertex, self._sites = checked.facts, checked.vertex, Sites(checked)
        self.of_loops: dict[ast.For, Guard] = defaultdict(Guard)
        self.flags: dict[ast.expr, tuple[ast.For, bool] | None] = {}
        self._spans: dict[tuple[ast.expr, IndexedPart], Span | None] = {}
        self._depth = 0

    def find(self) -> None:
        """Find what is compared before which loop."""
        for site in self._sites.found:
            self._find(site)

    def conditions(self) -> list[ast.expr] | None:
        """Return what must hold before a vertex runs; None where that does not suffice."""
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
        """Return the conditions of an access, which need not hold where a branch is not taken.

        The last of them says that indices are inside; the others are what its numbers need.
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
                    kept = guard.always if is_always else guard.at_times
                    kept.update({ast.dump(each): each for each in conditions})
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
        """Return what makes an access safe if its vector or list stays the same in a loop."""
        owner, of_row = self._row(site.place[0], site.path, level)
        if not self._stays(owner, level) or (span := self._span_of(site, level)) is None:
            return None
        if not isinstance(owner, ast.Subscript):
            return [*span.needs, call("fits", owner, span.least, span.most)]
        # One row of the list is looked up: its number must not change in the loop.
        row = self._span(owner.slice, of_row, level)
        if row is None or not row.is_exact or isinstance(owner.value, ast.Subscript):
            return None
        found = call("row_fits", owner.value, row.least, span.least, span.most)
        return [*span.needs, *row.needs, found]

    def _of_even_rows(self, site: Site, level: IndexedPart) -> list[ast.expr] | None:
        """Return the same for another row in each iteration, if all rows have one length."""
        owner, _ = self._row(site.place[0], site.path, level)
        if not isinstance(owner, ast.Subscript) or not self._stays(owner.value, level):
            return None
        if (span := self._span_of(site, level)) is None:
            return None
        return [*span.needs, call("rows_fit", owner.value, span.least, span.most)]

    def _row(self, owner: ast.expr, path: Path, level: IndexedPart) -> tuple[ast.expr, Path]:
        """Return what a local stands for that is assigned within a loop, and where it was."""
        while isinstance(owner, ast.Name) and owner.id in level.assigned:
            made = self._sites.assignments.get(owner)
            if made is None or level not in made.path:
                break
            owner, path = made.node, made.path
        return owner, path

    # The limits of numbers

    def _span_of(self, site: Site, level: IndexedPart) -> Span | None:
        """Return the limits of what an access touches while a loop runs."""
        span = self._span(site.place[1], site.path, level)
        if span is None or not site.more:
            return span
        most = plus(span.most, ast.Constant(site.more))
        return bounded(span.least, most, span.bits + 1, span.needs)

    def _span(self, node: ast.expr, path: Path, level: IndexedPart) -> Span | None:
        """Return the limits of an int while a loop runs; None where they are not known."""
        known = (node, level)
        if known not in self._spans:
            self._spans[known] = None  # for expressions that lead back here, or are too deep
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
    """Return the conditions on lengths and numbers of a vertex under which all indices are inside.

    They are calls of `fits` and `is_small`, and comparisons, of constants, `len(self.name)` and
    `self.name`; None where indices are not known before the vertex runs.
    """
    own, *helpers = checked.functions()
    if own.facts.lane_accesses or any(helper.facts.lane_accesses for helper in helpers):
        return None  # one check for 64 elements costs nothing
    for helper in helpers:
        if Guards(helper).conditions() != []:
            return None
    return Guards(own).conditions()
