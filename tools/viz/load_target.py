"""Load TARGET: `file.py:callable` or `module:callable`, or a graph that `graph.save` wrote.

The callable returns a Graph or (Graph, programs), where programs are as for `Engine`: a Program, or
several by name or in a list; further items of a tuple (the tensors that a user reads and writes)
are for `load_tensors` alone. A saved graph is only read; nothing in it is executed.

The user's code runs here, so its errors are reported as the user's, with the user's line. Its
output goes to standard error, since standard output is for the picture. An argument parser in the
user's code does not see the arguments of the command: the script appears to be run without any.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import sys
import traceback
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from poplite.errors import FileLoadError, PopliteError, did_you_mean, listed
from poplite.source import SourceLocation
from poplite.tools.viz.flags import Written, file_error, name_error, value_of
from poplite.tools.viz.progress import doing

if TYPE_CHECKING:
    from poplite.graph.graph import Graph
    from poplite.graph.tensor.tensor import Tensor
    from poplite.program import Program

_RETURN = (
    "def build() -> Graph: ... return graph"
    "   (or return graph, program, or return graph, {'name': program})"
)


def load_target(
    target: str,
    given: Iterable[tuple[str, object]] = (),
    name: str | None = None,
    vertices: Iterable[str] = (),
) -> tuple[Graph, Program | None]:
    """Build the graph that a target names, with its program if it has one.

    Several programs become one that runs each of them once, in order, unless `name` selects one of
    them.  Raises as `load_programs` does.

    >>> load_target("no_such_file.py:build")
    Traceback (most recent call last):
    poplite.errors.FileLoadError: there is no file 'no_such_file.py'...
    """
    graph, programs = load_programs(target, given, vertices, name)
    return graph, in_order(programs)


def in_order(programs: Mapping[str, Program]) -> Program | None:
    """Return one program that runs each of several once, or the only one; None for none."""
    from poplite.program import Sequence

    several = list(programs.values())
    return Sequence(*several) if len(several) > 1 else next(iter(several), None)


def first_steps(programs: Mapping[str, Program]) -> dict[str, int]:
    """Return the number of each program's first step; reports number the steps of all programs."""
    counts = [program.num_steps for program in programs.values()]
    return dict(zip(programs, accumulate(counts, initial=1), strict=False))


def program_named(programs: Mapping[str, Program], name: str, target: str) -> Program:
    """Return a program of a target by name; raise UnknownName if there is no such program."""
    if name in programs:
        return programs[name]
    if not programs:
        raise name_error(
            f"there is no program {name!r}, since {target!r} returned a Graph alone", fix=_RETURN
        )
    raise name_error(
        f"there is no program {name!r}{did_you_mean(name, programs)}",
        found=f"the programs are {', '.join(map(repr, programs))}",
        fix=f"pass --program {next(iter(programs))}",
    )


def is_graph_file(target: str) -> bool:
    """Return whether a target is a file that `graph.save` wrote."""
    if target.endswith(".py") or not (Path(target).is_file() and zipfile.is_zipfile(target)):
        return False
    from poplite.executable.graph_file import is_saved_graph

    return is_saved_graph(target)


def load_programs(
    target: str,
    given: Iterable[tuple[str, object]] = (),
    vertices: Iterable[str] = (),
    name: str | None = None,
) -> tuple[Graph, dict[str, Program]]:
    """Build the graph that a target names, and its programs, with the names that an engine uses.

    The callable gets the given arguments by name.  A file that `graph.save` wrote is read instead;
    `vertices` are Python files or modules with its vertex classes.  `name` selects one of the
    programs.

    Raises FileLoadError if the file or module cannot be run, or the callable raises, and
    UnknownName if there is no such callable or program, or it takes no such argument.
    """
    if is_graph_file(target):
        doing(f"reading {target}")
        graph, programs = _read(target, given, vertices)
    else:
        doing(f"building {target}")
        graph, programs = _checked(_returned(target, given), target)
    if name is not None:
        programs = {name: program_named(programs, name, target)}
    return graph, programs


def load_tensors(target: str, given: Iterable[tuple[str, object]] = ()) -> dict[str, Tensor]:
    """Return the tensors that the callable of a target returns beside the graph, by name.

    They may be items of a tuple or list, entries of a mapping, or fields of a dataclass.
    Raises as `load_programs` does.
    """
    result = _returned(target, given)
    _checked(result, target)
    return dict(_tensors_in(result, ""))


