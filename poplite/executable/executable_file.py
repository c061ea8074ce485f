"""Files of executables, which are loaded without trusting their content.

    manifest.json    {"format": 7, "classes": [...], "locations": [...], "lines": [...],
                      "tile_sets": [...], "executable": {...}}

Compiled code trusts an executable, so every number is checked first
(`poplite.executable.validate`). The format number increases when the meaning of a field changes;
new fields with defaults need no new number.

Modelled integers are nonnegative; per-tile numbers are written as in reports
(`poplite.report.json_form`).
"""

from __future__ import annotations

import importlib
import inspect
import os
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from types import ModuleType
from typing import Any

from poplite.codec.archive import read_archive, write_archive
from poplite.codec.codec import (
    Codec,
    Reader,
    ScalarCoder,
    Writer,
    decoded,
    decoded_locations,
    lines_of,
    written_locations,
)
from poplite.codec.file_formats import (
    CHECKED_FORMAT,
    EXECUTABLES,
    UNCHECKED_FORMAT,
    Malformed,
    add_room,
    at,
)
from poplite.cost.step_cost import PhaseCost
from poplite.errors import (
    ElementTypeError,
    FileLoadError,
    VertexCompileError,
    VertexDefinitionError,
    checked_truth,
    listed,
)
from poplite.executable.executable import Executable
from poplite.executable.recipes import ClassRecipe, class_of_recipe, recipe_of_class
from poplite.executable.validate import validate
from poplite.files import checked_path, replacing
from poplite.frozen import frozen
from poplite.graph.compute_sets.perf_estimates import MOST
from poplite.jit.build import no_collection
from poplite.report.json_form import (
    LOOKS_A_CHARACTER,
    PerTileCoder,
    read_tile_sets,
    written_tile_sets,
)
from poplite.report.memory import Memory, Operation
from poplite.report.per_tile import PerPair, PerTile
from poplite.report.validate import MOST_TOTAL
from poplite.text import LINE, amount, clipped, items_or_none, shortened
from poplite.types import ElementType
from poplite.vertex.compute.identity import ClassCode
from poplite.vertex.compute.meaning import meaning_of
from poplite.vertex.fields import specialise
from poplite.vertex.from_source import why_missing
from poplite.vertex.vertex import Vertex

_MODELLED = Codec(
    {
        int: ScalarCoder(int, range(MOST + 1), "is not a valid cost"),
        PerTile: PerTileCoder(range(MOST + 1), of_tiles=True),
        PerPair: PerTileCoder(range(MOST + 1), of_pairs=True),
    }
)

_COUNTED = Codec({int: ScalarCoder(int, range(MOST_TOTAL), "is not a valid number in a report")})

EXECUTABLE_CODEC = Codec(
    {
        Operation: _COUNTED.coder_of(Operation),
        **{kind: _MODELLED.coder_of(kind) for kind in (PhaseCost, Memory)},
    }
)


@no_collection()  # no objects can be freed
def save(executable: Executable, path: str | os.PathLike[str]) -> None:
    """Write an executable to a file; see `Executable.save`."""
    place = checked_path(path, "save", "model.poplite")
    to = Writer()
    data = EXECUTABLE_CODEC.coder_of(Executable).encode(executable, to)
    classes = list(map(named_class, to.classes))
    manifest = {
        "classes": EXECUTABLE_CODEC.coder_of(list[NamedClass]).encode(classes, to),
        "locations": written_locations(to.locations),
        "lines": list(to.lines),
        "tile_sets": written_tile_sets(to),
        "executable": data,
    }
    number = UNCHECKED_FORMAT if executable.checks == "none" else CHECKED_FORMAT
    text = EXECUTABLES.text(manifest, str(place), number)
    with replacing(place, "program.poplite") as file:
        write_archive(file, text, to.arrays)


def load(
    path: str | os.PathLike[str], vertices: Iterable[VertexSource], *, codelets: bool
) -> Executable:
    """Read an executable from a file; see `Executable.load`."""
    name = str(checked_path(path, "load", "model.poplite"))
    allowed = checked_truth(codelets, "Executable.load: codelets")
    with EXECUTABLES.loading(repr(name)):
        return _loaded(name, vertices, codelets=allowed)


