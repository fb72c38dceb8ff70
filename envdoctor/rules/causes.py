"""Which cause stands nearer to the root: one list, read from the top, for every finding of every rule.

An entry is a kind of cause, or ``kind:family/rule`` where one rule's findings stand elsewhere than the rest of their
kind. What makes the entries below it moot stands above them: repaired first, it may take them along. Among what only
slows a run down, what costs a factor stands above what costs a shade, whatever the rule is called.
"""

from __future__ import annotations

import functools
from typing import Literal, cast, get_args

Kind = Literal[
    "driver-too-old",
    "driver-library-mismatch",
    "torch-cpu-only",
    "no-kernels-for-gpu",
    "cuda-init-failed",
    "gpu-not-visible",
    "cudnn-mismatch",
    "cuda-libraries-mixed",
    "nvcc-mismatch",
    "torch-pair-mismatch",
    "triton-mismatch",
    "extension-abi-mismatch",
    "extension-binary-missing",
    "numpy-abi",
    "package-conflict",
    "python-unsupported",
    "known-broken-version",
    "known-slow-version",
    "debug-variable",
    "tf32-api-mixed",
    "shm-too-small",
    "file-limit",
    "thread-count",
    "slow-interconnect",
    "config-mismatch",
    # The kinds above are shared with reports seen in the wild; those below are of this tool only.
    "version-drift",
    "package-missing",
    "package-damaged",
    "torch-import",
    "flag-differs",
    "no-effect",
    "gpu-limited",
    "gpu-unhealthy",
    "host-limited",
    "script-slow",
    "script-wrong",
    "interpreter",
    "not-judged",
]
KINDS: frozenset[str] = frozenset(get_args(Kind))
"""Causes that ``Finding.kind`` may name: the vocabulary of ``kind`` in every output."""


def kind_of(word: str) -> Kind:
    """The kind that a table names; `diagnose` refuses one that there is not."""
    return cast(Kind, word)


ONLY_SLOW: frozenset[str] = frozenset(
    "debug-variable known-slow-version thread-count slow-interconnect gpu-limited host-limited flag-differs no-effect "
    "version-drift script-slow interpreter package-missing not-judged".split()
)
"""Kinds whose warnings cost time or are worth knowing, but end no run: they do not explain an error."""

