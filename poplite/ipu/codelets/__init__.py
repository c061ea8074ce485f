"""Vertex classes as C++ codelets: the typed form of `compute`, written out.

`file_text` assembles a file, class by class; `statements` and `expressions` write the bodies of its
functions, with the kinds that `typing` inferred, as `terms` of C++.
"""
