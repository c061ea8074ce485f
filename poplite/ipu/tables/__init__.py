"""A graph and its programs as one file of columns, for the C++ host program.

`columns` is the file; `series` writes regular numbers in few words, `edges` which elements
something reads; `variables` and `tables` go through a graph and its programs, and refuse what a
real IPU is not given yet.
"""

from poplite.ipu.tables.places import Place
from poplite.ipu.tables.tables import Tables, tables_of

__all__ = ["Place", "Tables", "tables_of"]
