"""How to draw values for each vertex of the repository, and what NumPy expects."""

from helpers.recipes import (
    benchmarks,
    docs,
    examples,
    library,
    linear,
    order,
    random_numbers,
    slices,
    vertices,
)

RECIPES = (
    benchmarks.RECIPES
    | docs.RECIPES
    | examples.RECIPES
    | library.RECIPES
    | linear.RECIPES
    | order.RECIPES
    | random_numbers.RECIPES
    | slices.RECIPES
    | vertices.RECIPES
)
"""By file and class; the tables are in modules named after the folders."""
