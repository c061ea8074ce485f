"""Connections of streams and host functions to the host.

    connect_stream(handle, array)               Ring: rows of the array, cyclically
    connect_stream_to_callback(handle, call)    a function, or
                                                Feed: a StreamCallback that works ahead

A callback that fills blocks must return nothing, and should fill all elements; the result of a
callback that reads blocks is ignored. Python cannot observe which elements a function wrote, so the
array contains noise before the call, and elements that are unchanged afterwards were not filled. A
byte matches the noise by chance once in 256 times, so elements are reported if chance is unlikely:
32-bit elements in a small block immediately, three adjacent bytes, or one byte in several
successive blocks::

    noise   9c 4f 07 e1        in the next block   3a 9c 4f 07
    after   00 00 07 e1                            00 00 00 07
    left          ^^ ^^                                     ^^
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Sequence,
)
from dataclasses import dataclass, field
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.errors import (
    ElementTypeError,
    StreamConnectionError,
    TensorMetadataError,
    UnwrittenOutputWarning,
    listed,
    warn,
)
from poplite.executable.parts import ArenaBlock, HostFunctionCall, Stream, Transfer
from poplite.graph.host import StreamCallback
from poplite.simulator.run.arena import Bytes
from poplite.text import clipped, why_not_called
from poplite.types import QuarterMetadata, unmasked

# -- blocks that callbacks fill --------------------------------------------------------------------


Array = npt.NDArray[Any]
_NOT_RUN = (Awaitable, Generator, AsyncGenerator)
"""Types that a call returns if the function's code has not run yet."""

Take = Callable[[Array], object]
"""Fills or reads a block."""

MOST_LOOKS = 1_000
"""Maximum number of blocks that are checked, so that checks do not slow down a long loop."""

DOUBT = 24
"""At most one in 2**24 blocks of random values is reported by mistake."""

SEED = 0
"""Seed of the noise, so that runs are reproducible."""


class Looking:
    """Checks the blocks of a stream that callbacks fill, and warns of unfilled elements.

    `where` returns the current step as text; `looks` is the number of blocks that remain to be
    checked.
    """

    def __init__(self, stream: Stream, where: Callable[[], str], *, is_strict: bool) -> None:
        self._stream, self._where = stream, where
        self.looks = MOST_LOOKS if is_strict else 0
        self._noise: Array | None = None
        self._streaks: Array = np.zeros(0, np.int64)

    def call(self, fill: Callable[[Array], object], block: Array, name: str) -> object:
        """Call the user's function that fills a block, check the block, and return its result."""
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
        """Return noise for the next block, at different positions than for the previous one."""
        if self._noise is None:
            count = len(codes) + MOST_LOOKS
            drawn = np.random.default_rng(SEED).bytes(count * codes.itemsize)
            self._noise = np.frombuffer(drawn, codes.dtype)
            if self._stream.element_type.dtype.kind == "b":
                self._noise = self._noise | 2
            self._streaks = np.zeros(len(codes), np.int64)
        return self._noise[self.looks : self.looks + len(codes)]

    def _report(self, left: Array, bits: float, name: str) -> None:
        """Warn of elements that still contain noise, too many for chance; stop checking."""
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
                    + "\ntheir contents are undefined, here noise; further blocks are not checked",
                    fix="fill the whole array: array[:] = values",
                )
            )


def sink(callback: Take, what: str) -> Take:
    """Return the user's function that reads blocks, with an error if its code does not run.

    Any other result is ignored: `file.write`, for example, returns a number.
    """
    name = function_name(callback)

    def take(block: Array) -> None:
        result = callback(block)
        if isinstance(result, _NOT_RUN):
            raise returned(result, f"{what}: {name}")

    return take


