"""What a package shows of itself: `__all__`, which is also what `dir()` lists."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType


def names_of(package: Mapping[str, object], modules: str = "") -> list[str]:
    """Return the names that a package imports to be used from it, and those modules of it.

    Modules that were only loaded on the way are attributes of a package as well, and left out.
    """
    imported = {
        name
        for name, value in package.items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    return sorted(imported - {"TYPE_CHECKING", "names_of"} | set(modules.split()))


def loaded_on_use(
    package: str, homes: Mapping[str, str], modules: str = ""
) -> tuple[list[str], Callable[[str], object], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__` and `__dir__` of a package whose names are imported late.

    `homes` has for each module within the package the names that it makes (PEP 562), and `modules`
    the modules that are names of the package themselves.
    """
    home = {name: module for module, names in homes.items() for name in names.split()}
    shown = sorted([*home, *modules.split()])

    def load(name: str) -> object:
        if name in shown and name not in home:
            return import_module(f"{package}.{name}")
        if name not in home:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        value = getattr(import_module(f"{package}.{home[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return shown, load, lambda: shown
