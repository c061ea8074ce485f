"""`python -m poplite` is the command `poplite`."""

import sys

from poplite.tools.command import main

sys.exit(main())