def _loaded(name: str, vertices: Iterable[VertexSource], *, codelets: bool) -> Executable:
    manifest, arrays = read_archive(name, EXECUTABLES)
    of = Reader(arrays, (), (), ())
    with at("classes"):
        coder = EXECUTABLE_CODEC.coder_of(list[NamedClass])
        named = decoded(coder, manifest.get("classes"), of)
    locations = decoded_locations(manifest.get("locations"))
    classes = found_classes(named, vertices, name, codelets=codelets)
    of = Reader(arrays, classes, locations, lines_of(manifest.get("lines")))
    of.looks = LOOKS_A_CHARACTER * os.path.getsize(name)
    read_tile_sets(manifest.get("tile_sets", []), of)
    coder = EXECUTABLE_CODEC.coder_of(Executable)
    executable: Executable = decoded(coder, manifest.get("executable"), of)
    if (executable.checks == "none") != (manifest["format"] == UNCHECKED_FORMAT):
        raise Malformed(f"format {manifest['format']} cannot have checks {executable.checks!r}")
    add_room(tiles=executable.target.tiles)
    validate(executable)
    return executable


# -- vertex classes --------------------------------------------------------------------------------
# Vertex classes are named in a file, and found in this process.
#
# A file names a class by its qualified name within its module, a template with its element types
# (`Add[HALF]`), and identifies its code (`poplite.vertex.compute.identity`). Classes are looked up
# among those that the user passes, those that are already defined, and those of `poplite.vertices`.
# No name in a file is ever imported. For a class that operations generated, the file contains
# the recipe from which it is generated again (`poplite.ops.fuse.recipe`).


VertexSource = type[Vertex] | ModuleType
"""A source of classes: a class itself, or a module."""

LIBRARY = "poplite.vertices"
"""The package whose classes every file may name."""


@frozen(eq=False)
class NamedClass:
    """The name of a vertex class in a file.

    Attributes:
        name: its name within its module, or within the function that defines it.
        elements: the element types of a template.
        code: a fingerprint of its code.
        recipe: the recipe of a generated class; None for a class that a user wrote.
    """

    name: str
    elements: tuple[type[ElementType[Any]], ...]
    code: ClassCode
    recipe: ClassRecipe | None = None

    def __str__(self) -> str:
        elements = f"[{', '.join(map(repr, self.elements))}]" if self.elements else ""
        return shortened(self.name + elements, LINE)


def named_class(cls: type[Vertex]) -> NamedClass:
    """Return the name of a class that is not a template; reject a class without source text.

    >>> from poplite.types import HALF
    >>> from poplite.vertices.elementwise import Add
    >>> print(named_class(Add[HALF]))
    Add[HALF]
    """
    try:
        code = meaning_of(cls).code
    except VertexCompileError as error:
        raise FileLoadError(
            f"cannot save an executable with vertex class '{cls.__name__}': {error.what}",
            at=error.at,
            found=error.found,
            fix=error.fix,
        ) from error
    template, elements = template_of(cls)
    return NamedClass(local_name(template), elements, code, recipe_of_class(cls))


def template_of(
    cls: type[Vertex],
) -> tuple[type[Vertex], tuple[type[ElementType[Any]], ...]]:
    """Return the template of a class and its element types, or the class itself."""
    for base in cls.__bases__:
        for arguments, made in vars(base).get("_specialised", {}).items():
            if made is cls:
                return base, arguments
    return cls, ()


def local_name(cls: type[Vertex]) -> str:
    """Return the name of a class within its module, or within the function that defines it."""
    return cls.__qualname__.rpartition("<locals>.")[2]


