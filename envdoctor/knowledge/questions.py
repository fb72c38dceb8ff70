"""What rules ask of what is known, in one place: each question is answered and documented in its own module."""

from __future__ import annotations

from envdoctor.knowledge import (
    broken,
    circumstances,
    conda_channels,
    extensions,
    installed,
    messages,
    names,
    pairs,
    requirements,
    symptoms,
    toolkits,
    versions,
)
from envdoctor.knowledge.architectures import code_for
from envdoctor.knowledge.asking import Ask, ask_of, is_package
from envdoctor.knowledge.cuda_errors import RUN_ERRORS, is_of_the_start
from envdoctor.knowledge.cuda_lines import driver_runs, minimum_driver, newest_cuda
from envdoctor.knowledge.cxx_symbols import has_new_strings
from envdoctor.knowledge.errors import errors_in
from envdoctor.knowledge.generations import driver_knows, driver_range, generation
from envdoctor.knowledge.gpus import capability_of, identify, on_bus
from envdoctor.knowledge.host import allowed_cpus, mebibytes, whole_cpus
from envdoctor.knowledge.installed_torch import line_is_guessed, other_backend, torch_build, torch_cuda, torch_version
from envdoctor.knowledge.interpreter import first_release, headers_package, last_python, newest_python
from envdoctor.knowledge.machine import (
    capabilities,
    driver_cuda,
    driver_owner,
    driver_version,
    gpu_names,
    hidden_by,
    in_container,
    in_wsl,
    is_board,
    lacks_licence,
    machine_of,
    nvidia_gpu,
    platform_of,
)
from envdoctor.knowledge.messages import anywhere, is_log_line
from envdoctor.knowledge.numbers import Numbers, capability, line, numbers, reaches
from envdoctor.knowledge.renting import RELIABLE, for_capability, for_cuda
from envdoctor.knowledge.requirements import demanded_specifier, normal
from envdoctor.knowledge.roles import PLUMBING, TRAINING
from envdoctor.knowledge.solver import best_build, fits
from envdoctor.knowledge.state_dicts import misfit_of, read_misfit
from envdoctor.knowledge.topics import topics_of
from envdoctor.knowledge.torch_builds import (
    is_label,
    is_published,
    label_of,
    line_of,
    lines_beside,
    never_built_for,
    python_offered,
    release_before,
    release_of,
    release_with,
)

__all__ = [
    "PLUMBING",
    "RELIABLE",
    "RUN_ERRORS",
    "TRAINING",
    "Ask",
    "Numbers",
    "allowed_cpus",
    "anywhere",
    "ask_of",
    "best_build",
    "broken",
    "capabilities",
    "capability",
    "capability_of",
    "circumstances",
    "code_for",
    "conda_channels",
    "demanded_specifier",
    "driver_cuda",
    "driver_knows",
    "driver_owner",
    "driver_range",
    "driver_runs",
    "driver_version",
    "errors_in",
    "extensions",
    "first_release",
    "fits",
    "for_capability",
    "for_cuda",
    "generation",
    "gpu_names",
    "has_new_strings",
    "headers_package",
    "hidden_by",
    "identify",
    "in_container",
    "in_wsl",
    "installed",
    "is_board",
    "is_label",
    "is_log_line",
    "is_of_the_start",
    "is_package",
    "is_published",
    "label_of",
    "lacks_licence",
    "last_python",
    "line",
    "line_is_guessed",
    "line_of",
    "lines_beside",
    "machine_of",
    "mebibytes",
    "messages",
    "minimum_driver",
    "misfit_of",
    "names",
    "never_built_for",
    "newest_cuda",
    "newest_python",
    "normal",
    "numbers",
    "nvidia_gpu",
    "on_bus",
    "other_backend",
    "pairs",
    "platform_of",
    "python_offered",
    "reaches",
    "read_misfit",
    "release_before",
    "release_of",
    "release_with",
    "requirements",
    "symptoms",
    "toolkits",
    "topics_of",
    "torch_build",
    "torch_cuda",
    "torch_version",
    "versions",
    "whole_cpus",
]
