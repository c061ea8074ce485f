"""Every module of the package, and what each imports, read from its text."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]

FOLDERS = {
    "poplite": "poplite",
    "simulator": "poplite.simulator",
    "tools": "poplite.tools",
    "vertices": "poplite.vertices",
}
"""Folders of the checkout, and what they are imported as."""


def modules() -> dict[str, Path]:
    """Return every module of the package by its import name; packages by their own."""
    named = {}
    for folder, prefix in FOLDERS.items():
        for path in (ROOT / folder).rglob("*.py"):
            if path == path.resolve():  # not through the links inside of poplite
                parts = path.relative_to(ROOT / folder).with_suffix("").parts
                named[".".join((prefix, *parts)).removesuffix(".__init__")] = path
    return named


MODULES = modules()

TYPE_CHECKING = ("TYPE_CHECKING", "typing.TYPE_CHECKING")
"""What the statements are guarded by that only type checkers read."""


class Import(NamedTuple):
    """A module that another one imports.

    Attributes:
        line: of the statement.
        module: what is imported, or what a member is imported from.
        is_deferred: whether it stands inside a function.
        is_for_types: whether only type checkers read it.
    """

    line: int
    module: str
    is_deferred: bool
    is_for_types: bool

    @property
    def is_at_start(self) -> bool:
        """Whether it runs when the importing module is imported."""
        return not self.is_deferred and not self.is_for_types


def tree_of(module: str) -> ast.Module:
    """Return the syntax tree of a module; kept, all of them would slow later tests down."""
    return ast.parse(MODULES[module].read_text())


@cache
def imports_of(module: str) -> list[Import]:
    """Return what a module imports, wherever the statements stand."""
    found = []
    waiting: list[tuple[ast.AST, bool, bool]] = [(tree_of(module), False, False)]
    while waiting:
        node, deferred, for_types = waiting.pop()
        if isinstance(node, ast.Import):
            found += [Import(node.lineno, a.name, deferred, for_types) for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: imports are absolute"
            # `from poplite import view` names a module, `from poplite.view import x` a member.
            inside = node.module or ""
            members = [f"{inside}.{alias.name}" for alias in node.names]
            names = {member if member in MODULES else inside for member in members}
            found += [Import(node.lineno, name, deferred, for_types) for name in names]
        deferred = deferred or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        checking = isinstance(node, ast.If) and ast.unparse(node.test) in TYPE_CHECKING
        for child in statements_in(node):
            only_types = checking and isinstance(node, ast.If) and child in node.body
            waiting.append((child, deferred, for_types or only_types))
    return sorted(found)


def statements_in(node: ast.AST) -> list[ast.AST]:
    """Return what may hold statements right below a node; an expression holds none."""
    blocks = ("body", "orelse", "handlers", "finalbody", "cases")
    return [child for block in blocks for child in getattr(node, block, ())]