def filler(callback: Callable[[Array], object], looking: Looking, what: str) -> Take:
    """Return the user's function that fills blocks, with a check of its result."""
    name = function_name(callback)

    def fill(block: Array) -> None:
        result = looking.call(callback, block, name) if looking.looks else callback(block)
        if result is not None and result is not block:  # np.negative(x, out=block) returns it
            raise returned(result, f"{what}: {name}")

    return fill


def function_name(callback: Callable[..., object]) -> str:
    """Return the name of a user's function, method or other callable in messages."""
    name = getattr(callback, "__qualname__", type(callback).__name__)
    return "the callback" if "<lambda>" in name else f"callback '{name.split('<locals>.')[-1]}'"


def returned(result: object, what: str, assignment: str = "array[:] = values") -> ElementTypeError:
    """Return the error for a callback that returned a value that it should have stored.

    `assignment` is the statement it needs instead; empty if it fills nothing.
    """
    if isinstance(result, _NOT_RUN):
        if isinstance(result, Coroutine | Generator):
            result.close()  # otherwise Python warns that it was never awaited
        kind = type(result).__name__.replace("_", " ")
        return ElementTypeError(
            f"{what} returned {'an' if kind.startswith('async') else 'a'} {kind}",
            found="its code has not run, and will not run",
            fix="connect a function of `def` without `yield`, instead of `async def`",
        )
    shown = clipped(result)
    if isinstance(result, np.ndarray):
        shown = f"an array of {result.dtype}, shape {result.shape}"
    return ElementTypeError(
        f"{what} returned {shown}",
        found="the return value of a callback is not used",
        fix=f"fill the argument, {assignment}, and return nothing"
        if assignment
        else "return nothing",
    )


# -- connections -----------------------------------------------------------------------------------


class Ring:
    """An array as a stream: its rows in order, cyclically.

    `rows` is [blocks, elements], used in place; `next` is the number of the next row.
    """

    def __init__(self, rows: Array, *, to_device: bool) -> None:
        self._rows, self._to_device = rows, to_device
        self.next = 0

    def __len__(self) -> int:
        return len(self._rows)

    def __call__(self, block: Array) -> None:
        """Fill a block from the next row, or store it in that row."""
        if self._to_device:
            block[:] = self._rows[self.next]
        else:
            self._rows[self.next] = block
        self.next = (self.next + 1) % len(self._rows)

    def reset(self) -> None:
        """Start at the first row again."""
        self.next = 0


class Feed:
    """A `StreamCallback` with the blocks that it has filled ahead."""

    def __init__(
        self, callback: StreamCallback, stream: Stream, looking: Looking, *, works_ahead: bool
    ) -> None:
        self._callback, self._stream, self._looking = callback, stream, looking
        self._what = f"stream '{stream.handle}'"
        self._fetch = sink(callback.fetch, self._what)
        if stream.to_device:
            self._fetch = filler(callback.fetch, looking, self._what)
        self._depth = stream.buffering_depth if stream.to_device and works_ahead else 0
        self._free: list[Array] = []
        self._ready: deque[Array] = deque()

    def __call__(self, block: Array) -> None:
        """Fill a block, from a prefetched one if possible, or pass it to the callback.

        Then prefetch further blocks.
        """
        ready = self._ready
        if ready:
            block[:] = ready[0]
            self._free.append(ready.popleft())
        else:
            self._fetch(block)
        complete: Callable[[], object] = self._callback.complete
        if (result := complete()) is not None:
            raise returned(result, f"{self._what}: {function_name(complete)}", "")
        # The callback may have connected another one in the meantime, which drops all blocks.
        while ready is self._ready and len(ready) < self._depth:
            ahead = self._free.pop() if self._free else self._new()
            name = function_name(self._callback.prefetch)
            if not self._looking.call(self._prefetched, ahead, name):
                self._free.append(ahead)
                break
            ready.append(ahead)

    def _new(self) -> Array:
        return np.zeros(self._stream.num_elements, self._stream.element_type.dtype)

    def _prefetched(self, block: Array) -> bool:
        result = self._callback.prefetch(block)
        if isinstance(result, bool | np.bool_ | StreamCallback.Result):
            return bool(result.value if isinstance(result, StreamCallback.Result) else result)
        raise ElementTypeError(
            f"stream '{self._stream.handle}': prefetch must return a bool; found {clipped(result)}",
            found=f"it is {type(self._callback).__name__}.prefetch",
            fix="return True if the array was filled, else False",
        )

    def reset(self) -> None:
        """Drop the blocks that are ready."""
        self._free.extend(self._ready)
        self._ready = deque()
        self._callback.invalidate_prefetched()


