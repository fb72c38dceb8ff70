"""Messages that a person writes with other capitals than the tool that says them, in a title above all.

Most rules look for a tool's words as it writes them, since a name's capitals tell it from another. Where only its case
differs, a sentence that is known gets the tool's own.
"""

from __future__ import annotations

import builtins
import re

from envdoctor.values.pattern import Pattern

_SENTENCES = (
    "no kernel image is available for execution on the device",
    "device kernel image is invalid",
    "invalid device function",
    "is not compatible with the current PyTorch installation",
    "Torch not compiled with CUDA enabled",
    "No CUDA GPUs are available",
    "no CUDA-capable device is detected",
    "Found no NVIDIA driver on your system",
    "The NVIDIA driver on your system is too old",
    "CUDA driver version is insufficient for CUDA runtime version",
    "CUDA driver initialization failed",
    "forward compatibility was attempted on non supported HW",
    "the provided PTX was compiled with an unsupported toolchain",
    "CUDA out of memory",
    "device-side assert triggered",
    "an illegal memory access was encountered",
    "misaligned address",
    "unspecified launch failure",
    "Expected all tensors to be on the same device",
    "Cannot find a working triton installation",
    "operator torchvision::nms does not exist",
    "Driver/library version mismatch",
    "cannot open shared object file",
    "No module named",
    "cannot import name",
    "has no attribute",
    "got an unexpected keyword argument",
    "partially initialized module",
    "Could not load library libcudnn",
    "numpy.core.multiarray failed to import",
    "numpy.dtype size changed",
    "CUDA_HOME environment variable is not set",
    "OMP: Error #15: Initializing",
    "Run 'conda init' before 'conda activate'",
)
_EXCEPTIONS = (
    "OutOfMemoryError",
    "UnpicklingError",
    *(name for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, Exception)),
)
_AS_WRITTEN = {words.lower(): words for words in (*_SENTENCES, *_EXCEPTIONS)}
_SENTENCE = Pattern(r"\b(?:" + "|".join(re.escape(words) for words in _SENTENCES) + r")(?!\w)", re.IGNORECASE)
_EXCEPTION = Pattern(r"\b(?:" + "|".join(map(re.escape, _EXCEPTIONS)) + r")(?= ?:)", re.IGNORECASE)


_CLASS_IN_QUOTES = Pattern(r'"(?P<name>[A-Za-z_]\w{1,60})"(?= object has no attribute)')
_QUOTES = str.maketrans("\u2018\u2019\u201c\u201d\u2032", "''\"\"'")


def as_written(line: str) -> str:
    """The line with the known sentences and the exceptions of Python in it as the tools write them, and with their
    plain quotes where an editor or a forum made typographic ones of them."""
    line = line if line.isascii() else line.translate(_QUOTES)
    line = _CLASS_IN_QUOTES.sub(r"'\g<name>'", line) if '"' in line else line
    for pattern in (_SENTENCE, _EXCEPTION):
        line = pattern.sub(lambda found: _AS_WRITTEN[found[0].lower()], line)
    return line
