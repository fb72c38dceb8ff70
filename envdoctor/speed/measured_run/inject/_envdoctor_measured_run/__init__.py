"""Loaded at the start of every Python below ``envdoctor run --measure``; waits for torch, and does nothing without it.

It is loaded through PYTHONWARNINGS: while Python reads the filter "ignore::_envdoctor_measured_run.Never" it imports
the module of that category, before `site` runs. So nothing of the user's is replaced: no sitecustomize, no .pth file.
The filter itself ignores a warning that nobody gives. Any Python may come by: this file is read by the oldest too, the
others of its folder by Python 3.8 and later. Only the standard library is used.
"""

import os
import sys


class Never(Warning):
    """The category of the filter: never given."""


if sys.version_info >= (3, 8) and os.environ.get("ENVDOCTOR_MEASURED_RUN"):
    from . import waiting

    waiting.wait_for_torch()
