"""The view algebra: tensors as strided, mixed-radix windows on storage.

    >>> from poplite.view import Storage, num_runs, all_of
    >>> matrix = all_of(Storage(0, 0, 12), (3, 4))
    >>> num_runs(matrix), num_runs(matrix.dim_shuffle((1, 0)))
    (1, 12)

`view` defines the operations, `concatenation` joins views, `intervals_of_view` lists the runs of
addresses that a view reads, with `concatenation_leaves` for views of concatenations; `aliases`
decides which views share elements, by the number theory of strided sets, with arrays for many sets
at once, and which are equal; `address_sets` and `memory_order` sort elements by address;
`operations` finds the expression that creates a view.
The arithmetic of digits is in `poplite.arrays.series`.
"""

from poplite.arrays.intervals import Interval as Interval, Intervals as Intervals
from poplite.view.address_sets import storages as storages
from poplite.view.aliases import (
    contains_aliases as contains_aliases,
    contains_constant as contains_constant,
    intersects as intersects,
    same_elements as same_elements,
    sample as sample,
)
from poplite.view.concatenation import concat as concat, concat_slices as concat_slices
from poplite.view.concatenation_leaves import (
    MOST_LEVELS as MOST_LEVELS,
    one_level as one_level,
)
from poplite.view.intervals_of_view import (
    address_at as address_at,
    addresses as addresses,
    chunks as chunks,
    is_contiguous as is_contiguous,
    num_runs as num_runs,
    runs as runs,
    runs_of_many as runs_of_many,
)
from poplite.view.operations import source as source
from poplite.view.view import (
    Cat as Cat,
    Storage as Storage,
    View as View,
    all_of as all_of,
    empty as empty,
    once as once,
)
