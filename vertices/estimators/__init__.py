"""Cycles of vertices by PopLibs' estimators."""
