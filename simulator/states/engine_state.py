"""What an engine holds between runs, so that another one of the same programs can go on.

    graph        variables, steps and programs, by digest: those of both engines are the same
    memory       all variables; constants are the same anyway
    streams      the next block of each connected array
    remote       rows of remote buffers
    random bits  the mode of arithmetic, the seed, and how many compute sets have drawn
    accounts     how often each row ran, so that reports go on

Rows are those of the programs that were compiled: ranks have more, and `rows` says which are which.
Those that copy into temporaries and save are left out, so that an engine may go on in another form.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import Any

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.codec.archive import Malformed
from poplite.errors import FileLoadError
from poplite.executable import opcodes as op
from poplite.executable.executable import Executable
from poplite.executable.identity import constants_of, digest, meaning_of, own_rows
from poplite.simulator.accounts.accounts import Accounts
from poplite.simulator.host.handles import HostLinks
from poplite.simulator.run.arena import Arena
from poplite.simulator.run_control import EnginePrograms
from poplite.simulator.states.state_file import Bytes, Members, StateFile, chunks_of
from poplite.simulator.strict.checks import StrictChecks
from poplite.source import here
from poplite.types import BOOL

FEW, MOST_CYCLES = 1 << 31, 1 << 52
"""How often a row may run before its cycles are looked at, and the most cycles of all runs, which
are weeks on a machine."""

Memory = Callable[[int, int, int], Bytes]
"""Returns the bytes of a replica from one position to another."""


@dataclass(frozen=True, slots=True, eq=False)
class Taken:
    """What a file says that is not memory, checked.

    Attributes:
        words: floating-point words (`poplite.executable.opcodes`).
        ended: runs that reached their end.
        runs_again: how often strict checks ran vertices again.
        streams: the next block of each stream, by replica.
        loaded: functions whose code is loaded.
        accounts: int64, see `EngineState`.
    """

    words: tuple[int, ...]
    ended: int
    runs_again: int
    streams: Mapping[str, list[int | None]]
    loaded: tuple[str, ...]
    accounts: Int64


class EngineState:
    """What an engine holds, to be saved and restored; `rows` are its rows of the programs."""

    def __init__(
        self,
        executable: Executable,
        arena: Arena,
        runs: EnginePrograms,
        links: HostLinks,
        strict: StrictChecks | None = None,
        rows: Mapping[str, Int64] | None = None,
    ) -> None:
        self._executable, self._arena, self._runs = executable, arena, runs
        self._links, self._strict = links, strict
        programs = executable.programs.items()
        own = {name: own_rows(executable, code.ops) for name, code in programs}
        self._rows = {name: rows[name][each] for name, each in own.items()} if rows else own
        self._own_rows = own
        self.size = executable.layout.end_of_variables(len(executable.layout.variables))

    # -- what must be the same ---------------------------------------------------------------

    def _graph(self) -> list[list[str]]:
        """Return what a part of the programs is called, and its digest, for all of them."""
        executable = self._executable
        checks = "kind of checks, strict or not,", digest(executable.checks == "strict")
        parts = [checks, *meaning_of(executable), *constants_of(executable)]
        return [[what, found.hex()] for what, found in parts]

    def _counted(self) -> list[list[Any]]:
        """Return program, row and words of what vertices took that are counted."""
        return [[name, row, len(words)] for (name, row), words in self._words()]

    def _words(self) -> Iterator[tuple[tuple[str, int], Int64]]:
        for name, rows in self._rows.items():
            for row, own in enumerate(rows.tolist()):
                if (words := self._runs.slot_words.get((name, own))) is not None:
                    yield (name, row), words

    def _remote(self) -> list[list[Any]]:
        specs = [each.spec for each in self._links.remote.values()]
        return [[s.handle, s.element_type.__name__, s.repeats, s.num_elements] for s in specs]

    def _variables(self) -> list[list[Any]]:
        layout = self._executable.layout
        bases = layout.byte_positions(np.array([v.base for v in layout.variables], np.int64))
        return [
            [v.name, v.element_type.__name__, list(v.shape), at]
            for v, at in zip(layout.variables, bases.tolist(), strict=True)
        ]

    @cached_property
    def _bools(self) -> list[tuple[str, int, int]]:
        """The name of each BOOL variable, its first byte and the one behind it."""
        variables = zip(self._executable.layout.variables, self._variables(), strict=True)
        return [
            (v.name, at, at + v.num_elements)
            for v, (_, kind, _, at) in variables
            if kind == BOOL.__name__
        ]

    def _fixed(self) -> dict[str, Any]:
        return {
            "graph": self._graph(),
            "variables": self._variables(),
            "replicas": self._executable.layout.replicas,
            "counted": self._counted(),
            "remote": self._remote(),
        }

    # -- saving ------------------------------------------------------------------------------

    def manifest(self) -> dict[str, Any]:
        """Return what a file says beside memory."""
        return {
            **self._fixed(),
            "words": self._arena.floats.words.tolist(),
            "ended": self._runs.ended,
            "runs_again": 0 if self._strict is None else self._strict.runs_again,
            "streams": self._links.positions,
            "loaded": sorted(self._links.loaded),
        }

    def members(self, memory: Memory, shadow: Memory) -> Members:
        """Return the members of a file.

        `memory` returns bytes of variables, `shadow` with strict checks which of them are written.
        """
        sizes, accounts = self._sizes(), self._accounts()
        found: dict[str, tuple[int, Any]] = {"accounts": (accounts.nbytes, [accounts.data])}
        for number, rows in enumerate(self._links.remote.values()):
            for replica, each in enumerate(rows.rows):
                found[f"remote/{number}/{replica}"] = each.nbytes, [each.data] * (each.nbytes > 0)
            for replica, own in enumerate(rows.written):
                name, packed = f"written/{number}/{replica}", np.packbits(own)
                found[name] = packed.nbytes, [packed.data] * (packed.nbytes > 0)
        for replica in range(len(self._arena.parts)):
            name = f"memory/{replica}"
            chunks = (memory(replica, *ends).data for ends in chunks_of(self.size))
            found[name] = sizes[name], chunks
            if self._strict is not None:
                name = f"written/{replica}"
                bits = (np.packbits(shadow(replica, *ends)).data for ends in chunks_of(self.size))
                found[name] = sizes[name], bits
        return found

    def _sizes(self) -> dict[str, int]:
        sizes = {"accounts": self._accounts().nbytes}
        for number, rows in enumerate(self._links.remote.values()):
            for replica, each in enumerate(rows.rows):
                sizes[f"remote/{number}/{replica}"] = each.nbytes
            for replica, own in enumerate(rows.written):
                sizes[f"written/{number}/{replica}"] = -(-own.size // 8)
        for replica in range(len(self._arena.parts)):
            sizes[f"memory/{replica}"] = self.size
            if self._strict is not None:
                sizes[f"written/{replica}"] = -(-self.size // 8)
        return sizes

    def _accounts(self) -> Int64:
        """Return how often each row ran, then the words of what is counted."""
        counts = [self._runs.counts[name][rows] for name, rows in self._rows.items()]
        words = [each for _, each in self._words()]
        return np.concatenate([np.zeros(0, np.int64), *counts, *words]).astype("<i8")

    # -- restoring ---------------------------------------------------------------------------

    def checked(self, file: StateFile, name: str, call: str) -> Taken:
        """Check all of a file, memory too, before anything of the engine changes."""
        manifest = file.manifest
        fixed = self._fixed()
        self._check_graph(manifest.get("graph"), fixed.pop("graph"), name)
        for key, expected in fixed.items():
            if manifest.get(key) != expected:
                if key == "counted":
                    raise self._other(name, "other vertices were counted while they ran")
                raise Malformed(f"its {key} are not those of its graph")
        file.check_members(self._sizes())
        accounts = file.bytes_of("accounts").view("<i8").astype(np.int64)
        self._check_accounts(accounts)
        taken = Taken(
            self._checked_words(manifest.get("words")),
            _count(manifest.get("ended"), "ended"),
            _count(manifest.get("runs_again"), "runs_again"),
            self._checked_streams(manifest.get("streams")),
            _texts(manifest.get("loaded")),
            accounts,
        )
        for member in self._sizes():
            at = 0
            for chunk in file.chunks(member):
                if member.startswith("memory/"):
                    self._check_memory(at, chunk)
                at += len(chunk)
        self._links.check_positions(taken.streams, call)
        return taken

    def _check_accounts(self, accounts: Int64) -> None:
        """Refuse numbers that no runs lead to, with which reports could not reckon."""
        if len(accounts) and int(accounts.min()) < 0:
            raise Malformed("its accounts hold a number below 0")
        if not len(accounts) or int(accounts.max()) < FEW:
            return
        counts, at = {}, 0
        for name, rows in self._own_rows.items():
            counts[name] = np.zeros(len(self._executable.programs[name].ops), np.int64)
            counts[name][rows] = accounts[at : at + len(rows)]
            at += len(rows)
        most = max([int(each.max()) for each in counts.values()] + accounts[at:].tolist())
        if most > MOST_CYCLES or Accounts(self._executable, counts).exceed(MOST_CYCLES):
            raise Malformed(f"its accounts hold more than {MOST_CYCLES:,} cycles")

    def _check_graph(self, found: Any, own: list[list[str]], name: str) -> None:
        if not isinstance(found, list) or not all(
            isinstance(each, list) and list(map(type, each)) == [str, str] for each in found
        ):
            raise Malformed("it does not list the parts of its graph")
        for theirs, mine in zip_longest(found, own, fillvalue=["nothing", ""]):
            if theirs != mine:
                other = "is another" if theirs[0] == mine[0] else f"stands in place of {mine[0]}"
                raise self._other(name, f"{theirs[0]} {other}")

    def _other(self, name: str, difference: str) -> FileLoadError:
        return FileLoadError(
            f"{name!r} is the state of an engine of other programs",
            at=here(),
            found=f"first difference: {difference}",
            fix="an engine of the same graph, programs and checks; "
            "engine.write(x, values) takes single tensors over",
        )

    def _checked_words(self, words: Any) -> tuple[int, ...]:
        if not isinstance(words, list) or len(words) != op.FLOAT_WORDS:
            raise Malformed("it does not say how floating-point arithmetic behaves")
        found = tuple(_count(each, "words") for each in words)
        if not self._arena.floats.knows(found[op.FLOAT_MODE]):
            raise Malformed(f"its programs are never in mode {found[op.FLOAT_MODE]} of arithmetic")
        return found

    def _checked_streams(self, streams: Any) -> dict[str, list[int | None]]:
        own, replicas = self._links.positions, len(self._arena.parts)
        if not isinstance(streams, dict) or streams.keys() != own.keys():
            raise Malformed("its streams are not those of its graph")
        for each in streams.values():
            if not isinstance(each, list) or len(each) != replicas:
                raise Malformed("it does not say where each stream is")
            for position in each:
                if position is not None:
                    _count(position, "streams")
        return streams

    def _check_memory(self, at: int, chunk: Bytes) -> None:
        """Refuse a BOOL that is neither 0 nor 1, which compiled code relies on."""
        for name, begin, end in self._bools:
            part = chunk[max(begin - at, 0) : max(end - at, 0)]
            if len(part) and int(part.max()) > 1:
                raise Malformed(f"'{name}' holds other numbers than 0 and 1")

    def take(self, taken: Taken) -> None:
        """Restore all but memory and rows of remote buffers, after `load`."""
        self._arena.floats.words[:] = taken.words
        self._runs.ended = taken.ended
        if self._strict is not None:
            self._strict.runs_again = taken.runs_again
        self._links.loaded.update(taken.loaded)
        at = 0
        for name, rows in self._rows.items():
            counts = self._runs.counts[name]
            counts[:] = 0
            counts[rows] = taken.accounts[at : at + len(rows)]
            at += len(rows)
        for _, words in self._words():
            words[:] = taken.accounts[at : at + len(words)]
            at += len(words)

    def take_host(self, file: StateFile, taken: Taken) -> None:
        """Restore what the host has: rows of remote buffers, and where streams are."""
        self._links.go_on(taken.streams)
        for number, rows in enumerate(self._links.remote.values()):
            for replica, each in enumerate(rows.rows):
                found = file.bytes_of(f"remote/{number}/{replica}")
                each.reshape(-1).view(np.uint8)[:] = found
            for replica, own in enumerate(rows.written):
                bits = file.bytes_of(f"written/{number}/{replica}")
                own.reshape(-1)[:] = np.unpackbits(bits, count=own.size)

    def take_memory(self, file: StateFile) -> None:
        """Restore all variables, and which of their bytes are written."""
        memories = [self._arena.parts]
        if self._strict is not None:
            memories.append(self._strict.shadow.parts)
        for kind, parts in enumerate(memories):
            for replica, part in enumerate(parts):
                at = 0
                for chunk in self.chunks(file, kind, replica):
                    part[at : at + len(chunk)] = chunk
                    at += len(chunk)

    def chunks(self, file: StateFile, kind: int, replica: int) -> Iterator[Bytes]:
        """Yield the bytes of a replica's variables, or of kind 1 those of their shadow."""
        if not kind:
            yield from file.chunks(f"memory/{replica}")
            return
        bits = file.bytes_of(f"written/{replica}")
        for begin, end in chunks_of(self.size):
            yield np.unpackbits(bits[begin // 8 : -(-end // 8)], count=end - begin)


def _count(value: Any, what: str) -> int:
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise Malformed(f"{what}: {value!r:.40} is no count")
    return operator.index(value)


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(type(each) is str for each in value):
        raise Malformed("it does not list the functions that are loaded")
    return tuple(value)
