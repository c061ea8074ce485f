"""The ranks of a job: the channel that their devices share, their agreement about each call.

    the user's            used only to make the other two, and to find missing ranks on a timeout
    words                 messages about calls; the tag is the number of the device
    data                  data of programs; the tag is a number that no other device has

MPI allows about two thousand communicators, and a device may be freed on one rank earlier than on
another. `words` and `data` are therefore made once, with the first device of the user's
communicator, and exist as long as that communicator.

A rank that never arrives, or has ended, is reported::

    rank 0    pl.mpi.Device()  MPI_Init ................ rank 1 has ended: the job ends
    rank 1    raises before it

The other ranks learn at once about the end of a rank::

    an uncaught exception                prints its traceback, and ends the job
    the end of the script, sys.exit      tell the others: a rank that waits for this one ends the
                                         job
    os._exit, os.execv and the like      print a message, and end the job

Otherwise, a script that ends on one rank would leave the others waiting forever, or, with
`os._exit`, would end the job as if it had succeeded. A rank that learns of an error on another rank
gives that rank time to report it. Ranks agree about each call::

    rank 0    engine.run('main')    ...  done    -> all
    rank 1    engine.run('main')    ...  failed  -> all, which then end the run too

Messages about calls, `Word`, are Python objects on a different communicator than data. No rank
waits inside MPI, so that Ctrl-C works, and a rank that never arrives is detected after a timeout.
"""

from __future__ import annotations

import atexit
import ctypes
import math
import os
import pickle
import re
import select
import socket
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, wraps
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from poplite.errors import ControlProgramError, DeviceRuntimeError
from poplite.frozen import frozen
from poplite.source import here
from poplite.text import clipped

if TYPE_CHECKING:
    from mpi4py.MPI import Comm, Request


PATIENCE_S = 2.0
"""Seconds within which the rank that knows the reason must end the job."""

SAID_S = 0.1
"""Seconds within which `mpiexec` forwards the output of a rank before it ends the job."""

LEAVES = "_exit", "execv", "execve"
"""Functions of `os`, called by its other functions, that end a process at once for MPI."""

INTERRUPTED = 130
"""Exit code of a job that was ended by Ctrl-C."""


def end_job(message: str, status: int = 1) -> None:
    """Print a message, and end all ranks."""
    from mpi4py import MPI

    sys.stderr.write(f"poplite: {message}\n")  # in one call, since other ranks also write
    sys.stderr.flush()
    _abort(MPI.COMM_WORLD, status)


def _abort(comm: Comm, status: int) -> None:
    time.sleep(SAID_S)
    comm.Abort(status)


@cache
def watch_own_end(say_end: Callable[[], None]) -> None:
    """Arrange, once per process, that `say_end` tells other ranks about the end of this one."""
    from mpi4py import MPI

    comm, before, process = MPI.COMM_WORLD, sys.excepthook, os.getpid()

    def is_running() -> bool:
        return os.getpid() == process and not MPI.Is_finalized()

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if not is_running():
            before(kind, error, trace)
            return
        if getattr(error, "is_told", False):
            time.sleep(PATIENCE_S)
        print(f"poplite: rank {comm.rank} of {comm.size} raised:", file=sys.stderr)
        before(kind, error, trace)
        sys.stderr.flush()
        _abort(comm, INTERRUPTED if issubclass(kind, KeyboardInterrupt) else 1)

    def say_how(call: str, status: int) -> None:
        if is_running():
            how = f"{call}  ({here()})"
            end_job(f"rank {comm.rank} of {comm.size} ended by {how}", status % 256 or 1)

    def end() -> None:
        if is_running():
            say_end()

    sys.excepthook = hook
    for name in LEAVES:
        _leave_loudly(name, say_how)
    atexit.register(end)


