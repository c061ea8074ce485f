"""The cost model against what was measured: each row with both numbers and the error.

    python benchmarks/fidelity.py [--only KEY] [--json FILE]

    vertices    V1 to V7, V10, V11, poplibs' tables   fidelity_vertices.py
    blur        V12 to V15, W9 to W11, W13            fidelity_blur.py
    stencils    W1 to W8                              fidelity_stencils.py
    programs    W14, L1, IPUModel's halo              fidelity_programs.py
    loops       V8, compiled inner loops              fidelity_loops.py
    matmul      dense products of a whole chip, W18   fidelity_matmul.py
    convolution layers of networks, C6                fidelity_convolution.py

Every number of the model comes from a graph that is compiled, none from a formula for the row;
nothing runs.  Keys are those of the literature's list: V for rows of one vertex or phase, W for
whole programs, A for loops, B for tables, C for estimators, L for latencies.

Left out is what nobody can build from what was published: V9 and W19 to W21, programs of another
toolchain and of poplibs, without their steps; W12, whose time is the choice of poplibs' planner for
convolutions; W15 to W17 and W22, which are shares and remarks, no times of a program.  W4 and W5
stop at 4 and 2 IPUs for the memory that they take.
"""

from __future__ import annotations

import sys

import fidelity_blur
import fidelity_convolution
import fidelity_loops
import fidelity_matmul
import fidelity_programs
import fidelity_stencils
import fidelity_vertices
from fidelity_rows import Rows, run

ROWS: Rows = {
    **fidelity_vertices.ROWS,
    **fidelity_blur.ROWS,
    **fidelity_stencils.ROWS,
    **fidelity_programs.ROWS,
    **fidelity_loops.ROWS,
    **fidelity_matmul.ROWS,
    **fidelity_convolution.ROWS,
}

if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], ROWS))
