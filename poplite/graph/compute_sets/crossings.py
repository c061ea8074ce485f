"""The edges of a compute set that overlap written elements, found by sorting and sweeping.

Fields are first compared by their ranges of addresses: a field whose range is disjoint from all
written ranges is never listed, and neither is a regular field that cannot overlap itself::

    x  reads  [0, 1000)      ---------
    y  writes [1001, 2001)              ---------        disjoint: nothing to do
    z  writes [3000, 3900)                          -----
    z  reads  [3100, 3200)                           --  listed, sorted, swept

Listed runs are sorted by address. Written runs overlap only where two neighbours do; once they are
known to be disjoint, one pass over reads and writes finds the reads that overlap a write. The
vertices of runs are looked up only for those.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.arrays.sweep import FEW, sorted_with_order
from poplite.graph.compute_sets.edge_table import FieldEdges
from poplite.jit.kernels.crossings import OWN, foreign_writes, meet_writes
from poplite.jit.native import address, native

Mask = npt.NDArray[np.bool_]

_NONE = np.zeros(0, np.int64)


class FieldRuns(NamedTuple):
    """The runs of some fields.

    Attributes:
        fields: the fields of the runs.
        stops: int64[fields], one past the last run of each.
        begin: int64[runs], first address.
        size: int64[runs], number of elements; may be one number, broadcast.
    """

    fields: Sequence[FieldEdges]
    stops: Int64
    begin: Int64
    size: Int64

    def edges(self, runs: Int64) -> Int64:
        """Return vertex, position of the field and row of the edges of some runs, int64[n, 3].

        Sorted, they are in the order of declaration.
        """
        edge = np.zeros((len(runs), 3), np.int64)
        first = 0
        for field, stop in zip(self.fields, self.stops.tolist(), strict=True):
            mine = np.flatnonzero((runs >= first) & (runs < stop))
            if len(mine):
                number = field.runs.edge()[runs[mine] - first]
                edge[mine, 0], edge[mine, 1] = field.vertex()[number], field.position
                edge[mine, 2] = field.row()[number]
            first = stop
        return edge


@dataclass(frozen=True, slots=True, eq=False)
class Crossings:
    """The overlaps of the edges of a compute set.

    Attributes:
        written: runs of written fields that may overlap something.
        read: runs of fields that only read, and may overlap something written.
        double: pairs of overlapping runs of `written` of two vertices.
        foreign: pairs of overlapping runs of `written` and `read` of two vertices; computed only
            where `double` is empty.
        own: for fields that only read, the edges that overlap what their own vertex writes; no
            mask where none does.
        shared: pairs of overlapping runs of `written` and `read` of one vertex, where the written
            field is an InOut; computed only where `double` is empty. Metadata of QUARTER is
            omitted, since a vertex reads it once, when it begins.
    """

    written: FieldRuns
    read: FieldRuns
    double: tuple[Int64, Int64]
    foreign: tuple[Int64, Int64]
    own: Mapping[FieldEdges, Mask]
    shared: tuple[Int64, Int64]

    @property
    def are_harmless(self) -> bool:
        """Whether no two vertices race, and none overwrites in place what it reads elsewhere."""
        return not any(len(pairs[0]) for pairs in (self.double, self.foreign, self.shared))

    def of_fields(self, fields: Mapping[FieldEdges, FieldEdges]) -> Crossings:
        """Return the same, without runs, for a compute set that has these fields in their place."""
        own = {fields[field]: mask for field, mask in self.own.items()}
        return replace(self, written=_NO_RUNS, read=_NO_RUNS, own=own)


_NO_RUNS = FieldRuns((), _NONE, _NONE, _NONE)

NO_CROSSINGS = Crossings(_NO_RUNS, _NO_RUNS, (_NONE, _NONE), (_NONE, _NONE), {}, (_NONE, _NONE))


def find_crossings(fields: Sequence[FieldEdges]) -> Crossings:
    """Find the overlaps of a compute set; `fields` are all that have elements."""
    if _all_disjoint(fields):
        return NO_CROSSINGS
    written, read = (_listed(chosen) for chosen in _candidates(fields))
    writes = _sorted(written)
    double = _double_writes(written, writes)
    if len(double[0]) or not len(writes.order) or not len(read.begin):
        return Crossings(written, read, double, (_NONE, _NONE), {}, (_NONE, _NONE))
    reads = _sorted(read)
    met, first = _meet_writes(writes, reads)
    if not len(met):
        return Crossings(written, read, double, (_NONE, _NONE), {}, (_NONE, _NONE))
    readers = reads.order[met]
    found = _foreign_writes(writes, written, first, reads.end[met], read.edges(readers)[:, 0])
    foreign = np.flatnonzero(found != OWN)
    # Sort into the order in which the reads were listed.
    foreign = foreign[np.argsort(readers[foreign], kind="stable")]
    pairs = writes.order[found[foreign]], readers[foreign]
    is_own = found == OWN
    in_place = _in_place(written, writes, first[is_own], reads.end[met[is_own]])
    in_place[_of_each_run(read, [f.field.is_implicit for f in read.fields])[readers[is_own]]] = -1
    shared = writes.order[in_place[in_place >= 0]], readers[is_own][in_place >= 0]
    return Crossings(written, read, double, pairs, _own(read, readers[is_own]), shared)


def _all_disjoint(fields: Sequence[FieldEdges]) -> bool:
    """Tell whether it is easy to see that no two edges overlap, as in most small sets."""
    spans = sorted(field.envelope for field in fields)
    return all(end <= begin for (_, end), (begin, _) in pairwise(spans)) and all(
        field.edges.surely_disjoint() for field in fields if field.field.writes
    )


def _candidates(fields: Sequence[FieldEdges]) -> tuple[list[FieldEdges], list[FieldEdges]]:
    """Return the written fields that may overlap something, and the read ones they may overlap."""
    spans = np.array([field.envelope for field in fields], np.int64).reshape(-1, 2)
    writes = np.array([field.field.writes for field in fields], np.bool_)
    (low, high), (others_low, others_high) = spans[writes].T, spans[~writes].T
    itself = [not field.edges.surely_disjoint() for field in fields if field.field.writes]
    chosen = np.array(itself, np.bool_) | _meets_any(low, high, others_low, others_high)
    order = np.argsort(low, kind="stable")
    behind = low[order][1:] < np.maximum.accumulate(high[order])[:-1]
    ahead = low[order][1:] < high[order][:-1]
    chosen[order[1:][behind]] = True
    chosen[order[:-1][ahead]] = True
    readers = _meets_any(others_low, others_high, low, high)
    both = np.zeros(len(fields), np.bool_)
    both[writes], both[~writes] = chosen, readers
    kept = [field for field, is_kept in zip(fields, both.tolist(), strict=True) if is_kept]
    return [f for f in kept if f.field.writes], [f for f in kept if not f.field.writes]


def _meets_any(low: Int64, high: Int64, other_low: Int64, other_high: Int64) -> Mask:
    """Tell which intervals overlap any of the others."""
    if not len(other_low):
        return np.zeros(len(low), np.bool_)
    order = np.argsort(other_low, kind="stable")
    furthest = np.maximum.accumulate(other_high[order])
    before = np.searchsorted(other_low[order], high, side="left")
    return (before > 0) & (furthest[before - 1] > low)


def _listed(fields: Sequence[FieldEdges]) -> FieldRuns:
    runs = [field.runs for field in fields]
    stops = np.cumsum([len(each.begin) for each in runs], dtype=np.int64)
    sizes = [each.size for each in runs]
    begin = np.concatenate([_NONE, *(each.begin for each in runs)])
    repeated = {None if size.strides[0] else int(size[0]) for size in sizes}
    if len(repeated) == 1 and None not in repeated:
        return FieldRuns(fields, stops, begin, np.broadcast_to(sizes[0][0], begin.shape))
    return FieldRuns(fields, stops, begin, np.concatenate([_NONE, *sizes]))


class _Sorted(NamedTuple):
    """Runs by ascending begin; runs with the same begin keep their order."""

    order: Int64
    begin: Int64
    end: Int64


def _sorted(runs: FieldRuns) -> _Sorted:
    begin, size = runs.begin, runs.size
    if (begin[1:] >= begin[:-1]).all():
        return _Sorted(np.arange(len(begin)), begin, begin + size)
    begin, order = sorted_with_order(begin)
    return _Sorted(order, begin, begin + (size[order] if size.strides[0] else size))


def _double_writes(written: FieldRuns, writes: _Sorted) -> tuple[Int64, Int64]:
    """Return pairs of written runs of different vertices that overlap."""
    if not (writes.begin[1:] < writes.end[:-1]).any():
        return _NONE, _NONE  # sorted runs overlap only if two neighbours do
    # Of two runs with the same begin, the one declared first becomes the first of the pair.
    edges = written.edges(np.arange(len(written.begin)))
    order = np.lexsort((*edges.T[::-1], written.begin))
    begin, end = written.begin[order], (written.begin + written.size)[order]
    furthest = np.maximum.accumulate(end)
    new = np.concatenate([[True], end[1:] > furthest[:-1]])
    holder = np.maximum.accumulate(np.where(new, np.arange(len(new)), 0))
    second = np.flatnonzero(begin[1:] < furthest[:-1]) + 1
    first, second = order[holder[second - 1]], order[second]
    differ = edges[first, 0] != edges[second, 0]
    return first[differ], second[differ]


def _meet_writes(writes: _Sorted, reads: _Sorted) -> tuple[Int64, Int64]:
    """Return the reads that overlap writes, and the first write that each overlaps."""
    count, most = len(writes.begin), len(reads.begin)
    met, first = np.empty(most, np.int64), np.empty(most, np.int64)
    columns = reads.begin, reads.end, most, met, first
    done = _run(meet_writes, writes.begin, writes.end, count, *columns)
    return met[:done].copy(), first[:done].copy()


def _foreign_writes(
    writes: _Sorted, written: FieldRuns, first: Int64, read_end: Int64, reader: Int64
) -> Int64:
    """Return the first write of another vertex for each read that overlaps writes, or OWN."""
    vertex, found = written.edges(writes.order)[:, 0], np.empty(len(first), np.int64)
    columns = len(vertex), first, read_end, reader, len(first), found
    _run(foreign_writes, writes.begin, vertex, *columns)
    return found


def _in_place(written: FieldRuns, writes: _Sorted, first: Int64, read_end: Int64) -> Int64:
    """Return the first write of an InOut for each read that overlaps writes, or -1."""
    reads_too = [field.field.reads for field in written.fields]
    if not any(reads_too):
        return np.full(len(first), -1)
    is_inout = _of_each_run(written, reads_too)[writes.order]
    places = np.append(np.flatnonzero(is_inout), len(is_inout))
    found = places[places.searchsorted(first)]
    met = writes.begin[np.minimum(found, len(is_inout) - 1)] < read_end
    return np.where((found < len(is_inout)) & met, found, -1)


def _of_each_run(runs: FieldRuns, of_fields: Sequence[bool]) -> Mask:
    """Return the value of its field for each run."""
    return np.repeat(np.array(of_fields, np.bool_), np.diff(runs.stops, prepend=0))


def _run(kernel: Callable[..., int], *arguments: Int64 | int) -> int:
    """Run a kernel, compiled unless there are few numbers."""
    arrays = [x if isinstance(x, int) else np.ascontiguousarray(x) for x in arguments]
    if max(len(x) for x in arrays if not isinstance(x, int)) <= FEW:
        return int(kernel(*arrays))
    return native(kernel)(*[x if isinstance(x, int) else address(x) for x in arrays])


def _own(read: FieldRuns, runs: Int64) -> dict[FieldEdges, Mask]:
    """Return a mask of the edges of some runs, for each field that has any."""
    own: dict[FieldEdges, Mask] = {}
    first = 0
    for field, stop in zip(read.fields, read.stops.tolist(), strict=True):
        mine = runs[(runs >= first) & (runs < stop)] - first
        first = stop
        if len(mine):
            own[field] = np.zeros(len(field.runs.first) - 1, np.bool_)
            own[field][field.runs.edge()[mine]] = True
    return own
