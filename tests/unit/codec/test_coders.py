"""Values of many records are written and read together, as each alone is."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

import pytest
from hypothesis import given, strategies as st

from helpers.depth import examples
from poplite.codec.archive import ArrayReader
from poplite.codec.codec import Codec, Reader, Writer, decoded
from poplite.codec.loading import Malformed
from poplite.errors import ControlProgramError
from poplite.frozen import frozen


@frozen
class Leaf:
    """Has one of each kind of plain values."""

    number: int
    name: str
    on: bool
    weight: float
    kind: Literal["oak", "elm"]
    pair: tuple[int, str]


@frozen
class Twig:
    """Refuses a number, and has defaults."""

    leaves: tuple[Leaf, ...] = ()
    number: int = 7
    names: list[str] = field(default_factory=list)
    by_name: Mapping[str, int] = field(default_factory=dict)
    only: Leaf | None = None

    def __post_init__(self) -> None:
        if self.number == 13:
            raise ControlProgramError("thirteen twigs")


@frozen
class Tree:
    """Lends its number, and has things of several classes."""

    tall: int = field(metadata={"lends": True})
    parts: tuple[Twig | Leaf | None, ...]
    given: int = field(default=3, metadata={"saved": False})


@frozen
class Bird:
    """Borrows the number of its tree."""

    name: str
    tall: int = field(metadata={"saved": False})


@frozen
class Wood:
    """Has a tree, and birds that know how tall it is."""

    tree: Tree
    birds: tuple[Bird, ...]


CODEC = Codec({})
WOOD = CODEC.coder_of(Wood)

whole = st.integers(-(1 << 63), (1 << 63) - 1)
names = st.text("abc", max_size=3)
leaves = st.builds(
    Leaf,
    whole,
    names,
    st.booleans(),
    st.floats(allow_nan=False),
    st.sampled_from(["oak", "elm"]),
    st.tuples(whole, names),
)
twigs = st.builds(
    Twig,
    st.lists(leaves, max_size=3).map(tuple),
    st.sampled_from([7, 8, -1]),
    st.lists(names, max_size=2),
    st.dictionaries(names, whole, max_size=2),
    st.none() | leaves,
)
trees = st.builds(Tree, whole, st.lists(twigs | leaves | st.none(), max_size=6).map(tuple))


@st.composite
def woods(draw: st.DrawFn) -> Wood:
    """A tree with birds."""
    tree = draw(trees)
    called = draw(st.lists(names, max_size=3))
    return Wood(tree, tuple(Bird(name, tree.tall) for name in called))


def reader() -> Reader:
    return Reader(ArrayReader({}), (), (), ())


@examples(200, quick=20)
@given(woods())
def test_all_are_read_as_they_were(wood: Wood) -> None:
    data = WOOD.encode(wood, Writer())
    assert WOOD.decode(data, reader()) == wood
    slow = reader()
    slow.one_by_one = True
    assert WOOD.decode(data, slow) == wood


def test_defaults_are_left_out_record_by_record() -> None:
    tree = Tree(1, (Twig(number=8), Twig(only=None), Twig(number=int("7"))))
    data = CODEC.coder_of(Tree).encode(tree, Writer())
    assert list(data) == ["tall", "parts"]
    assert [set(part) for _, part in data["parts"]] == [
        {"number", "names", "by_name"},
        {"names", "by_name"},
        {"names", "by_name"},
    ]


GOOD: dict[str, Any] = {
    "tree": {
        "tall": 9,
        "parts": [
            None,
            ["Twig", {"leaves": [], "names": [], "by_name": []}],
            [
                "Leaf",
                {
                    "number": 1,
                    "name": "a",
                    "on": True,
                    "weight": "0x1p+0",
                    "kind": "oak",
                    "pair": [1, "b"],
                },
            ],
        ],
    },
    "birds": [{"name": "tit"}, {"name": "owl"}],
}


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ("tree parts 2 1 number", "1", "tree.parts[2].number: '1' is not of type int"),
        ("tree parts 2 1 number", True, "tree.parts[2].number: True is not of type int"),
        ("tree parts 2 1 number", 1 << 63, "tree.parts[2].number: 9223372036854775808 is not"),
        ("tree parts 2 1 on", 1, "tree.parts[2].on: 1 is not of type bool"),
        ("tree parts 2 1 kind", "ash", "tree.parts[2].kind: 'ash' is not one of"),
        ("tree parts 2 1 kind", ["oak"], "tree.parts[2].kind: ['oak'] is not one of"),
        ("tree parts 2 1 pair", [1], "tree.parts[2].pair: 1 values, but 2 are needed"),
        ("tree parts 2 1 pair 1", 5, "tree.parts[2].pair: 5 is not of type str"),
        ("tree parts 2 1 more", 5, "is not a valid Leaf"),
        ("tree parts 2", ["Leaf", {}], "a Leaf has no 'kind'"),
        ("tree parts 2", ["Leaf", None], "tree.parts[2]: None is not a valid Leaf"),
        ("tree parts 2", ["Ash", {}], "is not one of Twig | Leaf | None"),
        ("tree parts 2", ["Leaf"], "is not one of Twig | Leaf | None"),
        ("tree parts 1 1 number", 13, "tree.parts[1]: thirteen twigs"),
        ("tree parts 1 1 leaves", {}, "tree.parts[1].leaves: {} is not a valid list"),
        ("tree parts 1 1 by_name", [["a", 1], ["a", 1]], "'a' is there twice"),
        ("tree parts 1 1 by_name", [["a", "b"]], "tree.parts[1].by_name['a']: 'b' is not"),
        ("birds 1 name", 5, "birds[1].name: 5 is not of type str"),
        ("birds 1 tall", 5, "is not a valid Bird"),
        ("birds 1", [], "birds[1]: [] is not a valid Bird"),
    ],
)
def test_the_message_says_what_is_wrong_and_where(path: str, value: Any, told: str) -> None:
    data = copy.deepcopy(GOOD)
    assert decoded(WOOD, data, reader()).birds[1] == Bird("owl", 9)
    place: Any = data
    *above, last = [int(part) if part.isdigit() else part for part in path.split()]
    for part in above:
        place = place[part]
    place[last] = value
    with pytest.raises(Malformed) as caught:
        decoded(WOOD, data, reader())
    assert told in str(caught.value)


def test_values_of_other_types_are_not_written() -> None:
    wrong: Any = Leaf(1, 2, True, 1.0, "oak", (1, "a"))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"Leaf\.name is 2, not str"):
        CODEC.coder_of(Leaf).encode(wrong, Writer())
