"""How to draw values for each vertex of the repository, and what NumPy expects."""

from helpers.recipes import (
    benchmarks,
    docs,
    examples,
    library,
    linear,
    multigrid,
    order,
    random_numbers,
    reflectors,
    slices,
    sparse,
    vertices,
)

RECIPES = (
    benchmarks.RECIPES
    | docs.RECIPES
    | examples.RECIPES
    | library.RECIPES
    | linear.RECIPES
    | multigrid.RECIPES
    | order.RECIPES
    | random_numbers.RECIPES
    | reflectors.RECIPES
    | slices.RECIPES
    | sparse.RECIPES
    | vertices.RECIPES
)
"""By file and class; the tables are in modules named after the folders."""
