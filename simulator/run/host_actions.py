"""Actions of Python in a running program: print, stop, compare replicas, stamp cycles.

PrintTensor writes a vector on one or several lines, and each row of a matrix on a line indented by
two spaces. Numbers are in columns, and the middle of long tensors is omitted::

    v1: [1.0000000 1.5000000]
    m: [
      [1 2 ... 8 9]
      ...
      [3 4 ... 6 7]
    ]

Floats have eight digits in total, before and after the point, unless the format specifies
otherwise.  Source of the layout: the output of Graphcore's tutorials.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf, isfinite, log10
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.errors import SHOWN_FAULTS, ApplicationRuntimeError, GraphReplicationError
from poplite.executable.encoding import Code
from poplite.executable.parts import (
    Action,
    Equal,
    Fail,
    HostTensor,
    NoCase,
    Print,
    Stamp,
    action_text,
)
from poplite.graph.tile_mapping import ranges
from poplite.program.steps import PLAIN, PrintTensorFormat
from poplite.simulator.run.arena import Arena
from poplite.simulator.run.host_links import HostLinks, describe
from poplite.simulator.run.host_tensors import read_host
from poplite.simulator.run.interpreted_vertices import move_between
from poplite.simulator.running import Peers

MASK = (1 << 32) - 1
"""Selects a word of the cycle counter."""


class Host:
    """The actions of an executable that are ready to run.

    Attributes:
        calls: the function that runs each action, by its number.
        where: returns the current step as text, for messages.
        acting: returns the number of the action that is running.
        links: streams, remote buffers and host functions.
        cycles: returns the cycles of all runs so far.
    """

    def __init__(
        self,
        actions: Sequence[Action],
        arena: Arena,
        programs: Mapping[str, Code],
        *,
        works_ahead: bool,
        is_strict: bool,
        follows_rows: bool,
        peers: Peers | None = None,
    ) -> None:
        self._arena, self._actions = arena, actions
        self.where: Callable[[str, bool], str] = lambda what, decides: what
        self.acting: Callable[[], int | None] = lambda: None
        self.cycles: Callable[[], int] = lambda: 0
        self.calls = [self._bound(action) for action in actions]
        self.links = HostLinks(
            actions,
            programs,
            arena.parts,
            self.calls,
            self.step,
            works_ahead=works_ahead,
            is_strict=is_strict,
            follows_rows=follows_rows,
            peers=peers,
        )

    def _bound(self, action: Action) -> Callable[[], object]:
        match action:
            case Print():
                return lambda: self._print(action)
            case NoCase():
                return lambda: self._no_case(action)
            case Fail():
                return lambda: self._fail(action)
            case Equal():
                return lambda: self._equal(action)
            case Stamp():
                return lambda: self._stamp(action)
        return lambda: None  # until a function is connected

    def doing(self) -> str:
        """Return the running callback of the user as text; empty if none is running."""
        number = self.acting()
        return "" if number is None else describe(self._actions[number])

    def step(self) -> str:
        """Return the step that called Python as text, for messages."""
        number = self.acting()
        assert number is not None, "only actions can fail"
        action = self._actions[number]
        decides = isinstance(action, NoCase)
        if isinstance(action, Equal):
            decides = action.kind != "assumption"
        return self.where(action_text(action), decides)

    def note(self, error: Exception) -> None:
        """Add the place in the program to an exception from the user's callback."""
        number = self.acting()
        if number is not None and (what := self.doing()):
            error.add_note(f"  at {self.step()}, in {what}")

    def _print(self, action: Print) -> None:
        for title, values in self._titled(action.title, action.tensor):
            text = format_tensor(title, values, action.format)
            print(text, file=self.links.print_stream or sys.stderr)

    def _each(self, tensor: HostTensor) -> list[npt.NDArray[Any]]:
        """Return a tensor's values in each replica."""
        return [read_host(tensor, memory) for memory in self._arena.parts]

    def _titled(self, title: str, tensor: HostTensor) -> list[tuple[str, npt.NDArray[Any]]]:
        """Return a tensor's values in each replica, with a title that names it."""
        each = self._each(tensor)
        if len(each) == 1:
            return [(title, each[0])]
        return [(f"{title}, replica {replica}", values) for replica, values in enumerate(each)]

    def _fail(self, action: Fail) -> None:
        found = "the program stops at this step"
        if action.predicate is not None and len(self._arena.parts) > 1:
            true = [n for n, values in enumerate(self._each(action.predicate)) if values.any()]
            found = f"'{action.predicate.name}' is true in replicas {ranges(true)}"
        if action.shown is not None:
            shown = self._titled(action.shown.name, action.shown)
            found = "\n".join(format_tensor(title, values) for title, values in shown)
        raise ApplicationRuntimeError(
            action.message or f"{action.program} stopped the run",
            at=action.location,
            where=self.step(),
            found=found,
            fix="inspect tensors with PrintTensor or engine.read; the engine can run again",
        )

    def _stamp(self, action: Stamp) -> None:
        cycles = self.cycles()
        for memory in self._arena.parts:
            since = 0
            if action.since is not None:
                low, high = read_host(action.since, memory).tolist()
                since = low + (high << 32)
            words = np.array([(cycles - since) & MASK, (cycles - since) >> 32 & MASK], np.uint32)
            move_between(action.tensor.moves.reversed(), memory, words.view(np.uint8))

    def _equal(self, action: Equal) -> None:
        """Reject a tensor that differs between replicas.

        Replicas run the same steps, so the data that determine which steps run must be equal in all
        of them. Poplar rejects programs for which this cannot be proved; here values are compared
        when they are used.
        """
        each = self._each(action.tensor)
        compared = [_compared(values, action.kind == "truth") for values in each]
        for replica in range(1, len(each)):
            differ = compared[replica] != compared[0]
            if differ.any():
                raise _differing(action, each, replica, differ, self.step())

    def _no_case(self, action: NoCase) -> None:
        value = int(read_host(action.control, self._arena.bytes).item())
        raise ApplicationRuntimeError(
            f"{action.switch}: there is no case for {value:,}",
            at=action.location,
            where=self.step(),
            found=f"cases: {action.cases}"
            + ("; its default was declared unreachable" if action.was_unreachable else ""),
            fix=f"call switch.add({value}, program), or pass Switch(control, cases, "
            "default=program)",
        )


