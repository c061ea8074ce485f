"""A graph and its programs as one file of columns, for the C++ host program.

`columns` is the file, with regular numbers in few words; `elements` are variables, which of their
elements something reads, and where the host has its data; `tables` goes through a graph and its
programs, and refuses what a real IPU is not given yet.
"""

from poplite.ipu.tables.elements import Place
from poplite.ipu.tables.tables import Tables, tables_of

__all__ = ["Place", "Tables", "tables_of"]
