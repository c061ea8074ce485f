"""Whether all ranks have compiled the same (`poplite.executable.identity`)."""

from __future__ import annotations

from poplite.errors import DeviceRuntimeError
from poplite.executable.executable import Executable
from poplite.executable.identity import digest, parts_of
from poplite.mpi.ranks import Ranks, Word


def check_same(executable: Executable, cut: tuple[int, ...] | None, ranks: Ranks) -> None:
    """Refuse ranks that have compiled other graphs: a `DeviceRuntimeError` on all of them."""
    call = "engine = pl.Engine(...)"
    others = [("cut of the device", digest(cut)), ("checks", digest(executable.checks))]
    parts = [*others, *parts_of(executable)]
    whole = digest(*(each for _, each in parts))
    if len({word.value for word in ranks.share(Word(call, whole))}) == 1:
        return
    each = [word.value for word in ranks.share(Word(call, parts))]
    for number in range(max(map(len, each))):
        named = [parts[number] if number < len(parts) else ("nothing", b"") for parts in each]
        for rank, other in enumerate(named):
            if other != named[0]:
                raise DeviceRuntimeError(
                    f"rank {rank} has another graph than rank 0",
                    found=f"first difference: {named[0][0]} on rank 0, {other[0]} on rank {rank}",
                    fix="build the same graph on all ranks, without sets and hash(), whose order "
                    "differs; or save an executable on one of them, and load it on all",
                )
