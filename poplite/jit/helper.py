"""A process that makes native code for another one, see `poplite.jit.side_by_side`.

It reads jobs, one per line, as JSON, from standard input, and writes the size and the content of
each cache file to a pipe; the size is -1 where something went wrong.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from poplite.jit.job import Job


def main() -> None:
    """Do jobs until standard input ends.

    The arguments of the process are the number of the pipe, and where poplite is: another poplite
    would make other code.
    """
    pipe, place = sys.argv[1:]
    if str(Path(__file__).parents[2]) != place:
        return
    with open(int(pipe), "wb") as answers:
        for line in sys.stdin.buffer:
            name, maker, arguments = json.loads(line)
            try:
                content = Job(name, maker, tuple(arguments)).content()
            except Exception:  # the other process does it again, and reports what is wrong
                answers.write(b"-1\n")
            else:
                answers.write(b"%d\n%b" % (len(content), content))
            answers.flush()