def ring_of(array: object, stream: Stream, call: str) -> Ring:
    """Return a user's array as a stream, in place, or reject it; errors name `call`."""
    dtype, count = stream.element_type.dtype, stream.num_elements
    unmasked(array, call)
    if not isinstance(array, np.ndarray) or array.dtype != dtype:
        found = f"an array of {array.dtype}" if isinstance(array, np.ndarray) else clipped(array)
        raise ElementTypeError(
            f"{call}: the stream needs an array of {dtype} ({stream.element_type!r}); found "
            f"{found}",
            found=f"the stream was made at {stream.location}",
            fix=f"pass np.asarray(values, np.{dtype.name}); it is used in place, so keep that array"
            if not callable(array)
            else "pass functions to engine.connect_stream_to_callback",
        )
    if not array.size or array.size % count:
        raise StreamConnectionError(
            f"{call}: the array must have a multiple of {count:,} elements, the size of a block; "
            f"found {array.size:,}",
            found=f"the stream was made at {stream.location}",
            fix="pass an array of one block, or of several",
        )
    reason = ""
    if not array.flags.c_contiguous:
        reason = "is not C-contiguous"
    elif not stream.to_device and not array.flags.writeable:
        reason = "is read-only"
    if reason:
        raise StreamConnectionError(
            f"{call}: the array {reason}, so it cannot be used in place",
            found=f"shape {array.shape}, strides {array.strides}",
            fix="connect a copy: array.copy()",
        )
    return Ring(array.reshape(-1, count), to_device=stream.to_device)


def taker_of(
    callback: object, stream: Stream, call: str, looking: Looking, *, works_ahead: bool
) -> Take:
    """Return the function that takes the blocks of a stream: the user's function, or a `Feed`.

    Raises `ElementTypeError`, naming `call`, unless it is a function or a `StreamCallback`.
    """
    if isinstance(callback, StreamCallback):
        return Feed(callback, stream, looking, works_ahead=works_ahead)
    is_class = isinstance(callback, type) and issubclass(callback, StreamCallback)
    if is_class or not callable(callback):
        raise ElementTypeError(
            f"{call}: {clipped(callback)} is not a function",
            found="it is a class, not an instance"
            if is_class
            else f"its type is {type(callback).__name__}",
            fix="pass a function that takes an array, or an instance of a subclass of "
            "pl.StreamCallback; engine.connect_stream takes arrays",
        )
    check_takes(callback, 1, call, "an array, the block that it fills or reads")
    if stream.to_device:
        return filler(callback, looking, f"stream '{stream.handle}'")
    return sink(callback, f"stream '{stream.handle}'")


def check_takes(callback: Any, count: int, call: str, arguments: str) -> None:
    """Reject a user's function that does not take `count` arguments."""
    if not isinstance(callback, FunctionType | MethodType):  # other callables may not be inspected
        return
    if why := why_not_called(callback, count):
        raise ElementTypeError(
            f"{call}: {clipped(callback)} does not take {arguments}",
            found=why,
            fix=f"pass a function that takes {arguments}",
        )


