"""The code blocks of pages: fenced by three backticks and a language."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeGuard

BLOCK = re.compile(r"^```([\w{}]*)[^\n`]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(path: Path, language: str) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of a page's blocks in one language."""
    text = path.read_text()
    for match in BLOCK.finditer(text):
        if match[1] == language:
            yield text[: match.start()].count("\n") + 2, match[2]


def python_of(path: Path) -> str:
    """Return the Python of a page, its blocks on the page's own lines."""
    text = ""
    for line, block in blocks(path, "python"):
        text += "\n" * (line - 1 - text.count("\n")) + block
    return text


def classes_of(path: Path, name: str) -> dict[str, Any]:
    """Run no more of a page's Python than its classes need; return what that defines."""
    kept: list[ast.stmt] = []
    needed: set[str] = set()
    for statement in reversed(ast.parse(python_of(path)).body):
        nodes = [*ast.walk(statement)]
        makes = {alias.asname or alias.name for alias in nodes if isinstance(alias, ast.alias)}
        makes |= {node.id for node in nodes if _is_named(node, ast.Store)}
        makes |= {getattr(statement, "name", "")}
        if isinstance(statement, ast.ClassDef) or makes & needed:
            kept.append(statement)
            needed |= {node.id for node in nodes if _is_named(node, ast.Load)}
    names: dict[str, Any] = {"__name__": name}
    module = ast.Module(kept[::-1], [])
    exec(compile(module, str(path), "exec", dont_inherit=True), names)
    return names


def _is_named(node: ast.AST, context: type[ast.expr_context]) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, context)


def run(path: Path, name: str) -> dict[str, Any]:
    """Run the Python of a page as a module of this name; return what it defines."""
    names: dict[str, Any] = {"__name__": name}
    exec(compile(python_of(path), str(path), "exec", dont_inherit=True), names)
    return names
