"""Sorting by words, each made from the key of an element with its position.

    word     key (upper half, signed) | position (31 bits) | 1 for -0.0

Keys are integers in the order of the elements: a NaN is above all numbers, as in NumPy, and -0.0
equals 0.0. No two words of a row are equal; among equal keys, the word with the smaller position is
smaller. So sorting is stable, and its result does not depend on where and in which order words are
compared. For descending order, keys are inverted, but positions are not.

    keys of FLOAT -2.0, -0.0, 0.0, 1.0, nan        -0x40000001 0 0 0x3f800000 0x7fc00000

Vertices read elements by their bits, as integers of the same width, such as INT or SHORT.

`Sort` and `ArgSort` need no words: one worker sorts the elements of a vector, or their positions,
by Shell's method; each distance is 5/11 of the previous one (G. Gonnet, R. Baeza-Yates, "Handbook
of Algorithms and Data Structures", 1991).
"""

from __future__ import annotations

import math
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from poplite.types import BOOL, LONGLONG, UNSIGNED_INT, ElementType
from poplite.vertex.vertex import InOut, Input, MultiVertex, Output, State, Vector, Vertex

T = TypeVar("T", bound=ElementType[Any])
U = TypeVar("U", bound=ElementType[Any])

Words = npt.NDArray[np.int64]

LAST_WORD = 0x7FFFFFFFFFFFFFFF
"""The word of a position without an element; it is larger than all other words."""

POSITIONS = 0x7FFFFFFF
"""The mask of a position within a word, and the number of positions."""

NEVER = 1 << 62
"""Bits that no element has."""


class KeyRule(NamedTuple):
    """How bits become keys: state of the vertices that read or write elements.

    Attributes:
        mask: the bits that are inverted in negative floats; 0 for integers.
        infinity: the bits of infinity; masked bits above it are a NaN.
        nan: the bits and the key of every NaN.
        zero: the bits of -0.0.
        offset: the number subtracted from bits, so that UNSIGNED_INT becomes signed.
        flip: -1 for descending order, else 0.
    """

    mask: int
    infinity: int
    nan: int
    zero: int
    offset: int
    flip: int


def key_rule(dtype: npt.DTypeLike, *, falls: bool = False) -> KeyRule:
    """Return the rule for float32, float16, and integers of up to 32 bits.

    >>> key_rule("float16").infinity == 0x7c00
    True
    """
    kind, flip = np.dtype(dtype), -1 if falls else 0
    if kind == np.float32:
        return KeyRule(0x7FFFFFFF, 0x7F800000, 0x7FC00000, -(2**31), 0, flip)
    if kind == np.float16:
        return KeyRule(0x7FFF, 0x7C00, 0x7E00, -(2**15), 0, flip)
    return KeyRule(0, NEVER, 0, NEVER, 2**31 if kind == np.uint32 else 0, flip)


class Keys:
    """Conversions between bits, keys and words, for vertices."""

    mask: State[LONGLONG]
    infinity: State[LONGLONG]
    nan: State[LONGLONG]
    zero: State[LONGLONG]
    offset: State[LONGLONG]
    flip: State[LONGLONG]

    def word_of(self, bits: int, position: int) -> Any:
        """Return the word of an element."""
        key = bits if bits >= 0 else bits ^ self.mask
        key = self.nan if (bits & self.mask) > self.infinity else key
        is_zero = bits == self.zero
        key = 0 if is_zero else key - self.offset
        return ((key ^ self.flip) << 32) | (2 * position + (1 if is_zero else 0))

    def bits_of(self, word: int) -> Any:
        """Return the bits of the element of a word."""
        key = ((word >> 32) ^ self.flip) + self.offset
        bits = key if key >= 0 else key ^ self.mask
        return self.zero if (word & 1) > 0 else bits


