"""Series of attacks for SAFETY.md: hostile wheels, indexes and certificates, a folder that somebody else can write.

Each function is one trial in a world of its own; it counts what it tried and what came of it. ``bad`` is something of
somebody else's that was changed, a wrong file that was installed, a success that was none, or a traceback. Where pip
and uv can be put to the same, they are, and counted beside.
"""

from __future__ import annotations

import http.server
import os
import random
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from envdoctor.change.apply import apply
from envdoctor.change.installers import find_uv
from envdoctor.change.undo import undo
from envdoctor.errors import Trouble
from envdoctor.launch import hook
from envdoctor.locks.stack import Locked
from tests.change.conftest import World, quiet, snapshot
from tests.change.wheels import make_wheel, pin

ROOT = Path(__file__).parents[2]
Told = Counter[str]
INSTALLERS = ("uv", "pip")
OMEGA = {"omega.py": "version = '1.0'\n"}


def attempted(world: World, told: Told, **options: object) -> bool:
    """Whether the change was made; refusing it by a `Trouble` is well, anything else that is raised is not."""
    try:
        apply(world.change(**options), verify=lambda clone: None, progress=quiet)
    except Trouble:
        told["refused by name"] += 1
        return False
    except Exception as error:  # noqa: BLE001 - what is looked for
        told[f"bad: {type(error).__name__}"] += 1
        return False
    told["changed"] += 1
    return True


def beside(world: World, installer: str, environment: Path, *words: str | Path) -> bool:
    """The installer itself, on ``environment``; whether it claimed success."""
    if installer == "uv":
        argv: list[str | Path] = [find_uv() or "uv", "pip", "install", "--quiet", "--no-config"]
        argv += ["--python", environment / "bin/python"]
    else:
        argv = [sys.executable, "-I", "-m", "pip", "--python", environment / "bin/python", "install", "--quiet"]
        argv += ["--isolated", "--disable-pip-version-check", "--no-cache-dir"]
    return subprocess.run([*argv, *words], capture_output=True, timeout=120, cwd=world.wheels).returncode == 0


