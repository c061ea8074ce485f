"""The state of an engine between runs, from which an engine with the same programs continues.

    graph        variables, steps and programs, by digest, which both engines must share
    memory       all variables; constants are equal anyway
    streams      the next block of each connected array
    remote       rows of remote buffers
    random bits  the mode of arithmetic, the seed, and how many compute sets have drawn
    accounts     how often each row ran, so that reports continue

Rows are those of the compiled programs; the programs of ranks have additional rows, and `rows` maps
the former to the latter. Rows that copy to temporaries or save elements are omitted, so that an
engine may continue in a different form.

Its file is a zip of a JSON text and of the bytes of memory::

    accounts          int64: how often each row ran, then the totals of counted vertices
    manifest.json     the graph's digests, streams, random bits, and the members
    memory/0          all variables of replica 0, in the order of the arena
    remote/0/0        the rows of the first remote buffer, replica 0
    written/0         with strict checks: a bit for each byte of memory/0
    written/0/0       with strict checks: a bit for each element of remote/0/0

Members are uncompressed, and each has a checksum.  The number of ranks is not recorded: equal
states give equal bytes.
"""

from __future__ import annotations

import math
import os
import re
import stat
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.codec.archive import MANIFEST, ArrayReader, undamaged, unpacked, write_members
from poplite.codec.file_formats import STATES, Malformed, shown
from poplite.errors import FileLoadError
from poplite.executable import encoding as op
from poplite.executable.executable import Executable, constants_of, digest, meaning_of, program_rows
from poplite.executable.parts import CodeLoad
from poplite.files import replacing
from poplite.frozen import frozen
from poplite.simulator.accounts import Accounts
from poplite.simulator.compiled_program import EnginePrograms
from poplite.simulator.run.arena import Arena
from poplite.simulator.run.host_links import HostLinks
from poplite.simulator.strict.checks import StrictChecks
from poplite.types import BOOL

if TYPE_CHECKING:
    from poplite.codec.codec import Coder

# -- the file --------------------------------------------------------------------------------------


@frozen(eq=False)
class SavedState:
    """The content of a file without the bytes of its members.

    Attributes:
        graph: the names of the parts of the programs, and their digests.
        variables: name, element type, shape and first byte of each variable.
        replicas: the number of replicas.
        counted: program, row and number of words of the totals of counted vertices.
        remote: handle, element type, number of rows and elements per row of each remote buffer.
        words: floating-point state, in words (`poplite.executable.encoding`).
        ended: number of runs that reached their end.
        runs_again: how often strict checks ran vertices again.
        streams: the next block of each stream, by replica.
        loaded: functions whose code is loaded.
    """

    graph: tuple[tuple[str, str], ...]
    variables: tuple[tuple[str, str, tuple[int, ...], int], ...]
    replicas: int
    counted: tuple[tuple[str, int, int], ...]
    remote: tuple[tuple[str, str, int, int], ...]
    words: tuple[int, ...]
    ended: int
    runs_again: int
    streams: Mapping[str, list[int | None]]
    loaded: tuple[str, ...]


CHUNK_BYTES = 1 << 26
"""Number of bytes that are read or written at a time."""

_MEMBER = re.compile(r"accounts|memory/\d+|remote/\d+/\d+|written/\d+(/\d+)?")

Bytes = npt.NDArray[np.uint8]
Members = Mapping[str, tuple[int, Iterable[Any]]]
"""The size of each member, and an iterable of its blocks."""


