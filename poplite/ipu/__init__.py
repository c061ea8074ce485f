"""Support for real IPUs: C++ codelets, export, a device, and a lint.

    print(pl.ipu.codelet_text(Axpy))        the codelet, for Poplar's compiler
    for finding in pl.ipu.lint(graph): ...  code that would be slow or wrong on a tile
    pl.ipu.export(graph, program, "there")  C++ and tables, to be built with Poplar's SDK
    Engine(graph, program, device=pl.ipu.Device())      where the SDK is installed

The authors have not run any of this on hardware; docs/ipu.md describes how it was checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poplite.public import loaded_on_use

if TYPE_CHECKING:
    from poplite.ipu.building import export as export
    from poplite.ipu.codelet_file import codelet_text as codelet_text
    from poplite.ipu.device import Device as Device
    from poplite.ipu.linting import Finding as Finding, lint as lint

__all__, __getattr__, __dir__ = loaded_on_use(__name__)
