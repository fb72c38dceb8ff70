"""``PYTHON -E torch_state.py ANSWER [FLAGS_TABLE] [device]``: import torch, and write down what it says of itself.

A line of JSON before every step that may take the process down names that step, so that the reader knows where it
died; a line after it holds what the step yielded. The process ends without torch's shutdown: it costs 0.1 s and can
crash, and a doctor need not wait for it.
"""

from __future__ import annotations

import sys

if sys.path and sys.path[0].replace("\\", "/").endswith("/probe"):
    del sys.path[0]  # the folder of this script, where Python would look first for every module

import gc
import json
import os
import re
import time
from typing import Any, Callable, Dict, List, Optional

LIBRARIES = re.compile(
    r"/lib(?:cuda|cudart|cublas(?:Lt)?|cudnn\w*|cufft|cufile|cupti|curand|cusolver|cusparse(?:Lt)?|nccl|nvrtc\S*?|nvJitLink"
    r"|nvshmem_host|gomp|omp|iomp5|mkl_rt|tcmalloc\w*|jemalloc|amdhip64|rccl)(?:[-.][^/]*)?\.so[^/]*$"
)


def main(answer_path: str, table_path: str, device: bool) -> None:
    with open(answer_path, "w", encoding="ascii", buffering=1) as answer:

        def tell(**line: Any) -> None:
            answer.write(json.dumps(line) + "\n")
            answer.flush()

        import warnings

        caught: List[str] = []

        def catch(message: Any, category: Any, *_: Any, **__: Any) -> None:
            caught.append("%s: %s" % (category.__name__, str(message).strip()))

        warnings.showwarning = catch
        _leash()
        tell(stage="import torch", environ=_set_at_start())
        # NumPy's threads would wait for work in a busy loop, beside whatever else a doctor does: 30 ms each.
        os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
        gc.disable()  # an import leaves hardly any garbage, and looking for it took a seventh of the time
        started = time.perf_counter()
        try:
            import torch
        except ModuleNotFoundError as error:
            tell(absent=error.name == "torch", error="ModuleNotFoundError: %s" % error)
            return
        except BaseException as error:  # SystemExit and KeyboardInterrupt too: whatever a sick torch raises is the fact
            tell(error="%s: %s" % (type(error).__name__, str(error)[:4000]))
            return
        seconds = time.perf_counter() - started
        tell(fields={"version": str(torch.__version__), "import_seconds": round(seconds, 4), "hook": _hook()})
        tell(stage="reading torch's build")
        tell(fields=_read_fields(_BUILD, torch))
        tell(stage="reading torch's flags")
        tell(fields={"flags": _flags(torch, table_path)})
        tell(stage="reading torch's threads")
        tell(fields=_read_fields(_RUNTIME, torch))
        tell(stage="initialising CUDA")
        tell(fields=_cuda(torch, device, caught))
        tell(fields={"libraries": _libraries(), "warnings": caught[:20]}, stage="done")


def _leash() -> None:
    """Linux ends this process with the doctor, whose own end may leave no time for it: a hanging import stays behind.

    The module is loaded by torch in any case.
    """
    try:
        import ctypes

        ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL
    except Exception:
        return


def _read_fields(readers: Dict[str, Callable[[Any], Any]], torch: Any) -> Dict[str, Any]:
    """Each field by its own reader: one that this torch does not offer leaves the others alone."""
    fields: Dict[str, Any] = {}
    for name, read in readers.items():
        try:
            fields[name] = read(torch)
        except Exception as error:
            fields.setdefault("unread", []).append("%s: %s: %s" % (name, type(error).__name__, error))
    return fields