CAUSES: tuple[str, ...] = (
    # The driver and the device: while one of these is wrong, CUDA does not start, and nothing above it can be judged.
    "driver-library-mismatch",  # nothing at all can open the GPU: before whatever was said of it
    "gpu-not-visible:driver/wsl",  # WSL 1 has no way to a GPU
    "cuda-init-failed:driver/wsl",  # the wrong driver is found first: all its errors follow
    "gpu-not-visible:driver/started-without-gpu",  # a container that was given none: whatever its programs say
    "gpu-not-visible:driver/no-gpu",  # no driver: none of its other states
    "gpu-not-visible:driver/supports-gpu",  # a driver that dropped this GPU will show no device of it
    "driver-too-old",
    "gpu-not-visible:driver/open-module",  # the module for other GPUs makes no device files for this one
    "gpu-not-visible",  # hidden, forbidden, or without device files
    "config-mismatch:driver/mig-without-instance",  # CUDA starts on an instance only
    "config-mismatch:network/ranks",  # a rank beyond the last GPU meets errors that look like the driver's
    "cuda-init-failed:gpu/compute-mode",  # names the reason for what cuInit only numbers; so does Fabric Manager
    "cuda-init-failed:driver/fabric-manager",
    "gpu-unhealthy:driver/nvidia-smi",  # a lost GPU
    "gpu-not-visible:driver/nvidia-smi",
    "gpu-not-visible:driver/nothing-found",  # concluded from what a report does not show
    "cuda-init-failed",
    # The build of torch: with the wrong one, the packages around it do not matter yet.
    "package-conflict:packages/no-such-release",  # nothing to be had: why a build for processors came
    "torch-cpu-only",
    "no-kernels-for-gpu",
    "gpu-unhealthy:torch/cuda-error",  # a GPU that CUDA itself calls broken is not broken by libraries
    # Files and libraries: what is damaged, hidden or mixed breaks whatever loads it.
    "package-damaged:packages/duplicates",  # two records of one package disagree with its files: seen as damage too
    "package-damaged:packages/damaged",
    "interpreter:variables/python-path",  # another Python's packages: seen as wheels with foreign tags
    "extension-abi-mismatch:packages/wheel-tags",
    "extension-abi-mismatch:packages/wheel-variant",
    "interpreter:interpreter/shadowed-modules",
    "cuda-libraries-mixed:variables/library-path",  # how foreign libraries come in, before which ones did
    "cudnn-mismatch:variables/library-path",
    "cuda-libraries-mixed:packages/cuda-wheels",
    "cudnn-mismatch",
    "cuda-libraries-mixed",
    "gpu-not-visible:variables/visible-devices",
    "package-conflict:packages/flat-page",  # an address that has no package at all, whatever the Python
    "python-unsupported",  # why a package could not be installed
    "nvcc-mismatch:torch/nvcc",  # why an extension could not be built
    "nvcc-mismatch:torch/unknown-architecture",
    "nvcc-mismatch:packages/known-errors",
    "package-missing:interpreter/two-pythons",  # it is there, for another Python
    "package-missing",
    "torch-import",
    # Hardware that fails: before every version and setting, since no change of those mends it.
    "gpu-unhealthy",
    # Packages that do not belong together, the narrower statement first.
    "torch-pair-mismatch",
    "extension-binary-missing:packages/extension-kernels",
    "extension-abi-mismatch",
    "extension-binary-missing",
    "package-conflict:packages/known-conflicts",
    "numpy-abi",
    "package-conflict:packages/reported-conflicts",
    "package-conflict:packages/conflicts",
    "package-conflict:packages/known-symptoms",
    "package-conflict",  # an import that finds nothing: what all of the above look like
    "nvcc-mismatch",
    # A run that is told to do what this machine cannot.
    "gpu-not-visible:network/launcher-devices",
    "config-mismatch",
    "not-judged:packages/no-stack",  # nor what was asked for
    "gpu-not-visible:torch/device-count",  # which follows from the settings above
    "known-broken-version",
    "thread-count:torch/thread-pool",
    "tf32-api-mixed",
    "package-damaged",
    "triton-mismatch:interpreter/compile-tools",
    "interpreter:interpreter/compile-tools",
    # Limits at which a run dies.
    "shm-too-small",
    "file-limit",
    "slow-interconnect:host/locked-memory",
    # What costs a factor: switches left on, and hardware held back.
    "debug-variable",  # every kernel waits, every allocation asks the driver; NCCL's switches are of this kind too
    "gpu-limited",  # power, clocks, heat, the PCIe link, somebody else's work
    "gpu-limited:gpu/odd-one-out",  # the limit of one card shows here as well: the limit says why
    "slow-interconnect",
    "known-slow-version",
    "triton-mismatch",  # only torch.compile needs it
    "thread-count:variables/thread-count",  # sets what torch then has
    "thread-count",
    "interpreter:interpreter/debug-build",
    "host-limited",
    "interpreter",
    # The script: looked at only when it is given.
    "script-wrong",
    "script-slow",
    # What costs a shade, or nothing that was measured here.
    "config-mismatch:gpu/target-mismatch",  # other settings differ because another GPU is here
    "flag-differs:attention/math-only",
    "flag-differs",  # the order of attention backends, float32 precision
    "extension-binary-missing:attention/flash-generation",
    "extension-binary-missing:attention/flash-unavailable",
    "version-drift",
    "no-effect",
    "not-judged",
)


def rank(kind: str, rule: str) -> int:
    """The higher, the nearer to the root. Kinds are checked elsewhere: an unknown one is a `KeyError`."""
    ranks = _ranks()
    return ranks[kind] if (own := ranks.get(f"{kind}:{rule}")) is None else own


@functools.cache
def _ranks() -> dict[str, int]:
    return {entry: number for number, entry in enumerate(reversed(CAUSES))}


WITHOUT_CUDA = ("packages/extension-binary", "packages/known-errors bitsandbytes")
"""What says that it found no GPU wherever CUDA did not start, and is mended with that."""
