"""Options of an engine by name, as in Poplar; the environment overrides them.

    Engine(graph, program, options={"debug.floatPointOpException": True})
    POPLITE_ENGINE_OPTIONS='{"interpret": true}' python model.py

Poplar's options that have no meaning here are accepted and ignored. Options whose effect is
requested in another way here are rejected with an error that names the way, unless they are false.
All other names are rejected.

`interpret` chooses the vertices that run as plain Python, by class or by step::

    interpret=True                  all
    interpret=["Align", Score]      the vertices of two classes, in any step
    interpret=["align rows"]        the vertices of one compute set

A class includes all classes that derive from it; the template `Add`, for example, includes
`Add[FLOAT]`.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Literal

import numpy as np

from poplite.errors import InvalidOption, UnknownName, did_you_mean
from poplite.executable.parts import ComputeStep, CopyStep
from poplite.frozen import frozen
from poplite.machine.floating_point import OVERFLOW_NAN, TRAPS
from poplite.source import here
from poplite.text import clipped, of_type
from poplite.vertex.vertex import Vertex

# -- which vertices are interpreted ----------------------------------------------------------------


Interpret = bool | tuple[str | type[Vertex], ...]
"""Whether all vertices are interpreted, or the classes and step names that are."""

Classes = frozenset[type[Vertex]]
"""Vertex classes of one step."""


def interpreted_classes(
    interpret: Interpret | None, steps: Iterable[tuple[str, Collection[type[Vertex]]]]
) -> list[Classes]:
    """Return the interpreted classes of each step; `steps` contains each step's name and classes.

    Raises `UnknownName` for a class or name that no step has.
    """
    listed = list(steps)
    if not isinstance(interpret, tuple):
        none: Classes = frozenset()
        return [frozenset(classes) if interpret else none for _, classes in listed]
    found: list[Classes] = [frozenset()] * len(listed)
    for asked in interpret:
        each = [_meant(asked, name, classes) for name, classes in listed]
        if not any(each):
            raise _unknown(asked, listed)
        found = [before | more for before, more in zip(found, each, strict=True)]
    return found


def classes_of_steps(
    interpret: Interpret | None, steps: Sequence[ComputeStep | CopyStep]
) -> list[Classes]:
    """Return the interpreted classes of each lowered step, as `interpreted_classes` does."""
    listed = [
        (step.name, {group.cls for group in step.groups} if isinstance(step, ComputeStep) else ())
        for step in steps
    ]
    return interpreted_classes(interpret, listed)


def interpret_text(interpret: Interpret | None) -> str:
    """Return the argument of `Engine` in the user's notation.

    >>> interpret_text(("Align", Vertex)), interpret_text(True)
    ("interpret=['Align', Vertex]", 'interpret=True')
    """
    if not isinstance(interpret, tuple):
        return f"interpret={bool(interpret)}"
    names = (repr(each) if isinstance(each, str) else each.__name__ for each in interpret)
    return f"interpret=[{', '.join(names)}]"


def _meant(asked: str | type[Vertex], name: str, classes: Collection[type[Vertex]]) -> Classes:
    if asked == name:
        return frozenset(classes)
    return frozenset(cls for cls in classes if _is_called(cls, asked))


def _is_called(cls: type[Vertex], asked: str | type[Vertex]) -> bool:
    bases = (base for base in cls.__mro__ if issubclass(base, Vertex) and base is not Vertex)
    return any(asked in (base, base.__name__) for base in bases)


def _unknown(
    asked: str | type[Vertex], steps: Sequence[tuple[str, Collection[type[Vertex]]]]
) -> UnknownName:
    classes = dict.fromkeys(cls.__name__ for _, of_step in steps for cls in of_step)
    names = dict.fromkeys(name for name, of_step in steps if of_step)
    called = asked if isinstance(asked, str) else asked.__name__
    what = f"no class or step that runs has the name '{called}'"
    return UnknownName(
        f"interpret: {what}{did_you_mean(called, [*classes, *names])}",
        found=f"classes: {', '.join(classes) or 'none'}; steps: {', '.join(names) or 'none'}",
        fix="pass interpret=True to run all vertices as plain Python",
    )


# -- options ---------------------------------------------------------------------------------------


ENVIRONMENT = "POPLITE_ENGINE_OPTIONS"

Faster = bool | Literal["tolerant"]
"""Whether faster forms of vertices run; "tolerant" includes forms that are not bit-identical."""

Kind = Literal["truth", "interpret", "checks", "faster", "seed"]

_KINDS: Mapping[Kind, str] = {
    "truth": "true or false",
    "interpret": "true or false, or a list of classes and names of steps",
    "checks": '"strict", "fast" or "none"',
    "faster": 'true, false or "tolerant"',
    "seed": "a whole number from 0 to 2**63 - 1",
}


@frozen(eq=False)
class Option:
    """One option.

    Attributes:
        kind: the kind of value that it takes.
        field: its field in `EngineOptions`.
        is_argument: whether it is an argument of `Engine`; by name it can then be set only in the
            environment.
    """

    kind: Kind
    field: str
    is_argument: bool = False


OPTIONS: Mapping[str, Option] = {
    "checks": Option("checks", "checks", is_argument=True),
    "faster": Option("faster", "faster", is_argument=True),
    "interpret": Option("interpret", "interpret", is_argument=True),
    "progress": Option("truth", "progress", is_argument=True),
    "seed": Option("seed", "seed", is_argument=True),
    "debug.allowOutOfMemory": Option("truth", "may_overflow"),
    "debug.floatPointOpException": Option("truth", "traps"),
    "debug.instrument": Option("truth", "instrument"),
    "debug.nanOverflowMode": Option("truth", "nan_overflow"),
    "exchange.enablePrefetch": Option("truth", "prefetch"),
}

_NO_PROFILE = "engine.report() shows what ran and its cycles"
_NO_CHOICE = "compilation has no such setting"
_NO_CODE = "tiles have no machine code of their own"
_NO_DEVICE = "there is no device to wait for or to configure"

WITHOUT_MEANING: Mapping[str, str] = {
    "autoReport.*": _NO_PROFILE,
    "debug.branchRecordTile": _NO_CODE,
    "debug.computeInstrumentationLevel": _NO_PROFILE,
    "debug.executionProfile": _NO_PROFILE,
    "debug.instrument*": "debug.instrument turns all instrumentation on or off",
    "debug.outputAllSymbols": _NO_CODE,
    "debug.profilingTile": _NO_PROFILE,
    "debug.retainDebugInformation": "names and lines are always kept",
    "debug.runtimeVerify": 'use checks="strict"',
    "debug.supervisorStackSizeInBytes": _NO_CODE,
    "debug.trace": _NO_CODE,
    "debug.verify": "graphs are always checked",
    "debug.workerStackSizeInBytes": _NO_CODE,
    "exchange.streamBufferOverlap": "streams never share memory",
    "opt.*": _NO_CHOICE,
    "profiler.*": _NO_PROFILE,
    "streamCallbacks.*": "callbacks run in the thread that calls engine.run",
    "target.deterministicWorkers": "workers always run in the same order",
    "target.*": _NO_DEVICE,
}
"""Poplar's options that have no meaning here, with the reason; the first match applies."""