def _compared(values: npt.NDArray[Any], as_truth: bool) -> npt.NDArray[Any]:
    """Return integers that are equal if and only if all bits of the values are equal."""
    if as_truth:
        return np.asarray(values != 0)
    return values.view(f"u{values.dtype.itemsize}")


def _differing(
    action: Equal,
    each: Sequence[npt.NDArray[Any]],
    replica: int,
    differ: npt.NDArray[np.bool_],
    step: str,
) -> GraphReplicationError:
    index = tuple(int(found[0]) for found in np.nonzero(np.atleast_1d(differ)))[: differ.ndim]
    element = f"'{action.tensor.name}'" + (f" at {list(index)}" if index else "")
    first, other = each[0][index], each[replica][index]
    values = [f"replica {number}: {values[index]}" for number, values in enumerate(each)]
    lines = [", ".join([*values[:SHOWN_FAULTS], *["..."] * (len(values) > SHOWN_FAULTS)])]
    if differ.size > 1:
        count = int(differ.sum())
        lines.append(f"{count:,} of {differ.size:,} elements differ between these two")
    return GraphReplicationError(
        f"{action.program}: {element} is {first} in replica 0, but {other} in replica {replica}",
        at=action.location,
        where=step,
        found="\n".join(lines),
        fix="write the same values to all replicas, or leave out the assumption"
        if action.kind == "assumption"
        else f"compute the {'control' if action.kind == 'value' else 'predicate'} from equal data "
        "in all replicas, or combine it across replicas with CrossReplicaCopy",
    )


# -- printing --------------------------------------------------------------------------------------


GAP = "..."
"""Marks omitted elements."""


