from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.knowledge import messages, remedies, versions
from envdoctor.knowledge.quarrels import QUARRELS, SCRIPTS, Quarrel
from envdoctor.rule import Finding, Remedy, Severity, Skip, known, rule
from envdoctor.target import Target


@rule(Severity.ERROR)
def known_conflicts(facts: Facts, target: Target) -> Iterator[Finding]:
    """Two packages do not work together, although their metadata allows it.

    Why: packages use each other's internals, or declare a limit too late. The result is an ImportError or a
    TypeError in the middle of a library.
    Fix: the release named.
    Source: https://github.com/deepspeedai/DeepSpeed/issues/5337
    https://github.com/hiyouga/LlamaFactory/issues/4271 https://github.com/huggingface/datasets/releases/tag/4.0.0
    """
    packages, torch = known(facts.packages), known(facts.torch)
    if packages is None and not facts.messages:
        raise Skip("the packages are not known")
    present = {d.name: d.version for d in packages.distributions} if packages else {}
    if torch:
        present["torch"] = torch.version
    for row in QUARRELS:
        proof = messages.matched(facts, row.said) if row.said else None
        one, other = present.get(row.one), present.get(row.other)
        if one and other and versions.within(one, row.of) and versions.within(other, row.with_):
            yield _finding(facts, target, row, one, other, proven=proof is not None)
    script = messages.matched(facts, SCRIPTS)
    if script is not None:
        yield _script(facts, target, present.get("datasets"), script.string)


def _finding(facts: Facts, target: Target, row: Quarrel, one: str, other: str, proven: bool) -> Finding:
    locked = remedies.locked(target, known(facts.packages), row.one, row.other)
    return Finding(
        kind="package-conflict",
        subject=f"{row.one} {row.other}",
        actual=f"{row.one} {one} with {row.other} {other}",
        expected=row.use,
        message=f"{row.one} {one} and {row.other} {other} do not work together: {row.effect}.",
        remedy=remedies.choose(target, locked, f"Install {row.use}.", remedies.install(row.use)),
        explains=("packages/import-mismatch",),
        root_rank=31 if proven else 11,
        source=row.source,
        repair=locked,
    )


def _script(facts: Facts, target: Target, version: str | None, line: str) -> Finding:
    return Finding(
        kind="package-conflict",
        subject="datasets",
        actual=f"datasets {version or '4 or later'}",
        expected="datasets<4, or the data set as Parquet",
        message=f"The data set comes as a Python script, which datasets dropped in 4.0: {line}.",
        remedy=Remedy(
            text="Use the Parquet copy that the hub keeps of most data sets "
            '(load_dataset(NAME, revision="refs/convert/parquet")), or an older datasets.',
            commands=(remedies.install("datasets<4"),),
        ),
        explains=("packages/import-mismatch",),
        root_rank=31,
    )
