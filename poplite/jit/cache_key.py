"""The key of compiled code in the cache: a digest of everything on which the code depends.

    parts      what makes it differ from other code, such as the identity of a vertex class
    makers     the sources of the modules that make it, and of all modules that these import
    machine    the processor, and the versions of Python, llvmlite and Numba
    choices    Numba's options in the environment

Modules that only this module needs are imported in functions: at the top they would take a part of
the time of `import poplite`.

A module's code depends on its own source, and on the sources of all modules that it imports. Import
statements are read, not run, since Numba should not be loaded to find code in the cache::

    from poplite.types import BOOL                   anywhere in a module, also inside functions
    from poplite.jit import object_cache             the package, and its module of that name
    "poplite.jit.native_code:optimized_object"       the function of a job that makes code
    if TYPE_CHECKING: from poplite.graph import ...  ignored, since it never runs
"""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poplite.walks import top_down

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from importlib.machinery import ModuleSpec


def digest(makers: Sequence[str], *parts: object) -> str:
    """Return a name for code made from the given parts, on this machine with these versions.

    `makers` are the modules that make the code; the name depends on their text, and on that of all
    modules of poplite that they import, directly or indirectly.  Each part has the same `repr`
    whenever the code is the same.

    >>> digest([__name__], "driver", 1) == digest([__name__], "driver", 2)
    False
    """
    import hashlib

    sources = digest_of_sources(*makers)
    text = repr((_machine(), _choices(), sources, parts))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@cache
def _machine() -> tuple[str, ...]:
    from importlib.util import find_spec

    import llvmlite
    import llvmlite.binding as llvm

    numba = find_spec("numba")  # importing it, or importlib.metadata, is slow
    assert numba is not None, "poplite is installed without Numba"
    assert numba.origin is not None, "Numba has no __init__.py"
    return (
        sys.version,
        Path(numba.origin).with_name("_version.py").read_text(),
        llvmlite.__version__,
        llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(),
    )


_CHOICES = (
    *("CPU_NAME", "CPU_FEATURES", "ENABLE_AVX", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE"),
    "DISABLE_INTEL_SVML",
)
"""Numba's options, as environment variables, that change code compiled here. All other options are
for arrays, reference counts, debugging, or Numba's output.
"""


def _choices() -> tuple[object, ...]:
    """Return the current options: Numba reads the environment each time it compiles."""
    try:
        file = Path(".numba_config.yaml").read_bytes()
    except OSError:
        file = b""
    return (*(os.environ.get(f"NUMBA_{choice}", "") for choice in _CHOICES), file)


# -- sources ---------------------------------------------------------------------------------------


_FOR_TYPES = re.compile(rb"^if TYPE_CHECKING:[ \t]*\n(?:[ \t]+[^\n]*\n|\n)+", re.MULTILINE)
_STATEMENT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+([^\n]*))",
    re.MULTILINE,
)
_NAMED = re.compile(rb'"(\w+(?:\.\w+)+):\w+"')
_COMMENT = re.compile(rb"#[^\n]*")


@cache
def digest_of_sources(*roots: str) -> str:
    """Return a digest of the sources of the given modules and of all modules they import."""
    import hashlib

    sources = hashlib.sha256()
    for name in modules_behind(*roots):
        content = _read(name)[0]
        sources.update(f"{name} {len(content)}\n".encode() + content)
    return sources.hexdigest()


def modules_behind(*roots: str) -> list[str]:
    """Return the names of modules and of all modules of their package that they import.

    Indirect imports are included.

    Raises `ModuleNotFoundError` if one of them is missing.

    >>> "poplite.source" in modules_behind("poplite.jit.object_cache")  # poplite.errors imports it
    True
    """
    return sorted(top_down(roots, lambda name: _read(name)[1]))


@cache
def _read(name: str) -> tuple[bytes, tuple[str, ...]]:
    """Return a module's text, even from a zip file, and the modules of its package it imports."""
    spec = _spec(name)
    if spec is None:
        raise ModuleNotFoundError(f"compiled code depends on a module '{name}', which is missing")
    loader: Any = spec.loader
    if not str(spec.origin).endswith(".py") or not hasattr(loader, "get_data"):
        raise ModuleNotFoundError(
            f"compiled code depends on the text of '{name}', which is available only as byte code"
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
    """Yield the members of a module that are modules themselves."""
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
    code = _COMMENT.sub(b"", text)  # a comment may contain a bracket
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
