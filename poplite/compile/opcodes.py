"""The op-code program that the interpreter runs.

A program is an int64 array, one op a row::

    op      a            b           c
    LAUNCH  first chunk  last chunk  work and flags        run a table of driver calls
    REPEAT  loop number  count       row behind its AGAIN
    AGAIN   loop number  row behind its REPEAT
    CALL    number of a host callback                 return to Python, then go on
    END

A chunk is one driver call, also a row of int64 words (`CHUNK_WORDS`).  Gathers, vertices,
scatters and copies are all launches: a copy is a driver whose rows are copy records.
"""

LAUNCH, REPEAT, AGAIN, CALL, END = range(5)

OP_WORDS = 4

PARALLEL, CHECKED, UNFINISHED = 1, 2, 4
"""Flags of a launch; after an unfinished one the same step goes on, and is not interrupted."""

FLAG_BITS = 3
"""The word with the flags holds the launch's work, in elements, above them."""

OP_WORK = 64
"""Work of running any op, in elements."""

FAULT_WORD, FAULT_WORDS = 5, 5
"""A chunk's fault record: flag, vertex number, field number, index, length."""

CHUNK_WORDS = FAULT_WORD + FAULT_WORDS
"""Words of a chunk: driver address, arena, rows, low, high, and its fault record."""

DONE, PAUSED, CALLED, FAULTED = range(4)
"""Why the interpreter returned."""

STATE_ROW, STATE_CALLBACK, STATE_WORDS = 0, 1, 2
"""Words of the interpreter's state: next row, callback number."""
