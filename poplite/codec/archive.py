"""Archives: zip files of JSON text with arrays, such as the file of an executable.

    arrays/int64.npy      all int64 numbers, concatenated
    arrays/uint32.npy
    manifest.json         everything else; names an array by its type, place and shape

Members are stored uncompressed, in the order of their names and without dates, so that equal
contents give equal bytes.  Reading rejects whatever this module would not write: unknown or
compressed members, or wrong sizes.  It never allocates more than the size of the file.
"""

from __future__ import annotations

import math
import os
import shutil
import stat
import zipfile
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from poplite.codec.file_formats import (
    Format,
    Malformed,
    add_room,
    parsed_json,
    shown,
)
from poplite.files import check_regular

MANIFEST = "manifest.json"

ELEMENT_DTYPES = {
    f"{kind}{bits}": np.dtype(f"{kind}{bits}")
    for kind, sizes in (("int", (8, 16, 32, 64)), ("uint", (8, 16, 32, 64)), ("float", (16, 32)))
    for bits in sizes
} | {"bool": np.dtype(np.bool_)}
"""Types of array elements, by NumPy's name."""

DTYPE_NAMES = {dtype: name for name, dtype in ELEMENT_DTYPES.items()}

HEADER_BYTES = 128
"""Bytes of a .npy member before its numbers."""

ARRAY_REFS = ([str, int, list], [str, int, list, list])
"""References to arrays in the manifest: type, first element, shape; for one repeated number, an
empty shape and then that of the array."""

MOST_ELEMENTS = 1 << 56
"""Maximum elements of an array, even if few are stored: NumPy counts bytes in 64 bits."""

SMALL_BYTES = 1 << 14
"""Maximum bytes of an array that is compared with those already written."""

_NO_DATE = (1980, 1, 1, 0, 0, 0)

Array = npt.NDArray[Any]


class ArrayWriter:
    """Collects arrays, each once; equal small ones, which many steps have, are stored once."""

    def __init__(self) -> None:
        self._parts: dict[str, list[Any]] = {}
        self._counts: dict[str, int] = {}
        self._refs: dict[int, list[Any]] = {}
        self._firsts: dict[str, dict[bytes | memoryview, int]] = {}
        self._added_arrays: list[Array] = []

    def add(self, values: Array) -> list[Any]:
        """Return the reference to an array in the manifest: type, first element, shape.

        A repeated number is stored once; the shape of its array is a fourth item.
        """
        ref = self._refs.get(id(values))
        if ref is None:
            self._added_arrays.append(values)  # so that no other array gets its id
            ref = self._refs[id(values)] = self._added(values)
        return ref

    def _added(self, values: Array) -> list[Any]:
        repeated = values.size > 1 and not any(values.strides)
        stored = values[(0,) * values.ndim] if repeated else values
        if stored.nbytes <= SMALL_BYTES:
            content: bytes | memoryview = stored.tobytes()
        else:
            content = np.ascontiguousarray(stored).reshape(-1).data.cast("B")
        name, shape = DTYPE_NAMES[values.dtype], list(values.shape)
        [first] = self.add_flat(name, [content], [stored.size])
        return [name, first, [], shape] if repeated else [name, first, shape]

    def add_flat(
        self, name: str, contents: Iterable[bytes | memoryview], counts: Sequence[int]
    ) -> list[int]:
        """Return the first elements of flat arrays of the type of a name, given as bytes."""
        total, found = self._counts.get(name, 0), []
        known = self._firsts.setdefault(name, {})
        parts = self._parts.setdefault(name, [bytearray()])
        for content, count in zip(contents, counts, strict=True):
            is_small = len(content) <= SMALL_BYTES
            first = known.setdefault(content, total) if is_small else total
            found.append(first)
            if first == total:
                total += count
                if is_small:
                    parts[-1] += content
                else:
                    parts += [content, bytearray()]
        self._counts[name] = total
        return found

    def parts(self) -> dict[str, list[Any]]:
        """Return the parts of each type's array, as bytes, by the name of the type."""
        return self._parts


