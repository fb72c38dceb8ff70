"""``PYTHON -I -S envdoctor/probe environment|machine REQUEST ANSWER``: run one of the two file-reading probes.

Python puts this folder first on ``sys.path``, even in isolated mode. It is taken off again as soon as the probe is
loaded, so that nothing here can hide a module of the standard library.
"""

import importlib
import sys

if __name__ == "__main__":
    program = importlib.import_module(sys.argv[1] + ".answer")
    del sys.path[0]
    program.main(sys.argv[2], sys.argv[3])
