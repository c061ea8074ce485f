"""The accesses to elements of a function: their loops and branches, and what it assigns."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from poplite.vertex.compute.bounds.spans import number_in
from poplite.vertex.compute.lanes import WIDTH
from poplite.vertex.compute.parse.dialect import is_num_workers
from poplite.vertex.compute.typing.facts import Checked

Path = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class IndexedPart:
    """A part of a function over which indices range: a loop, or all of it.

    Attributes:
        node: the loop, or the function.
        assigned: names that are assigned in it.
    """

    node: Any
    assigned: frozenset[str]


@dataclass(frozen=True, slots=True)
class RangeLoop(IndexedPart):
    """A loop over a range.

    Attributes:
        limits: the begin and the end, which is not included.
        step: None where it is positive and not known here.
    """

    variable: str
    limits: tuple[ast.expr, ast.expr]
    step: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """An access by index, a load of lanes, or an assignment to a local.

    Attributes:
        node: the subscript, the call that loads lanes, or the assigned expression.
        path: the loops and branches around it, outermost first.
        more: elements that are accessed behind that of the index.
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
        body: all of the function.
        found: the accesses, in the order of the text.
        assignments: for each place where a local is read, what was assigned to it last; no entry
            where that is not known.
        sums: what `local += number` assigns, as expressions of our own.
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
        """Forget what was assigned to the names that a node assigns."""
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
        """Return how many lanes a call loads; 0 where it loads none, or their number varies."""
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