def found_classes(
    named: Sequence[NamedClass],
    sources: Iterable[VertexSource],
    path: str,
    *,
    codelets: bool = False,
) -> list[type[Vertex]]:
    """Return the classes that a file names; the user's classes are searched first.

    Classes that are missing, or whose code differs, are reported together; `path` is for messages.
    The message about a missing class says if poplite has a class of this name with different code.
    """
    by_name: dict[str, list[type[Vertex]]] = {}
    for cls in chain(
        _generated(named, codelets), classes_of_user(sources), defined_classes(Vertex)
    ):
        by_name.setdefault(local_name(cls), []).append(cls)
    missing, classes, differing = [], [], []
    code = cache(lambda cls: meaning_of(cls).code)
    is_library_known = False

    def looked_up(each: NamedClass) -> tuple[type[Vertex] | None, list[str]]:
        candidates = by_name.get(each.name)
        return _alike(each, candidates, code) if candidates else (None, [])

    for each in named:
        found, why = looked_up(each)
        if (found is None or why) and not is_library_known:  # other classes need no import
            is_library_known = True
            for one in library_classes():
                by_name.setdefault(local_name(one), []).append(one)
            found, why = looked_up(each)
        if found is None:
            missing.append((each.name, str(each)))
            continue
        classes.append(found)
        of_library = (known.__module__.startswith(f"{LIBRARY}.") for known in by_name[each.name])
        if why and all(of_library):
            missing.append((each.name, f"{each}: the class in {found.__module__} differs"))
        else:
            differing += [f"{each}: {reason}" for reason in why]
    if missing:
        raise FileLoadError(
            f"{path!r}: {amount(len(missing), 'vertex class', 'vertex classes')} cannot be found",
            found=listed([told for _, told in missing], "vertex classes"),
            fix=f"pass classes or modules: Executable.load({path!r}, "
            f"vertices=[{missing[0][0][:60]}, ...])",
        )
    if differing:
        raise FileLoadError(
            f"{path!r}: the code of vertex classes has changed since it was saved",
            found=listed(differing, "differences"),
            fix="compile and save it again, or pass the classes with which it was saved",
        )
    return classes


def _alike(
    named: NamedClass,
    candidates: Sequence[type[Vertex]],
    code_of: Callable[..., ClassCode],
) -> tuple[type[Vertex], list[str]]:
    """Return the first class with the same code, else the first class, and its differences."""
    reasons: list[list[str]] = []
    for candidate in dict.fromkeys(candidates):
        if candidate.type_variables and not named.elements:
            reasons.append(["a template has that name in this process"])
            continue
        try:
            cls = specialise(candidate, named.elements) if named.elements else candidate
            code = code_of(cls)
        except (VertexCompileError, VertexDefinitionError) as error:
            reasons.append([error.what])
            continue
        if code == named.code:
            return cls, []
        reasons.append(code.differences(named.code))
    return candidates[0], reasons[0]


# -- places to look for classes --------------------------------------------------------------------


def _generated(named: Sequence[NamedClass], codelets: bool) -> Iterator[type[Vertex]]:
    for each in named:
        if each.recipe is None:
            continue
        cls = class_of_recipe(each.recipe, str(each), codelets=codelets)
        if local_name(cls) != each.name:
            raise Malformed(
                f"vertex class {each}: this version of poplite generates {local_name(cls)} instead"
            )
        yield cls


def classes_of_user(
    sources: Iterable[VertexSource], call: str = "Executable.load"
) -> Iterator[type[Vertex]]:
    """Yield the vertex classes that a user passes, directly or as modules."""
    several = items_or_none(sources)
    for source in [sources] if several is None else several:
        if isinstance(source, ModuleType):
            yield from _within(vars(source).values())
        elif inspect.isclass(source) and issubclass(source, Vertex):
            yield source
        else:
            raise ElementTypeError(
                f"vertices must be vertex classes and modules; found {clipped(source)}",
                fix=f"pass {call}(path, vertices=[Axpy, my_module])",
            )


def _within(values: Iterable[object]) -> Iterator[type[Vertex]]:
    """Yield vertex classes among values, and those nested in classes."""
    for value in values:
        if inspect.isclass(value):
            if issubclass(value, Vertex):
                yield value
            yield from _within(
                part
                for part in vars(value).values()
                if inspect.isclass(part) and part.__qualname__.startswith(value.__qualname__ + ".")
            )


def defined_classes(cls: type[Vertex]) -> Iterator[type[Vertex]]:
    """Yield the subclasses of a class, except classes that replace missing ones."""
    for sub in cls.__subclasses__():
        if why_missing(sub) is None:
            yield sub
        yield from defined_classes(sub)


def library_classes() -> Iterator[type[Vertex]]:
    """Yield the classes of `poplite.vertices`."""
    package = importlib.import_module(LIBRARY)
    for module in pkgutil.iter_modules(package.__path__, LIBRARY + "."):
        yield from _within(vars(importlib.import_module(module.name)).values())
