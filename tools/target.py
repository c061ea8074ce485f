"""Loading TARGET: `file.py:callable` or `module:callable`.

The user's code runs here, so whatever it does wrong is told as the user's mistake, with
the user's line, and not as ours.  What it prints goes to standard error: standard output
is the picture's.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from poplite.errors import FileLoadError, PopliteError, UnknownName, did_you_mean, listed
from poplite.source import SourceLocation

if TYPE_CHECKING:
    from poplite.graph import Graph
    from poplite.program import Program

_OURS = Path(__file__).resolve().parent
_RETURN = "def build() -> Graph: ... return graph   (or return graph, program)"


def load_target(target: str) -> tuple[Graph, Program | None]:
    """Build the graph that a target names.

    Args:
        target: `file.py:callable` or `module:callable`.

    Returns:
        The graph, and the program when the callable returns one.

    Raises:
        FileLoadError: when the file or module cannot be run, or the callable raises.
        UnknownName: when there is no such callable.

    >>> load_target("no_such_file.py:build")
    Traceback (most recent call last):
    poplite.errors.FileLoadError: there is no file 'no_such_file.py' ...
    """
    place, _, name = target.rpartition(":")
    with contextlib.redirect_stdout(sys.stderr):
        module = _load_file(place) if place.endswith(".py") else _load_module(place)
        build = _find(module, place, name)
        result = _call(build, f"{place}:{name}")
    return _checked(result, f"{place}:{name}")


def _load_file(place: str) -> ModuleType:
    path = Path(place)
    if not path.is_file():
        what = "is a folder, not a file" if path.is_dir() else f"no file {place!r}"
        folder = path.parent
        scripts = sorted(p.name for p in folder.glob("*.py")) if folder.is_dir() else []
        found = f"Python files in {str(folder)!r}: {', '.join(scripts[:5])}" if scripts else ""
        raise FileLoadError(
            f"{place!r} {what}" if path.is_dir() else f"there is {what}"
            + did_you_mean(path.name, scripts),
            found=found,
            fix="give the path of a Python file, from the folder you are in",
        )
    # As Python does for a script: what lies beside it can be imported.
    folder_name = str(path.resolve().parent)
    if folder_name not in sys.path:
        sys.path.insert(0, folder_name)
    name = path.stem if path.stem not in sys.modules else f"{path.stem}_target"
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # vertex classes look their module up
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
        raise FileLoadError(
            f"there is no module {place!r}",
            found=f"looked in {folder!r} and where Python finds its packages",
            fix=f"{place}.py:NAME if it is a file, or install the package it is in",
        )
    module: ModuleType = _guarded(
        lambda: importlib.import_module(place), place, "cannot be imported"
    )
    return module


def _find(module: ModuleType, place: str, name: str) -> Callable[..., object]:
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            known = [
                key
                for key, value in vars(found).items()
                if callable(value) and getattr(value, "__module__", "") == module.__name__
            ]
            raise UnknownName(
                f"{place!r} has no {part!r}{did_you_mean(part, known)}",
                found=f"it defines:\n{listed(known, 'names')}" if known else "it defines nothing",
                fix=f"{place}:{known[0]}" if known else _RETURN,
            )
        found = getattr(found, part)
    if not callable(found):
        raise UnknownName(
            f"'{place}:{name}' is a {type(found).__name__}, not a callable",
            fix=_RETURN,
        )
    return found  # type: ignore[no-any-return]  # a user's object: anything callable


def _call(build: Callable[..., object], target: str) -> object:
    try:
        needed = [
            p.name
            for p in inspect.signature(build).parameters.values()
            if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        ]
    except (TypeError, ValueError):  # a callable written in C has no signature
        needed = []
    if needed:
        raise FileLoadError(
            f"{target!r} needs {len(needed)} arguments but is called with none",
            found=f"without a default: {', '.join(needed)}",
            fix="give them defaults, or name a function that fills them in",
        )
    return _guarded(build, target, "raised")


def _guarded(action: Callable[[], Any], what: str, verb: str) -> Any:
    """Run the user's code; turn what it raises into an error with the user's line."""
    try:
        return action()
    except (Exception, SystemExit) as error:
        raise _their_fault(error, what, verb) from error


def _their_fault(error: BaseException, what: str, verb: str) -> FileLoadError:
    kind = type(error).__name__
    head = f"{what!r} {verb} {kind}" if verb == "raised" else f"{what!r} {verb}: {kind}"
    if isinstance(error, SyntaxError) and error.filename:
        at = SourceLocation(error.filename, error.lineno or 1, "<module>")
        return FileLoadError(f"{head}: {error.msg}", at=at, fix="correct that line")
    at = _their_line(error)
    if isinstance(error, PopliteError):
        return FileLoadError(head, at=at, found=str(error), fix="see above")
    if isinstance(error, SystemExit):
        fix = "keep what ends the program under  if __name__ == '__main__':"
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
    package = str(_OURS.parent)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = frame.filename
        ours = path.startswith((package, "<frozen")) and "examples" not in path
        if not ours and frame.lineno is not None:
            return SourceLocation(path, frame.lineno, frame.name)
    return None


def _checked(result: object, target: str) -> tuple[Graph, Program | None]:
    from poplite.graph import Graph
    from poplite.program import Program

    match result:
        case Graph():
            return result, None
        case (Graph() as graph, Program() as program):
            return graph, program
    raise FileLoadError(
        f"{target!r} returned {_described(result)}, not a Graph or (Graph, Program)",
        fix=_RETURN,
    )


def _described(result: object) -> str:
    if isinstance(result, tuple):
        return f"a tuple of ({', '.join(type(item).__name__ for item in result)})"
    return "None" if result is None else f"a {type(result).__name__}"
