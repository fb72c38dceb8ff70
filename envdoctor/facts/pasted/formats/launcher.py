"""Accelerate's configuration: below the heading of ``accelerate env`` and ``transformers env``, or as YAML."""

from __future__ import annotations

import ast
import re

from envdoctor.facts.pasted.draft import LISTED, Draft
from envdoctor.facts.pasted.page import Page, pair
from envdoctor.values.pattern import Pattern

FORMAT = "accelerate-config"
_HEADING = Pattern(r"accelerate (?:default )?config(?: passed)?\s*:\s*(.*)", re.IGNORECASE)
_KEY = Pattern(r"[a-z][a-z0-9_]{1,60}")

KEYS = frozenset(
    """compute_environment distributed_type mixed_precision use_cpu debug num_processes machine_rank num_machines
    gpu_ids main_process_ip main_process_port rdzv_backend same_network main_training_function deepspeed_config
    fsdp_config
    megatron_lm_config downcast_bf16 tpu_use_cluster tpu_use_sudo tpu_env tpu_name tpu_zone command_file commands
    dynamo_backend dynamo_config enable_cpu_affinity ipex_config mpirun_config fp8_config parallelism_config
    nproc_per_node""".split()
)
_ONLY = KEYS - {"debug", "commands", "command_file"}
"""Keys that nothing but accelerate's configuration has."""


def read(page: Page, draft: Draft) -> None:
    parent = ""
    inside = False
    for number, raw in enumerate(page.lines):
        text = raw.strip()
        if number in page.taken or not text:
            continue
        if heading := _HEADING.fullmatch(text):
            inside = heading[1].lower() not in ("not found", "none", "not installed")
            parent = ""
            page.take(number)
            draft.format(FORMAT)
            continue
        found = pair(text)
        if found is None or not _KEY.fullmatch(found[0]):
            inside = False if found is not None or text.lower() == "not found" else inside
            if inside is False and text.lower() == "not found":
                page.take(number)
            continue
        key, value = found
        nested = bool(parent) and raw[:1] in (" ", "\t") and key not in KEYS
        if key in _ONLY or (inside and key in KEYS):
            parent = key if not value else ""
            _setting(draft, key, value)
        elif nested:
            _setting(draft, f"{parent}.{key}", value)
        else:
            inside = False
            parent = ""
            continue
        page.take(number)
        draft.format(FORMAT)
    _conclude(draft)


def _setting(draft: Draft, key: str, value: str) -> None:
    """A value as text; accelerate prints its sections as Python dicts: they are opened ("fsdp_config.fsdp_version")."""
    draft.settings.setdefault(key, value)
    if value.startswith("{"):
        try:
            inner = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return
        for name, member in inner.items() if isinstance(inner, dict) else ():
            draft.settings.setdefault(f"{key}.{name}", str(member))


def _conclude(draft: Draft) -> None:
    machines = draft.settings.get("num_machines", "")
    if machines.isdigit() and len(machines) < 6:
        draft.claim("network.nodes", int(machines), LISTED)
