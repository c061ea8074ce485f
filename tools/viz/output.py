"""The destination of a picture, standard output or a file, and its format.

The format is given by `--format`, else by the file's suffix, else it is text. A missing folder is
reported before the user's program runs.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from poplite.files import check_folder, write_bytes, write_text
from poplite.frozen import frozen
from poplite.tools.viz.flags import command, drawn_width, file_error
from poplite.tools.viz.progress import doing
from poplite.viz.draw.words import Style

if TYPE_CHECKING:
    from poplite.viz.draw.svg import SvgText
    from poplite.viz.painters import PictureData


SUFFIXES = ("txt", "svg", "json", "csv", "md", "html", "gv", "dot", "png", "pdf")


@frozen
class Destination:
    """A file or standard output.

    Attributes:
        path: the file; None for standard output.
        format: one of the formats that the subcommand offers.
        style: the text style for it.
        quiet: whether to omit the report of a written file.
    """

    path: Path | None
    format: str
    style: Style
    quiet: bool

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> Destination:
        """Read the common flags.

        Raises FileLoadError if the subcommand does not offer the format of the suffix, the folder
        does not exist, the file is also an input, or standard output is closed.

        >>> from poplite.tools.viz.flags import add_picture
        >>> parser = argparse.ArgumentParser()
        >>> add_picture(parser, formats=("txt", "svg"))
        >>> Destination.of(parser.parse_args(["heat.py:build", "-o", "a.svg"])).format
        'svg'
        """
        if arguments.output == "-":
            ascii_only = not _has_blocks(_encoding())
            style = Style(color=_color(arguments.color), ascii_only=ascii_only)
            return cls(None, arguments.format or arguments.formats[0], style, arguments.quiet)
        path = check_folder(arguments.output)
        _check_inputs(path, arguments)
        forms = ((each, "dot" if each == "gv" else each) for each in SUFFIXES)
        known = {f".{suffix}": form for suffix, form in forms if form in arguments.formats}
        chosen = arguments.format or known.get(path.suffix.lower())
        if chosen is None:
            raise file_error(
                f"{arguments.output!r} must have a known suffix; found {path.suffix!r}",
                found=f"known suffixes are {', '.join(known)}",
                fix=f"pass -o {path.with_suffix('.svg')}, or add --format svg",
            )
        style = Style(color=arguments.color == "always", full=True)
        return cls(path, chosen, style, arguments.quiet)

    def text_style(self, arguments: argparse.Namespace) -> Style:
        """Return the style of a picture as text, with the width from its flag."""
        full = self.style.full or getattr(arguments, "all_rows", False)
        return replace(self.style, width=drawn_width(arguments), full=full)

    def draw(self, picture: PictureData, arguments: argparse.Namespace, *words: str) -> None:
        """Draw a picture in its format and write it; a page shows the command with `words`.

        A subcommand offers only formats that its pictures have.
        """
        doing("drawing")
        match self.format:
            case "svg" | "png":
                self.write_picture(picture.svg())
            case "json":
                self.write(picture.json())
            case "csv":
                self.write(picture.csv())
            case "md":
                self.write(picture.markdown())
            case "html":
                self.write(picture.page(command(*words)))
            case _:
                self.write(picture.text(self.text_style(arguments)))

    def write_picture(self, picture: SvgText) -> None:
        """Write a picture as SVG or PNG; without resvg_py, write SVG in place of PNG and raise."""
        from poplite.viz.draw.svg import INSTALL, is_possible

        if self.format != "png" or is_possible():
            self.write(picture.png() if self.format == "png" else picture)
            return
        instead = "" if self.path is None else str(picture.write(self.path.with_suffix(".svg")))
        raise file_error(
            "cannot draw a PNG: resvg_py is not installed",
            found=f"wrote {instead!r} instead" if instead else "",
            fix=f"run {INSTALL}, or pass --format svg",
        )

    def write(self, picture: str | bytes) -> None:
        """Write a picture; if the destination is a file, report it on standard error.

        Raises FileLoadError if the file or standard output cannot be written.
        """
        if self.path is None:
            write_stdout(picture)
            return
        if isinstance(picture, bytes):
            write_bytes(self.path, picture)
        else:
            write_text(self.path, picture)
        if not self.quiet:
            print(f"wrote {self.path}", file=sys.stderr)


INPUTS = ("target", "later", "before", "after")
"""Arguments that name an input: a file, or a target in a file."""


def _check_inputs(path: Path, arguments: argparse.Namespace) -> None:
    """Reject a destination that is also an input, which would be overwritten."""
    for name in INPUTS:
        place = getattr(arguments, name, None) or ""
        for read in (place, place.rpartition(":")[0], *getattr(arguments, "vertices", ())):
            if path.exists() and os.path.isfile(read) and path.samefile(read):
                raise file_error(
                    f"-o {arguments.output} would overwrite the input {read!r}",
                    fix="use a different file for the picture",
                )


def write_stdout(picture: str | bytes) -> None:
    """Write to standard output; characters that it cannot encode become question marks.

    A reader that stops early (`head`, a pager) is not an error. Raises FileLoadError if standard
    output is closed or cannot be written.


    >>> write_stdout("4 tiles")
    4 tiles
    """
    encoding = _encoding()
    try:
        if isinstance(picture, bytes):
            sys.stdout.buffer.write(picture)
        else:
            sys.stdout.write(picture.encode(encoding, "replace").decode(encoding))
        sys.stdout.flush()
    except OSError as error:
        # Discard the rest; otherwise Python would fail on it again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise file_error(
                f"cannot write to standard output: {error.strerror or error}",
                fix="pass -o FILE, on a disk with enough space",
            ) from error


def _encoding() -> str:
    if sys.stdout is None:  # closed by a shell with  >&-
        raise file_error("cannot write to standard output: it is closed", fix="pass -o FILE")
    return sys.stdout.encoding or "ascii"


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
