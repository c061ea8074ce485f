"""Options as Poplar passes them: strings by name, made one by one or read from JSON.

    flags = OptionFlags({"debug.floatPointOpException": "true"})
    flags.set("exchange.enablePrefetch", "false")
    engine = Engine(graph, program, options=flags)

An OptionFlags is a dictionary, and whatever takes options takes any dictionary.
Source of the names: Poplar API reference, "OptionFlags" and "RuntimeOptions".
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

from poplite.errors import InvalidOption, ParseError, did_you_mean
from poplite.source import here
from poplite.text import clipped, of_type


class OptionFlags(dict[str, object]):
    """Options by name, in the order in which they were set.

    >>> flags = OptionFlags({"debug.instrument": "false"})
    >>> flags.set("exchange.enablePrefetch", "true")
    >>> flags.at("exchange.enablePrefetch"), flags.size()
    ('true', 2)
    """

    def set(self, name: str | Mapping[str, object], value: object = None) -> None:
        """Set an option, or all those of a dictionary."""
        self.update(name if isinstance(name, Mapping) else {name: value})

    def at(self, name: str) -> object:
        """Return the value of an option.

        Raises:
            InvalidOption: when it is not set.
        """
        if name not in self:
            raise InvalidOption(
                f"option {clipped(name)} is not set{did_you_mean(str(name), self)}",
                at=here(),
                found=f"set are {', '.join(map(repr, self)) or 'none'}",
                fix="flags.get(name) is None where it is not set",
            )
        return self[name]

    def find(self, name: str) -> object | None:
        """Return the value of an option; None if it is not set, in C++ the end iterator."""
        return self.get(name)

    def size(self) -> int:
        """Return the number of options that are set."""
        return len(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dict(self)!r})"


_NO_DEVICE = "there is no device to wait for"
_ONE_THREAD = "callbacks run in the thread that calls engine.run"

RUNTIME_OPTIONS: Mapping[str, str] = {
    "target.syncMethod": _NO_DEVICE,
    "target.syncPollPeriodUs": _NO_DEVICE,
    "target.exceptionPollPeriodUs": _NO_DEVICE,
    "target.hostSyncTimeout": _NO_DEVICE,
    "streamCallbacks.multiThreadMode": _ONE_THREAD,
    "streamCallbacks.numaAware": _ONE_THREAD,
    "streamCallbacks.numWorkerThreads": _ONE_THREAD,
}
"""Options of a run in Poplar, and why none of them has an effect here."""


class RuntimeOptions(OptionFlags):
    """Options of a run; Poplar's names are accepted, and none has an effect here.

    Args:
        options: by name.

    Raises:
        InvalidOption: for a name that Poplar does not have either.

    >>> RuntimeOptions({"target.hostSyncTimeout": "60"})
    RuntimeOptions({'target.hostSyncTimeout': '60'})
    """

    def __init__(self, options: Mapping[str, object] | Iterable[tuple[str, object]] = ()) -> None:
        super().__init__()
        self.set(dict(options))

    def set(self, name: str | Mapping[str, object], value: object = None) -> None:
        """Set an option, or all those of a dictionary."""
        given = name if isinstance(name, Mapping) else {name: value}
        for each in given:
            if each not in RUNTIME_OPTIONS:
                raise InvalidOption(
                    f"no option {clipped(each)} of a run{did_you_mean(str(each), RUNTIME_OPTIONS)}",
                    at=here(),
                    found=f"there are {', '.join(RUNTIME_OPTIONS)}",
                    fix="options of compiling are Engine(..., options=...)",
                )
        self.update(given)


def checked_runtime_options(options: object) -> None:
    """Refuse what is no dictionary of options of a run."""
    if isinstance(options, Mapping):
        RuntimeOptions(options)
    elif options is not None:
        raise InvalidOption(
            f"runtime options are {clipped(options)}, no dictionary",
            at=here(),
            found=of_type(options),
            fix="engine.run(program, name, RuntimeOptions())",
        )


def read_json(text: str, flags: OptionFlags) -> None:
    """Set options from a JSON object.

    Args:
        text: the object; its values are strings, numbers and truth values.
        flags: where they are set.

    Raises:
        ParseError: when it is no JSON object.

    >>> flags = OptionFlags()
    >>> read_json('{"debug.instrument": "false"}', flags)
    >>> flags
    OptionFlags({'debug.instrument': 'false'})
    """
    _read(text, flags, "read_json")


def read_json_from_env(variable: str, flags: OptionFlags) -> None:
    """Set options from a JSON object in an environment variable, if it is set.

    Args:
        variable: its name.
        flags: where options are set.

    Raises:
        ParseError: when it holds no JSON object.

    >>> flags = OptionFlags()
    >>> read_json_from_env("NO_SUCH_VARIABLE", flags)
    >>> flags.size()
    0
    """
    text = os.environ.get(variable)
    if text:
        _read(text, flags, f"environment variable {variable}")


def _read(text: str, flags: OptionFlags, what: str) -> None:
    try:
        found: Any = json.loads(text)
    except (TypeError, ValueError) as error:
        raise ParseError(
            f"{what}: {clipped(text, 60)} is no JSON",
            at=here(),
            found=str(error),
            fix="'{\"debug.instrument\": false}'",
        ) from None
    if not isinstance(found, dict):
        raise ParseError(
            f"{what}: {clipped(text, 60)} is no JSON object",
            at=here(),
            found=of_type(found),
            fix="'{\"debug.instrument\": false}'",
        )
    flags.set(found)


readJSON = read_json
readJSONFromEnv = read_json_from_env
