"""A Hub on loopback: the part of its HTTP interface that huggingface_hub and datasets ask, over a folder of
repositories ROOT/{models,datasets}/OWNER/NAME. Its behaviour follows from names: OWNER "gated" answers 403 as gated
repositories do; `broken` names a path whose download ends in the middle.
"""

from __future__ import annotations

import hashlib
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit


def commit_of(folder: Path) -> str:
    """A commit by content, 40 hexadecimal digits."""
    digest = hashlib.sha1(usedforsecurity=False)
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


class Hub:
    """`asked` lists method and path of every request; `uploaded` holds files pushed, by repository and path."""

    def __init__(self, root: Path) -> None:
        self.root, self.broken = root, ""
        self.asked: list[str] = []
        self.uploaded: dict[str, bytes] = {}
        self.url = ""


def handler(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *arguments: object) -> None:
            pass

        def answer(self, body: object, code: int = 200, **headers: str) -> None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(code)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        def repository(self, kind: str, name: str) -> Path | None:
            if name.startswith("gated/"):
                self.answer({"error": "gated"}, 403, X_Error_Code="GatedRepo", X_Error_Message="Access is restricted")
                return None
            folder = hub.root / kind / name
            if not folder.is_dir():
                self.answer({"error": "Repository not found"}, 401, X_Error_Code="RepoNotFound")
                return None
            return folder

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            hub.asked.append(f"{self.command} {self.path}")
            parts = urlsplit(self.path)
            words = [unquote(word) for word in parts.path.strip("/").split("/")]
            if words[0] == "api":
                self.api(words[1], words[2:], parse_qs(parts.query))
                return
            kind = "datasets" if words[0] == "datasets" else "models"
            words = words[1:] if kind == "datasets" else words
            name, (_, revision, *inside) = "/".join(words[:2]), words[2:]
            folder = self.repository(kind, name)
            if folder is None:
                return
            path = folder / "/".join(inside)
            commit = commit_of(folder)
            if revision not in ("main", commit):
                self.answer({"error": "Invalid rev id"}, 404, X_Error_Code="RevisionNotFound")
            elif not path.is_file():
                self.answer({"error": "Entry not found"}, 404, X_Error_Code="EntryNotFound", X_Repo_Commit=commit)
            else:
                self.file(path, commit)

        def file(self, path: Path, commit: str) -> None:
            data = path.read_bytes()
            tag = hashlib.sha256(data).hexdigest()
            low, code = 0, 200
            wanted = self.headers.get("Range", "")
            if wanted.startswith("bytes="):
                first, _, last = wanted[6:].partition("-")
                low, high = int(first or 0), int(last or len(data) - 1) + 1
                part, code = data[low:high], 206
            else:
                part = data
            self.send_response(code)
            self.send_header("ETag", f'"{tag}"')
            self.send_header("X-Repo-Commit", commit)
            self.send_header("Accept-Ranges", "bytes")
            if code == 206:
                self.send_header("Content-Range", f"bytes {low}-{low + len(part) - 1}/{len(data)}")
            self.send_header("Content-Length", str(len(part)))
            self.end_headers()
            if self.command == "HEAD":
                return
            if hub.broken and path.name == hub.broken:
                self.wfile.write(part[: len(part) // 2])
                self.wfile.flush()
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            self.wfile.write(part)

        def api(self, kind: str, words: list[str], query: dict[str, list[str]]) -> None:
            if len(words) < 2:
                if words or kind not in ("models", "datasets"):
                    self.answer({"error": "not here"}, 404)
                    return
                found = [f"{p.parent.name}/{p.name}" for p in sorted((hub.root / kind).glob("*/*")) if p.is_dir()]
                part = query.get("search", [""])[0].lower()
                self.answer([{"id": name, "modelId": name} for name in found if part in name.lower()])
                return
            name, rest = "/".join(words[:2]), words[2:]
            folder = self.repository(kind, name)
            if folder is None:
                return
            commit = commit_of(folder)
            files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
            revision = rest[1] if len(rest) > 1 else "main"
            if revision not in ("main", commit):
                self.answer({"error": "Invalid rev id"}, 404, X_Error_Code="RevisionNotFound")
            elif rest and rest[0] == "tree":
                under = "/".join(rest[2:])
                self.answer([entry(path, folder) for path in files if str(path.relative_to(folder)).startswith(under)])
            else:
                siblings = [{"rfilename": str(path.relative_to(folder))} for path in files]
                self.answer({
                    "id": name, "modelId": name, "sha": commit, "siblings": siblings, "private": False, "tags": [],
                    "gated": False, "disabled": False, "downloads": 0, "likes": 0,
                })  # fmt: skip

        def do_POST(self) -> None:
            hub.asked.append(f"{self.command} {self.path}")
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            words = [unquote(word) for word in urlsplit(self.path).path.strip("/").split("/")]
            if words[:3] == ["api", "repos", "create"]:
                wanted = json.loads(body)
                name = f"{wanted.get('organization') or 'me'}/{wanted['name']}"
                if name.startswith("gated/"):
                    self.answer({"error": "You may not create a repository there"}, 403)
                    return
                (hub.root / "models" / name).mkdir(parents=True, exist_ok=True)
                self.answer({"url": f"{hub.url}/{name}", "name": name, "id": name})
            elif "paths-info" in words:
                folder = hub.root / words[1] / "/".join(words[2:4])
                asked = json.loads(body)["paths"] if body[:1] == b"{" else parse_qs(body.decode())["paths"]
                self.answer([entry(folder / path, folder) for path in asked if (folder / path).exists()])
            elif "preupload" in words:
                files = json.loads(body)["files"]
                told = [{"path": one["path"], "uploadMode": "regular", "shouldIgnore": False} for one in files]
                self.answer({"files": told})
            elif "commit" in words:
                import base64

                name = "/".join(words[2:4])
                for line in map(json.loads, body.decode().splitlines()):
                    if line["key"] == "file":
                        value = line["value"]
                        hub.uploaded[f"{name}/{value['path']}"] = base64.b64decode(value["content"])
                url = f"{hub.url}/{name}/commit/{'a' * 40}"
                self.answer({"success": True, "commitOid": "a" * 40, "commitUrl": url, "hookOutput": ""})
            elif "validate-yaml" in self.path:
                self.answer({"errors": [], "warnings": []})
            else:
                self.answer({"error": "not here"}, 404)

    return Handler


def entry(path: Path, folder: Path) -> dict:
    """A line of a repository's tree."""
    name = str(path.relative_to(folder))
    if path.is_dir():
        return {"type": "directory", "path": name, "oid": "0" * 40, "size": 0}
    data = path.read_bytes()
    oid = hashlib.sha1(data, usedforsecurity=False).hexdigest()
    return {"type": "file", "path": name, "oid": oid, "size": len(data)}


@contextmanager
def serving(root: Path) -> Iterator[Hub]:
    """A Hub over the repositories in `root`, while the block runs."""
    hub = Hub(root)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(hub))
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
