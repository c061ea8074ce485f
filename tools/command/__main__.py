"""`python -m poplite.tools.command` is `poplite`."""

import sys

from poplite.tools.command.main import main

sys.exit(main())