class ArrayReader:
    """Finds arrays in the flat arrays of a file, one for each type.

    Attributes:
        flat: the flat arrays, by the name of the type.
    """

    def __init__(self, flat: Mapping[str, Array]) -> None:
        self.flat = flat
        self._found: dict[tuple[Any, ...], Array] = {}

    def parts(self, refs: Sequence[Any], names: Container[str]) -> list[tuple[str, int, int]]:
        """Return type, first element and length of arrays of one dimension, of types in `names`."""
        for ref in refs:
            if list(map(type, ref)) != ARRAY_REFS[0] or list(map(type, ref[2])) != [int]:
                raise Malformed(f"{shown(ref)} is not a valid reference to numbers of the tables")
        found = [(name, first, count) for name, first, (count,) in refs]
        sizes = {name: len(each) for name, each in self.flat.items() if name in names}
        for ref, (name, first, count) in zip(refs, found, strict=True):
            if name not in sizes or not 0 <= first < first + count <= sizes[name]:
                raise Malformed(f"{shown(ref)} is not in the file")
        return found

    def of_part(self, part: tuple[str, int, int]) -> Array:
        """Return the numbers of a part."""
        name, first, count = part
        return self.flat[name][first : first + count]

    def take(self, ref: Any) -> Array:
        """Return the array of a reference that `ArrayWriter.add` returned."""
        if not isinstance(ref, list) or list(map(type, ref)) not in ARRAY_REFS:
            raise Malformed(f"{shown(ref)} is not a valid reference to an array")
        name, first, shape, *more = ref
        repeated = more[0] if more else None
        if repeated is not None and shape:
            raise Malformed(f"{shown(ref)} repeats more than one number")
        count = _product(shape)
        key = (name, first, *shape, None, *(repeated or ()))
        array = self._found.get(key)
        if array is None:
            if name not in self.flat or not 0 <= first <= len(self.flat[name]) - count:
                raise Malformed(f"{shown(ref)} is not in the file")
            array = self.flat[name][first : first + count].reshape(shape)
            if repeated is not None:
                _product(repeated)
                array = np.broadcast_to(array, repeated)
            self._found[key] = array
        return array


def _product(shape: Sequence[Any]) -> int:
    if len(shape) == 1 and type(shape[0]) is int and 0 <= shape[0] <= MOST_ELEMENTS:
        return shape[0]
    if len(shape) > 32 or not all(type(extent) is int and extent >= 0 for extent in shape):
        raise Malformed(f"{shown(shape)} is not a valid shape")
    if math.prod(max(extent, 1) for extent in shape) > MOST_ELEMENTS:
        raise Malformed(f"{shown(shape)} is too large a shape")
    return math.prod(shape)