def format_tensor(title: str, values: npt.NDArray[Any], style: PrintTensorFormat = PLAIN) -> str:
    """Return the text that PrintTensor prints for values of any shape.

    >>> print(format_tensor("v1", np.array([1, 1.5], np.float32)))
    v1: [1.0000000 1.5000000]
    >>> print(format_tensor("m", np.array([[1, 2], [3, 10]])))
    m: [
      [ 1  2]
      [ 3 10]
    ]
    """
    limit = style.summarise_threshold
    edge = style.edge_items if 0 < limit < values.size else max(values.shape, default=0)
    shown = values[np.ix_(*(_edges(length, edge) for length in values.shape))]
    texts = _texts(shown, style)
    lines = _lines(texts, values.shape, edge, style, "")
    return (f"{title}: " if title else "") + "\n".join(lines)


def _edges(length: int, edge: int) -> npt.NDArray[np.int64]:
    """Return the positions of a dimension that are printed."""
    every = np.arange(length)
    return every if length <= 2 * edge else np.concatenate([every[:edge], every[length - edge :]])


def _lines(
    texts: npt.NDArray[Any], shape: tuple[int, ...], edge: int, style: PrintTensorFormat, lead: str
) -> list[str]:
    """Return a tensor as lines, all except the first indented by `lead`.

    `texts` may omit the middle of long dimensions of `shape`, and then has `edge` elements at each
    end.
    """
    if not shape:
        return [str(texts.item())]
    middle = edge if shape[0] > len(texts) else None
    if len(shape) == 1:
        words = texts.tolist()
        if middle is not None:
            words[middle:middle] = [GAP]
        return _wrapped(words, style, lead)
    if not len(texts) and middle is None:
        return [style.open_bracket + style.close_bracket]
    inner = f"{lead}  "
    parts = [_lines(part, shape[1:], edge, style, inner) for part in texts]
    if middle is not None:
        parts[middle:middle] = [[GAP]]
    for part in parts[:-1]:
        part[-1] += style.separator.rstrip()
    rows = [f"{inner}{part[0]}" for part in parts]
    below = [line for row, part in zip(rows, parts, strict=True) for line in (row, *part[1:])]
    return [style.open_bracket, *below, f"{lead}{style.close_bracket}"]


def _wrapped(words: list[str], style: PrintTensorFormat, lead: str) -> list[str]:
    """Return a vector as lines within the length limit, unless a single word exceeds it."""
    lines, line = [], style.open_bracket
    begin = f"{lead}{' ' * len(style.open_bracket)}"
    limit = style.max_line_width or inf
    room = limit - len(lead)  # the caller puts it before the first line
    for number, word in enumerate(words):
        is_last = number == len(words) - 1
        behind = style.close_bracket if is_last else style.separator.rstrip()
        if number and len(line) + len(word) + len(behind) > room:
            lines.append(line.rstrip())
            line, room = begin, limit
        line += word + (style.close_bracket if is_last else style.separator)
    return [*lines, line if words else style.open_bracket + style.close_bracket]


def _texts(values: npt.NDArray[Any], style: PrintTensorFormat) -> npt.NDArray[Any]:
    """Return the text of each element, padded to align in columns unless `digits` is 0."""
    write = _float_writer(values, style) if values.dtype.kind == "f" else str
    texts = [write(value) for value in values.reshape(-1).tolist()]
    if style.digits and values.ndim:
        width = max(map(len, texts), default=0)
        texts = [text.rjust(width) for text in texts]
    made = np.empty(len(texts), object)
    made[:] = texts
    return made.reshape(values.shape)


def _float_writer(values: npt.NDArray[Any], style: PrintTensorFormat) -> Callable[[float], str]:
    """Return a function that formats a float; it depends on all values that are printed."""
    kind, digits = style.float_format, style.digits
    if kind == "none" or digits == 0:
        shortest = values.dtype.type
        return lambda value: str(shortest(value))
    sizes = list(_sizes(values))
    before = max((int(log10(size)) + 1 for size in sizes if size >= 1), default=1)
    if kind == "auto":
        # As in NumPy: without an exponent, very small numbers would lose significant digits.
        is_small = any(size < 10.0 ** -(digits // 2) for size in sizes)
        kind = "scientific" if before > digits or is_small else "fixed"
    if kind == "scientific":
        return lambda value: f"{value:.{digits - 1}e}"
    return lambda value: f"{value:.{max(0, digits - before)}f}"


def _sizes(values: npt.NDArray[Any]) -> Iterator[float]:
    return (abs(v) for v in values.reshape(-1).tolist() if v != 0 and isfinite(v))
