from envdoctor.knowledge.questions import never_built_for, release_of
from envdoctor.rules.image._contents import Contents, ImageTorch, every, torch_fit
from envdoctor.rules.image._reading import ImageFile, all_recipes, at, require
from envdoctor.rules.rule import ERROR, WARNING, Facts, Finding, Findings, Target, on_cpu, rule

_INDEX = "--index-url https://download.pytorch.org/whl/"


@rule(ERROR, kind="torch-cpu-only")
def torch_build(facts: Facts, target: Target) -> Findings:
    """A torch line that brings a build without CUDA, or none at all.

    Why: `/whl/cpu` and conda's `cpuonly` give a torch that trains on the CPU, silently. A label ("2.1.2+cu118") is
    not on the registry, so that the line ends with "no matching distribution"; so does a release that was never built
    for that CUDA line or this Python, and every release on Alpine, whose C library no wheel of torch is made for.
    Fix: the index of a CUDA line that has the release; an image with glibc and a Python that it has wheels for.
    Source: https://docs.pytorch.org/get-started/previous-versions/
    https://packaging.python.org/en/latest/specifications/version-specifiers/#local-version-identifiers
    https://github.com/pytorch/pytorch/blob/main/RELEASE.md
    """
    require(facts)
    for file, parsed in all_recipes(facts):
        for held in every(parsed):
            for torch in held.torches:
                if torch.install is not None and (found := _problem(facts, target, held, torch, file)) is not None:
                    yield found


def _without_glibc(held: Contents, image: str, torch: ImageTorch, file: ImageFile) -> Finding:
    name = image if image.rpartition("/")[2] == "python" else "python"
    return at(
        file,
        torch.line,
        kind="python-unsupported",
        message="wheels of torch are made for glibc, and this image has musl: this line finds no wheel.",
        fix="Start from an image with glibc (Debian, Ubuntu).",
        instead=f"FROM {name}:{held.python or 3}-slim",
    )


def _with_python(held: Contents, version: str | None) -> str:
    if any(feature.name == "python" for feature in held.stage.features):
        return f'"ghcr.io/devcontainers/features/python:1": {{ "version": "{version}" }}'
    return f"FROM python:{version}-slim"


def _problem(facts: Facts, target: Target, held: Contents, torch: ImageTorch, file: ImageFile) -> Finding | None:
    install = torch.install
    assert install is not None
    fit = torch_fit(facts, target, held, torch)
    if held.base is not None and held.base.libc == "musl" and install.tool in ("pip", "uv"):  # whichever release
        return _without_glibc(held, held.base.image, torch, file)
    for obstacle in fit.obstacles if fit is not None else ():
        if obstacle.what == "python":
            return at(
                file,
                torch.line,
                kind="python-unsupported",
                message=f"{obstacle.message}: this line finds no wheel.",
                fix=f"Take Python {obstacle.needs}, or a torch that has wheels for {held.python}.",
                instead=_with_python(held, obstacle.needs),
            )
    elsewhere = install.torch_line is not None or bool(install.indexes)
    label = torch.label or ""
    if torch.wanted is not None and "+" in torch.wanted.version and not elsewhere:
        return at(
            file,
            torch.line,
            kind="package-missing",
            message=f"torch {torch.full} is not on the default index: "
            f"a build with a label comes from an index of torch's own.",
            fix="Name the index of that CUDA line.",
            instead=f"pip install torch=={torch.version} {_INDEX}{label}",
        )
    release = release_of(torch.version) if torch.version else None
    line = torch.cuda
    if release is not None and line and install.torch_line == label and line not in release.lines:
        return at(
            file,
            torch.line,
            kind="package-missing",
            message=f"torch {torch.version} was never built for CUDA {line}: there are builds for "
            f"{', '.join(release.lines)}.",
            fix="Name the index of a line that it was built for.",
            instead=f"pip install torch=={torch.version} {_INDEX}cu{release.lines[-1].replace('.', '')}",
        )
    if line and not torch.version and install.torch_line == label and (near := never_built_for(line)):
        return at(
            file,
            torch.line,
            kind="package-missing",
            message=f"no torch was ever built for CUDA {line}: this index has none.",
            fix="Name the index of a line that there are builds for.",
            instead=f"pip install torch {_INDEX}cu{near.replace('.', '')}",
        )
    made_for = held.file.gpus or (held.base is not None and held.base.gpu)
    gpu = not on_cpu(target) and (target.capability is not None or made_for)
    if label == "cpu" and gpu:
        asked = "the container is started with GPUs" if held.file.gpus else "its base image is made for GPUs"
        named = f"the image is for the {target.title}" if target.capability else asked
        return at(
            file,
            torch.line,
            severity=None if target.capability else WARNING,
            message=f"this brings a torch without CUDA, although {named}.",
            fix="Take a CUDA build: another index, or conda without cpuonly.",
            instead=f"pip install torch{'==' + torch.version if torch.version else ''}",
        )
    return None
