from envdoctor.facts.model import Storage
from envdoctor.knowledge.questions import circumstances, mebibytes, messages
from envdoctor.rules.rule import ERROR, WARNING, Facts, Findings, Pattern, Remedy, Severity, Skip, finding, known, rule

_FULL = 256 << 20  # not even a checkpoint of a small model; our choice
_LOW = 2 << 30  # one bf16 checkpoint of a 1B model
_LOW_TEMPORARY = 512 << 20
_FEW_INODES = 1000
_SAYS = Pattern(
    r"(?i)^(?!.*(?:/dev/shm|shared memory|posix_fallocate|\bshm\.(?:h|cc):|</torch_\d)).*no space left on device"
)


@rule(WARNING, kind="host-limited", expected=f"{mebibytes(_LOW)} or more")
def disk_space(facts: Facts) -> Findings:
    """A disk that training writes to is nearly full.

    Why: checkpoints, caches of data sets and compiled kernels need room; a full disk ends the run at its first
    checkpoint and leaves broken files, also in the environment. Places on one disk are named together.
    Fix: make room, or move HF_HOME, TMPDIR and the output elsewhere.
    Source: https://huggingface.co/docs/huggingface_hub/guides/manage-cache
    https://github.com/facebookresearch/gcm/blob/main/gcm/health_checks/checks/check_storage.py
    https://docs.github.com/en/actions/reference/runners/github-hosted-runners
    """
    host = known(facts.host)
    said = messages.in_report(facts, _SAYS)
    if said is not None:
        yield from _said_by_a_program(
            said.string,
            on_a_runner=circumstances.ON_A_RUNNER.stands(facts),
            by_pip=circumstances.BY_PIP.stands(facts),
        )
        return
    if host is None or not host.storage:
        raise Skip("the disks are not known")
    told: set[tuple[int | None, int | None]] = set()
    for place in host.storage:
        verdict = _verdict(place)
        if verdict is None or (place.free, place.free_inodes) in told:
            continue
        told.add((place.free, place.free_inodes))
        same = [other.purpose for other in host.storage if other.free == place.free and _verdict(other)]
        left, severity = verdict
        text = f"{place.path} ({', '.join(same)}) has {left} left."
        yield finding(subject=place.path, actual=left, severity=severity, message=text, fix=_MAKE_ROOM)


def _verdict(place: Storage) -> tuple[str, Severity] | None:
    """What is left and how bad that is; None while there is enough, or it is not known."""
    if place.writable is False:
        return None  # nothing will be written there
    if place.free is not None and place.free < _FULL:
        return mebibytes(place.free), ERROR
    if place.free_inodes is not None and place.free_inodes < _FEW_INODES:
        return f"{place.free_inodes} inodes", ERROR if place.free_inodes == 0 else WARNING
    low = _LOW_TEMPORARY if place.purpose in ("temporary", "inductor-cache", "triton-cache", "cuda-cache") else _LOW
    if place.free is not None and place.free < low:
        return mebibytes(place.free), WARNING
    return None


def _said_by_a_program(line: str, *, on_a_runner: bool, by_pip: bool) -> Findings:
    if "inotify" in line.lower():
        yield finding(
            title="The system's limit of watched files is reached",
            subject="inotify",
            actual=line,
            expected="more watches",
            severity=ERROR,
            message=f"The limit of watched files is reached, and no disk is full: {line}",
            fix=_WATCH_LESS,
        )
    elif on_a_runner:
        yield finding(
            title="A file system has no room left",
            subject="disk",
            actual="no space left",
            expected="torch's build for the processor, or a larger runner",
            severity=ERROR,
            message=f"A file system has no room left: {line}",
            usually=_SMALL_RUNNER,
            fix=_FREE_THE_RUNNER,
        )
    elif by_pip:
        yield finding(
            title="A disk that pip writes to is full",
            subject="pip's temporary folder",
            actual="no space left",
            expected="10 GB or more for torch with CUDA",
            severity=ERROR,
            message=f"A file system that pip writes to has no room left: {line}",
            usually=_WHERE_PIP_WRITES,
            fix=_GIVE_PIP_ROOM,
        )
    else:
        yield finding(
            title="A file system has no room left",
            subject="disk",
            actual=line,
            severity=ERROR,
            message=f"A file system has no room left: {line}",
            usually=_WHERE,
            fix=_MAKE_ROOM,
        )


_MAKE_ROOM = Remedy(
    text="See which one is full; make room there, or move caches and output to another disk. Where it is /tmp, or df "
    "shows room everywhere else, point TMPDIR to a folder on the larger disk (of a Flatpak by flatpak override "
    "--user --env=TMPDIR=...); a container gets a larger /dev/shm by --shm-size=8g.",
    commands=(
        "df -h",
        "df -i",
        "du -sh ~/.cache/*",
        "mkdir -p /PATH/ON/A/LARGER/DISK/tmp",
        "export HF_HOME=/PATH/ON/A/LARGER/DISK TMPDIR=/PATH/ON/A/LARGER/DISK/tmp",
    ),
)
_WHERE = (
    "it is the disk of the caches or of the output, /tmp (where many downloads are written first, and which "
    "systems often keep small or in memory, whatever the disk has), the container's own layer, your quota, or /dev/shm "
    "(64 MiB in a container); with room left it has no inodes left"
)
_SMALL_RUNNER = (
    "the runner's disk is small (GitHub's standard ones promise 14 GB, much of it filled with preinstalled tools), and "
    "torch's default wheel for Linux brings CUDA's libraries with it (nvidia-*, triton: several GB once unpacked), "
    "beside pip's cache, images and data"
)
_FREE_THE_RUNNER = Remedy(
    text="A runner without a GPU needs no CUDA: install torch's build for the processor first, from PyTorch's own "
    "index (uv: --torch-backend=cpu), so that nothing asks for the nvidia packages; pip with --no-cache-dir. Else free "
    "the disk in a first step (the tools below, docker image prune), or take a larger or self-hosted runner.",
    commands=(
        "df -h",
        "python -m pip install --no-cache-dir torch --index-url https://download.pytorch.org/whl/cpu",
        "sudo rm -rf /usr/share/dotnet /usr/local/lib/android /opt/ghc",
    ),
)
_GIVE_PIP_ROOM = Remedy(
    text="See which of them is full. Give pip a temporary folder on the larger disk (TMPDIR), leave its cache "
    "(--no-cache-dir), or make the environment there.",
    commands=(
        "df -h /tmp .",
        "mkdir -p /PATH/ON/A/LARGER/DISK/tmp",
        "export TMPDIR=/PATH/ON/A/LARGER/DISK/tmp",
        "python -m pip cache purge",
    ),
)
_WHERE_PIP_WRITES = (
    "it is /tmp, where pip downloads and unpacks and which many systems keep in memory, whatever the disk has; else "
    "the disk of the environment, pip's cache, the container's own layer or your quota"
)
_WATCH_LESS = Remedy(
    text="Raise the limit, or have the program that watches a folder (Streamlit, TensorBoard, an editor) leave the "
    "data out.",
    commands=("sysctl fs.inotify.max_user_watches", "sudo sysctl fs.inotify.max_user_watches=524288"),
)
