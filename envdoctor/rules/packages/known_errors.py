from envdoctor.rules.packages import _heard, _listed, _row_words
from envdoctor.rules.rule import ERROR, Facts, Findings, Target, finding, kind_of, messages, remedies, rule

_USUAL = "An error whose usual causes are known"
_EXPLAINED = ("packages/import-mismatch", "packages/known-symptoms")


@rule(ERROR, kind="package-conflict")
def known_errors(facts: Facts, target: Target) -> Findings:
    """An error whose words alone say what is wrong.

    Why: compilers, installers and libraries stop with sentences of their own. What each of them means, and what helps,
    is kept in a table with its source; where a rule knows more of the machine, its finding comes first.
    Fix: depends on the error.
    Source: https://pip.pypa.io/en/stable/topics/dependency-resolution/
    https://docs.astral.sh/uv/reference/troubleshooting/build-failures/
    https://docs.pytorch.org/docs/stable/cpp_extension.html
    """
    told: set[tuple[str, str]] = set()
    for heard in _heard.rows(facts):
        for one in _findings(facts, target, heard):
            if (one.kind, one.subject) not in told:
                told.add((one.kind, one.subject))
                yield one


def _findings(facts: Facts, target: Target, heard: _heard.Heard) -> Findings:
    row, line = heard.row, heard.found.string
    said = messages.own_words(line)
    if row.kind == "package-missing" or row.subject == "build isolation":
        elsewhere = _listed.elsewhere(facts, target, said, _row_words.what_was_built(facts))
        if elsewhere is not None:
            yield elsewhere
            return
    told = _row_words.fill(facts, heard)
    triton = ("packages/triton-pair",) if "triton" in line.lower() else ()
    yield finding(
        subject=told.subject,
        title=_USUAL if told.usually or row.weak else "",
        actual=told.version or said[:300],
        kind=kind_of(row.kind),
        severity=heard.severity,
        certain=not row.weak,
        who=row.who,
        message=f"{told.meaning}: {said}",
        usually=told.usually,
        fix=remedies.from_lock(facts, target, told.package, told.remedy, *told.commands, instead=told.instead),
        explains=row.explains or (() if row.weak else (*_EXPLAINED, *triton)),
        source=row.source,
    )
