"""Many mappings or parameters of one program, measured one by one in several processes.

    build(split=1) -> graph, program       here, so that others find compiled code in the cache
    build(split=1) -> graph, program       worker 1
    build(split=2) -> graph, program       worker 2
    build(split=3) -> graph, program       worker 1

A worker makes the graph itself, as graphs are never sent, and returns a row of numbers.
"""

from poplite.simulator.sweeps.sweeping import sweep as sweep
