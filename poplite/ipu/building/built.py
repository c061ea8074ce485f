"""What compilers made, kept in the user's cache folder under a hash of all that it depends on.

A file appears complete or not at all, so several processes may fill one folder. Where the folder
cannot be written, things are built into a folder of the process.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from poplite.errors import DeviceRuntimeError, VertexCompileError
from poplite.jit.object_cache import cache_folder
from poplite.text import clipped

LAST_LINES = 30
"""Lines of a compiler's output that an error shows."""


def built(name: str, parts: Sequence[object], build: Callable[[Path], None]) -> Path:
    """Return a file that was made of `parts`; `build` writes it where there is none yet.

    Its name ends with `name`; each part has the same `repr` whenever the file is the same.
    """
    path = kept(name, parts)
    if not path.exists():
        with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
            made = Path(scratch) / name
            build(made)
            os.replace(made, path)
    return path


def kept(name: str, parts: Sequence[object]) -> Path:
    """Return where a file that is made of `parts` has its place, there or not yet."""
    key = hashlib.sha256(repr(tuple(parts)).encode()).hexdigest()[:32]
    return _folder() / f"{key}-{name}"


def _folder() -> Path:
    try:
        folder = cache_folder() / "ipu"
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK | os.X_OK):
            return folder
    except (OSError, RuntimeError):  # no home, or a folder that cannot be made
        pass
    return _own_folder()


@cache
def _own_folder() -> Path:
    """Return a folder that goes with the process."""
    folder = tempfile.mkdtemp(prefix="poplite-ipu-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def compile_with(command: Sequence[str | Path], what: str) -> None:
    """Run a compiler; `what` is what messages call that which it compiles.

    Raises `VertexCompileError` with its output where it refuses the text, and `DeviceRuntimeError`
    where it cannot be started.
    """
    words = [os.fspath(word) for word in command]
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise DeviceRuntimeError(f"{words[0]} cannot be started: {error.strerror}") from error
    if done.returncode:
        lines = done.stdout.strip().splitlines()
        raise VertexCompileError(
            f"{what}: {Path(words[0]).name} ended with status {done.returncode}",
            found="\n".join(lines[:LAST_LINES]),
            fix=f"the command was {clipped(shlex.join(words), 400)}",
        )
