"""The device of an MPI job, for `Engine(..., device=)`.

`OnRank` presents the programs of an executable on one of several ranks to an engine::

    Simulated      runs the rank's own executable; independent of MPI
    OtherRanks     exchanges data with the others, and ends runs on all of them
    Accounts       those of the graph's executable, so that reports are complete on every rank

`check_same` checks that all ranks have compiled the same (`poplite.executable.executable`).

`StatesOnRanks` saves the state of an engine on ranks as one file, which rank 0 writes and reads::

    saving     chunk by chunk: all ranks send their parts to rank 0, which writes the chunk
    loading    rank 0 checks the whole file, then reads chunk by chunk, and all get their parts

No whole chunk is ever in the arena of rank 0, which would then contain all variables of the graph.
The file need not be visible to other ranks.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.codec.file_formats import STATES, Malformed
from poplite.compile.options import EngineOptions
from poplite.errors import Absent, ControlProgramError, DeviceRuntimeError, InvalidOption
from poplite.executable import encoding as op
from poplite.executable.encoding import Code
from poplite.executable.executable import Executable, digest, executable_parts
from poplite.executable.parts import action_text
from poplite.files import checked_path
from poplite.machine.device import Device as PoplarDevice
from poplite.machine.target import Target
from poplite.mpi.joint_runs import OtherRanks
from poplite.mpi.message_packing import (
    HOST,
    CopiedPieces,
    Messages,
    Owners,
    handed_on,
    owners_of,
    return_messages,
    to_everyone,
    to_rank,
)
from poplite.mpi.rank_plan import POISON, Exchange, equal_cut, rank_plan
from poplite.mpi.ranks import Ranks, Word, as_others_raise, say_end, started_mpi, watch_own_end
from poplite.report.execution import BetweenRanks
from poplite.simulator import states
from poplite.simulator.accounts import Accounts
from poplite.simulator.engine import Simulated
from poplite.simulator.engine_arguments import LoadedPrograms, Setup, Source, check_root
from poplite.simulator.run.arena import Arena
from poplite.simulator.run.host_tensors import ByMoves, ByView, HostAccess
from poplite.simulator.run.slot_counts import SlotTotals
from poplite.text import amount, clipped, integer_or_none, of_type
from poplite.view import runs

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

    from poplite.report.report import Report
    from poplite.report.trace import Trace


class Device(PoplarDevice):
    """The ranks of an MPI job, which run the programs of an engine together.

    All ranks make the same graph, or load the same executable, and make the same calls to the
    engine. Each rank owns the elements and runs the vertices of its own tiles. Results are
    bit-identical on any number of ranks, and modelled cycles are equal.

    Args:
        comm: an mpi4py communicator; by default that of all ranks of the job.
        cut: the first tile of each rank except rank 0, ascending; by default ranks get about equal
            work.
        timeout: seconds after which a rank that waits for another one ends the job, also while the
            device is made; 0 for no limit.
        target: the machine of `pl.Graph(device)`; by default `pl.Target()`. Programs for any other
            machine run as well.

    Raises:
        DeviceRuntimeError: if mpi4py or an MPI library is missing.
        InvalidOption: for a `cut` that does not match the number of ranks, or a negative `timeout`;
            an engine raises it for a `cut` at tiles that its graph does not have.
        InvalidMachineModel: for an invalid `target`.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x = graph.add_variable(pl.INT, (2,), "x", mapping=0, initial_value=[1, 2])
    >>> y = graph.add_variable(pl.INT, (2,), "y", mapping=1)
    >>> engine = pl.Engine(graph, pl.Copy(x, y), device=pl.mpi.Device())  # doctest: +SKIP
    >>> engine.run()  # doctest: +SKIP
    """

    _is_poisoned = False  # in tests, all bytes that a rank does not own are overwritten per step

    def __init__(
        self,
        comm: Comm | None = None,
        cut: Sequence[int] | None = None,
        timeout: float = 60,
        target: Target | None = None,
    ) -> None:
        super().__init__(Target() if target is None else target)
        seconds = _checked_seconds(timeout)
        world = started_mpi(seconds).COMM_WORLD
        if world.Get_size() > 1:
            watch_own_end(say_end)
        comm = world if comm is None else comm
        self._cut = None if cut is None else _checked_cut(cut, comm.Get_size())
        self._ranks = Ranks(comm, seconds)
        _share_processors(self._ranks.on_machine)

    @property
    def rank(self) -> int:
        """The number of this rank."""
        return self._ranks.number

    @property
    def num_ranks(self) -> int:
        """The number of ranks."""
        return self._ranks.count

    def options(self, asked: EngineOptions) -> EngineOptions:
        """Return the options of an engine on ranks; checks are "fast" by default."""
        return replace(asked, checks=asked.checks or "fast")

    def load(self, source: Source, setup: Setup) -> OnRank:
        """Prepare programs to run."""
        return OnRank(source, setup, self._ranks, self._cut, is_poisoned=self._is_poisoned)

    createVirtualDevice = Absent(
        "the ranks simulate any machine", "pl.mpi.Device(target=pl.Target(tiles=16))"
    )

    def __repr__(self) -> str:
        return f"<Device rank {self.rank} of {self.num_ranks}>"


def _checked_seconds(timeout: object) -> float:
    if not isinstance(timeout, bool) and isinstance(timeout, Real):
        try:
            seconds = float(timeout)
        except OverflowError:  # an integer too large for a float
            seconds = -1.0
        if seconds >= 0:
            return seconds
    raise InvalidOption(
        f"Device: timeout must be a number of seconds; found {clipped(timeout)}",
        found=of_type(timeout),
        fix="leave out timeout for 60 s, or pass timeout=0 to wait without limit",
    )


def _checked_cut(cut: Sequence[int], count: int) -> tuple[int, ...]:
    tiles = [integer_or_none(tile) for tile in cut] if np.iterable(cut) else [None]
    firsts = tuple(tile for tile in tiles if tile is not None)
    if len(firsts) < len(tiles):
        raise InvalidOption(
            f"Device: cut must be a list of tiles; found {clipped(cut)}",
            found=of_type(cut),
            fix="pass cut=[400, 900], the first tile of each rank except rank 0, or leave out cut",
        )
    if len(firsts) != count - 1 or list(firsts) != sorted(firsts) or min(firsts, default=0) < 0:
        raise InvalidOption(
            f"Device: cut must have the first tile of each of {count:,} ranks except rank 0, "
            "ascending",
            found=f"cut={clipped(cut)} has {len(firsts):,} tiles",
            fix=f"pass {amount(count - 1, 'tile')}, ascending, or leave out cut for equal work",
        )
    return firsts


def _share_processors(ranks: int) -> None:
    """Divide a node's processors among its ranks; threads start with the first large launch."""
    if ranks > 1 and "numba" not in sys.modules and hasattr(os, "sched_getaffinity"):
        threads = max(1, len(os.sched_getaffinity(0)) // ranks)
        os.environ.setdefault("NUMBA_NUM_THREADS", str(threads))


# -- loaded ----------------------------------------------------------------------------------------


_MADE = "engine = pl.Engine(...)"


class OnRank:
    """The programs of an executable on one of several ranks.

    Attributes:
        links: the streams, remote buffers and host functions; those of rank 0 are used.
    """

    def __init__(
        self,
        source: Source,
        setup: Setup,
        ranks: Ranks,
        cut: tuple[int, ...] | None,
        *,
        is_poisoned: bool,
    ) -> None:
        executable = source.executable
        self._executable, self._ranks = executable, ranks
        check_same(executable, cut, ranks)
        self._owners = owners_of(executable.layout, _cut(executable, cut, ranks))
        plan = rank_plan(executable, self._owners, ranks.number, is_poisoned=is_poisoned)
        self._poison, self._rows, self._plan = plan.poison, plan.rows, plan
        own = self._owners.runs_of(ranks.number)
        self._peers = OtherRanks(ranks, plan.exchanges, executable.actions, own)

        def simulated() -> Simulated:
            return Simulated(plan.executable, source.graph, setup, self._peers)

        # The other ranks find the code that rank 0 has compiled in the cache.
        self._simulated = ranks.host_first(_MADE, simulated)
        self.links = self._simulated.links
        self._fill_poison()
        made = self._simulated.runs

        def slot_totals(program: str, row: int) -> SlotTotals | None:
            return made.slot_totals(program, int(plan.rows[program][row]))

        arena, strict = self._simulated.arena, self._simulated.strict
        self._memories = [arena.parts] if strict is None else [arena.parts, strict.shadow.parts]
        state = states.EngineState(executable, arena, made, self.links, strict, plan.rows)
        self._states = StatesOnRanks(self, state, self._memories, ranks, self._peers, self._owners)
        self._counts = _Counts(made.counts, plan.rows)
        self._unsent: dict[str, Int64] = {}  # initial counts: other engines sent these messages
        self._accounts = Accounts(executable, self._counts, slot_totals)
        self.run, self.stop, self.check_idle = made.run, made.stop, made.check_idle

    @property
    def form(self) -> str:
        """How vertices run."""
        return f"{self._simulated.form}, rank {self._ranks.number} of {self._ranks.count}"

    def load(self) -> None:
        """Restore memory and streams to their initial state."""
        self._simulated.load()
        self._fill_poison()
        self._ranks.share(Word("engine.load()"))
        self._peers.load()

    def _fill_poison(self) -> None:
        """Overwrite the bytes that tests poison."""
        for part in self._simulated.arena.parts:
            part[self._poison] = POISON

    def write(self, tensor: object, array: Any, replica: int | None) -> None:
        """Write the values that rank 0 has to a tensor; if rank 0 rejects them, all ranks do."""
        access, ranks = self._simulated.tensors.to_write(tensor, replica), self._ranks
        if (byte := self._metadata_of(access)) is not None:  # values are encoded with the metadata
            self._bring(access, np.array([byte]), np.array([byte + 1]), HOST)
        ranks.on_host(access.call, lambda: self._simulated.write(tensor, array, replica))
        begin, end = self._runs_of(access, with_metadata=False)
        self._move(access, return_messages(np.full(len(begin), HOST), begin, end, self._owners))

    def read(
        self, tensor: object, replica: int | None, root: int | None = None
    ) -> npt.NDArray[Any] | None:
        """Return a copy of a tensor's values, on all ranks or on one of them."""
        check_root(root, self._ranks.count)
        access = self._simulated.tensors.to_read(tensor, replica)
        self._bring(access, *self._runs_of(access), root)
        if root not in (None, self._ranks.number):
            return None
        return self._simulated.read(tensor, replica)

    def _bring(self, access: HostAccess, begin: Int64, end: Int64, root: int | None) -> None:
        """Bring runs of bytes to all ranks, or to one of them."""
        found = (
            to_everyone(begin, end, self._owners)
            if root is None
            else to_rank(root, begin, end, self._owners)
        )
        self._ranks.share(Word(access.call))
        self._move(access, found)

    def _move(self, access: HostAccess, found: Messages) -> None:
        """Exchange the data that a call needs, in the replicas that it accesses."""
        for parts in self._memories:
            self._peers.move(found, [parts[replica] for replica in access.replicas], access.call)

    def _runs_of(self, access: HostAccess, *, with_metadata: bool = True) -> tuple[Int64, Int64]:
        """Return the starts and ends of the runs of bytes of a tensor."""
        place = access.place
        if isinstance(place, ByView):
            first, count = runs(place.tensor.view)
            begin = self._executable.layout.byte_positions(first)
            end = begin + count * place.element_type.size_bytes
        else:
            pieces = CopiedPieces(*place.tensor.moves.blocks())
            begin, end = pieces.start, pieces.start + pieces.size
        byte = self._metadata_of(access) if with_metadata else None
        return (begin, end) if byte is None else (np.append(begin, byte), np.append(end, byte + 1))

    def _metadata_of(self, access: HostAccess) -> int | None:
        """Return the byte position of a tensor's QUARTER metadata, or None if it has none."""
        place = access.place
        if isinstance(place, ByMoves):
            return place.tensor.metadata
        if place.tensor.metadata is None:
            return None
        first, _ = runs(place.tensor.metadata.view)
        return int(self._executable.layout.byte_positions(first)[0])

    @property
    def sent_bytes(self) -> int:
        """Number of bytes that this rank sends if each of its exchanges runs once."""
        return self._peers.sent_bytes

    def save_state(self, path: object) -> None:
        """Write the state of the programs to a file, on rank 0."""
        self._states.save(path)

    def load_state(self, path: object) -> None:
        """Read a file on rank 0, and continue from its state on all ranks."""
        self._states.load(path)

    def forget_sent(self) -> None:
        """Exclude earlier executions, which were those of another engine, from message counts."""
        self._unsent = {name: counts.copy() for name, counts in self._counts.items()}

    def continue_from(self, other: LoadedPrograms) -> None:
        """Copy the state of another engine, on the same ranks or complete on each rank."""
        call = "Engine: state"
        if isinstance(other, OnRank):
            other._check_state_of(self._ranks, call)
            before, runs = other._simulated, other._owners.runs_of(self._ranks.number)
            size = self._simulated.carry(before.arena, before.strict, runs)
            found = handed_on(other._owners, self._owners, size)
            for parts in self._memories:
                self._peers.move(found, parts, call)
        else:
            looked = other.strict if isinstance(other, Simulated) else None
            self._simulated.carry(other.memory(call), looked)
        self.links.continue_from(other.links)

    def _check_state_of(self, ranks: Ranks, call: str) -> None:
        """Reject memory on different ranks, undefined memory, and memory during a run."""
        self.check_idle(call)
        self._peers.check_sound(call)
        if not ranks.are_those_of(self._ranks):
            raise ControlProgramError(
                f"{call} must be an engine on the same ranks",
                found=f"it has {self._ranks.count:,} ranks, and this engine has {ranks.count:,}",
                fix="call engine.save_state(path) on that engine, and engine.load_state(path) on "
                "this one",
            )

    def memory(self, call: str) -> Arena:
        """Raise: memory cannot be handed over, since each rank has only a part of it."""
        raise ControlProgramError(
            f"{call} is an engine on several ranks, each of which has only a part of its state",
            found=f"this is rank {self._ranks.number} of {self._ranks.count}",
            fix="call engine.save_state(path) on that engine, and engine.load_state(path) on this "
            "one",
        )

    def handed_over(self) -> AbstractContextManager[None]:
        """Do nothing: each engine has its own memory on all ranks."""
        return nullcontext()

    def report(self, options: tuple[tuple[str, str], ...]) -> Report:
        """Return a report of the compilation and of runs, for all ranks together."""
        report = self._simulated.report(options, self._accounts)
        plan, is_sent = self._plan, self._peers.is_sent
        counts = {name: now - self._unsent.get(name, 0) for name, now in self._counts.items()}
        sent = between_ranks(self._executable, plan.exchanges, plan.places, counts, is_sent)
        return replace(report, between_ranks=sent, cut=tuple(self._owners.cut.tolist()))

    def tracing(self, limit: int) -> AbstractContextManager[Trace]:
        """Record the steps that run in a `with` statement: the same on all ranks."""
        return self._simulated.tracing(limit, self._accounts, self._rows)


def _cut(executable: Executable, cut: tuple[int, ...] | None, ranks: Ranks) -> list[int]:
    """Return the first tile of each rank except rank 0; only rank 0 computes the default."""
    if cut is not None:
        tiles = executable.target.tiles
        if cut and cut[-1] >= tiles:
            raise InvalidOption(
                f"pl.mpi.Device: cut={clipped(list(cut))} has tiles that the graph's machine does "
                "not have",
                found=f"there is no tile {cut[-1]:,}; the machine of the graph has {tiles:,} tiles",
                fix="leave out cut for equal work, or pass tiles of this machine",
            )
        return list(cut)
    found = ranks.host_first(
        _MADE, lambda: equal_cut(executable, ranks.count) if ranks.is_host else []
    )
    return ranks.from_host(_MADE, found)


class _Counts(Mapping[str, Int64]):
    """How often each row of the original programs ran, from counts of the rank's programs."""

    def __init__(self, counts: Mapping[str, Int64], rows: Mapping[str, Int64]) -> None:
        self._counts, self._rows = counts, rows

    def __getitem__(self, program: str) -> Int64:
        return self._counts[program][self._rows[program]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


# -- comparison of graphs --------------------------------------------------------------------------


def check_same(executable: Executable, cut: tuple[int, ...] | None, ranks: Ranks) -> None:
    """Raise `DeviceRuntimeError` on all ranks if they have compiled different graphs."""
    others = [("cut of the device", digest(cut)), ("checks", digest(executable.checks))]
    parts = [*others, *executable_parts(executable)]
    whole = digest(*(each for _, each in parts))
    if len({word.value for word in ranks.share(Word(_MADE, whole))}) == 1:
        return
    each = [word.value for word in ranks.share(Word(_MADE, parts))]
    for number in range(max(map(len, each))):
        named = [parts[number] if number < len(parts) else ("nothing", b"") for parts in each]
        for rank, other in enumerate(named):
            if other != named[0]:
                raise DeviceRuntimeError(
                    f"rank {rank} has a different graph than rank 0",
                    found=f"first difference: {named[0][0]} on rank 0, {other[0]} on rank {rank}",
                    fix="build the same graph on all ranks, without sets and hash(), whose order "
                    "differs; or save an executable on one rank, and load it on all",
                )


# -- states ----------------------------------------------------------------------------------------


Planned = Callable[[int, Int64, Int64, Owners], Messages]
"""Returns the messages that send runs of bytes to a rank, or from it."""

Which = tuple[int, int, int, int]
"""A chunk: 0 for memory or 1 for its shadow, the replica, the start and the end."""

_SAVE, _LOAD = "engine.save_state", "engine.load_state"


class StatesOnRanks:
    """Saves and restores the state of the programs; all ranks make the same calls."""

    def __init__(
        self,
        loaded: OnRank,
        state: states.EngineState,
        memories: Sequence[Sequence[states.Bytes]],
        ranks: Ranks,
        peers: OtherRanks,
        owners: Owners,
    ) -> None:
        self._loaded, self._state, self._memories = loaded, state, memories
        self._ranks, self._peers, self._owners = ranks, peers, owners

    def save(self, path: object) -> None:
        """Write a file on rank 0."""
        name = str(checked_path(path, _SAVE, "run.state"))
        self._loaded.check_idle(_SAVE)
        self._peers.check_sound(_SAVE)
        if self._ranks.is_host:
            self._write(name)
        else:
            while (which := self._next()) is not None:
                self._pass(_SAVE, which, None, to_rank)

    def _write(self, name: str) -> None:
        """Write the file, and tell the others the outcome."""
        said: tuple[Which | None, Exception | None]

        def collected(kind: int, replica: int, begin: int, end: int) -> states.Bytes:
            which = kind, replica, begin, end
            self._ranks.from_host(_SAVE, (which, None))
            found, memory = np.zeros(end - begin, np.uint8), self._memories[kind][replica]
            for first, last in self._own_within(begin, end):
                found[first - begin : last - begin] = memory[first:last]
            self._pass(_SAVE, which, found, to_rank)
            return found

        members = self._state.members(partial(collected, 0), partial(collected, 1))

        try:
            states.write_state(name, self._state.saved(), members)
        except BaseException as error:
            said = None, as_others_raise(error, _SAVE)
            self._ranks.from_host(_SAVE, said)
            raise
        said = None, None
        self._ranks.from_host(_SAVE, said)

    def _next(self) -> Which | None:
        """Return the chunk that rank 0 needs next; None if it has written all."""
        said: tuple[Which | None, Exception | None] = None, None
        which, error = self._ranks.from_host(_SAVE, said)
        if error is not None:
            raise error
        return which

    def load(self, path: object) -> None:
        """Read a file on rank 0; if rank 0 rejects it, all ranks do."""
        name = str(checked_path(path, _LOAD, "run.state"))
        self._loaded.check_idle(_LOAD)
        with STATES.loading(repr(name)), ExitStack() as stack:

            def checked() -> tuple[states.StateFile, states.Taken]:
                file = stack.enter_context(states.reading(name))
                return file, self._state.checked(file, name, _LOAD)

            read = self._ranks.on_host(_LOAD, checked)
            taken = self._ranks.from_host(_LOAD, None if read is None else read[1])
            assert taken is not None, "rank 0 has read it"
            self._loaded.load()
            try:
                self._state.take(taken)
                self._loaded.forget_sent()
                self._fill(None if read is None else read[0], taken)
            except (OSError, Malformed):  # a disk error must not leave memory partly restored
                self._loaded.load()
                raise

    def _fill(self, file: states.StateFile | None, taken: states.Taken) -> None:
        """Restore memory, and the state that only rank 0 has, from a checked file."""

        def filled() -> None:
            if file is not None:
                self._state.take_host(file, taken)

        self._ranks.on_host(_LOAD, filled)
        for kind, parts in enumerate(self._memories):
            for replica in range(len(parts)):
                chunks = iter(()) if file is None else self._state.chunks(file, kind, replica)
                for begin, end in states.chunks_of(self._state.size):
                    chunk = self._ranks.on_host(_LOAD, partial(next, chunks))
                    self._spread((kind, replica, begin, end), chunk)

    def _spread(self, which: Which, chunk: states.Bytes | None) -> None:
        """Send a chunk that rank 0 has read to its owners."""
        kind, replica, begin, end = which
        if chunk is not None:
            for first, last in self._own_within(begin, end):
                self._memories[kind][replica][first:last] = chunk[first - begin : last - begin]
        self._pass(_LOAD, which, chunk, _from_rank)

    def _own_within(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the runs of bytes of this rank between two positions."""
        begins, ends = self._peers.own
        some = slice(ends.searchsorted(begin, "right"), begins.searchsorted(end, "left"))
        for first, last in zip(begins[some].tolist(), ends[some].tolist(), strict=True):
            yield max(first, begin), min(last, end)

    def _pass(self, call: str, which: Which, chunk: states.Bytes | None, planned: Planned) -> None:
        """Exchange the bytes of a chunk between memory and, on rank 0, the chunk itself."""
        kind, replica, begin, end = which
        found = planned(HOST, np.array([begin]), np.array([end]), self._owners)
        if chunk is None:
            self._peers.move(found, [self._memories[kind][replica]], call)
            return
        pieces = found.pieces
        moved = CopiedPieces(pieces.start - begin, pieces.to - begin, pieces.size)
        self._peers.move(Messages(found.sender, found.receiver, moved), [chunk], call)


def _from_rank(rank: int, begin: Int64, end: Int64, owners: Owners) -> Messages:
    """Return the messages that send runs of bytes from a rank to their owners."""
    return return_messages(np.full(len(begin), rank), begin, end, owners)


# -- messages between ranks ------------------------------------------------------------------------
# For each step: how often each row ran, times the bytes sent at that row.
#
#     rows             ran      sent at one                       sent
#     LAUNCH 'blur'    100      2 messages, 32,784 bytes          200 messages, 3,278,400 bytes
# All ranks have the same plan and count the same rows, so this needs no communication.


def between_ranks(
    executable: Executable,
    exchanges: Sequence[Exchange],
    places: Mapping[str, Sequence[tuple[int, int]]],
    counts: Mapping[str, Int64],
    is_sent: Callable[[int], bool],
) -> tuple[BetweenRanks, ...]:
    """Return the messages of each place that ran, by program and number, for each replica.

    `places` are those of a `RankPlan`; `counts` is how often each row ran; `is_sent` returns
    whether an exchange sends anything.
    """
    amounts = [
        _amount(each.messages) if is_sent(number) else (0, 0)
        for number, each in enumerate(exchanges)
    ]
    found: list[BetweenRanks] = []
    for program, code in executable.programs.items():
        sent = _sent(code, places[program], counts[program], amounts)
        numbers = code.first_numbers.tolist()
        found += (
            BetweenRanks(
                name=_name(executable, code, row),
                program_name=program,
                row=row,
                number=numbers[row],
                at=code.locations[row].portable if code.locations else "",
                executions=int(counts[program][row]),
                messages=messages,
                bytes=size,
            )
            for row, (messages, size) in sorted(
                sent.items(), key=lambda each: (numbers[each[0]], each[0])
            )
            if messages
        )
    return tuple(found)


def _amount(messages: Messages) -> tuple[int, int]:
    """Return the number of messages of an exchange, and their total size in bytes."""
    pairs = np.unique(np.stack([messages.sender, messages.receiver]), axis=1)
    return pairs.shape[1], int(messages.pieces.size.sum())


def _sent(
    code: Code,
    places: Sequence[tuple[int, int]],
    counts: Int64,
    amounts: Sequence[tuple[int, int]],
) -> dict[int, tuple[int, int]]:
    """Return messages and bytes by row; a step's messages are in the row that does its work."""
    numbers = code.first_numbers.tolist()
    works = {(int(code.ops[row, 1]), numbers[row]): row for row in code.step_rows.tolist()}
    sent: dict[int, tuple[int, int]] = {}
    for row, exchange in places:
        kind, what = code.ops[row, :2].tolist()
        place = row
        if kind in (op.LAUNCH, op.COLLECT):
            work = works.get((what, numbers[row]))
            place = _call_beside(code, row) if work is None else work
        messages, size = sent.get(place, (0, 0))
        count = int(counts[row])
        sent[place] = messages + count * amounts[exchange][0], size + count * amounts[exchange][1]
    return sent


def _call_beside(code: Code, row: int) -> int:
    """Return the row of the host function whose inputs or outputs a LAUNCH copies."""
    is_before = code.ops[row + 1, 0] == op.CALLBACK
    is_before &= code.step_numbers[row + 1] == code.step_numbers[row]
    return row + 1 if is_before else row - 1


def _name(executable: Executable, code: Code, row: int) -> str:
    kind, number = map(int, code.ops[row, :2])
    if kind == op.LAUNCH:
        return executable.steps[number].name
    if kind == op.CALLBACK:
        return action_text(executable.actions[number])
    return "a control-flow scalar"
