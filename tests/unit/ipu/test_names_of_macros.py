"""Names that headers define as macros are others in codelets."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import poplite as pl
from helpers.codelets import EXACT, compiler
from helpers.host_program import library_of, session
from poplite.ipu.codelets.terms import identifier
from poplite.ipu.tables import tables_of

HEADERS = (
    *("algorithm", "array", "atomic", "cassert", "cctype", "cerrno", "cfenv", "cfloat", "chrono"),
    *("cinttypes", "climits", "clocale", "cmath", "complex", "complex.h", "csetjmp", "csignal"),
    *("cstdarg", "cstddef", "cstdint", "cstdio", "cstdlib", "cstring", "ctime", "cwchar"),
    *("cwctype", "limits", "memory", "string", "thread", "type_traits", "vector"),
)


class Macros(pl.Vertex):
    """Has the names of macros."""

    NULL: pl.Input[pl.Vector[pl.INT]]
    errno: pl.State[pl.INT]
    assert_perror: pl.State[pl.INT]
    unix: pl.Output[pl.Vector[pl.INT]]

    def compute(self) -> None:
        """Add."""
        EOF = self.errno + self.assert_perror
        for INT_MAX in range(len(self.NULL)):
            UINT32_MAX = self.NULL[INT_MAX] + EOF
            self.unix[INT_MAX] = UINT32_MAX


def test_every_macro_of_the_standard_headers_is_another_name(tmp_path: Path) -> None:
    source = tmp_path / "headers.cpp"
    source.write_text("".join(f"#include <{name}>\n" for name in HEADERS))
    command = [*compiler(), "-std=gnu++17", "-dM", "-E", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    names = {line.split()[1].split("(")[0] for line in done.stdout.splitlines()}
    assert len(names) > 500
    assert [name for name in sorted(names) if identifier(name) == name] == []


@pytest.mark.parametrize("name", ["x", "row", "X", "Add", "MatMul", "h_prev", "total_2", "stderr2"])
def test_ordinary_names_stay(name: str) -> None:
    assert identifier(name) == name


def test_names_of_macros_compile(host_cache: Path, tmp_path: Path) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.INT, (3,), "x", mapping=1, initial_value=[1, 2, 3])
    y = graph.add_variable(pl.INT, (3,), "y", mapping=1)
    cs = graph.add_compute_set("add")
    graph.add_vertex(cs, Macros, tile=1, NULL=x, errno=30, assert_perror=4, unix=y)
    tables = tables_of(graph, {"add": pl.Execute(cs)})
    flags = [flag for name in ("cerrno", "cassert", "cstdio") for flag in ("-include", name)]
    library_of(tables, host_cache, ("-std=gnu++17", *EXACT, *flags))
    with session(tables, host_cache, tmp_path) as made:
        assert made.ask("start").startswith("ready")
        assert made.ask("run add").startswith("ok")
        assert made.read("variable:y").tolist() == [35, 36, 37]