def chunks_of(size: int) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each chunk of `size` bytes."""
    for begin in range(0, size, CHUNK_BYTES):
        yield begin, min(begin + CHUNK_BYTES, size)


@cache
def _coder() -> Coder:
    # Few engines are saved, and engines start sooner without the codec.
    from poplite.codec.codec import Codec, ScalarCoder

    counts = ScalarCoder(int, range(1 << 63), "is not an integer of at least 0")
    return Codec({int: counts}).coder_of(SavedState)


def write_state(path: str, saved: SavedState, members: Members) -> None:
    """Write a state; it replaces an older one once it is completely on disk."""
    from poplite.codec.codec import Writer

    text = STATES.text(_coder().encode(saved, Writer()), path).encode()
    with replacing(path, "run.state") as file:
        write_members(file, {MANIFEST: (len(text), [text]), **members})
        file.flush()
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            os.fsync(file.fileno())
    if os.name == "posix":  # the new name must be on disk as well
        folder = os.open(os.path.dirname(os.path.realpath(path)), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@frozen(eq=False)
class StateFile:
    """A state that is open for reading.

    Attributes:
        saved: its manifest, with checked types.
    """

    saved: SavedState
    _archive: zipfile.ZipFile

    def check_members(self, sizes: Mapping[str, int]) -> None:
        """Reject a file with different members, or members of a different size."""
        found = {info.filename: info.file_size for info in self._archive.infolist()}
        for name in sorted((found.keys() ^ sizes.keys()) - {MANIFEST}):
            raise Malformed(f"its member '{name}' is {'unknown' if name in found else 'missing'}")
        for name, size in sizes.items():
            if found[name] != size:
                raise Malformed(
                    f"its member '{name}' must have {size:,} B; found {found[name]:,} B"
                )

    def chunks(self, name: str) -> Iterator[Bytes]:
        """Yield the bytes of a member; its checksum is verified at the end."""
        with undamaged():
            member = self._archive.open(name)
        with member:
            while True:
                with undamaged():
                    data = member.read(CHUNK_BYTES)
                if not data:
                    return
                yield np.frombuffer(data, np.uint8)

    def bytes_of(self, name: str) -> Bytes:
        """Return all bytes of a member."""
        return np.concatenate([np.zeros(0, np.uint8), *self.chunks(name)])


@contextmanager
def reading(path: str) -> Iterator[StateFile]:
    """Open a state; a `Malformed` raised in the `with` statement becomes a `FileLoadError`."""
    with (
        STATES.loading(repr(path)),
        unpacked(path, STATES, lambda name: bool(_MEMBER.fullmatch(name))) as (manifest, zipped),
    ):
        from poplite.codec.codec import Reader, decoded

        of = Reader(ArrayReader({}), (), (), ())
        saved: SavedState = decoded(_coder(), STATES.parts(manifest), of)
        yield StateFile(saved, zipped)


# -- the state -------------------------------------------------------------------------------------


FEW, MOST_CYCLES = 1 << 31, 1 << 52
"""Number of runs of a row above which its cycles are checked, and the maximum number of cycles of
all runs: weeks on a machine."""

MOST_RUNS = 1 << 61
"""Maximum number of runs, and of repeated runs by checks, so that reports can continue to count."""

Memory = Callable[[int, int, int], Bytes]
"""Returns the bytes of a replica from one position to another."""


@frozen(eq=False)
class Taken:
    """The checked contents of a file except memory; accounts are int64, as in `EngineState`."""

    saved: SavedState
    accounts: Int64


class EngineState:
    """The state of an engine, to save and restore; `rows` maps compiled rows to the engine's."""

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
        own = {name: program_rows(executable, code.ops) for name, code in programs}
        self._rows = {name: rows[name][each] for name, each in own.items()} if rows else own
        self._own_rows = own
        self.size = executable.layout.end_of_variables(len(executable.layout.variables))

    # -- contents that must be equal ---------------------------------------------------------------

    def _words(self) -> Iterator[tuple[tuple[str, int], Int64]]:
        for name, rows in self._rows.items():
            for row, own in enumerate(rows.tolist()):
                if (words := self._runs.slot_words.get((name, own))) is not None:
                    yield (name, row), words

    # -- saving ------------------------------------------------------------------------------------

    def saved(self) -> SavedState:
        """Return the content of a file except memory."""
        executable, layout = self._executable, self._executable.layout
        checks = "kind of checks, strict or not,", digest(executable.checks == "strict")
        graph = [checks, *meaning_of(executable), *constants_of(executable)]
        bases = layout.byte_positions(np.array([v.base for v in layout.variables], np.int64))
        variables = zip(layout.variables, bases.tolist(), strict=True)
        remote = [each.spec for each in self._links.remote.values()]
        return SavedState(
            graph=tuple((what, found.hex()) for what, found in graph),
            variables=tuple(
                (v.name, v.element_type.__name__, tuple(v.shape), at) for v, at in variables
            ),
            replicas=layout.replicas,
            counted=tuple((name, row, len(words)) for (name, row), words in self._words()),
            remote=tuple(
                (s.handle, s.element_type.__name__, s.repeats, s.num_elements) for s in remote
            ),
            words=tuple(self._arena.floats.words.tolist()),
            ended=self._runs.ended,
            runs_again=0 if self._strict is None else self._strict.runs_again,
            streams=self._links.positions,
            loaded=tuple(sorted(self._links.loaded)),
        )

    def members(self, memory: Memory, shadow: Memory) -> Members:
        """Return the members of a file.

        `memory` returns bytes of variables; `shadow`, with strict checks, returns their shadow.
        """

        def chunks(take: Memory, replica: int) -> Iterator[memoryview]:
            for ends in chunks_of(self.size):
                found = take(replica, *ends)
                yield (found if take is memory else np.packbits(found)).data

        accounts = self._accounts()
        blocks: dict[str, Iterable[memoryview]] = {"accounts": [accounts.data]}
        for number, rows in enumerate(self._links.remote.values()):
            for replica, each in enumerate(rows.rows):
                blocks[f"remote/{number}/{replica}"] = [each.data] * (each.nbytes > 0)
            for replica, own in enumerate(rows.written):
                blocks[f"written/{number}/{replica}"] = [np.packbits(own).data] * (own.size > 0)
        for replica in range(len(self._arena.parts)):
            blocks[f"memory/{replica}"] = chunks(memory, replica)
            if self._strict is not None:
                blocks[f"written/{replica}"] = chunks(shadow, replica)
        sizes = self._sizes()
        return {name: (sizes[name], block) for name, block in blocks.items()}

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
        """Return how often each row ran, then the words of the counters."""
        counts = [self._runs.counts[name][rows] for name, rows in self._rows.items()]
        words = [each for _, each in self._words()]
        return np.concatenate([np.zeros(0, np.int64), *counts, *words]).astype("<i8")

    # -- restoring ---------------------------------------------------------------------------------

    def checked(self, file: StateFile, name: str, call: str) -> Taken:
        """Check a whole file, including memory, before the engine changes."""
        saved, own = file.saved, self.saved()
        for theirs, mine in zip_longest(saved.graph, own.graph, fillvalue=("nothing", "")):
            if theirs != mine:
                other = "is another" if theirs[0] == mine[0] else f"is in place of {mine[0]}"
                raise self._other(name, f"{theirs[0]} {other}")
        if saved.counted != own.counted:
            raise self._other(name, "different vertices were counted during runs")
        for key in ("variables", "replicas", "remote"):
            if getattr(saved, key) != getattr(own, key):
                raise Malformed(f"its {key} are not those of its graph")
        if len(saved.words) != len(own.words):
            raise Malformed("its floating-point state is not valid")
        if not self._arena.floats.knows(mode := saved.words[op.FLOAT_MODE]):
            raise Malformed(f"its programs never use floating-point mode {mode}")
        if _lengths(saved.streams) != _lengths(own.streams):
            raise Malformed("its streams are not those of its graph")
        for what in ("ended", "runs_again"):
            if (number := getattr(saved, what)) >= MOST_RUNS:
                raise Malformed(f"its {what} is too large, {number:,}")
        functions = {a.function for a in self._executable.actions if isinstance(a, CodeLoad)}
        for each in saved.loaded:
            if each not in functions:
                raise Malformed(f"the code of {shown(each)}, which it lists, can never be loaded")
        file.check_members(self._sizes())
        accounts = file.bytes_of("accounts").view("<i8").astype(np.int64)
        self._check_accounts(accounts)
        self._check_counted(accounts)
        bools = [
            (name, at, at + math.prod(shape))
            for name, kind, shape, at in saved.variables
            if kind == BOOL.__name__
        ]
        for member in self._sizes():
            at = 0
            for chunk in file.chunks(member):
                if member.startswith("memory/"):
                    _check_bools(bools, at, chunk)
                at += len(chunk)
        self._links.check_positions(saved.streams, call)
        return Taken(saved, accounts)

    def _check_accounts(self, accounts: Int64) -> None:
        """Reject counts that no runs can produce, or that reports cannot handle."""
        if len(accounts) and int(accounts.min()) < 0:
            raise Malformed("its accounts have a negative number")
        if not len(accounts) or int(accounts.max()) < FEW:
            return
        counts, at = {}, 0
        for name, rows in self._own_rows.items():
            counts[name] = np.zeros(len(self._executable.programs[name].ops), np.int64)
            counts[name][rows] = accounts[at : at + len(rows)]
            at += len(rows)
        most = max([int(each.max()) for each in counts.values()] + accounts[at:].tolist())
        if most > MOST_CYCLES or Accounts(self._executable, counts).exceed(MOST_CYCLES):
            raise Malformed(f"its accounts have more than {MOST_CYCLES:,} cycles")

    def _check_counted(self, accounts: Int64) -> None:
        """Reject totals of vertices for rows that never ran; a fault may omit totals."""
        ends = np.cumsum([len(rows) for rows in self._rows.values()]).tolist()
        first = dict(zip(self._rows, [0, *ends], strict=False))
        at = ends[-1] if ends else 0
        for (name, row), words in self._words():
            counted = accounts[at : at + len(words)]
            at += len(words)
            times = counted[op.TOTAL_EXECUTIONS]
            if times > accounts[first[name] + row] or (not times and counted.any()):
                raise Malformed(
                    f"its accounts count vertices of a row of program '{name}' that never ran"
                )

    def _other(self, name: str, difference: str) -> FileLoadError:
        return FileLoadError(
            f"{name!r} is the state of an engine with different programs",
            found=f"first difference: {difference}",
            fix="use an engine with the same graph, programs and checks; "
            "engine.write(x, values) copies single tensors",
        )

    def take(self, taken: Taken) -> None:
        """Restore everything except memory and rows of remote buffers, after `load`."""
        self._arena.floats.words[:] = taken.saved.words
        self._runs.ended = taken.saved.ended
        if self._strict is not None:
            self._strict.runs_again = taken.saved.runs_again
        self._links.loaded.update(taken.saved.loaded)
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
        """Restore the state of the host: rows of remote buffers, and positions of streams."""
        self._links.go_on(taken.saved.streams)
        for number, rows in enumerate(self._links.remote.values()):
            for replica, each in enumerate(rows.rows):
                found = file.bytes_of(f"remote/{number}/{replica}")
                each.reshape(-1).view(np.uint8)[:] = found
            for replica, own in enumerate(rows.written):
                bits = file.bytes_of(f"written/{number}/{replica}")
                own.reshape(-1)[:] = np.unpackbits(bits, count=own.size)

    def take_memory(self, file: StateFile) -> None:
        """Restore all variables and their shadow."""
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
        """Yield the bytes of a replica's variables or, for kind 1, those of their shadow."""
        if not kind:
            yield from file.chunks(f"memory/{replica}")
            return
        bits = file.bytes_of(f"written/{replica}")
        for begin, end in chunks_of(self.size):
            yield np.unpackbits(bits[begin // 8 : -(-end // 8)], count=end - begin)


def _lengths(streams: Mapping[str, list[int | None]]) -> dict[str, int]:
    return {handle: len(positions) for handle, positions in streams.items()}


def _check_bools(bools: Sequence[tuple[str, int, int]], at: int, chunk: Bytes) -> None:
    """Reject a BOOL that is neither 0 nor 1, since compiled code relies on this."""
    for name, begin, end in bools:
        part = chunk[max(begin - at, 0) : max(end - at, 0)]
        if len(part) and int(part.max()) > 1:
            raise Malformed(f"'{name}' contains numbers other than 0 and 1")