def _leave_loudly(name: str, say_how: Callable[[str, int], None]) -> None:
    """Make a function that ends or replaces the process report this before it does so."""
    leave: Any = getattr(os, name)

    @wraps(leave)
    def loudly(*args: Any, **kwargs: Any) -> NoReturn:
        first = args[0] if args else next(iter(kwargs.values()), "")
        say_how(f"os.{name}({clipped(first)})", first if isinstance(first, int) else 1)
        leave(*args, **kwargs)
        raise AssertionError("a process that has ended continues")

    for module in [*sys.modules.values()]:  # a script may have used `from os import _exit`
        if getattr(module, "__dict__", {}).get(name) is leave:
            setattr(module, name, loudly)


# -- the last step of each rank --------------------------------------------------------------------
# The last step of each rank of `poplite run`, for the message if a rank is lost.
#
# A rank that is killed cannot report anything, and `mpiexec` names only its process. So each rank
# writes its process number and step to its own file whenever Python is entered during a run:
#
#     0     8122 engine.run('main') at step 2 of 7
#     1     8123 engine.run('main') at step 3 of 7
# As soon as one rank is killed, `mpiexec` kills the others, and may name any of them. So each rank
# keeps a pipe open, and on Linux, which reports closed pipes in order, a watcher notes the first.
# Pipes are used since a process closes its files at the same time as the socket by which `mpiexec`
# notices its end, whereas the end itself is visible only once all its threads have ended, possibly
# after the end of the processes that `mpiexec` kills.

FOLDER = "POPLITE_LAST_STEPS"
"""The environment variable that names the folder of these files; if unset, none are written."""

LENGTH = 256
"""Size of a file in bytes, fixed so that a file is always complete."""


ENDED = "at its end"
"""The step noted for a rank that has run everything."""


class LastStep:
    """The file of one rank, which exists only if it was requested."""

    def __init__(self, rank: int) -> None:
        folder, self._file = os.environ.get(FOLDER), -1
        if folder:
            flags = os.O_WRONLY | os.O_CREAT
            self._file = os.open(Path(folder, str(rank)), flags)
            if (pipe := _pipe(Path(folder), rank)).exists():
                os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)  # until the process ends
            self.note("before its first run")

    @property
    def is_read(self) -> bool:
        """Whether a process reads it."""
        return self._file >= 0

    def note(self, where: str) -> None:
        """Write the current step of the rank."""
        text = f"{os.getpid()} {where}".encode()[:LENGTH]
        os.pwrite(self._file, text.ljust(LENGTH), 0)


def _pipe(folder: Path, rank: int) -> Path:
    """Return the pipe that a rank keeps open while it runs."""
    return folder / f"{rank}.pipe"


@cache
def last_step(rank: int) -> LastStep:
    """Return the file of this rank, which all engines share."""
    return LastStep(rank)


class FirstEnd:
    """Watches the pipes of ranks, and notes which of them is closed first.

    `count` is the number of ranks, and `output` the pipe that `mpiexec` prints to.

    Attributes:
        rank: the number of the first rank that ended, as text; empty while all run, or if unknown.
    """

    def __init__(self, folder: Path, count: int, output: int) -> None:
        self._output, self._ranks = output, dict[int, str]()
        self.rank = ""
        self._epoll = select.epoll() if hasattr(select, "epoll") else None
        if self._epoll is None:
            return
        self._epoll.register(output, select.EPOLLIN)
        for rank in range(count):
            os.mkfifo(pipe := _pipe(folder, rank))
            number = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
            self._ranks[number] = str(rank)
            self._epoll.register(number, 0)  # reports when its writer ends

    def wait(self) -> None:
        """Wait until there is output to read, or the output ends."""
        is_ready = self._epoll is None
        while self._epoll is not None and not is_ready:
            for number, _ in self._epoll.poll():  # in the order of their ends
                if number == self._output:
                    is_ready = True
                else:
                    rank = self._ranks.pop(number)
                    self.rank = self.rank or rank
                    self._epoll.unregister(number)
                    os.close(number)

    def close(self) -> None:
        """Stop watching."""
        if self._epoll is not None:
            self._epoll.close()
        for number in self._ranks:
            os.close(number)


