"""A team's own targets: by name in ./locks and envdoctor.toml, by address and hash from a server and from git."""

from __future__ import annotations

import http.server
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from envdoctor import bundle
from envdoctor.errors import Trouble
from envdoctor.locks import library, own, shared
from envdoctor.locks.key import of_target
from envdoctor.locks.library import named_target
from envdoctor.system import process

TEAM = (
    'schema = 1\ntitle = "The team\'s H100"\nstacks = ["team"]\ngpu = { names = ["NVIDIA H100"], capability = "9.0" }\n'
)


def write_locks(folder: Path, title: str = TEAM) -> Path:
    (folder / "targets").mkdir(parents=True, exist_ok=True)
    (folder / "targets" / "team.toml").write_text(title)
    shutil.copy(bundle.lockfiles() / "pylock.cpu.toml", folder / "pylock.team.toml")
    return folder / "targets" / "team.toml"


def digest(path: Path) -> str:
    target, _ = named_target(str(path), library.Targets())
    return of_target(target, bundled=False)


# --- by name ---


def test_a_target_in_locks_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_locks(tmp_path / "locks")
    monkeypatch.chdir(tmp_path)
    target, reason = named_target("team", library.load_targets())
    assert target.path == path
    assert str(path) in reason
    assert [one.name for one in library.load_stacks(target).values()] == ["team"]


