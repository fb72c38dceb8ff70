from envdoctor.rules.image._reading import ImageFile, Install, at, dockerfiles, installs, keeps_downloads
from envdoctor.rules.rule import NOTE, WARNING, Facts, Finding, Findings, rule


@rule(WARNING, kind="host-limited")
def layer_cache(facts: Facts) -> Findings:
    """A layer of the image keeps what was downloaded.

    Why: pip and uv keep every wheel; with torch that is gigabytes which each machine pulls, at the price of a GPU that
    waits. apt's lists are tens of megabytes only. What another RUN deletes later stays in the layer below.
    Fix: `--mount=type=cache`, or `--no-cache-dir`, or delete it in the same RUN.
    Source: https://docs.docker.com/build/cache/optimize/#use-cache-mounts
    https://docs.docker.com/build/building/best-practices/#apt-get https://pip.pypa.io/en/stable/topics/caching/
    """
    for file, parsed in dockerfiles(facts):
        for stage in parsed.shipped:
            told: set[tuple[int, str]] = set()
            for install in installs(stage):
                key = (install.instruction.line, install.tool)
                if install.tool in ("apt", "pip", "uv", "conda") and key not in told and keeps_downloads(install):
                    told.add(key)
                    yield _finding(file, install)


def _finding(file: ImageFile, install: Install) -> Finding:
    tool, heavy = install.tool, install.is_heavy and install.tool != "apt"
    gigabytes = ": gigabytes, with torch" if heavy else ""
    return at(
        file,
        install.line,
        about=tool,
        severity=None if heavy else NOTE,
        message=f"what {tool} downloads stays in this layer{gigabytes}." if tool != "apt" else _LISTS,
        fix="Keep the cache outside of the image." if tool != "apt" else "Delete them in the same RUN.",
        instead=_instead(install),
    )


_LISTS = "the lists that apt fetched stay in this layer."


def _instead(install: Install) -> str:
    if install.tool == "apt":
        return "... && rm -rf /var/lib/apt/lists/*"
    if install.tool == "conda":
        return "... && conda clean -afy"
    home = "uv" if install.tool == "uv" else "pip"
    return f"RUN --mount=type=cache,target=/root/.cache/{home} {install.command.words[0].text} ..."
