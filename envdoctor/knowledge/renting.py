"""What to ask for when renting again, where only the host could repair this one.

Only parameters whose names are documented or in wide use are named. Sources:
- RunPod `allowedCudaVersions`, `minCudaVersion`: https://docs.runpod.io/api-reference/pods/POST/pods,
  https://graphql-spec.runpod.io (as used by https://github.com/dstackai/dstack/pull/3304)
- Vast.ai `cuda_max_good`, `pcie_bw`, `compute_cap`, `reliability`: "search offers" of
  https://github.com/vast-ai/vast-cli
"""

from __future__ import annotations

from envdoctor.knowledge.numbers import capability, numbers


def for_cuda(cuda: str) -> str:
    """Hosts whose driver runs this CUDA version."""
    lines = ", ".join(f'"{line}"' for line in _from(cuda))
    return f'When renting again ask for it: RunPod allowedCudaVersions [{lines}]; Vast.ai "cuda_max_good>={cuda}".'


def _from(cuda: str) -> tuple[str, ...]:
    """The line and those after it of the same major version that rented hosts run today."""
    known = ("12.4", "12.5", "12.6", "12.7", "12.8", "12.9", "13.0", "13.1", "13.2", "13.3", "13.4")
    same = tuple(line for line in known if numbers(line) >= numbers(cuda) and line.partition(".")[0] == _major(cuda))
    return same or (cuda,)


def _major(cuda: str) -> str:
    return cuda.partition(".")[0]


def for_bandwidth(gigabytes: float) -> str:
    """Hosts whose link to the GPU moves this many GB/s."""
    return f'When renting again ask for a full link: Vast.ai "pcie_bw>={gigabytes:g}" (GB/s).'


def for_capability(wanted: str) -> str:
    """Hosts whose GPU has at least this compute capability."""
    pair = capability(wanted)
    if pair is None:
        return ""
    return f'When renting again: Vast.ai "compute_cap>={pair[0] * 100 + pair[1] * 10}".'


RELIABLE = 'If the machine is rented, report it to its host and rent another: Vast.ai "reliability>0.99".'
