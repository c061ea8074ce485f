"""`python -m poplite.tools.viz` is `poplite-viz`."""

import sys

from poplite.tools.viz.main import main

sys.exit(main())