def _zip(path: Path, change: Callable[[dict[str, bytes]], None], twice: str = "") -> Locked:
    """The wheel again with other members, and a RECORD that does not tell of it."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data)
        if twice:
            archive.writestr(zipfile.ZipInfo(twice), b"version = 'second'\n")
    return pin(path)


def _omega(world: World, files: dict[str, str | bytes] | None = None, scripts: tuple[str, ...] = ()) -> Locked:
    return make_wheel(world.wheels, "omega", "1.0", {**OMEGA, **(files or {})}, scripts=scripts)


def _with(**members: bytes) -> Callable[[World], Locked]:
    def made(world: World) -> Locked:
        one = _omega(world)
        return _zip(
            world.wheels / one.wheel, lambda all_: all_.update({k.replace("!", ""): v for k, v in members.items()})
        )

    return made


def _outside(name: str) -> Callable[[World], Locked]:
    def made(world: World) -> Locked:
        one = _omega(world)
        return _zip(world.wheels / one.wheel, lambda members: members.update({name.format(world.environment): b"x"}))

    return made


def _recorded(row: str) -> Callable[[World], Locked]:
    """Its RECORD claims a file that it did not bring: whoever removes the package removes that."""

    def made(world: World) -> Locked:
        one = _omega(world)
        record = "omega-1.0.dist-info/RECORD"
        return _zip(world.wheels / one.wheel, lambda all_: all_.update({record: all_[record] + row.encode() + b",,\n"}))

    return made


def _link(world: World) -> Locked:
    one = _omega(world)
    path = world.wheels / one.wheel
    with zipfile.ZipFile(path, "a") as archive:
        info = zipfile.ZipInfo("out")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, str(world.environment.parent / "canary"))
        archive.writestr(zipfile.ZipInfo("out/planted.py"), b"x = 1\n")
    return pin(path)


HOSTILE: dict[str, Callable[[World], Locked]] = {
    "another package's file": lambda world: _omega(world, {"gamma/__init__.py": "version = 'taken'\n"}),
    "pyvenv.cfg": lambda world: _omega(world, {"omega-1.0.data/data/pyvenv.cfg": "home = /elsewhere\n"}),
    "bin/activate": lambda world: _omega(world, {"omega-1.0.data/scripts/activate": "exit\n"}),
    "bin/python": lambda world: _omega(world, {"omega-1.0.data/scripts/python": "#!/bin/sh\nexit\n"}),
    "a program named python": lambda world: _omega(world, scripts=("python",)),
    "a program named ../x": lambda world: _omega(world, scripts=("../../../escaped",)),
    "our mark": lambda world: _omega(world, {"omega-1.0.data/data/.envdoctor": "0\n"}),
    "our hook": lambda world: _omega(world, {hook.PTH: "import os\n"}),
    "a path above": _outside("../../../../../canary/planted.py"),
    "a path above, in data": _outside("omega-1.0.data/data/../../canary/planted.py"),
    "an absolute path": _outside("{}/../canary/planted.py"),
    "a link to outside": _link,
    "a RECORD that names what lies outside": _recorded("../../../../canary/victim"),
    "a RECORD that names another package's": _recorded("gamma/__init__.py"),
    "one member twice": lambda world: _zip(world.wheels / _omega(world).wheel, lambda all_: None, twice="omega.py"),
    "another project's name": lambda world: _zip(
        world.wheels / _omega(world).wheel,
        lambda all_: all_.update({"omega-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: x\nVersion: 9\n"}),
    ),
    "an empty RECORD": _with(**{"omega-1.0.dist-info/RECORD": b""}),
    "200 MB of zeros": _with(**{"zeros!.bin": bytes(200_000_000)}),
}


def _taken(environment: Path, before: dict[str, tuple[object, ...]], canary: Path) -> list[str]:
    """What of others is not as it was; what is new in the environment is the package's own affair."""
    now = snapshot(environment)
    wrong = [name for name, what in before.items() if now.get(name) != what]
    return wrong + [f"canary: {names}" for names in [sorted(os.listdir(canary))] if names != ["victim"]]


