r"""Words in pictures: sizes, names on one line, lines that fit columns, colours of a terminal.

A CJK letter or an emoji takes two cells, an accent that joins the letter before it none.
Names that run from right to left are closed by a mark, or the numbers behind them would
be drawn in front.

    >>> cells("wide"), cells("\u5e83\u3044"), cells("e\u0301")
    (4, 4, 1)
    >>> size_text(638_976), shape_text((64, 128))
    ('638,976 B', '[64, 128]')
    >>> Style().warning("! over"), Style(color=True).warning("! over")
    ('! over', '\x1b[1;31m! over\x1b[0m')
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from unicodedata import bidirectional, category, east_asian_width

from poplite.frozen import frozen
from poplite.text import printable


def size_text(size_bytes: int) -> str:
    """Return a size in bytes with separators and unit.

    >>> size_text(4096)
    '4,096 B'
    """
    return f"{size_bytes:,} B"


def shape_text(shape: Sequence[int]) -> str:
    """Return a shape as it follows an element type.

    >>> shape_text((64, 128))
    '[64, 128]'
    """
    return "[" + ", ".join(str(n) for n in shape) + "]"


def name_text(name: str) -> str:
    r"""Return a name on one line, with escapes for what cannot be printed.

    >>> print(name_text("two\nlines"))
    two\nlines
    """
    return printable(name)


def parts_of_name(name: str) -> list[str]:
    """Return the scopes in a name, and last its own part; text in brackets is one part.

    >>> parts_of_name("net/layer/w"), parts_of_name("net/e[like net/mm]")
    (['net', 'layer', 'w'], ['net', 'e[like net/mm]'])
    """
    return re.split(r"/(?![^\[]*\])", name)


def share_text(share: float) -> str:
    """Return a part of a whole in percent, with one digit.

    >>> share_text(0.759), share_text(0.0002), share_text(0)
    ('75.9%', '<0.1%', '0.0%')
    """
    return "<0.1%" if 0 < share < 0.0005 else f"{100 * share:.1f}%"


LEFT_TO_RIGHT = "\u200e"
"""A mark without width: what follows runs from left to right."""

KEPT = "\u00a0"
"""A blank at which no line breaks."""

LEAST_NAME = 8
"""Cells that are left of a name, however little room there is."""


def cells(text: str) -> int:
    """Return how many columns of a terminal a line of text takes.

    >>> cells("blur")
    4
    """
    return len(text) if text.isascii() else sum(map(_cells, text))


def _cells(character: str) -> int:
    if category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


def cut(text: str, room: int) -> str:
    """Return a line that fits `room` cells (3 at least), its middle left out where it is too long.

    >>> cut("model/block4/conv/weights", 16), cut("blur", 16)
    ('model/b...eights', 'blur')
    """
    if cells(text) <= room:
        return text
    left = (room - 3) - (room - 3) // 2
    return f"{_first(text, left)}...{_first(text[::-1], room - 3 - left)[::-1]}"


def _first(text: str, room: int) -> str:
    taken = 0
    for k, character in enumerate(text):
        taken += _cells(character)
        if taken > room:
            return text[:k]
    return text


def quoted(name: str, room: int) -> str:
    r"""Return a name in quotes on one line, its middle left out where it has over `room` cells.

    >>> quoted("two\nlines", 40), quoted("model/block4/conv/weights", 16)
    ("'two\\nlines'", "'model/b...eights'")
    """
    shown = cut(name_text(name), max(room, LEAST_NAME))
    mark = LEFT_TO_RIGHT if any(bidirectional(c) in ("R", "AL") for c in shown) else ""
    return f"'{shown}{mark}'"


def filled(pattern: str, names: tuple[str, ...], room: int) -> str:
    """Fill quoted names into a pattern; the longest are shortened until it fits `room` cells.

    >>> filled("Copy {} -> {}", ("a", "model/block4/conv/weights"), 30)
    "Copy 'a' -> 'model/...eights'"
    """
    left = room - cells(pattern.replace("{}", "''"))
    wide = {k: cells(name_text(name)) for k, name in enumerate(names)}
    shown: dict[int, str] = {}
    for k in sorted(wide, key=lambda k: wide[k]):
        share = min(wide[k], left // (len(names) - len(shown)))
        shown[k] = quoted(names[k], share)
        left -= share
    return pattern.format(*(shown[k] for k in range(len(names))))


def pattern_of(text: str) -> str:
    """Return a text as a part of a pattern.

    >>> filled(pattern_of("{x}: ") + "Copy {}", ("a",), 30)
    "{x}: Copy 'a'"
    """
    return text.replace("{", "{{").replace("}", "}}")


def names_in(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a text as a pattern with {} for each name in quotes, and these names.

    >>> names_in("Copy 'images' -> 'x'")
    ('Copy {} -> {}', ('images', 'x'))
    """
    parts = re.split(r"'(.*?)'(?=$|[ ,])", text, flags=re.DOTALL)
    return "{}".join(map(pattern_of, parts[::2])), tuple(parts[1::2])


