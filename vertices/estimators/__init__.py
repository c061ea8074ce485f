"""Cycles of vertices by the estimators of PopLibs."""
