"""Where a picture goes: standard output or a file, and in which form.

The format is what `--format` says, else what the file's suffix says, else text.  A folder
that does not exist is found before the user's program runs, not after.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from poplite.errors import FileLoadError
from poplite.viz.files import check_folder, write_text
from poplite.viz.terminal import Style

SUFFIXES = {".txt": "txt", ".svg": "svg"}


@dataclass(frozen=True, slots=True)
class Destination:
    """A file or standard output.

    Attributes:
        path: the file; None is standard output.
        format: `txt` or `svg`.
        style: what text may use there.
        quiet: whether to keep silent about a written file.
    """

    path: Path | None
    format: str
    style: Style
    quiet: bool

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> Destination:
        """Read the common flags.

        Args:
            arguments: with `output`, `format`, `color` and `quiet`.

        Raises:
            FileLoadError: when the suffix is not known, or the folder does not exist.

        >>> flags = argparse.Namespace(output="a.svg", format=None, color="never", quiet=True)
        >>> Destination.of(flags).format
        'svg'
        """
        if arguments.output == "-":
            encoding = sys.stdout.encoding or "ascii"
            style = Style(color=_color(arguments.color), ascii_only=not _has_blocks(encoding))
            return cls(None, arguments.format or "txt", style, arguments.quiet)
        path = check_folder(arguments.output)
        chosen = arguments.format or SUFFIXES.get(path.suffix.lower())
        if chosen is None:
            raise FileLoadError(
                f"cannot tell the format of {arguments.output!r} from its suffix {path.suffix!r}",
                found=f"known are {', '.join(SUFFIXES)}",
                fix=f"-o {path.with_suffix('.svg')}, or add --format svg",
            )
        return cls(path, chosen, Style(color=arguments.color == "always"), arguments.quiet)

    @property
    def is_stdout(self) -> bool:
        """Whether it is standard output."""
        return self.path is None

    def write(self, text: str) -> None:
        """Write a picture, and say so on standard error when it is a file.

        Args:
            text: the whole picture.

        Raises:
            FileLoadError: when the file cannot be written.
        """
        if self.path is None:
            encoding = sys.stdout.encoding or "ascii"
            sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
            sys.stdout.flush()
            return
        write_text(self.path, text)
        if not self.quiet:
            print(f"wrote {self.path}", file=sys.stderr)


def _color(choice: str) -> bool:
    if choice != "auto":
        return choice == "always"
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not plain


def _has_blocks(encoding: str) -> bool:
    try:
        "▁█│▒".encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
