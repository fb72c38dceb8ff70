from envdoctor.facts.images.dockerfile import Dockerfile, Instruction
from envdoctor.knowledge.variables import on
from envdoctor.rules.image._contents import HEAVY
from envdoctor.rules.image._installs import Install, installs
from envdoctor.rules.image._reading import ImageFile, at, dockerfiles
from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, rule

_CLEANS = ("/var/lib/apt/lists", "/root/.cache", "pip cache purge", "conda clean", "uv cache clean", "mamba clean")


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
        yield from _of(file, parsed)


def _of(file: ImageFile, parsed: Dockerfile) -> Findings:
    for stage in parsed.shipped:
        told: set[tuple[int, str]] = set()
        for install in installs(stage):
            key = (install.instruction.line, install.tool)
            if key in told or _has_no_layer_cache(install) or _deletes_cache(install.instruction, install.tool):
                continue
            if install.tool == "apt":
                told.add(key)
                yield at(
                    file,
                    install.line,
                    about="apt",
                    severity=NOTE,
                    message="the lists that apt fetched stay in this layer.",
                    fix="Delete them in the same RUN.",
                    instead="... && rm -rf /var/lib/apt/lists/*",
                )
            elif install.tool in ("pip", "uv", "conda"):
                heavy = any(one.name in HEAVY for one in install.wanted)
                told.add(key)
                yield at(
                    file,
                    install.line,
                    about=install.tool,
                    severity=None if heavy else NOTE,
                    message=f"what {install.tool} downloads stays in this layer"
                    + (": gigabytes, with torch." if heavy else "."),
                    fix="Keep the cache outside of the image.",
                    instead=_instead(install),
                )


def _instead(install: Install) -> str:
    if install.tool == "conda":
        return "... && conda clean -afy"
    home = "uv" if install.tool == "uv" else "pip"
    return f"RUN --mount=type=cache,target=/root/.cache/{home} {install.command.words[0].text} ..."


def _has_no_layer_cache(install: Install) -> bool:
    """Is there no cache, or one outside of the image?"""
    if install.has("--no-cache-dir", "--no-cache", "-n"):
        return True
    if on(install.variable("PIP_NO_CACHE_DIR")) or on(install.variable("UV_NO_CACHE")):
        return True
    mounts = [value for value in install.instruction.option("mount") if "type=cache" in value]
    if install.tool == "apt":
        return any("/apt" in value for value in mounts)
    return any(word in value for value in mounts for word in ("pip", "uv", ".cache", "conda", "pkgs"))


def _deletes_cache(instruction: Instruction, tool: str) -> bool:
    texts = [" ".join(command.texts) for command in instruction.commands]
    mine = {"apt": ("/var/lib/apt/lists",), "conda": ("conda clean", "mamba clean")}.get(tool)
    words = mine or ("/root/.cache", "pip cache purge", "uv cache clean", "~/.cache")
    return any(word in text for text in texts for word in words)
