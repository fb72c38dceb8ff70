"""Real virtual environments with hand-made packages in them, whole or damaged."""

from __future__ import annotations

import base64
import hashlib
import sys
import venv
from pathlib import Path


def sha256(data: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


class Venv:
    """A virtual environment of the Python that runs the tests, without pip."""

    def __init__(self, path: Path) -> None:
        venv.create(path, with_pip=False, symlinks=True)
        self.path = path
        self.python = path / "bin" / "python"
        self.site = path / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"

    def package(
        self,
        name: str,
        version: str = "1.0",
        *,
        files: dict[str, str] | None = None,
        metadata: str = "",
        wheel: str = "py3-none-any",
        newline: str = "\n",
        extra: dict[str, str] | None = None,
    ) -> Path:
        """Install a package as pip does: files, METADATA, WHEEL, INSTALLER, a RECORD of them all. Its .dist-info."""
        module = name.replace("-", "_")
        info = f"{module}-{version}.dist-info"
        contents = dict(files if files is not None else {f"{module}/__init__.py": "VALUE = 1\n"})
        contents[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{metadata}\nText\n"
        contents[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: {wheel}\n"
        contents[f"{info}/INSTALLER"] = "pip\n"
        contents.update({f"{info}/{path}": text for path, text in (extra or {}).items()})
        lines = []
        for path, text in contents.items():
            data = text.encode()
            target = self.site / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
            lines.append(f"{path},{sha256(data)},{len(data)}")
        lines += [f"{module}/__pycache__/__init__.cpython-311.pyc,,", f"{info}/RECORD,,"]
        (self.site / info / "RECORD").write_bytes((newline.join(lines) + newline).encode())
        return self.site / info

    def torch(self, source: str) -> None:
        """A package ``torch`` with this ``__init__.py``."""
        self.package("torch", "2.9.0", files={"torch/__init__.py": source})