def test_own_targets_are_taken_by_name_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file in a folder does not change what is chosen for a GPU; who names it gets it, before a bundled one."""
    write_locks(tmp_path / "locks")
    (tmp_path / "locks" / "h100.toml").write_text(TEAM)
    monkeypatch.chdir(tmp_path)
    known = library.load_targets()
    assert "team" not in list(known)
    assert known["h100"].title == "The team's H100"
    assert {target.title for target in library.Targets().values()} == {
        known[name].title for name in library.Targets() if name != "h100"
    } | {library.Targets()["h100"].title}
    with pytest.raises(Trouble) as caught:
        named_target("teem", known)
    assert "Did you mean team" in caught.value.remedy


def test_the_configuration_lists_targets(tmp_path: Path) -> None:
    path = write_locks(tmp_path / "elsewhere")
    write_locks(tmp_path / "locks")
    hex_ = "a" * 64
    listed = [
        "elsewhere/targets/team.toml",
        f"https://host.example/t/big.toml#sha256={hex_}",
        f"git+https://host.example/r.git@v1#path=locks/targets/small.toml&sha256={hex_}",
    ]
    (tmp_path / "envdoctor.toml").write_text(f"targets = {listed}\n")
    found = own.places(tmp_path)
    assert found["team"] == str(path)  # before the one in ./locks
    assert found["big"] == f"https://host.example/t/big.toml#sha256={hex_}"
    assert set(found) == {"team", "big", "small"}


# --- over http ---


class Server(http.server.ThreadingHTTPServer):
    folder: Path
    asked: list[str]
    behaviour: str = ""


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        if self.server.behaviour == "redirect":
            self.send_response(302)
            self.send_header("Location", "file:///etc/passwd")
            self.end_headers()
            return
        path = self.server.folder / self.path.lstrip("/")
        if not path.is_file():
            self.send_error(404)
            return
        self.send_response(200)
        self.end_headers()
        try:
            if self.server.behaviour == "endless":
                while True:
                    self.wfile.write(b"# " + b"x" * 65536 + b"\n")
            if self.server.behaviour == "slow":
                for _ in range(600):
                    self.wfile.write(b"#")
                    self.wfile.flush()
                    time.sleep(0.05)
            self.wfile.write(path.read_bytes())
        except OSError:
            pass  # the reader went away, as it should

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as made:
        made.folder, made.asked = tmp_path / "served", []
        write_locks(made.folder / "locks")
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield made
        made.shutdown()


@pytest.fixture
def place(server: Server) -> str:
    return f"http://127.0.0.1:{server.server_port}/locks/targets/team.toml"


@pytest.fixture
def right(server: Server) -> str:
    return digest(server.folder / "locks" / "targets" / "team.toml")


def test_a_target_comes_with_its_locks_and_is_kept(server: Server, place: str, right: str, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    path = shared.fetch_target(f"{place}#sha256={right}", cache)
    target, _ = named_target(str(path), library.Targets())
    assert target.title == "The team's H100"
    assert [one.name for one in library.load_stacks(target).values()] == ["team"]
    asked = len(server.asked)
    assert shared.fetch_target(f"{place}#sha256={right.upper()}", cache) == path
    assert len(server.asked) == asked  # without a network the second time
    assert [entry.name for entry in cache.iterdir()] == [right]  # and nothing is left of the taking


@pytest.mark.parametrize("fragment", ["", "#sha256=", "#sha256=12ab", "#md5=" + "0" * 32, "#sha256=" + "g" * 64])
def test_without_its_hash_nothing_is_asked(server: Server, place: str, fragment: str, tmp_path: Path) -> None:
    with pytest.raises(Trouble, match="needs the hash"):
        shared.fetch_target(place + fragment, tmp_path)
    assert server.asked == []


@pytest.mark.parametrize("changed", ["locks/targets/team.toml", "locks/pylock.team.toml"])
def test_other_files_than_expected_are_refused(
    server: Server, place: str, right: str, changed: str, tmp_path: Path
) -> None:
    path = server.folder / changed
    path.write_text(path.read_text() + "\n")
    with pytest.raises(Trouble, match="other files than expected"):
        shared.fetch_target(f"{place}#sha256={right}", tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_lock_that_is_missing_is_named(server: Server, place: str, right: str, tmp_path: Path) -> None:
    (server.folder / "locks" / "pylock.team.toml").unlink()
    with pytest.raises(Trouble, match=r"pylock\.team\.toml is not there"):
        shared.fetch_target(f"{place}#sha256={right}", tmp_path)


def test_a_stack_that_envdoctor_brings_need_not_be_served(server: Server, place: str, tmp_path: Path) -> None:
    path = server.folder / "locks" / "targets" / "team.toml"
    path.write_text(TEAM.replace('["team"]', '["cu130"]'))
    found = shared.fetch_target(f"{place}#sha256={digest(path)}", tmp_path)
    assert (
        library.load_stacks(named_target(str(found), library.Targets())[0])["cu130"].path.parent == bundle.lockfiles()
    )


def test_an_endless_file_ends_at_the_limit(server: Server, place: str, right: str, tmp_path: Path) -> None:
    server.behaviour = "endless"
    with pytest.raises(Trouble, match="larger than 4 MiB"):
        shared.fetch_target(f"{place}#sha256={right}", tmp_path)


def test_a_slow_answer_ends_at_the_limit(
    server: Server, place: str, right: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "SECONDS", 1.0)
    server.behaviour = "slow"
    with pytest.raises(Trouble, match="not complete after 1 s"):
        shared.fetch_target(f"{place}#sha256={right}", tmp_path)


def test_a_redirect_does_not_lead_to_files_of_this_machine(
    server: Server, place: str, right: str, tmp_path: Path
) -> None:
    server.behaviour = "redirect"
    with pytest.raises(Trouble, match="no answer"):
        shared.fetch_target(f"{place}#sha256={right}", tmp_path)


@pytest.mark.parametrize(
    "address",
    [
        "http://host.example/team.toml",
        "ftp://host.example/team.toml",
        "file:///etc/team.toml",
        "https://host.example/team.json",
        "https://host.example/",
        "git+https://host.example/r.git@v1",
        "git+https://host.example/r.git#path=../../team.toml",
        "git+ext://sh -c touch@x#path=team.toml",
        "git+https://host.example/r.git@--upload-pack=x#path=team.toml",
    ],
)
def test_other_addresses_are_refused(address: str, tmp_path: Path) -> None:
    separator = "&" if "#" in address else "#"
    with pytest.raises(Trouble) as caught:
        shared.fetch_target(f"{address}{separator}sha256={'0' * 64}", tmp_path)
    assert caught.value.remedy


def test_nobody_there_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(Trouble, match="no answer"):
        shared.fetch_target(f"http://127.0.0.1:9/team.toml#sha256={'0' * 64}", tmp_path)


# --- out of git ---


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    path = tmp_path / "repository"
    write_locks(path / "locks")
    for words in (
        ["init", "--quiet"],
        ["add", "."],
        ["-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "--quiet", "-m", "locks"],
        ["tag", "v1"],
    ):
        outcome = process.run(["git", "-C", path, *words], deadline=30)
        assert outcome.ok, outcome.err
    return path


@pytest.mark.parametrize("reference", ["@v1", ""])
def test_out_of_a_git_repository(repository: Path, reference: str, tmp_path: Path) -> None:
    right = digest(repository / "locks" / "targets" / "team.toml")
    (repository / "locks" / "targets" / "team.toml").write_text("not committed")
    address = f"git+file://{repository}{reference}#path=locks/targets/team.toml&sha256={right}"
    path = shared.fetch_target(address, tmp_path / "cache")
    target, _ = named_target(str(path), library.Targets())
    assert list(library.load_stacks(target)) == ["team"]


@pytest.mark.parametrize(
    ("reference", "path", "words"),
    [("@v2", "locks/targets/team.toml", "git fetch"), ("@v1", "locks/team.toml", r"team\.toml is not there")],
)
def test_what_a_repository_lacks_is_said(
    repository: Path, reference: str, path: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(Trouble, match=words):
        shared.fetch_target(f"git+file://{repository}{reference}#path={path}&sha256={'0' * 64}", tmp_path / "cache")
