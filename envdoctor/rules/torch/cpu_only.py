from envdoctor.knowledge.machine import needs_board_wheels
from envdoctor.knowledge.questions import circumstances, messages, nvidia_gpu, other_backend, torch_cuda, torch_version
from envdoctor.rules.rule import ERROR, Facts, Finding, Findings, Pattern, Skip, Target, finding, known, remedies, rule
from envdoctor.rules.torch import _meant_gpu

_SAYS = Pattern(r"Torch not compiled with CUDA enabled")
_JETSON = Pattern(r"Jetson|Orin|Xavier|Tegra")
_OF_TORCH = ("torch/cuda-unavailable", "torch/cuda-error")
_EXPLAINED = (
    *_OF_TORCH,
    "precision/",
    "attention/",
    "packages/extension-binary",
    "packages/known-errors bitsandbytes",
)


@rule(ERROR, kind="torch-cpu-only", subject="torch", explains=_EXPLAINED, for_gpu=True)
def cpu_only(facts: Facts, target: Target) -> Findings:
    """A CPU build of torch on a machine with an NVIDIA GPU.

    Why: training runs on the CPU, silently and some hundred times slower. pip does not replace such a build by
    itself: the label "+cpu" is ignored in version comparisons, so "torch>=2.4" counts as satisfied. conda picks one
    as soon as a package asks for cpuonly.
    Fix: install torch again, from the index of a CUDA line that the driver runs, and force it.
    Source: https://packaging.python.org/en/latest/specifications/version-specifiers/#local-version-identifiers
    https://github.com/unslothai/unsloth/pull/5942 https://github.com/octimot/StoryToolkitAI/issues/170
    """
    version, cuda = torch_version(facts), torch_cuda(facts)
    torch = known(facts.torch)
    said = messages.anywhere(facts, _SAYS)
    if said is None and (version is None or cuda is None):
        raise Skip("which build of torch is installed is not known")
    guessed = said is not None and not (torch is not None and torch.cuda) and "+cu" not in (version or "")
    if (cuda and not guessed) or other_backend(facts) is not None:
        return
    gpu, name = nvidia_gpu(facts), f"torch {version}" if version else "torch"
    evidence = gpu or _meant_gpu.signs_of_gpu(facts)
    if gpu is None and said is not None:
        if "card" in facts.remarks:
            return  # the only card that is told of is AMD's: packages/known-errors
        if (instead := _meant_gpu.without_nvidia(facts)) is not None:
            yield _asked_in_vain(name, said[0], *instead)
            return
    if evidence is not None:
        stops = "what asks for the GPU stops" if said else "what it computes runs on the CPU"
        why, usually = f"although there is {evidence}: {stops}", _meant_gpu.solver_fell_back(facts, version)
    elif said is not None:
        why, usually = f'and the code asks for a GPU of NVIDIA\'s ("{said[0]}")', _FROM_PYPI
    else:
        return
    repair = remedies.torch_pin(target, cuda=True)
    text = _REINSTALL if gpu else f"{_REINSTALL} {_meant_gpu.WITHOUT_ONE}"
    if circumstances.OF_A_PROJECT.stands(facts):
        text, usually = f"{text} {_IN_A_LOCK}", usually if guessed else _LOCKED
    jetson = needs_board_wheels(facts) or (gpu is not None and _JETSON.search(gpu) is not None)
    yield finding(
        title="" if gpu else _WITHOUT_CUDA if said else "A build of torch for the CPU, where a GPU seems to be meant",
        actual=f"{name}, built without CUDA",
        expected=repair[0].version if repair else "a CUDA build",
        message=f"{name} has no CUDA in it, {why}.",
        usually=usually,
        fix=remedies.FOR_JETSON
        if jetson
        else remedies.choose(target, repair, text, _meant_gpu.by_hand(facts, version)),
        repair=repair,
    )


_WITHOUT_CUDA = "The code asks for CUDA, and this torch has none in it"
_FROM_PYPI = (
    "it was installed from PyPI on Windows, whose build is for the CPU, or another package or conda brought such a "
    "build; else there is no GPU here, and the code should not ask for one"
)
_REINSTALL = (
    "Install a CUDA build of torch in its place, and torchvision and torchaudio with it where they are installed."
)


_LOCKED = (
    "its project took torch from PyPI, whose build for Windows is for the CPU, as an index or a marker in "
    "pyproject.toml says for this system"
)
_IN_A_LOCK = (
    "In a project with a lock (uv, poetry, pdm, pixi) the next installation takes it back: name PyTorch's index of a "
    "CUDA line in pyproject.toml for this system too (uv: [[tool.uv.index]] with explicit = true, and torch under "
    "[tool.uv.sources], without a marker such as sys_platform == 'linux' that leaves the others to PyPI), then lock "
    "and install anew."
)


def _asked_in_vain(name: str, said: str, why: str, instead: str) -> Finding:
    actual, expected = f"{name}, built without CUDA", "code that asks for no CUDA"
    message = f'{name} has no CUDA in it, {why} ("{said}").'
    return finding(
        title=_WITHOUT_CUDA, actual=actual, expected=expected, message=message, fix=instead, explains=_OF_TORCH
    )