def _tensors_in(value: object, name: str) -> Iterator[tuple[str, Tensor]]:
    from poplite.graph.tensor.tensor import Tensor
    from poplite.graph.tensor.tensor_text import made_from

    below: Iterable[tuple[str, object]] = ()
    if isinstance(value, Tensor):
        yield name or made_from(value), value
    elif isinstance(value, Mapping):
        below = ((f"{name}.{key}" if name else f"{key}", each) for key, each in value.items())
    elif isinstance(value, list | tuple):
        below = ((f"{name}[{k}]" if name else "", each) for k, each in enumerate(value))
    elif is_dataclass(value):
        names = (field.name for field in fields(value))
        below = ((f"{name}.{each}" if name else each, getattr(value, each)) for each in names)
    for label, each in below:
        yield from _tensors_in(each, label)


def _returned(target: str, given: Iterable[tuple[str, object]]) -> object:
    place, _, name = target.rpartition(":")
    module = load_module(place)
    with contextlib.redirect_stdout(sys.stderr), _without_arguments(place):
        build = _find(module, place, name)
        return _call(build, f"{place}:{name}", dict(given))


def _read(
    path: str, given: Iterable[tuple[str, object]], vertices: Iterable[str]
) -> tuple[Graph, dict[str, Program]]:
    from poplite.graph.graph import Graph

    if list(given):
        raise file_error(
            f"--arg needs a callable, but {path!r} is a saved graph",
            fix="leave out --arg, or pass file.py:callable",
        )
    return Graph.load(path, [load_module(place) for place in vertices])


def load_module(place: str) -> ModuleType:
    """Run a Python file, or import a module; raise FileLoadError if that fails."""
    with contextlib.redirect_stdout(sys.stderr), _without_arguments(place):
        return _load_file(place) if place.endswith(".py") else _load_module(place)


@contextlib.contextmanager
def _without_arguments(place: str) -> Iterator[None]:
    ours, sys.argv = sys.argv, [place]
    try:
        yield
    finally:
        sys.argv = ours


def _load_file(place: str) -> ModuleType:
    path = Path(place)
    if not path.is_file():
        folder = path.parent
        scripts = sorted(p.name for p in folder.glob("*.py")) if folder.is_dir() else []
        found = f"Python files in {str(folder)!r}: {', '.join(scripts[:5])}" if scripts else ""
        raise file_error(
            f"there is no file {place!r}{did_you_mean(path.name, scripts)}",
            found=found,
            fix="pass the path of a Python file, relative to the current folder",
        )
    # Modules next to the file can be imported, as for a script.
    folder_name = str(path.resolve().parent)
    if folder_name not in sys.path:
        sys.path.insert(0, folder_name)
    name = path.stem if path.stem not in sys.modules else f"{path.stem}_target"
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # vertex classes look up their module
    loader = spec.loader
    _guarded(lambda: loader.exec_module(module), place, "cannot be run")
    return module


def _load_module(place: str) -> ModuleType:
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        known = importlib.util.find_spec(place) is not None
    except (ImportError, ValueError):
        known = False
    if not known:
        raise file_error(
            f"there is no module {place!r}",
            found=f"it is neither in {folder!r} nor among Python's packages",
            fix=f"pass {place}.py:NAME if it is a file, or install its package",
        )
    module: ModuleType = _guarded(
        lambda: importlib.import_module(place), place, "cannot be imported"
    )
    return module


def _find(module: ModuleType, place: str, name: str) -> Callable[..., object]:
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            known = _defined(found, module)
            raise name_error(
                f"{place!r} has no {part!r}{did_you_mean(part, known)}",
                found=f"it defines:\n{listed(known, 'names')}" if known else "it defines nothing",
                fix=f"pass {place}:{known[0]}" if known else _RETURN,
            )
        found = getattr(found, part)
    if not callable(found):
        raise name_error(
            f"'{place}:{name}' must be a callable; found {_described(found)}", fix=_RETURN
        )
    return found  # type: ignore[no-any-return]  # the user's object, any callable


def _defined(owner: Any, module: ModuleType) -> list[str]:
    """Return the names of functions and classes that a module defines, functions first."""
    own = {
        key: value
        for key, value in vars(owner).items()
        if callable(value) and getattr(value, "__module__", "") == module.__name__
    }
    return sorted(own, key=lambda key: inspect.isclass(own[key]))


