"""What rules ask of what is known, in one place: each question is answered and documented in its own module."""

from __future__ import annotations

from envdoctor.knowledge import circumstances, extensions, messages, names, pairs, requirements, symptoms, versions
from envdoctor.knowledge.architectures import code_for
from envdoctor.knowledge.asking import ask_of
from envdoctor.knowledge.cuda_lines import driver_runs, minimum_driver, newest_cuda
from envdoctor.knowledge.errors import ERRORS, errors_in
from envdoctor.knowledge.gpus import capability_of
from envdoctor.knowledge.host import allowed_cpus, mebibytes, whole_cpus
from envdoctor.knowledge.installed_torch import torch_cuda, torch_version
from envdoctor.knowledge.interpreter import headers_package, newest_python
from envdoctor.knowledge.machine import (
    capabilities,
    driver_cuda,
    driver_owner,
    driver_version,
    gpu_names,
    hidden_by,
    in_container,
    is_board,
    machine_of,
    nvidia_gpu,
    platform_of,
)
from envdoctor.knowledge.messages import anywhere, is_log_line
from envdoctor.knowledge.numbers import Numbers, capability, numbers
from envdoctor.knowledge.renting import RELIABLE
from envdoctor.knowledge.requirements import demanded_specifier, normal
from envdoctor.knowledge.roles import TRAINING
from envdoctor.knowledge.solver import best_build, fits
from envdoctor.knowledge.state_dicts import misfit_of, read_misfit
from envdoctor.knowledge.torch_builds import line_of, release_of
from envdoctor.knowledge.variables import CACHES_OFF, COMPILE_OFF, DEBUG, NCCL, PROFILERS

__all__ = [
    "CACHES_OFF",
    "COMPILE_OFF",
    "DEBUG",
    "ERRORS",
    "NCCL",
    "PROFILERS",
    "RELIABLE",
    "TRAINING",
    "Numbers",
    "allowed_cpus",
    "anywhere",
    "ask_of",
    "best_build",
    "capabilities",
    "capability",
    "capability_of",
    "circumstances",
    "code_for",
    "demanded_specifier",
    "driver_cuda",
    "driver_owner",
    "driver_runs",
    "driver_version",
    "errors_in",
    "extensions",
    "fits",
    "gpu_names",
    "headers_package",
    "hidden_by",
    "in_container",
    "is_board",
    "is_log_line",
    "line_of",
    "machine_of",
    "mebibytes",
    "messages",
    "minimum_driver",
    "misfit_of",
    "names",
    "newest_cuda",
    "newest_python",
    "normal",
    "numbers",
    "nvidia_gpu",
    "pairs",
    "platform_of",
    "read_misfit",
    "release_of",
    "requirements",
    "symptoms",
    "torch_cuda",
    "torch_version",
    "versions",
    "whole_cpus",
]
