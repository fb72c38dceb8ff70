"""What people make of error messages when they retell them, and the words of the tool that said it first.

Rules look for the tools' own words. A line that says the same in a shorter or other way is given them here, so that
one table serves every rule; the person's own line goes along with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.values.pattern import Pattern


def _row(said: str, words: str) -> tuple[Pattern, str]:
    return Pattern(said, re.IGNORECASE), words


_ROWS = (
    _row(
        r"bus error|(?:out of|too little|insufficient|not enough) (?:shared memory|shm)\b"
        r"|/dev/shm (?:is )?(?:full|exhausted|too small)",
        "DataLoader worker is killed by signal: Bus error, out of shared memory",
    ),
    _row(r"\bancdata\b", "received 0 items of ancdata"),
    _row(
        r"(?:too many|limit of|run out of|exhausted).{0,12}(?:open files|file (?:descriptors|handles))",
        "Too many open files",
    ),
    _row(
        r"no (?:NVIDIA |CUDA )?(?:GPU|graphics card)s?,? (?:or|nor|and) (?:no )?(?:NVIDIA )?drivers? .{0,20}found"
        r"|GPU access blocked|libcuda\.so\S* (?:is |was )?(?:not found|missing|absent)|no GPU (?:was |is )?passed"
        r"|without GPU pass-?through|container (?:has|sees|got) no GPU",
        "Found no NVIDIA driver on your system",
    ),
    _row(
        r"(?:NVML|driver).{0,60}(?:driver and librar|librar(?:y|ies) and driver).{0,30}(?:mismatch|differ|not match)",
        "Driver/library version mismatch",
    ),
    _row(
        r"\bcuInit\b(?:\(0?\))?\D{0,30}\b(\d{2,3})\b",
        r"CUDA initialization: Unexpected error from cudaGetDeviceCount(): Error \1",
    ),
    _row(r"system (?:is )?not yet initiali[sz]ed", "Error 802: system not yet initialized"),
    _row(
        r"driver (?:version )?(?:is |was )?(?:insufficient|not sufficient)",
        "CUDA driver version is insufficient for CUDA runtime version",
    ),
    _row(r"driver .{0,30}\btoo old\b", "The NVIDIA driver on your system is too old"),
    _row(
        r"cudnn\b\D{0,30}(?:loaded|found|run-?time|present)\D{0,20}([\d.]*\d).{0,40}(?:built|compiled)\D{0,20}([\d.]*\d)",
        r"cuDNN version incompatibility: compiled against \2 but found runtime version \1",
    ),
    _row(
        r"toolkit (?:is )?(?:CUDA )?v?([\d.]*\d)\b.{0,20}(?:differs|does not match|is not|against|versus|vs).{0,30}?"
        r"torch\S* (?:CUDA )?([\d.]*\d)",
        r"detected CUDA version (\1) mismatches the version used to compile PyTorch (\2)",
    ),
    _row(
        r"installed CUDA (?:version )?([\d.]*\d) (?:does not match|differs from) torch\S* (?:CUDA )?([\d.]*\d)",
        r"detected CUDA version (\1) mismatches the version used to compile PyTorch (\2)",
    ),
    _row(
        r"CUDA (?:\w+ ){0,3}\(?v?([\d.]*\d)\)? (?:mismatches|differs from|does not match|does not agree with)"
        r".{0,40}?(?:PyTorch|torch)\b.{0,40}?\(?([\d.]*\d)\)?",
        r"detected CUDA version (\1) mismatches the version used to compile PyTorch (\2)",
    ),
    _row(
        r"compiled with a version of Cuda that does not match the version used to compile Pytorch",
        "CUDAMismatchException: extensions cannot be built",
    ),
    _row(
        r"no working triton|triton .{0,20}(?:is )?(?:not (?:found|installed)|missing)\b",
        "Cannot find a working triton installation",
    ),
    _row(
        r"triton\b.{0,30}(?:needs|requires|wants|supports).{0,30}capability",
        "Triton only supports devices of CUDA Capability >= 7.0",
    ),
    _row(
        r"ptxas\b.{0,40}(?:does not know|unknown|not know|unrecogni[sz]ed|rejects).{0,20}(sm_\w+)",
        r"ptxas fatal : Value '\1' is not defined for option 'gpu-name'",
    ),
    _row(
        r"\b(flash_attn\w{0,40}|(?:vllm|xformers|mmcv|apex|causal_conv1d)\S{0,40})\W{0,3}.{0,30}"
        r"(lib(?:cudart|cublas)\.so\.\d{1,4})\S{0,40} .{0,20}(?:cannot be (?:opened|found|loaded)|not found|missing)",
        r"flash_attn or other extension \1: \2: cannot open shared object file",
    ),
    _row(
        r"flash[ -_]?attention.{0,12}\bonly\b.{0,12}\b(\w+) GPUs? or newer",
        r"FlashAttention only supports \1 GPUs or newer",
    ),
    _row(
        r"no (?:CUDA|GPU) (?:binary|library) (?:in|for|of).{0,40}|CPU (?:library|binary) (?:is )?loaded.{0,40}8-?bit",
        "bitsandbytes was compiled without GPU support",
    ),
    _row(
        r"(?<!undefined )symbol:? [`'\"(]?(_Z\w+)[`'\")]?.{0,40}?(?:is |was |are )?"
        r"(?:missing|absent|unknown|lacking|not (?:found|exported|defined|there|present|available|resolved))",
        r"undefined symbol: \1",
    ),
    _row(
        r"(?:lacks|misses|without|has no|cannot (?:find|resolve)|does not (?:have|export|define)|missing|looks for"
        r"|asks for|needs|wants) (?:an? |the |its )?(?:C\+\+ )?symbol:? [`'\"(]?(_Z\w+)",
        r"undefined symbol: \1",
    ),
    _row(
        r"\b(?:CPU|cpu-only) (?:version|build|wheel)s? of (?:py)?torch"
        r"|torch.{0,20} (?:is|was) (?:a |the )?CPU(?:-only)? build",
        "Torch not compiled with CUDA enabled",
    ),
    _row(r"no kernel image", "CUDA error: no kernel image is available for execution on the device"),
    _row(
        r"\bmodule (\w[\w.]*) has no (?:attribute|name|member) (\w+)",
        r"AttributeError: module '\1' has no attribute '\2'",
    ),
    _row(
        r"cannot import (?:name )?(\w+) (?:from|out of) (\w[\w.]*)", r"ImportError: cannot import name '\1' from '\2'"
    ),
    _row(
        r"\bis_available\b(?:\(\))?\W{0,12}(?:(?:is|are|was|returns?|returned|gives?|to|always|be|still|the) ){0,4}"
        r"\W{0,4}(?:false|flase)\b",
        "torch.cuda.is_available() is False",
    ),
    _row(r"CUDA out-of-memory|\bVRAM (?:is |was )?(?:full|exhausted)", "CUDA out of memory"),
    _row(
        r"no wheels? .{0,40}(?:for|on) (?:this )?Python|Python 3\.\d+(?: or (?:later|newer))? is (?:needed|required)"
        r"|needs (?:at least )?Python",
        "Package requires a different Python: another version is needed",
    ),
)


def in_the_tools_words(line: str) -> Iterator[str]:
    """What a tool would have said, for each thing that the line says in its own way."""
    for pattern, words in _ROWS:
        if found := pattern.search(line):
            said = found.expand(words)
            if said.lower() not in line.lower():
                yield f"{said} [{line}]"
