"""Random numbers from a counter: element i of a tensor is the same number on any tile.

    counter[4]     seed (2 words), number of the draw (2 words)
    block b        philox4x32(counter = (b, number of the draw), key = seed): 4 words
    element i      word i % 4 of block i // 4

A vertex writes the elements from `first` on, so a tensor may be drawn by any number of vertices.
Classes differ in how they convert words: `even` and `odd` compute the elements of a pair of words.

Source: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC
2011), for Philox 4x32-10 and its constants; G. Box, M. Muller, "A note on the generation of random
normal deviates" (1958), for normal numbers from pairs of words.
"""

from __future__ import annotations

import math
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from poplite.types import FLOAT, LONGLONG, UNSIGNED_INT, UNSIGNED_LONGLONG, ElementType
from poplite.vertex.compute.mathematics import evaluate
from poplite.vertex.vertex import InOut, Input, Output, State, Vector, Vertex, dtype_of

T = TypeVar("T", bound=ElementType[Any])

Array = npt.NDArray[Any]
Words = npt.NDArray[np.uint32]
Singles = npt.NDArray[np.float32]

MULTIPLY = (0xD2511F53, 0xCD9E8D57)
"""The factors of words 0 and 2 in each round."""

INCREMENT = (0x9E3779B9, 0xBB67AE85)
"""The increment of the key for each round."""

ROUNDS = 10

FIRST, SECOND = MULTIPLY
FIRST_STEP, SECOND_STEP = INCREMENT
MASK = 0xFFFFFFFF
UNIT = 2.0**-24
WORD = 2.0**-32
TURN = 2 * math.pi
ROOT_OF_2 = math.sqrt(2)

NEAR = (
    *(2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087),
    *(-0.00125372503, -0.00417768164, 0.246640727, 1.50140941),
)
"""Coefficients of the inverse error function of x, in w - 2.5 for w = -log(1 - x^2) below 5."""

FAR = (
    *(-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773),
    *(-0.0076224613, 0.00943887047, 1.00167406, 2.83297682),
)
"""Coefficients in sqrt(w) - 3, for w of 5 or more."""

N8, N7, N6, N5, N4, N3, N2, N1, N0 = NEAR
F8, F7, F6, F5, F4, F3, F2, F1, F0 = FAR


