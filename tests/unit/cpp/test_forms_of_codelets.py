"""What codelets may hold: every form of a field, layouts, instructions, standard and own headers.

Traps of the design that are tested here: 2 (32-bit lengths), 3 (iterators are indices), 7 (names
that are used without an include), 8 (macros of the user), 10 (quoted includes), 11 (lines of
subscripts), 12 (aliasing), 21 (`operator&` of fields), 29 (attributes of supervisors), 30 (vertices
beside `main`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import poplite as pl
from helpers.cpp import HEAD, OneVertex, needs_cpp
from poplite.cpp.codelets import CodeletSource
from poplite.cpp.llvm_text import codelet_unit, llvm_text
from poplite.vertex.fields import VectorLayout, VectorListLayout

pytestmark = needs_cpp


def text_of(body: str, before: str = "", base: str = "Vertex") -> str:
    """Return a text with a class V, whose members begin at line 4 plus the lines of `before`."""
    return f"{HEAD}{before}struct V : {base} {{\n{body}\n}};\n"


def y_of(body: str, before: str = "", **given: Any) -> npt.NDArray[np.generic]:
    """Return field y of a vertex after a run."""
    found: npt.NDArray[np.generic] = OneVertex(text_of(body, before), "V", given).ran().read("y")
    return found


def ints(*values: int) -> npt.NDArray[np.int32]:
    return np.array(values, np.int32)


# -- fields ----------------------------------------------------------------------------------------


def test_rows_have_lengths_of_their_own() -> None:
    body = """
  Vector<Input<Vector<int>>> rows;
  Output<Vector<int>> y;
  void compute() {
    for (unsigned r = 0; r < rows.size(); ++r) {
      const auto &row = rows[r];
      int total = 0;
      for (unsigned i = 0; i < row.size(); ++i) total += row[i];
      y[r] = total;
    }
  }"""
    rows = [ints(0, 1, 2), ints(3), ints(4, 5)]
    assert y_of(body, rows=rows, y=ints(0, 0, 0)).tolist() == [3, 3, 9]


def test_two_rows_are_used_at_once() -> None:
    body = """
  Vector<InOut<Vector<int>>> y;
  void compute() {
    InOut<Vector<int>> *first = &y[0], &second = y[1];
    for (unsigned i = 0; i < second.size(); ++i) (*first)[i] += 10 * second[i];
  }"""
    assert y_of(body, y=[ints(1, 2), ints(3, 4)])[0].tolist() == [31, 42]


def test_every_layout_is_a_vector() -> None:
    """Layouts differ in memory on a tile, not in what they mean."""
    vectors = [each.name for each in VectorLayout]
    lists = [each.name for each in VectorListLayout]
    fields = [f"Input<Vector<int, VectorLayout::{n}, 8, true>> {n};" for n in vectors]
    fields += [f"Input<VectorList<int, VectorListLayout::{n}>> {n};" for n in lists]
    total = " + ".join([*(f"{n}[1]" for n in vectors), *(f"{n}[1][0]" for n in lists)])
    body = "\n".join([*fields, f"Output<int> y; void compute() {{ *y = {total}; }}"])
    given: dict[str, Any] = {n: ints(0, 1) for n in vectors}
    given |= {n: [ints(0), ints(1)] for n in lists}
    assert y_of(body, y=0, **given) == len(vectors) + len(lists)


def test_scalars_of_all_roles() -> None:
    body = """
  Input<int> n;
  InOut<bool> y;
  const half k;
  bool is_odd;
  auto compute() { return y = (n % 2 == 1) == is_odd && *y && k == half(0.1f); }"""
    assert y_of(body, n=3, y=True, k=0.1, is_odd=True)
    assert not y_of(body, n=4, y=True, k=0.1, is_odd=True)


def test_members_with_types_of_the_host() -> None:
    body = "enum K { A, B, C }; size_t n; K k; Output<int> y; void compute() { *y = n + (k == C); }"
    assert y_of(body, n=5, k=2, y=0) == 6


def test_no_constructor_runs() -> None:
    text = """#include <poplar/Vertex.hpp>
