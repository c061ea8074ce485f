"""The process that drives a device, and the protocol to it.

    Python, its file 3      the process, its file 4
    start                   ready 0.2 41.7          seconds to build the graph, to compile it
    run main                fetch in                Python fills the block of a stream, says "ok"
                            sink out                Python reads the block, says "ok" or "stop"
                            call sort               Python calls a function, says "ok" or "stop"
                            ok 81250 0.0004         cycles, seconds
    read variable:x         ok                      the values are in the shared file
    run mian                error symbol_error 15   followed by a text of 15 bytes

Lines are sent through separate pipes, since libraries write to standard output. The standard output
and standard error of the process are recorded, and their last part is shown if the process dies.
"""

from __future__ import annotations

import fcntl
import os
import signal
import tempfile
import weakref
from collections.abc import Callable, Sequence
from typing import IO

from poplite import errors
from poplite.errors import DeviceRuntimeError

HALTED = "Stopped"
"""The name in the protocol for a run that ended at Python's request."""


class Halted(Exception):
    """Raised if Python ended a run; users never see this exception."""


BY_NAME = errors.BY_POPLAR_NAME | {"poplar_error": DeviceRuntimeError}
"""Classes by the names of Poplar's exceptions; all other names become `DeviceRuntimeError`."""


def error_of(name: str, text: str, command: str) -> Exception:
    """Return the error for an exception that the process reported for a command.

    >>> error = error_of("graph_memory_allocation_error", "tile 3: 9 KiB too much", "start")
    >>> type(error).__name__, error.what, error.where
    ('GraphMemoryAllocationError', 'tile 3: 9 KiB too much', "the device, command 'start'")
    """
    if name == HALTED:
        return Halted()
    what, _, more = text.strip().partition("\n")
    return BY_NAME.get(name, DeviceRuntimeError)(
        what or f"the device failed with {name}",
        where=f"the device, command '{command}'",
        found="\n".join([*([more.strip()] if more.strip() else []), f"Poplar calls it {name}"]),
    )


# -- the process -----------------------------------------------------------------------------------


COMMANDS, REPLIES = 3, 4
"""File descriptors of the pipes in the process."""

LAST_BYTES = 2_048
"""Number of bytes of a dead process's output that are shown."""

_HIGH = 16
"""Lowest file descriptor that cannot conflict with those in the process."""

Serve = Callable[[str, str], bool]
"""Takes "fetch" or "sink" and a stream, or "call" and a function; returns whether to continue."""


def _no_stream(verb: str, name: str) -> bool:
    raise DeviceRuntimeError(f"the device asks to {verb} '{name}', but no program runs")


class Child:
    """A running process that follows the protocol.

    Attributes:
        is_alive: whether it accepts commands.
    """

    def __init__(self, command: Sequence[str]) -> None:
        log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # as long as the process
        reads, self._commands = _pipe()
        answers, writes = _pipe()
        said = _high(log.fileno())
        ends = [(reads, COMMANDS), (writes, REPLIES), (said, 1), (said, 2)]
        actions = [(os.POSIX_SPAWN_DUP2, ours, theirs) for ours, theirs in ends]
        self._replies = os.fdopen(answers, "rb")
        try:
            # A separate process group, so that Ctrl-C reaches only Python.
            self.pid = os.posix_spawn(
                command[0], list(command), os.environ, file_actions=actions, setpgroup=0
            )
        except OSError as error:
            os.close(self._commands)
            self._replies.close()
            log.close()
            raise DeviceRuntimeError(f"{command[0]} cannot be started: {error.strerror}") from error
        finally:
            for end in (reads, writes, said):
                os.close(end)
        self.is_alive = True
        self._end = weakref.finalize(self, _end, self.pid, self._commands, self._replies, log)

    def ask(self, line: str, serve: Serve = _no_stream) -> list[str]:
        """Send a command, serve its requests, and return the words of its reply.

        Raises the error that the process reports, and `Halted` if `serve` ended the run. An
        exception of `serve` ends the run first, and is then raised.
        """
        raised: BaseException | None = None
        try:
            self._send(line)
            while True:
                verb, _, rest = self._line().partition(" ")
                if verb in ("fetch", "sink", "call"):
                    goes_on = False
                    if raised is None:
                        try:
                            goes_on = serve(verb, rest)
                        except KeyboardInterrupt:
                            raise
                        except BaseException as error:
                            raised = error  # raised when the run has ended
                    self._send("ok" if goes_on else "stop")
                elif verb == "error":
                    name, _, count = rest.rpartition(" ")
                    text = self._text(int(count))
                    if raised is None:
                        raise error_of(name, text, line)
                    raise raised
                elif verb in ("ok", "ready"):
                    if raised is not None:  # the run ended before it got the request
                        raise raised
                    return rest.split()
                else:
                    raise self._broken(f"replied {verb!r:.80} to {line!r}")
        except KeyboardInterrupt:
            if self.is_alive:
                self.kill()  # its state is unknown
            raise

    def kill(self) -> str:
        """Kill the process, and return the end of its output."""
        self.is_alive = False
        os.kill(self.pid, signal.SIGKILL)
        return self._ended()[1]

    def end(self) -> None:
        """End the process, which is idle."""
        self.is_alive = False
        self._ended()

    def _send(self, line: str) -> None:
        try:
            data = f"{line}\n".encode()
            while data:
                data = data[os.write(self._commands, data) :]
        except BrokenPipeError:
            raise self._died(line) from None

    def _line(self) -> str:
        line = self._replies.readline()
        if not line.endswith(b"\n"):
            raise self._died("")
        return line[:-1].decode()

    def _text(self, count: int) -> str:
        text = self._replies.read(count)
        if len(text) < count:
            raise self._died("")
        return text.decode(errors="replace")

    def _died(self, line: str) -> DeviceRuntimeError:
        """Return the error for a process that has ended, with its status and last output."""
        self.is_alive = False
        status, said = self._ended()
        how = f"ended with status {os.waitstatus_to_exitcode(status)}"
        if os.WIFSIGNALED(status):
            how = f"was killed by signal {signal.Signals(os.WTERMSIG(status)).name}"
        return DeviceRuntimeError(
            f"the process that drives the device {how}",
            where=f"command '{line}'" if line else "",
            found=said,
            fix="call engine.load() to start it again with initial memory",
        )

    def _broken(self, what: str) -> DeviceRuntimeError:
        return DeviceRuntimeError(
            f"the process that drives the device {what}",
            found=self.kill(),
            fix="use the host program of this version of poplite, which follows the protocol",
        )

    def _ended(self) -> tuple[int, str]:
        """Wait for the end of the process, and return its status and last output."""
        ended: tuple[int, str] | None = self._end()
        assert ended is not None, "a process ends only once"
        return ended


def _pipe() -> tuple[int, int]:
    """Return both ends of a new pipe, with descriptors that the process does not use."""
    low = os.pipe()
    high = _high(low[0]), _high(low[1])
    for end in low:
        os.close(end)
    return high


def _high(number: int) -> int:
    return fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, _HIGH)


def _end(pid: int, commands: int, replies: IO[bytes], log: IO[bytes]) -> tuple[int, str]:
    """Close both pipes, which ends the process; return its status and the end of its output."""
    os.close(commands)
    replies.close()
    status = os.waitpid(pid, 0)[1]
    with log:
        size = log.seek(0, os.SEEK_END)
        log.seek(max(0, size - LAST_BYTES))
        text = log.read().decode(errors="replace").strip()
    return status, f"its last output:\n{text}" if text else "it wrote nothing"
