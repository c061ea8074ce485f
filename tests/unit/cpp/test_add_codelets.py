"""C++ codelets in a graph: what is found in a text, what is refused, and with which words.

Traps of C++ on this machine that these tests cover: an index is an int, an unsigned or a scalar
field; `size()` has 32 bits; fields are const, private, or in classes whose constructors are only
declared; names are compared without blanks; assembly is refused by class; state must not change.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.cpp import HEAD, OneVertex, needs_cpp, same
from poplite.cpp import compilers
from poplite.cpp.compilers import codelet_compiler
from poplite.simulator.run.arena import Arena
from poplite.simulator.run.binding import checked_classes

pytestmark = needs_cpp

AXPY = (
    HEAD
    + """
class Axpy : public Vertex {
public:
  Input<Vector<float>> x;
  InOut<Vector<float>> y;
  float a;
  int skip;
  void compute() {
    for (unsigned i = 0; i < y.size(); ++i)
      y[i] += a * x[i + skip];
  }
};
"""
)

X = np.arange(6, dtype=np.float32)


def axpy(skip: int = 0, **options: Any) -> OneVertex:
    """Return a vertex of the class above on six elements."""
    return OneVertex(AXPY, "Axpy", {"x": X, "y": np.ones(6), "a": 2.0, "skip": skip}, **options)


# -- classes of a text -----------------------------------------------------------------------------


def test_a_class_is_like_one_in_python() -> None:
    vertex = axpy()
    assert same(vertex.ran().read("y"), 1 + 2 * X)
    assert list(map(str, vertex.cls.fields.values())) == [
        "x: Input[Vector[FLOAT]]",
        "y: InOut[Vector[FLOAT]]",
        "a: State[FLOAT]",
        "skip: State[INT]",
    ]
    assert str(vertex.vertex).startswith("vertex 0 of 'Axpy' on tile 1")
    (row,) = vertex.engine.report().execution.vertex_types()
    assert (row.name, row.source) == ("Axpy", "estimated")


TEMPLATES = (
    HEAD
    + """
namespace ns {
template <class T, class U> struct Scaled : Vertex {
  Scaled();  // never defined
  Input<Vector<T, VectorLayout::ONE_PTR, 8>> x;
  Output<Vector<T>> y;
private:
  const U factor;
public:
  auto compute() -> bool {
    for (unsigned i = 0; i < y.size(); ++i) y[i] = x[i] * static_cast<T>(factor);
    return y.size() > 2;
  }
};
template class Scaled<float, int>;
template class Scaled<half, float>;
}
"""
)


@pytest.mark.parametrize("name", ["ns::Scaled<float,int>", "ns::Scaled<float, int>"])
def test_templates_are_named_as_in_cpp(name: str) -> None:
    vertex = OneVertex(TEMPLATES, name, {"x": X, "y": X, "factor": 3}).ran()
    assert same(vertex.read("y"), 3 * X)
    assert str(vertex.cls.fields["x"]) == "x: Input[Vector[FLOAT]] with ONE_PTR, min_align 8"
    assert vertex.graph.hasCodelet("ns::Scaled< half,float >")
    assert not vertex.graph.hasCodelet("ns::Scaled<half, int>")
    assert not pl.Graph().hasCodelet(name)


def test_half_is_rounded_after_each_operation() -> None:
    text = (
        HEAD
        + """
struct Product : Vertex { Input<Vector<half>> x; Output<half> y;
  void compute() { *y = x[0] * x[1] + x[2]; } };