@dataclass(slots=True, eq=False)
class Connection:
    """A stream or host function, with its connection.

    Attributes:
        spec: the stream, or a call to the host function.
        actions: the actions that use it, with their numbers.
        takers: the function that each replica calls; None if nothing is connected.
        metadata: format and scale of the data of a QUARTER stream.
    """

    kind: str
    spec: Stream | HostFunctionCall
    takers: list[Callable[..., object] | None]
    actions: list[tuple[int, Transfer | HostFunctionCall]] = field(default_factory=list)
    metadata: QuarterMetadata | None = None

    @property
    def is_connected(self) -> bool:
        """Whether every replica is connected."""
        return all(taker is not None for taker in self.takers)

    def calls(self, parts: Sequence[Bytes]) -> dict[int, Callable[[], object]]:
        """Return the function of each action, by number; `parts` is the replicas' memory."""
        pairs = list(zip(self.takers, parts, strict=True))
        made: dict[int, Callable[[], object]] = {}
        for number, action in self.actions:
            if isinstance(action, HostFunctionCall):
                made[number] = in_turn([_host_call(action, *pair) for pair in pairs])
            elif action.stream.is_broadcast:
                blocks = [view_of(action.block, part) for part in parts]
                made[number] = in_turn([partial(_spread, _bound(self.takers[0]), blocks)])
            else:
                each = [partial(_bound(taker), self._block(action, p)) for taker, p in pairs]
                made[number] = in_turn(each)
            if isinstance(action, Transfer) and action.metadata is not None:
                made[number] = partial(self._checked, action, parts, made[number])
        return made

    def _block(self, action: Transfer, part: Bytes) -> Array:
        block = view_of(action.block, part)
        block.flags.writeable = action.stream.to_device
        return block

    def _checked(
        self, action: Transfer, parts: Sequence[Bytes], call: Callable[[], object]
    ) -> None:
        """Move QUARTER codes if both sides have equal metadata."""
        for part in parts:
            assert action.metadata is not None
            assert self.metadata is not None
            byte = QuarterMetadata.from_byte(int(part[action.metadata]))
            if byte != self.metadata:
                raise TensorMetadataError(
                    f"{action.program}: the connected data must have {byte}, as the tensor has; "
                    f"found {self.metadata}",
                    at=action.location,
                    found=f"stream '{action.stream.handle}' was made at {action.stream.location}",
                    fix="connect codes with the tensor's format and scale",
                )
        call()


def _bound(taker: Callable[..., object] | None) -> Callable[..., object]:
    assert taker is not None
    return taker


def workers(takers: Iterable[Callable[..., object] | None]) -> list[Ring | Feed]:
    """Return the connections that have a state to reset, each once."""
    return list(dict.fromkeys(taker for taker in takers if isinstance(taker, Ring | Feed)))


def in_turn(calls: Sequence[Callable[[], object]]) -> Callable[[], object]:
    """Return a function that makes all calls, one per replica, or the only call."""
    if len(calls) == 1:
        return calls[0]

    def all_of_them() -> None:
        for call in calls:
            call()

    return all_of_them


def view_of(block: ArenaBlock, part: Bytes) -> Array:
    """Return a block in a replica's memory as an array of one dimension."""
    size = block.num_elements * block.element_type.size_bytes
    return part[block.at : block.at + size].view(block.element_type.dtype)


def _spread(taker: Take, blocks: Sequence[Array]) -> None:
    """Fill the block of one replica, and copy it to the others."""
    taker(blocks[0])
    for block in blocks[1:]:
        block[:] = blocks[0]


def _host_call(
    action: HostFunctionCall, function: Callable[..., object] | None, part: Bytes
) -> Callable[[], object]:
    inputs = tuple(view_of(block, part) for block in action.inputs)
    outputs = tuple(view_of(block, part) for block in action.outputs)
    for array in inputs:
        array.flags.writeable = False

    def call() -> None:
        for array in outputs:
            array[:] = 0
        result = _bound(function)(inputs, outputs)
        if result is not None and not any(result is array for array in outputs):
            name = function_name(_bound(function))
            what = f"host function '{action.handle}': {name}"
            raise returned(result, what, "outputs[0][:] = values")

    return call
