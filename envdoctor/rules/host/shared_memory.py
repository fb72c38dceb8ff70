from envdoctor.knowledge.questions import circumstances, mebibytes, messages
from envdoctor.rules.rule import ERROR, WARNING, Facts, Finding, Findings, Pattern, Remedy, Skip, finding, known, rule

ENOUGH = 512 << 20  # deepspeed/env_report.py warns below 512 MiB
_SAYS = (
    "out of shared memory",
    "insufficient shared memory",
    "unable to open shared memory object",
    "unable to allocate shared memory",
    "/dev/shm size might be too small",
    "killed by signal: bus error",
    "no space left on device: '/dev/shm",
    "shared memory segment",
    "unable to write to file </torch_",
    "/dev/shm full",
    "/dev/shm is full",
    "/dev/shm too small",
    "could not create shared memory",
)
_FULL = Pattern(r"(?i)no space left on device.{0,300}['\" ]/dev/shm")
_ANOTHER = Pattern(
    r"(?i)too many open files"  # the limit of open files stops it first: `host/open-files`
    # a database's own, also where the reader of prose took it for a loader's
    r"|(?:^|\[(?:in other words: )?)\W{0,4}(?:ERROR: {1,3})?out of shared memory\W{0,4}$|max_locks_per_transaction",
)
_GUESSED = Pattern(
    r"(?i)might be caused by insufficient shared memory"
    r"|it is possible that dataloader's workers are out of shared memory"
    r"|killed by signal: bus error(?!.{0,80}(?:out of shared|/dev/shm))",
)
_GAVE_OUT = Pattern(
    r"(?i)no space|out of shared|insufficient shared|too small|\bfull\b|unable to (?:allocate|write)|bus error"
)
_PROVED = Pattern(
    r"(?i)no space left|too small|/dev/shm (?:is )?full|could not create|unable to (?:open|allocate|write)"
)
"""Words of what really found no room; torch's own for a bus error are no more than a guess."""
_AMPLE = Pattern(
    r"(?i)--ipc[= ]host|/dev/shm.{0,40}\b(?:\d{2,4}|[2-9]) ?G(?:i?B)?\b|\b(?:\d{2,4}|[2-9]) ?G(?:i?B)? (?:of "
    r")?(?:/dev/shm|shm|shared)"
    r"|GB of /dev/shm|共享内存.{0,12}?(?:\d{2,4}|[2-9]) ?G",
)
"""Somebody says that there is plenty."""
_SEGMENT = Pattern(r"/dev/shm/(?P<file>[\w.-]{3,80})|</torch_\d")
_NCCL = Pattern(r"(?i)/dev/shm/nccl-|\bnccl\b")
_POD = (
    "Mount an emptyDir with medium: Memory (and a sizeLimit) at /dev/shm of the container that computes: a pod has 64 "
    "MiB without it. Then look at it in that very pod, not in a router's or another one: a chart's setting for shared "
    "memory may reach it only together with others (its own parallel size, say)."
)


@rule(WARNING, kind="shm-too-small", subject="/dev/shm", expected=f"at least {mebibytes(ENOUGH)}", who="image")
def shared_memory(facts: Facts) -> Findings:
    """/dev/shm is too small for loader workers and NCCL.

    Why: loader workers hand batches over in /dev/shm, and NCCL keeps buffers there. Docker gives 64 MiB unless
    asked for more; the worker that overruns it is killed by a bus error.
    Fix: start the container with a larger one. From inside: no loader workers, or the file_system sharing
    strategy.
    Source: https://github.com/pytorch/pytorch/issues/5040 https://github.com/pytorch/pytorch/issues/108861
    https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/env_report.py
    """
    host = known(facts.host)
    size = host.shm if host else None
    lines = [text for text in facts.messages if any(phrase in text.lower() for phrase in _SAYS)]
    lines.sort(key=lambda text: _SEGMENT.search(text) is None)  # the program's own line before one that retells it
    said = next((text for text in lines if not _ANOTHER.search(text)), None)
    if denied := messages.in_report(facts, _DENIED):
        yield _not_allowed(denied.string, denied["why"] or denied["refused"])
        return
    if said is None and (found := messages.in_report(facts, _FULL)):
        said = None if _ANOTHER.search(found.string) else found.string
    if size is None and said is None:
        raise Skip("the size of /dev/shm is not known")
    if said is None and (size is None or size >= ENOUGH):
        return
    ample = said is not None and (
        (size is not None and size >= ENOUGH)
        or any(_AMPLE.search(text) for text in (*messages.texts(facts), *facts.remarks.values()))
    )
    if said is not None and ample:
        yield _cut_short(said) if _GUESSED.search(said) else _not_for_room(said)
        return
    guessed = any(map(_GUESSED.search, lines)) and not any(map(_PROVED.search, lines))
    title, message, usually = _words(facts, size, said, guessed)
    yield finding(
        title=title,
        actual=mebibytes(size) if size is not None else said or "",
        message=message,
        usually=usually,
        fix=_larger(facts, said or "", guessed),
        severity=None if said is None else ERROR,  # not yet a failure where nothing has failed yet
        explains=("packages/known-errors NCCL",) if _NCCL.search(said or "") else (),
    )


def _words(facts: Facts, size: int | None, said: str | None, guessed: bool) -> tuple[str, str, str]:
    """A title of its own, the message and the usual cause: by the size where it is known, else by a program's words."""
    if size is not None:
        actual = mebibytes(size)
        if said is not None and facts.origin.kind == "pasted":
            return "", f"/dev/shm is small ({actual}), and a program could not use it: {said}", ""
        return "", f"/dev/shm is too small ({actual}): loader workers die of a bus error.", ""
    if guessed:
        return _BUS_ERROR, f"{_BUS_ERROR}: {said}", f"/dev/shm is full, {_LIMIT}; else {_LOST_FILE}"
    gave_out = _GAVE_OUT.search(said or "") is not None
    title = f"Shared memory (/dev/shm) {'gave out' if gave_out else 'could not be used'}"
    listed = circumstances.SHM_LISTED.found(facts)
    held = f" (df shows {listed['size']})" if listed is not None else ""
    return title, f"{title}{held}: {said}", "" if gave_out else f"it is full, {_LIMIT}; else {_NOT_ALLOWED}"


