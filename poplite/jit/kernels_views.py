"""Kernels for views: runs of concatenations, transposed views, groups, shared addresses.

`poplite.view.concatenation_leaves` describes the contents of the arrays. A leaf is a strided set,
given by a row of `extent` and of `stride`, outermost digit first, padded with digits (1, 0); the
first `outer_columns` digits count the repetitions of the space, the others the elements of one
chunk.

Each kernel tracks `end`, the address after the last run: a run that starts there is joined to it.

A transposed concatenation is read one tile of rows and columns at a time.  Where the innermost step
of a view jumps from leaf to leaf, a look-up per element would cost ten times as much as the store.
Adjacent elements of a leaf are adjacent in the digit outside the innermost one, so one look-up
serves `ABREAST` elements::

    rows of the space      a0 a1 b0 b1          look up a0: a0, a1 go to columns 0, 1
                           c0 c1 d0 d1          look up c0: c0, c1 go to columns 0, 1

    out                    a0 c0 | a1 c1 | b0 d0 | b1 d1

A tile is written column by column from a scratch copy: columns of the result are often a power of
two apart, so writes to many columns at once would share a few cache lines.

Groups are contiguous ranges of memory on one tile, found in one pass over memory.  Rows are in
memory order.  A row is `count` runs of consecutive elements; from one run to the next, the address
moves by `step` and the position in the tensor by `stride`::

    4 x 3, transposed      row 0: addresses 0 1 2 3 ... (step 1), positions 0 4 8 1 ... (stride 4)

Complete runs of a row before the next change of tile are written by one loop without a test. In a
row of consecutive addresses they are members of one group; otherwise each run is a group.
"""

from __future__ import annotations

from poplite.jit.kernels import Bytes, Int32s, Int64s

NO_END = -1
"""An `end` at which no run starts, since addresses are not negative."""


def leaf_runs(
    base: Int64s,
    extent: Int64s,
    stride: Int64s,
    columns: int,
    owner: Int64s,
    leaves: int,
    counter: Int64s,
    begin: Int64s,
    length: Int64s,
    ends: Int64s,
) -> int:
    """Write the runs of many strided sets, set by set, and return their count.

    `base`, `owner` are int64[leaves], `extent`, `stride` int64[leaves, columns], coalesced. Owners
    do not descend, and only runs of one owner are joined; `ends`, by owner, is set to the number of
    runs up to and including its own. `counter` has room for `columns` numbers, `begin` and
    `length` for all runs before they are joined.
    """
    count = 0
    previous = -1
    end = NO_END
    for leaf in range(leaves):
        if owner[leaf] != previous:
            previous = owner[leaf]
            end = NO_END
        row = leaf * columns
        inner = row + columns - 1
        run = 1
        if stride[inner] == 1:
            run = extent[inner]
            inner -= 1
        size, step = 1, 0
        if inner >= row:
            size, step = extent[inner], stride[inner]
        for c in range(columns):
            counter[c] = 0
        at = base[leaf]
        digit = row
        while digit >= row:
            joins = 1 if at == end else 0
            if joins:
                length[count - 1] += run
            for i in range(joins, size):
                begin[count + i - joins] = at + i * step
            for i in range(joins, size):
                length[count + i - joins] = run
            count += size - joins
            end = at + (size - 1) * step + run
            digit = inner - 1
            while digit >= row:
                counter[digit - row] += 1
                at += stride[digit]
                if counter[digit - row] < extent[digit]:
                    break
                at -= extent[digit] * stride[digit]
                counter[digit - row] = 0
                digit -= 1
        ends[previous] = count
    return count


def leaf_at(rest: int, breaks: Int64s, directory: Int32s, shift: int) -> int:
    """Return the leaf that contains a position of the period."""
    leaf = directory[rest >> shift]
    while breaks[leaf + 1] <= rest:
        leaf += 1
    return leaf


