"""The formats of saved files, with their versions; untrusted files are read in bounded memory.

A `Format` is a kind of file.  Its header, the kind and number of the format, is checked first.
Invalid contents raise `Malformed`, which is reported as a `FileLoadError`.

No load takes more memory than its budget, which is the same for all kinds:

    1 GiB + 32 B for each byte of the file + 4 KiB for each tile of its machine

The contents of a file take memory in proportion to its size: members of a zip are not compressed,
and JSON that consists mostly of brackets is rejected.  But a few numbers can expand to many: evenly
spaced vertices, a number that an array repeats, a view of views.  Code that expands them calls
`check_room` first for temporary memory, or `take_room` for memory that stays in use.

    >>> with Format("sketch", (1,), "a sketch", "sketch.save(path)").loading("'a.sketch'"):
    ...     check_room(1 << 20, "a mebibyte")
    ...     check_room(1 << 40, "a tebibyte")
    Traceback (most recent call last):
    poplite.errors.FileLoadError: 'a.sketch' cannot be loaded as a sketch: a tebibyte...
"""

from __future__ import annotations

import gc
import json
import re
import reprlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from poplite.errors import FileLoadError, PopliteError
from poplite.files import WRONG_CONTENT
from poplite.frozen import frozen
from poplite.jit.build import no_collection
from poplite.text import clipped

LEAST_BYTES = 1 << 30
"""Memory that a file of any size may take, enough for five million parts of a concatenation."""

BYTES_A_BYTE, BYTES_A_TILE = 32, 1 << 12
"""Memory in the budget for each byte of a file, and for each tile of its machine."""

OBJECT_BYTES, LIST_BYTES, BYTES_A_CHARACTER = 240, 80, 20
"""Memory of an object with one value, of a short list, and the maximum for each character."""

SMALL_BYTES = 1 << 20
"""Memory that JSON of any length may take."""

Pairs = list[tuple[str, Any]]

_TEXT = re.compile(r'"[^"\\]*+(?:\\.?[^"\\]*+)*+"?', re.DOTALL)
"""A string in JSON, whose brackets do not count; it may be unterminated, since a search for its end
from each quote would take quadratic time."""

_SURROGATE = re.compile(r"\\u[dD]")

_room: ContextVar[int] = ContextVar("room", default=1 << 62)
"""The remaining memory budget of the file that is being loaded; unlimited outside of `loading`."""


shown = reprlib.repr
"""Return a short text of a value of any size, for messages."""


class Malformed(ValueError):
    """The contents of a file are invalid.

    Attributes:
        what: the fault.
        place: the path to the fault in its data, innermost first.
    """

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what
        self.place: list[str] = []

    def __str__(self) -> str:
        where = "".join(reversed(self.place)).lstrip(".")
        return f"{where}: {self.what}" if where else self.what


class at:  # noqa: N801  # a class, which is fast: a load enters 10,000 of them
    """Add a place to the messages of `Malformed` that are raised within."""

    __slots__ = ("_place",)

    def __init__(self, place: str) -> None:
        self._place = place

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Malformed):
            error.place.append(self._place)


@frozen
class Format:
    """A kind of saved file: its header, and the rejection of other files.

    Attributes:
        kind: its name in the header.
        numbers: the format numbers that this version of poplite reads; the first is written unless
            another is requested.
        title: its name in a message, "a graph".
        saved_by: the call that writes one.
        keys: the header's keys for kind and number.
    """

    kind: str
    numbers: tuple[int, ...]
    title: str
    saved_by: str
    keys: tuple[str, str] = ("kind", "format")

    def text(self, parts: Mapping[str, Any], path: str, number: int | None = None) -> str:
        """Return the JSON of a file, the header first; reject text with a lone surrogate."""
        header = dict(zip(self.keys, (self.kind, number or self.numbers[0]), strict=True))
        text = json.dumps(
            header | dict(parts),
            allow_nan=False,
            check_circular=False,  # the output of coders is finite
            separators=(",", ":"),
        )
        try:
            check_characters(text, parts)
        except Malformed as error:
            raise FileLoadError(
                f"cannot write {path!r}: {error}",
                fix="use another name in the graph",
            ) from error
        return text

    def parts(self, data: Any) -> dict[str, Any]:
        """Check the header of `data`, the whole contents of a file, and return the rest."""
        kind, number = self.keys
        if not isinstance(data, dict) or data.get(kind) != self.kind:
            raise Malformed(f"its header is not that of a {self.kind}")
        found = data.get(number)
        if type(found) is not int or found not in self.numbers:
            read = " and ".join(map(str, self.numbers))
            raise Malformed(
                f"it has {number} {clipped(found)}, but this version of poplite reads {read}"
            )
        return {name: part for name, part in data.items() if name not in self.keys}

    @contextmanager
    def loading(self, name: str) -> Iterator[None]:
        """Report an unreadable or malformed file as a `FileLoadError`.

        All loads within share the memory budget of one file, called `name` in messages.
        """
        before = _room.set(LEAST_BYTES)
        try:
            with no_collection():  # there is no garbage to collect
                yield
                _age_objects()
        except PopliteError:
            raise
        except OSError as error:
            raise FileLoadError(
                f"cannot read {name}: {error.strerror or error}",
                fix=f"pass the path of a file that {self.saved_by} wrote",
            ) from error
        except WRONG_CONTENT as error:
            is_explained = isinstance(error, Malformed)
            what = str(error) if is_explained else f"{type(error).__name__}, {error}"
            raise FileLoadError(
                f"{name} cannot be loaded as {self.title}: {what}",
                fix=f"save it again: {self.saved_by}",
            ) from error
        finally:
            _room.reset(before)


