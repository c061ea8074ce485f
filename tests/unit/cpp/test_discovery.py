"""The vertex classes that are found in a text, and those that are refused.

Traps of the design that are tested here: 4 (explicit instantiations), 14 (names of types), 16
(static variables), 20 (loops that may not end), 24 (enumerations in names), 26 (nothing is compiled
twice).
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import poplite as pl
from helpers.cpp import HEAD, OneVertex, needs_cpp
from poplite.cpp.codelets import Codelet, CodeletSource, CodeletUnit, CppLine
from poplite.cpp.llvm_text import codelet_unit, llvm_text

pytestmark = needs_cpp


def with_vertex(body: str, before: str = "", base: str = "Vertex") -> str:
    """Return a text with a class V, whose members begin at line 4 plus the lines of `before`."""
    return f"{HEAD}{before}struct V : {base} {{\n{body}\n}};\n"


def codelets(text: str) -> CodeletUnit:
    return codelet_unit(CodeletSource(text, None))


def only(text: str) -> Codelet:
    (found,) = codelets(text).codelets
    return found


def fields(text: str) -> list[str]:
    return [str(field.declared()) for field in only(text).fields]


# -- fields and names ------------------------------------------------------------------------------


def test_fields_have_roles_types_and_layouts() -> None:
    text = with_vertex("""
  Input<Vector<half, VectorLayout::SHORT_SPAN, 8, true>> a;
  Output<unsigned char> b;
  Vector<InOut<Vector<float, VectorLayout::ONE_PTR>>> c;
  Vector<int> d;
  Input<VectorList<float, VectorListLayout::DELTAN>> e;
  unsigned long long f;
  void compute() {}""")
    assert fields(text) == [
        "a: Input[Vector[HALF]] with SHORT_SPAN, min_align 8, interleaved",
        "b: Output[UNSIGNED_CHAR]",
        "c: InOut[Vector[Vector[FLOAT]]] with ONE_PTR",
        "d: State[Vector[INT]]",
        "e: Input[Vector[Vector[FLOAT]]] with DELTAN",
        "f: State[UNSIGNED_LONGLONG]",
    ]


def test_types_of_elements() -> None:
    kinds = {
        "bool": "BOOL", "char": "CHAR", "signed char": "SIGNED_CHAR", "uint8_t": "UNSIGNED_CHAR",
        "short": "SHORT", "uint16_t": "UNSIGNED_SHORT", "int32_t": "INT",
        "unsigned": "UNSIGNED_INT",
        "long long": "LONGLONG", "unsigned long long": "UNSIGNED_LONGLONG", "float": "FLOAT",
        "half": "HALF",
    }  # fmt: skip
    declared = "".join(f"Input<{kind}> f{n};\n" for n, kind in enumerate(kinds))
    found = only(with_vertex(f"{declared} void compute() {{}}")).fields
    assert [repr(field.element) for field in found] == [*kinds.values()]


def test_plain_members_may_have_types_of_the_host() -> None:
    """`long` and `size_t` have 32 bits on a tile, and enumerations are whole numbers."""
    body = "enum Kind { A, B };\nsize_t n; long m; Kind kind; void compute() {}"
    assert fields(with_vertex(body)) == [
        *("n: State[UNSIGNED_INT]", "m: State[INT]", "kind: State[UNSIGNED_INT]")
    ]


def test_fields_of_bases_come_first() -> None:
    text = with_vertex("Output<int> b; void compute() { *b = *a; }", base="Base")
    text = text.replace("struct V", "struct Base : Vertex { Input<int> a; };\nstruct V")
    assert fields(text) == ["a: Input[INT]", "b: Output[INT]"]


def test_compute_may_be_inherited() -> None:
    text = with_vertex("Output<int> y; bool compute() { return true; }")
    text += "class W : public V {};\n"
    assert [(each.name, each.returns) for each in codelets(text).codelets] == [
        *(("V", True), ("W", True))
    ]


TEMPLATE = """#include <poplar/Vertex.hpp>
namespace outer { enum class Op { ADD, MUL }; enum Old { X, Y };
namespace inner {
template <typename A, typename B, unsigned N, Op op, Old old, bool flag>
class [[poplar::constraint("elem(*a) != elem(*b)", "region(*a) != region(*b)")]] V
    : public poplar::Vertex {
  poplar::Input<poplar::Vector<A>> a;
  poplar::Output<poplar::Vector<B>> b;
public:
  void compute();
};
template <typename A, typename B, unsigned N, Op op, Old old, bool flag>
void V<A, B, N, op, old, flag>::compute() { b[0] = a[0] * B(N); }
template class V<float, half, 3000000000u, Op::MUL, Y, true>;
template class V<unsigned, long long, 1, Op::ADD, X, false>;
}}
template <class T> struct Pair {};
template <class T> struct W : poplar::Vertex { poplar::Output<int> y; void compute() { *y = 1; } };
template struct W<Pair<unsigned char>>;
namespace { struct Hidden : poplar::Vertex { int n; void compute() {} }; }
template <> struct W<int> : poplar::Vertex { int other; void compute() {} };
"""


def test_names_of_templates_are_those_of_poplar() -> None:
    found = codelets(TEMPLATE)
    assert [each.name for each in found.codelets] == [
        "outer::inner::V<float,half,3000000000,outer::Op::MUL,outer::Old::Y,true>",
        "outer::inner::V<unsignedint,longlong,1,outer::Op::ADD,outer::Old::X,false>",
        "W<Pair<unsignedchar>>",
        "Hidden",
        "W<int>",
    ]
    first = found.codelets[0]
    assert first.constraints == ("elem(*a) != elem(*b)", "region(*a) != region(*b)")
    assert [each.element for each in first.fields] == [pl.FLOAT, pl.HALF]
    assert first.at == CppLine("", 5)
    llvm_text(found)


def test_what_compute_returns() -> None:
    bodies = {
        "void compute() {}": False,
        "bool compute() { return true; }": True,
        "auto compute() -> bool { return true; }": True,
        "auto compute() { return true; }": True,
        "auto compute() {}": False,
    }
    assert {body: only(with_vertex(body)).returns for body in bodies} == bodies


def test_helper_classes_are_not_vertices() -> None:
    text = with_vertex("void compute() {}") + "struct Helper { void compute() {} };\n"
    text += "template <class T> struct Unused : poplar::Vertex { void compute() {} };\n"
    assert only(text).name == "V"


# -- loops, changed members ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loop", "may_not_end"),
    [
        ("", False),
        ("for (unsigned i = 0; i < x.size(); ++i) x[i] = 1;", False),
        ("for (int i = n; i >= 0; i -= 2) x[i] = 1;", False),
        ("for (auto &each : x) each = 1;", False),
        ("for (auto it = x.begin(); it != x.end(); ++it) *it = 1;", False),
        ("while (x[0]) x[0] -= 1;", True),
        ("do { x[0] -= 1; } while (x[0]);", True),
        ("for (;;) {}", True),
        ("for (int i = 0; i < 9; ++i) i -= x[0];", True),
        ("int m = n; for (int i = 0; i < m; ++i) ++m;", True),
        ("fall(n);", True),
        ("turn(n);", True),
        ("again: if (x[0]) goto again;", True),
    ],
)
def test_loops_that_may_not_end(loop: str, may_not_end: bool) -> None:
    before = "int fall(int n) { return n ? fall(n - 1) : 0; }\n"
    before += "int turn(int n) { while (n) --n; return n; }\n"
    text = with_vertex(f"InOut<Vector<int>> x; int n; void compute() {{ {loop} }}", before)
    assert only(text).may_not_end is may_not_end


@pytest.mark.parametrize(
    "statement",
    [
        *("n++;", "--n;", "n = 3;", "n += 1;", "this->n = 4;", "int *p = &n; *p = 1;"),
        *("int &m = n; m = 2;", "step(n);", "inner();", "auto f = [this] { n = 1; }; f();"),
    ],
)
def test_members_that_are_changed(statement: str) -> None:
    before = "inline void step(int &n) { ++n; }\n"
    body = f"int n; int m; void inner() {{ n = 7; }}\nvoid compute() {{ m; {statement} }}"
    refused = only(with_vertex(body, before)).refused
    assert refused is not None
    assert "changes its member 'n'" in refused.why


def test_members_that_are_only_read_are_state() -> None:
    before = "inline int twice(const int &n) { return 2 * n; }\n"
    body = "int n; Output<int> y;\n"
    body += "void compute() { int m = n; m++; const int &k = n; *y = twice(n) + k; }"
    assert only(with_vertex(body, before)).refused is None


def test_writes_to_an_input_have_their_line() -> None:
    body = "Input<Vector<float>> x;\nvoid compute() {\n  {};\n}"
    for write in ("x[0] = 1", "x[0] += 1", "x[0]++", "helper()", "*x.begin() = 1"):
        text = with_vertex(body.replace("{}", write))
        if write == "helper()":
            text = text.replace("void compute", "void helper() { x[1] = 2; } void compute")
        if write.startswith("*"):
            codelets(text)  # not found in the text
            continue
        with pytest.raises(
            pl.VertexCompileError, match=r"'V\.x' is an Input, and is written"
        ) as caught:
            codelets(text)
        assert caught.value.at is not None
        assert caught.value.at.line == (5 if write == "helper()" else 6)


def test_writes_to_an_input_of_a_template() -> None:
    text = """#include <poplar/Vertex.hpp>
