"""A graph and its programs as one file of columns, for the C++ host program.

`columns` is the file, with regular numbers in few words; `elements` are variables, and which of
their elements something reads; `tables` goes through a graph and its programs, and refuses what a
real IPU is not given yet.
"""

from poplite.ipu.tables.host_places import Place
from poplite.ipu.tables.tables import Tables, tables_of

__all__ = ["Place", "Tables", "tables_of"]