def shortened(text: str, room: int) -> str:
    """Return a text whose names in quotes are shortened where it does not fit, to a few cells.

    >>> shortened("Copy 'a' -> 'model/block4/conv/weights'", 30)
    "Copy 'a' -> 'model/...eights'"
    """
    return filled(*names_in(text), room)


def fitted(text: str, room: int) -> str:
    """Return a line that fits `room` cells; names in quotes are shortened first, then its middle.

    >>> fitted("Copy 'a' -> 'model/block4/conv/weights'", 20)
    "Copy 'a' ...od...ts'"
    """
    return cut(shortened(text, room), room)


def wrapped(text: str, width: int) -> list[str]:
    """Break a text into lines of at most `width` cells between words; wider words are shortened.

    >>> wrapped(f"tile{KEPT}37 needs more", 8)
    ['tile 37', 'needs', 'more']
    """
    lines = [""]
    for word in re.findall(rf"(?:\S|{KEPT})+", text):
        longer = f"{lines[-1]} {cut(word.replace(KEPT, ' '), width)}".lstrip()
        if lines[-1] and cells(longer) > width:
            lines.append(cut(word.replace(KEPT, " "), width))
        else:
            lines[-1] = longer
    return lines


def folded(line: str, width: int) -> list[str]:
    """Break a line of a table at blanks where it takes more than `width` cells (30 at least).

    All parts but the first are indented by four cells more than the line, and by twelve at most.

    >>> folded("  Spent on:    compute 83.0%, exchange 3.0%, sync 1.6%", 40)
    ['  Spent on:    compute 83.0%, exchange', '      3.0%, sync 1.6%']
    """
    indent = min(len(line) - len(line.lstrip()) + 4, 12)
    lines = []
    while cells(line) > width:
        head = _first(line, width + 1)  # a blank may follow the last cell
        at = head.rfind(" ", indent + 1)
        at = len(_first(line, width)) if at < 0 else at
        lines.append(line[:at].rstrip())
        line = " " * indent + line[at:].lstrip()
    return [*lines, line]


def widest(choices: Sequence[int], room: int) -> int:
    """Return the first number of columns that fits, else the last.

    >>> widest((64, 32, 24), 40), widest((64, 32, 24), 9)
    (32, 24)
    """
    return next((number for number in choices if number <= room), choices[-1])


LEAST_COLUMNS = 40
"""Width that every text picture may count on."""

MOST_COLUMNS = 10_000
"""Width that no text picture goes beyond."""

CATEGORY_CODES = ("38;5;32", "38;5;214", "38;5;36", "38;5;175", "38;5;117", "38;5;227")
"""The Okabe-Ito colours of `colors.CATEGORIES`, nearest of a terminal's 256."""


@frozen
class Style:
    """The style of a text picture.

    Attributes:
        color: whether escape codes may be written.
        ascii_only: whether to keep to ASCII.
        width: columns to fit.
        full: whether to write all lines, however many.
    """

    color: bool = False
    ascii_only: bool = False
    width: int = 80
    full: bool = False

    @property
    def columns(self) -> int:
        """The columns to fit, from `LEAST_COLUMNS` to `MOST_COLUMNS`."""
        return max(min(self.width, MOST_COLUMNS), LEAST_COLUMNS)

    def _coded(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.color and text else text

    def bold(self, text: str) -> str:
        r"""Return a title, or a part of one.

        >>> Style(color=True).bold("x")
        '\x1b[1mx\x1b[0m'
        """
        return self._coded(text, "1")

    def faint(self, text: str) -> str:
        r"""Return text that frames a picture.

        >>> Style(color=True).faint("x")
        '\x1b[2mx\x1b[0m'
        """
        return self._coded(text, "2")

    def shade(self, text: str) -> str:
        r"""Return cells of a quantity; those marked `!` as warnings.

        >>> Style(color=True).shade("##!")
        '\x1b[36m##\x1b[0m\x1b[1;31m!\x1b[0m'
        """
        parts = text.split("!")
        return self.warning("!").join(self._coded(part, "36") for part in parts)

    def warning(self, text: str) -> str:
        r"""Return text about something wrong.

        >>> Style(color=True).warning("x")
        '\x1b[1;31mx\x1b[0m'
        """
        return self._coded(text, "1;31")

    def category(self, text: str, number: int) -> str:
        """Return text in the colour of a category; numbers beyond the last colour start again.

        >>> Style(color=True).category("x", 7) == Style(color=True).category("x", 1)
        True
        """
        return self._coded(text, CATEGORY_CODES[number % len(CATEGORY_CODES)])


DEFAULT_STYLE = Style()
