"""A graph and its programs as one file of columns, for the C++ host program.

`columns` writes the file, with regular numbers compressed; `elements` describes variables, the
elements that are read, and the places of the host's data; `tables` traverses a graph and its
programs, and refuses features that are not yet supported on real IPUs.
"""

from poplite.ipu.tables.elements import Place
from poplite.ipu.tables.tables import Tables, tables_of

__all__ = ["Place", "Tables", "tables_of"]
