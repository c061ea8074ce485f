"""Source locations: the user's line that created each object.

Errors are only as good as the line they point at, so every variable, compute set,
vertex and program step records the line that created it.  `here()` walks up the stack and out
of the package: the first frame whose module is not part of poplite is the user's.  Modules
of the standard library and of NumPy that call back into poplite are skipped as well.
Walking `sys._getframe` costs a fraction of a microsecond (`inspect.stack` costs
thousands of times that), cheap enough for every vertex; a line that is executed repeatedly
has one `SourceLocation`, looked up by the calling instruction.

Objects that a module of poplite creates during its import, such as vertex classes, get a line of
that module.

A line is a number in a file that may change later.  The size and the time of each file are noted
when its first line is recorded; `files_of` returns hashes only of files that are still the same,
and `text_of` the text of a file only if it has such a hash.

    >>> here().line > 0
    True
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from types import CodeType, FrameType
from typing import Annotated

from poplite.frozen import frozen

_PACKAGE = os.path.dirname(__file__) + os.sep
"""Prefix of the paths of poplite's files."""

_CREATING = frozenset({"__init__", "__new__", "__post_init__", "set_once"})

_INNER = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})
"""Names of code objects that belong to the enclosing function."""

_STANDARD = (os.path.dirname(os.__file__) + os.sep, "<frozen ")
"""Path prefixes of the standard library.  Its frames come between the user's line and poplite in a
`with` statement of `contextlib`, and when `typing`, `types` and `abc` create a class."""

_NUMPYS = re.compile(r"(^|[\\/])(site|dist)-packages[\\/]numpy[\\/]")
"""Matches files of NumPy, whose functions call methods of poplite's objects, as in `np.sum(x)`."""

_INSTALLED = re.compile(r"(^|[\\/])(site|dist)-packages[\\/]")
"""Matches the folder name of installed packages in a path."""


@frozen
class SourceLocation:
    """A place in the user's program.

    Attributes:
        file: path as Python reported it.
        line: line number, from 1.
        function: name of the enclosing function, `<module>` at top level.
        caller: the line that called that function, if that is user code too.

    >>> print(SourceLocation("nets.py", 7, "dense", SourceLocation("model.py", 31, "<module>")))
    nets.py:7 in dense, called at model.py:31
    """

    file: str
    line: int
    function: str
    caller: SourceLocation | None = None

    def getFunctionName(self) -> str:
        """C++ spelling of `function`."""
        return self.function

    def getFileName(self) -> str:
        """C++ spelling of `file`."""
        return self.file

    def getLineNumber(self) -> int:
        """C++ spelling of `line`."""
        return self.line

    def isValid(self) -> bool:
        """Return True: every location refers to a line."""
        return True

    @staticmethod
    def Current() -> SourceLocation:
        """Return the user's line that calls this method.

        >>> SourceLocation.Current().line > 0
        True
        """
        return here()

    @property
    def innermost(self) -> str:
        """The line itself, without its callers."""
        place = f"{shortest(self.file)}:{self.line}"
        return place if self.function == "<module>" else f"{place} in {self.function}"

    def __str__(self) -> str:
        return self.innermost + (f", called at {self.caller}" if self.caller else "")

    @property
    def portable(self) -> str:
        """The location without this machine's absolute paths, for files and shared messages.

        >>> SourceLocation("/home/ada/nets.py", 7, "dense").portable
        'nets.py:7 in dense'
        """
        return _portable(self, _working_directory())


Line = Annotated[str, "line"]
"""A line as `SourceLocation.portable` writes it; "" if unknown."""


@lru_cache(maxsize=1 << 12)
def _portable(location: SourceLocation, folder: str) -> str:
    """Return the text of a location; it depends on `folder`, the working directory."""
    line: SourceLocation | None = location
    lines = []
    while line is not None:
        lines.append(SourceLocation(portable_path(line.file), line.line, line.function))
        line = line.caller
    # Bytes of a path that are not valid UTF-8 appear as surrogates in the string.
    return ", called at ".join(each.innermost for each in lines).encode(errors="replace").decode()


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # it no longer exists
        return ""


