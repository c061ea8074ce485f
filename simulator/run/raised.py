"""The error for an exception that `compute` raised: poplite's, and the user's own as well.

It says which vertex stopped, in which line and step, and is caught by either name::

    try:
        engine.run()
    except NoRoot as error:                 # class NoRoot(ArithmeticError), say
        error.what                          # "Solve 3 on tile 5: NoRoot: none from 0 to 1"
        error.__cause__                     # the NoRoot that compute raised

What the exception's own `__init__` set on it is there too.
"""

from __future__ import annotations

from typing import Any

from poplite.errors import ApplicationRuntimeError


def raised_error(raised: Exception, what: str, **parts: Any) -> ApplicationRuntimeError:
    """Return the error that stands for an exception of the user's.

    Args:
        raised: the exception.
        what: what is wrong.
        parts: the other parts of the error, see `poplite.PopliteError`.

    >>> error = raised_error(KeyError("key"), "Look 0 on tile 0: KeyError: 'key'")
    >>> isinstance(error, KeyError), str(error)
    (True, "Look 0 on tile 0: KeyError: 'key'")
    """
    kind: Any = type(raised)
    try:
        error = _class_of(kind)(what, **parts)
    except Exception:  # a class that nothing may derive from, or be made without arguments
        error = ApplicationRuntimeError(what, **parts)
    vars(error).update({k: v for k, v in vars(raised).items() if k not in vars(error)})
    return error


def text_of(raised: Exception) -> str:
    """Return the text of an exception, whose `__str__` is the user's and may fail itself.

    >>> text_of(ValueError("no root")), text_of(ValueError())
    ('no root', '')
    """
    try:
        return str(raised)
    except Exception as error:
        return f"its text cannot be made: {type(error).__name__}"


def _class_of(raised: Any) -> type[ApplicationRuntimeError]:
    """Return the class of errors that are poplite's and of a class of the user's."""
    base = ApplicationRuntimeError
    for known in raised.__subclasses__():  # kept by its errors alone, as is the user's
        if known.__bases__ == (base, raised):
            found: type[ApplicationRuntimeError] = known
            return found
    builtin: Any = next(cls for cls in raised.__mro__ if cls.__module__ == "builtins")

    def new(cls: type[Exception], *args: object, **parts: object) -> Any:
        return builtin.__new__(cls)

    def reduce(self: ApplicationRuntimeError) -> tuple[object, ...]:
        return _rebuild, (raised, self.what, self.at, self.where, self.found, self.fix)

    members = {"__module__": base.__module__, "__new__": new, "__reduce__": reduce}
    return type(f"{base.__name__}[{raised.__name__}]", (base, raised), members)


def _rebuild(raised: Any, what: str, *parts: Any) -> ApplicationRuntimeError:
    names = ("at", "where", "found", "fix")
    return _class_of(raised)(what, **dict(zip(names, parts, strict=True)))
