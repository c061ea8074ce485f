"""Files, changed at random: bytes, numbers of arrays, values of the manifest or of JSON.

bytes       cut, flipped, inserted                    checksums no longer fit
arrays      numbers replaced, checksums repaired      what compiled code would trust
manifest    values replaced, removed, exchanged       what Python would trust
"""

from __future__ import annotations

import copy
import io
import json
import zipfile
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import numpy as np

from poplite.codec.archive import HEADER_BYTES, MANIFEST

NUMBERS = (0, 1, -1, 2, 7, 64, 1 << 12, 1 << 31, 1 << 32, -(1 << 31), 1 << 62, (1 << 63) - 1)
"""Replacements of numbers, besides their neighbours."""


def mutated(content: bytes, random: Random) -> bytes:
    """Return a file with one or a few changes.

    Args:
        content: a file.
        random: where the changes come from.
    """
    kind = random.random()
    if kind < 0.15:
        return _bytes(content, random)
    if content.startswith(b"{"):
        value = json.loads(content)
        for _ in range(random.choice((1, 1, 1, 2, 5))):
            _value(value, random)
        return json.dumps(value).encode()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for _ in range(random.choice((1, 1, 1, 2, 5))):
        if kind < 0.55:
            name = random.choice([name for name in members if name != MANIFEST])
            members[name] = _numbers(members[name], random)
        else:
            manifest = json.loads(members[MANIFEST])
            _value(manifest, random)
            members[MANIFEST] = json.dumps(manifest).encode()
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data)  # with the same date, whenever it is made
    return made.getvalue()


def _bytes(content: bytes, random: Random) -> bytes:
    data = bytearray(content)
    at = random.randrange(len(data))
    match random.randrange(4):
        case 0:
            return bytes(data[:at])
        case 1:
            data[at] ^= 1 << random.randrange(8)
        case 2:
            data[at:at] = random.randbytes(random.randrange(1, 40))
        case 3:
            # Where the directory of a zip file is: sizes, offsets and names.
            at = random.randrange(max(0, len(data) - 600), len(data))
            data[at] = random.randrange(256)
    return bytes(data)


def _numbers(member: bytes, random: Random) -> bytes:
    """Replace a number of an array member."""
    if len(member) <= HEADER_BYTES or random.random() < 0.02:
        return member[: random.randrange(len(member) + 1)]
    if not member.startswith(b"\x93NUMPY"):  # as those of states
        return _bytes(member, random)
    kind = np.dtype(member.split(b"'", 4)[3].decode())
    whole = (len(member) - HEADER_BYTES) // kind.itemsize
    numbers = np.frombuffer(member, kind, whole, HEADER_BYTES).copy()
    if not whole:
        return member
    at = random.randrange(len(numbers))
    near = int(np.nan_to_num(numbers[at])) + random.choice((-1, 1, 8, -8))
    value = random.choice((*NUMBERS, near, int(np.nan_to_num(random.choice(numbers)))))
    with np.errstate(all="ignore"):
        numbers[at] = np.array(value & ((1 << 63) - 1) if value > 0 else value).astype(kind)
    return member[:HEADER_BYTES] + numbers.tobytes()


def _value(manifest: Any, random: Random) -> None:
    """Replace, remove or exchange a value somewhere in the manifest."""
    places = list(_places(manifest))
    if not places:  # all was removed before
        return
    holder, key = random.choice(places)
    other, other_key = random.choice(places)
    match random.randrange(6):
        case 0:
            del holder[key]
        case 1:
            holder[key] = copy.deepcopy(other[other_key])
        case 2 if isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
        case 3:
            holder[key] = random.choice((None, True, "", "x", [], {}, 0.5, [1] * 30, -1, 1 << 70))
        case _:
            numbers = [(h, k) for h, k in places if type(h[k]) is int]
            if not numbers:
                return
            holder, key = random.choice(numbers)
            near = holder[key] + random.choice((-1, 1, 8, 64))
            holder[key] = random.choice((*NUMBERS, near, near))


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    keys: Sequence[Any] = list(value) if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], (dict, list)):
            yield from _places(value[key])
