"""How to draw values for each vertex of the repository, and what NumPy expects."""

from helpers.recipes import (
    benchmarks,
    docs,
    library,
    linear,
    order,
    vertices,
)

RECIPES = (
    benchmarks.RECIPES
    | docs.RECIPES
    | library.RECIPES
    | linear.RECIPES
    | order.RECIPES
    | vertices.RECIPES
)
"""By file and class; the tables are in modules named after the folders."""
