"""The programs of an executable on one of several ranks, as an engine sees them.

Simulated      runs the rank's own executable, and knows no MPI
OtherRanks     exchanges data with the others, and ends runs alike
Accounts       of the executable of the graph: reports are whole on every rank
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.errors import ControlProgramError, InvalidOption
from poplite.executable.executable import Executable
from poplite.mpi.other_ranks import OtherRanks
from poplite.mpi.plan.messages import Messages, handed_on, returned, to_everyone, to_rank
from poplite.mpi.plan.moved_pieces import pieces_of
from poplite.mpi.plan.owners import HOST, owners_of
from poplite.mpi.plan.rank_plan import POISON, rank_plan
from poplite.mpi.plan.shares import equal_cut
from poplite.mpi.ranks import Ranks, Word
from poplite.mpi.same_graph import check_same
from poplite.mpi.states import StatesOnRanks
from poplite.simulator.accounts.accounts import Accounts
from poplite.simulator.counting.slot_tables import SlotTotals
from poplite.simulator.device import LoadedPrograms, Setup
from poplite.simulator.engine_arguments import Source, check_root
from poplite.simulator.host.handles import HostLinks
from poplite.simulator.host.tensors import ByMoves, ByView, HostAccess
from poplite.simulator.run.arena import Arena
from poplite.simulator.simulated import Simulated
from poplite.simulator.states.engine_state import EngineState
from poplite.text import clipped
from poplite.view import runs

if TYPE_CHECKING:
    from poplite.report.report import Report
    from poplite.report.traces.trace import Trace

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

        # What rank 0 has compiled, the others find in the cache.
        self._simulated = ranks.host_first(_MADE, simulated)
        self._fill_poison()
        made = self._simulated.runs

        def slot_totals(program: str, row: int) -> SlotTotals | None:
            return made.slot_totals(program, int(plan.rows[program][row]))

        arena, strict = self._simulated.arena, self._simulated.strict
        self._memories = [arena.parts] if strict is None else [arena.parts, strict.shadow.parts]
        state = EngineState(executable, arena, made, self.links, strict, plan.rows)
        self._states = StatesOnRanks(self, state, self._memories, ranks, self._peers, self._owners)
        self._counts = _Counts(made.counts, plan.rows)
        self._unsent: dict[str, Int64] = {}  # counts of a state: others sent what they stand for
        self._accounts = Accounts(executable, self._counts, slot_totals)
        self.run, self.stop, self.check_idle = made.run, made.stop, made.check_idle

    @property
    def links(self) -> HostLinks:
        """The streams, remote buffers and host functions."""
        return self._simulated.links

    @property
    def print_stream(self) -> TextIO | None:
        """Where PrintTensor writes on rank 0; None is standard error."""
        return self._simulated.print_stream

    @print_stream.setter
    def print_stream(self, stream: TextIO | None) -> None:
        self._simulated.print_stream = stream

    @property
    def form(self) -> str:
        """How vertices run."""
        return f"{self._simulated.form}, rank {self._ranks.number} of {self._ranks.count}"

    def load(self) -> None:
        """Restore memory and streams to their state in the beginning."""
        self._simulated.load()
        self._fill_poison()
        self._ranks.share(Word("engine.load()"))
        self._peers.load()

    def _fill_poison(self) -> None:
        """Write what tests overwrite with."""
        for part in self._simulated.arena.parts:
            part[self._poison] = POISON

    def write(self, tensor: object, array: Any, replica: int | None) -> None:
        """Write rank 0's host values to a tensor; what rank 0 refuses, all do."""
        access, ranks = self._simulated.tensors.to_write(tensor, replica), self._ranks
        if (byte := self._metadata_of(access)) is not None:  # values are encoded by it
            self._bring(access, np.array([byte]), np.array([byte + 1]), HOST)
        ranks.on_host(access.call, lambda: self._simulated.write(tensor, array, replica))
        begin, end = self._runs_of(access, with_metadata=False)
        self._move(access, returned(np.full(len(begin), HOST), begin, end, self._owners))

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
        """Send and get what a call needs, in the replicas that it concerns."""
        for parts in self._memories:
            self._peers.move(found, [parts[replica] for replica in access.replicas], access.call)

    def _runs_of(self, access: HostAccess, *, with_metadata: bool = True) -> tuple[Int64, Int64]:
        """Return begin and end of the runs of bytes that a tensor lies in."""
        place = access.place
        if isinstance(place, ByView):
            first, count = runs(place.tensor.view)
            begin = self._executable.layout.byte_positions(first)
            end = begin + count * place.element_type.size_bytes
        else:
            assert isinstance(place, ByMoves), "there are no other places"
            pieces = pieces_of(place.tensor.moves)
            begin, end = pieces.start, pieces.start + pieces.size
        byte = self._metadata_of(access) if with_metadata else None
        return (begin, end) if byte is None else (np.append(begin, byte), np.append(end, byte + 1))

    def _metadata_of(self, access: HostAccess) -> int | None:
        """Return the byte position of a tensor's QUARTER metadata, if it has some."""
        place = access.place
        if isinstance(place, ByMoves):
            return place.tensor.metadata
        assert isinstance(place, ByView), "there are no other places"
        if place.tensor.metadata is None:
            return None
        first, _ = runs(place.tensor.metadata.view)
        return int(self._executable.layout.byte_positions(first)[0])

    @property
    def sent_bytes(self) -> int:
        """Bytes that this rank sends when each of its exchanges is done once."""
        return self._peers.sent_bytes

    def save_state(self, path: object) -> None:
        """Let rank 0 write all that the programs hold to a file."""
        self._states.save(path)

    def load_state(self, path: object) -> None:
        """Let rank 0 read a file, and go on with what it holds."""
        self._states.load(path)

    def forget_sent(self) -> None:
        """Count anew what is sent: what ran until now ran elsewhere."""
        self._unsent = {name: counts.copy() for name, counts in self._counts.items()}

    def continue_from(self, other: LoadedPrograms) -> None:
        """Take over what another engine holds, on the same ranks or whole on each of them."""
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
        """Refuse to hand over memory to other ranks, while it is undefined, or in a run."""
        self.check_idle(call)
        self._peers.check_sound(call)
        if not ranks.are_those_of(self._ranks):
            raise ControlProgramError(
                f"{call} is an engine on other ranks",
                found=f"it has {self._ranks.count:,}, and here are {ranks.count:,}",
                fix="engine.save_state(path) there, and engine.load_state(path) here",
            )

    def memory(self, call: str) -> Arena:
        """Refuse to hand over memory, of which each rank has a part."""
        raise ControlProgramError(
            f"{call} is an engine on several ranks, each of which has a part of it",
            found=f"this is rank {self._ranks.number} of {self._ranks.count}",
            fix="engine.save_state(path) there, and engine.load_state(path) here",
        )

    def handed_over(self) -> AbstractContextManager[None]:
        """Do nothing: each engine has its own memory on all ranks."""
        return nullcontext()

    def report(self, options: tuple[tuple[str, str], ...]) -> Report:
        """Return what was compiled and what ran, on all ranks together."""
        # Engines start sooner without what only reports need.
        from poplite.mpi.traffic import between_ranks
        from poplite.simulator.accounts.reporting import report_of

        own = self._simulated
        report = report_of(
            self._executable,
            self._accounts,
            runs=own.runs.ended,
            runs_again=0 if own.strict is None else own.strict.runs_again,
            interpret=own.form.startswith("interpreted"),
            faster=tuple(map(str, own.runs.forms.values())),
            options=options,
        )
        plan, is_sent = self._plan, self._peers.is_sent
        counts = {name: now - self._unsent.get(name, 0) for name, now in self._counts.items()}
        sent = between_ranks(self._executable, plan.exchanges, plan.places, counts, is_sent)
        return replace(report, between_ranks=sent)

    def tracing(self, limit: int) -> AbstractContextManager[Trace]:
        """Record the steps that run in a `with` statement: the same on all ranks."""
        # Few programs are traced.
        from poplite.simulator.accounts.reporting import traced

        runs = self._simulated.runs
        return traced(self._executable, self._accounts, runs, limit, self._rows)


def _cut(executable: Executable, cut: tuple[int, ...] | None, ranks: Ranks) -> list[int]:
    """Return the first tile of each rank but the first; rank 0 knows what classes take."""
    if cut is not None:
        tiles = executable.target.tiles
        if cut and cut[-1] >= tiles:
            raise InvalidOption(
                f"pl.mpi.Device: cut={clipped(list(cut))} is behind the last tile of the graph",
                found=f"there is no tile {cut[-1]:,}; the machine of the graph has {tiles:,}",
                fix="leave cut out for equal work, or name tiles of this machine",
            )
        return list(cut)
    found = ranks.host_first(
        _MADE, lambda: equal_cut(executable, ranks.count) if ranks.is_host else []
    )
    return ranks.from_host(_MADE, found)


class _Counts(Mapping[str, Int64]):
    """How often each row of the original programs ran, by those of the rank's programs."""

    def __init__(self, counts: Mapping[str, Int64], rows: Mapping[str, Int64]) -> None:
        self._counts, self._rows = counts, rows

    def __getitem__(self, program: str) -> Int64:
        return self._counts[program][self._rows[program]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)