"""
    )
    x = np.array([1.002, 1.002, -1], np.float16)
    found = OneVertex(text, "Product", {"x": x, "y": 0}).ran().read("y")
    assert found == np.float16(x[0] * x[1]) + x[2] == np.float16(0.00390625)


def test_texts_given_together_use_each_others_functions() -> None:
    one = HEAD + (
        "float twice(float x);\n"
        "struct Use : Vertex { InOut<float> x; void compute() { *x = twice(*x); } };\n"
    )
    other = HEAD + (
        "float twice(float x) { return 2 * x; }\n"
        "struct Other : Vertex { InOut<float> x; void compute() { *x = 0; } };\n"
    )
    graph = pl.Graph(pl.Target(tiles=1))
    assert list(graph.add_codelets([one, io.StringIO(other)])) == ["Use", "Other"]
    x = graph.add_variable(pl.FLOAT, (), "x", mapping=0, initial_value=4)
    step = graph.add_compute_set("step")
    graph.add_vertex(step, "Use", tile=0, x=x)
    engine = pl.Engine(graph, pl.Execute(step))
    engine.run()
    assert engine.read(x) == 8


def test_a_file_may_hold_vertex_and_main(tmp_path: Path) -> None:
    file = tmp_path / "both.cpp"
    (tmp_path / "own.hpp").write_text("constexpr float factor = 3;\n")
    file.write_text(
        '#include "own.hpp"\n#ifdef __POPC__\n'
        + HEAD
        + "struct Triple : Vertex { InOut<float> x; void compute() { *x *= factor; } };\n"
        "#else\n#include <poplar/Engine.hpp>\nint main() {}\n#endif\n"
    )
    graph = pl.Graph(pl.Target(tiles=1))
    assert list(graph.addCodelets(str(file), pl.CodeletFileType.CppSource)) == ["Triple"]
    (tmp_path / "own.hpp").write_text("constexpr float factor = 5;\n")  # an included file changes
    found = pl.Graph().add_codelets(file)["Triple"]
    with pytest.raises(pl.VertexDefinitionError, match="already has a vertex class 'Triple'"):
        graph.add_codelets(file)
    assert found is pl.Graph().add_codelets(file)["Triple"]


def test_equal_text_is_one_class_and_compiled_once() -> None:
    one, other = pl.Graph(), pl.Graph()
    assert one.add_codelets(AXPY)["Axpy"] is other.add_codelets(AXPY)["Axpy"]
    assert one.add_codelets(AXPY)["Axpy"] is one.add_codelets(AXPY)["Axpy"]


def test_a_second_process_runs_no_compiler(tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    script.write_text(
        "import subprocess, sys\n"
        "if sys.argv[1:]:\n"
        "    subprocess.run = subprocess.Popen = None\n"
        "import numpy as np, poplite as pl\n"
        f"graph = pl.Graph(pl.Target(tiles=1))\ngraph.add_codelets({AXPY!r})\n"
        "x, y = (graph.add_variable(pl.FLOAT, (3,), n, mapping=0, initial_value=1) for n in 'xy')\n"
        "step = graph.add_compute_set('step')\n"
        "graph.add_vertex(step, 'Axpy', tile=0, x=x, y=y, a=2, skip=0)\n"
        "engine = pl.Engine(graph, pl.Execute(step))\nengine.run()\n"
        "print(engine.read(y).tolist(), 'clang.cindex' in sys.modules)\n"
    )
    environment = {**os.environ, "POPLITE_CACHE_DIR": str(tmp_path / "cache")}
    told = [
        subprocess.run(
            [sys.executable, str(script), *again],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for again in ([], ["again"])
    ]
    assert told == ["[3.0, 3.0, 3.0] True\n", "[3.0, 3.0, 3.0] False\n"]


# -- faults ----------------------------------------------------------------------------------------

FORMS = (
    HEAD
    + """
struct InCompute : Vertex { Input<Vector<float>> x; Output<float> y; unsigned k;
  void compute() { *y = x[k]; } };
struct InHelper : Vertex { Input<Vector<float>> x; Output<float> y; unsigned k;
  static float at(const Input<Vector<float>> &x, unsigned k) {
    return x[k];
  }
  void compute() { *y = at(x, k); } };
struct ByIterator : Vertex { Input<Vector<float>> x; Output<float> y; unsigned k;
  void compute() { auto it = x.begin();
    it += k;
    *y = *it; } };
struct InRow : Vertex { Vector<Input<Vector<float>>> x; Output<float> y; unsigned k;
  void compute() { auto &row = x[1];
    *y = row[k]; } };
struct OfWorker : MultiVertex { Input<Vector<float>> x; Output<float> y; unsigned k;
  bool compute(unsigned worker) {
    if (worker == 2) *y = x[k];
    return true; } };