def location_from(text: str) -> SourceLocation | None:
    """Return the location that `portable` wrote; None if the text is not a location.

    >>> location_from("nets.py:7 in dense, called at model.py:31")
    SourceLocation(file='nets.py', line=7, function='dense', caller=SourceLocation(file='model.py',\
 line=31, function='<module>', caller=None))
    """
    found: SourceLocation | None = None
    for part in reversed(text.split(", called at ")):
        match = re.fullmatch(r"(.+):(\d+)(?: in (.+))?", part, re.DOTALL)
        if match is None:
            return None
        found = SourceLocation(match[1], int(match[2]), match[3] or "<module>", found)
    return found


def portable_path(file: str) -> str:
    """Return a path relative to the working directory or its package's parent, or the file name.

    Args:
        file: path as Python reported it.

    >>> portable_path(os.path.join(os.path.dirname(__file__), "source.py")).endswith("source.py")
    True
    """
    short = shortest(file)
    return _from_package(short) if os.path.isabs(short) else short


@lru_cache(maxsize=1024)
def _from_package(file: str) -> str:
    """Return the part of an absolute path that starts at the file's outermost package."""
    folder = os.path.dirname(file)
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder = os.path.dirname(folder)
    return os.path.relpath(file, folder)


def shortest(file: str) -> str:
    """Return a path for messages: relative if inside the working directory, else unchanged.

    A notebook cell is named as IPython shows it, `In[3]`, not after the file of its code.

    Args:
        file: path as Python reported it.
    """
    if "IPython" in sys.modules and (cell := _cell(file)):
        return cell
    if not os.path.isabs(file):
        return file
    try:
        path = os.path.relpath(file)
    except (OSError, ValueError):  # no working directory any more; on Windows, another drive
        return file
    return file if path.startswith(os.pardir) else path


def _cell(file: str) -> str:
    """Return `In[3]` for the code of a cell; "" for any other file."""
    shell = sys.modules["IPython"].get_ipython()
    label = getattr(getattr(shell, "compile", None), "format_code_name", None)
    found = label(file) if label else None  # ("Cell", "In[3]")
    return found[1] if found else ""


def here(within: int = 1) -> SourceLocation:
    """Return the location of the innermost stack frame outside the package, with its caller.

    Args:
        within: number of enclosing poplite functions to skip.

    Returns:
        The user's location, or that of a module of poplite that is being imported; that of the
        outermost frame if every frame belongs to poplite.
    """
    if (fixed := _fixed.get()) is not None:
        return fixed
    frame, inside = sys._getframe(within), _inside
    code = frame.f_code
    while True:
        while id(code) in inside and (caller := frame.f_back) is not None:
            frame, code = caller, caller.f_code
        function = frame
        while function.f_code.co_name in _INNER and function.f_back is not None:
            function = function.f_back
        caller = function.f_back
        if caller is None or function.f_code.co_name == "<module>":
            caller, key = None, (id(code), frame.f_lasti, 0, 0)
        else:
            key = id(code), frame.f_lasti, id(caller.f_code), caller.f_lasti
        known = _known.get(key)
        if known is not None:
            return known[1]
        if is_outside(frame) or frame.f_back is None:
            break
        if len(_inside) >= _MOST_KNOWN:
            _inside.clear()
        _inside[id(code)] = code
    outer = None
    if caller is not None and _is_users(caller):
        outer = SourceLocation(caller.f_code.co_filename, caller.f_lineno, caller.f_code.co_name)
        _note(outer.file)
    _note(code.co_filename)
    location = SourceLocation(code.co_filename, frame.f_lineno, code.co_name, outer)
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    _known[key] = (code, caller and caller.f_code), location
    return location


_fixed: ContextVar[SourceLocation | None] = ContextVar("fixed", default=None)


@contextmanager
def lines_as(line: SourceLocation | None) -> Iterator[None]:
    """Let `here()` return a line without a look at the stack; None lets it look there again.

    For calls that create many objects and run no code of the user.
    """
    token = _fixed.set(line)
    try:
        yield
    finally:
        _fixed.reset(token)


def is_shipped(location: SourceLocation) -> bool:
    """Return whether a line belongs to poplite itself, not to the user.

    >>> is_shipped(SourceLocation("nets.py", 7, "dense"))
    False
    """
    return location.file.startswith(_PACKAGE)


