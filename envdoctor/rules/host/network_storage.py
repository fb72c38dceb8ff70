from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Remedy, Skip, finding, need, rule

_NETWORK = tuple("nfs ceph lustre beegfs gpfs glusterfs cifs smb fuse. mfs wekafs 9p drvfs virtiofs".split())
_SLOW = tuple("9p drvfs fuse.sshfs fuse.gcsfuse fuse.s3fs fuse.mfs fuse.rclone cifs smb".split())
_LOCAL_FUSE = ("fuse.fuse-overlayfs", "fuse.lxcfs")


@rule(NOTE, kind="host-limited", expected="a local disk")
def network_storage(facts: Facts) -> Findings:
    """The environment, the data or a cache lies on a network file system.

    Why: a shared file system is slow for many small files (imports, tokenised shards, kernels), and as fast as
    its busiest user lets it be: a contended one cost an H100 25 to 30 % (1.36 -> 1.91 it/s once the data was
    local). Whether it matters here, the share of a step spent waiting for data says.
    Fix: copy data and caches to the local disk first.
    Source: https://github.com/kyutai-labs/pocket-tts/pull/250 https://github.com/horovod/horovod/issues/824
    https://docs.runpod.io/pods/storage/types
    """
    host = need(facts.host)
    if not any(place.filesystem for place in host.storage):
        raise Skip("the file systems are not known")
    for filesystem in dict.fromkeys(place.filesystem for place in host.storage if _remote(place.filesystem)):
        places = [place for place in host.storage if place.filesystem == filesystem]
        named = ", ".join(f"{place.purpose} {place.path}" for place in places[:4])
        slow = (filesystem or "").startswith(_SLOW)
        yield finding(
            subject=filesystem or "",
            actual=named,
            severity=WARNING if slow else None,
            message=f"On {filesystem}, which is reached over a network: {named}.",
            fix=_COPY,
        )


_COPY = Remedy(
    text="Copy data and caches to a local disk before training.",
    commands=("export HF_HOME=/tmp/hf TRITON_CACHE_DIR=/tmp/triton",),
)


def _remote(filesystem: str | None) -> bool:
    name = (filesystem or "").lower()
    return name.startswith(_NETWORK) and not name.startswith(_LOCAL_FUSE)
