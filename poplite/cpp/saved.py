"""C++ classes in files of graphs and executables: the texts that define them, never compiled code.

Loading such a file compiles and runs nothing. The first run takes code from the cache, if a graph
of this machine was given the same text; otherwise the text is compiled only where the caller of
`load` asked for it (`codelets=True`).
"""

from __future__ import annotations

from poplite.cpp.codelets import CodeletUnit
from poplite.cpp.llvm_text import from_file, may_compile
from poplite.cpp.vertex_classes import CppMeaning, vertex_classes
from poplite.frozen import frozen
from poplite.vertex.compute.meaning import stored_meaning
from poplite.vertex.vertex import Vertex


@frozen
class CodeletRecipe:
    """The texts of a C++ class.

    Attributes:
        name: its name in C++.
        units: the text of the class, and those that were given together with it.
    """

    name: str
    units: tuple[CodeletUnit, ...]


def codelet_recipe(cls: type[Vertex]) -> CodeletRecipe | None:
    """Return the texts of a C++ class; None for other classes."""
    meaning = stored_meaning(cls)
    if not isinstance(meaning, CppMeaning):
        return None
    return CodeletRecipe(meaning.codelet.name, (meaning.file, *meaning.beside))


def fault_of_codelet(recipe: CodeletRecipe) -> str | None:
    """Return what is wrong with a recipe from a file; None for a valid one."""
    if not recipe.units:
        return "its recipe has no text"
    if recipe.name not in {codelet.name for codelet in recipe.units[0].codelets}:
        return f"its text does not define {recipe.name!r}"
    return None


def class_of_codelet(recipe: CodeletRecipe, *, compiles: bool) -> type[Vertex]:
    """Return the class of a valid recipe from a file; `compiles` allows to compile its text."""
    for unit in recipe.units:
        from_file(unit)
        if compiles:
            may_compile(unit)
    return vertex_classes(recipe.units[0], recipe.units[1:])[recipe.name]
