"""The vertex classes of recipes, each made once for as long as it is in use."""

from __future__ import annotations

from weakref import WeakKeyDictionary, WeakValueDictionary

from poplite.ops.fuse.class_names import display_name
from poplite.ops.fuse.class_text import class_text
from poplite.ops.fuse.recipe import Recipe
from poplite.vertex.from_source import made_from_source
from poplite.vertex.vertex import Vertex

_made: WeakValueDictionary[Recipe, type[Vertex]] = WeakValueDictionary()
_recipes: WeakKeyDictionary[type[Vertex], Recipe] = WeakKeyDictionary()


def class_of(recipe: Recipe) -> type[Vertex]:
    """Return the vertex class of a recipe."""
    cls = _made.get(recipe)
    if cls is None:
        text, name = class_text(recipe)
        cls = made_from_source(text, name, display_name(recipe))
        _made[recipe] = cls
        _recipes[cls] = recipe
    return cls


def recipe_of(cls: type[Vertex]) -> Recipe | None:
    """Return what a class was made of; None for one that a user wrote."""
    return _recipes.get(cls)
