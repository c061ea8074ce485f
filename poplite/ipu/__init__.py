"""The way to real IPUs: vertex classes as C++ codelets, and what a tile would emulate.

    print(pl.ipu.codelet_text(Axpy))        the codelet, for Poplar's compiler
    for finding in pl.ipu.lint(graph): ...  what would be slow or wrong on a tile
    pl.ipu.export(graph, program, "there")  C++ and tables, to be built with Poplar's SDK
    Engine(graph, program, device=pl.ipu.Device())      where that is installed

Nothing here has run on hardware by its authors; docs/ipu.md says what was checked, and how.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from poplite.ipu.codelet import codelet_text as codelet_text
    from poplite.ipu.device.device import Device as Device
    from poplite.ipu.export_files import export as export
    from poplite.ipu.findings import Finding as Finding
    from poplite.ipu.linting import lint as lint

_HOME = {
    "Device": "device.device",
    "Finding": "findings",
    "codelet_text": "codelet",
    "export": "export_files",
    "lint": "linting",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'poplite.ipu' has no attribute '{name}'")
    value = getattr(import_module(f"poplite.ipu.{_HOME[name]}"), name)
    globals()[name] = value
    return value
