r"""How text pictures look in a terminal: colours, or none, and the character set.

>>> Style().warning("! over"), Style(color=True).warning("! over")
('! over', '\x1b[1;31m! over\x1b[0m')
"""

from __future__ import annotations

from poplite.frozen import frozen

LEAST_COLUMNS = 40
"""Width that every text picture may count on."""

MOST_COLUMNS = 10_000
"""Width that no text picture goes beyond."""

CATEGORY_CODES = ("38;5;32", "38;5;214", "38;5;36", "38;5;175", "38;5;117", "38;5;227")
"""The Okabe-Ito colours of `colors.CATEGORIES`, nearest of a terminal's 256."""


@frozen
class Style:
    """What a text picture may use.

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