"""
)

LINES = {"InCompute": 5, "InHelper": 8, "ByIterator": 13, "InRow": 17, "OfWorker": 20}


@pytest.mark.parametrize("checks", ["fast", "strict"])
@pytest.mark.parametrize("name", LINES)
def test_an_index_out_of_range_names_its_line(name: str, checks: str) -> None:
    x = [X[:3], X[:4]] if name == "InRow" else X[:4]
    vertex = OneVertex(FORMS, name, {"x": x, "y": 0, "k": 4}, checks=checks)
    with pytest.raises(pl.TensorIndexError, match=rf"'{name}.x': index 4 of 4 .*elements") as found:
        vertex.engine.run()
    assert found.value.at is not None
    assert (found.value.at.file, found.value.at.line) == ("<C++ text>", LINES[name])


def test_memory_is_as_before_a_fault_in_strict_engines() -> None:
    vertex = axpy(skip=3, checks="strict")
    with pytest.raises(pl.TensorIndexError, match="index 6 of 6 elements"):
        vertex.engine.run()
    assert same(vertex.read("y"), np.ones(6))


def test_a_negative_index_is_out_of_range() -> None:
    text = HEAD + (
        "struct Before : Vertex { Input<Vector<float>> x; Output<float> y; int k;\n"
        "  void compute() { *y = x[k]; } };\n"
    )
    vertex = OneVertex(text, "Before", {"x": X, "y": 0, "k": -1})
    with pytest.raises(pl.TensorIndexError, match="index -1 of 6 elements"):
        vertex.engine.run()


def test_workers_that_share_elements_race() -> None:
    text = HEAD + (
        "struct Add : MultiVertex { InOut<Vector<float>> y; unsigned step;\n"
        "  bool compute(unsigned w) { for (unsigned i = w; i < y.size(); i += step) y[i] += 1;\n"
        "    return true; } };\n"
    )
    assert same(OneVertex(text, "Add", {"y": X, "step": 6}).ran().read("y"), X + 1)
    with pytest.raises(pl.WorkerRaceError, match=r"worker 4 reads 'Add.y'\[4\], which worker 0"):
        OneVertex(text, "Add", {"y": X, "step": 4}).engine.run()


def test_an_unwritten_element_that_decides_is_an_error() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    graph.add_codelets(AXPY)
    x = graph.add_variable(pl.FLOAT, (3,), "x", mapping=0)
    y = graph.add_variable(pl.FLOAT, (3,), "y", mapping=0, initial_value=1)
    step = graph.add_compute_set("step")
    graph.add_vertex(step, "Axpy", tile=0, x=x, y=y, a=2, skip=0)
    with pytest.raises(pl.UninitializedReadError, match=r"'x'\[0\]"):
        pl.Engine(graph, pl.Execute(step)).run()


def test_a_loop_that_unwritten_elements_keep_going_is_an_error() -> None:
    text = HEAD + (
        "struct Count : Vertex { Input<Vector<int>> x; Output<int> y;\n"
        "  void compute() { int n = 0; while (n != x[0]) n += 2; *y = n; } };\n"
    )
    graph = pl.Graph(pl.Target(tiles=1))
    graph.add_codelets(text)
    x = graph.add_variable(pl.INT, (1,), "x", mapping=0)
    y = graph.add_variable(pl.INT, (), "y", mapping=0)
    step = graph.add_compute_set("step")
    graph.add_vertex(step, "Count", tile=0, x=x, y=y)
    with pytest.raises(pl.UninitializedReadError, match="compute does not end"):
        pl.Engine(graph, pl.Execute(step)).run()


def test_vertices_run_in_the_interpreted_engine_too() -> None:
    assert same(axpy(interpret=True).ran().read("y"), 1 + 2 * X)


@pytest.mark.parametrize("interpret", [False, True])
def test_an_output_that_is_left_unwritten_is_warned_of(interpret: bool) -> None:
    text = HEAD + (
        "struct Half : Vertex { Output<Vector<float>> y;\n"
        "  void compute() { for (unsigned i = 0; i < y.size(); i += 2) y[i] = 1; } };\n"
    )
    graph = pl.Graph(pl.Target(tiles=1))
    graph.add_codelets(text)
    y = graph.add_variable(pl.FLOAT, (4,), "y", mapping=0, initial_value=0)
    step = graph.add_compute_set("step")
    graph.add_vertex(step, "Half", tile=0, y=y)
    engine = pl.Engine(graph, pl.Execute(step), interpret=interpret)
    with pytest.warns(pl.UnwrittenOutputWarning, match=r"leaves 'Half.y'\[1\]"):
        engine.run()


READS_OUTPUTS = {
    "y[i] += x[i]": r"'Old.y'\[0\], which is 'y'\[0\], depends on it.*it changes with the values",
    "y[i] = x[int(y[i])]": r"which is 'y'\[0\], depends on it.*other values: .* index -?\d+ of 3",
}


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("line", READS_OUTPUTS)
def test_strict_runs_refuse_codelets_that_read_outputs(line: str, written: bool) -> None:
    text = HEAD + (
        "struct Old : Vertex { Output<Vector<float>> y; Input<Vector<float>> x;\n"
        "  void compute() { for (unsigned i = 0; i < y.size(); ++i) " + line + "; } };\n"
    )
    graph = pl.Graph(pl.Target(tiles=1))
    graph.add_codelets(text)
    first = 0 if written else None
    y = graph.add_variable(pl.FLOAT, (3,), "y", mapping=0, initial_value=first)
    x = graph.add_variable(pl.FLOAT, (3,), "x", mapping=0, initial_value=2)
    step = graph.add_compute_set("step")
    graph.add_vertex(step, "Old", tile=0, x=x, y=y)
    engine = pl.Engine(graph, pl.Execute(step), checks="strict")
    expected = READS_OUTPUTS[line] if written else r"reads 'Old.y'\[0\].* nothing has written it"
    with pytest.raises(pl.UninitializedReadError, match=f"(?s){expected}"):
        engine.run()


# -- refused ---------------------------------------------------------------------------------------

REFUSED = [
    ('asm volatile("" ::: "$m0");', "compute: it contains inline assembly"),
    ("__builtin_ipu_put(0, 1);", "it calls the intrinsic __builtin_ipu_put"),
    ("helper();", "helper: it contains inline assembly"),
    ("k++;", "compute changes its member 'k'"),
]


@pytest.mark.parametrize("flags", ["word", "-nosuch"])
def test_flags_that_a_compiler_does_not_know_are_named(flags: str) -> None:
    with pytest.raises(pl.VertexCompileError, match=f"(?s)C\\+\\+ codelets of.*{flags}"):
        pl.Graph(pl.Target(tiles=1)).add_codelets(HEAD, flags)


@pytest.mark.parametrize(("line", "why"), REFUSED)
def test_a_class_that_cannot_run_is_refused_when_a_vertex_is_added(line: str, why: str) -> None:
    text = HEAD + (
        'static void helper() { asm("nop"); }\n'
        f"struct Odd : Vertex {{ InOut<float> x; unsigned k; void compute() {{ {line} }} }};\n"
        "struct Even : Vertex { InOut<float> x; void compute() { *x = 1; } };\n"
    )
    graph = pl.Graph(pl.Target(tiles=1))
    graph.add_codelets(text)
    x, step = graph.add_variable(pl.FLOAT, (), "x", mapping=0), graph.add_compute_set("step")
    with pytest.raises(pl.VertexDefinitionError, match=why) as found:
        graph.add_vertex(step, "Odd", tile=0, x=x, k=0)
    assert found.value.at is not None
    assert found.value.at.line in (3, 4)
    graph.add_vertex(step, "Even", tile=0, x=x)  # the rest of the text works


@pytest.mark.parametrize(
    ("member", "why"),
    [
        ("struct { int a; } odd;", "field 'odd' has the type"),
        ("float *odd;", r"field 'odd' has the type float\*"),
        ("Vector<Input<float>> odd;", "field 'odd' is a list of scalars"),
        ("Input<Vector<double>> odd;", "field 'odd' has the type"),
    ],
)
def test_a_field_of_another_type_is_refused(member: str, why: str) -> None:
    text = HEAD + f"struct Odd : Vertex {{ {member} void compute() {{}} }};\n"
    graph = pl.Graph(pl.Target(tiles=1))
    graph.add_codelets(text)
    with pytest.raises(pl.VertexDefinitionError, match=why):
        graph.add_vertex(graph.add_compute_set("step"), "Odd", tile=0)


def test_a_syntax_error_has_its_line(tmp_path: Path) -> None:
    file = tmp_path / "odd.cpp"
    file.write_text(HEAD + "struct Odd : Vertex {\n  void compute() { foo(); bar(); }\n};\n")
    with pytest.raises(pl.VertexCompileError, match="undeclared identifier 'foo'") as found:
        pl.Graph().add_codelets(file)
    assert found.value.at is not None
    assert (found.value.at.file, found.value.at.line) == (str(file), 4)
    assert "odd.cpp:4: use of undeclared identifier 'bar'" in found.value.found


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "heat.cpp").write_text(AXPY)
    graph = pl.Graph()
    with pytest.raises(pl.FileLoadError, match=r"No such file .*did you mean 'heat.cpp'"):
        graph.add_codelets(tmp_path / "heet.cpp")
    with pytest.raises(pl.FileLoadError, match="holds code for tiles, which does not run here"):
        graph.add_codelets("vertices.gp")
    with pytest.raises(pl.VertexDefinitionError, match="defines no vertex class"):
        graph.add_codelets("int x;\n")
    with pytest.raises(pl.ElementTypeError, match="3 is not the path of a file"):
        graph.add_codelets(3)  # type: ignore[arg-type]


def test_one_name_for_two_texts_is_refused() -> None:
    graph = pl.Graph()
    graph.add_codelets(AXPY)
    with pytest.raises(pl.VertexDefinitionError, match="already has a vertex class 'Axpy'"):
        graph.add_codelets(AXPY.replace("+=", "-="))


def test_an_unknown_name_has_a_suggestion() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    graph.add_codelets(AXPY)
    with pytest.raises(pl.UnknownVertexType, match=r"called 'Axpi' \(did you mean 'Axpy'"):
        graph.add_vertex(graph.add_compute_set("step"), "Axpi", tile=0)


def test_a_wrong_element_type_is_refused() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    graph.add_codelets(AXPY)
    x = graph.add_variable(pl.HALF, (3,), "x", mapping=0)
    with pytest.raises(pl.ElementTypeError, match="FLOAT"):
        graph.add_vertex(graph.add_compute_set("step"), "Axpy", tile=0, x=x)


# -- compilers -------------------------------------------------------------------------------------


def test_text_for_tiles_alone_is_noted_once() -> None:
    text = HEAD + (
        "#ifdef __IPU__\n#error not here\n#endif\n"
        "struct Even : Vertex { InOut<float> x; void compute() { *x = 1; } };\n"
    )
    graph = pl.Graph()
    with pytest.warns(pl.PopliteWarning, match="text behind #ifdef __IPU__ is not compiled here"):
        graph.add_codelets(text)
    graph.add_codelets(text)  # a warning would be an error


def test_a_compiler_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POPLITE_CXX", "no-such-clang++")
    with pytest.raises(pl.FileLoadError, match="POPLITE_CXX names 'no-such-clang\\+\\+'"):
        codelet_compiler()


def test_a_compiler_newer_than_llvmlite(monkeypatch: pytest.MonkeyPatch) -> None:
    there = codelet_compiler()
    monkeypatch.setattr(compilers, "_described", lambda *_: replace(there, most=15))
    with pytest.raises(pl.FileLoadError, match="newer than llvmlite") as found:
        codelet_compiler()
    assert "llvmlite reads the text of LLVM 15 and older" in found.value.found
    assert "apt install clang-15" in found.value.fix


@pytest.mark.parametrize("header", ["cmath", "array", "algorithm"])
def test_standard_headers_of_the_compiler(header: str) -> None:
    text = (
        f"#include <{header}>\n#include <numeric>\n"
        + HEAD
        + """
