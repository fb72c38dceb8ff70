"""``PYTHON -I -S __main__.py environment|machine REQUEST ANSWER``: run one of the two probes that only read files.

This file parses on every Python there is, so that an old one can at least say which it is. It is started by its own
path: running its folder would load the modules of ``python -m`` first, a fifth of the whole time.
"""

import gc
import os
import sys


def main(program, request, answer):  # type: ignore[no-untyped-def]
    if sys.version_info < (3, 8):
        with open(answer, "w") as stream:
            version = "%d.%d.%d" % sys.version_info[:3]
            value = '{"version": "%s", "executable": "%s"}' % (version, sys.executable)
            stream.write('{"section": "interpreter", "result": "success", "value": %s}\n' % value)
        return
    gc.disable()  # tens of thousands of small tuples are made and none is given back before the end
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    module = __import__("probe." + program + ".answer", fromlist=["main"])
    del sys.path[0]  # nothing in that folder may hide a module of the standard library
    module.main(request, answer)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3])  # type: ignore[no-untyped-call]