def _age_objects() -> None:
    """Count all objects as old, so that the collector does not visit those of a file at once."""
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()


# -- kinds of files -------------------------------------------------------------------------------

CHECKED_FORMAT, UNCHECKED_FORMAT = 7, 8
"""Format numbers. Programs with `checks="none"` have a separate number, so that a version of
poplite that does not support them rejects them."""

EXECUTABLES = Format(
    "poplite executable",
    (CHECKED_FORMAT, UNCHECKED_FORMAT),
    "an executable",
    "executable.save(path)",
)

GRAPHS = Format("poplite graph", (2,), "a graph", "graph.save(path, programs)")

REPORTS = Format("report", (6,), "a report", "report.save(path)", ("poplite", "version"))
"""The version increases when the meaning of a field changes."""

SWEEPS = Format(
    "sweep", (2,), "a sweep", "pl.sweep(build, grid).save(path)", ("poplite", "version")
)

STATES = Format("poplite state", (2,), "a state of an engine", "engine.save_state(path)")


# -- memory ----------------------------------------------------------------------------------------


def add_room(file_bytes: int = 0, tiles: int = 0) -> None:
    """Extend the budget of the file being loaded by its size, or that of its machine."""
    _room.set(_room.get() + BYTES_A_BYTE * file_bytes + BYTES_A_TILE * tiles)


def check_room(num_bytes: int, what: str) -> None:
    """Reject an allocation that exceeds the budget of the file being loaded.

    Args:
        num_bytes: the maximum that it takes at one time.
        what: what it is, for the message.
    """
    if num_bytes > (room := _room.get()):
        raise Malformed(
            f"{what} would take {num_bytes:,} B of memory, and a file of its size and machine "
            f"takes at most {room:,} B"
        )


def take_room(num_bytes: int, what: str) -> None:
    """Check as `check_room`, and reduce the budget for all later allocations.

    >>> with Format("sketch", (1,), "a sketch", "sketch.save(path)").loading("'a.sketch'"):
    ...     take_room(800 << 20, "a table")
    ...     take_room(800 << 20, "another table")
    Traceback (most recent call last):
    poplite.errors.FileLoadError: 'a.sketch' cannot be loaded as a sketch: another table...
    """
    check_room(num_bytes, what)
    _room.set(_room.get() - num_bytes)


def parsed_json(
    text: str | bytes, what: str = "it", object_pairs_hook: Callable[[Pairs], Any] | None = None
) -> Any:
    """Parse a JSON text, in memory of at most about 20 bytes for each of its characters.

    Rejects a text that consists mainly of almost empty lists and objects, and one with lone
    surrogates, which JSON allows, but no terminal, file or hash accepts; `what` is its source in
    the message.

    >>> parsed_json('{"tiles": [1, 2]}')
    {'tiles': [1, 2]}
    >>> parsed_json("[" + 1_000_000 * "[]," + "[]]")
    Traceback (most recent call last):
    poplite.codec.file_formats.Malformed: it has 1,000,002 lists and 0 objects in 3,000,...
    """
    try:
        text = text.decode() if isinstance(text, bytes) else text
    except ValueError as error:
        raise Malformed(f"{what} is not text: {error}") from error
    _check_brackets(text, what)
    try:
        value = json.loads(text, object_pairs_hook=object_pairs_hook)
    except Malformed:
        raise
    except (ValueError, RecursionError) as error:
        raise Malformed(f"{what} is not JSON: {error}") from error
    check_characters(text, value, what)
    return value


def _check_brackets(text: str, what: str) -> None:
    """Reject JSON whose lists and objects take too much memory."""
    lists, objects = text.count("["), text.count("{")
    room = max(SMALL_BYTES, BYTES_A_CHARACTER * len(text))
    if LIST_BYTES * lists + OBJECT_BYTES * objects <= room:
        return
    for each in _TEXT.finditer(text):  # slow, but few files need it
        lists -= each[0].count("[")
        objects -= each[0].count("{")
    if LIST_BYTES * lists + OBJECT_BYTES * objects > room:
        raise Malformed(
            f"{what} has {lists:,} lists and {objects:,} objects in {len(text):,} characters"
        )


def check_characters(text: str, value: Any, what: str = "it") -> None:
    """Reject lone surrogates in a value; `text` is its JSON."""
    if "\\" not in text or _SURROGATE.search(text) is None:
        return
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        around = error.object[max(error.start - 10, 0) : error.start + 1]
        raise Malformed(
            f"{what} has text with a lone surrogate, which is not a character: ...{around!a}"
        ) from None