def is_outside(frame: FrameType) -> bool:
    """Return whether a frame belongs to the user, or to a poplite module that is being imported."""
    module, code = frame.f_globals.get("__name__", ""), frame.f_code
    if module.partition(".")[0] == "poplite":
        return code.co_name == "<module>"  # it is being imported
    return not _is_standard(code.co_filename) and _NUMPYS.search(code.co_filename) is None


def is_called_by_user() -> bool:
    """Return whether the user's own line calls the class whose object is being created."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_name in _CREATING:
        frame = frame.f_back
    return frame is not None and is_outside(frame)


def _is_users(frame: FrameType) -> bool:
    """Return whether a frame belongs to user code."""
    module, file = frame.f_globals.get("__name__", ""), frame.f_code.co_filename
    if module.partition(".")[0] == "poplite" or file.startswith(_STANDARD):
        return False
    return _INSTALLED.search(file) is None


def _is_standard(file: str) -> bool:
    """Return whether a file belongs to the standard library, not to packages installed below it."""
    return file.startswith(_STANDARD) and _INSTALLED.search(file) is None


_known: dict[
    tuple[int, int, int, int], tuple[tuple[CodeType, CodeType | None], SourceLocation]
] = {}
"""Locations, keyed by code id and instruction of a line and of its caller.  An entry keeps its code
objects alive, so that their ids cannot be reused; `==` of code objects does not compare their
files."""

_inside: dict[int, CodeType] = {}
"""Code objects that are not user code, keyed by id: those of poplite and libraries that call it."""

_MOST_KNOWN = 1024
"""Maximum number of locations, with their code, that are cached."""

# -- files of lines --------------------------------------------------------------------------------


@frozen
class SourceFile:
    """A file of the user's lines, as it was when the first of them was recorded.

    Attributes:
        name: its path, as lines write it.
        size: the number of its bytes.
        digest: the SHA-256 of its content, in hexadecimal digits.
    """

    name: str
    size: int
    digest: str


def files_of(lines: Iterable[SourceLocation]) -> tuple[SourceFile, ...]:
    """Return the files of lines and their callers, by name.

    Left out are files that cannot be read, or have changed since their first line was recorded;
    those of lines that come from a saved file; and all of several files with the same name.
    """
    named: dict[str, set[str]] = defaultdict(set)
    for path in {each.file for line in lines for each in (line, line.caller) if each}:
        named[portable_path(path)].add(path)
    paths = {name: found.pop() for name, found in sorted(named.items()) if len(found) == 1}
    files = ((name, _content(path)) for name, path in paths.items())
    return tuple(SourceFile(name, len(c), _digest(c)) for name, c in files if c is not None)


def text_of(file: SourceFile) -> bytes | None:
    """Return the content of a file, which is empty if it has changed; None if it is not there.

    It is looked for in the working directory, and where the lines of this process come from.
    """
    paths = [file.name, *(path for path in _stamps if portable_path(path) == file.name)]
    contents = [content for path in paths if (content := _read(path)) is not None]
    same = (content for content in contents if _digest(content) == file.digest)
    return next(same, b"" if contents else None)


def _digest(content: bytes) -> str:
    import hashlib  # not needed until a report is saved or shown

    return hashlib.sha256(content).hexdigest()


def _content(path: str) -> bytes | None:
    """Return the content of a file if it is as it was noted."""
    noted = _stamps.get(path)
    content = None if noted is None else _read(path)
    return content if noted == _stamp(path) else None


def _read(path: str) -> bytes | None:
    """Return the content of a regular file; None if it cannot be read."""
    if _stamp(path) is None:
        return None
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def _stamp(path: str) -> tuple[int, int] | None:
    """Return time and size of a regular file, which can be read again; None for any other."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return (found.st_mtime_ns, found.st_size) if stat.S_ISREG(found.st_mode) else None


def _note(path: str) -> None:
    if path not in _stamps:
        _stamps[path] = _stamp(path)


_stamps: dict[str, tuple[int, int] | None] = {}
"""Time and size of each file when its first line was recorded."""