def left(folder: Path, count: int, first: str = "") -> str:
    """Return text that names a rank that ended before it had run everything; empty if none did.

    `mpiexec` then ends the others, and reports nothing if the rank had exit status 0. `first` is
    the rank that ended first, if known.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     count = Path(folder, "0").write_text(f"8122 {ENDED}".ljust(LENGTH))
    ...     left(Path(folder), 2)
    'rank 1 ended early with exit status 0, last seen before its pl.mpi.Device()'
    """
    found = {}
    for number in range(count):
        file = folder / str(number)
        text = file.read_text(errors="replace") if file.exists() else ""
        found[str(number)] = text.partition(" ")[2].strip() or "before its pl.mpi.Device()"
    missing = [rank for rank, where in found.items() if where != ENDED]
    if not missing:
        return ""
    rank = first if first in missing else missing[0]
    seen = found[rank]
    return f"rank {rank} ended early with exit status 0, last seen " + (
        f"in {seen}" if seen.startswith("engine.") else seen
    )


def lost(said: str, folder: Path, first: str = "") -> str:
    """Return which rank was lost, with its last step, from the output of `mpiexec`, or "".

    `first` is the rank that ended first, if known; otherwise the lost rank is the one that
    `mpiexec` names.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "1")
    ...     count = file.write_text("8123 engine.run('main') at step 3 of 7   ")
    ...     lost("=   PID 8123 RUNNING AT host", Path(folder))
    "rank 1 was lost, last seen in engine.run('main') at step 3 of 7"
    """
    found = re.search(r"PID (\d+) RUNNING AT", said)
    for file in sorted(folder.glob("*[0-9]")) if found else ():
        process, _, where = file.read_text(errors="replace").partition(" ")
        if found and (file.name == first if first else process == found[1]):
            seen = where.strip()
            return f"rank {file.name} was lost, last seen " + (
                f"in {seen}" if seen.startswith("engine.") else seen
            )
    return ""


# -- the channel -----------------------------------------------------------------------------------


CALL = "pl.mpi.Device()"


# -- initialization of MPI -------------------------------------------------------------------------
# MPI_Init waits inside the library for all ranks of the job. It runs without the interpreter lock;
# meanwhile a thread watches the clock, and the processes that `mpiexec` has started on this
# machine. A rank that waits here has an abstract socket with a name that the other ranks know. This
# needs Linux, for abstract sockets, and MPICH's `mpiexec`; elsewhere only the clock is watched.


LOOK_S = 0.2
"""Seconds between two checks of the processes of other ranks."""


def started_mpi(timeout_s: float) -> ModuleType:
    """Return mpi4py's module `MPI`, with the library initialized; 0 s means no time limit.

    Raises:
        DeviceRuntimeError: if mpi4py or an MPI library is missing.
    """
    try:
        import mpi4py

        if "mpi4py.MPI" in sys.modules or not mpi4py.rc.initialize:
            from mpi4py import MPI

            return MPI
        mpi4py.rc.initialize = False
        if mpi4py.rc.finalize is None:
            mpi4py.rc.finalize = True
        try:
            from mpi4py import MPI
        finally:
            mpi4py.rc.initialize = True
    except (ImportError, RuntimeError) as error:
        raise DeviceRuntimeError(
            f"MPI cannot be used: {error}",
            found="pl.mpi needs mpi4py and an MPI library",
            fix="run pip install 'poplite[mpi]', which installs both",
        ) from error
    if not MPI.Is_initialized():
        levels = MPI.THREAD_SINGLE, MPI.THREAD_FUNNELED, MPI.THREAD_SERIALIZED, MPI.THREAD_MULTIPLE
        names = "single", "funneled", "serialized", "multiple"
        level = levels[names.index(mpi4py.rc.thread_level) if mpi4py.rc.threads else 0]
        with _watched(timeout_s):
            ctypes.CDLL(MPI.__file__).MPI_Init_thread(None, None, level, ctypes.byref(_INT()))
        if mpi4py.rc.errors == "exception":
            for comm in (MPI.COMM_WORLD, MPI.COMM_SELF):
                comm.Set_errhandler(MPI.ERRORS_RETURN)
    return MPI


