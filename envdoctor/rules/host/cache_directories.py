from envdoctor.facts.model import Storage
from envdoctor.rules.rule import ERROR, WARNING, Facts, Findings, Pattern, Remedy, Skip, finding, known, messages, rule

_VARIABLES = {
    "temporary": "TMPDIR",
    "triton-cache": "TRITON_CACHE_DIR",
    "inductor-cache": "TORCHINDUCTOR_CACHE_DIR",
    "hf-home": "HF_HOME",
    "hf-hub-cache": "HF_HUB_CACHE",
    "hf-datasets-cache": "HF_DATASETS_CACHE",
    "cuda-cache": "CUDA_CACHE_PATH",
    "torch-home": "TORCH_HOME",
}
_RUNS_CODE = frozenset({"temporary", "triton-cache", "inductor-cache"})
_FOLDER = r"(?:triton|inductor|huggingface|HF_HOME|\.cache)"
_REFUSED = r"(?:permission denied|read-only file system)"
_SAYS = (
    Pattern(r"(?i)failed to map segment from shared object.*(?:triton|inductor|/tmp)"),
    Pattern(f"(?i){_FOLDER}.*{_REFUSED}"),
    Pattern(f"(?i){_REFUSED}.*{_FOLDER}"),
)


@rule(WARNING, kind="host-limited", expected="a local folder that may be written and executed")
def cache_directories(facts: Facts) -> Findings:
    """A cache folder cannot be written, or nothing in it may be executed.

    Why: Triton and Inductor write compiled code into their caches and load it from there: on a noexec or
    read-only disk torch.compile stops ("failed to map segment"). Without a writable HF_HOME nothing can be
    downloaded or prepared.
    Fix: point the variable to a local folder that may be written and executed.
    Source: https://github.com/pytorch/pytorch/blob/main/torch/utils/_triton.py
    https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables
    """
    host = known(facts.host)
    said = messages.in_report(facts, *_SAYS)
    if said is None and (host is None or not host.storage):
        raise Skip("the cache folders are not known")
    for place in host.storage if host else ():
        problem = _problem(place)
        if problem:
            variable, text = _VARIABLES[place.purpose], f"{place.path} ({place.purpose}) {problem}."
            fix = _elsewhere(variable)
            yield finding(subject=variable, actual=f"{place.path} {problem}", message=text, fix=fix)
    if said is not None:
        variable = _variable_of(said.string)
        yield finding(
            title="A folder of a cache could not be used",
            subject=variable,
            actual=f"{said.string} failed",
            severity=ERROR,
            message=f"A folder of a cache could not be used: {said.string}.",
            usually=_behind(said.string),
            fix=_elsewhere(variable),
        )


def _behind(line: str) -> str:
    if "failed to map" in line:
        return "it is mounted noexec, so that nothing in it may be executed, or memory is out"
    if "read-only" in line.lower():
        return "it lies in a part of the container or disk that is mounted for reading alone"
    return "another user owns it (root, after one run under sudo or in a container), or HOME is another user's"


def _variable_of(line: str) -> str:
    """The variable that moves the cache that the line names; of a bare ~/.cache the one that moves all of it."""
    path = line.lower()
    if "inductor" in path:
        return "TORCHINDUCTOR_CACHE_DIR"  # which moves Triton's below it as well
    if "triton" in path or "/tmp" in path:
        return "TRITON_CACHE_DIR"
    return "HF_HOME" if "huggingface" in path or "hf_home" in path else "XDG_CACHE_HOME"


def _problem(place: Storage) -> str | None:
    if place.purpose not in _VARIABLES:
        return None
    if place.writable is False:
        return "cannot be written"
    return "is mounted noexec" if place.noexec and place.purpose in _RUNS_CODE else None


def _elsewhere(variable: str) -> Remedy:
    text = "See who owns it (ls -ld) and give it to the user that runs this, or point it elsewhere."
    return Remedy(text=text, commands=(f"export {variable}=$HOME/.cache/{variable.lower()}",))
