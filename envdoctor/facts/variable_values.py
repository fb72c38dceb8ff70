"""Whether the value of an environment variable is a setting, or may be somebody's secret under an innocent name.

Names pass by families, and nobody keeps a company's launcher from calling its password CUDA_ARGS. So a value under a
name that is not known passes only if it is made of what settings are made of; one under a known name loses whatever
stands where credentials stand.
"""

from __future__ import annotations

from envdoctor.values.pattern import Pattern

# Of the families in `scrub`, those whose values are more than numbers, switches and paths.
KNOWN = frozenset(
    """
    CUBLAS_WORKSPACE_CONFIG CUDA_DEVICE_ORDER CUDA_MODULE_LOADING CUDA_VERSION CUDA_VISIBLE_DEVICES CUDA_VISIBLE_DEVICE
    KMP_AFFINITY KMP_BLOCKTIME KMP_HW_SUBSET KMP_TOPOLOGY_METHOD GOMP_CPU_AFFINITY MKL_ENABLE_INSTRUCTIONS
    MKL_THREADING_LAYER NCCL_ALGO NCCL_COLLNET_NODE_THRESHOLD NCCL_DEBUG NCCL_DEBUG_FILE NCCL_DEBUG_SUBSYS NCCL_IB_HCA
    NCCL_LAUNCH_MODE NCCL_NET NCCL_NET_GDR_LEVEL NCCL_NET_PLUGIN NCCL_P2P_LEVEL NCCL_PROTO NCCL_SOCKET_FAMILY
    NCCL_SOCKET_IFNAME NCCL_TUNER_PLUGIN OMP_DISPLAY_AFFINITY OMP_DISPLAY_ENV OMP_PLACES OMP_PROC_BIND OMP_SCHEDULE
    OMP_WAIT_POLICY OPENBLAS_CORETYPE PYTORCH_ALLOC_CONF PYTORCH_CUDA_ALLOC_CONF PYTORCH_CUDA_ALLOCATOR_CONF
    PYTORCH_CUDA_ALLOC_CONFIG PYTORCH_HIP_ALLOC_CONF TORCH_CPP_LOG_LEVEL TORCH_CUDA_ARCH_LIST TORCH_DISTRIBUTED_DEBUG
    TORCH_FLOAT32_MATMUL_PRECISION TORCH_LOGS TORCHINDUCTOR_MAX_AUTOTUNE_GEMM_BACKENDS
    """.split()
)

_WORDS = frozenset(
    """
    true false yes no on off none null auto default always never all enable enabled disable disabled lazy eager static
    dynamic full info warn warning debug error trace version detail fatal high highest medium low fast slow max min
    active passive close spread primary compact scatter balanced ring tree simple
    fp32 fp16 fp8 bf16 tf32 int8 float32 float16 bfloat16 cpu cuda gpu native cudnn cublas cublaslt triton aten inductor
    """.split()
)
_NUMBER = Pattern(r"(?i)[+-]?\d{1,12}(?:\.\d{1,9})?(?:e[+-]?\d\d?)?[kmgt]?i?[bs]?|sm_\d+|cu\d{2,3}")
_BETWEEN = str.maketrans(",;:", "   ")
_PATH = Pattern(r"(?:/|~/|\./)[\w./+@~-]*(?::(?:/|~/|\./)[\w./+@~-]*)*")
_CREDENTIAL = r"(?:pw|pwd|pass|passwd|password|passphrase|sig|signature|token|secret|auth|credentials?|(?:\w+[-_])?key)"
_ASSIGNED = Pattern(rf"(?i)(?<![a-z])(?P<key>{_CREDENTIAL}\s*=\s*)[^\s,;&]+")
_FOLLOWING = Pattern(rf"(?i)(?:^|\s)(?:-p|--?[\w-]*{_CREDENTIAL}|{_CREDENTIAL})\s+\S")
_USER = Pattern(r"(?P<scheme>\b[A-Za-z][A-Za-z0-9+.-]*:/+)[^/@\s]+@")
_QUERY = Pattern(r"\?[^\s?]*=\S*")


def visible_value(name: str, value: str, redacted: str, *, known: bool) -> str:
    """``value``, or what of it may be shown. ``known``: the name is one whose values are understood."""
    # What a pattern cannot match in is told by a look that costs nothing, and most values are short and plain.
    if len(value.split()) > 1 and _FOLLOWING.search(value):
        return redacted
    if "@" in value:
        value = _USER.sub(rf"\g<scheme>{redacted}@", value)
    if "=" in value:
        value = _ASSIGNED.sub(rf"\g<key>{redacted}", _QUERY.sub(f"?{redacted}", value))
    if known or name in KNOWN or not value or _is_setting(value) or _PATH.fullmatch(value):
        return value
    return redacted


def _is_setting(value: str) -> bool:
    """Numbers with their units and words that switch something, between single separators."""
    return all(word in _WORDS or _NUMBER.fullmatch(word) for word in value.lower().translate(_BETWEEN).split(" "))
