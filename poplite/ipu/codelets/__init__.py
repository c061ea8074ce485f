"""Vertex classes as C++ codelets, written from the typed form of `compute`.

`file_text` assembles a file, class by class; `statements` and `expressions` write the bodies of
functions as `terms` of C++, with the kinds that `typing` inferred.
"""
