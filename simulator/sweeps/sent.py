"""The function that builds a point, as it goes to other processes.

What can be imported goes by its name, and all else by value with cloudpickle: functions of a
script with the globals that they use, as these are now.  A function arrives with its file's name,
and the file's text goes along, so that vertex classes inside it have their text there.
"""

from __future__ import annotations

import copyreg
import io
import linecache
import pickle
import sys
from collections import ChainMap
from collections.abc import Callable
from contextvars import ContextVar
from functools import lru_cache
from importlib import import_module
from types import CellType, CodeType, FunctionType
from typing import Any

from poplite.errors import ControlProgramError, DeviceRuntimeError
from poplite.simulator.sweeps.sent_class import reduced
from poplite.simulator.sweeps.sent_function import is_importable, reduced_cell, reduced_function
from poplite.simulator.sweeps.warned import filters
from poplite.source import SourceLocation, here
from poplite.vertex.vertex import Vertex


class Sent:
    """A build that is pickled as its contents, once for all points."""

    def __init__(self, build: Callable[..., object]) -> None:
        self.build, self.at, self.rules = build, here(), filters()
        self._contents = b""

    def __call__(self, **point: Any) -> object:
        """Build in this process, as threads do."""
        return self.build(**point)

    def contents(self) -> bytes:
        """Return the build and the texts of its files.

        Raises `DeviceRuntimeError` for what cannot be sent, such as a lock, and where cloudpickle
        is missing; `ControlProgramError` for a vertex class without its text.
        """
        if not self._contents:
            try:
                self._contents = _pickled((self.build, self.rules, self.at))
            except ControlProgramError as error:
                error.at = self.at
                raise
            except ImportError as error:
                raise DeviceRuntimeError(
                    "sweep: other processes take cloudpickle, which is not installed",
                    at=self.at,
                    fix="pip install 'poplite[sweep]'; workers=1 runs all points in this process",
                ) from error
            except Exception as error:
                raise DeviceRuntimeError(
                    "sweep: build cannot be sent to workers",
                    at=self.at,
                    found=str(error),
                    fix="a build that opens by itself what it needs of files, locks and processes",
                ) from error
        return self._contents

    def __reduce__(self) -> tuple[object, ...]:
        return Received, (self.contents(),)


class Received:
    """The same in a worker."""

    def __init__(self, contents: bytes) -> None:
        self._contents = contents

    def opened(self) -> tuple[Callable[..., object], list[Any], SourceLocation]:
        """Return the build, the same for all points of a sweep, its filters of warnings, its line.

        Raises `DeviceRuntimeError` where a module is missing here.
        """
        token = _is_opening.set(True)
        try:
            return _opened(self._contents)
        except ImportError as error:
            raise DeviceRuntimeError(
                "sweep: a worker cannot import what build needs",
                at=None,
                found=str(error),
                fix="install it where the workers are; a dask client has upload_file('parts.py')",
            ) from error
        finally:
            _is_opening.reset(token)


_is_opening: ContextVar[bool] = ContextVar("_is_opening", default=False)
"""Whether what was sent is being imported in a worker."""


def check_not_imported_by_worker() -> None:
    """Refuse a sweep that a worker meets as it imports `build`: each would start more workers."""
    if _is_opening.get():
        raise ControlProgramError(
            "sweep: a worker of this sweep came upon it again",
            found="workers import the module of build, and this call is made by importing it",
            fix="if __name__ == '__main__': above the call; or a function that makes it",
        )


def _pickled(sent: tuple[object, ...]) -> bytes:
    cloudpickle: Any = import_module("cloudpickle")
    table: Any = cloudpickle.Pickler.dispatch_table
    files: dict[str, list[str]] = {}

    def with_file(code: CodeType) -> tuple[object, ...]:
        """Reduce code without losing its file, where the text of that is known."""
        make, arguments = table[CodeType](code)[:2]
        if code.co_filename not in files:
            linecache.checkcache(code.co_filename)
            files[code.co_filename] = linecache.getlines(code.co_filename)
        if not files[code.co_filename]:
            return make, arguments
        return _of_file, (make, arguments, code.co_filename)

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        dispatch_table = ChainMap({CodeType: with_file, CellType: reduced_cell}, table)

        def reducer_override(self, value: Any) -> Any:
            if isinstance(value, type(Vertex)):
                name = copyreg.dispatch_table[type(Vertex)](value)
                if not isinstance(name, str) and _is_importable(name[1][0]):
                    return name  # of a template, by which it is made
                return value.__qualname__ if _is_importable(value) else reduced(value)
            made = super().reducer_override(value)
            if isinstance(value, FunctionType) and isinstance(made, tuple):
                return reduced_function(value, made)
            return made

    Pickler(file := io.BytesIO(), pickle.HIGHEST_PROTOCOL).dump(sent)
    texts = {name: lines for name, lines in files.items() if lines}
    return pickle.dumps((texts, file.getvalue()))


def _is_importable(cls: type[Vertex]) -> bool:
    if not is_importable(cls.__module__):
        return False
    found: Any = sys.modules[cls.__module__]
    for part in cls.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is cls


def _of_file(make: Callable[..., CodeType], arguments: tuple[Any, ...], file: str) -> CodeType:
    return make(*arguments).replace(co_filename=file)


@lru_cache(maxsize=1)
def _opened(contents: bytes) -> tuple[Callable[..., object], list[Any], SourceLocation]:
    texts, sent = pickle.loads(contents)  # noqa: S301
    for file, lines in texts.items():
        if linecache.getlines(file) != lines:  # the file may be elsewhere, or not be there
            linecache.cache[file] = sum(map(len, lines)), None, lines, file
    build, rules, at = pickle.loads(sent)  # noqa: S301
    return build, rules, at
