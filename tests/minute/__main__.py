"""``python -m tests.minute [frictions boxes meetings]``: write tests/FIRST_MINUTE.md anew, or these parts of it."""

import sys

from tests.minute.page import PARTS, write

raise SystemExit(write(sys.argv[1:] or PARTS))