struct Use : Vertex { InOut<Vector<short>> x; Output<float> y;
  bool compute() { *y = std::accumulate(x.begin(), x.end(), 0); return true; } };
"""
    )
    found = OneVertex(text, "Use", {"x": [1, 2, 3], "y": 0}).ran().read("y")
    assert found == 6


# -- indices that are in range for all vertices ----------------------------------------------------


@pytest.mark.parametrize(("skip", "checks"), [(0, False), (1, True)])
def test_code_checks_indices_only_where_one_may_be_out_of_range(skip: int, checks: bool) -> None:
    vertex = axpy(skip, checks="fast")
    executable = vertex.engine.executable
    arena = Arena(executable.layout)
    assert (vertex.cls in checked_classes(executable, arena, {})) is checks


def test_code_checks_indices_that_depend_on_data() -> None:
    text = HEAD + (
        "struct Pick : Vertex { Input<Vector<float>> x; Input<int> k; Output<float> y;\n"
        "  void compute() { *y = x[*k]; } };\n"
    )
    vertex = OneVertex(text, "Pick", {"x": X, "k": 2, "y": 0}, checks="fast")
    executable = vertex.engine.executable
    assert vertex.cls in checked_classes(executable, Arena(executable.layout), {})
    assert vertex.ran().read("y") == 2
