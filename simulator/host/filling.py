"""Checks of what callbacks fill: they return nothing, and may leave elements as they were.

Python does not say what a function wrote, so the array holds noise when it is called, and elements
that still hold it afterwards were left.  A byte holds it by chance once in 256, so elements are
reported when that is unlikely: those of 32 bits in a small block at once, three bytes side by side,
or one byte in several successive blocks::

    noise   9c 4f 07 e1        in the next block   3a 9c 4f 07
    after   00 00 07 e1                            00 00 00 07
    left          ^^ ^^                                     ^^
"""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.errors import ElementTypeError, UnwrittenOutputWarning, listed, warn
from poplite.executable.transfers import Stream
from poplite.text import clipped

Array = npt.NDArray[Any]
_NOT_RUN = (Awaitable, Generator, AsyncGenerator)
"""Results of calls whose code has not run yet."""

Take = Callable[[Array], object]
"""Fills a block, or takes it."""

MOST_LOOKS = 1_000
"""Blocks that are looked at, so that a long loop is not slow for ever."""

DOUBT = 24
"""One block of random values in 2**24 may be reported by mistake."""

SEED = 0
"""Seed of the noise, so that runs can be repeated."""


class Looking:
    """Looks at the blocks of a stream that callbacks fill, and warns of elements that they left.

    `where` returns which step is running; `looks` is the number of blocks still to be looked at.
    """

    def __init__(self, stream: Stream, where: Callable[[], str], *, is_strict: bool) -> None:
        self._stream, self._where = stream, where
        self.looks = MOST_LOOKS if is_strict else 0
        self._noise: Array | None = None
        self._streaks: Array = np.zeros(0, np.int64)

    def call(self, fill: Callable[[Array], object], block: Array, name: str) -> object:
        """Call the user's function that fills a block, look at the block, and return its result."""
        if not self.looks:
            return fill(block)
        self.looks -= 1
        codes = block.view(f"u{block.itemsize}")
        noise = self._next_noise(codes)
        codes[:] = noise
        try:
            result = fill(block)
        finally:
            left = codes == noise
            if block.dtype.kind == "b":
                codes[left] = 0  # the only valid truth values in memory are 0 and 1
        if result is None or result is block or result is True:
            bits = math.inf if block.dtype.kind == "b" else 8 * block.itemsize
            self._report(left, bits, name)
        return result

    def _next_noise(self, codes: Array) -> Array:
        """Return noise for the next block, at other positions than before."""
        if self._noise is None:
            count = len(codes) + MOST_LOOKS
            drawn = np.random.default_rng(SEED).bytes(count * codes.itemsize)
            self._noise = np.frombuffer(drawn, codes.dtype)
            if self._stream.element_type.dtype.kind == "b":
                self._noise = self._noise | 2
            self._streaks = np.zeros(len(codes), np.int64)
        return self._noise[self.looks : self.looks + len(codes)]

    def _report(self, left: Array, bits: float, name: str) -> None:
        """Warn of elements that hold noise, as is unlikely by chance; then look no more."""
        self._streaks = (self._streaks + 1) * left
        if not left.any():
            return
        edges = np.flatnonzero(np.diff(np.concatenate([[False], left, [False]])))
        runs = [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]
        needed = DOUBT + math.log2(len(left))
        runs = [run for run in runs if int(self._streaks[slice(*run)].sum()) * bits >= needed]
        if runs:
            self.looks = 0
            count = sum(end - start for start, end in runs)
            warn(
                UnwrittenOutputWarning(
                    f"stream '{self._stream.handle}': {name} left {count:,} of "
                    f"{len(left):,} elements unfilled",
                    at=self._stream.location,
                    where=self._where(),
                    found=listed([f"elements [{a:,}, {b:,})" for a, b in runs], "ranges")
                    + "\nthey hold anything, here noise; further blocks are not looked at",
                    fix="fill all of the array: array[:] = values",
                )
            )


def sink(callback: Take, what: str) -> Take:
    """Return the user's function that takes blocks, with an error where its code does not run.

    Its result does not matter otherwise: the block was passed, and `file.write` returns a number.
    """
    name = function_name(callback)

    def take(block: Array) -> None:
        result = callback(block)
        if isinstance(result, _NOT_RUN):
            raise returned(result, f"{what}: {name}")

    return take


def filler(callback: Callable[[Array], object], looking: Looking, what: str) -> Take:
    """Return the user's function that fills blocks, as one whose result is looked at."""
    name = function_name(callback)

    def fill(block: Array) -> None:
        result = looking.call(callback, block, name) if looking.looks else callback(block)
        if result is not None and result is not block:  # as np.negative(x, out=block) returns it
            raise returned(result, f"{what}: {name}")

    return fill


def function_name(callback: Callable[..., object]) -> str:
    """Return the name that messages give a function, method or other callable of the user's."""
    name = getattr(callback, "__qualname__", type(callback).__name__)
    return "the callback" if "<lambda>" in name else f"callback '{name.split('<locals>.')[-1]}'"


def returned(result: object, what: str, assignment: str = "array[:] = values") -> ElementTypeError:
    """Return the error of a callback that returned what it should have stored.

    `assignment` is what it should do instead; empty where it fills nothing.
    """
    if isinstance(result, _NOT_RUN):
        if isinstance(result, Coroutine | Generator):
            result.close()  # else Python warns that it was never awaited
        kind = type(result).__name__.replace("_", " ")
        return ElementTypeError(
            f"{what} returned {'an' if kind.startswith('async') else 'a'} {kind}",
            found="that is code that has not run, and nothing runs it",
            fix="a function of `def` without `yield`, in the place of `async def`",
        )
    shown = clipped(result)
    if isinstance(result, np.ndarray):
        shown = f"an array of {result.dtype}, shape {result.shape}"
    return ElementTypeError(
        f"{what} returned {shown}",
        found="what a callback returns goes nowhere",
        fix=f"fill what it is passed, {assignment}, and return nothing"
        if assignment
        else "no return",
    )
