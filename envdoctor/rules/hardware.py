"""What facts and target together say of the hardware that training will run on."""

from __future__ import annotations

from envdoctor.facts.model import Facts
from envdoctor.facts.need import Skip, known
from envdoctor.knowledge.cuda_lines import minimum_driver
from envdoctor.knowledge.gpus import capability_of
from envdoctor.knowledge.numbers import capability
from envdoctor.locks.target import Target

Capability = tuple[int, int]


def likely_capabilities(facts: Facts, target: Target) -> frozenset[Capability]:
    """Compute capabilities of the GPUs found; of the target's GPU when none could be read; empty when unknown."""
    gpus, torch = known(facts.gpus), known(facts.torch)
    texts = [gpu.capability or capability_of(gpu.name) for gpu in gpus.devices] if gpus else []
    texts += torch.capabilities if torch else ()
    found = frozenset(pair for text in texts if (pair := capability(text)) is not None)
    wanted = capability(target.capability)
    return found or (frozenset() if wanted is None else frozenset((wanted,)))


def trains_on_gpu(facts: Facts, target: Target) -> bool | None:
    """Will CUDA be used? True when the target or anything seen says so, False on a CPU target, None when unknown."""
    if not target.is_cpu:
        return True
    torch, gpus, driver = known(facts.torch), known(facts.gpus), known(facts.driver)
    if (gpus and (gpus.devices or gpus.count)) or (torch and torch.cuda_available):
        return True
    if target.name != "none" or (torch and torch.cuda == "") or (driver and not driver.nvidia_present):
        return False
    return None


FRAMEWORKS = {"jax": "JAX", "jaxlib": "JAX", "tensorflow": "TensorFlow", "mlx": "MLX", "paddlepaddle-gpu": "Paddle"}
"""Distributions of frameworks that are not judged -> their names."""


def other_framework(facts: Facts) -> str | None:
    """The frameworks, not judged here, of an environment that has no torch beside them; None in every other."""
    packages = known(facts.packages)
    if packages is None or packages.version("torch") is not None or "pytorch" in packages.conda:
        return None
    found = dict.fromkeys(FRAMEWORKS[each.name] for each in packages.distributions if each.name in FRAMEWORKS)
    return " and ".join(found) or None


_CUDA_OF = (
    ("jax-cuda13-plugin", "13"),
    ("jax-cuda12-plugin", "12"),
    ("jax-cuda11-plugin", "11"),
    ("nvidia-cuda-runtime", "13"),  # without a suffix from CUDA 13 on
    ("nvidia-cuda-runtime-cu12", "12"),
    ("nvidia-cuda-runtime-cu11", "11"),
)


def framework_needs(facts: Facts) -> str:
    """What is known of the driver that another framework needs: by the CUDA packages beside it, "" where none tells.

    Both run on any driver from the floor of their CUDA's major version on; JAX without a plugin uses no GPU of NVIDIA.
    Source: https://docs.jax.dev/en/latest/installation.html https://www.tensorflow.org/install/pip
    """
    packages = known(facts.packages)
    found = next(((name, cuda) for name, cuda in _CUDA_OF if packages is not None and packages.version(name)), None)
    if found is None:
        jax = packages is not None and packages.version("jax") is not None
        return "; no CUDA plugin of JAX is here, without which it uses no NVIDIA GPU" if jax else ""
    name, cuda = found
    return f"; {name} is for CUDA {cuda}, which needs driver {minimum_driver(f'{cuda}.0')} or later on Linux"


def need_gpu(target: Target) -> None:
    """Raises `Skip` where the target trains on the CPU."""
    if on_cpu(target):
        raise Skip("the target trains on the CPU")


def on_cpu(target: Target) -> bool:
    """Was the CPU asked for? Then a GPU that cannot be used is nobody's concern. No target at all is not a wish."""
    return target.is_cpu and (target.name == "cpu" or bool(target.stacks))