template <class T> struct V : poplar::Vertex {
  poplar::Input<poplar::Vector<T>> x;
  void compute() { x[0] = T(1); }
};
template struct V<float>;
"""
    with pytest.raises(pl.VertexCompileError, match=r"'V<float>\.x' is an Input"):
        codelets(text)


# -- refused classes -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "why", "line"),
    [
        ('void compute() {\n  asm volatile("setzi $m0, 1" ::: "$m0");\n}', "assembly", 5),
        ('void compute() { helper(); }\nvoid helper() { __asm__("nop"); }', "assembly", 5),
        ("void compute() {\n __builtin_ipu_put(1, 2); }", "__builtin_ipu_put, which only", 5),
        ("void compute() {\n // asm(\n\n runall(); }\nvoid runall();", "starts workers", 7),
        ("bool compute();", "external codelet", 4),
        ("static const bool isExternalCodelet = true; bool compute() {}", "external", 4),
        ("int x[4]; void compute() {}", r"'x' has the type int\[4\]", 4),
        ("Pair x; void compute() {}", "'x' has the type Pair", 4),
        ("Input<Pair> x; void compute() {}", "'x' has the type Pair", 4),
        ("Input<Vector<float2>> x; void compute() {}", "'x' has the type", 4),
        ("Input<long> x; void compute() {}", "'x' is of long", 4),
        ("Input<Vector<quarter>> x; void compute() {}", "'x' is of quarter", 4),
        ("double x; void compute() {}", "'x' has the type double", 4),
        ("Vector<Vector<Vector<int>>> x; void compute() {}", "'x' is a list of vectors", 4),
        ("Vector<Vector<int>> x; void compute() {}", "'x' is a list of vectors that are not", 4),
        ("int x : 3; void compute() {}", "'x' is a bit field", 4),
        ("Vector<int> x;\nvoid compute() { x[0] = 1; }", "changes its member 'x'", 5),
    ],
)
def test_a_class_is_refused_and_others_work(body: str, why: str, line: int) -> None:
    """The rest of the text keeps its lines."""
    before = "struct Pair { int a, b; };\n"
    good = "struct W : Vertex { Output<int> y; void compute() { *y = __LINE__; } };\n"
    text = with_vertex(body, before) + good
    refused, works = codelets(text).codelets
    assert refused.refused is not None
    assert re.search(why, refused.refused.why)
    assert refused.refused.at == CppLine("", line + 1)
    assert OneVertex(text, "W", {"y": 0}).ran().read("y") == works.at.line


def test_functions_that_are_refused_in_included_files(tmp_path: Path) -> None:
    (tmp_path / "a.h").write_text(
        'inline int fast() {\n  asm("$m0");\n  return 1;\n}\nint slow();\n'
    )
    text = with_vertex("Output<int> y; void compute() { *y = fast(); }", '#include "a.h"\n')
    text += "struct W : Vertex { Output<int> y; void compute() { *y = 2; } };\n"
    (tmp_path / "v.cpp").write_text(text)
    refused, _ = codelet_unit(CodeletSource(text, str(tmp_path / "v.cpp"))).codelets
    assert refused.refused is not None
    assert refused.refused.at == CppLine(str(tmp_path / "a.h"), 2)
    assert OneVertex(str(tmp_path / "v.cpp"), "W", {"y": 0}).ran().read("y") == 2


def test_overloads_are_told_apart() -> None:
    before = 'inline int f(float) { asm("x"); return 1; }\ninline int f(int) { return 2; }\n'
    good = "struct W : Vertex { int n; void compute() { f(1); } };\n"
    file = codelets(with_vertex("void compute() { f(1.0f); }", before) + good)
    assert [each.refused is None for each in file.codelets] == [False, True]


def test_comments_and_texts_are_not_assembly() -> None:
    body = 'void compute() { /* asm("x") */ const char *s = "asm(y)"; (void)s; // asm (\n }'
    assert only(with_vertex(body)).refused is None


def test_bases_that_depend_on_arguments() -> None:
    text = """#include <poplar/Vertex.hpp>
