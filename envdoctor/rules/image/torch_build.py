from envdoctor.rules.image._reading import Contents, ImageFile, ImageTorch, all_recipe_contents, at, machines, require
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
    for file, held in all_recipe_contents(facts):
        for torch in held.torches:
            if torch.install is not None and (found := _problem(facts, target, held, torch, file)) is not None:
                yield found


def _problem(facts: Facts, target: Target, held: Contents, torch: ImageTorch, file: ImageFile) -> Finding | None:
    install, label, made = torch.install, torch.label or "", held.base
    assert install is not None
    if made is not None and made.libc == "musl" and install.tool in ("pip", "uv"):  # whichever release
        name = made.image if made.image.rpartition("/")[2] == "python" else "python"
        return at(
            file,
            torch.line,
            kind="python-unsupported",
            message="wheels of torch are made for glibc, and this image has musl: this line finds no wheel.",
            fix="Start from an image with glibc (Debian, Ubuntu).",
            instead=f"FROM {name}:{held.python or 3}-slim",
        )
    fit = machines.torch_fit(facts, target, held, torch)
    if obstacle := next((one for one in fit.obstacles if one.what == "python"), None) if fit is not None else None:
        return at(
            file,
            torch.line,
            kind="python-unsupported",
            message=f"{obstacle.message}: this line finds no wheel.",
            fix=f"Take Python {obstacle.needs}, or a torch that has wheels for {held.python}.",
            instead=_with_python(held, obstacle.needs),
        )
    elsewhere = install.torch_line is not None or bool(install.indexes)
    if torch.wanted is not None and "+" in torch.wanted.version and not elsewhere:
        message = (
            f"torch {torch.full} is not on the default index: a build with a label comes from an index of torch's own."
        )
        instead = f"pip install torch=={torch.version} {_INDEX}{label}"
        return _not_on_index(file, torch, message, "Name the index of that CUDA line.", instead)
    from_index = install.torch_line == label
    if from_index and torch.cuda and torch.lines and torch.cuda not in torch.lines:
        built = ", ".join(torch.lines)
        message = f"torch {torch.version} was never built for CUDA {torch.cuda}: there are builds for {built}."
        instead = f"pip install torch=={torch.version} {_INDEX}cu{torch.lines[-1].replace('.', '')}"
        return _not_on_index(file, torch, message, "Name the index of a line that it was built for.", instead)
    if from_index and (near := torch.nearest_line):
        message = f"no torch was ever built for CUDA {torch.cuda}: this index has none."
        instead = f"pip install torch {_INDEX}cu{near.replace('.', '')}"
        return _not_on_index(file, torch, message, "Name the index of a line that there are builds for.", instead)
    made_for = held.file.gpus or (made is not None and made.gpu)
    if label == "cpu" and not on_cpu(target) and (target.capability is not None or made_for):
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


def _not_on_index(file: ImageFile, torch: ImageTorch, message: str, fix: str, instead: str) -> Finding:
    return at(file, torch.line, kind="package-missing", message=message, fix=fix, instead=instead)


def _with_python(held: Contents, version: str | None) -> str:
    if any(feature.name == "python" for feature in held.stage.features):
        return f'"ghcr.io/devcontainers/features/python:1": {{ "version": "{version}" }}'
    return f"FROM python:{version}-slim"
