"""Send the function that builds a point of a sweep to other processes.

Importable objects are sent by name, and all others by value with cloudpickle: functions of a script
with the current values of the globals that they use. A function arrives with its file's name, and
the file's text is sent along, so that vertex classes inside it have their source.

A vertex class is sent with its current contents::

    class Scale(pl.Vertex):                name, bases
        x: pl.Input[pl.FLOAT]              fields, as they were made here
        def compute(self) -> None: ...     functions, whose code has its file and line
    Scale.factor = 2                       and changes that the script made to the class

No statement of the script runs again in a worker, nor does `__init_subclass__` or a decorator,
since their effects arrive with the class and with the globals that they changed.

Some parts of functions are handled here because cloudpickle omits or duplicates them::

    def make(k):
        def more(): nonlocal k; k += 1
        def build(): return k       one variable `k`, for all functions that share it
    def build():
        class V(pl.Vertex):
            x: pl.Input[KIND]       names that only a class statement needs: `KIND`

Functions of a script share one dictionary of globals in a worker, which cloudpickle provides. A
function nested in a module's function has that module's globals, shared with its other functions.

Warnings are sent back, and issued once, by the filters of this process::

    warnings.simplefilter("error")     a point that warns fails, as it does here
    script.py:31                       each text is issued once per line

Otherwise each worker would issue them again, and quote a line of the code that runs workers.
"""

from __future__ import annotations

import ast
import copyreg
import dis
import io
import linecache
import pickle
import sys
import threading
import warnings
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from functools import lru_cache
from importlib import import_module
from inspect import CO_OPTIMIZED
from types import CellType, CodeType, FunctionType
from typing import Any, TypeVar, cast

from poplite.errors import ControlProgramError, DeviceRuntimeError
from poplite.source import SourceLocation, here
from poplite.vertex.compute.source_text import nested, why_no_text
from poplite.vertex.vertex import Vertex

# -- functions -------------------------------------------------------------------------------------


_LOADS = frozenset({"LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"})


def reduced_cell(cell: CellType) -> tuple[object, ...]:
    """Return the `pickle` reduction of a variable that functions share."""
    if cell == CellType():
        return CellType, ()
    return CellType, (), (cell.cell_contents,), None, None, _fill_cell