_BUS_ERROR = "A loader worker ended in a bus error"
_LIMIT = "of which a container has 64 MiB unless it is given more"
_LOST_FILE = "a file that the worker had mapped was cut short or could not be read"
_NOT_ALLOWED = "this user or container may not use it, or what ran before left its files there"


def _larger(facts: Facts, said: str, guessed: bool) -> Remedy:
    """By who uses it, NCCL or a loader's workers, and by what runs the container."""
    nccl = _NCCL.search(said) is not None
    pod = circumstances.KUBERNETES.stands(facts)
    loader = "" if circumstances.NO_WORKERS.stands(facts) else "train with num_workers=0, or "
    larger = (
        _POD
        if pod
        else "Start the container with more shared memory (Kubernetes: mount an emptyDir with medium: Memory on "
        "/dev/shm)."
    )
    inside = (
        " NCCL_SHM_DISABLE=1 goes without it, by a slower way."
        if nccl
        else f" From inside: remount it where that is allowed, or {loader}call "
        'torch.multiprocessing.set_sharing_strategy("file_system").'
    )
    look = " Where df -h /dev/shm shows room left: look at the disk that holds the data (dmesg)." if guessed else ""
    text = larger + inside + look
    if pod:
        return Remedy(text=text, commands=("kubectl exec POD -- df -h /dev/shm",))
    return Remedy(
        text=text, commands=("docker run --shm-size=8g IMAGE",), instead=("mount -o remount,size=8G /dev/shm",)
    )


def _not_allowed(said: str, why: str) -> Finding:
    """The system refuses by another errno than that of a full file system: no size mends it."""
    read_only = "read-only" in why.lower()
    return finding(
        kind="config-mismatch",
        title="The system refuses shared memory",
        actual=why,
        expected="mounted for writing" if read_only else "open for writing to every user (mode 1777)",
        message=f"The system refuses shared memory ({why.lower()}), which is no lack of room: {said}",
        usually=_READ_ONLY if read_only else _CLOSED,
        fix=_OPEN_IT,
        who="host",
        severity=ERROR,
        explains=("packages/known-errors NCCL",),
    )


_DENIED = Pattern(
    r"(?i)(?:shm_open|/dev/shm\b|shared memory (?:object|segment)|</torch_|/nccl-|SemLock).{0,160}?"
    r"(?P<why>permission denied|operation not permitted|read-only file system)"
    r"|(?P<refused>permission denied|operation not permitted|read-only file system)\W{1,5}/dev/shm/"
)
_CLOSED = (
    "/dev/shm has lost its mode 1777 (a mount, a script or an image set another), what lies there under the name is "
    "another user's, or a container's user (user namespace, --user, SELinux) may not write to it"
)
_READ_ONLY = "the container or its pod has a read-only root and no /dev/shm that may be written"
_OPEN_IT = Remedy(
    text="Look at mode and mount first: the mode has to be drwxrwxrwt of root. As root give it back, and let "
    "/etc/fstab or the image mount it so (tmpfs, mode=1777, rw); remove what another user left there. In a container "
    "start it with --ipc=host or a tmpfs of its own on /dev/shm.",
    commands=("ls -ld /dev/shm", "mount | grep /dev/shm", "sudo chmod 1777 /dev/shm"),
)


def _not_for_room(said: str) -> Finding:
    """Something could not be put into /dev/shm, of which there is plenty."""
    return finding(
        title="Shared memory could not be used",
        actual=said,
        expected="shared memory that may be used",
        message=f"Shared memory could not be used, of which there is plenty by the report: {said}",
        usually=_WHY_WITH_ROOM,
        fix=_LOOK_INTO_IT,
        severity=ERROR,
    )


_WHY_WITH_ROOM = (
    "what ran before left its files there and filled it, this user may not write to it, another limit is lower (the "
    "container's memory counts it as well), or the process runs in another container than the one that was given it"
)
_LOOK_INTO_IT = Remedy(
    text="See in the very container that fails what is left and what lies in it; remove what ended runs left, and give "
    "the container more memory where its limit is near.",
    commands=("df -h /dev/shm", "ls -la /dev/shm"),
)


def _cut_short(said: str) -> Finding:
    """torch guesses at shared memory for every bus error of a worker."""
    blamed = "for which torch blames /dev/shm whatever it was; the text tells of a larger one"
    return finding(
        title=_BUS_ERROR,
        actual=said,
        expected="no bus error",
        message=f"{_BUS_ERROR}, {blamed}: {said}",
        usually=f"the setting did not reach this container (df -h /dev/shm in it shows what it has), or {_LOST_FILE}",
        fix=_WATCH_IT,
        who="you",
        explains=("packages/known-errors /dev/shm",),
    )


_WATCH_IT = Remedy(
    text="Watch df -h /dev/shm in the container while it runs: where it has 64 MiB, make the container anew with the "
    "setting (--shm-size or --ipc=host; in Kubernetes an emptyDir with medium: Memory at /dev/shm of the pod, as the "
    "node's own size changes nothing in it), or take num_workers=0; where it has room, look at the disk or network "
    "drive that holds the data (dmesg), and copy the data to a local disk.",
    commands=("df -h /dev/shm", "dmesg -T | tail"),
)
