"""The way to real IPUs: vertex classes as C++ codelets, and what a tile would emulate.

    print(pl.ipu.codelet_text(Axpy))        the codelet, for Poplar's compiler
    for finding in pl.ipu.lint(graph): ...  what would be slow or wrong on a tile
    pl.ipu.export(graph, program, "there")  C++ and tables, to be built with Poplar's SDK

Nothing here has run on hardware by its authors; docs/ipu.md says what was checked, and how.
"""

from poplite.ipu.codelet import codelet_text
from poplite.ipu.export_files import export
from poplite.ipu.findings import Finding
from poplite.ipu.lint import lint

__all__ = ["Finding", "codelet_text", "export", "lint"]
