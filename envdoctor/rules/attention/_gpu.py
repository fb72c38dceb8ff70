"""The GPU that attention runs on, the cuDNN in use there, and where torch puts its attention first by itself."""

from envdoctor.knowledge.questions import numbers, torch_version, versions
from envdoctor.rules.finding import Pin, Repair, SetFlag, SetVariable
from envdoctor.rules.hardware import Capability as Capability
from envdoctor.rules.rule import Facts, Skip, Target, known, likely_capabilities, remedies, trains_on_gpu
from envdoctor.rules.torch import _cudnn_release

FLASH_FIRST = "flash,efficient,math,cudnn"

# What torch itself puts first, once, at a process's first attention: on these GPUs, since this release, from this cuDNN
# on (2.11 is the first to bring one along); an order set before is lost, unless the variable says exactly 1. Read in
# pytorch, aten/src/ATen/native/transformers/cuda/sdp_utils.cpp, check_prefer_cudnn_attention.
_CHOSEN_ON = frozenset({(9, 0), (10, 0), (10, 3)})
_CHOSEN_SINCE = "2.10"
_CHOSEN_FROM = (9, 15, 1)
_VARIABLE = "TORCH_CUDNN_SDPA_DEPRIORITIZED"
EXPORT = f"export {_VARIABLE}=1"
_MENDED = (9, 26)


def need_capabilities(facts: Facts, target: Target, unknown: str = "the GPU is not known") -> frozenset[Capability]:
    """Compute capabilities of the GPUs, none where training is on the CPU. Skips where nothing tells."""
    found = likely_capabilities(facts, target)
    if not found and trains_on_gpu(facts, target) is not False:
        raise Skip(unknown)
    return found


def torch_chooses(facts: Facts, found: frozenset[Capability]) -> bool:
    """Will torch itself put cuDNN first, at the first attention? What it then takes cannot be read before."""
    version, variables, cudnn = torch_version(facts), known(facts.variables) or {}, _cudnn_release.in_use(facts)
    recent = version is not None and versions.at_least(version, _CHOSEN_SINCE)
    able = cudnn is not None and (*cudnn, 0)[:3] >= _CHOSEN_FROM
    return recent and able and bool(found & _CHOSEN_ON) and variables.get(_VARIABLE) != "1"


def before_mended(facts: Facts) -> str | None:
    """The cuDNN in use, where its backward may be wrong."""
    version = _cudnn_release.in_use(facts)
    return ".".join(map(str, version)) if version is not None and version < _MENDED else None


def repairs(facts: Facts, target: Target, by_torch: bool, by_order: bool) -> tuple[Repair, ...]:
    """A mended cuDNN; else what puts flash first: a variable would outlive its reason and keep faster kernels away."""
    variable = (SetVariable(name=_VARIABLE, value="1"),) if by_torch else ()
    order = (SetFlag(name="sdp", value=FLASH_FIRST),) if by_order or not by_torch else ()
    return _mended_pins(facts, target) or (*variable, *order)


def _mended_pins(facts: Facts, target: Target) -> tuple[Pin, ...]:
    """The stack's own cuDNN, with the torch that asks for it, where that is a mended one."""
    pins = remedies.locked_pins(target, known(facts.packages), "nvidia-cudnn-cu13", "nvidia-cudnn-cu12", "torch")
    return pins if any(pin.name != "torch" and numbers(pin.version)[:2] >= _MENDED for pin in pins) else ()
