"""Public interfaces of packages: `__all__`, `dir()`, errors for arguments that do not fit.

Such an error shows the signature and the closest valid call::

    ops.sum(x, dim=0)       ops.sum: got an unexpected keyword argument 'dim'
                              ops.sum(x, dims=None, *, keepdims=False)
                              try: ops.sum(..., dims=0)
"""

from __future__ import annotations

import inspect
import linecache
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from importlib import import_module
from importlib.util import find_spec
from types import FunctionType, ModuleType
from typing import Any, NoReturn, TypeVar

from poplite.errors import AbsentMember, ControlProgramError, ElementTypeError, did_you_mean
from poplite.text import clipped

T = TypeVar("T", bound=type)
F = TypeVar("F", bound=Callable[..., Any])

Face = tuple[list[str], Callable[[str], object], Callable[[], list[str]]]
"""`__all__`, `__getattr__` and `__dir__` of a package."""

_FOR_TYPES = re.compile(r"^if TYPE_CHECKING:\n((?: .*\n|\n)+)", re.MULTILINE)
_IMPORT = re.compile(r"^ +from (\S+) import (\([^)]*\)|.*)", re.MULTILINE)
_NAME = re.compile(r"\bas (\w+)")
_DEFINED = re.compile(r"^(?:def|class) ([^_]\w*)", re.MULTILINE)

OF_DIMENSIONS = {"axis", "axes", "dim", "dims", "dimension", "dimensions", "reduction_axes"}
"""Names of arguments for dimensions."""

_SYNONYMS = (
    OF_DIMENSIONS,
    {"tile", "tiles", "mapping", "tile_mapping", "target"},
    {"dtype", "type", "element_type"},
    {"keepdim", "keepdims", "keep_dims"},
)
"""Names of the same argument in other libraries or other functions."""