def block_reference(blocks: npt.ArrayLike, counter: npt.ArrayLike) -> Words:
    """Return the words of blocks of Philox 4x32-10.

    Args:
        blocks: uint64[n], the lower half of Philox's counter.
        counter: uint32[4], the two words of the key and the upper half of Philox's counter.

    Returns:
        uint32[n, 4].

    >>> [f"{word:08x}" for word in block_reference([0], [0, 0, 0, 0])[0]]
    ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    number = np.asarray(blocks, np.uint64)
    k0, k1, low, high = np.asarray(counter, np.uint64)
    half, mask = np.uint64(32), np.uint64(MASK)
    x = [number & mask, number >> half, np.full_like(number, low), np.full_like(number, high)]
    for _ in range(ROUNDS):
        p, q = np.uint64(FIRST) * x[0], np.uint64(SECOND) * x[2]
        x = [(q >> half) ^ x[1] ^ k0, q & mask, (p >> half) ^ x[3] ^ k1, p & mask]
        k0, k1 = (k0 + np.uint64(FIRST_STEP)) & mask, (k1 + np.uint64(SECOND_STEP)) & mask
    return np.stack(x, axis=-1).astype(np.uint32)


def words_reference(count: int, counter: npt.ArrayLike, first: int = 0) -> Words:
    """Return the words of the elements `first`, `first + 1`, ...

    >>> [f"{word:08x}" for word in words_reference(2, [0, 0, 0, 0], first=3)]
    ['9b00dbd8', 'f8e4cca4']
    """
    begin = first // 4
    blocks = np.arange(begin, (first + count + 3) // 4, dtype=np.uint64)
    return block_reference(blocks, counter).ravel()[first - 4 * begin :][:count]


class Draw(Vertex, Generic[T]):
    """Random numbers for the elements from `first` on."""

    counter: Input[Vector[UNSIGNED_INT]]
    """four words: the seed, and the number of the draw"""
    first: State[UNSIGNED_LONGLONG]
    """the index of the first element within its tensor"""
    out: Output[Vector[T]]
    """any number of elements"""

    def even(self, i: int, word: int, other: int) -> Any:
        """Return element i, the first of a pair of words; `other` is the second word."""
        return word

    def odd(self, i: int, word: int, other: int) -> Any:
        """Return element i, the second of a pair of words; `other` is the first word."""
        return self.even(i, word, other)

    def block(self, number: int, i: int, begin: int, end: int) -> None:
        """Write the elements from `begin` to before `end` of a block; `begin` 0 is element i."""
        k0, k1 = self.counter[0], self.counter[1]
        x0, x1, x2, x3 = number & MASK, number >> 32, self.counter[2], self.counter[3]
        for _ in range(ROUNDS):
            p, q = x0 * FIRST, x2 * SECOND
            x0, x1 = ((q >> 32) & MASK) ^ x1 ^ k0, q & MASK
            x2, x3 = ((p >> 32) & MASK) ^ x3 ^ k1, p & MASK
            k0, k1 = (k0 + FIRST_STEP) & MASK, (k1 + SECOND_STEP) & MASK
        if begin <= 0 and end > 0:
            self.out[i] = self.even(i, x0, x1)
        if begin <= 1 and end > 1:
            self.out[i + 1] = self.odd(i + 1, x1, x0)
        if begin <= 2 and end > 2:
            self.out[i + 2] = self.even(i + 2, x2, x3)
        if begin <= 3 and end > 3:
            self.out[i + 3] = self.odd(i + 3, x3, x2)

    def compute(self) -> None:
        """Draw the end of a block, whole blocks, and the start of a block."""
        first, length = int(self.first), len(self.out)
        number = (first >> 2) & 0x3FFFFFFFFFFFFFFF
        skipped = first & 3
        head = 0
        if skipped > 0:
            head = min(4 - skipped, length)
            self.block(number, -skipped, skipped, skipped + head)
            number += 1
        blocks = (length - head) // 4
        for b in range(blocks):
            self.block(number + b, head + 4 * b, 0, 4)
        done = head + 4 * blocks
        if done < length:
            self.block(number + blocks, done, 0, length - done)


class Uniform(Draw[T]):
    """`low + scale * u`, at most `last`; u has 24 bits and is in [0, 1)."""

    low: State[FLOAT]
    """the smallest number"""
    scale: State[FLOAT]
    """the width of the range"""
    last: State[FLOAT]
    """the largest number"""

    def even(self, i: int, word: int, other: int) -> Any:
        """Return a number."""
        return min(self.low + self.scale * ((word >> 8) * UNIT), self.last)

    @classmethod
    def reference(
        cls, counter: Words, first: int, low: float, scale: float, last: float, size: int
    ) -> Array:
        """Return `np.minimum(low + scale * u, last)`; u from Philox words."""
        u = (words_reference(size, counter, first) >> 8).astype(np.float32) * np.float32(UNIT)
        numbers = np.minimum(np.float32(low) + np.float32(scale) * u, np.float32(last))
        drawn: Array = numbers.astype(dtype_of(cls, "out"))
        return drawn


class Integers(Draw[T]):
    """One of `range` integers from `low` on, all equally likely to within 2^-32."""

    low: State[LONGLONG]
    """the smallest number"""
    range: State[LONGLONG]
    """the number of distinct integers, up to 2^32"""

    def even(self, i: int, word: int, other: int) -> Any:
        """Return `low` plus the upper word of the product of a word and the range."""
        return self.low + ((word * self.range >> 32) & MASK)

    @classmethod
    def reference(cls, counter: Words, first: int, low: int, range: int, size: int) -> Array:  # noqa: A002
        """Return `low + (words * range >> 32)`; words from Philox."""
        words = words_reference(size, counter, first).astype(np.uint64)
        numbers = low + (words * np.uint64(range) >> np.uint64(32)).astype(np.int64)
        return numbers.astype(dtype_of(cls, "out"))


class Bernoulli(Draw[T]):
    """1 or true where a word is below `threshold`, which is 2^32 times the probability."""

    threshold: State[LONGLONG]
    """2^32 times the probability"""

    def even(self, i: int, word: int, other: int) -> Any:
        """Return whether a word is below the threshold."""
        return word < self.threshold

    @classmethod
    def reference(cls, counter: Words, first: int, threshold: int, size: int) -> Array:
        """Return `words < threshold`; words from Philox."""
        words = words_reference(size, counter, first)
        return (words < threshold).astype(dtype_of(cls, "out"))


class Normal(Draw[T]):
    """`mean + deviation * z`; z is normally distributed from -6.77 to 6.77, limits of 32 bits."""

    mean: State[FLOAT]
    """the mean"""
    deviation: State[FLOAT]
    """the standard deviation"""

    def even(self, i: int, word: int, other: int) -> Any:
        """Return the first of two normally distributed numbers, from a radius and an angle."""
        return self.mean + self.deviation * (self.radius(word) * math.cos(self.angle(other)))

    def odd(self, i: int, word: int, other: int) -> Any:
        """Return the second of the two numbers."""
        return self.mean + self.deviation * (self.radius(other) * math.sin(self.angle(word)))

    def radius(self, word: int) -> Any:
        """Return sqrt(-2 log(u)) for u from 2^-33 to 1."""
        u: Any = FLOAT(word)
        return math.sqrt(abs(2 * math.log(u * WORD + WORD / 2)))

    def angle(self, word: int) -> Any:
        """Return an angle from 0 to 2 pi."""
        turns: Any = FLOAT(word)
        return turns * (WORD * TURN)

    @classmethod
    def reference(
        cls, counter: Words, first: int, mean: float, deviation: float, size: int
    ) -> Array:
        """Return `mean + deviation * z`; z from pairs of Philox words, by Box and Muller."""
        begin = first // 4 * 4
        words = words_reference((first - begin + size + 3) // 4 * 4, counter, begin).reshape(-1, 2)
        mine = slice(first - begin, first - begin + size)
        is_odd = np.arange(words.size)[mine] % 2 == 1
        z = normal_reference(words.ravel()[mine], words[:, ::-1].ravel()[mine], is_odd)
        return (np.float32(mean) + np.float32(deviation) * z).astype(dtype_of(cls, "out"))


class TruncatedNormal(Draw[T]):
    """`mean + deviation * z`; z is normally distributed between `-bound` and `bound`.

    z is computed by inverting the distribution function: z = sqrt(2) erfinv(share * t) for t from
    -1 to 1, where the share erf(bound / sqrt(2)) of normal numbers is between the bounds.

    Source: M. Giles, "Approximating the erfinv function" (GPU Computing Gems, 2011), single
    precision, for `inverse`: its error is about 3 units in the last place.
    """

    mean: State[FLOAT]
    """the mean"""
    deviation: State[FLOAT]
    """the standard deviation before truncation"""
    bound: State[FLOAT]
    """the maximum distance from the mean, in standard deviations"""
    share: State[FLOAT]
    """the fraction of normally distributed numbers within the bound: erf(bound / sqrt(2))"""

    def even(self, i: int, word: int, other: int) -> Any:
        """Return a number."""
        t = ((word >> 8) + 0.5) * (2 * UNIT) - 1.0
        z = ROOT_OF_2 * self.inverse(self.share * t)
        return self.mean + self.deviation * max(-self.bound, min(z, self.bound))

    def inverse(self, x: float) -> Any:
        """Return the inverse error function of a float32 from -1 to 1."""
        w = -math.log((1.0 - x) * (1.0 + x))
        is_near = w < 5.0
        w = w - 2.5 if is_near else math.sqrt(w) - 3.0
        p = N8 if is_near else F8
        p = (N7 if is_near else F7) + p * w
        p = (N6 if is_near else F6) + p * w
        p = (N5 if is_near else F5) + p * w
        p = (N4 if is_near else F4) + p * w
        p = (N3 if is_near else F3) + p * w
        p = (N2 if is_near else F2) + p * w
        p = (N1 if is_near else F1) + p * w
        p = (N0 if is_near else F0) + p * w
        return p * x

    @classmethod
    def reference(
        cls,
        counter: Words,
        first: int,
        mean: float,
        deviation: float,
        bound: float,
        share: float,
        size: int,
    ) -> Array:
        """Return `mean + deviation * z`; z from Philox words, by the inverse distribution."""
        z = truncated_reference(words_reference(size, counter, first), bound, share)
        return (np.float32(mean) + np.float32(deviation) * z).astype(dtype_of(cls, "out"))


class Dropout(Draw[T]):
    """`x * scale` where a word is below `threshold`, else 0."""

    x: Input[Vector[T]]
    """as many elements as out"""
    threshold: State[LONGLONG]
    """2^32 times the probability that an element is kept"""
    scale: State[FLOAT]
    """the factor of the elements that are kept"""

    def even(self, i: int, word: int, other: int) -> Any:
        """Return the scaled element, or 0."""
        return self.x[i] * self.scale if word < self.threshold else 0.0

    @classmethod
    def reference(cls, counter: Words, first: int, x: Array, threshold: int, scale: float) -> Array:
        """Return `np.where(words < threshold, x * scale, 0)`; words from Philox."""
        is_kept = words_reference(len(x), counter, first) < threshold
        kept = (x.astype(np.float32) * np.float32(scale)).astype(x.dtype)
        return np.where(is_kept, kept, x.dtype.type(0))


class AdvanceKey(Vertex):
    """Copies the key to `counter`, and advances the key to the next draw."""

    key: InOut[Vector[UNSIGNED_INT]]
    """four words: the seed, and the number of the next draw"""
    counter: Output[Vector[UNSIGNED_INT]]
    """four words: the key before this draw"""

    def compute(self) -> None:
        """Copy the key, and increment the upper two words as one number."""
        for i in range(4):
            self.counter[i] = self.key[i]
        draws = (self.key[2] | (self.key[3] << 32)) + 1
        self.key[2] = draws & MASK
        self.key[3] = (draws >> 32) & MASK

    @classmethod
    def reference(cls, key: Words) -> dict[str, Words]:
        """Return the old key, and the key with 1 added to its upper two words."""
        draws = (int(key[2]) | int(key[3]) << 32) + 1
        following = [key[0], key[1], draws & MASK, draws >> 32 & MASK]
        return {"counter": key.copy(), "key": np.array(following, np.uint32)}


def normal_reference(words: Words, others: Words, is_odd: npt.NDArray[np.bool_]) -> Singles:
    """Return standard normally distributed numbers, as `Normal` computes them from pairs of words.

    Args:
        words: words of the elements, in any shape.
        others: the other words of the pairs.
        is_odd: a mask of the elements that are the second of a pair.

    >>> normal_reference(*np.array([[2**31, 0], [0, 2**31]], np.uint32), np.array([False, True]))
    array([1.17741, 0.     ], dtype=float32)
    """
    first, second = (np.where(is_odd, *each) for each in ((others, words), (words, others)))
    u = first.astype(np.float32) * np.float32(WORD) + np.float32(WORD / 2)
    radius = np.sqrt(abs(2 * evaluate("log", u)))
    angle = second.astype(np.float32) * np.float32(WORD * TURN)
    found: Singles = radius * np.where(is_odd, evaluate("sin", angle), evaluate("cos", angle))
    return found


def truncated_reference(words: Words, bound: float, share: float) -> Singles:
    """Return numbers from a truncated normal distribution, as `TruncatedNormal` makes them.

    Args:
        words: words of the elements, in any shape.
        bound: the largest number.
        share: the fraction of normally distributed numbers within the bounds.

    >>> truncated_reference(np.array([0, 2**31], np.uint32), 2.0, 0.9545)
    array([-2.0000000e+00,  7.1304335e-08], dtype=float32)
    """
    t = ((words >> 8) + 0.5) * (2 * UNIT) - 1.0
    x = np.float32(share) * t.astype(np.float32)
    w = -evaluate("log", (1 - x) * (1 + x))
    is_near = w < 5
    w = np.where(is_near, w - np.float32(2.5), np.sqrt(np.maximum(w, 5)) - np.float32(3))
    p = np.zeros_like(w)
    for near, far in zip(NEAR, FAR, strict=True):
        p = np.where(is_near, np.float32(near), np.float32(far)) + p * w
    z = np.float32(ROOT_OF_2) * (p * x)
    found: Singles = np.maximum(np.float32(-bound), np.minimum(z, np.float32(bound)))
    return found
