"""Small wheels made by hand, so that installations can be tested without any network."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path

from envdoctor.locks.stack import Locked


def make_wheel(
    folder: Path,
    name: str,
    version: str,
    files: Mapping[str, str | bytes] | None = None,
    *,
    scripts: tuple[str, ...] = (),
    requires: tuple[str, ...] = (),
    tag: str = "py3-none-any",
) -> Locked:
    """Write a pure wheel and answer its pin. Without ``files`` it holds one module that knows its version."""
    stem = f"{name.replace('-', '_')}-{version}"
    if files is None:
        files = {f"{name.replace('-', '_')}/__init__.py": f"version = {version!r}\n"}
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    metadata += "".join(f"Requires-Dist: {requirement}\n" for requirement in requires)
    members: dict[str, bytes] = {
        path: text if isinstance(text, bytes) else text.encode() for path, text in files.items()
    }
    members[f"{stem}.dist-info/METADATA"] = metadata.encode()
    members[f"{stem}.dist-info/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: {tag}\n".encode()
    )
    if scripts:
        lines = "".join(f"{script} = {name.replace('-', '_')}:main\n" for script in scripts)
        members[f"{stem}.dist-info/entry_points.txt"] = f"[console_scripts]\n{lines}".encode()
    record = f"{stem}.dist-info/RECORD"
    rows = "".join(f"{path},sha256={_digest(data)},{len(data)}\n" for path, data in members.items())
    members[record] = f"{rows}{record},,\n".encode()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{stem}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, data in members.items():
            archive.writestr(zipfile.ZipInfo(member, (2020, 1, 1, 0, 0, 0)), data)
    return pin(path)


def pin(wheel: Path) -> Locked:
    name, version = wheel.name.split("-")[:2]
    data = wheel.read_bytes()
    return Locked(
        name=name.replace("_", "-").lower(),
        version=version,
        wheel=wheel.name,
        sha256=hashlib.sha256(data).hexdigest(),
        size=len(data),
    )


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
