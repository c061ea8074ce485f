"""Data flow of `compute`: whether its running time depends on data, which elements it passes on.

::

    while self.x[i] > limit             data determine the number of iterations; it may never end
    for i in range(len(self.x))         lengths determine it
    for i in range(len(self.x[self.k])) data determine it, unless rows are equally long
    self.y[i] = self.x[i]               y may get an element unchanged
    self.y = self.y + self.x            y never does: the value is a result

Typing finds the names that are constants; the text determines how loops and assignments depend on
each other.  The analysis is conservative: if it is not certain, running time depends on data, and a
field may get elements unchanged.  Compiled code is analysed when its cycles are computed
(`poplite.simulator.pricing.blocks`).
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from typing import Literal

from poplite.frozen import frozen
from poplite.vertex.compute.typed_facts import Checked

Ends = Literal["always", "by order", "perhaps"]
"""Whether loops end: there is no `while`; each `while` only has order comparisons, as in
`while n > 0`; or neither."""


@frozen
class Loops:
    """The loops of some vertex classes whose number of iterations depends on data.

    Attributes:
        ends: whether they are known to end.
        depth: maximum nesting depth.
    """

    ends: Ends
    depth: int


NO_LOOPS = Loops("always", 0)


class DataFlow:
    """The data flow of a function and all functions that it calls.

    Each property is computed when it is first read.
    """

    def __init__(self, checked: Checked) -> None:
        self._checked = checked
        self._nodes = {each: list(ast.walk(each.text.tree)) for each in checked.functions()}

    @cached_property
    def may_not_end(self) -> bool:
        """Whether there is a `while` loop."""
        return any(isinstance(node, ast.While) for node in self._every())

    @cached_property
    def varies(self) -> bool:
        """Whether the number of iterations of a loop may depend on data."""
        return any(_varies(checked, nodes) for checked, nodes in self._nodes.items())

    @cached_property
    def may_depend_on_data(self) -> bool:
        """Whether control flow, and so running time, may depend on data."""
        return self.varies or any(map(_branches, self._every()))

    @cached_property
    def loops(self) -> Loops:
        """The loops whose number of iterations depends on data."""
        depths: dict[Checked, int] = {}
        for each in _helpers_first(self._checked, {}):
            depths[each] = _depth(each, depths)
        return Loops(self._ends(), depths[self._checked])

    @cached_property
    def indices(self) -> Mapping[str, frozenset[int]]:
        """The accessed elements of vectors, for vectors whose indices are all constants."""
        indices: dict[str, set[int]] = {}
        accesses: Counter[str] = Counter()
        for node in self._every():
            match node:
                case ast.Subscript(ast.Attribute(attr=name), ast.Constant(int(index))):
                    indices.setdefault(name, set()).add(index)
                    accesses[name] -= 1
                case ast.Attribute(attr=name):
                    accesses[name] += 1
        return {name: frozenset(own) for name, own in indices.items() if not accesses[name]}

    def passes_on(self, field: str) -> bool:
        """Return whether a field may get an element of another field unchanged."""
        return self._passed_to is None or field in self._passed_to

    @cached_property
    def _passed_to(self) -> frozenset[str] | None:
        """The fields that may get an element unchanged, or None if all may."""
        found: set[str] = set()
        for function in self._nodes:
            tree = function.text.tree
            first = set() if function is self._checked else _parameters(tree)
            names = _locals(tree, first, _is_element)
            for target, value in _stores(tree):
                if isinstance(target, ast.Name) or not _is_element(value, names):
                    continue
                while isinstance(target, ast.Subscript):
                    target = target.value
                match target:
                    case ast.Attribute(value=ast.Name("self"), attr=name):
                        found.add(name)
                    case _:  # a local that refers to a vector
                        return None
        return frozenset(found)

    def _every(self) -> list[ast.AST]:
        return [node for nodes in self._nodes.values() for node in nodes]

    def _ends(self) -> Ends:
        tests = [node.test for node in self._every() if isinstance(node, ast.While)]
        if not tests:
            return "always"
        return "by order" if all(map(_compares_by_order, tests)) else "perhaps"


# -- dependence on data ----------------------------------------------------------------------------

_LOOPS = ast.For, ast.While
_BRANCHES = ast.If, ast.IfExp, ast.BoolOp


def _branches(node: ast.AST) -> bool:
    """Return whether a node branches; chained comparisons do, since they stop at a false one."""
    is_chain = isinstance(node, ast.Compare) and len(node.ops) > 1
    return is_chain or isinstance(node, (*_BRANCHES, ast.While))


def _varies(checked: Checked, nodes: Iterable[ast.AST]) -> bool:
    """Return whether the number of iterations of a loop in this function may depend on data.

    Any local may depend on data here.
    """
    has_loops = any(isinstance(node, _LOOPS) for node in nodes)
    ends = (*_LOOPS, ast.Break, ast.Return) if has_loops else _LOOPS

    def has_loop(branch: ast.AST) -> bool:
        """Return whether a loop runs inside a branch, or ends there."""
        below = (part for part in ast.walk(branch) if part is not branch)
        return any(isinstance(part, ends) or part in checked.facts.helpers for part in below)

    in_row = _goes_over_row(checked)
    for node in nodes:
        if isinstance(node, ast.While) or (isinstance(node, _BRANCHES) and has_loop(node)):
            return True
        if isinstance(node, ast.For) and in_row(node.iter):
            return True
        match node:
            case ast.For(iter=ast.Call(func=ast.Name("range"), args=limits)):
                if any(_is_of_data(checked, limit, None) for limit in limits):
                    return True
    return False


def _is_of_data(checked: Checked, node: ast.expr, names: set[str] | None) -> bool:
    """Return whether a number, or the number of items of a loop, may depend on data.

    `names` are the locals that may depend on data, or None for all.
    """
    waiting: list[ast.AST] = [node]
    while waiting:
        match each := waiting.pop():
            case _ if each in checked.facts.constants:
                pass
            case ast.Constant() | ast.Call(func=ast.Name("len" | "enumerate" | "zip")):
                pass
            case ast.Name(name):
                if names is None or name in names:
                    return True
            case ast.Attribute(attr=name):
                field = checked.vertex.fields.get(name)
                if field is not None and field.is_edge and not field.depth:
                    return True
            case ast.BinOp(left=left, right=right):
                waiting += left, right
            case ast.UnaryOp(operand=operand):
                waiting.append(operand)
            case ast.Call(func=ast.Name("range"), args=limits):
                waiting += limits
            case _:
                return True
    return False


def _goes_over_row(checked: Checked) -> Callable[[ast.expr], bool]:
    """Return a predicate: whether a loop's items are of a row that data may select."""
    names = _names_of_data(checked)

    def is_row(node: ast.AST, rows: set[str]) -> bool:
        match node:
            case ast.Subscript(slice=index):
                return _is_of_data(checked, index, names)
            case ast.Name(name):
                return name in rows
        return False

    def goes_over(items: ast.expr, rows: set[str]) -> bool:
        return any(is_row(each, rows) for each in ast.walk(items))

    rows = _locals(checked.text.tree, set(), goes_over)
    return lambda items: goes_over(items, rows)


