"""Which outputs a `compute` writes completely, whatever its fields hold.

What a real machine leaves in elements of an `Output` that are not written is not promised; so all
others are exported as `InOut`. Told from the text alone::

    self.y = ...                                        outside of branches and loops
    for i in range(len(self.out)): self.out[i] = ...    the same, in every turn
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from poplite.vertex.compute.typing.facts import Checked
from poplite.vertex.compute.typing.values import ElementsValue
from poplite.vertex.vertex import MultiVertex


def written_completely(checked: Checked) -> set[str]:
    """Return the outputs of which every element is written."""
    if issubclass(checked.vertex, MultiVertex) or checked.raises:
        return set()
    return {
        name
        for name, field in checked.vertex.fields.items()
        if field.role == "output" and _covers(checked, checked.text.tree.body, name, field.depth)
    }


def _covers(checked: Checked, body: Sequence[ast.stmt], name: str, depth: int) -> bool:
    for statement in body:
        if any(isinstance(node, ast.Return) for node in ast.walk(statement)):
            return False
        if depth == 0 and _stores(statement, name):
            return True
        if depth and isinstance(statement, ast.For):
            owner = _length_of(checked, statement)
            if owner is not None and _is_of(checked, owner, name, depth):
                return _each_turn(checked, statement, name, depth)
    return False


def _stores(statement: ast.stmt, name: str) -> bool:
    return isinstance(statement, ast.Assign) and any(
        isinstance(target, ast.Attribute) and target.attr == name for target in statement.targets
    )


def _length_of(checked: Checked, loop: ast.For) -> ast.expr | None:
    """Return the vector whose indices a loop goes through, all of them."""
    call = loop.iter
    if not isinstance(call, ast.Call) or checked.facts.calls.get(call) != "indices":
        return None
    stop = call.args[0]
    if len(call.args) == 1 and isinstance(stop, ast.Call) and stop not in checked.facts.calls:
        return stop.args[0] if stop not in checked.facts.helpers else None
    return None


def _is_of(checked: Checked, node: ast.expr, name: str, depth: int) -> bool:
    value = checked.facts.containers.get(node)
    return isinstance(value, ElementsValue) and (value.field.name, value.depth) == (name, depth)


def _each_turn(checked: Checked, loop: ast.For, name: str, depth: int) -> bool:
    """Return whether each turn writes its element, or all of its row."""
    target = loop.target
    if not isinstance(target, ast.Name) or any(_leaves(loop.body)) or _assigns(loop, target.id):
        return False
    for statement in loop.body:
        if depth == 1 and isinstance(statement, ast.Assign):
            places = (each for each in statement.targets if isinstance(each, ast.Subscript))
            if any(_is_element(checked, each, name, target.id) for each in places):
                return True
        if depth == 2 and isinstance(statement, ast.For):
            row = _length_of(checked, statement)
            if row is not None and _is_row(checked, loop, row, name, target.id):
                return _each_turn(checked, statement, name, 1)
    return False


def _is_element(checked: Checked, place: ast.Subscript, name: str, index: str) -> bool:
    is_index = isinstance(place.slice, ast.Name) and place.slice.id == index
    return is_index and _is_of(checked, place.value, name, 1)


def _is_row(checked: Checked, loop: ast.For, row: ast.expr, name: str, index: str) -> bool:
    """Return whether a vector is the row of this turn, or a local that holds it."""
    if not _is_of(checked, row, name, 1):
        return False
    if isinstance(row, ast.Name):
        found = [
            each.value
            for each in ast.walk(checked.text.tree)
            if isinstance(each, ast.Assign)
            and any(isinstance(t, ast.Name) and t.id == row.id for t in each.targets)
        ]
        if len(found) != 1:
            return False
        row = found[0]
    is_index = isinstance(row, ast.Subscript) and isinstance(row.slice, ast.Name)
    return is_index and row.slice.id == index  # type: ignore[attr-defined]


def _leaves(statements: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield what may end a turn early."""
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Break | ast.Continue | ast.Return | ast.Raise | ast.While):
                yield statement


def _assigns(loop: ast.For, name: str) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        for statement in loop.body
        for node in ast.walk(statement)
    )
