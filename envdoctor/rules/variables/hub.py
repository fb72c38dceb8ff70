from envdoctor.knowledge.questions import versions
from envdoctor.knowledge.variables import on
from envdoctor.rules.rule import NOTE, WARNING, Facts, Finding, Findings, Remedy, finding, known, need, rule

_TRANSFER = "HF_HUB_ENABLE_HF_TRANSFER"


@rule(NOTE)
def hub(facts: Facts) -> Findings:
    """Variables of the Hugging Face libraries are outdated, or act on downloads only.

    Why: HF_HUB_ENABLE_HF_TRANSFER without the hf_transfer package stops every download, and since hub 1.0 nothing
    reads it; old names of cache folders are ignored, so that models are downloaded again. None of them changes a
    training step.
    Fix: the name that is read.
    Source: https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables
    https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md
    """
    variables, packages = need(facts.variables), known(facts.packages)
    version = packages.version("huggingface-hub") if packages else None
    modern = version is not None and versions.at_least(version, "1.0")
    transfer = variables.get(_TRANSFER)
    if transfer and on(transfer):
        if modern:
            yield _finding(_TRANSFER, transfer, "hub 1.0 and later do not read it", "HF_XET_HIGH_PERFORMANCE=1")
        elif packages and packages.complete and packages.version("hf-transfer") is None:
            text = "the hf_transfer package is missing, so that every download stops"
            yield _finding(_TRANSFER, transfer, text, "not set", fatal=True)
    transformers = packages.version("transformers") if packages else None
    for name in ("TRANSFORMERS_CACHE", "PYTORCH_TRANSFORMERS_CACHE", "PYTORCH_PRETRAINED_BERT_CACHE"):
        if name in variables:
            gone = transformers is not None and versions.at_least(transformers, "5")
            text = "transformers 5 does not read it" if gone else "an old name"
            yield _finding(name, variables[name], text, "HF_HOME or HF_HUB_CACHE")


def _finding(name: str, value: str, text: str, instead: str, fatal: bool = False) -> Finding:
    return finding(
        subject=name,
        actual=value,
        expected=instead,
        kind="config-mismatch" if fatal else "no-effect",
        severity=WARNING if fatal else None,
        message=f"{name}={value}: {text}.",
        fix=Remedy(text=f"Unset it; use {instead}.", commands=(f"unset {name}",)),
    )
