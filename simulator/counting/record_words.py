"""Where everything stands in the record of a compute set whose vertices are counted.

`poplite.simulator.counting.slot_tables` fills it, and `poplite.simulator.counting.slot_sums` reads
it in compiled code.
"""

(
    REPLICAS, TABLE, STRIDE, RUNS, RUN_ENDS, RUN_FAMILIES, RUN_LIMITS, SHARED, SHARED_ENDS, WORKERS,
    BUSY, TILES, ALONE, ALONE_COUNT, ALONE_TILES, CYCLES, MOST, BESIDE, LEAST, FAMILIES, TOTALS,
    RECORD_WORDS,
) = range(22)  # fmt: skip
"""Words of a record: how many replicas; the table of the first one, and words from one table to
the next; runs of vertices of one family, where each ends, its family, and the slots at which they
are not counted any more; those that share workers, tile by tile, and where each tile ends; the
workers of a tile, and the slots assigned to each; tiles that run any; MultiVertices, and their
tiles; cycles of each tile in one replica, in the slowest one, and in adjacent phases that no sync
separates from it, the most of these on other tiles; families, and one more; totals."""

TOTAL_EXECUTIONS, TOTAL_SLOWEST, TOTAL_SEGMENT, TOTAL_WORDS = range(4)
"""Words of totals: executions; cycles of the slowest tile; the same with the adjacent phases.  They
are followed by the cycles of each tile, the slots of each family, and how often a run of vertices
of each had one that took more than is counted.  The last of each belongs to no family."""
