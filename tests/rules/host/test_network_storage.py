import pytest

from envdoctor.facts.model import Facts, Host, Storage
from envdoctor.rules.host.network_storage import network_storage
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped


def on(*filesystems: str | None) -> Facts:
    places = tuple(Storage(purpose="hf-home", path=f"/{n}", filesystem=kind) for n, kind in enumerate(filesystems))
    return Facts(host=Host(storage=places))


@pytest.mark.parametrize(
    ("filesystem", "severity"),
    [
        ("nfs4", Severity.NOTE),
        ("lustre", Severity.NOTE),
        ("ceph", Severity.NOTE),
        ("9p", Severity.WARNING),
        ("fuse.sshfs", Severity.WARNING),
    ],
)
def test_over_a_network(filesystem: str, severity: Severity) -> None:
    (finding,) = findings(network_storage, on(filesystem, "ext4", filesystem))
    assert (finding.kind, finding.subject, finding.severity) == ("host-limited", filesystem, severity)
    assert finding.actual == "hf-home /0, hf-home /2"


@pytest.mark.parametrize("filesystem", ["ext4", "xfs", "overlay", "tmpfs", "btrfs", "fuse.fuse-overlayfs"])
def test_local_disks(filesystem: str) -> None:
    assert silent(network_storage, on(filesystem))


def test_unknown_is_skipped() -> None:
    assert skipped(network_storage, on(None))
    assert skipped(network_storage, Facts())
