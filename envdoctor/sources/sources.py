"""Where packages may come from: the user's own configuration of pip and of uv, translated for the installer in use.

Neither tool reads the other's configuration, and a mirror, a proxy or a private index is usually set up for one of
them only. Both are read, everything else that ``PIP_*`` and ``UV_*`` variables can do to an installation (turning hash
checks off, other targets, constraints) is kept away from it. All indexes are asked alike: which file is installed is
decided by its sha256, so no index can slip another one in. Addresses may hold passwords: they travel in variables,
never on a command line, and are struck out of every text that is shown.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from envdoctor.sources import pip_config, uv_config

# What uv variables may pass: speed, caches and credentials; nothing that changes what is installed.
_UV_PASSED = re.compile(
    r"UV_(CACHE_DIR|LINK_MODE|CONCURRENT_\w+|HTTP_TIMEOUT|HTTP_CONNECT_TIMEOUT|HTTP_RETRIES|REQUEST_TIMEOUT"
    r"|INDEX_\w+_(USERNAME|PASSWORD)|CREDENTIALS_DIR|KEYRING_PROVIDER|NATIVE_TLS|SYSTEM_CERTS|OFFLINE|HTTP_PROXY"
    r"|HTTPS_PROXY|NO_PROXY|PYTHON_INSTALL_DIR)"
)
_PIP_PASSED = ("cert", "client-cert", "proxy", "timeout", "default-timeout", "retries", "keyring-provider", "cache-dir")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The user's sources. ``uv`` and ``pip`` are the complete environments to start the two installers with."""

    uv: Mapping[str, str]
    pip: Mapping[str, str]
    index: str | None
    extra: tuple[str, ...]
    find_links: tuple[str, ...]
    offline: bool
    secrets: tuple[str, ...]

    def redact(self, text: str) -> str:
        """Strike passwords out: what addresses hold before their ``@``, and the known secrets wherever they appear."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return re.sub(r"(\w+://)[^/@\s'\"]+@", r"\1***@", text)


def read(environment: Path, *, variables: Mapping[str, str], folder: Path) -> Sources:
    """Collect the sources for one environment; ``folder`` is where uv looks for a project's configuration.

    Raises `Trouble` for a configuration file that cannot be read.
    """
    pip = pip_config.read(environment, variables)
    uv = uv_config.read(folder, variables)
    index = uv.default or pip.get("index-url")
    named = [*uv.indexes, *(("", address) for address in pip.get("extra-index-url", "").split())]
    links = [*uv.find_links, *pip.get("find-links", "").split()]
    no_index = uv.no_index or pip.get("no-index", "").lower() in ("1", "true", "yes", "on")
    offline = uv.offline
    hosts = [*uv.insecure_hosts, *pip.get("trusted-host", "").split()]
    base = {
        key: value
        for key, value in variables.items()
        if not key.startswith(("PIP_", "UV_", "PYTHON")) and key not in ("VIRTUAL_ENV", "CONDA_PREFIX")
    }
    if certificate := pip.get("cert"):
        base.setdefault("SSL_CERT_FILE", certificate)
        base.setdefault("REQUESTS_CA_BUNDLE", certificate)
    if client := pip.get("client-cert"):
        base.setdefault("SSL_CLIENT_CERT", client)
    if proxy := pip.get("proxy"):
        base |= {name: _proxy(proxy) for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")}
    addresses = [index or "", *(address for _, address in named), *links, base.get("HTTPS_PROXY", "")]
    return Sources(
        uv=base | _for_uv(variables, index, named, links, hosts, pip, uv, no_index=no_index),
        pip=base | _for_pip(index, named, links, hosts, pip, no_index=no_index or offline),
        index=index,
        extra=tuple(address for _, address in named),
        find_links=tuple(links),
        offline=offline,
        secrets=tuple(sorted(_secrets(addresses, variables), key=len, reverse=True)),
    )


def _for_uv(
    variables: Mapping[str, str],
    index: str | None,
    named: list[tuple[str, str]],
    links: list[str],
    hosts: list[str],
    pip: Mapping[str, str],
    uv: uv_config.UvConfig,
    *,
    no_index: bool,
) -> dict[str, str]:
    chosen = {key: value for key, value in variables.items() if _UV_PASSED.fullmatch(key)}
    chosen["UV_NO_CONFIG"] = "1"
    chosen["UV_INDEX_STRATEGY"] = "unsafe-best-match"  # as pip does; safe here, where a hash decides
    if index:
        chosen["UV_DEFAULT_INDEX"] = index
    if named:
        chosen["UV_INDEX"] = " ".join(f"{name}={address}" if name else address for name, address in named)
    if links:
        chosen["UV_FIND_LINKS"] = ",".join(links)
    if hosts:
        chosen["UV_INSECURE_HOST"] = " ".join(hosts)
    if no_index:
        chosen["UV_NO_INDEX"] = "1"
    if uv.offline:
        chosen["UV_OFFLINE"] = "1"
    if uv.system_certificates:
        chosen["UV_SYSTEM_CERTS"] = "1"
    if keyring := uv.keyring or ("subprocess" if pip.get("keyring-provider") == "subprocess" else None):
        chosen["UV_KEYRING_PROVIDER"] = keyring
    if uv.cache:
        chosen["UV_CACHE_DIR"] = uv.cache
    if uv.link_mode:
        chosen["UV_LINK_MODE"] = uv.link_mode
    seconds = pip.get("timeout", pip.get("default-timeout", ""))
    if re.fullmatch(r"\d+(\.\d+)?", seconds):
        chosen.setdefault("UV_HTTP_TIMEOUT", str(max(1, round(float(seconds)))))
    return chosen


def _for_pip(
    index: str | None,
    named: list[tuple[str, str]],
    links: list[str],
    hosts: list[str],
    pip: Mapping[str, str],
    *,
    no_index: bool,
) -> dict[str, str]:
    chosen = {"PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"}
    if index:
        chosen["PIP_INDEX_URL"] = index
    if named:
        chosen["PIP_EXTRA_INDEX_URL"] = " ".join(address for _, address in named)
    if links:
        chosen["PIP_FIND_LINKS"] = " ".join(links)
    if hosts:
        chosen["PIP_TRUSTED_HOST"] = " ".join(hosts)
    if no_index:
        chosen["PIP_NO_INDEX"] = "1"
    for option in _PIP_PASSED:
        if option in pip:
            chosen["PIP_" + option.upper().replace("-", "_")] = pip[option]
    return chosen


def _proxy(value: str) -> str:
    return value if "://" in value else f"http://{value}"


def _secrets(addresses: list[str], variables: Mapping[str, str]) -> set[str]:
    found = set()
    for address in addresses:
        user = urlsplit(address).netloc.rpartition("@")[0]
        for part in user.split(":", 1):
            found |= {part, unquote(part)}
    found |= {value for key, value in variables.items() if re.fullmatch(r"UV_INDEX_\w+_PASSWORD", key)}
    return {secret for secret in found if len(secret) > 3}
