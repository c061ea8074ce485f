"""Runs of concatenations: leaf after leaf, or by position in the space.

`poplite.view.contiguous_runs` says what the arrays hold.  A leaf is a strided set in rows
`extent` and `stride`, outermost digit first, padded with digits (1, 0); the first `outer_columns`
digits count the repetitions of the space, the others the elements of one chunk.

Each kernel keeps `end`, the address after the last run: a run that begins there joins it.
"""

from __future__ import annotations

from poplite.jit.kernels import Bytes, Int32s, Int64s

NO_END = -1
"""An `end` at which no run begins, addresses being positive."""


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
    """Write the runs of many strided sets, one set after the other, and return how many.

    `base`, `owner` are int64[leaves], `extent`, `stride` int64[leaves, columns], coalesced.  Owners
    do not fall, and only leaves of one owner join; `ends`, by owner, is set to the number of runs
    up to and including its own.  `counter` has room for `columns` numbers, `begin` and `length` for
    all runs before they join.
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
    """Return the leaf of a position of the period."""
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
    """Write the runs of a view of a concatenation, or only count them; return how many.

    The innermost digit of the view is cut into stretches that stay in one digit of one leaf,
    where equal steps of position are equal steps of address.

    Args:
        top_extent: int64[tops], the digits of the view, outermost first.
        top_stride: int64[tops], in positions.
        tops: number of digits, at least one.
        counter: room for `tops` numbers.
        position: of the first element.
        breaks: int64[leaves + 1], where the leaves begin in a period.
        leaves: number of leaves.
        directory: int32, a leaf at or before that of position `i << shift` of a period.
        shift: of the directory.
        base: int64[leaves].
        extent: int64[leaves, columns].
        stride: int64[leaves, columns].
        outer_columns: digits that count repetitions.
        columns: digits of every leaf.
        one_digit: uint8[leaves], whether one digit counts the elements of a chunk.
        begin: room for all runs, used only with `keep`.
        length: the same.
        keep: whether to write the runs.
        most: where to give up counting.
    """
    period = breaks[leaves]
    size, step = top_extent[tops - 1], top_stride[tops - 1]
    # Steps of whole periods move the repetition, others the position in a chunk.
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
                # The steps are counted by the outermost digit whose place value divides the move.
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
