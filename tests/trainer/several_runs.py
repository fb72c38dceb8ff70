"""Runs the trainer's command line several times in one process: `torchrun -m tests.trainer.several_runs LIST.json`.

Each run meets on a port of its own: a second group on the launcher's store would find the first one's addresses.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
from pathlib import Path

from trainer.__main__ import main

if __name__ == "__main__":
    os.environ["TORCHELASTIC_USE_AGENT_STORE"] = "False"
    for port, arguments in json.loads(Path(sys.argv[1]).read_text()):
        os.environ["MASTER_PORT"] = str(port)
        faulthandler.dump_traceback_later(200, exit=True)  # a hang tells where it hangs
        code = main(arguments)
        print("exit", code, *arguments[:1], flush=True)