class V : public poplar::Vertex {
  V();
  V(int);
  ~V();
  poplar::Input<int> x;
  const int n;
  poplar::Output<int> y;
  int twice() const { return 2 * n; }
  bool compute() { *y = *x + twice(); return true; }
};
"""
    assert OneVertex(text, "V", {"x": 1, "n": 3, "y": 0}).ran().read("y") == 7


def test_lengths_have_32_bits() -> None:
    body = "Input<Vector<int>> x; Output<int> y; void compute() { *y = sizeof(x.size()); }"
    assert y_of(body, x=ints(1), y=0) == 4


@pytest.mark.parametrize("flag", ["true", "false"])
def test_a_supervisor_by_a_condition(flag: str) -> None:
    body = "Output<int> y; void compute() { *y = 5; }"
    text = text_of(body, base=f"SupervisorVertexIf<{flag}>")
    assert OneVertex(text, "V", {"y": 0}).ran().read("y") == 5


# -- the language ----------------------------------------------------------------------------------


def test_short_vectors_alias_elements() -> None:
    body = """
  Input<Vector<float>> x;
  Output<Vector<float>> y;
  void compute() {
    const float2 *from = reinterpret_cast<float2 *>(&x[0]);
    pair *to = reinterpret_cast<pair *>(&y[0]);
    to[0] = from[0] * 2.0f + from[1].yx;
    y[1] += to[0].x;
  }"""
    before = "typedef float pair __attribute__((ext_vector_type(2)));\n"
    assert y_of(body, before=before, x=[1, 2, 3, 4], y=[0, 0]).tolist() == [6, 13]


def test_instructions_with_a_plain_meaning() -> None:
    body = """
  Output<Vector<float>> y;
  void compute() {
    y[0] = __builtin_ipu_max(1.0f, 2.0f) + __builtin_ipu_min(1, 2);
    y[1] = __builtin_ipu_clamp(5.0f, 0.0f, 3.0f);
    float2 v = __builtin_ipu_max((float2){1, 5}, (float2){4, 2});
    y[2] = v.x + v.y;
    y[3] = __builtin_ipu_popc(7u) == 3;
    memset(&y[4], 0, sizeof(float));
    rptsize_t n = 3;
    y[5] = n;
  }"""
    assert y_of(body, y=[9] * 6).tolist() == [3, 3, 9, 1, 0, 3]


def test_standard_algorithms() -> None:
    body = """
  InOut<Vector<float>> y;
  void compute() {
    std::sort(y.begin(), y.end());
    std::array<float, 2> ends = {y[0], y[y.size() - 1]};
    y[0] = std::sqrt(std::max(ends[0], ends[1])) + std::accumulate(y.begin(), y.end(), 0.0f);
  }"""
    before = "#include <algorithm>\n#include <array>\n#include <cmath>\n#include <numeric>\n"
    assert y_of(body, before=before, y=[4, 1, 2]).tolist() == [9, 2, 4]


def test_macros_of_the_user_do_not_reach_ours() -> None:
    macros = ["data", "count", "size_t_", "field", "about", "at", "place", "number", "length"]
    macros += ["file", "index", "ALIGN", "quarter", "worker", "rows", "stride"]
    before = "".join(f"#define {name} oops_{name} ~\n" for name in macros)
    body = "Input<Vector<int>> x; Output<int> y; void compute() { for (auto i : x) *y = i; }"
    text = before + text_of(body)
    assert OneVertex(text, "V", {"x": ints(4), "y": 0}).ran().read("y") == 4


def test_a_vector_is_its_own_pointer_and_memcpy_needs_no_include() -> None:
    body = """
  Input<Vector<int>> x;
  Vector<Input<Vector<int>>> rows;
  Output<Vector<int>> y;
  void compute() {
    std::memcpy(&y[0], &x[0], x->size() * sizeof(int));
    y[2] = rows[1]->size();
  }"""
    rows = [ints(0, 1, 2), ints(3)]
    assert y_of(body, x=ints(5, 6), rows=rows, y=ints(0, 0, 0)).tolist() == [5, 6, 1]


def test_attributes_and_macros_of_the_tile_mean_nothing() -> None:
    text = """