REQUESTED_OTHERWISE: Mapping[str, str] = {
    "debug.nanOverflowException": '{"debug.floatPointOpException": True}',
    "prng.seed": "Engine(graph, program, seed=...)",
    "prng.*": "pl.set_stochastic_rounding(graph, sequence, True)",
}
"""Poplar's options whose effect is requested in another way here, with that way; the first match
applies. They are rejected, because ignoring them would change a program's results."""


@frozen
class EngineOptions:
    """Requested options; None for options that were not given.

    Attributes:
        checks: which checks are made while programs run.
        faster: whether faster forms of vertices run.
        interpret: whether vertices run as plain Python, or the classes and steps that do.
        progress: whether progress is shown.
        seed: the seed of stochastic rounding.
        traps: whether floating-point exceptions stop programs, from their first step on.
        nan_overflow: whether a value too large for HALF or QUARTER is stored as NaN.
        prefetch: whether stream callbacks are called ahead of time.
        instrument: whether cycles and memory are modelled; they are by default.
        may_overflow: whether programs run even if tiles do not have enough memory for them.
    """

    checks: Literal["strict", "fast", "none"] | None = None
    faster: Faster | None = None
    interpret: Interpret | None = None
    progress: bool | None = None
    seed: int | None = None
    traps: bool | None = None
    nan_overflow: bool | None = None
    prefetch: bool | None = None
    instrument: bool | None = None
    may_overflow: bool | None = None

    @property
    def float_mode(self) -> int | None:
        """The initial floating-point mode; None if no option sets it."""
        if self.traps is None and self.nan_overflow is None:
            return None
        return (TRAPS if self.traps else 0) | (OVERFLOW_NAN if self.nan_overflow else 0)

    def engine_only(self) -> tuple[tuple[str, str], ...]:
        """Return the given options that are not arguments of `Engine`, with their values.

        >>> EngineOptions(checks="fast", may_overflow=True).engine_only()
        (('debug.allowOutOfMemory', 'true'),)
        """
        values = {
            name: getattr(self, option.field)
            for name, option in OPTIONS.items()
            if not option.is_argument
        }
        return tuple((name, str(v).lower()) for name, v in values.items() if v is not None)


