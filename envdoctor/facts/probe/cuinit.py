"""``PYTHON -I -S cuinit.py ANSWER``: does CUDA start here? Answers the code of cuInit and what the driver supports.

cuInit can take seconds, hang in a sick driver or take the process down, so it has a process of its own. NVML alone
proves little: with mismatched libraries (error 803), or while the fabric manager does not run (802), it answers as if
all were well.
"""

from __future__ import annotations

import ctypes
import json
import sys
from typing import Any, Dict


def main(answer_path: str) -> None:
    answer: Dict[str, Any] = {"result": "success", "cuinit": None, "cuda": None}
    try:
        library = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError as error:
        answer = {"result": "error", "error": str(error)}
    else:
        version = ctypes.c_int(0)
        if library.cuDriverGetVersion(ctypes.byref(version)) == 0 and version.value:
            answer["cuda"] = "%d.%d" % (version.value // 1000, version.value % 1000 // 10)
        answer["cuinit"] = library.cuInit(0)
    with open(answer_path, "w", encoding="ascii") as stream:
        stream.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
