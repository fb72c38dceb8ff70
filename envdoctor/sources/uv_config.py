"""uv's configuration, read from its files and variables as far as it says where packages come from.

Files as in uv's documentation ("Configuration files"): the nearest ``uv.toml`` or ``pyproject.toml`` with ``[tool.uv]``
above the working directory, then the user's, then the system's; the nearer one wins, lists are joined.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from envdoctor.errors import Trouble
from envdoctor.values.document import read_toml


@dataclass(slots=True, kw_only=True)
class UvConfig:
    """Where uv was told to look. ``indexes`` are (name or "", address); ``default`` replaces the public one."""

    default: str | None = None
    indexes: list[tuple[str, str]] = field(default_factory=list)
    find_links: list[str] = field(default_factory=list)
    insecure_hosts: list[str] = field(default_factory=list)
    no_index: bool = False
    offline: bool = False
    system_certificates: bool = False
    keyring: str | None = None
    cache: str | None = None
    link_mode: str | None = None


def read(folder: Path, variables: Mapping[str, str]) -> UvConfig:
    """What files and variables say together. Raises `Trouble` with the file that cannot be read."""
    config = UvConfig()
    _variables(config, variables)
    if variables.get("UV_NO_CONFIG", "") not in ("", "0", "false"):
        return config
    for path, table in _tables(folder, variables):
        try:
            _merge(config, table, path.parent)
            _merge(config, table.get("pip", {}), path.parent)
        except (TypeError, KeyError, AttributeError) as error:
            raise Trouble(f"is not a uv configuration: {error}", file=path, remedy="Correct or remove it.") from error
    return config


def _tables(folder: Path, variables: Mapping[str, str]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    chosen = variables.get("UV_CONFIG_FILE")
    if chosen:
        yield Path(chosen), read_toml(Path(chosen))
        return
    for directory in (folder, *folder.parents):
        if (directory / "uv.toml").is_file():
            yield directory / "uv.toml", read_toml(directory / "uv.toml")
            break
        project = directory / "pyproject.toml"
        table = read_toml(project).get("tool", {}).get("uv") if project.is_file() else None
        if table is not None:
            yield project, table
            break
    home = Path(variables.get("HOME") or os.path.expanduser("~"))
    user = Path(variables.get("XDG_CONFIG_HOME") or home / ".config") / "uv" / "uv.toml"
    for path in (user, Path("/etc/uv/uv.toml")):
        if path.is_file():
            yield path, read_toml(path)


def _merge(config: UvConfig, table: Mapping[str, Any], base: Path) -> None:
    for index in table.get("index", ()):
        address = _resolve_path(index["url"], base)
        if index.get("default"):
            config.default = config.default or address
        else:
            config.indexes.append((index.get("name", ""), address))
    if "index-url" in table:
        config.default = config.default or _resolve_path(table["index-url"], base)
    config.indexes += [("", _resolve_path(address, base)) for address in table.get("extra-index-url", ())]
    config.find_links += [_resolve_path(address, base) for address in table.get("find-links", ())]
    config.insecure_hosts += table.get("allow-insecure-host", ())
    config.no_index = config.no_index or bool(table.get("no-index"))
    config.offline = config.offline or bool(table.get("offline"))
    certificates = table.get("system-certs", table.get("native-tls"))
    config.system_certificates = config.system_certificates or bool(certificates)
    config.keyring = config.keyring or table.get("keyring-provider")
    config.cache = config.cache or table.get("cache-dir")
    config.link_mode = config.link_mode or table.get("link-mode")


def _resolve_path(address: str, base: Path) -> str:
    """A relative path in a settings file is relative to that file."""
    if "://" in address or os.path.isabs(address):
        return address
    return os.path.normpath(base / address)


def _variables(config: UvConfig, variables: Mapping[str, str]) -> None:
    def words(name: str, separator: str | None = None) -> list[str]:
        return [word.strip() for word in variables.get(name, "").split(separator) if word.strip()]

    def on(name: str) -> bool:
        return variables.get(name, "").lower() in ("1", "true", "yes", "on", "y", "t")

    config.default = variables.get("UV_DEFAULT_INDEX") or variables.get("UV_INDEX_URL") or None
    for word in words("UV_INDEX"):
        name, equals, address = word.partition("=")
        config.indexes.append((name, address) if equals and "/" not in name and ":" not in name else ("", word))
    config.indexes += [("", word) for word in words("UV_EXTRA_INDEX_URL")]
    config.find_links += words("UV_FIND_LINKS", ",")
    config.insecure_hosts += words("UV_INSECURE_HOST")
    config.no_index = on("UV_NO_INDEX")
    config.offline = on("UV_OFFLINE")
    config.system_certificates = on("UV_NATIVE_TLS") or on("UV_SYSTEM_CERTS")
    config.keyring = variables.get("UV_KEYRING_PROVIDER") or None
    config.cache = variables.get("UV_CACHE_DIR") or None
    config.link_mode = variables.get("UV_LINK_MODE") or None