def _helpers_first(checked: Checked, found: dict[Checked, None]) -> Iterable[Checked]:
    """Return a function and all that it calls, each once and after its callees."""
    for helper in checked.facts.helpers.values():
        if helper not in found:
            _helpers_first(helper, found)
    found[checked] = None
    return found


_ORDER = ast.Lt | ast.LtE | ast.Gt | ast.GtE


def _compares_by_order(test: ast.expr) -> bool:
    match test:
        case ast.BoolOp(ast.And(), parts):
            return any(map(_compares_by_order, parts))
        case ast.BoolOp(ast.Or(), parts):
            return all(map(_compares_by_order, parts))
        case ast.Compare(ops=ops):
            return all(isinstance(op, _ORDER) for op in ops)
    return False


def _depth(checked: Checked, of_helpers: Mapping[Checked, int]) -> int:
    """Return the nesting depth of loops whose iterations may depend on data, with helpers."""
    tree, names = checked.text.tree, _names_of_data(checked)
    deepest, waiting = 0, list[tuple[ast.AST, int]]([(tree, 0)])
    while waiting:
        node, depth = waiting.pop()
        depth += isinstance(node, ast.While)
        depth += isinstance(node, ast.For) and _is_of_data(checked, node.iter, names)
        helper = checked.facts.helpers.get(node) if isinstance(node, ast.Call) else None
        deepest = max(deepest, depth + (of_helpers[helper] if helper is not None else 0))
        waiting += ((each, depth) for each in ast.iter_child_nodes(node))
    return deepest


def _names_of_data(checked: Checked) -> set[str]:
    """Return the locals that may depend on data; all parameters of a helper may."""
    tree = checked.text.tree
    augmented = [node for node in ast.walk(tree) if isinstance(node, ast.AugAssign)]
    changed = {n.target.id for n in augmented if isinstance(n.target, ast.Name)}
    is_helper = checked.function is not checked.vertex.compute
    first = changed | (_parameters(tree) if is_helper else set())
    return _locals(tree, first, partial(_is_of_data, checked))


# -- elements passed on ----------------------------------------------------------------------------


def _stores(tree: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the targets of assignments with their values, except results of operations."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from _pairs(target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                yield target, value
            case ast.For(target=target, iter=over):
                yield from _pairs(target, over)


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    if not isinstance(target, ast.Tuple):
        yield target, value
        return
    has_parts = isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts)
    parts = value.elts if has_parts else [value] * len(target.elts)  # type: ignore[attr-defined]
    for each, part in zip(target.elts, parts, strict=True):
        yield from _pairs(each, part)


def _parameters(tree: ast.FunctionDef) -> set[str]:
    return {argument.arg for argument in tree.args.args}


def _locals(
    tree: ast.FunctionDef, first: set[str], test: Callable[[ast.expr, set[str]], bool]
) -> set[str]:
    """Return the initial locals and those to which a value that meets a test is assigned.

    The test takes the value and the locals known so far.
    """
    names, size, stores = set(first), -1, list(_stores(tree))
    while size != len(names):
        size = len(names)
        names |= {
            target.id
            for target, value in stores
            if isinstance(target, ast.Name) and test(value, names)
        }
    return names


def _is_element(value: ast.expr, names: set[str]) -> bool:
    """Return whether an expression may be an unchanged element."""
    match value:
        case ast.Constant() | ast.BinOp() | ast.Compare():
            return False
        case ast.Name(name):
            return name in names
        case ast.UnaryOp(op, operand):
            return isinstance(op, ast.UAdd) and _is_element(operand, names)
        case ast.IfExp(body=body, orelse=orelse):
            return _is_element(body, names) or _is_element(orelse, names)
        case ast.BoolOp(values=values) | ast.Tuple(elts=values):
            return any(_is_element(each, names) for each in values)
        case ast.Call(func=ast.Name("len")):
            return False
        case ast.Call(func=ast.Name("range"), args=limits):
            return any(_is_element(each, names) for each in limits)
    return True