def through(
    top_extent: Int64s,
    top_stride: Int64s,
    tops: int,
    counter: Int64s,
    position: int,
    breaks: Int64s,
    leaves: int,
    directory: Int32s,
    shift: int,
    base: Int64s,
    extent: Int64s,
    stride: Int64s,
    outer_columns: int,
    columns: int,
    one_digit: Bytes,
    begin: Int64s,
    length: Int64s,
    keep: int,
    most: int,
) -> int:
    """Write the runs of a view of a concatenation, or only count them; return their count.

    The innermost digit of the view is cut into ranges that stay in one digit of one leaf,
    where equal steps of position are equal steps of address.

    Args:
        top_extent: int64[tops], the digits of the view, outermost first.
        top_stride: int64[tops], strides in positions.
        tops: number of digits, at least one.
        counter: room for `tops` numbers.
        position: the position of the first element.
        breaks: int64[leaves + 1], positions at which the leaves start in a period.
        leaves: number of leaves.
        directory: int32, a leaf at or before that of position `i << shift` of a period.
        shift: the shift of the directory.
        base: int64[leaves], the first address of each leaf.
        extent: int64[leaves, columns], extents of its digits.
        stride: int64[leaves, columns], strides of its digits.
        outer_columns: number of digits that count repetitions.
        columns: number of digits of every leaf.
        one_digit: uint8[leaves], whether one digit counts the elements of a chunk.
        begin: room for the starts of all runs, used only with `keep`.
        length: room for the lengths of all runs, used only with `keep`.
        keep: whether to write the runs.
        most: the count at which to give up.
    """
    period = breaks[leaves]
    size, step = top_extent[tops - 1], top_stride[tops - 1]
    # Steps of whole periods change the repetition, other steps the position in a chunk.
    by_period = 1 if step % period == 0 else 0
    move = step // period if by_period else step
    for c in range(tops):
        counter[c] = 0
    count = 0
    end = NO_END
    repetition, leaf = 0, 0
    digit = 0
    while digit >= 0:
        done = 0
        while done < size:
            at_position = position + done * step
            rest = at_position - repetition * period
            if rest < breaks[leaf] or rest >= breaks[leaf + 1]:
                if leaf + 1 < leaves and rest >= breaks[leaf + 1] and rest < breaks[leaf + 2]:
                    leaf += 1
                else:
                    if rest < 0 or rest >= period:
                        repetition = at_position // period
                        rest = at_position - repetition * period
                    leaf = leaf_at(rest, breaks, directory, shift)
            offset = rest - breaks[leaf]
            row = leaf * columns
            at = base[leaf]
            steps, jump = size - done, 0
            if one_digit[leaf] and not by_period:
                last = row + columns - 1
                chunk = breaks[leaf + 1] - breaks[leaf]
                at += offset * stride[last]
                jump = move * stride[last]
                if move > 0:
                    room = chunk - offset
                    if move != 1:
                        room = (room - 1) // move + 1
                else:
                    room = offset // -move + 1
                if room < steps:
                    steps = room
            else:
                # The outermost digit whose place value divides the step counts the steps.
                place = 1
                left = offset
                c = columns - 1
                while c >= outer_columns:
                    e = extent[row + c]
                    x = left % e
                    left //= e
                    at += x * stride[row + c]
                    if not by_period and move % place == 0 and e > 1:
                        times = move // place
                        jump = times * stride[row + c]
                        steps = (e - 1 - x) // times + 1 if times > 0 else x // -times + 1
                    place *= e
                    c -= 1
            place = 1
            left = repetition
            c = outer_columns - 1
            while c >= 0:
                e = extent[row + c]
                x = left % e
                left //= e
                at += x * stride[row + c]
                if by_period and move != 0 and move % place == 0 and e > 1:
                    times = move // place
                    jump = times * stride[row + c]
                    steps = (e - 1 - x) // times + 1 if times > 0 else x // -times + 1
                place *= e
                c -= 1
            if steps > size - done:
                steps = size - done
            joins = 1 if at == end else 0
            if jump == 1 or steps == 1:
                if keep:
                    if joins:
                        length[count - 1] += steps
                    else:
                        begin[count] = at
                        length[count] = steps
                count += 1 - joins
                end = at + steps
            else:
                if keep:
                    if joins:
                        length[count - 1] += 1
                    for i in range(joins, steps):
                        begin[count + i - joins] = at + i * jump
                    for i in range(joins, steps):
                        length[count + i - joins] = 1
                count += steps - joins
                end = at + (steps - 1) * jump + 1
            done += steps
            if count > most:
                return count
        digit = tops - 2
        while digit >= 0:
            counter[digit] += 1
            position += top_stride[digit]
            if counter[digit] < top_extent[digit]:
                break
            position -= top_extent[digit] * top_stride[digit]
            counter[digit] = 0
            digit -= 1
    return count


