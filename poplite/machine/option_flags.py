"""Options as Poplar passes them: strings by name, set one by one or read from JSON.

    flags = OptionFlags({"debug.floatPointOpException": "true"})
    flags.set("exchange.enablePrefetch", "false")
    engine = Engine(graph, program, options=flags)

An OptionFlags is a dictionary; any dictionary is accepted as options.
Source of the names: Poplar API reference, "OptionFlags" and "RuntimeOptions".
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Self

from poplite.errors import InvalidOption, ParseError, did_you_mean
from poplite.poplar.spelling import cpp_spelling
from poplite.text import clipped, of_type


@cpp_spelling()
class OptionFlags(dict[str, object]):
    """Options by name, in the order in which they were set.

    >>> flags = OptionFlags({"debug.instrument": "false"})
    >>> flags.set("exchange.enablePrefetch", "true")
    >>> flags.at("exchange.enablePrefetch"), flags.size()
    ('true', 2)
    """

    def __init__(self, options: Mapping[str, object] | Iterable[tuple[str, object]] = ()) -> None:
        super().__init__(_dictionary(options, type(self).__name__))

    def set(
        self, name: str | Mapping[str, object] | Iterable[tuple[str, object]], value: object = None
    ) -> None:
        """Set an option, or all options of a dictionary or a list of pairs.

        Args:
            name: name of the option, or a dictionary of options, or pairs of names and values.
            value: its value.

        Raises:
            InvalidOption: for a name that is not a string.

        >>> flags = OptionFlags()
        >>> flags.set({"debug.instrument": "false"})
        >>> flags
        OptionFlags({'debug.instrument': 'false'})
        """
        what = f"{type(self).__name__}.set"
        given = {name: value} if isinstance(name, str) else _dictionary(name, what)
        for each in given:
            if not isinstance(each, str):
                raise InvalidOption(
                    f"{what}: {clipped(each)} is not an option name",
                    found=of_type(each),
                    fix='flags.set("debug.instrument", "false")',
                )
        self.update(given)

    def at(self, name: str) -> object:
        """Return the value of an option.

        Args:
            name: name of the option.

        Raises:
            InvalidOption: when it is not set.

        >>> OptionFlags({"debug.instrument": "false"}).at("debug.instrument")
        'false'
        """
        if not isinstance(name, str) or name not in self:
            raise InvalidOption(
                f"option {clipped(name)} is not set{did_you_mean(name, self)}",
                found=f"options that are set: {', '.join(map(repr, self)) or 'none'}",
                fix="use flags.get(name), which returns None if it is not set",
            )
        return self[name]

    def find(self, name: str) -> object | None:
        """Return the value of an option; None, the value of `end()`, if it is not set.

        Args:
            name: name of the option.

        >>> flags = OptionFlags({"debug.instrument": "false"})
        >>> flags.find("debug.instrument"), flags.find("seed") == flags.end()
        ('false', True)
        """
        return self.get(name) if isinstance(name, str) else None

    def end(self) -> None:
        """Return None, the result of `find` for an option that is not set."""

    def copy(self) -> Self:
        """Return a copy of the options."""
        return type(self)(self)

    def size(self) -> int:
        """Return the number of options that are set."""
        return len(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dict(self)!r})"


def _dictionary(options: Any, what: str) -> dict[str, object]:
    """Return options as a dictionary, or refuse them."""
    try:
        return dict(options)
    except (TypeError, ValueError):
        raise InvalidOption(
            f"{what}: {clipped(options)} is not a dictionary",
            found=of_type(options),
            fix=f'{what}({{"name": "value"}})',
        ) from None


_NUMBER, _TRUTH = "a non-negative number", ("true", "false")

RUNTIME_OPTIONS: Mapping[str, str | tuple[str, ...]] = {
    "target.syncMethod": ("polling", "hybrid", "default"),
    "target.syncPollPeriodUs": _NUMBER,
    "target.exceptionPollPeriodUs": _NUMBER,
    "target.hostSyncTimeout": _NUMBER,
    "streamCallbacks.multiThreadMode": ("singleThread", "collaborative", "dedicated"),
    "streamCallbacks.numaAware": _TRUTH,
    "streamCallbacks.numWorkerThreads": "a non-negative number, or auto",
}
"""Poplar's run options and their values. None has an effect here, since nothing waits for a device,
and callbacks run in the thread that calls engine.run. Source: Poplar API reference,
"RuntimeOptions"."""


class RuntimeOptions(OptionFlags):
    """Options of a run; Poplar's names are accepted, and none has an effect here.

    Args:
        options: by name.

    Raises:
        InvalidOption: for a name or a value that Poplar does not accept.

    >>> RuntimeOptions({"target.hostSyncTimeout": "60"})
    RuntimeOptions({'target.hostSyncTimeout': '60'})
    """

    def __init__(self, options: Mapping[str, object] | Iterable[tuple[str, object]] = ()) -> None:
        super().__init__()
        self.update(_dictionary(options, type(self).__name__))

    def __setitem__(self, name: str, value: object) -> None:
        if not isinstance(name, str) or name not in RUNTIME_OPTIONS:
            raise InvalidOption(
                f"there is no run option {clipped(name)}{did_you_mean(name, RUNTIME_OPTIONS)}",
                found=f"there are {', '.join(RUNTIME_OPTIONS)}",
                fix="pass options for compilation to Engine(..., options=...)",
            )
        check_value(f"run option {name!r}", value, RUNTIME_OPTIONS[name])
        super().__setitem__(name, value)

    def update(self, given: Any = (), /, **named: object) -> None:
        """Set options, like `dict.update`."""
        for name, value in (_dictionary(given, type(self).__name__) | named).items():
            self[name] = value

    def setdefault(self, name: str, value: object = None) -> object:
        """Set an option if it is not set, and return its value."""
        if not isinstance(name, str) or name not in self:
            self[name] = value
        return self[name]

    def __ior__(self, given: Any) -> Self:  # type: ignore[override, misc]  # `|` gives a dict
        self.update(given)
        return self


def check_value(what: str, value: object, allowed: str | tuple[str, ...]) -> None:
    """Refuse a value that is not one of the words, or not a number if a number is needed."""
    text = clipped(value) if isinstance(value, list | tuple) else str(value)
    text = text.lower() if isinstance(value, bool) else text
    if isinstance(allowed, tuple):
        is_right = text in allowed
    else:
        plain = text.replace(".", "", 1)
        is_right = plain.isascii() and plain.isdecimal() or (text == "auto" and "auto" in allowed)
    if not is_right:
        wanted = allowed if isinstance(allowed, str) else "one of " + ", ".join(allowed)
        raise InvalidOption(f"{what} is {clipped(value)}, not {wanted}", found=of_type(value))


def checked_options(options: object, call: str, known: Collection[str] | None = None) -> None:
    """Refuse anything but a dictionary of options, and unknown names."""
    if options is not None and not isinstance(options, Mapping):
        raise InvalidOption(
            f"{call}: options {clipped(options)} are not a dictionary",
            found=of_type(options),
            fix="OptionFlags()",
        )
    for name in options or {}:
        if known is not None and name not in known:
            raise InvalidOption(
                f"{call}: there is no option {clipped(name)}{did_you_mean(name, known)}",
                found=f"there are {', '.join(known)}",
            )


def checked_runtime_options(options: object, debug_name: object = "") -> None:
    """Refuse anything but a dictionary of run options, and a debug name that is not a string."""
    if not isinstance(debug_name, str):
        raise InvalidOption(
            f"engine.run: debug_name is {clipped(debug_name)}, not a string",
            found=of_type(debug_name),
            fix="engine.run(program, name, RuntimeOptions())",
        )
    if options is None:  # fast path: this function is called in every run
        return
    if isinstance(options, Mapping):
        RuntimeOptions(options)
    else:
        raise InvalidOption(
            f"runtime options are {clipped(options)}, not a dictionary",
            found=of_type(options),
            fix="engine.run(program, name, RuntimeOptions())",
        )


def read_json(text: str, flags: OptionFlags) -> None:
    """Set options from a JSON object.

    Args:
        text: the object; its values are strings, numbers and booleans.
        flags: the flags to set.

    Raises:
        ParseError: when it is not a JSON object.

    >>> flags = OptionFlags()
    >>> read_json('{"debug.instrument": "false"}', flags)
    >>> flags
    OptionFlags({'debug.instrument': 'false'})
    """
    _read(text, flags, "read_json")


def read_json_from_env(variable: str, flags: OptionFlags) -> None:
    """Set options from a JSON object in an environment variable, if it is set.

    Args:
        variable: the name of the variable.
        flags: the flags to set.

    Raises:
        ParseError: when it is not a JSON object.
        InvalidOption: for a name that is not a string.

    >>> flags = OptionFlags()
    >>> read_json_from_env("NO_SUCH_VARIABLE", flags)
    >>> flags.size()
    0
    """
    if not isinstance(variable, str):
        raise InvalidOption(
            f"read_json_from_env: {clipped(variable)} is not a variable name",
            found=of_type(variable),
            fix='read_json_from_env("POPLITE_ENGINE_OPTIONS", flags)',
        )
    text = os.environ.get(variable)
    if text:
        _read(text, flags, f"environment variable {variable}")


def _read(text: str, flags: OptionFlags, what: str) -> None:
    if not isinstance(flags, OptionFlags):
        raise InvalidOption(
            f"{what}: {clipped(flags)} are not OptionFlags",
            found=of_type(flags),
            fix="OptionFlags()",
        )
    try:
        found: Any = json.loads(text)
    except (TypeError, ValueError) as error:
        raise ParseError(
            f"{what}: {clipped(text, 60)} is not JSON",
            found=str(error),
            fix="'{\"debug.instrument\": false}'",
        ) from None
    if not isinstance(found, dict):
        raise ParseError(
            f"{what}: {clipped(text, 60)} is not a JSON object",
            found=of_type(found),
            fix="'{\"debug.instrument\": false}'",
        )
    flags.set(found)