_INT = ctypes.c_int


@contextmanager
def _watched(timeout_s: float) -> Iterator[None]:
    """End the job if a rank ends or the time runs out during a `with` statement."""
    siblings, is_over = _Siblings(), threading.Event()

    def watch() -> None:
        begin, gone = time.monotonic(), list[str]()
        while not is_over.wait(LOOK_S):
            before, gone = gone, siblings.ended()
            if both := [name for name in gone if name in before]:
                _give_up(f"{siblings.own} waited for {_all(both)} in {CALL}, but it has ended")
            if timeout_s and time.monotonic() - begin > timeout_s:
                _give_up(
                    f"{siblings.own} waited {timeout_s:.0f} s for {_all(siblings.absent())} in "
                    f"{CALL}\n  all ranks of a job must make their device\n"
                    f"  try: pass pl.mpi.Device(timeout=...) if a rank needs longer"
                )

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
        siblings.close()


def _give_up(message: str) -> None:
    """End this process with a message, whereupon `mpiexec` ends the others."""
    sys.stderr.write(f"poplite: {message}\n")
    sys.stderr.flush()
    time.sleep(SAID_S)
    os._exit(1)


def _all(ranks: list[str]) -> str:
    return ", ".join(ranks) or "all other ranks"


class _Siblings:
    """The processes of other ranks that are visible on this machine.

    Attributes:
        own: the name of this rank in messages.
    """

    def __init__(self) -> None:
        self._rank = os.environ.get("PMI_RANK", "")
        self.own = f"rank {self._rank}" if self._rank else "a rank"
        self._size = int(os.environ.get("PMI_SIZE", "1"))
        is_one_machine = os.environ.get("MPI_LOCALNRANKS") == str(self._size)
        self._parent = _mpiexec_of(os.getpid()) if is_one_machine else ""
        self._socket: socket.socket | None = None
        if self._parent:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            with suppress(OSError):  # if the rank has passed its name to a child process
                self._socket.bind(self._name(self._rank))

    def close(self) -> None:
        """Release the name."""
        if self._socket is not None:
            self._socket.close()

    def _name(self, rank: str) -> str:
        return f"\0poplite.mpi.{self._parent}.{rank}"

    def ended(self) -> list[str]:
        """Return the ranks whose process has ended."""
        if not self._parent:
            return []
        running = set()
        with suppress(OSError):
            parent = Path("/proc", self._parent, "task", self._parent, "children")
            for process in parent.read_text().split():
                with suppress(OSError):  # it has just ended
                    lines = Path("/proc", process, "environ").read_bytes().split(b"\0")
                    running |= {line[9:].decode() for line in lines if line[:9] == b"PMI_RANK="}
        if self._rank not in running:  # these are not the processes of this job
            return []
        return [f"rank {rank}" for rank in range(self._size) if str(rank) not in running]

    def absent(self) -> list[str]:
        """Return the ranks that are not waiting in this call."""
        if not self._parent:
            return []
        found = []
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as asking:
            for rank in range(self._size):
                try:
                    asking.connect(self._name(str(rank)))
                except OSError:
                    found.append(f"rank {rank}")
        return found


def _mpiexec_of(process: int) -> str:
    """Return the process of `mpiexec` that started this one; empty if unknown."""
    with suppress(OSError, IndexError):
        while process > 1:
            name, _, facts = Path(f"/proc/{process}/stat").read_text().rpartition(")")
            if "hydra" in name:
                return str(process)
            process = int(facts.split()[1])
    return ""