class Least(Vertex):
    """The smallest of several words; the input contains at least as many words as `words`.

    The smallest words are kept in a heap with the largest at the root, which every smaller word
    replaces. They are sorted at the end if `in_order` is true.
    """

    words: InOut[Vector[LONGLONG]]
    in_order: State[BOOL]

    def begin(self) -> None:
        """Make a heap of the first words, which are in any order."""
        size = len(self.words)
        for i in range(size // 2 - 1, -1, -1):
            self.sink(self.words[i], i, size)

    def sink(self, word: int, hole: int, size: int) -> None:
        """Put a word at `hole` in a heap of `size` words, or below."""
        child = 2 * hole + 1
        while child < size:
            most = self.words[child]
            if child + 1 < size:
                other = self.words[child + 1]
                if other > most:
                    most = other
                    child += 1
            if most <= word:
                break
            self.words[hole] = most
            hole = child
            child = 2 * hole + 1
        self.words[hole] = word

    def finish(self) -> None:
        """Turn the heap into a sorted vector, if requested."""
        if self.in_order:
            for size in range(len(self.words) - 1, 0, -1):
                last = self.words[size]
                self.words[size] = self.words[0]
                self.sink(last, 0, size)


class LeastElements(Least, Keys, Generic[T, U]):
    """The words of the smallest elements; the first element has position `first`.

    Words are made only for elements that are below the last one that is kept, or not comparable,
    since comparing elements is faster.
    """

    x: Input[Vector[T]]
    bits: Input[Vector[U]]
    first: State[UNSIGNED_INT]

    def last_kept(self) -> Any:
        """Return the element of the root."""
        return self.x[((self.words[0] >> 1) & POSITIONS) - self.first]

    def next_below(self, begin: int, sign: int, limit: Any) -> int:
        """Return the first position from `begin` of one below the limit or NaN, or the end."""
        found = len(self.x)
        for i in range(max(0, begin), len(self.x)):  # indices that need no check
            if not self.x[i] * sign >= limit:  # also true for NaN
                found = i
                break
        return found

    def compute(self) -> None:
        """Keep the smallest words."""
        size = len(self.words)
        for i in range(size):
            self.words[i] = self.word_of(self.bits[i], self.first + i)
        self.begin()
        sign = -1 if self.flip < 0 else 1
        limit = self.last_kept() * sign
        i = self.next_below(size, sign, limit)
        while i < len(self.x):
            word = self.word_of(self.bits[i], self.first + i)
            if word < self.words[0]:
                self.sink(word, 0, size)
                limit = self.last_kept() * sign
            i = self.next_below(i + 1, sign, limit)
        self.finish()


class LeastWords(Least):
    """The smallest of several words."""

    x: Input[Vector[LONGLONG]]

    def compute(self) -> None:
        """Keep the smallest words."""
        size = len(self.words)
        for i in range(size):
            self.words[i] = self.x[i]
        self.begin()
        last = self.words[0]
        for i in range(size, len(self.x)):
            word = self.x[i]
            if word < last:
                self.sink(word, 0, size)
                last = self.words[0]
        self.finish()


class SortElements(Vertex, Keys, Generic[T]):
    """The words of elements, in order, followed by `LAST_WORD` where `words` is longer."""

    x: Input[Vector[T]]
    words: InOut[Vector[LONGLONG]]
    first: State[UNSIGNED_INT]

    def compute(self) -> None:
        """Make words, and sort them by Shell's method.

        Source: G. Gonnet, R. Baeza-Yates, "Handbook of Algorithms and Data Structures" (1991), for
        distances of 5/11 of the previous one; 29/64 is close to that, and needs no division.
        """
        size = len(self.x)
        for i in range(size):
            self.words[i] = self.word_of(self.x[i], self.first + i)
        for i in range(size, len(self.words)):
            self.words[i] = LAST_WORD
        gap = size
        while gap > 1:
            gap = max(1, (29 * gap) >> 6)
            for i in range(gap, size):
                word = self.words[i]
                hole = i
                while hole >= gap:
                    if self.words[hole - gap] <= word:
                        break
                    self.words[hole] = self.words[hole - gap]
                    hole -= gap
                self.words[hole] = word


class MergeWords(MultiVertex):
    """A part of two sorted vectors merged: words `first`, `first + 1`, ... of the result.

    A worker computes `share` of them, and finds by bisection how many words of the left vector
    precede its own. Words past the end of both vectors are `LAST_WORD`.
    """

    left: Input[Vector[LONGLONG]]
    right: Input[Vector[LONGLONG]]
    out: Output[Vector[LONGLONG]]
    first: State[UNSIGNED_INT]
    share: State[UNSIGNED_INT]

    def compute(self, worker: int) -> None:
        """Merge the worker's share of the part."""
        lefts, rights = len(self.left), len(self.right)
        begin = worker * self.share
        end = min(begin + self.share, len(self.out))
        if begin < end:
            place = self.first + begin
            low, high = max(0, place - rights), min(place, lefts)
            while low < high:
                middle = (low + high) >> 1
                if self.left[middle] < self.right[place - middle - 1]:
                    low = middle + 1
                else:
                    high = middle
            i, j = low, place - low
            one = self.left[i] if i < lefts else LAST_WORD
            other = self.right[j] if j < rights else LAST_WORD
            for k in range(begin, end):
                if one <= other:
                    self.out[k] = one
                    i += 1
                    one = self.left[i] if i < lefts else LAST_WORD
                else:
                    self.out[k] = other
                    j += 1
                    other = self.right[j] if j < rights else LAST_WORD


class Values(Vertex, Keys, Generic[T]):
    """The elements of words."""

    words: Input[Vector[LONGLONG]]
    out: Output[Vector[T]]

    def compute(self) -> None:
        """Write bits."""
        for i in range(len(self.out)):
            self.out[i] = self.bits_of(self.words[i])


class Positions(Vertex):
    """The positions of words."""

    words: Input[Vector[LONGLONG]]
    out: Output[Vector[UNSIGNED_INT]]

    def compute(self) -> None:
        """Write positions."""
        for i in range(len(self.out)):
            self.out[i] = (self.words[i] >> 1) & POSITIONS


def sort_slots(elements: int) -> int:
    """Return the approximate slots of `SortElements` for random elements.

    >>> sort_slots(16)
    1054
    """
    return 30 + round(16 * elements * math.log2(max(1, elements)))


def merge_slots(words: int, length: int) -> int:
    """Return the approximate slots of a worker of `MergeWords`.

    Args:
        words: number of words that the worker writes.
        length: length of each of the two vectors.

    >>> merge_slots(10, 100)
    236
    """
    return 45 + 10 * words + 13 * length.bit_length()


def least_slots(count: Any, kept: Any, *, makes: bool = False) -> npt.NDArray[np.float64]:
    """Return the approximate slots to find the smallest of words in random order.

    Args:
        count: number of words, at least one.
        kept: number of words that are kept, at least one.
        makes: whether words are made from elements, as in `LeastElements`, not `LeastWords`.

    >>> int(least_slots(512, 16))
    6152
    """
    heap, scan, change = (37, 8, 140) if makes else (23, 5, 100)
    changes = kept * np.log(np.maximum(count / kept, 1)) * (change / 100)
    depth = np.log2(kept + 1.0)
    slots: npt.NDArray[np.float64] = np.asarray(
        30 + heap * kept + scan * (count - kept) + changes * (10 + 12 * depth)
    )
    return slots


def order_slots(kept: Any) -> npt.NDArray[np.float64]:
    """Return the approximate slots to sort the words that were kept.

    >>> int(order_slots(16))
    850
    """
    slots: npt.NDArray[np.float64] = np.asarray(13 * kept * np.log2(kept + 1.0))
    return slots


def value_slots(words: int) -> int:
    """Return the approximate slots of `Values`.

    >>> value_slots(10)
    140
    """
    return 20 + 12 * words


def words_reference(bits: npt.NDArray[Any], rule: KeyRule, first: int = 0) -> Words:
    """Compute the words of elements in NumPy: int64[n].

    Args:
        bits: bits of the elements, as integers of their size.
        rule: how bits become keys.
        first: the position of the first element.

    >>> x = np.array([1.5, -0.0, -2.0], np.float32)
    >>> [hex(word) for word in words_reference(x.view(np.int32), key_rule("float32"))]
    ['0x3fc0000000000000', '0x3', '-0x40000000fffffffc']
    """
    wide = bits.astype(np.int64)
    key = np.where(wide >= 0, wide, wide ^ rule.mask)
    key = np.where((wide & rule.mask) > rule.infinity, rule.nan, key)
    is_zero = wide == rule.zero
    key = np.where(is_zero, 0, key - rule.offset)
    place = 2 * np.arange(first, first + len(wide)) + is_zero
    found: Words = ((key ^ rule.flip) << 32) | place
    return found


def least_reference(words: Words, count: int) -> Words:
    """Return what `LeastElements` and `LeastWords` keep in order: int64[count].

    >>> least_reference(np.array([5, 2, 9]), 2).tolist()
    [2, 5]
    """
    return np.sort(words)[:count]


def sorted_reference(words: Words, size: int) -> Words:
    """Return what `SortElements` writes for elements with these words: int64[size].

    >>> sorted_reference(np.array([5, 2]), 3).tolist() == [2, 5, LAST_WORD]
    True
    """
    return np.append(np.sort(words), np.full(size - len(words), LAST_WORD))


def merge_reference(left: Words, right: Words, first: int, size: int) -> Words:
    """Return what `MergeWords` writes for two sorted vectors: int64[size].

    >>> merge_reference(np.array([1, 5]), np.array([2, 9]), first=1, size=2).tolist()
    [2, 5]
    """
    return np.sort(np.append(left, right))[first : first + size]


def bits_reference(words: Words, rule: KeyRule, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return what `Values` writes for words: dtype[n], the bits of elements; all NaNs are the same.

    >>> x, rule = np.array([1.5, -0.0, -2.0], np.float32), key_rule("float32", falls=True)
    >>> bits_reference(words_reference(x.view(np.int32), rule), rule, "int32").view(np.float32)
    array([ 1.5, -0. , -2. ], dtype=float32)
    """
    key = ((words >> 32) ^ rule.flip) + rule.offset
    bits = np.where(key >= 0, key, key ^ rule.mask)
    return np.where(words & 1, rule.zero, bits).astype(dtype)


def positions_reference(words: Words) -> npt.NDArray[np.uint32]:
    """Return what `Positions` writes for words: uint32[n].

    >>> x = np.array([3, -3], np.int32)
    >>> positions_reference(words_reference(x, key_rule("int32"), first=7)).tolist()
    [7, 8]
    """
    return ((words & 0xFFFFFFFF) >> 1).astype(np.uint32)


# -- sorting by one worker -------------------------------------------------------------------------


Array = npt.NDArray[Any]


def is_before(a: Any, b: Any) -> Any:
    """Return whether a is less than b; a NaN is larger than all numbers."""
    return a < b or (b != b and a == a)  # noqa: PLR0124  (only a NaN differs from itself)


class Sort(Vertex, Generic[T]):
    """Sorts `x` in place, in ascending order with NaN last; equal elements are in any order."""

    x: InOut[Vector[T]]
    """any number of elements"""

    def compute(self) -> None:
        """Sort by Shell's method."""
        size = len(self.x)
        gap = size
        while gap > 1:
            gap = max(1, (5 * gap) // 11)
            for i in range(gap, size):
                element = self.x[i]
                hole = i
                while hole >= gap:
                    if not is_before(element, self.x[hole - gap]):
                        break
                    self.x[hole] = self.x[hole - gap]
                    hole -= gap
                self.x[hole] = element

    @classmethod
    def reference(cls, x: Array) -> Array:
        """Return `np.sort(x)`."""
        return np.sort(x)


class ArgSort(Vertex, Generic[T]):
    """`out` holds the positions in x of the elements in order; ties are in the order of x."""

    x: Input[Vector[T]]
    """as many elements as out"""
    out: InOut[Vector[UNSIGNED_INT]]
    """any number of elements; their initial values do not matter"""

    def compute(self) -> None:
        """Sort positions by Shell's method."""
        size = len(self.out)
        for i in range(size):
            self.out[i] = i
        gap = size
        while gap > 1:
            gap = max(1, (5 * gap) // 11)
            for i in range(gap, size):
                place = self.out[i]
                hole = i
                while hole >= gap:
                    other = self.out[hole - gap]
                    a, b = self.x[place], self.x[other]
                    is_less = is_before(a, b) or (not is_before(b, a) and place < other)
                    if not is_less:
                        break
                    self.out[hole] = other
                    hole -= gap
                self.out[hole] = place

    @classmethod
    def reference(cls, x: Array, out: Array) -> Array:  # noqa: ARG003
        """Return `np.argsort(x, kind="stable")`."""
        return np.argsort(x, kind="stable").astype(np.uint32)