def write_archive(file: BinaryIO, text: str, arrays: ArrayWriter) -> None:
    """Write a manifest and the arrays that it names to a file."""
    blocks: dict[str, list[Any]] = {MANIFEST: [text.encode()]}
    for name, parts in arrays.parts().items():
        dtype = ELEMENT_DTYPES[name]
        header = _header(dtype, sum(map(len, parts)) // dtype.itemsize)
        blocks[f"arrays/{name}.npy"] = [header, *filter(None, parts)]
    write_members(file, {name: (sum(map(len, own)), own) for name, own in blocks.items()})


def write_members(file: BinaryIO, members: Mapping[str, tuple[int, Iterable[Any]]]) -> None:
    """Write members to a file, each given as its size in bytes and an iterable of blocks."""
    if not _is_seekable(file):  # a device or a pipe: the same bytes, assembled first
        import tempfile  # here, as it imports many modules that are rarely needed

        with tempfile.TemporaryFile() as whole:
            write_members(whole, members)
            whole.seek(0)
            shutil.copyfileobj(whole, file)
        return
    with zipfile.ZipFile(file, "w") as archive:
        for name, (size, blocks) in sorted(members.items()):
            info = zipfile.ZipInfo(name, _NO_DATE)
            info.create_system, info.external_attr = 3, 0o644 << 16  # as on Unix everywhere
            info.file_size = size
            with archive.open(info, "w") as member:
                for block in blocks:
                    member.write(block)


def _is_seekable(file: BinaryIO) -> bool:
    """Return whether a file is a regular file or in memory; /dev/null claims to be seekable."""
    try:
        return stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    except (AttributeError, OSError):
        return file.seekable()


def read_archive(path: str | os.PathLike[str], kind: Format) -> tuple[Any, ArrayReader]:
    """Return manifest and arrays of an archive; raise OSError or Malformed."""
    allowed = {f"arrays/{name}.npy" for name in ELEMENT_DTYPES}
    with unpacked(path, kind, lambda name: name in allowed) as (manifest, archive):
        flat = {}
        for info in archive.infolist():
            if info.filename != MANIFEST:
                name = info.filename.removeprefix("arrays/").removesuffix(".npy")
                with undamaged():
                    data = archive.read(info)
                flat[name] = _numbers(info.filename, ELEMENT_DTYPES[name], data)
    return manifest, ArrayReader(flat)


@contextmanager
def unpacked(
    path: str | os.PathLike[str], kind: Format, is_allowed: Callable[[str], bool]
) -> Iterator[tuple[Any, zipfile.ZipFile]]:
    """Open an archive; yield its manifest, and the zip file with its checked members.

    The header is checked first, as the rest depends on the kind and format of the file.

    Raises OSError or Malformed.
    """
    add_room(check_regular(path))
    with opened(path) as (text, archive):
        manifest = parsed_json(text, MANIFEST, _distinct)
        kind.parts(manifest)
        for name in archive.namelist():
            if name != MANIFEST and not is_allowed(name):
                raise Malformed(f"its member {name!r:.80} is not one of a {kind.kind}")
        yield manifest, archive


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[tuple[bytes, zipfile.ZipFile]]:
    """Open an archive; yield the bytes of its manifest, and the zip file.

    Members are checked before any is read: none takes more memory than the file has bytes.

    Raises OSError or Malformed.
    """
    size = check_regular(path)
    with undamaged():
        archive = zipfile.ZipFile(path)
    with archive:
        _check_members(archive.infolist(), size)
        with undamaged():
            text = archive.read(MANIFEST)
        yield text, archive


@contextmanager
def undamaged() -> Iterator[None]:
    """Report a file as damaged if its zip cannot be read or a checksum differs."""
    try:
        yield
    except (zipfile.BadZipFile, NotImplementedError, EOFError, ValueError, RuntimeError) as error:
        raise Malformed(f"it is not a complete zip file: {error}") from error


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        [(twice, times)] = Counter(name for name, _ in pairs).most_common(1)
        raise Malformed(f"{MANIFEST} has the key {shown(twice)} {times} times in one object")
    return found


def _check_members(infos: Sequence[zipfile.ZipInfo], size_bytes: int) -> None:
    names = [info.filename for info in infos]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise Malformed(f"its member '{twice}' appears {names.count(twice)} times")
    if MANIFEST not in names:
        raise Malformed(f"it has no member '{MANIFEST}'")
    for info in infos:
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
            raise Malformed(f"its member '{info.filename}' is compressed")
    total = sum(info.file_size for info in infos)
    if total > size_bytes:
        raise Malformed(f"its members have {total:,} B, but the file has {size_bytes:,} B")


def _header(dtype: np.dtype[Any], count: int) -> bytes:
    """Return the header of a .npy file, as NumPy writes it."""
    kind = dtype.newbyteorder("<").str
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({count},), }}"
    return b"\x93NUMPY\x01\x00v\x00" + text.ljust(HEADER_BYTES - 11).encode() + b"\n"


def _numbers(name: str, dtype: np.dtype[Any], data: bytes) -> Array:
    count = (len(data) - HEADER_BYTES) // dtype.itemsize
    if data[:HEADER_BYTES] != _header(dtype, max(count, 0)):
        raise Malformed(f"its member '{name}' does not have the header of an array of {dtype}")
    numbers = np.frombuffer(data, dtype, count, HEADER_BYTES)
    if dtype == np.bool_ and count and int(numbers.view(np.uint8).max()) > 1:
        raise Malformed(f"its member '{name}' contains numbers other than 0 and 1")
    return numbers