def _call(build: Callable[..., object], target: str, given: dict[str, object]) -> object:
    try:
        parameters = list(inspect.signature(build).parameters.values())
    except (TypeError, ValueError):  # a callable written in C has no signature
        return _guarded(partial(build, **_read_as(given, [])), target, "raised")
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    known = [p.name for p in named]
    unknown = [name for name in given if name not in known]
    if unknown and not any(p.kind is p.VAR_KEYWORD for p in parameters):
        raise name_error(
            f"{target!r} takes no argument {unknown[0]!r}{did_you_mean(unknown[0], known)}",
            found=f"it takes {', '.join(map(repr, known))}" if known else "it takes no arguments",
            fix=f"pass --arg {known[0]}=..." if known else "leave out --arg",
        )
    needed = [p.name for p in named if p.default is p.empty and p.name not in given]
    needed += [p.name for p in parameters if p.kind is p.POSITIONAL_ONLY and p.default is p.empty]
    if needed:
        less = "these arguments" if given else "arguments"
        raise file_error(
            f"{target!r} is called {'with' if given else 'without'} {less} but needs "
            f"{', '.join(map(repr, needed))}",
            fix=f"pass --arg {needed[0]}=VALUE, or give it a default",
        )
    return _guarded(partial(build, **_read_as(given, parameters)), target, "raised")


def _read_as(
    given: Mapping[str, object], parameters: Iterable[inspect.Parameter]
) -> dict[str, object]:
    """Return values; those from the command line are converted to declared parameter types."""
    declared = {each.name: each.annotation for each in parameters}
    return {
        name: value_of(value, declared.get(name)) if isinstance(value, Written) else value
        for name, value in given.items()
    }


def _guarded(action: Callable[[], Any], what: str, verb: str) -> Any:
    """Run the user's code; convert its exceptions to an error with the user's line."""
    try:
        return action()
    except (Exception, SystemExit) as error:
        raise _their_fault(error, what, verb) from error


def _their_fault(error: BaseException, what: str, verb: str) -> FileLoadError:
    kind = type(error).__name__
    head = f"{what!r} {verb} {kind}" if verb == "raised" else f"{what!r} {verb}: {kind}"
    if isinstance(error, SyntaxError) and error.filename:
        line = SourceLocation(error.filename, error.lineno or 1, "<module>")
        return FileLoadError(f"{head}: {error.msg}", at=line, fix="correct that line")
    at = _their_line(error)
    if isinstance(error, PopliteError):
        return FileLoadError(
            f"{head}: {error.what}",
            at=error.at or at,
            where=error.where,
            found=error.found,
            fix=error.fix,
        )
    if isinstance(error, SystemExit):
        fix = "put code that ends the program under  if __name__ == '__main__':"
        return FileLoadError(f"{head}: {error}", at=at, fix=fix)
    lines = str(error).splitlines() or ["no message"]
    return FileLoadError(
        f"{head}: {lines[0]}",
        at=at,
        found="\n".join(lines[1:]),
        fix="correct that line; --traceback shows how it was reached",
    )


def _their_line(error: BaseException) -> SourceLocation | None:
    """Return the innermost line of the traceback outside poplite and the import system."""
    place: SourceLocation | None = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        module = frame.f_globals.get("__name__", "")
        code = frame.f_code
        if not module.startswith("poplite.") and not code.co_filename.startswith("<frozen"):
            place = SourceLocation(code.co_filename, line, code.co_name)
    return place


def _checked(result: object, target: str) -> tuple[Graph, dict[str, Program]]:
    from poplite.graph.graph import Graph
    from poplite.program import Program

    found = ""
    match result:
        case Graph():
            return result, {}
        case (Graph() as graph, Program() as program, *_):
            return graph, {"0": program}
        case (Graph() as graph, Mapping() | list() as several, *_):
            if isinstance(several, list):
                several = {str(number): each for number, each in enumerate(several)}
            for name, program in several.items():
                if not isinstance(name, str):
                    found = f"the name of a program is {_described(name)}"
                elif not isinstance(program, Program):
                    found = f"its program {name!r} is {_described(program)}"
            if not found:
                return graph, dict(several)
    raise file_error(
        f"{target!r} must return a Graph or (Graph, Program); found {_described(result)}",
        found=found,
        fix=_RETURN,
    )


def _described(result: object) -> str:
    if isinstance(result, tuple):
        return f"a tuple of ({', '.join(type(item).__name__ for item in result)})"
    if result is None:
        return "None"
    name = type(result).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"
