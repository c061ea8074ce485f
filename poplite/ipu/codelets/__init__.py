"""Vertex classes as C++ codelets: the typed form of `compute`, written out.

`file_text` puts a file together, class by class; `statements` and `expressions` write the bodies of
its functions, over the kinds that `typing` found, in the `terms` of C++.
"""
