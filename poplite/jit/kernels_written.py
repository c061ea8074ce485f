"""Kernels for strict checks, which track the elements that are written.

Elements are listed field by field in one table, for the memory of every replica; `places` gives
their first bytes. A value is the bits of an element, which fit in an int64 for every element type.
A shadow records for each byte whether it is written: 1 or 0.

These arguments have the same meaning in all kernels: `memory` or `shadow` of all replicas, with
`stride` bytes from one replica to the next; `fields`, FIELD_WORDS for each of `count` fields;
`places`, one for each of `total` elements. Per-element arrays have the shape [replicas, elements]
and the type int64 or, for flags, uint8.
"""

from __future__ import annotations

from poplite.jit.kernels import Bytes, Int32s, Int64s, simple

FIELD_END, FIELD_SIZE, FIELD_READS, FIELD_WRITES, FIELD_HOLES, FIELD_PASSES, FIELD_WORDS = range(7)
"""Words of each field: number of elements up to and including the field; element size; whether
vertices read it; whether they write it; number of its unwritten elements in all replicas; whether
vertices may copy elements to it from elsewhere."""

FILL_WORDS = 6
"""Words of each way of filling an element: two values for the first extra run, two for the
second, and two for Outputs."""

VARIANTS = 16
"""Number of variants, the first ways of each field. An element is always filled in the same
variant, and two elements usually in different variants."""

SPREAD, SPREAD_SHIFT, SPREAD_NUMBERS = 2654435769, 28, (1 << 31) - 1
"""The variant is a few bits of the product of an element's number and the golden ratio (scaled)."""

HOLE, WRITTEN, DEPENDENT, PASSED = range(4)
"""The verdict on an element: it is still unwritten; its value is the same in all runs; it depends
on unwritten elements; or it is a copy of an unwritten element."""

INCOMPLETE, LOSSY, GAINED = 1, 2, 4
"""Results of moving or marking: some bytes are unwritten; some bytes became unwritten. Only for
moving: some bytes became written."""

MOVED = -1
"""Used in place of a state to record: the states of the source bytes are copied."""

ALL_WRITTEN = 0x0101010101010101
"""The shadow of a written element, of up to eight bytes."""

RECORD_WORDS = 6
"""Words of each copy record of `poplite.executable.encoding`."""

PIECE_MASK = (1 << 32) - 1
"""Converts words of pieces, which are passed as int32, to uint32."""


@simple
def find_holes(
    shadow: Bytes, stride: int, replicas: int, fields: Int64s, count: int, places: Int64s,
    total: int, holes: Bytes,
) -> int:  # fmt: skip
    """Find the unwritten elements: write `holes`, and their number to each field.

    Returns how many extra runs are needed to find dependent elements: two if a hole may be read,
    one if none is read, and zero if there are none.
    """
    found = read = 0
    for field in range(count):
        fields[field * FIELD_WORDS + FIELD_HOLES] = 0
    for replica in range(replicas):
        i = 0
        for field in range(count):
            row = field * FIELD_WORDS
            size, lacking = fields[row + FIELD_SIZE], 0
            while i < fields[row + FIELD_END]:
                at = replica * stride + places[i]
                written = 0
                for byte in range(size):
                    written += shadow[at + byte]
                hole = 1 if written < size else 0
                holes[replica * total + i] = hole
                lacking += hole
                i += 1
            fields[row + FIELD_HOLES] += lacking
            found += lacking
            read += lacking * fields[row + FIELD_READS]
    if read > 0:
        return 2
    return 1 if found > 0 else 0


def is_taken(fields: Int64s, row: int, only_results: int) -> int:
    """Return 1 for a field that vertices write or, unless `only_results`, that has holes."""
    has_holes = fields[row + FIELD_HOLES] * (1 - only_results)
    return 1 if fields[row + FIELD_WRITES] + has_holes > 0 else 0


def load(memory: Bytes, at: int, size: int) -> int:
    """Return the bits of one element."""
    value = 0
    for byte in range(size):
        value |= memory[at + byte] << (8 * byte)
    return value