def reduced_function(function: FunctionType, made: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the `pickle` reduction of a function that cloudpickle would send by value."""
    make, (code, own_globals, *rest, _), (attributes, slots), *others = made
    used = slots["__globals__"] | {
        each: function.__globals__[each]
        for each in _names_of_classes(code)
        if each in function.__globals__
    }
    name = function.__module__
    if is_importable(name) and vars(sys.modules[name]) is function.__globals__:
        own_globals, used = _Globals(name), {}
    arguments = code, own_globals, *rest, function.__closure__
    return make, arguments, (attributes, slots | {"__globals__": used}), *others


def is_importable(module: str | None) -> bool:
    """Return whether other processes can import a module; one run by `runpy` has no spec."""
    found = sys.modules.get(module or "__main__")
    return module != "__main__" and getattr(found, "__spec__", None) is not None


class _Globals:
    """The globals of a module, which a function gets on arrival."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __reduce__(self) -> tuple[object, ...]:
        return _globals_of, (self._module,)


def _globals_of(module: str) -> dict[str, Any]:
    return vars(import_module(module))


def _names_of_classes(code: CodeType) -> Iterator[str]:
    """Yield the globals that class statements in a function name, also in strings."""
    for each in nested(code):
        if each.co_flags & CO_OPTIMIZED:  # code of a function, whose globals cloudpickle finds
            continue
        for step in dis.get_instructions(each):
            if step.opname in _LOADS:
                yield step.argval
            elif step.opname == "LOAD_CONST" and isinstance(step.argval, str):
                yield from _names_of_text(step.argval)


def _names_of_text(text: str) -> Iterator[str]:
    """Yield the names in a string that may be an annotation."""
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError:
        return
    for each in ast.walk(tree):
        if isinstance(each, ast.Name):
            yield each.id
        elif isinstance(each, ast.Constant) and isinstance(each.value, str) and each.value != text:
            yield from _names_of_text(each.value)


def _fill_cell(cell: CellType, contents: tuple[object]) -> None:
    (cell.cell_contents,) = contents


# -- warnings --------------------------------------------------------------------------------------


WarningThere = tuple[str, type[Warning], str, int]
"""Text, kind, file and line of a warning."""

T = TypeVar("T")


def filters() -> list[Any]:
    """Return the current warning filters of this process."""
    return list(warnings.filters)


def gathered(
    run: Callable[[], T], rules: Sequence[Any], at: SourceLocation
) -> tuple[T, list[WarningThere]]:
    """Return the result of `run` and its warnings; warnings without a user's line get line `at`.

    A thread other than the main one must not change the filters of its process, which issues its
    warnings itself.
    """
    if threading.current_thread() is not threading.main_thread():
        return run(), []
    outside = here()
    with warnings.catch_warnings(record=True) as caught:
        warnings.resetwarnings()
        cast("list[Any]", warnings.filters).extend(rules)
        result = run()
    given = []
    for each in caught:
        file, line = each.filename, each.lineno
        if (file, line) == (outside.file, outside.line):
            file, line = at.file, at.line
        given.append((str(each.message), _known(each.category), file, line))
    return result, given


def _known(kind: type[Warning]) -> type[Warning]:
    """Return the nearest base class of a warning that has a name in all processes."""
    return next(each for each in kind.__mro__ if is_importable(each.__module__))


def tell(given: Sequence[WarningThere], told: set[WarningThere]) -> None:
    """Issue warnings in this process, except those already `told`."""
    for each in given:
        if each not in told:
            told.add(each)
            text, kind, file, line = each
            warnings.warn_explicit(text, kind, file, line)


# -- classes ---------------------------------------------------------------------------------------


_OF_PYTHON = frozenset({"__dict__", "__weakref__", "__annotate_func__", "__annotations_cache__"})
"""Attributes that Python makes for each class, which cannot be transferred."""


def reduced(cls: type[Vertex]) -> tuple[object, ...]:
    """Return the `pickle` reduction of a class that cannot be imported.

    Raises `ControlProgramError` if the file of a function has changed in the meantime.
    """
    for function in _functions(vars(cls)):
        if not _has_text(function.__code__):
            found, fix = why_no_text(function)
            raise _refusal(cls.__name__, f"class {cls.__name__} ({cls.location}): {found}", fix)
    state = {name: value for name, value in vars(cls).items() if name not in _OF_PYTHON}
    state["__qualname__"] = cls.__qualname__
    return _made, (type(cls), cls.__name__, cls.__bases__, cls.__base__), state, None, None, _fill


def _refusal(name: str, found: str, fix: str) -> ControlProgramError:
    return ControlProgramError(
        f"sweep: vertex class '{name}' of the script cannot be sent to workers",
        at=None,
        found=found,
        fix=f"{fix}; or pass workers=1 to run all points in this process",
    )


def _functions(attributes: Mapping[str, object]) -> Iterator[FunctionType]:
    for value in attributes.values():
        inner = getattr(value, "__func__", value)
        if isinstance(inner, FunctionType):
            yield inner


def _has_text(code: CodeType) -> bool:
    """Return whether a file still has the source of a function; True if it had none."""
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename)
    if not lines or "@pytest_ar" in code.co_names:  # pytest runs code that differs from the source
        return True
    try:
        module = compile("".join(lines), code.co_filename, "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return code in nested(module)


def _made(kind: type[type], name: str, bases: tuple[type, ...], base: type) -> type:
    """Return a class without attributes, made without calling `__init_subclass__`.

    A stand-in is made first and then gets its bases, which Python allows if the stand-in has the
    memory layout of `base`, the base that determines the layout.
    """
    while base.__base__ and _places(base) == _places(base.__base__):  # the base that added a slot
        base = base.__base__
    offsets = {"__dict__": base.__dictoffset__, "__weakref__": base.__weakrefoffset__}
    slots = tuple(each for each, offset in offsets.items() if offset)
    stand_in = type("Base", (base.__base__ or object,), {"__slots__": slots})
    made = type.__new__(kind, name, (stand_in,), {})
    try:
        made.__bases__ = bases
    except TypeError as error:
        raise _refusal(name, str(error), "bases without __slots__") from error
    return made


def _places(cls: type) -> tuple[int, int, int]:
    return cls.__basicsize__, cls.__dictoffset__, cls.__weakrefoffset__


def _fill(cls: type, state: dict[str, object]) -> None:
    for name, value in state.items():
        type.__setattr__(cls, name, value)


# -- the build -------------------------------------------------------------------------------------


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

        Raises `DeviceRuntimeError` for objects that cannot be sent, such as a lock, and if
        cloudpickle is missing; `ControlProgramError` for a vertex class without source.
        """
        if not self._contents:
            try:
                self._contents = _pickled((self.build, self.rules, self.at))
            except ControlProgramError as error:
                error.at = self.at
                raise
            except ImportError as error:
                raise DeviceRuntimeError(
                    "sweep: other processes need cloudpickle, which is not installed",
                    at=self.at,
                    fix="run pip install 'poplite[sweep]'; or pass workers=1 to use only this "
                    "process",
                ) from error
            except Exception as error:
                raise DeviceRuntimeError(
                    "sweep: build cannot be sent to workers",
                    at=self.at,
                    found=str(error),
                    fix="let build open the files, locks and processes that it needs itself",
                ) from error
        return self._contents

    def __reduce__(self) -> tuple[object, ...]:
        return Received, (self.contents(),)


class Received:
    """A build as received in a worker."""

    def __init__(self, contents: bytes) -> None:
        self._contents = contents

    def opened(self) -> tuple[Callable[..., object], list[Any], SourceLocation]:
        """Return the build, the same for all points of a sweep, its filters of warnings, its line.

        Raises `DeviceRuntimeError` if a module is missing here.
        """
        token = _is_opening.set(True)
        try:
            return _opened(self._contents)
        except ImportError as error:
            raise DeviceRuntimeError(
                "sweep: a worker cannot import a module that build needs",
                at=None,
                found=str(error),
                fix="install it for the workers; a dask client has upload_file('parts.py')",
            ) from error
        finally:
            _is_opening.reset(token)


_is_opening: ContextVar[bool] = ContextVar("_is_opening", default=False)
"""Whether a worker is currently importing a received build."""


def check_not_imported_by_worker() -> None:
    """Reject a sweep that a worker makes while it imports `build`: it would start more workers."""
    if _is_opening.get():
        raise ControlProgramError(
            "sweep: a worker of this sweep made the same call again",
            found="workers import the module of build, and importing it makes this call",
            fix="put if __name__ == '__main__': above the call, or make it in a function",
        )


def _pickled(sent: tuple[object, ...]) -> bytes:
    cloudpickle: Any = import_module("cloudpickle")
    table: Any = cloudpickle.Pickler.dispatch_table
    files: dict[str, list[str]] = {}

    def with_file(code: CodeType) -> tuple[object, ...]:
        """Reduce code with its file, if the file's text is known."""
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