#ifndef __POPC__
#include <poplar/Engine.hpp>
int main() { return 0; }
#else
#include <poplar/StackSizeDefs.hpp>
#include <ipu_vector_math>
#include <ipudef.h>
#include <print.h>
DEF_STACK_USAGE(0, "f")
class V : public poplar::SupervisorVertex {
public:
  poplar::Output<int> y;
  __attribute__((target("supervisor"))) bool compute() { *y = 5; return true; }
};
#endif
"""
    assert OneVertex(text, "V", {"y": 0}).ran().read("y") == 5


def test_halves_and_sums_are_not_wider_or_fused() -> None:
    body = "Input<Vector<float>> x; Output<float> y; void compute() { *y = x[0] * x[1] + x[2]; }"
    text = llvm_text(codelet_unit(CodeletSource(text_of(body), None)))
    assert "fmuladd" not in text
    assert " fast " not in text


def test_options_of_the_compiler(tmp_path: Path) -> None:
    (tmp_path / "own.h").write_text("#define OWN 30\n")
    text = text_of("Output<int> y; void compute() { *y = N + OWN; }", '#include "own.h"\n')
    graph = pl.Graph(pl.Target(tiles=1))
    graph.add_codelets(text, f"-I '{tmp_path}' -DN=4 -O3 -std=c++14")
    y, step = graph.add_variable(pl.INT, (), "y", mapping=0), graph.add_compute_set("s")
    graph.add_vertex(step, "V", tile=0, y=y)
    engine = pl.Engine(graph, pl.Execute(step))
    engine.run()
    assert engine.read(y) == 34


# -- places ----------------------------------------------------------------------------------------


def fault(vertex: OneVertex) -> tuple[str, int]:
    """Return file and line of the fault of a vertex."""
    with pytest.raises(pl.TensorIndexError) as found:
        vertex.engine.run()
    assert found.value.at is not None
    return found.value.at.file, found.value.at.line


@pytest.mark.parametrize(
    ("access", "line"),
    [
        *(("x[3];", 6), ("x[-1];", 6), ("x[3ull];", 6), ("x[k];", 6), ("helper(x);", 3)),
        *(("rows[1]\n[3];", 7), ("rows[9]\n[0];", 6), ("*(x.begin() + 3);", 6)),
        *(("*x.end();", 6), ("x.begin()[3];", 6), ("rows.begin()[1][3];", 6)),
        ("*std::min_element(x.begin(),\nx.end() + 1);", 6),
    ],
)
def test_faults_have_the_line_of_their_access(access: str, line: int) -> None:
    before = "template <class V> int helper(const V &v) { return v[3]; }\n"
    body = "Input<Vector<int>> x; Vector<Input<Vector<int>>> rows; Input<int> k; Output<int> y;\n"
    body += f"void compute() {{ *y = {access} }}"
    text = text_of(body, before)
    shift = 0
    if "std::" in access:
        text, shift = f"#include <algorithm>\n{text}", 1
    given = {"x": ints(1, 2, 3), "rows": [ints(1, 2, 3)] * 2, "k": 3, "y": 0}
    assert fault(OneVertex(text, "V", given)) == ("<C++ text>", line + shift)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a codelet that includes two files; the working directory has one of its own."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.h").write_text('#include "b.hpp"\n#define TWO 2\n')
    third = "template <class V> int third(const V &v) {\n  return v[2];\n}\n"
    (tmp_path / "sub" / "b.hpp").write_text(third)
    body = "Input<Vector<int>> x;\nOutput<int> y;\nvoid compute() { *y = third(x) * TWO; }"
    (tmp_path / "v.cpp").write_text(text_of(body, '#include "sub/a.h"\n'))
    (tmp_path / "other" / "sub").mkdir(parents=True)
    (tmp_path / "other" / "sub" / "a.h").write_text("#error the wrong file\n")
    monkeypatch.chdir(tmp_path / "other")
    return tmp_path


def test_included_files_are_sought_beside_the_text(folder: Path) -> None:
    path = str(folder / "v.cpp")
    assert OneVertex(path, "V", {"x": ints(1, 2, 3), "y": 0}).ran().read("y") == 6
    found = fault(OneVertex(path, "V", {"x": ints(1, 2), "y": 0}))
    assert found == (str(folder / "sub" / "b.hpp"), 2)


def test_loops_that_tables_of_the_text_decide_are_counted() -> None:
    body = """
  Input<Vector<int>> x;
  Output<Vector<int>> y;
  void compute() {
    for (unsigned i = 0; i < y.size(); ++i) {
      std::optional<int> found(std::in_place, weights[x[i] & 3]);
      while (*found > x[i]) *found -= 2;
      y[i] = *found;
    }
  }"""
    text = text_of(body, "constexpr int weights[4] = {9, 8, 7, 6};\n")
    vertex = OneVertex(
        f"#include <optional>\n{text}", "V", {"x": ints(0, 1, 6), "y": ints(0, 0, 0)}
    )
    assert vertex.ran().read("y").tolist() == [-1, 0, 5]


def test_tables_of_the_text_are_read_by_code_that_counts() -> None:
    body = """
  Input<unsigned> n;
  Output<Vector<int>> y;
  void compute() { for (unsigned i = 0; i != n; ++i) y[i] = weights[i % 3]; }"""
    before = "constexpr int weights[3] = {9, 8, 7};\n"
    assert y_of(body, before, n=4, y=ints(0, 0, 0, 0)).tolist() == [9, 8, 7, 9]