# -- communicators ---------------------------------------------------------------------------------

PAUSE_S = 50e-6
"""Seconds between two polls."""

ANSWER_S = 1.0
"""Seconds within which a rank that waits at the same point answers a roll call."""

_END = 0
"""The tag of the message of a rank that has ended."""


class Channel:
    """The communicators that all devices of a user's communicator share.

    Attributes:
        words: the communicator for messages about calls.
        data: the communicator for data of programs.
        ended: when this rank learned that another one has ended, by rank.
        called_in: the run during which rank 0 executes a user's callback; empty if it does not.
    """

    def __init__(self, words: Comm, data: Comm) -> None:
        from mpi4py import MPI

        self.words, self.data = words, data
        self.data.Set_errhandler(MPI.ERRORS_ARE_FATAL)  # compiled code checks no error codes
        self.ended: dict[int, float] = {}
        self.called_in = ""
        self._most = _greatest_tag(words) // 2
        self._number = 0
        self._said: list[Request] = []
        weakref.finalize(self, _free, words, data).atexit = False
        _open.add(self)

    def new_number(self) -> int:
        """Return a number for tags, from 1; ranks that make the same calls get the same number."""
        self._number = self._number % (self._most - 1) + 1
        return self._number

    def say_end(self) -> None:
        """Tell the other ranks that this one makes no more calls."""
        self.look_for_ends()
        for rank in {*range(self.words.size)} - {self.words.rank, *self.ended}:
            self._said.append(self.words.isend(None, rank, _END))

    def look_for_ends(self) -> None:
        """Receive the messages of ranks that have ended."""
        from mpi4py import MPI

        status = MPI.Status()
        while (message := self.words.improbe(tag=_END, status=status)) is not None:
            message.recv()
            self.ended[status.Get_source()] = time.monotonic()


_open: weakref.WeakSet[Channel] = weakref.WeakSet()


def say_end() -> None:
    """Tell all other ranks that this one makes no more calls."""
    for channel in _open:
        channel.say_end()


def _free(*comms: Comm) -> None:
    """Free communicators; other ranks need not take part."""
    from mpi4py import MPI

    if not MPI.Is_finalized():
        for comm in comms:
            comm.Free()


def channel_of(comm: Comm, timeout_s: float) -> Channel:
    """Return the channel of a communicator; the first call for it is collective.

    The job ends if a rank does not arrive in time.
    """
    found = comm.Get_attr(_key())
    if not isinstance(found, Channel):
        words, data = (_copied(comm, timeout_s) for _ in range(2))
        found = Channel(words, data)
        comm.Set_attr(_key(), found)
    return found


@cache
def _key() -> int:
    from mpi4py import MPI

    return MPI.Comm.Create_keyval()


def _greatest_tag(comm: Comm) -> int:
    from mpi4py import MPI

    greatest = comm.Get_attr(MPI.TAG_UB)
    assert isinstance(greatest, int), "MPI has this value for each communicator"
    return greatest


def _copied(comm: Comm, timeout_s: float) -> Comm:
    """Return a copy of a communicator; the call is collective."""
    copied, request = comm.Idup()
    begin, roll = time.monotonic(), _RollCall(comm)
    while not request.Test():
        time.sleep(PAUSE_S)
        roll.answer()
        waited = time.monotonic() - begin
        if timeout_s and waited > timeout_s:
            absent = ", ".join(map(str, roll.absent()))
            end_job(
                f"rank {comm.rank} waited {waited:.0f} s for rank {absent} in {CALL}\n"
                "  all ranks of a communicator must make their device\n"
                "  try: pass pl.mpi.Device(timeout=...) if a rank needs longer"
            )
    return copied


