"""``PYTHON -I -S __main__.py environment|machine REQUEST ANSWER [MACHINE_ANSWER]``: run a probe that only reads files.

With a second answer the machine is looked at too, once the environment has been: one start of Python less.

This file parses on every Python there is, so that an old one can at least say which it is. It is started by its own
path: running its folder would load the modules of ``python -m`` first, a fifth of the whole time.
"""

import gc
import os
import sys


def main(program, request, answer, machine_answer=None):  # type: ignore[no-untyped-def]
    if sys.version_info < (3, 8):
        with open(answer, "w") as stream:
            version = "%d.%d.%d" % sys.version_info[:3]
            value = '{"version": "%s", "executable": "%s"}' % (version, sys.executable)
            stream.write('{"section": "interpreter", "result": "success", "value": %s}\n' % value)
        return
    gc.disable()  # tens of thousands of small tuples are made and none is given back before the end
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    module = __import__("probe." + program + ".answer", fromlist=["main"])
    machine = __import__("probe.machine.answer", fromlist=["main"]) if machine_answer else None
    del sys.path[0]  # nothing in that folder may hide a module of the standard library
    module.main(request, answer)
    if machine is not None:
        machine.main(request, machine_answer)


if __name__ == "__main__":
    main(*sys.argv[1:5])  # type: ignore[no-untyped-call]
