from envdoctor.rules.image._reading import at, for_gpus, gpu_image, require_services
from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Pattern, rule

_UNITS = {"": 1, "b": 1, "k": 1 << 10, "kb": 1 << 10, "m": 1 << 20, "mb": 1 << 20, "g": 1 << 30, "gb": 1 << 30}
_ENOUGH = 1 << 30
_SIZE = Pattern(r"(\d+(?:\.\d+)?)\s*([a-z]*)")


@rule(WARNING, kind="shm-too-small")
def shared_memory(facts: Facts) -> Findings:
    """A container with GPUs starts with 64 MB of shared memory.

    Why: workers of a DataLoader hand batches over in /dev/shm, and NCCL joins the processes of one machine there. With
    Docker's 64 MB a run dies of "Bus error" or "unable to open shared memory object", often hours later.
    Fix: `shm_size: 16gb` (`--shm-size=16g`), or `ipc: host`; not both, since the first has no effect with the second.
    Source: https://docs.docker.com/reference/compose-file/services/#shm_size
    https://docs.pytorch.org/docs/stable/notes/multiprocessing.html https://github.com/pytorch/pytorch#docker-image
    """
    told: set[tuple[str, int]] = set()
    for file, service in require_services(facts):
        if not (for_gpus(service) or gpu_image(service)):
            continue
        wide = service.ipc is not None and service.ipc.text in ("host", "shareable")
        size = _bytes(service.shm.text) if service.shm is not None else None
        compose = file.kind == "compose"
        said = None if compose else service.gpu or service.image
        line = service.line if said is None else said.line
        if service.shm is not None:
            line = service.shm.line
        if (file.path, line) in told:
            continue
        if wide:
            if service.shm is not None and service.ipc is not None and service.ipc.text == "host":
                told.add((file.path, line))
                yield at(
                    file,
                    line,
                    kind="no-effect",
                    severity=NOTE,
                    message="shm_size has no effect with ipc: host.",
                    fix="Nothing needs to be done.",
                    instead="ipc: host alone",
                )
        elif service.shm is None or (size is not None and size < _ENOUGH):
            told.add((file.path, line))
            have = service.shm.text if service.shm is not None else "Docker's 64 MB"
            yield at(
                file,
                line,
                about=service.name,
                message=f"{service.name} has {have} of shared memory: DataLoader workers and NCCL need more.",
                fix="Give it more, or the host's.",
                instead="shm_size: 16gb" if compose else '"--shm-size=16g"',
            )


def _bytes(text: str) -> int | None:
    found = _SIZE.fullmatch(text.strip().lower())
    return int(float(found[1]) * _UNITS[found[2]]) if found and found[2] in _UNITS else None