def store(memory: Bytes, at: int, size: int, value: int) -> int:
    """Write one element, and return its size."""
    for byte in range(size):
        memory[at + byte] = (value >> (8 * byte)) & 255
    return size


@simple
def move_values(
    memory: Bytes, stride: int, replicas: int, fields: Int64s, count: int, places: Int64s,
    total: int, only_results: int, values: Int64s, is_put: int,
) -> int:  # fmt: skip
    """Read the elements that `is_taken` selects into `values`; with `is_put` write them back."""
    for replica in range(replicas):
        i = 0
        for field in range(count):
            row = field * FIELD_WORDS
            size = fields[row + FIELD_SIZE]
            end = fields[row + FIELD_END]
            if is_taken(fields, row, only_results) > 0:
                for k in range(i, end):
                    at, here = replica * stride + places[k], replica * total + k
                    if is_put > 0:
                        store(memory, at, size, values[here])
                    else:
                        values[here] = load(memory, at, size)
            i = end
    return total


def other_than(fills: Int64s, pair: int, value: int) -> int:
    """Return the value of a pair that differs from an element's value."""
    return fills[pair + 1] if fills[pair] == value else fills[pair]


def variant_of(place: int, size: int) -> int:
    """Return the variant in which an element is filled, from its first byte and its size."""
    return ((place // size & SPREAD_NUMBERS) * SPREAD >> SPREAD_SHIFT) % VARIANTS


def filled_with(fills: Int64s, first: int, fill: int, place: int, size: int, value: int) -> int:
    """Return the value that `put_other` writes for `value`; `first` is the field's first way."""
    way = first + variant_of(place, size)
    return other_than(fills, way * FILL_WORDS + 2 * fill, value)


@simple
def put_other(
    memory: Bytes, stride: int, replicas: int, fields: Int64s, count: int, places: Int64s,
    total: int, fills: Int64s, ways: int, is_put: int, old: Int64s, fill: int, chosen: Bytes,
) -> int:  # fmt: skip
    """Write different values to the elements that are `chosen`, and return their count.

    `fills` are FILL_WORDS for each of the `ways` of each field; `old` contains the elements'
    values; `fill` selects one of the three pairs. Without `is_put`, nothing is written, and the
    number of elements that already have the different values is returned.
    """
    done = 0
    for replica in range(replicas):
        i = 0
        for field in range(count):
            row = field * FIELD_WORDS
            size = fields[row + FIELD_SIZE]
            while i < fields[row + FIELD_END]:
                at, here = replica * stride + places[i], replica * total + i
                if chosen[here] > 0:
                    value = filled_with(fills, field * ways, fill, places[i], size, old[here])
                    if is_put > 0:
                        store(memory, at, size, value)
                    if is_put > 0 or load(memory, at, size) == value:
                        done += 1
                i += 1
    return done


def is_among(value: int, values: Int64s, count: int) -> int:
    """Return 1 if a value is among ascending values, else 0."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return 1 if low < count and values[low] == value else 0


@simple
def gather_held(holes: Bytes, old: Int64s, count: int, held: Int64s) -> int:
    """List the values in holes, each run of equal values once, and return their count.

    `count` is the number of elements in all replicas; `held` has room for all of them.
    """
    done = 0
    for i in range(count):
        if holes[i] > 0 and (done == 0 or held[done - 1] != old[i]):
            held[done] = old[i]
            done += 1
    return done


@simple
def judge(
    replicas: int, fields: Int64s, count: int, total: int, places: Int64s, fills: Int64s,
    ways: int, holes: Bytes, found: Bytes, old: Int64s, result: Int64s, first: Int64s,
    second: Int64s, held: Int64s, num_held: int, runs: int,
) -> int:  # fmt: skip
    """Judge results from runs with different values in the holes; return how many are DEPENDENT.

    An element is still a hole if it retains the fill of its own variant in each run. If it has the
    fill of another hole, and vertices may copy elements to the field, that hole was copied to it.

    Its own arguments:
        fills: FILL_WORDS for each way of each field.
        ways: the number of ways in which each field, or an element copied to it, is filled.
        holes: which elements were unwritten before.
        found: output: HOLE, WRITTEN, DEPENDENT or PASSED.
        old: the elements before the step.
        result: the elements after the real run, for fields that vertices write.
        first: the elements after the first extra run.
        second: the elements after the second extra run.
        held: the values in holes before the step, ascending.
        num_held: the number of these values.
        runs: the number of extra runs: 1 if no hole is read.
    """
    wrong = 0
    for replica in range(replicas):
        i = 0
        for field in range(count):
            row = field * FIELD_WORDS
            end = fields[row + FIELD_END]
            if fields[row + FIELD_WRITES] > 0:
                for k in range(i, end):
                    here = replica * total + k
                    value = result[here]
                    found[here] = WRITTEN
                    if first[here] == value and (runs == 1 or second[here] == value):
                        continue
                    found[here] = HOLE
                    own = variant_of(places[k], fields[row + FIELD_SIZE])
                    is_other = is_own = False
                    for way in range(ways):
                        pair = (field * ways + way) * FILL_WORDS
                        if first[here] == other_than(fills, pair, value) and (
                            runs == 1 or second[here] == other_than(fills, pair + 2, value)
                        ):
                            is_other = True
                            if way % VARIANTS == own:
                                is_own = True
                    if is_own and holes[here] > 0 and old[here] == value:
                        continue
                    is_passed = is_other and runs > 1 and fields[row + FIELD_PASSES] > 0
                    if is_passed and is_among(value, held, num_held) > 0:
                        found[here] = PASSED
                        continue
                    found[here] = DEPENDENT
                    wrong += 1
            i = end
    return wrong


@simple
def mark(
    shadow: Bytes, stride: int, replicas: int, fields: Int64s, count: int, places: Int64s,
    total: int, holes: Bytes, found: Bytes,
) -> int:  # fmt: skip
    """Record in the shadow which results are written.

    `holes` are those before the step; `found` is WRITTEN, HOLE or PASSED for each result. Returns
    INCOMPLETE if an element that vertices access is now unwritten, with LOSSY if such an element
    was written before.
    """
    flags = 0
    for replica in range(replicas):
        i = 0
        for field in range(count):
            row = field * FIELD_WORDS
            size = fields[row + FIELD_SIZE]
            end = fields[row + FIELD_END]
            if fields[row + FIELD_WRITES] > 0:
                for k in range(i, end):
                    here = replica * total + k
                    written = 1 if found[here] == WRITTEN else 0
                    if written == 0:
                        flags |= INCOMPLETE if holes[here] > 0 else INCOMPLETE | LOSSY
                    for byte in range(size):
                        shadow[replica * stride + places[k] + byte] = written
            elif fields[row + FIELD_HOLES] > 0:
                flags |= INCOMPLETE
            i = end
    return flags


@simple
def mark_written(
    shadow: Bytes, stride: int, replicas: int, fields: Int64s, count: int, places: Int64s,
    total: int,
) -> int:  # fmt: skip
    """Record in the shadow that all results are written; return their number."""
    for replica in range(replicas):
        i = 0
        for field in range(count):
            row = field * FIELD_WORDS
            size = fields[row + FIELD_SIZE]
            end = fields[row + FIELD_END]
            if fields[row + FIELD_WRITES] > 0:
                for k in range(i, end):
                    store(shadow, replica * stride + places[k], size, ALL_WRITTEN)
            i = end
    return total


def flag_of(bits: int, flag: int) -> int:
    """Return `flag` if any bits are set, else 0."""
    return flag if bits != 0 else 0


def carry_bytes(there: Bytes, to: int, here: Bytes, start: int, count: int, known: int) -> int:
    """Move the states of `count` bytes, for `carry`."""
    lacking = lost = gained = 0
    for byte in range(count):
        written = here[start + byte] if known == MOVED else known
        lacking |= written ^ 1
        lost |= there[to + byte] & (written ^ 1)
        gained |= (there[to + byte] ^ 1) & written
        there[to + byte] = written
    return flag_of(lacking, INCOMPLETE) | flag_of(lost, LOSSY) | flag_of(gained, GAINED)


def carry_words(there: Int64s, to: int, here: Int64s, start: int, count: int) -> int:
    """Move the states of `count` words of eight bytes each."""
    lacking = lost = gained = 0
    for word in range(count):
        written = here[start + word]
        lacking |= written ^ ALL_WRITTEN
        lost |= there[to + word] & (written ^ ALL_WRITTEN)
        gained |= (there[to + word] ^ ALL_WRITTEN) & written
        there[to + word] = written
    return flag_of(lacking, INCOMPLETE) | flag_of(lost, LOSSY) | flag_of(gained, GAINED)


def are_words(records: Int64s, row: int) -> bool:
    """Return whether all blocks of a record are words of eight bytes."""
    to, start, rows = records[row], records[row + 1], records[row + 2]
    size, far, near = records[row + 3], records[row + 4], records[row + 5]
    distances = far | near if rows > 1 else 0
    return size > 0 and (to | start | size | distances) & 7 == 0


@simple
def carry(
    records: Int64s, count: int, pieces: Int32s, known: int, there: Bytes, here: Bytes,
    there_words: Int64s, here_words: Int64s,
) -> int:  # fmt: skip
    """Move the states of bytes as copies move the bytes.

    `pieces` are three numbers for each listed piece. `known` is MOVED, or the state, 1 or 0, to
    record for all destination bytes. `there` is the shadow of the replica that is written, `here`
    that of the replica that is read; the last two arguments are the same shadows as words. Returns
    INCOMPLETE if a moved byte is unwritten, with LOSSY if it overwrote a written byte, and GAINED
    if a written byte overwrote an unwritten one.
    """
    flags = 0
    for record in range(count):
        row = record * RECORD_WORDS
        to, start, rows = records[row], records[row + 1], records[row + 2]
        size, far, near = records[row + 3], records[row + 4], records[row + 5]
        if known == MOVED and are_words(records, row):
            for block in range(rows):
                target, source = (to + block * far) // 8, (start + block * near) // 8
                flags |= carry_words(there_words, target, here_words, source, size // 8)
            continue
        for block in range(rows):
            if size > 0:
                target, source, length = to + block * far, start + block * near, size
            else:
                piece = 3 * (far + block)
                target = to + (pieces[piece] & PIECE_MASK)
                source = start + (pieces[piece + 1] & PIECE_MASK)
                length = pieces[piece + 2] & PIECE_MASK
            flags |= carry_bytes(there, target, here, source, length, known)
    return flags


def moved_are_written(records: Int64s, count: int, pieces: Int32s, here: Bytes) -> int:
    """Return 1 if all bytes that `carry` would read are written, else 0."""
    lacking = 0
    for record in range(count):
        row = record * RECORD_WORDS
        start, rows, size = records[row + 1], records[row + 2], records[row + 3]
        far, near = records[row + 4], records[row + 5]
        for block in range(rows):
            if size > 0:
                source, length = start + block * near, size
            else:
                piece = 3 * (far + block)
                source = start + (pieces[piece + 1] & PIECE_MASK)
                length = pieces[piece + 2] & PIECE_MASK
            for byte in range(length):
                lacking |= here[source + byte] ^ 1
    return 1 - lacking


# -- rows that are moved by index ------------------------------------------------------------------

(
    LOOKUP_INDEX, LOOKUP_NEAR, LOOKUP_TABLE, LOOKUP_STRIDE, LOOKUP_ROWS, LOOKUP_FIRST, LOOKUP_BYTES,
    LOOKUP_KEPT, LOOKUP_WORDS,
) = range(9)  # fmt: skip
"""Words of a lookup: first byte of the index, of the row outside the table, and of the table;
bytes from one row of the table to the next; its number of rows; number of its first row; bytes of
a row; position at which the row that is written is saved."""

READS_NEAR, READS_TABLE = 1, 2
"""Flags for the rows that vertices read: the row outside the table, the row of the table. They
write the other row or, if they read both, the row of the table. A row outside the table that is
only written is written for any index."""


def number_at(memory: Bytes, at: int) -> int:
    """Return an unsigned number of four bytes."""
    return memory[at] | memory[at + 1] << 8 | memory[at + 2] << 16 | memory[at + 3] << 24


def row_of_table(lookups: Int64s, row: int, index: int) -> int:
    """Return the first byte of a lookup's row of the table, or -1 if the table has no such row."""
    number = index - lookups[row + LOOKUP_FIRST]
    at = lookups[row + LOOKUP_TABLE] + number * lookups[row + LOOKUP_STRIDE]
    return at if 0 <= number < lookups[row + LOOKUP_ROWS] else -1


def all_written(shadow: Bytes, at: int, count: int) -> int:
    """Return 1 if all of `count` bytes from `at` on are written, else 0."""
    lacking = 0
    for byte in range(count):  # without an early exit, so that it is vectorized
        lacking |= shadow[at + byte] ^ 1
    return 1 - lacking


def rows_are_written(
    memory: Bytes, shadow: Bytes, lookups: Int64s, count: int, reads: int, others: Int64s,
    num_others: int, size: int, rows: Int64s,
) -> int:  # fmt: skip
    """Return 1 if all elements read by vertices that move rows by index are written, else 0.

    `lookups` contains LOOKUP_WORDS for each of `count` lookups; `others`, the first bytes of
    `num_others` elements of `size` bytes that are always read. The number of rows that vertices
    write is stored in `rows`, followed by the lookup and the first byte of each row.
    """
    done, place, index = 0, -1, 0
    for lookup in range(count):
        row = lookup * LOOKUP_WORDS
        if lookups[row + LOOKUP_INDEX] != place:  # vertices often have the same index
            place = lookups[row + LOOKUP_INDEX]
            index = number_at(memory, place)
            if all_written(shadow, place, 4) == 0:
                return 0
        table, length = row_of_table(lookups, row, index), lookups[row + LOOKUP_BYTES]
        at = table if reads & READS_NEAR else lookups[row + LOOKUP_NEAR]
        if at >= 0:
            rows[1 + 2 * done], rows[2 + 2 * done] = lookup, at
            done += 1
        if table >= 0:
            if reads & READS_NEAR and all_written(shadow, lookups[row + LOOKUP_NEAR], length) == 0:
                return 0
            if reads & READS_TABLE and all_written(shadow, table, length) == 0:
                return 0
    for other in range(num_others):
        if all_written(shadow, others[other], size) == 0:
            return 0
    rows[0] = done
    return 1


def mark_rows(shadow: Bytes, lookups: Int64s, rows: Int64s) -> int:
    """Record in the shadow that listed rows are written; return how many bytes were unwritten."""
    gained = 0
    for number in range(rows[0]):
        lookup, at = rows[1 + 2 * number], rows[2 + 2 * number]
        for byte in range(lookups[lookup * LOOKUP_WORDS + LOOKUP_BYTES]):
            gained += shadow[at + byte] ^ 1
            shadow[at + byte] = 1
    return gained


@simple
def keep_rows(memory: Bytes, lookups: Int64s, rows: Int64s, kept: Bytes, is_put: int) -> int:
    """Save the contents of listed rows; with `is_put` restore them. Return their number."""
    for number in range(rows[0]):
        row, at = rows[1 + 2 * number] * LOOKUP_WORDS, rows[2 + 2 * number]
        place = lookups[row + LOOKUP_KEPT]
        for byte in range(lookups[row + LOOKUP_BYTES]):
            if is_put > 0:
                memory[at + byte] = kept[place + byte]
            else:
                kept[place + byte] = memory[at + byte]
    return rows[0]


# -- accesses of workers: `poplite.simulator.run.arena` --------------------------------------------

CONFLICT_SHIFT, CONFLICT_MASK = 20, (1 << 12) - 1
"""The position of the conflict in a word of the log: `encoding.LOG_BITS`."""


@simple
def clear_log(log: Int32s, places: Int64s, count: int) -> int:
    """Clear the log of elements, given by their first bytes; return their count."""
    for i in range(count):
        log[places[i]] = 0
    return count


@simple
def count_conflicts(log: Int32s, places: Int64s, count: int) -> int:
    """Return the number of elements that a worker accessed in conflict with another worker."""
    found = 0
    for i in range(count):
        if (log[places[i]] >> CONFLICT_SHIFT) & CONFLICT_MASK != 0:
            found += 1
    return found
