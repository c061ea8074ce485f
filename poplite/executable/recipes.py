"""Vertex classes that files define by data: formulas of operations, and texts of C++ codelets."""

from __future__ import annotations

from typing import TypeAlias

from poplite.codec.file_formats import Malformed
from poplite.cpp.saved import CodeletRecipe, class_of_codelet, codelet_recipe, fault_of_codelet
from poplite.ops.fuse.classes import class_of, recipe_of
from poplite.ops.fuse.recipe import MapRecipe, ReductionRecipe, SumRecipe, fault_of
from poplite.vertex.vertex import Vertex

ClassRecipe: TypeAlias = MapRecipe | ReductionRecipe | SumRecipe | CodeletRecipe
"""The data from which a class is made again."""


def recipe_of_class(cls: type[Vertex]) -> ClassRecipe | None:
    """Return the recipe of a class; None for a class that a user wrote in Python."""
    return recipe_of(cls) or codelet_recipe(cls)


def class_of_recipe(recipe: ClassRecipe, name: str, *, codelets: bool) -> type[Vertex]:
    """Return the class that a file defines; `codelets` allows to compile C++ texts.

    Raises `Malformed` for an invalid recipe; `name` is the name of the class, for the message.
    """
    fault = fault_of_codelet(recipe) if isinstance(recipe, CodeletRecipe) else fault_of(recipe)
    if fault is not None:
        raise Malformed(f"vertex class {name}: {fault}")
    if isinstance(recipe, CodeletRecipe):
        return class_of_codelet(recipe, compiles=codelets)
    return class_of(recipe)