# -- transposed concatenations ---------------------------------------------------------------------


ABREAST = 16
"""Number of columns of a tile."""

TALL = 64
"""Number of rows of a tile."""


def transposed(
    top_extent: Int64s,
    top_stride: Int64s,
    tops: int,
    counter: Int64s,
    position: int,
    breaks: Int64s,
    leaves: int,
    directory: Int32s,
    shift: int,
    base: Int64s,
    distance: Int64s,
    tile: Int64s,
    out: Int64s,
) -> int:
    """Write the address of every element of a view of contiguous leaves.

    The arrays are those of `through`, but there are at least two digits, and `top_stride` of the
    last digit but one is 1; `distance` is int64[leaves], from one repetition of a leaf to the next;
    `tile` has room for ABREAST * TALL numbers, and `out` for all elements. Returns the number of
    elements of a column that follow the previous one in memory.
    """
    period = breaks[leaves]
    columns, rows, step = top_extent[tops - 2], top_extent[tops - 1], top_stride[tops - 1]
    for c in range(tops):
        counter[c] = 0
    joins, repetition, begin = 0, 0, 0
    digit = 0
    while digit >= 0:
        for first in range(0, rows, TALL):
            height = rows - first if rows - first < TALL else TALL
            for column in range(0, columns, ABREAST):
                width = columns - column if columns - column < ABREAST else ABREAST
                for row in range(height):
                    at_position = position + column + (first + row) * step
                    rest = at_position - repetition * period
                    if rest < 0 or rest >= period:
                        repetition = at_position // period
                        rest = at_position - repetition * period
                    leaf = leaf_at(rest, breaks, directory, shift)
                    at = base[leaf] + repetition * distance[leaf] + rest - breaks[leaf]
                    if breaks[leaf + 1] - rest >= ABREAST:
                        for j in range(ABREAST):
                            tile[j * TALL + row] = at + j
                    else:
                        for j in range(width):
                            if rest == breaks[leaf + 1]:
                                if rest == period:
                                    repetition += 1
                                    rest = 0
                                leaf = leaf_at(rest, breaks, directory, shift)
                                at = base[leaf] + repetition * distance[leaf] + rest - breaks[leaf]
                            tile[j * TALL + row] = at
                            at += 1
                            rest += 1
                for j in range(width):
                    place = begin + (column + j) * rows + first
                    if first > 0 and tile[j * TALL] == out[place - 1] + 1:
                        joins += 1
                    for row in range(1, height):
                        joins += tile[j * TALL + row] == tile[j * TALL + row - 1] + 1
                    for row in range(height):
                        out[place + row] = tile[j * TALL + row]
        begin += columns * rows
        digit = tops - 3
        while digit >= 0:
            counter[digit] += 1
            position += top_stride[digit]
            if counter[digit] < top_extent[digit]:
                break
            position -= top_extent[digit] * top_stride[digit]
            counter[digit] = 0
            digit -= 1
    return joins


# -- groups, in memory order -----------------------------------------------------------------------


MEMBERS, GROUPS, ADDRESS, POSITION, SEGMENT, TILE = range(6)
"""The words of `state`; address and position are the end of the last member."""


