"""What may leave this machine: an allow-list of variables, texts without secrets, names and control characters.

Other people read reports. Names of variables pass by an allow-list (a deny-list always forgets one: the usual ones let
HF_TOKEN and PIP_INDEX_URL through), and the values of allowed variables are searched for secrets all the same.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from envdoctor.facts import variable_values
from envdoctor.values.pattern import Pattern

REDACTED = "[redacted]"

# Families whose owners put settings there and nothing else. A name from them that nobody knows is worth reporting:
# people set TORCH_CUDNN_BENCHMARK=true, which no torch has ever read.
FAMILIES = (
    "ACCELERATE_", "CUBLAS_", "CUBLASLT_", "CUDA_", "CUDNN_", "FSDP_", "GOMP_", "KMP_", "MKL_", "NCCL_", "NUMEXPR_",
    "NVTE_", "OMP_", "OPENBLAS_", "PYTORCH_", "TORCH_", "TORCHDYNAMO_", "TORCHINDUCTOR_", "TORCHELASTIC_", "TRITON_",
)  # fmt: skip

NAMES = frozenset(
    """
    ASAN_OPTIONS ATEN_CPU_CAPABILITY BNB_CUDA_VERSION CC COMPUTE_PROFILE CONDA_DEFAULT_ENV CONDA_PREFIX CXX
    DISABLE_ADDMM_CUDA_LT DNNL_MAX_CPU_ISA DS_ACCELERATOR
    DS_SKIP_CUDA_CHECK FI_EFA_USE_DEVICE_RDMA FI_PROVIDER FLASH_ATTENTION_FORCE_BUILD FLASH_ATTENTION_SKIP_CUDA_BUILD
    FLASH_ATTENTION_DETERMINISTIC GLOO_SOCKET_IFNAME HF_DATASETS_CACHE HF_DATASETS_OFFLINE HF_ENDPOINT HF_HOME
    HF_HUB_CACHE HF_HUB_DISABLE_PROGRESS_BARS HF_HUB_DISABLE_SYMLINKS_WARNING HF_HUB_DISABLE_TELEMETRY
    HF_HUB_DISABLE_XET HF_HUB_DOWNLOAD_TIMEOUT HF_HUB_ENABLE_HF_TRANSFER HF_HUB_OFFLINE HF_MODULES_CACHE
    HF_XET_HIGH_PERFORMANCE HUGGINGFACE_HUB_CACHE LD_AUDIT LD_BIND_NOW LD_LIBRARY_PATH LD_PRELOAD LOCAL_RANK
    LOCAL_WORLD_SIZE MALLOC_ARENA_MAX MALLOC_CHECK_ MALLOC_CONF MASTER_PORT MAX_JOBS NPROC_PER_NODE NSIGHT_CUDA_DEBUGGER
    NVIDIA_DISABLE_REQUIRE NVIDIA_DISABLE_REQUIRES NVIDIA_DRIVER_CAPABILITIES NVIDIA_REQUIRE_CUDA NVIDIA_TF32_OVERRIDE
    NVIDIA_VISIBLE_DEVICES ONEDNN_MAX_CPU_ISA OPENCL_PROFILE PJRT_DEVICE PYTHONDEVMODE PYTHONDONTWRITEBYTECODE
    PYTHONFAULTHANDLER
    PYTHONHASHSEED PYTHONHOME PYTHONMALLOC PYTHONNOUSERSITE PYTHONOPTIMIZE PYTHONPATH PYTHONPROFILEIMPORTTIME
    PYTHONSAFEPATH PYTHONSTARTUP PYTHONTRACEMALLOC PYTHONUNBUFFERED PYTHONUSERBASE PYTHONWARNINGS RANK
    RAYON_NUM_THREADS SLURM_CPUS_ON_NODE SLURM_CPUS_PER_TASK SLURM_GPUS_ON_NODE SLURM_NNODES SLURM_NTASKS_PER_NODE
    SLURM_TRES_PER_TASK TMPDIR TOKENIZERS_PARALLELISM TRANSFORMERS_CACHE TRANSFORMERS_OFFLINE TRANSFORMERS_VERBOSITY
    USE_FLASH_ATTENTION
    UCX_NET_DEVICES UCX_TLS VECLIB_MAXIMUM_THREADS VIRTUAL_ENV WANDB_DISABLED WANDB_MODE WORLD_SIZE XDG_CACHE_HOME
    XFORMERS_FORCE_DISABLE_TRITON XFORMERS_DISABLE_FLASH_ATTN XLA_FLAGS
    """.split()
)
"""Single names that matter for training, beside the FAMILIES. No name of a credential, a proxy or an address."""

_SEARCHED = ("PYTHONPATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONHOME", "PYTHONUSERBASE")

_SECRET_NAME = Pattern(r"TOKEN(?!IZER)|SECRET|PASSW|PASSPHRASE|CREDENTIAL|AUTH|COOKIE|(?:^|_)(?:API_?)?KEY(?:_|$)")

_SECRETS = Pattern(
    r"""
    -----BEGIN[ A-Z]*PRIVATE\ KEY-----.*?(?:-----END[ A-Z]*PRIVATE\ KEY-----|\Z)
    | \beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?                               # JSON web token
    | \b(?:hf|gh[pousr]|github_pat|npm|r8|rpa|dop_v1|shpat|sntrys|lsv2_[a-z]{2}|wandb_v1)_[A-Za-z0-9_]{16,}
    | \b(?:sk|pk|rk)[-_](?:[a-z]{2,10}[-_]){0,3}[A-Za-z0-9_-]{16,}          # OpenAI, Anthropic, Stripe
    | \b(?:glpat|nvapi|xox[abeoprs]|xapp|pypi|gsk|dapi|ya29)[-_.][A-Za-z0-9_.-]{16,}
    | \b(?:AKIA|ASIA|AROA)[0-9A-Z]{16}\b
    | \bAIza[\w-]{30,}
    """,
    re.VERBOSE | re.DOTALL,
)
_SHORTEST_SECRET, _SHORTEST_OPAQUE = 19, 32  # characters of the shortest match of _SECRETS ("hf_" and 16) and _OPAQUE
_URL = Pattern(r"(?P<scheme>\b[A-Za-z][A-Za-z0-9+.-]{1,20}://)(?P<rest>[^\s'\"<>]+)")
_HEADER = Pattern(r"(?i)\b(?P<key>bearer|basic)(?P<gap>\s+)(?P<value>[\w.+/=~-]{8,})")
_ASSIGNED = Pattern(
    r"(?i)(?P<key>(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key"
    r"|credentials?)[\"']?\s*[=:]\s*)(?P<quote>[\"']?)(?P<value>[^\s\"',;&]{6,})"
)
_NETRC = Pattern(r"(?i)(?P<key>\bmachine\s+\S+\s+login\s+\S+\s+password\s+)\S+")
_OPAQUE = Pattern(r"(?<![\w+=-])[A-Za-z0-9+=_-]{32,}(?![\w+=-])")
_GPU = Pattern(r"\b(?P<kind>GPU|MIG)-(?P<uuid>[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\b")

_ESCAPES = Pattern(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?|\x1b[@-Z\\-_]?")
# C0 (but not tab and newline), DEL, C1, line separators, directional overrides, lone surrogates of undecodable names.
_CONTROLS = Pattern("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff]")
_SURROGATES = Pattern("[\ud800-\udfff]")

T = TypeVar("T")


def printable(text: str, *, keep_lines: bool = False) -> str:
    """``text`` without terminal escapes and control characters; newlines become spaces unless ``keep_lines``.

    For every text that comes from outside: metadata, driver messages, paths, lockfiles.
    """
    if text.isprintable():
        return text if keep_lines else " ".join(text.split())
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _CONTROLS.sub("", _ESCAPES.sub("", text))
    text = _SURROGATES.sub("\ufffd", text)
    return text if keep_lines else " ".join(text.split())


def identity(uuid: str) -> str:
    """A name for a GPU: the same for the same card everywhere, so that a bad card is known again; not its UUID.

    The salt is fixed on purpose. A UUID has 122 random bits, so its hash cannot be turned back by trying.
    """
    import hashlib  # with it comes OpenSSL, for reports that name a card only

    return hashlib.blake2b(uuid.encode(), digest_size=8, person=b"envdoctor gpu").hexdigest()


def text(value: str, *, opaque: bool = True) -> str:
    """``value`` fit for others: printable, secrets redacted, home shortened to ``~``, host name hashed.

    ``opaque=False`` leaves long random-looking words alone, where hashes are expected.
    """
    return _impersonal(without_secrets(printable(value, keep_lines=True), opaque=opaque))


def without_secrets(value: str, *, opaque: bool = True) -> str:
    """``value`` with credentials, URL users and queries, and (``opaque``) long random words replaced."""
    # What a pattern cannot match in is told by a look that costs nothing, and most values are short and plain.
    if "-" in value:
        value = _GPU.sub(lambda found: f"{found['kind']}-{identity(found[0])}", value)
    if len(value) >= _SHORTEST_SECRET:
        value = _SECRETS.sub(REDACTED, value)
    if "://" in value:
        value = _URL.sub(_plain_url, value)
    if "=" not in value and ":" not in value and len(value.split()) < 2:
        return _OPAQUE.sub(_if_random, value) if opaque and len(value) >= _SHORTEST_OPAQUE else value
    value = _NETRC.sub(rf"\g<key>{REDACTED}", value)
    value = _HEADER.sub(rf"\g<key>\g<gap>{REDACTED}", value)
    value = _ASSIGNED.sub(rf"\g<key>\g<quote>{REDACTED}", value)
    return _OPAQUE.sub(_if_random, value) if opaque else value


def variables(environ: Mapping[str, str], extra: Iterable[str] = ()) -> dict[str, str]:
    """The allowed variables of ``environ``, values scrubbed. ``extra`` allows further names (a target's own).

    Under a name of a family that is not known itself, only what looks like a setting passes.
    """
    more = frozenset(extra)
    return {
        name: text(variable_values.visible_value(name, value, REDACTED, known=name in NAMES or name in more))
        for name, value in sorted(environ.items())
        if name in more or name in NAMES or (name.startswith(FAMILIES) and not _SECRET_NAME.search(name))
    }


def shareable(value: T) -> T:
    """A copy of frozen facts (any nest of dataclasses, mappings, tuples) in which every text went through `text`."""
    return _walk(value, lambda text_, exact: text(text_, opaque=not exact))  # type: ignore[no-any-return]


def shorten_home(value: T) -> T:
    """A copy of frozen facts whose paths name no user: home as ``~``, in every section alike so that they compare.

    A folder on a search path that holds a secret in its name is told without it, wherever it led to.
    """
    secret = _secret_folders()

    def change(text_: str, _: bool) -> str:
        for folder, plain in secret:
            text_ = text_.replace(folder, plain)
        return _impersonal(text_)

    return _walk(value, change)  # type: ignore[no-any-return]


def _secret_folders() -> list[tuple[str, str]]:
    """Folders of the search paths in the caller's variables, and what they are called in a report if not so."""
    folders = {folder for name in _SEARCHED for folder in os.environ.get(name, "").split(os.pathsep) if folder}
    told = {
        folder: without_secrets(variable_values.visible_value("", folder, REDACTED, known=True)) for folder in folders
    }
    return sorted(((folder, plain) for folder, plain in told.items() if plain != folder), key=lambda one: -len(one[0]))


def rename_path(value: T, old: str, new: str) -> T:
    """A copy of frozen facts or findings in which the path ``old`` is called ``new``."""
    return _walk(value, lambda text_, _: text_.replace(old, new))  # type: ignore[no-any-return]


_HASHES = frozenset({"git", "identity", "commit"})  # fields that are hashes by nature and name nobody


def _walk(value: Any, change: Callable[[str, bool], str], *, exact: bool = False) -> Any:
    if isinstance(value, str):
        return change(value, exact)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changed = {}
        for name in _names(type(value)):
            old = getattr(value, name)
            new = _walk(old, change, exact=exact or name in _HASHES)
            if new is not old and new != old:
                changed[name] = new
        return dataclasses.replace(value, **changed) if changed else value
    if isinstance(value, Mapping):
        return {_walk(key, change): _walk(member, change, exact=exact) for key, member in value.items()}
    if isinstance(value, tuple):
        return tuple(_walk(member, change, exact=exact) for member in value)
    return value


@functools.cache
def _names(kind: type[Any]) -> tuple[str, ...]:
    """The fields of a dataclass; `dataclasses.fields` looks for them anew each time."""
    return tuple(field.name for field in dataclasses.fields(kind))


def _impersonal(value: str) -> str:
    lower = value.lower()
    for needle, pattern, replacement in _personal():
        if needle in value or needle in lower:
            value = pattern.sub(replacement, value)
    return value


def _plain_url(found: re.Match[str]) -> str:
    rest = found["rest"]
    place, mark, _ = rest.partition("?")
    place = place.partition("#")[0] if "?" not in rest else place
    authority, slash, path = place.partition("/")
    if "@" in authority:
        authority = f"{REDACTED}@{authority.rpartition('@')[2]}"
    return found["scheme"] + authority + slash + path + (f"?{REDACTED}" if mark else "")


def _if_random(found: re.Match[str]) -> str:
    """Redact a word that only a machine could have drawn. Mangled C++ names and wheel tags are long but not random."""
    word = found[0]
    if word.startswith("_Z"):
        return word
    if re.fullmatch(r"[0-9a-fA-F]+", word):
        return REDACTED if _entropy(word) > 3.0 else word  # 32 random hex digits have about 3.6 bits each
    run = max(map(len, re.findall(r"[A-Za-z0-9]+", word)), default=0)
    mixed = all(re.search(kind, word) for kind in ("[a-z]", "[A-Z]", "[0-9]"))
    return REDACTED if run >= 20 and mixed and _entropy(word) > 3.8 else word


def _entropy(word: str) -> float:
    counts = Counter(word).values()
    return -sum(count / len(word) * math.log2(count / len(word)) for count in counts)


@functools.cache
def _personal() -> tuple[tuple[str, Pattern, str], ...]:
    """Patterns for this user's homes and this machine's name, each after a text without which it cannot match."""
    found = []
    homes = {os.path.expanduser("~"), os.path.realpath(os.path.expanduser("~")), os.environ.get("HOME", "")}
    for home in sorted(homes, key=len, reverse=True):
        home = home.rstrip("/\\")
        if len(home) > 1 and home != "~":
            found.append((home, Pattern(rf"(?<![\w.~-])(?<![^/]/){re.escape(home)}(?![\w.-])"), "~"))
    others = r"(?<![\w.~-])(%s)/(?!\[)[^/\s:'\"]+"
    found += [(folder, Pattern(others % folder), r"\1/[user]") for folder in ("/home", "/Users")]
    host = os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")
    if len(host) >= 4 and host.lower() not in ("localhost", "linux", "debian", "ubuntu"):
        found.append(
            (host.lower(), Pattern(rf"(?i)(?<![\w.-]){re.escape(host)}(?![\w-])"), f"host-{os.urandom(4).hex()}")
        )
    return tuple(found)
