"""The one way in: text -> facts. Readers go from the most particular layout to the plainest line."""

from __future__ import annotations

import re
from collections.abc import Callable

from envdoctor.errors import Trouble
from envdoctor.facts import scrub
from envdoctor.facts.model import Facts
from envdoctor.facts.pasted import columns, messages, raised_lines
from envdoctor.facts.pasted.draft import Draft
from envdoctor.facts.pasted.formats import (
    bitsandbytes,
    cmake,
    collect_env,
    conda,
    container,
    cpus,
    ds_report,
    huggingface,
    installers,
    launcher,
    lightning,
    listing,
    lscpu,
    machine,
    network,
    nvidia_smi,
    nvidia_smi_list,
    nvidia_smi_query,
    pip,
    prose,
    slurm,
    solvers,
    topology,
    variables,
    vllm,
    xformers_info,
)
from envdoctor.facts.pasted.page import Page
from envdoctor.facts.pasted.unwrap import cut_lines, unwrap

CHARACTERS = 4 * 1024 * 1024
"""Reports end well below 1 MiB; more is a log or no report at all."""

LINES = 20_000

_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_REMEDY = (
    "Paste what one of these prints: python -m torch.utils.collect_env, accelerate env, transformers env, ds_report, "
    "nvidia-smi, pip list, python -m xformers.info."
)

Reader = Callable[[Page, Draft], None]
READERS: tuple[Reader, ...] = (
    nvidia_smi.read,
    nvidia_smi_query.read,
    topology.read,
    lscpu.read,
    launcher.read,
    lightning.read,
    collect_env.read,
    ds_report.read,
    xformers_info.read,
    vllm.read,
    nvidia_smi_list.read,
    solvers.read,
    cmake.read,
    conda.read,
    installers.read,
    pip.read,
    bitsandbytes.read,
    variables.read,
    network.read,
    cpus.read,
    machine.read,
    huggingface.read,
    listing.read,
    container.read,
    slurm.read,
    prose.read,
    messages.read,
    raised_lines.read,
)


def read(text: str) -> Facts:
    """Facts that the pasted ``text`` states. Sections that it does not mention stay `Unavailable`.

    Several glued, quoted, indented or cut-off reports are read as one; where they differ, the more specific statement
    is kept. Raises `Trouble` when the text is too long, no text, or says nothing about an environment.
    """
    if len(text) > CHARACTERS:
        raise Trouble(
            f"the report has {len(text):,} characters, more than {CHARACTERS:,}",
            remedy="Paste only the report, not the whole log.",
        )
    sample = text[:65_536]
    # A console's words in another encoding are lost, and the rest of its text is still to be read
    lost = sample.count("\ufffd") > max(4, len(sample) // (8 if _CONTROL.search(sample) else 2))
    if sample.count("\x00") > max(4, len(sample) // 50) or lost:
        raise Trouble("this is not text", remedy=_REMEDY)
    lines = unwrap(scrub.without_secrets(cut_lines(text), opaque=False))
    if len(lines) > LINES:
        raise Trouble(f"the report has more than {LINES:,} lines", remedy="Paste only the report, not the whole log.")
    page, draft = Page(columns.as_pairs([columns.as_now(line) for line in lines])), Draft()
    for reader in READERS:
        reader(page, draft)
    if draft.is_empty and not draft.remarks:
        raise Trouble("nothing in this text describes an environment", remedy=_REMEDY, exit_code=3)
    return draft.facts()