def engine_options(options: Mapping[str, object] | None = None, **arguments: Any) -> EngineOptions:
    """Return the options from arguments and `options`, overridden by the environment.

    `arguments` are the arguments of `Engine`, by their names in `EngineOptions`.

    >>> engine_options(interpret=["Align"]).interpret
    ('Align',)
    >>> engine_options({"debug.floatPointOpException": "true"}, interpret=True).traps
    True
    """
    checks = arguments.get("checks")
    if not isinstance(checks, str | None) or checks not in ("strict", "fast", "none", None):
        raise InvalidOption(
            f"checks must be 'strict', 'fast' or 'none'; found {clipped(checks, 60)}",
            found=of_type(checks),
            fix="leave checks out for the default",
        )
    faster = arguments.get("faster")
    is_tolerant = isinstance(faster, str) and faster == "tolerant"
    if not isinstance(faster, bool | None) and not is_tolerant:
        raise InvalidOption(
            f"faster must be {_KINDS['faster']}; found {clipped(faster)}",
            found=of_type(faster),
            fix="omit faster to use only forms whose results are bit-identical",
        )
    found = {name: value for name, value in arguments.items() if value is not None}
    if "interpret" in found:
        found["interpret"] = _interpret(found["interpret"])
    if options is not None and not isinstance(options, Mapping):
        raise InvalidOption(
            f"options must be a dictionary; found {clipped(options)}",
            found=of_type(options),
            fix='pass options={"debug.floatPointOpException": True}',
        )
    for name, value in (options or {}).items():
        option = _option(name, value, "")
        if option is None:
            continue
        if option.is_argument:
            raise InvalidOption(
                f"option '{name}' is an argument of Engine",
                fix=f"pass it as Engine(graph, program, {name}={value!r})",
            )
        found[option.field] = _value(name, option, value, "")
    found |= _of_environment()
    return EngineOptions(**{f.name: found.get(f.name) for f in fields(EngineOptions)})


def _interpret(value: object) -> Interpret:
    """Return the parsed argument of an engine: names and classes, or a truth value."""
    if value is None or isinstance(value, int | np.bool_):
        return bool(value)
    listed = tuple(value) if isinstance(value, list | tuple) else None
    wrong = [each for each in listed or () if not isinstance(each, str | type)]
    if listed is None or wrong:
        raise InvalidOption(
            f"interpret must be {_KINDS['interpret']}; found {clipped(value)}",
            found=of_type(wrong[0] if wrong else value),
            fix='pass interpret=["Align"], or interpret=True for all',
        )
    return listed


def _of_environment() -> dict[str, Any]:
    text = os.environ.get(ENVIRONMENT, "")
    if not text.strip():
        return {}
    import json  # seldom needed

    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidOption(
            f"{ENVIRONMENT}={clipped(text)} is not valid JSON: {error}",
            at=None,
            fix=f"""set {ENVIRONMENT}='{{"checks": "strict"}}'""",
        ) from None
    if not isinstance(values, dict):
        raise InvalidOption(
            f"{ENVIRONMENT} must be a JSON object; found {clipped(text)}",
            at=None,
            fix=f"""set {ENVIRONMENT}='{{"checks": "strict"}}'""",
        )
    found = {}
    for name, value in values.items():
        option = _option(name, value, ENVIRONMENT)
        if option is None:
            continue
        found[option.field] = _value(name, option, value, ENVIRONMENT)
    return found


def _option(name: object, value: object, source: str) -> Option | None:
    """Return an option, or None for a Poplar option that is ignored; reject other names."""
    before = f"{source}: " if source else ""
    if isinstance(name, str) and name in OPTIONS:
        return OPTIONS[name]
    known = [n for n, option in OPTIONS.items() if source or not option.is_argument]
    if _first_match(name, WITHOUT_MEANING):
        return None
    if instead := _first_match(name, REQUESTED_OTHERWISE):
        if value is False or value == "false":
            return None
        raise InvalidOption(
            f"{before}option '{name}' is {clipped(value)}, but poplite has no equivalent option",
            at=None if source else here(),
            fix=instead,
        )
    hint = did_you_mean(name, [*known, *WITHOUT_MEANING])
    raise InvalidOption(
        f"{before}there is no option {clipped(name)}{hint}",
        at=None if source else here(),
        found="options: " + ", ".join(known),
        fix="see docs/options.md for all options",
    )


def _first_match(name: object, table: Mapping[str, str]) -> str:
    """Return the text for the first pattern that matches a name; "" if none matches."""
    return next((text for pattern, text in table.items() if _fits(name, pattern)), "")


def _fits(name: object, pattern: str) -> bool:
    if not isinstance(name, str):
        return False
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


def _value(name: str, option: Option, value: object, source: str) -> Any:
    match option.kind, value:
        case "truth" | "interpret" | "faster", bool():
            return value
        case "truth" | "interpret" | "faster", "true" | "false":  # Poplar's spelling
            return value == "true"
        case "interpret", list() if all(isinstance(each, str) for each in value):
            return tuple(value)
        case ("checks", "strict" | "fast" | "none") | ("faster", "tolerant"):
            return value
        case "seed", int() if not isinstance(value, bool) and 0 <= value < 1 << 63:
            return value
    before = f"{source}: " if source else ""
    raise InvalidOption(
        f"{before}option '{name}' must be {_KINDS[option.kind]}; found {clipped(value)}",
        at=None if source else here(),
        fix=f'pass {{"{name}": {_EXAMPLES[option.kind] if source else True}}}',
    )


_EXAMPLES: Mapping[Kind, str] = {
    "truth": "true",
    "interpret": '["Align"]',
    "checks": '"strict"',
    "faster": "false",
    "seed": "0",
}
