"""The sources on which a module's code depends: its own, and those of all that it imports.

Import statements are read, not run, as Numba should not be loaded to find code in the cache::

    from poplite.types import BOOL                   anywhere in a module, also inside functions
    from poplite.jit import object_cache             the package, and its module of that name
    "poplite.jit.native_code:optimized_object"       the function of a job that makes code
    if TYPE_CHECKING: from poplite.graph import ...  not: it never runs, so it makes no code
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.machinery import ModuleSpec

_FOR_TYPES = re.compile(rb"^if TYPE_CHECKING:\n(?:[ \t]+[^\n]*\n|\n)+", re.MULTILINE)
_STATEMENT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+([^\n]*))",
    re.MULTILINE,
)
_NAMED = re.compile(rb'"(\w+(?:\.\w+)+):\w+"')
_COMMENT = re.compile(rb"#[^\n]*")


@cache
def digest_of_sources(*roots: str) -> str:
    """Return a digest of the sources of some modules and of what they import."""
    import hashlib

    sources = hashlib.sha256()
    for name in modules_behind(*roots):
        content = _read(name)[0]
        sources.update(f"{name} {len(content)}\n".encode() + content)
    return sources.hexdigest()


def modules_behind(*roots: str) -> list[str]:
    """Return modules and all that they import of their package, directly or not, sorted by name.

    Raises `ModuleNotFoundError` when one of them is missing.

    >>> "poplite.source" in modules_behind("poplite.jit.object_cache")  # poplite.errors imports it
    True
    """
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _read(name)[1]
    return sorted(found)


@cache
def _read(name: str) -> tuple[bytes, tuple[str, ...]]:
    """Return a module's text, also from a zip file, and the modules of its package it imports."""
    spec = _spec(name)
    if spec is None:
        raise ModuleNotFoundError(f"compiled code depends on a module '{name}', which is not there")
    loader: Any = spec.loader
    if not str(spec.origin).endswith(".py") or not hasattr(loader, "get_data"):
        raise ModuleNotFoundError(
            f"compiled code depends on the text of '{name}', of which there is only byte code"
        )
    content = bytes(loader.get_data(spec.origin))
    own = name.partition(".")[0]
    imports: set[str] = set()
    for module, members in _in_text(content):
        if module.partition(".")[0] == own:
            imports.add(module)
            imports.update(_submodules(module, members))
    return content, tuple(sorted(imports))


def _submodules(module: str, members: set[str]) -> Iterator[str]:
    """Yield those members of a module that are modules themselves."""
    spec = _spec(module)
    if spec is not None and spec.submodule_search_locations is not None:  # a package
        for name in (f"{module}.{member}" for member in members):
            if _spec(name) is not None:
                yield name


@cache
def _spec(name: str) -> ModuleSpec | None:
    from importlib.util import find_spec

    return find_spec(name)


def _in_text(text: bytes) -> Iterator[tuple[str, set[str]]]:
    """Yield the modules that a text imports from, and the names that it imports from each."""
    code = _COMMENT.sub(b"", text)  # one may hold a bracket
    for module, members, modules in _STATEMENT.findall(_FOR_TYPES.sub(b"", code)):
        if module:
            yield module.decode(), set(_names(members.strip(b"()")))
        for each in _names(modules):
            yield each, set()
    for each in _NAMED.findall(code):
        yield each.decode(), set()


def _names(listed: bytes) -> Iterator[str]:
    for part in listed.split(b","):
        if words := part.split():
            yield words[0].decode()
