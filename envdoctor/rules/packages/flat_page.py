from envdoctor.knowledge.questions import circumstances, messages, release_of
from envdoctor.rules.rule import ERROR, Facts, Findings, Pattern, Skip, finding, rule

_NAMED = Pattern(
    r"(?:there (?:is|are) no versions? of|No matching distribution found for|satisfies the requirement"
    r"|Because (?!only |there )) ?"
    r"[`'\"]?(?P<name>[A-Za-z][\w.-]{0,60})(?:\[[\w,-]{1,40}\])?(?: ?={2,3} ?(?P<wanted>\d[\w.+!]{0,40}))?"
)
_EXPLAINED = ("packages/known-errors", "packages/no-such-release", "interpreter/unsupported")
_OF_UV = Pattern(r"\buv\b|tool\.uv|╰─▶|No solution found")


@rule(ERROR, kind="package-conflict", subject="a page of wheels", explains=_EXPLAINED)
def flat_page(facts: Facts) -> Findings:
    """A page that lists wheels was given to the installer as an index.

    Why: an index has a page for each package, and pip and uv ask for PAGE/torch/; a flat page (torch_stable.html,
    data.pyg.org's, jax_releases.html) has all of its links in itself, so that behind such an address nothing is found.
    Fix: --find-links (-f) for such a page; in a project of uv an index with format = "flat".
    Source: https://docs.astral.sh/uv/concepts/indexes/#flat-indexes
    https://pip.pypa.io/en/stable/cli/pip_install/#cmdoption-f
    """
    said = messages.in_report(facts, _NAMED) or messages.in_report(facts, circumstances.FLAT_PAGE.of)
    if said is None:
        raise Skip("no installer says that it finds nothing")
    found = next(filter(None, map(circumstances.FLAT_PAGE.said.search, messages.everything(facts))), None)
    if found is None:
        return
    url = found["url"] or found["address"]
    named = _NAMED.search(said.string)
    name = named["name"] if named else ""
    wanted = ((named["wanted"] or "") if named else "").rstrip(".")
    what = f"{name}=={wanted}" if name and wanted else name or "NAME"
    by_uv = any(_OF_UV.search(text) for text in messages.everything(facts))
    text = "Give the page as --find-links (-f), which reads its links; PyPI is asked beside it."
    if by_uv:
        text += f' In a project of uv: [[tool.uv.index]] with url = "{url}" and format = "flat".'
    release = release_of(wanted) if name == "torch" and wanted else None
    if release is not None:
        text += f" torch {release.name} has wheels for Python {release.python[0]} to {release.python[1]} alone."
    nothing = "is one page with links to wheels, and no index, as which it was given: nothing is found behind it"
    command = f"{'uv pip' if by_uv else 'python -m pip'} install '{what}' --find-links {url}"
    yield finding(
        actual=f"{found['option'] or 'an index'} {url}",
        expected=f"--find-links {url}",
        message=f"{url} {nothing}: {said.string}",
        fix=text,
        run=command if what != "NAME" else "",
    )