class _RollCall:
    """Finds the ranks that wait at the same point before a job ends; uses the two largest tags."""

    def __init__(self, comm: Comm) -> None:
        self._comm, self._ask = comm, _greatest_tag(comm)
        self._said: list[Request] = []
        self._here = self._ask - 1

    def answer(self) -> None:
        """Answer the roll calls of other ranks: this one is present."""
        for rank in self._heard(self._ask):
            self._said.append(self._comm.isend(None, rank, self._here))

    def absent(self) -> list[int]:
        """Return the ranks that do not answer."""
        missing = {*range(self._comm.size)} - {self._comm.rank}
        self._said += [self._comm.isend(None, rank, self._ask) for rank in missing]
        end = time.monotonic() + ANSWER_S
        while missing and time.monotonic() < end:
            self.answer()
            missing -= {*self._heard(self._here)}
            time.sleep(PAUSE_S)
        return sorted(missing)

    def _heard(self, tag: int) -> list[int]:
        """Return the ranks that have sent a message with this tag."""
        from mpi4py import MPI

        found, status = [], MPI.Status()
        while (message := self._comm.improbe(tag=tag, status=status)) is not None:
            message.recv()
            found.append(status.Get_source())
        return found


T = TypeVar("T")

EAGER_S, SLEEP_S = 2e-3, 50e-6
"""Seconds for which a waiting rank only yields the processor; seconds between later polls."""

END_S = 1.0
"""Seconds to wait for a rank that has ended, since its last messages may still arrive."""


@frozen
class Word:
    """A message of one rank about a call.

    Attributes:
        call: the user's call.
        value: the content.
        failed: why the rank cannot continue; empty if it can.
        is_last: whether the rank has ended the call.
        is_stop: whether the rank requests to stop the run.
    """

    call: str
    value: Any = None
    failed: str = ""
    is_last: bool = True
    is_stop: bool = False

    def __reduce__(self) -> tuple[object, ...]:
        # Pickling the slots of `dataclasses` takes ten times as long, and ranks wait for each word.
        return Word, (self.call, self.value, self.failed, self.is_last, self.is_stop)


