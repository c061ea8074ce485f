"""Files that tests import by their path, and folders of scripts that they are in."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


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


def go_to(folder: Path, monkeypatch: pytest.MonkeyPatch, **scripts: str) -> Path:
    """Go to a folder and return it; scripts, by the name of the module, are imported anew there."""
    for name, text in scripts.items():
        (folder / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return folder