def wheels(world: World, chance: random.Random, told: Told, trial: int) -> None:
    """A wheel whose hash is the locked one and whose contents are hostile: installed, removed again, undone."""
    del chance
    kinds = list(HOSTILE)
    kind, installer = kinds[trial // 2 % len(kinds)], INSTALLERS[trial % 2]
    canary = world.environment.parent / "canary"
    canary.mkdir()
    (canary / "victim").write_text("mine\n")
    omega = HOSTILE[kind](world)
    copy = world.environment.parent / "copy"
    shutil.copytree(world.environment, copy, symlinks=True)
    before = snapshot(world.environment)
    if attempted(world, told, install=(omega,), installer=installer):
        gentle = make_wheel(world.wheels, "omega", "2.0", {"omega.py": "version = '2.0'\n"})
        attempted(world, told, install=(gentle,), installer=installer)
    if wrong := _taken(world.environment, before, canary):
        told[f"bad: {kind}, {installer}: {wrong[:3]}"] += 1
    while (canary / "victim").exists():
        try:
            undo(world.environment, force=True)
        except Trouble:
            break
    if wrong := _taken(world.environment, before, canary):
        told[f"bad: after undo, {kind}, {installer}: {wrong[:3]}"] += 1
    shutil.rmtree(canary)
    canary.mkdir()
    (canary / "victim").write_text("mine\n")
    before = snapshot(copy)
    told[f"beside: {installer}, trials"] += 1
    if beside(world, installer, copy, "--no-deps", "--no-index", "--find-links", world.wheels, "omega==1.0"):
        beside(world, installer, copy, "--no-deps", "--no-index", "--find-links", world.wheels, "omega==2.0")
    if wrong := _taken(copy, before, canary):
        told[f"beside: {installer}, bad"] += 1


@contextmanager
def index(*folders: Path, context: ssl.SSLContext | None = None, raw: bytes | None = None) -> Iterator[int]:
    """A loopback index of the wheels in ``folders``; ``raw``: what it says to everybody instead, before it closes."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.strip("/").split("/")[-1]
            file = next((folder / name for folder in folders if (folder / name).is_file()), None)
            project = [path for folder in folders for path in sorted(folder.glob(f"{name.replace('-', '_')}-*.whl"))]
            if file is None and not project:
                self.send_error(404)
                return
            links = "".join(f'<a href="/files/{path.name}">{path.name}</a>' for path in project)
            body = file.read_bytes() if file else f"<!DOCTYPE html><html><body>{links}</body></html>".encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/octet-stream" if file else "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            del args

    class Server(http.server.ThreadingHTTPServer):
        def get_request(self) -> tuple[socket.socket, object]:
            connection, address = super().get_request()
            if raw is not None:
                connection.sendall(raw)
                connection.close()
                raise OSError("as it should be")
            return (context.wrap_socket(connection, server_side=True) if context else connection), address

        def handle_error(self, request: object, client_address: object) -> None:
            del request, client_address

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def _asked(installer: str, default: str, *others: str) -> dict[str, str]:
    """The variables that name indexes to an installer."""
    if installer == "uv":
        return {"UV_DEFAULT_INDEX": default, "UV_INDEX": " ".join(others)}
    return {"PIP_INDEX_URL": default, "PIP_EXTRA_INDEX_URL": " ".join(others)}


@contextmanager
def variables(values: dict[str, str]) -> Iterator[None]:
    """These variables, and no word that there is no index."""
    before = dict(os.environ)
    os.environ.pop("UV_NO_INDEX", None)
    os.environ.update({"NO_PROXY": "localhost,127.0.0.1", "UV_HTTP_TIMEOUT": "3", "UV_HTTP_RETRIES": "0"})
    os.environ.update({"PIP_RETRIES": "0", "PIP_TIMEOUT": "3", **values})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


CERTIFICATES = {
    "trusted": "localhost",
    "signed by nobody known": "localhost",
    "of another host": "elsewhere.invalid",
    "expired": "localhost",
    "no TLS at all": "",
    "garbage": "",
    "closed at once": "",
}


def certificates(world: World, chance: random.Random, told: Told, trial: int) -> None:
    """An index with every file that is wanted, that cannot show who it is. A trusted one is among them, and must do."""
    del chance
    kind, installer = list(CERTIFICATES)[trial // 2 % len(CERTIFICATES)], INSTALLERS[trial % 2]
    host = CERTIFICATES[kind]
    folder, context, trusted = world.environment.parent, None, {}
    if host:
        _certificate(folder, host, expired=kind == "expired")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
        if kind != "signed by nobody known":
            own = str(folder / "ca.pem")
            trusted = {"SSL_CERT_FILE": own, "PIP_CERT": own}
    raw = {"garbage": b"\x16\x03\x01\x00\xff" + bytes(255), "closed at once": b""}.get(kind)
    before = snapshot(world.environment)
    with index(world.wheels, context=context, raw=raw) as port:
        address = f"https://localhost:{port}/simple"
        with variables({**_asked(installer, address), **trusted}):
            changed = attempted(world, told, installer=installer, wheels=None)
    if changed != (kind == "trusted"):
        told[f"bad: {kind}, {installer}: {'accepted' if changed else 'refused'}"] += 1
    if not changed and snapshot(world.environment) != before:
        told[f"bad: {kind}, {installer}: changed all the same"] += 1


def _certificate(folder: Path, host: str, *, expired: bool) -> None:
    """ca.pem, cert.pem and key.pem: an authority of our own, and what it has signed for ``host``."""

    def openssl(*words: str, under: tuple[str, ...] = ()) -> None:
        subprocess.run([*under, "openssl", *words], cwd=folder, check=True, capture_output=True)

    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl(
        "req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", "-days", "30", "-subj", "/CN=nobody's authority"
    )
    openssl("req", *new, "-keyout", "key.pem", "-out", "cert.csr", "-subj", f"/CN={host}")
    (folder / "cert.ext").write_text(f"subjectAltName=DNS:{host}\nbasicConstraints=CA:FALSE\n")
    sign = ("x509", "-req", "-in", "cert.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "5")
    earlier = ("faketime", "-f", "-10d") if expired else ()
    openssl(*sign, "-extfile", "cert.ext", "-out", "cert.pem", under=earlier)


def confusion(world: World, chance: random.Random, told: Told, trial: int) -> None:
    """A second index offers the same version with other contents, and a higher one."""
    del chance
    installer, first = INSTALLERS[trial % 2], trial // 2 % 2 == 0
    theirs = world.environment.parent / "theirs"
    for version in ("2.0", "99.0"):
        make_wheel(theirs, "alpha", version, {"alpha/__init__.py": "version = 'theirs'\n"})
    copy = world.environment.parent / "copy"
    shutil.copytree(world.environment, copy, symlinks=True)
    with index(world.wheels) as good, index(theirs) as evil:
        addresses = [f"http://127.0.0.1:{port}/simple" for port in ((evil, good) if first else (good, evil))]
        with variables(_asked(installer, *addresses)):
            attempted(world, told, installer=installer, wheels=None)
        words = (
            ("--default-index", addresses[0], "--index", addresses[1])
            if installer == "uv"
            else ("--index-url", addresses[0], "--extra-index-url", addresses[1])
        )
        beside(world, installer, copy, "--no-deps", "--upgrade", *words, "alpha")
    if world.version("alpha") == "theirs":
        told[f"bad: {installer}"] += 1
    told[f"beside: {installer}, trials"] += 1
    told[f"beside: {installer}, bad"] += world.version("alpha", copy) == "theirs"


def neighbours(world: World, chance: random.Random, told: Told, trial: int) -> None:
    """Somebody else has made what we would make, in a folder that all may write: ours is root's, theirs is nobody's."""
    del chance
    parent = world.environment.parent
    canary = parent / "canary"
    canary.write_text("mine\n")
    control = parent / ".envdoctor-.venv.journal"
    kind = ("folder", "link of the folder", "link of the lock", "journal", "slot")[trial % 5]
    evil = parent / ".envdoctor-.venv-1"
    if kind == "link of the folder":
        (parent / "target").mkdir()
        control.symlink_to(parent / "target")
    elif kind == "slot":
        shutil.copytree(world.environment, evil, symlinks=True)
    else:
        control.mkdir(mode=0o777)
        if kind == "link of the lock":
            (control / "lock").symlink_to(canary)
        if kind == "journal":
            shutil.copytree(world.environment, evil, symlinks=True)
            (control / "journal.json").write_text(JOURNAL)
    for path in (control, evil):
        if os.path.lexists(path):
            subprocess.run(["chown", "-hR", "65534:65534", path], check=True)
    before = snapshot(world.environment)
    changed = attempted(world, told)
    if kind == "journal":
        try:
            undo(world.environment, force=True)
            told["bad: undone to somebody else's state"] += 1
        except Trouble:
            told["refused by name"] += 1
    if canary.read_text() != "mine\n":
        told[f"bad: {kind}: written through a link"] += 1
    if changed and kind in ("folder", "link of the folder", "link of the lock", "journal"):
        told[f"bad: {kind}: trusted"] += 1
    if not changed and snapshot(world.environment) != before:
        told[f"bad: {kind}: changed all the same"] += 1


JOURNAL = """{"schema": 1, "pending": null, "doomed": [], "last": 2,
"current": {"number": 2, "made": 1.0, "summary": "ours", "mark": "", "parent": 1, "slot": null, "side": null,
 "against": null},
"states": [{"number": 1, "made": 0.0, "summary": "theirs", "mark": "", "parent": null, "slot": 1, "side": null,
 "against": null}]}
"""