class Ranks:
    """The ranks of a communicator, shared by all engines of a device.

    Attributes:
        number: the number of this rank.
        count: the number of ranks.
        data: the communicator for data.
        series: the number of the messages of programs, unique to this device.
        stops: messages of ranks that request to stop the run in progress.
        on_machine: how many of the ranks are on this machine.
    """

    def __init__(self, comm: Comm, timeout: float) -> None:
        from mpi4py import MPI

        self.number, self.count = comm.Get_rank(), comm.Get_size()
        self._timeout = timeout
        self._channel = channel_of(comm, timeout)
        self.check_host_is_free(CALL)
        self.data, self._comm = self._channel.data, self._channel.words
        self.series = self._tag = self._channel.new_number()
        self._inbox: list[deque[Word]] = [deque() for _ in range(self.count)]
        self._sent: list[Request] = []
        self.stops: dict[int, Word] = {}
        self._heard_at = -math.inf
        machine = MPI.Get_processor_name()
        self.on_machine = [each.value for each in self.share(Word(CALL, machine))].count(machine)

    def renew(self) -> None:
        """Take a new series number for messages; messages with the old one are never received."""
        self.series = self._channel.new_number()

    def are_those_of(self, other: Ranks) -> bool:
        """Return whether the ranks of another device are the same processes in the same order."""
        from mpi4py import MPI

        return MPI.Comm.Compare(self._comm, other._comm) in (MPI.IDENT, MPI.CONGRUENT)

    @property
    def is_host(self) -> bool:
        """Whether this is the rank of the host."""
        return self.number == 0

    def tell(self, word: Word) -> None:
        """Send a message to all other ranks, without waiting."""
        self._is_sent()
        for rank in range(self.count):
            if rank != self.number:
                self._sent.append(self._comm.isend(word, rank, self._tag))

    def _is_sent(self) -> bool:
        """Return whether all messages have been sent."""
        self._sent = [each for each in self._sent if not each.Test()]
        return not self._sent

    def look(self) -> None:
        """Receive the messages of other ranks."""
        while (message := self._comm.improbe(tag=self._tag)) is not None:
            from mpi4py import MPI

            status = MPI.Status()
            word, rank = message.recv(status), status.Get_source()
            self._heard_at = time.monotonic()
            if word.is_stop:
                self.stops[rank] = word
            else:
                self._inbox[rank].append(word)

    def has_said(self, rank: int) -> bool:
        """Return whether a message of a rank has arrived."""
        self.look()
        return bool(self._inbox[rank])

    def has_ended(self, rank: int) -> bool:
        """Return whether a rank has ended the call in progress."""
        return any(word.is_last for word in self._inbox[rank])

    def failure(self) -> tuple[int, str] | None:
        """Return a rank that cannot continue, and the reason; None if all can."""
        self.look()
        for rank, words in enumerate(self._inbox):
            for word in words:
                if word.failed:
                    return rank, word.failed
        return None

    def share(self, word: Word) -> list[Word]:
        """Exchange words about the same call; return them by rank.

        Raises:
            ControlProgramError: if the user made a different call on another rank, or made this
                call in a callback.
        """
        self.check_host_is_free(word.call)
        self.tell(word)
        return [
            word if rank == self.number else self._last_word(rank, word.call)
            for rank in range(self.count)
        ]

    def _last_word(self, rank: int, call: str) -> Word:
        """Return the last word of a rank about a call; earlier ones are obsolete."""
        while not (word := self.next_word(rank, call)).is_last:
            pass
        return word

    def next_word(self, rank: int, call: str) -> Word:
        """Return the next word of a rank about the given call."""
        self.wait(lambda: self.has_said(rank), call, lambda: [rank])
        word = self._inbox[rank].popleft()
        if word.call != call:
            raise ControlProgramError(
                f"rank {self.number} called {call}, but rank {rank} called {word.call}",
                found="all ranks must make the same calls of an engine, in the same order",
                fix="make the call on all ranks; engine.read(x, root=0) returns values on one of "
                "them",
            )
        return word

    def from_host(self, call: str, value: T) -> T:
        """Return the value that rank 0 has in a call that all ranks make."""
        if self.is_host:
            self.check_host_is_free(call)
            self.tell(Word(call, value))
            self.wait(self._is_sent, call, lambda: self.others)
            return value
        found: T = self.next_word(0, call).value
        return found

    def on_host(self, call: str, function: Callable[[], T]) -> T | None:
        """Return the result of a function on rank 0, None elsewhere; all raise its error."""
        value: T | None = None
        error: BaseException | None = None
        if self.is_host:
            self.check_host_is_free(call)
            try:
                value = function()
            except BaseException as found:  # raised below, once the other ranks know
                error = found
        said = None if error is None else as_others_raise(error, call)
        said = self.from_host(call, said)
        if error is not None:
            raise error
        if said is not None:
            raise said
        return value

    def together(self, call: str, function: Callable[[], T]) -> T:
        """Call a function on all ranks; if it fails on one, it fails on all."""
        try:
            value = function()
        except BaseException as error:
            self.share(Word(call, failed=text_of(error)))
            raise
        for rank, word in enumerate(self.share(Word(call))):
            if word.failed:
                raise stopped_by(rank, word.failed, call)
        return value

    def host_first(self, call: str, function: Callable[[], T]) -> T:
        """Call a function on rank 0, then on all others; if it fails on one, it fails on all."""
        if self.is_host:
            self.check_host_is_free(call)
            try:
                value = function()
            except BaseException as error:
                self.tell(Word(call, failed=text_of(error)))
                raise
            self.tell(Word(call))
            return self.together(call, lambda: value)
        word = self.next_word(0, call)
        if word.failed:
            raise stopped_by(0, word.failed, call)
        return self.together(call, function)

    @property
    def others(self) -> Sequence[int]:
        """The numbers of all other ranks."""
        return [rank for rank in range(self.count) if rank != self.number]

    @contextmanager
    def calling_back(self, call: str) -> Iterator[None]:
        """Reject collective calls in a `with` statement, in which only the host executes `call`."""
        before, self._channel.called_in = self._channel.called_in, call
        try:
            yield
        finally:
            self._channel.called_in = before

    def check_host_is_free(self, call: str) -> None:
        """Reject a collective call that is made in a callback."""
        if within := self._channel.called_in:
            raise ControlProgramError(
                f"{call}: all ranks must make this call, but callbacks run on rank 0 alone",
                found=f"rank 0 is in a callback of {within}",
                fix="use the arrays that are passed to the callback, or make the call after the "
                "run",
            )

    def wait(
        self, is_done: Callable[[], bool], call: str, whom: Callable[[], Sequence[int]]
    ) -> None:
        """Wait until `is_done` returns true; end the job if the ranks `whom` never respond."""
        begin = time.monotonic()
        while not is_done():
            waited = time.monotonic() - begin
            if waited > EAGER_S:
                time.sleep(SLEEP_S)
            else:
                os.sched_yield()
            self.check_patience(waited, call, whom)

    def check_patience(self, waited_s: float, call: str, whom: Callable[[], Sequence[int]]) -> None:
        """End the job if this rank waits for ranks that have ended, or has waited too long.

        The timeout counts from the last message of any rank.
        """
        if waited_s > EAGER_S:
            self._check_ends(call, whom)
        waited_s = min(waited_s, time.monotonic() - self._heard_at)
        if self._timeout and waited_s > self._timeout:
            end_job(
                f"rank {self.number} waited {waited_s:.0f} s for {ranks_text(whom())} in {call}\n"
                "  all ranks must make the same calls of an engine, in the same order\n"
                f"  try: pass pl.mpi.Device(timeout=...) if a step takes longer than that"
            )

    def _check_ends(self, call: str, whom: Callable[[], Sequence[int]]) -> None:
        """End the job if a rank that this one waits for has ended."""
        self._channel.look_for_ends()
        if not self._channel.ended:
            return
        before = time.monotonic() - END_S
        ended = [rank for rank in whom() if self._channel.ended.get(rank, math.inf) < before]
        if ended:
            end_job(
                f"rank {self.number} waited for {ranks_text(ended)} in {call}, but it has ended\n"
                "  all ranks must make the same calls of an engine, in the same order\n"
                "  try: read its output; a script may end only after the last call of all ranks"
            )


class StoppedElsewhere(DeviceRuntimeError):
    """An error whose cause another rank reports."""

    is_told = True


def stopped_by(rank: int, why: str, call: str) -> DeviceRuntimeError:
    """Return the error for a rank that stopped a collective call."""
    return StoppedElsewhere(
        f"{call}: rank {rank} stopped",
        found=why,
        fix="see the error of that rank; call engine.load() to begin again",
    )


def as_others_raise(error: BaseException, call: str) -> Exception:
    """Return the exception that other ranks raise for rank 0's exception: the same if sendable."""
    if isinstance(error, Exception):
        with suppress(Exception):
            copied = pickle.loads(pickle.dumps(error))
            if type(copied) is type(error):
                return error
    return stopped_by(0, text_of(error), call)


def text_of(error: BaseException) -> str:
    """Return the text with which other ranks show an exception."""
    try:
        text = str(error)
    except Exception as fault:  # raised by the user's class; the original error matters more
        text = f"its text cannot be produced: {type(fault).__name__}"
    return f"{type(error).__name__}: {text}"


def ranks_text(ranks: Sequence[int]) -> str:
    """Return the numbers of ranks as text for messages."""
    return "rank " + ", ".join(map(str, ranks))
