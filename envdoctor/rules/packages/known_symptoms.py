from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping

from envdoctor.facts import Facts
from envdoctor.knowledge import remedies, versions
from envdoctor.knowledge.symptoms import CALLEES, SYMPTOMS
from envdoctor.pattern import Pattern
from envdoctor.rule import Finding, Severity, Skip, known, rule
from envdoctor.target import Target

_ARGUMENT = Pattern(
    r"(?P<callee>[A-Za-z_][\w.]*?)(?:\.__init__)?(?:\(\))? (?:got|has|takes|does not (?:take|know|accept)) "
    r"(?:an |the |no )?(?:unexpected |unknown )?(?:keyword )?argument '?(?P<what>\w+)"
)
_POSITIONS = Pattern(r"(?P<callee>[A-Z]\w+)(?:\.\w+)?\(\) (?:takes|missing) .{0,40}positional argument")
_ATTRIBUTE = Pattern(
    r"(?:'(?P<owner>\w+)' object|\b(?P<bare>[A-Z]\w+) (?:object )?)\s?has no attribute '?(?P<what>\w+)"
)
_OWNERS = (
    (Pattern(r"(?:Dynamic|Static|Hybrid|EncoderDecoder|Sliding\w*|Quantized)Cache$"), "transformers"),
    (
        Pattern(r"\w+(?:Config|TokenizerFast|Tokenizer|ForCausalLM|RotaryEmbedding|Attention|ImageProcessor)$"),
        "transformers",
    ),
    (Pattern(r"(?:Seq2Seq)?(?:Trainer|TrainingArguments)$"), "transformers"),
    (Pattern(r"(?:SFT|DPO|PPO|GRPO|KTO|ORPO|CPO|Reward)(?:Trainer|Config)$"), "trl"),
    (Pattern(r"(?:AcceleratorState|Accelerator|PartialState|GradientState|DataLoaderShard)$"), "accelerate"),
    (Pattern(r"(?:Lora\w+|Peft\w+)$"), "peft"),
    (Pattern(r"(?:DeepSpeed\w+)$"), "deepspeed"),
)


@rule(Severity.ERROR)
def known_symptoms(facts: Facts, target: Target) -> Iterator[Finding]:
    """An error of the kind that packages out of step with each other make.

    Why: one package calls another in a way that its release does not know: an argument, an attribute or a module
    that came later or was dropped. The error names the thing, seldom the package; the table does.
    Fix: bring both packages to releases of the same time.
    Source: https://huggingface.co/docs/transformers/troubleshooting https://docs.pydantic.dev/latest/migration/
    """
    if not facts.messages:
        raise Skip("the report has no error lines")
    packages, torch = known(facts.packages), known(facts.torch)
    present = {d.name: d.version for d in packages.distributions} if packages else {}
    if torch and torch.version:
        present.setdefault("torch", torch.version)
    told: set[str] = set()
    for line in facts.messages:
        for name, meaning, use, source in _meanings(line, present):
            if name in told:
                continue
            told.add(name)
            locked = remedies.locked(target, packages, name)
            yield Finding(
                kind="package-conflict",
                subject=name,
                actual=present.get(name, "of unknown version"),
                expected=use,
                message=f"{meaning}: {line}",
                remedy=remedies.choose(
                    target,
                    locked,
                    f"Use {use}.",
                    remedies.install(use)
                    if re.fullmatch(r"[\w-]+[<>=]=?[\w.]+", use)
                    else f"python -m pip install --upgrade {name}",
                ),
                explains=("packages/import-mismatch",),
                source=source,
                root_rank=6,
                repair=locked,
            )


def _meanings(line: str, present: Mapping[str, str]) -> Iterator[tuple[str, str, str, str]]:
    """Distribution, meaning, what to use and source, for what the line is known to mean."""
    for row in SYMPTOMS:
        version = present.get(row.name)
        if row.said.search(line) and (
            version is None or not row.moved or versions.within(version, row.moved) is not False
        ):
            yield row.name, row.meaning, row.use, row.source
    if match := _ARGUMENT.search(line):
        name = _callees().get(match["callee"]) or _callees().get(match["callee"].rpartition(".")[2])
        if name:
            text = f"{match['callee']} of {name} does not know the argument {match['what']}"
            yield name, text, f"a {name} of the same time as its caller", ""
    if (match := _POSITIONS.search(line)) and (name := _callees().get(match["callee"])) and name in present:
        yield (
            name,
            f"{match['callee']} of {name} is called in another way than it is defined",
            f"a {name} of the same time as its caller",
            "",
        )
    if match := _ATTRIBUTE.search(line):
        owner = match["owner"] or match["bare"]
        name = next((name for pattern, name in _OWNERS if pattern.match(owner)), None)
        if name and name in present:
            yield name, f"{owner} of {name} has no {match['what']}", f"a {name} of the same time as its caller", ""


@functools.cache
def _callees() -> Mapping[str, str]:
    return {callee: name for name, callees in CALLEES.items() for callee in callees.split()}
