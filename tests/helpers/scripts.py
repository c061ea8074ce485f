"""Files that tests import by their path."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def load(path: Path, name: str = "", *, is_kept: bool = False) -> ModuleType:
    """Import a file anew, as a module of this name or else of the file's.

    Args:
        path: the file.
        name: of the module.
        is_kept: whether it can be imported by that name from now on.
    """
    name = name or path.stem
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    if is_kept:
        sys.modules[name] = module
    writes_none, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        # Byte code would be taken for that of another text as long, written in the same second.
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = writes_none
    return module


def script(path: Path) -> ModuleType:
    """Import a script once for all tests, as `example_<name>` or `benchmark_<name>`."""
    name = f"{path.parent.name.rstrip('s')}_{path.stem}"
    # Kept, since vertex classes look their module up.
    return sys.modules.get(name) or load(path, name, is_kept=True)
