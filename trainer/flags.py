"""The table of process-wide torch switches: how each is read, how it is set, and when setting it has an effect.

The trainer, the doctor's torch probe and the environment's startup hook all use this one file, so that reading and
setting cannot drift apart. It is loaded by path in sick environments: it imports the standard library only, and takes
`torch` as an argument.

float32 matmul precision is set through `torch.set_float32_matmul_precision` alone. Since torch 2.9 there is a second
interface (`torch.backends.*.fp32_precision`); once a process has used both, reads of the old one raise. Such a read
is reported as its error text.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Callable, NamedTuple

# Order of torch's own enum `SDPBackend` (torch/nn/attention/__init__.py): the priority functions speak in these
# integers.
_SDP_NUMBERS = {"math": 0, "flash": 1, "efficient": 2, "cudnn": 3}


class Switch(NamedTuple):
    """One switch. `when` says the latest moment at which setting it still works."""

    name: str
    when: str
    values: str
    read: Callable[[Any], Any]
    apply: Callable[[Any, Any], None]
    why: str


def _one_of(name: str, value: Any, allowed: list[Any]) -> Any:
    if value not in allowed or isinstance(value, bool) != isinstance(allowed[0], bool):
        raise ValueError(f"flag {name}: {value!r} is not one of {', '.join(map(repr, allowed))}")
    return value


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"flag {name}: {value!r} is not a whole number of at least 1")
    return value


def _set_matmul_precision(torch: Any, value: Any) -> None:
    torch.set_float32_matmul_precision(_one_of("float32-matmul-precision", value, ["highest", "high", "medium"]))


def _read_sdp(torch: Any) -> list[str]:
    cuda = torch.backends.cuda
    on = {
        "flash": cuda.flash_sdp_enabled(),
        "efficient": cuda.mem_efficient_sdp_enabled(),
        "math": cuda.math_sdp_enabled(),
        "cudnn": getattr(cuda, "cudnn_sdp_enabled", lambda: False)(),
    }
    names = {number: name for name, number in _SDP_NUMBERS.items()}
    order = getattr(torch._C, "_get_sdp_priority_order", lambda: [1, 2, 0, 3])()
    return [names[int(number)] for number in order if int(number) in names and on[names[int(number)]]]


def _set_sdp(torch: Any, value: Any) -> None:
    if not isinstance(value, list) or not value or len(set(map(str, value))) != len(value):
        raise ValueError(f"flag sdp: {value!r} is not a list of different backends")
    for name in value:
        _one_of("sdp", name, list(_SDP_NUMBERS))
    cuda = torch.backends.cuda
    if "cudnn" in value and not hasattr(cuda, "enable_cudnn_sdp"):
        raise ValueError(f"flag sdp: this torch ({torch.__version__}) has no cudnn backend")
    cuda.enable_flash_sdp("flash" in value)
    cuda.enable_mem_efficient_sdp("efficient" in value)
    cuda.enable_math_sdp("math" in value)
    if hasattr(cuda, "enable_cudnn_sdp"):
        cuda.enable_cudnn_sdp("cudnn" in value)
    if hasattr(torch._C, "_set_sdp_priority_order"):
        # On Hopper and on Blackwell for data centers, torch >= 2.10 with cuDNN >= 9.15.1 sets an order of its own at
        # the process's first attention, whatever was set before, unless this variable says 1
        # (pytorch: aten/src/ATen/native/transformers/cuda/sdp_utils.cpp, check_prefer_cudnn_attention).
        os.environ["TORCH_CUDNN_SDPA_DEPRIORITIZED"] = "1"
        rest = [name for name in _SDP_NUMBERS if name not in value]
        torch._C._set_sdp_priority_order([_SDP_NUMBERS[name] for name in value + rest])


def _set_cudnn_benchmark(torch: Any, value: Any) -> None:
    torch.backends.cudnn.benchmark = _one_of("cudnn-benchmark", value, [True, False])


def _set_cudnn_deterministic(torch: Any, value: Any) -> None:
    torch.backends.cudnn.deterministic = _one_of("cudnn-deterministic", value, [True, False])


def _set_deterministic(torch: Any, value: Any) -> None:
    torch.use_deterministic_algorithms(_one_of("deterministic-algorithms", value, [True, False]))


def _set_bf16_reduction(torch: Any, value: Any) -> None:
    allowed = _one_of("bf16-reduced-precision-reduction", value, [True, False])
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = allowed


def _read_bf16_reduction(torch: Any) -> Any:
    value = torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction
    return value[0] if isinstance(value, tuple) else value  # torch >= 2.10 answers (allowed, split-k allowed)


def _allocator_variable(torch: Any) -> str:
    """PYTORCH_ALLOC_CONF since torch 2.10; PYTORCH_CUDA_ALLOC_CONF before (2.10 and 2.11 read it with a warning,
    later ones silently)."""
    numbers = str(torch.__version__).split("+")[0].split(".")[:2]
    return "PYTORCH_ALLOC_CONF" if tuple(int(n) for n in numbers) >= (2, 10) else "PYTORCH_CUDA_ALLOC_CONF"


def _read_allocator(torch: Any) -> str:
    return os.environ.get(_allocator_variable(torch), os.environ.get("PYTORCH_CUDA_ALLOC_CONF", ""))


def _set_allocator(torch: Any, value: Any) -> None:
    if not isinstance(value, str):
        raise ValueError(f"flag allocator-conf: {value!r} is not a text")
    if torch.cuda.is_initialized() and value != _read_allocator(torch):
        raise ValueError(
            "flag allocator-conf: CUDA has already started in this process; set it before the first CUDA call"
        )
    os.environ[_allocator_variable(torch)] = value


FLAGS: list[Switch] = [
    Switch(
        "float32-matmul-precision",
        "before the matmul it is meant for",
        '"highest", "high" or "medium"',
        lambda torch: torch.get_float32_matmul_precision(),
        _set_matmul_precision,
        "lets float32 matmuls use TF32 (Ampere and later); bf16 and fp16 matmuls do not look at it",
    ),
    Switch(
        "sdp",
        "before the attention it is meant for",
        'list of "cudnn", "flash", "efficient", "math", first choice first; those left out are switched off',
        _read_sdp,
        _set_sdp,
        "which kernel scaled_dot_product_attention tries first on CUDA; all are on unless someone switched them off",
    ),
    Switch(
        "cudnn-benchmark",
        "before the first convolution",
        "true or false",
        lambda torch: bool(torch.backends.cudnn.benchmark),
        _set_cudnn_benchmark,
        "tries convolution algorithms; no effect on a model without convolutions",
    ),
    Switch(
        "cudnn-deterministic",
        "before the first convolution",
        "true or false",
        lambda torch: bool(torch.backends.cudnn.deterministic),
        _set_cudnn_deterministic,
        "limits convolution algorithms to reproducible ones, which may be slower",
    ),
    Switch(
        "deterministic-algorithms",
        "at any time",
        "true or false",
        lambda torch: bool(torch.are_deterministic_algorithms_enabled()),
        _set_deterministic,
        "reproducible kernels only; slower where a non-deterministic kernel is the fast one",
    ),
    Switch(
        "bf16-reduced-precision-reduction",
        "before the matmul it is meant for",
        "true or false",
        _read_bf16_reduction,
        _set_bf16_reduction,
        "lets bf16 matmuls add partial sums in bf16",
    ),
    Switch(
        "threads",
        "at any time",
        "whole number of at least 1",
        lambda torch: int(torch.get_num_threads()),
        lambda torch, value: torch.set_num_threads(_count("threads", value)),
        "CPU threads per operator; more than the cores this process may use makes it slower",
    ),
    Switch(
        "allocator-conf",
        "before the first CUDA call",
        "text, as torch documents for PYTORCH_ALLOC_CONF",
        _read_allocator,
        _set_allocator,
        "settings of the CUDA caching allocator",
    ),
]


def read_all(torch: Any) -> dict[str, Any]:
    """Every flag's present value; a read that raises becomes {"error": "Type: text"}, the others are still read."""
    values: dict[str, Any] = {}
    for flag in FLAGS:
        try:
            values[flag.name] = flag.read(torch)
        except Exception as error:  # noqa: BLE001 - a sick torch may raise anything, and the text is the finding
            first, _, _ = str(error).partition("\n")
            values[flag.name] = {"error": f"{type(error).__name__}: {first}"}
    return values


def apply(torch: Any, values: Mapping[str, Any]) -> None:
    """Set the named flags. ValueError names an unknown flag, or a value the flag does not take.

    Names are checked before anything is set; a value refused half way leaves the earlier flags of this call set.
    """
    table = {flag.name: flag for flag in FLAGS}
    unknown = sorted(set(values) - set(table))
    if unknown:
        raise ValueError(f"unknown flag {', '.join(unknown)}; the flags are {', '.join(table)}")
    for name in table:
        if name in values:
            table[name].apply(torch, values[name])