def form_groups(
    address: Int64s,
    position: Int64s,
    length: Int64s,
    rows: int,
    uniform: int,
    count: int,
    step: int,
    stride: int,
    breaks: Int64s,
    tiles: Int64s,
    tiled: int,
    sized: int,
    drop: int,
    begin: Int64s,
    size: Int64s,
    first: Int64s,
    start: Int64s,
    tile_of: Int64s,
    state: Int64s,
) -> int:
    """Append the members of rows, and the groups they form; return the number of groups so far.

    Args:
        address: first address of each row.
        position: first position of each row in the tensor.
        length: number of elements of each row's only run, if `uniform` is 0.
        rows: number of rows.
        uniform: number of elements of every run.
        count: number of runs of each row; 1 if `uniform` is 0.
        step: distance of runs in addresses; at least `uniform`.
        stride: distance of runs in positions; differs from `uniform` if `step` equals `uniform`.
        breaks: ascending addresses where the tile changes; they enclose all rows.
        tiles: the tile between consecutive breaks.
        tiled: whether to write `tile_of`.
        sized: whether to write `size`; otherwise all members have `uniform` elements.
        drop: whether to omit memory of earlier rows; `count` is 1 for a row that repeats memory.
        begin: positions of the members.
        size: numbers of elements of the members.
        first: first member of each group.
        start: address of each group.
        tile_of: tile of each group.
        state: six numbers, kept between calls.
    """
    m, g, end, after = state[MEMBERS], state[GROUPS], state[ADDRESS], state[POSITION]
    k, tile = state[SEGMENT], state[TILE]
    for r in range(rows):
        a, p = address[r], position[r]
        run = uniform if uniform > 0 else length[r]
        if drop and a < end:
            seen = end - a
            if seen >= run:
                continue
            a, p, run = end, p + seen, run - seen
        rest, todo = run, count
        while todo > 0:
            while breaks[k + 1] <= a:
                k += 1
            room = breaks[k + 1] - a
            take = rest if rest < room else room
            if a != end or tiles[k] != tile:
                tile = tiles[k]
                first[g], start[g] = m, a
                if tiled:
                    tile_of[g] = tile
                g += 1
            elif p == after:
                # Contiguous in memory and in the tensor: the last member grows.
                m -= 1
                p -= size[m]
                a -= size[m]
                rest += size[m]
                take += size[m]
            begin[m] = p
            if sized:
                size[m] = take
            m += 1
            end, after = a + take, p + take
            if take < rest:
                a, p, rest = end, after, rest - take
                continue
            todo -= 1
            if todo == 0:
                break
            a, p, rest = end - run + step, after - run + stride, run
            room = breaks[k + 1] - a
            if room < run:
                continue
            fitting = (room - run) // step + 1
            fitting = fitting if fitting < todo else todo
            for i in range(fitting):
                begin[m + i] = p + i * stride
            if sized:
                for i in range(fitting):
                    size[m + i] = run
            if step != run:
                for i in range(fitting):
                    first[g + i] = m + i
                for i in range(fitting):
                    start[g + i] = a + i * step
                if tiled:
                    for i in range(fitting):
                        tile_of[g + i] = tile
                g += fitting
            m += fitting
            todo -= fitting
            a, p = a + fitting * step, p + fitting * stride
            end, after = a - step + run, p - stride + run
    state[MEMBERS], state[GROUPS], state[ADDRESS], state[POSITION] = m, g, end, after
    state[SEGMENT], state[TILE] = k, tile
    return g


# -- addresses that strided sets share -------------------------------------------------------------

STRIDE, EXTENT, REACH, COMMON, DENSE, PERIOD, INVERSE, STEP, LAST, REST, PLACE_WORDS = range(11)
"""Words of a digit: extent and stride, facts about the sums up to it, its steps, the search."""

FOUND, NOWHERE_FOUND, GAVE_UP = 1, 0, -1

TEST, MARK = 1, 2
"""Flags for the work on a set: find a marked element; mark all elements, after the search."""