namespace n {
template <class T, int N> struct Base : poplar::Vertex { poplar::Output<T> y; };
template <class T> struct V : Base<T, 4> { int m; void compute() { *this->y = 7; } };
template struct V<int>;
template struct V<float>;
}
"""
    found = [[f.name for f in each.fields] for each in codelets(text).codelets]
    assert found == [["y", "m"]] * 2
    assert OneVertex(text, "n::V<float>", {"y": 0, "m": 1}).ran().read("y") == 7


# -- notes -----------------------------------------------------------------------------------------


def test_notes_have_their_lines() -> None:
    text = """#include <poplar/Vertex.hpp>
#ifndef __IPU__
#endif
#ifdef __IPU__
#endif
static int shared;
const int constant = 1;
struct V : poplar::Vertex {
  void compute() { static int turns = 0; static const int k = 1; ++turns; }
};
"""
    assert codelets(text).notes == (
        "text behind #ifdef __IPU__ is not compiled here (line 4)",
        "all tiles share a static variable here; on a machine each tile has its own (line 6, 9)",
    )


# -- errors ----------------------------------------------------------------------------------------


def test_five_errors_of_syntax_are_shown() -> None:
    text = with_vertex("void compute() {\n" + "".join(f"  oops{n};\n" for n in range(9)) + "}")
    with pytest.raises(pl.VertexCompileError, match="undeclared identifier 'oops0'") as caught:
        llvm_text(codelets(text))
    assert caught.value.found.splitlines() == [
        f"<C++ text>:{5 + n}: use of undeclared identifier 'oops{n}'" for n in range(1, 5)
    ]


def test_errors_in_templates_are_found_where_they_are_used() -> None:
    with pytest.raises(pl.VertexCompileError, match="no member named 'none'"):
        llvm_text(codelets(TEMPLATE.replace("b[0] = a[0]", "b[0] = a.none")))


def test_a_missing_include_has_its_line() -> None:
    with pytest.raises(pl.FileLoadError, match="'gone.h' is not found") as caught:
        codelets('#include <poplar/Vertex.hpp>\n#include "gone.h"\n')
    assert caught.value.at is not None
    assert caught.value.at.line == 2


def test_a_text_may_hold_bytes_that_are_not_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "latin.cpp"
    path.write_bytes(b"// r\xe9sum\xe9\n" + with_vertex("InOut<int> x; void compute() {}").encode())
    assert OneVertex(str(path), "V", {"x": 4}).ran().read("x") == 4


def test_a_class_is_refused_for_functions_of_another_text() -> None:
    one = with_vertex("InOut<int> x; void compute() { *x = slow(*x); }", "int slow(int);\n")
    other = HEAD + (
        'static int fast(int x) { asm("f"); return x; }\n'
        "int slow(int x) { return fast(x); }\n"
        "struct W : Vertex { InOut<int> x; void compute() {} };\n"
    )
    graph = pl.Graph(pl.Target(tiles=1))
    graph.add_codelets([one, other])
    x, step = graph.add_variable(pl.INT, (), "x", mapping=0), graph.add_compute_set("step")
    with pytest.raises(
        pl.VertexDefinitionError, match="it calls a function of <C.. text> that only"
    ):
        graph.add_vertex(step, "V", tile=0, x=x)


def test_a_class_is_refused_for_functions_that_no_text_defines() -> None:
    before = "namespace n { int gone(int); }\n" + 'extern "C" float sqrtf(float);\n'
    text = with_vertex("InOut<int> x; void compute() { *x = n::gone(*x); }", before)
    text += "struct W : Vertex { InOut<float> x; void compute() { *x = sqrtf(*x); } };\n"
    with pytest.raises(pl.VertexDefinitionError, match="it calls n::gone, which no text"):
        OneVertex(text, "V", {"x": 1})
    assert OneVertex(text, "W", {"x": 9}).ran().read("x") == 3


def test_special_forms_of_templates_are_definitions() -> None:
    before = """template <class T> T one(T);
template <> inline int one<int>(int x) { return x + 1; }
struct P { int n; P &operator=(const P &) = default; friend int of(const P &p) { return p.n; } };
"""
    body = "InOut<int> x; void compute() { P p; p = P{one(*x)}; *x = of(p); }"
    text = with_vertex(body, before)
    text += "template <class T> struct W : Vertex { InOut<T> x; void compute(); };\n"
    text += "template <> void W<int>::compute() { *x += 10; }\ntemplate struct W<int>;\n"
    assert OneVertex(text, "V", {"x": 1}).ran().read("x") == 2
    assert OneVertex(text, "W<int>", {"x": 1}).ran().read("x") == 11