def names_of(package: Mapping[str, object], modules: str = "") -> list[str]:
    """Return the names that a package imports for its users, and those of the given modules.

    Other loaded modules, which are attributes of the package, too, are left out.
    """
    imported = {
        name
        for name, value in package.items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    return sorted(imported - {"TYPE_CHECKING", "names_of"} | set(modules.split()))


def loaded_on_use(
    package: str,
    shown_as: Callable[[str, Any], object] | None = None,
    absent: Callable[[str], Exception] | None = None,
) -> Face:
    """Return `__all__`, `__getattr__` and `__dir__` for a package that imports names on first use.

    The names are those that it imports for type checkers (PEP 562), including modules. If a
    module needs a package that is not installed, each of its names is a function that raises an
    error saying so.

    Args:
        package: the full name of the package, which is being imported.
        shown_as: maps a name and its value to the object that users get; None for the value itself.
        absent: returns the error for a name that the package lacks; None for Python's error.
    """
    home = imported_for_types(package)
    shown = sorted(home)

    def load(name: str) -> object:
        if name not in home:
            text = f"module '{package}' has no attribute '{name}'"
            raise absent(name) if absent else AttributeError(text)
        if home[name] == package:
            return import_module(f"{package}.{name}")
        try:
            value = getattr(import_module(home[name]), name)
        except ModuleNotFoundError as error:
            if str(error.name).partition(".")[0] == "poplite":
                raise
            return _not_installed(package, name, str(error.name))
        value = shown_as(name, value) if shown_as else value
        return vars(sys.modules[package]).setdefault(name, value)  # the same for all threads

    return shown, load, lambda: shown


def imported_for_types(package: str) -> dict[str, str]:
    """Return the names that a package's source imports for type checkers, with their modules.

    An import of `*` has the names of all functions and classes of the module.
    """
    module = vars(sys.modules[package])
    # Not by the loader: that of pytest, which loads packages that have a plugin, knows no source.
    block = _FOR_TYPES.search("".join(linecache.getlines(module["__file__"], module)))
    assert block is not None
    return {
        name: module
        for module, names in _IMPORT.findall(block[1])
        for name in (_defined_in(module) if names[0] == "*" else _NAME.findall(names))
    }


def optional_package(name: str, call: str, extra: str, **place: Any) -> Any:
    """Return a package that few need; a call that needs it names the extra that installs it.

    Raises ControlProgramError if it is not installed; `place` is as for errors.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise ControlProgramError(
            f"{call}: {name} is not installed", fix=f"pip install 'poplite[{extra}]'", **place
        ) from error


def _defined_in(module: str) -> list[str]:
    """Return the names of the public functions and classes of a module, without loading it."""
    found = find_spec(module)
    assert found is not None
    assert found.origin is not None
    return _DEFINED.findall("".join(linecache.getlines(found.origin)))


def _not_installed(package: str, name: str, needed: str) -> Callable[..., NoReturn]:
    """Return a substitute for a function whose module needs a package that is not installed."""

    def missing(*_: object, **__: object) -> NoReturn:
        raise AbsentMember(
            f"{package}.{name} needs {needed}, which is not installed", fix=f"pip install {needed}"
        )

    missing.__name__ = missing.__qualname__ = name
    missing.__doc__ = f"Refused: it needs {needed}, which is not installed."
    return missing


def checked_call(
    function: Callable[..., Any],
    called: str,
    refusal: Callable[..., ElementTypeError | None] | None = None,
) -> Callable[..., Any]:
    """Make a function list its parameters in the error if the arguments do not fit.

    Args:
        function: the function.
        called: its name for users.
        refusal: returns the error for the function and its arguments; by default `misfit`.
    """
    made = refusal or partial(misfit, called)

    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        try:
            return function(*arguments, **options)
        except TypeError:
            found = made(function, arguments, options)
            if found is None:
                raise
        raise found

    return call


def checked_methods(called: str, but: str = "") -> Callable[[T], T]:
    """Make the constructor and public methods of a class list their parameters in errors.

    Args:
        called: the names of the class and of an instance, for users: "pl.Graph graph".
        but: methods that are called too often to be checked.
    """
    of_class, of_object = called.split()

    def changed(cls: T) -> T:
        made: dict[Callable[..., Any], Callable[..., Any]] = {}  # some have two names
        for name, value in list(vars(cls).items()):
            is_public = name == "__init__" or not name.startswith("_")
            if isinstance(value, FunctionType) and is_public and name not in but.split():
                text = of_class if name == "__init__" else f"{of_object}.{name}"
                made.setdefault(value, checked_call(value, text, partial(misfit, text, owners=1)))
                setattr(cls, name, made[value])
        return cls

    return changed


def misfit(
    called: str,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    options: Mapping[str, Any],
    owners: int = 0,
    otherwise: str = "",
) -> ElementTypeError | None:
    """Return the error for arguments that do not fit a function; None if they fit.

    Args:
        called: its name for users.
        function: the function.
        arguments: the positional arguments.
        options: the keyword arguments.
        owners: 1 for a method whose first argument is the object.
        otherwise: the remedy if no keyword argument is close to a parameter.
    """
    why = why_unfit(function, arguments, options)
    if why is None:
        return None
    error, names = why
    text = signature_text(function, owners)
    fix = _remedy(called, names[owners:], options) or otherwise
    fix = fix or _shortest_call(called, function, owners)
    if not fix and error == "too many positional arguments":
        fix = _by_keyword(called, function, arguments, options)
    return ElementTypeError(f"{called}: {error}", found=called + text, fix=fix)


def why_unfit(
    function: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any]
) -> tuple[str, list[str]] | None:
    """Return why arguments do not fit a function, and its parameter names; None if they fit."""
    try:
        signature = inspect.signature(function)
    except ValueError:  # a C function, which has no signature
        return None
    try:
        signature.bind(*arguments, **options)
    except TypeError as error:
        return str(error), list(signature.parameters)
    return None


def signature_text(function: Callable[..., Any], owners: int = 0) -> str:
    """Return the signature of a function as text, without annotations."""
    parameters = list(inspect.signature(function).parameters.values())[owners:]
    return str(inspect.Signature([each.replace(annotation=each.empty) for each in parameters]))


def arguments_of(*models: Callable[..., Any]) -> Callable[[F], F]:
    """Complete a docstring with the Args of other functions, and with Raises if it has none.

    >>> def double(x):
    ...     '''Return twice a number.
    ...
    ...     Args:
    ...         x: a number.
    ...     '''
    >>> @arguments_of(double)
    ... def triple(x):
    ...     '''Return three times a number.'''
    >>> print(triple.__doc__)
    Return three times a number.
    <BLANKLINE>
    Args:
        x: a number.
    """

    def completed(function: F) -> F:
        text, example = _before_example(inspect.cleandoc(function.__doc__ or ""))
        known: dict[str, str] = {}  # the description of each parameter, and the errors
        for model in models:
            theirs, _ = _before_example(inspect.cleandoc(model.__doc__ or ""))
            sections = dict(_SECTION.findall(f"{theirs}\n"))
            known |= {
                _NAME_OF.sub("", e.split(":")[0]): e for e in _ENTRY.findall(sections["Args"])
            }
            known["Raises:"] = sections.get("Raises", "")
        names = inspect.signature(function).parameters
        args = "".join(known[name] for name in names if name in known)
        head, *rest = re.split("^(?=Returns:|Raises:)", text, maxsplit=1, flags=re.MULTILINE)
        parts = [head, f"Args:\n{args}", *rest]
        if known["Raises:"] and not re.search("^Raises:", text, re.MULTILINE):
            parts.append(f"Raises:\n{known['Raises:']}")
        if text:  # Python may have been told to omit it
            function.__doc__ = "\n\n".join([*(each.rstrip() for each in parts), example]).rstrip()
        return function

    return completed


def _before_example(text: str) -> tuple[str, str]:
    """Return a docstring up to its example, and the example."""
    before, _, example = text.partition(">>>")
    return before.rstrip(), f">>>{example}" if example else ""


_SECTION = re.compile(r"^(Args|Raises):\n((?: .*\n|\n(?= ))+)", re.MULTILINE)
_NAME_OF = re.compile(r"\W")
_ENTRY = re.compile(r"^    \w.*\n(?:     .*\n)*", re.MULTILINE)


def _shortest_call(called: str, function: Callable[..., Any], owners: int) -> str:
    """Return the shortest valid call; "" if no keyword argument is required."""
    parameters = list(inspect.signature(function).parameters.values())[owners:]
    needed = [each for each in parameters if each.default is each.empty]
    by_name = [f"{each.name}=..." for each in needed if each.kind is each.KEYWORD_ONLY]
    in_order = [each.name for each in needed if each.kind is each.POSITIONAL_OR_KEYWORD]
    return f"{called}({', '.join([*in_order, *by_name])})" if by_name else ""


def _by_keyword(
    called: str,
    function: Callable[..., Any],
    arguments: Sequence[Any],
    options: Mapping[str, Any],
) -> str:
    """Return the call with surplus arguments as the first keyword-only ones; "" without enough."""
    parameters = inspect.signature(function).parameters.values()
    only = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY]
    free = [name for name in only if name not in options]
    surplus = arguments[len(parameters) - len(only) :]
    if len(free) < len(surplus):
        return ""
    named = [f"{name}={clipped(each)}" for name, each in zip(free, surplus, strict=False)]
    return f"{called}(..., {', '.join(named)})"


def _remedy(called: str, taken: Sequence[str], options: Mapping[str, Any]) -> str:
    """Return the call with a wrong parameter name replaced by the closest valid one, or ""."""
    for name in [each for each in options if each not in taken]:
        group = next((each for each in _SYNONYMS if name in each), ())
        near = [each for each in taken if each in group or did_you_mean(name, [each])]
        if near:
            value = clipped(options[name], 40)
            value = f"pl.Target({name}={value})" if near[0] == "target" else value
            return f"{called}(..., {near[0]}={value})"
    return ""