def reaches(places: Int64s, count: int, target: int, nodes: int) -> int:
    """Search for a value of each digit such that the sum of value * stride is the target.

    The search is depth first, coarsest digit first. The remainder for the finer digits must be
    within their range and a multiple of their common divisor, so the values of a digit are a range
    with a step, mostly empty or of one value.

    `places` are PLACE_WORDS for each of `count` digits, strides ascending; the last three of each
    are scratch. The search gives up after `nodes` nodes.
    """
    i = count - 1
    places[i * PLACE_WORDS + REST] = target
    for _ in range(nodes):
        at = i * PLACE_WORDS
        rest = places[at + REST]
        reach = places[at + REACH]
        common = places[at + COMMON]
        places[at + LAST] = -1
        if 0 <= rest <= reach and rest % common == 0:
            if places[at + DENSE]:
                return FOUND
            stride = places[at + STRIDE]
            finer = reach - (places[at + EXTENT] - 1) * stride
            first = (rest - finer + stride - 1) // stride if rest > finer else 0
            # The remainder must equal value * stride modulo the divisor of the finer digits.
            period = places[at + PERIOD]
            residue = _product(rest // common % period, places[at + INVERSE], period)
            places[at + STEP] = first + (residue - first) % period
            last, most = rest // stride, places[at + EXTENT] - 1
            places[at + LAST] = last if last < most else most
        # The next value of this digit, or of the finest coarser digit that has one.
        while i < count and places[i * PLACE_WORDS + STEP] > places[i * PLACE_WORDS + LAST]:
            i += 1
        if i == count:
            return NOWHERE_FOUND
        at = i * PLACE_WORDS
        value = places[at + STEP]
        places[at + STEP] = value + places[at + PERIOD]
        places[at - PLACE_WORDS + REST] = places[at + REST] - value * places[at + STRIDE]
        i -= 1
    return GAVE_UP


def _product(a: int, b: int, modulus: int) -> int:
    """Multiply numbers less than the modulus, which is less than 2**62, without overflow."""
    if modulus < 2147483648:
        return a * b % modulus
    product = 0
    while b:
        if b & 1:
            product = (product + a) % modulus
        a = (a + a) % modulus
        b >>= 1
    return product


def add_multiples(bits: Int64s, words: int, extent: int, stride: int) -> int:
    """Replace a set by the sums of its members and 0, stride, ... (extent - 1) * stride.

    Number j is bit j % 64 of word j // 64; there are enough `words` for the sums.
    """
    done = 1
    while done < extent:
        # Shift by the number of steps that the set already has, from the top down, in place.
        step = done if done < extent - done else extent - done
        far = step * stride >> 6
        part = step * stride & 63
        if part == 0:
            for i in range(words - 1, far - 1, -1):
                bits[i] |= bits[i - far]
        else:
            low = (1 << part) - 1
            for i in range(words - 1, far, -1):
                carried = bits[i - far - 1] >> (64 - part) & low
                bits[i] |= bits[i - far] << part | carried
            if far < words:
                bits[far] |= bits[0] << part
        done += step
    return done


def visit(
    bits: Bytes,
    low: int,
    first: Int64s,
    extent: Int64s,
    stride: Int64s,
    sets: int,
    places: int,
    index: Int64s,
    action: int,
) -> int:
    """Test and mark the members of strided sets in a bitmap; return 1 if one was marked, else 0.

    Address low + j is bit j % 8 of byte j // 8. `first` contains the lowest address of each set;
    `extent` and `stride` are [sets, places], `places` at least 1; a stride is 0 only if the extent
    is 1; `index` is scratch, a word for each digit.
    """
    for i in range(sets):
        row = i * places
        inner = row + places - 1
        at = first[i] - low
        for k in range(places):
            index[k] = 0
        k = 0
        while k >= 0:
            if stride[inner] < 2:
                if _visit_run(bits, at, at + extent[inner] - 1, action):
                    return 1
            elif _visit_steps(bits, at, extent[inner], stride[inner], action):
                return 1
            k = places - 2
            while k >= 0:
                index[k] += 1
                if index[k] < extent[row + k]:
                    at += stride[row + k]
                    break
                index[k] = 0
                at -= (extent[row + k] - 1) * stride[row + k]
                k -= 1
    return 0


def _visit_steps(bits: Bytes, at: int, extent: int, stride: int, action: int) -> int:
    for _ in range(extent):
        byte = bits[at >> 3]
        mask = 1 << (at & 7)
        if action & TEST and byte & mask:
            return 1
        if action & MARK:
            bits[at >> 3] = byte | mask
        at += stride
    return 0


def _visit_run(bits: Bytes, first: int, last: int, action: int) -> int:
    left, right = first >> 3, last >> 3
    head = 255 << (first & 7) & 255
    tail = 255 >> (7 - (last & 7))
    if left == right:
        head &= tail
        tail = head
    if action & TEST:
        found = bits[left] & head | bits[right] & tail
        for i in range(left + 1, right):
            found |= bits[i]
        if found:
            return 1
    if action & MARK:
        bits[left] = bits[left] | head
        for i in range(left + 1, right):
            bits[i] = 255
        bits[right] = bits[right] | tail
    return 0
