"""Every signature of the stand-in is listed with the page that documents it, and no other is.

Parameters at the end that have a value of their own in Poplar, and that the host program leaves
out, are left out here too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.codelets import NATIVE, STAND_IN
from poplite.ipu.building import host_text

LIST = STAND_IN / "signatures.tsv"
OWN = "// of the stand-in"

SEEN = (
    "https://github.com/graphcore/popart/blob/c0652ffdc6c8eedf1bb83537220243e39439c321/"
    "willow/src/popx/devicex.cpp"
)
"""Where what no page tells about is used."""

HEADERS = sorted(file for own in (STAND_IN, NATIVE) for file in (own / "poplar").glob("*.hpp"))


def listed() -> list[tuple[str, str]]:
    """Return page and signature of each row."""
    rows = LIST.read_text(encoding="utf-8").splitlines()
    return [(page, signature) for page, signature in (row.split("\t") for row in rows)]


def declared(header: Path) -> Iterator[str]:
    """Yield what a header declares for its users, each with its class before it."""
    scopes: list[tuple[str, int]] = []
    depth, is_public = 0, True
    for line in header.read_text(encoding="utf-8").splitlines():
        text = re.sub(r"\s*//.*", "", line).strip()
        if text.endswith("public:"):
            is_public = True
        elif text.endswith(("private:", "protected:")):
            is_public = False
        elif found := re.search(r"POPLAR_ERROR\((\w+), (\w+)\)", text):
            if found[1] != "name":
                yield f"{found[1]} : {found[2]}"
        elif text and not text.startswith("#") and OWN not in line and is_public:
            yield from _declaration(text, [name for name, _ in scopes])
        opened = re.match(r"(?:template <.*> )?(?:class|struct) (\w+)[^;]*\{$", text)
        if opened:
            scopes.append((opened[1], depth))
            is_public = text.startswith("struct")
        depth += text.count("{") - text.count("}")
        while scopes and depth <= scopes[-1][1]:
            scopes.pop()
            is_public = True


def _declaration(text: str, scopes: list[str]) -> Iterator[str]:
    if text.startswith(("namespace", "using", "}", "return", "throw", "if ")):
        return
    if text.startswith("extern const Type "):
        yield from (f"const Type {name}" for name in re.findall(r"[A-Z_]+", text[18:]))
        return
    is_function = "(" in text and not text.endswith((",", "{"))
    is_enum = text.startswith("enum class")
    if is_function or is_enum or (scopes and re.fullmatch(r"unsigned \w+ = \d+;", text)):
        signature = re.split(r"\) : | \{ (?=return|\})| = default;| = delete;", f"{text}")[0]
        if ") : " in text:
            signature += ")"
        yield ": ".join([*scopes[-1:], signature.removesuffix(";").removesuffix(" {}")])


def signatures() -> list[str]:
    """Return what all headers declare."""
    return [each for header in HEADERS for each in declared(header)]


def test_every_signature_is_listed_once_and_every_row_is_one() -> None:
    found, rows = signatures(), [signature for _, signature in listed()]
    assert sorted(set(found) - set(rows)) == []
    assert sorted(set(rows) - set(found)) == []
    assert len(rows) == len(set(rows))


def test_every_row_names_its_page() -> None:
    pages = re.compile(r"https://docs\.graphcore\.ai/projects/[\w-]+/en/[\w./-]+\.html")
    assert {page for page, _ in listed() if not pages.fullmatch(page)} == {SEEN}


@pytest.mark.parametrize("name", ["Graph", "Tensor", "Engine", "Copy", "half"])
def test_signatures_are_found(name: str) -> None:
    assert any(each.startswith(f"{name}: ") for each in signatures())


def test_the_host_program_includes_documented_headers_only() -> None:
    included = re.findall(r"#include <(poplar/\w+\.hpp)>", host_text("host.cpp"))
    assert included
    assert set(included) <= {f"poplar/{header.name}" for header in HEADERS}
    assert "stand_in" not in host_text("host.cpp")
