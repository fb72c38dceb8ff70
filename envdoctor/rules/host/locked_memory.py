from envdoctor.knowledge.questions import in_container, mebibytes, messages, topics_of
from envdoctor.rules.rule import ERROR, WARNING, Facts, Findings, Pattern, Remedy, Skip, finding, known, rule

_ENOUGH = 1 << 30  # NCCL's and UCX's guides ask for "unlimited"; a GiB holds their buffers
_SAYS = (
    Pattern(
        r"(?i)(?:ibv_reg_mr|ibv_create_qp)(?!.{0,100}(?:bad address|invalid argument))"  # GPUDirect's: no lack of room
        r"|ibv_create_cq.*cannot allocate memory"
    ),
)


@rule(WARNING, kind="slow-interconnect", subject="locked memory", expected="unlimited", who="image")
def locked_memory(facts: Facts) -> Findings:
    """Little memory may be locked, which InfiniBand needs.

    Why: RDMA registers its buffers as locked memory. Under a container's default limit the registration fails,
    and NCCL stops or falls back to sockets. Without InfiniBand the limit does not matter.
    Fix: start the container without the limit.
    Source: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
    https://docs.docker.com/reference/cli/docker/container/run/#ulimit
    """
    host, network = known(facts.host), known(facts.network)
    said = messages.in_report(facts, *_SAYS)
    limit = host.locked_memory if host else None
    if said is None and (limit is None or network is None):
        raise Skip("the limit, or whether there is InfiniBand, is not known")
    small = limit is not None and 0 <= limit < _ENOUGH and network is not None and bool(network.infiniband)
    if said is None and not small:
        return
    allowed = mebibytes(limit) if limit is not None and limit >= 0 else ""
    if said is None:
        text = f"Only {allowed} may be locked; InfiniBand needs more, and NCCL may fall back to sockets."
        yield finding(actual=allowed, message=text, fix=_WITHOUT_IT)
        return
    contained = in_container(facts) or "a container" in topics_of(facts)
    yield finding(
        title="InfiniBand could not lock its memory",
        actual=allowed or said.string,
        severity=ERROR,
        message=f"InfiniBand could not lock its memory: {said.string}.",
        fix=_WITHOUT_IT if contained else _RAISE,
        who="image" if contained else "host",
    )


_RAISE = Remedy(
    text="See ulimit -l in the very process that fails (mpirun -np 1 bash -c 'ulimit -l'): a change of "
    "/etc/security/limits.conf (memlock unlimited, for soft and hard) counts from the next login on, and not for what "
    "systemd starts (sshd, slurmd, Docker: LimitMEMLOCK=infinity in its unit, then a restart). In a container: docker "
    "run --ulimit memlock=-1.",
    commands=("ulimit -l",),
)
_WITHOUT_IT = Remedy(text="Start the container without it.", commands=("docker run --ulimit memlock=-1 IMAGE",))
