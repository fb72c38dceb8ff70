from envdoctor.rules.image._reading import Base, ImageFile, all_dockerfiles, at, base, require, service_bases
from envdoctor.rules.rule import ERROR, NOTE, WARNING, Facts, Finding, Findings, Severity, rule

_EXAMPLE = {
    "cuda": "12.8.1-cudnn-devel-ubuntu24.04",
    "pytorch": "2.9.1-cuda12.8-cudnn9-runtime",
    "ngc": "25.09-py3",
    "python": "3.12-slim",
}


@rule(WARNING, kind="version-drift")
def base_image(facts: Facts) -> Findings:
    """The base image's tag does not exist, or names another image every month.

    Why: nvidia/cuda has neither `latest` nor tags of two numbers ("12.1-devel-ubuntu22.04"): the build ends with
    "manifest unknown". A floating tag of torch's or NVIDIA's images changes torch, CUDA and the driver that is needed
    from one build to the next.
    Fix: a full tag; by digest (`image:tag@sha256:...`) where the very same bits are wanted.
    Source: https://hub.docker.com/r/nvidia/cuda https://gitlab.com/nvidia/container-images/cuda/-/blob/master/doc/supported-tags.md
    https://docs.docker.com/build/building/best-practices/#pin-base-image-versions
    """
    require(facts)
    for file, parsed in all_dockerfiles(facts):
        for stage in parsed.used:
            if stage.parent is None and (made := base(stage.base.text)) is not None and (found := _wrong(made)):
                name = f" AS {stage.name}" if stage.name else ""
                yield _finding(file, stage.base.line, *found, instead=f"FROM {made.image}:{_tag(made)}{name}")
    for file, word, made in service_bases(facts):
        if found := _wrong(made):
            key = "image" if file.kind == "compose" else '"image"'
            yield _finding(file, word.line, *found, instead=f"{key}: {made.image}:{_tag(made)}")


def _finding(file: ImageFile, line: int, severity: Severity, message: str, *, instead: str) -> Finding:
    return at(
        file,
        line,
        kind="config-mismatch" if severity is ERROR else "",
        severity=severity,
        message=message,
        fix="Name the full tag of an image that there is.",
        instead=instead,
    )


def _wrong(made: Base) -> tuple[Severity, str] | None:
    if made.fixed:
        return None
    name = f"{made.image}:{made.tag}" if made.tag else made.image
    if made.maker == "cuda" and not made.readable:
        what = "it has no tag `latest`" if made.tag in ("", "latest") else "its tags have three numbers and a flavour"
        return ERROR, f"there is no image {name}: {what}."
    if made.maker == "pytorch" and not made.readable:
        return ERROR, f"there is no image {name}: tags read TORCH-cudaX.Y-cudnnN-runtime or -devel."
    if made.maker == "ngc" and not made.readable:
        return ERROR, f"there is no image {name}: tags read YY.MM-py3."
    if made.gpu and (made.tag in ("", "latest", "devel", "runtime") or made.tag.startswith("nightly")):
        return (
            WARNING,
            f"{name} is another image from time to time: torch, CUDA and the driver it needs change with it.",
        )
    if made.maker == "python" and made.tag in ("", "latest", "slim", "3", "3-slim"):
        return NOTE, f"{name} is the newest Python, for which torch may have no wheels yet."
    return None


def _tag(made: Base) -> str:
    if made.maker == "cuda" and made.cuda:
        rest = made.tag.partition("-")[2]
        return f"{made.cuda}.N-{rest}" if rest else f"{made.cuda}.N-devel-ubuntu22.04"
    return _EXAMPLE.get(made.maker, made.tag)
