"""A process that makes native code for another one, see `poplite.jit.side_by_side`.

It reads a job a line, as JSON, from standard input, and writes the size and the content of its
cache file to standard output; the size is -1 where something went wrong.
"""

from __future__ import annotations

import json
import os
import sys

from poplite.jit.job import Job


def main() -> None:
    """Do jobs until standard input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints must not come between
    for line in sys.stdin.buffer:
        name, maker, arguments = json.loads(line)
        try:
            content = Job(name, maker, tuple(arguments)).content()
        except Exception:  # the process that asks does it again, and says what is wrong
            answers.write(b"-1\n")
        else:
            answers.write(b"%d\n%b" % (len(content), content))
        answers.flush()


if __name__ == "__main__":
    main()