def _cudnn(torch: Any) -> Optional[str]:
    """The loaded cuDNN. 91002 is 9.10.2, 8902 is 8.9.2 (cudnn_version.h)."""
    version = torch.backends.cudnn.version()
    if version is None:
        return None
    major, rest = divmod(version, 10000 if version >= 90000 else 1000)
    return "%d.%d.%d" % (major, rest // 100, rest % 100)


def _cudnn_built(torch: Any) -> Optional[str]:
    """The cuDNN that torch was built with; torch names it apart only where another one is loaded."""
    text = torch.__config__.show()
    found = re.search(r"Built with CuDNN (\d[\d.]*)", text) or re.search(r"CuDNN (\d[\d.]*)", text)
    return found.group(1) if found else None


def _nccl(torch: Any) -> Optional[str]:
    if not torch.version.cuda:
        return None
    version = torch.cuda.nccl.version()
    return ".".join(str(part) for part in version) if isinstance(version, tuple) else str(version)


def _architectures(torch: Any) -> List[str]:
    # torch.cuda.get_arch_list() answers [] where no GPU is usable, which is when the list matters most
    flags = getattr(torch._C, "_cuda_getArchFlags", lambda: None)()
    return flags.split() if flags else []


def _openmp(torch: Any) -> Optional[str]:
    found = re.search(r"OpenMP \S+(?: \([^)]*\))?", torch.__config__.parallel_info())
    return found.group(0) if found else None


def _numpy(torch: Any) -> Optional[str]:
    """The error of torch's bridge to NumPy, "" when it works, None without NumPy."""
    if "numpy" not in sys.modules:
        import importlib.util

        if importlib.util.find_spec("numpy") is None:
            return None
    try:
        torch.zeros(1).numpy()
    except Exception as error:
        return "%s: %s" % (type(error).__name__, str(error).split("\n")[0])
    return ""


_BUILD: Dict[str, Callable[[Any], Any]] = {
    "cuda": lambda torch: torch.version.cuda or "",
    "hip": lambda torch: getattr(torch.version, "hip", None) or "",
    "xpu": lambda torch: getattr(torch.version, "xpu", None) or "",
    "git": lambda torch: torch.version.git_version,
    "debug_build": lambda torch: bool(torch.version.debug),
    "cxx11_abi": lambda torch: bool(torch.compiled_with_cxx11_abi()),
    "cudnn_built": _cudnn_built,
    "arch_list": _architectures,
    "cpu_capability": lambda torch: torch.backends.cpu.get_cpu_capability(),
}
_RUNTIME: Dict[str, Callable[[Any], Any]] = {
    "threads": lambda torch: torch.get_num_threads(),
    "interop_threads": lambda torch: torch.get_num_interop_threads(),
    "openmp": _openmp,
    "cudnn": _cudnn,
    "nccl": _nccl,
    "numpy": _numpy,
}


def _flags(torch: Any, table_path: str) -> Dict[str, Any]:
    """Rows of the flags table, each read by the table itself; an error tells why there are none."""
    if not table_path:
        return {}
    try:
        with open(table_path, encoding="utf-8") as stream:
            source = stream.read()
        module: Any = type(sys)("envdoctor_flags")
        module.__file__ = table_path
        sys.modules[module.__name__] = module  # typing.NamedTuple looks its module up there
        exec(compile(source, table_path, "exec"), module.__dict__)
        values = module.read_all(torch)
    except Exception as error:
        return {"error": "%s: %s" % (type(error).__name__, error)}
    rows: Dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict) and set(value) == {"error"}:
            rows[name] = {"error": str(value["error"])}
        else:
            rows[name] = {"value": _text(value)}
    return rows


def _text(value: Any) -> str:
    """A flag's value as target files write it: true, false, 2, "high", "flash,math"."""
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value)


def _cuda(torch: Any, device: bool, caught: List[str]) -> Dict[str, Any]:
    """Is a GPU usable, and if not, why. Without any NVIDIA device the driver is not asked."""
    built = bool(torch.version.cuda or getattr(torch.version, "hip", None))
    if not built or not device:
        return {"cuda_available": False, "device_count": 0}
    fields: Dict[str, Any] = {}
    before = len(caught)
    try:
        fields["cuda_available"] = bool(torch.cuda.is_available())
        fields["device_count"] = int(torch.cuda.device_count())
        if fields["cuda_available"]:
            capabilities = [torch.cuda.get_device_capability(index) for index in range(fields["device_count"])]
            fields["capabilities"] = ["%d.%d" % pair for pair in capabilities]
        else:
            torch.cuda.init()
    except Exception as error:
        fields["cuda_error"] = "%s: %s" % (type(error).__name__, str(error).strip())
    if not fields.get("cuda_available") and len(caught) > before:
        fields["cuda_error"] = caught[-1]
    return fields


def _libraries() -> List[str]:
    """Libraries of CUDA, OpenMP and memory allocation that are mapped into this process now."""
    try:
        with open("/proc/self/maps", "rb") as stream:
            paths = {line.split(None, 5)[-1].rstrip(b"\n") for line in stream if b".so" in line}
    except OSError:
        return []
    return sorted(path for path in map(os.fsdecode, paths) if LIBRARIES.search(path))


def _hook() -> str:
    """Version of the startup hook that this interpreter has run; "" when it has none."""
    module = sys.modules.get("_envdoctor_startup")
    return str(getattr(module, "VERSION", "1")) if module is not None else ""


def _set_at_start() -> Dict[str, Optional[str]]:
    """Variables that the interpreter's own start (a hook, a .pth line, sitecustomize) has set or removed (None)."""
    try:
        with open("/proc/self/environ", "rb") as stream:
            pairs = [os.fsdecode(item).partition("=") for item in stream.read().split(b"\0") if b"=" in item]
    except OSError:
        return {}
    given = {name: value for name, _, value in pairs}
    names = set(given).union(os.environ)
    return {name: os.environ.get(name) for name in names if given.get(name) != os.environ.get(name)}


if __name__ == "__main__":
    arguments = [*sys.argv[1:], "", ""]
    main(arguments[0], arguments[1], arguments[2] == "device")
    os._exit(0)
