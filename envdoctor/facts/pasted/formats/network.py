"""How GPUs and nodes are joined: NCCL's log, and plain lines about network cards, InfiniBand and transports."""

from __future__ import annotations

import re

from envdoctor.facts.pasted.draft import INFERRED, LISTED, STATED, Draft
from envdoctor.facts.pasted.page import Page, normal, pair
from envdoctor.values.pattern import Pattern

_TRANSPORT = Pattern(r"NCCL INFO (?:Using network (\w+)|NET/(Socket|IB|OFI|Plugin)\s*: (?:Using|No device found))")
_SPEED = Pattern(r"(\d{1,4}(?:\.\d)?)\s?(?:G(?:bit|b)(?:/s|ps|it/s)|Gbit|GbE|Gb|GBASE\w*|G)(?![A-Za-z]*B)\b")
_MACHINES = Pattern(r"\b(two|three|four|eight|[2-9]|[1-9]\d{1,2}) (?:nodes|machines|servers|hosts)\b", re.IGNORECASE)
_NUMBERS = {"two": 2, "three": 3, "four": 4, "eight": 8}
_CARD = Pattern(
    r"ethernet|network|\bnic\b|interconnect|\blan\b|inter-?node|between (?:the )?(?:nodes|machines)", re.IGNORECASE
)
_STATE = Pattern(r"\b(active|down|init|polling|disabled|linkup|armed)\b", re.IGNORECASE)


def read(page: Page, draft: Draft) -> None:
    for number, text in page.left():
        if nccl := re.search(r"NCCL version (\d+\.\d+\.\d+)\+cuda(\d{1,2}\.\d)", text):
            draft.claim("torch.nccl", nccl[1])
            draft.claim("torch.cuda", nccl[2], INFERRED)
        if found := _TRANSPORT.search(text):
            word = (found[1] or found[2]).lower()
            if "No device found" not in text:
                draft.claim(
                    "network.transport", {"socket": "sockets", "ib": "IB"}.get(word, found[1] or found[2]), STATED
                )
            continue
        if re.search(r"via (?:P2P/\w+|SHM/direct|NET/Socket|NET/IB)", text):
            if "NET/" in text:
                draft.claim("network.transport", "sockets" if "Socket" in text else "IB", LISTED)
            continue
        if several := _MACHINES.search(text):
            word = several[1].lower()
            draft.claim("network.nodes", _NUMBERS.get(word) or int(word), INFERRED)
        pair_ = pair(text)
        if pair_ is None:
            continue
        key, value = normal(pair_[0]), pair_[1]
        if key in ("nccl transport", "transport", "nccl network", "nccl net", "nccl backend transport"):
            transport = "sockets" if re.search(r"socket|tcp", value, re.IGNORECASE) else value
            draft.claim("network.transport", transport, STATED)
        elif key in ("infiniband", "ib", "rdma", "infiniband adapter", "rdma device", "hca"):
            _infiniband(draft, value)
        elif (
            key in ("nodes", "nnodes", "number of nodes", "num nodes", "machines")
            and value.isdigit()
            and len(value) < 6
        ):
            draft.claim("network.nodes", int(value), LISTED)
        elif key in _SWITCHES and _STATE_WORD.match(value):
            draft.claim(f"network.{_SWITCHES[key]}", bool(_ON.match(value)))
        elif _CARD.search(key) and (speed := _SPEED.search(value)):
            draft.claim("network.interfaces", (f"{_interface(value)} {int(float(speed[1]) * 1000)}",), INFERRED)
        else:
            continue
        draft.remark(pair_[0], value)
        page.take(number)


_STATE_WORD = Pattern(r"(?:on|off|enabled|disabled|yes|no|loaded|not loaded|missing|present)\b", re.IGNORECASE)


_ON = Pattern(r"(?:on|enabled|yes|loaded|present|active)\b", re.IGNORECASE)
_SWITCHES = {"acs": "acs", "pcie acs": "acs", "iommu": "iommu", "peer memory": "peer_memory",
             "nvidia peermem": "peer_memory", "gpudirect rdma": "peer_memory"}  # fmt: skip


def _infiniband(draft: Draft, value: str) -> None:
    """ "mlx5_0 active 400"; "no adapter" claims nothing but that somebody looked."""
    if re.match(r"(?:no|none|not|n/a|absent|without)\b", value, re.IGNORECASE):
        return
    device = re.search(r"\b(mlx\d_\d+|ib\d+|hfi\d_\d+|qedr\d+|bnxt_re\d+)\b", value)
    state = _STATE.search(value)
    speed = re.search(r"\b(\d{2,3})\b", value.replace(device[0], "") if device else value)
    if device or state:
        parts = (device[1] if device else "ib0", state[1].lower() if state else "", speed[1] if speed else "")
        draft.claim("network.infiniband", (" ".join(part for part in parts if part),))


def _interface(value: str) -> str:
    found = re.search(r"\b(eth\d|en[opsx]\w+|bond\d|ib\d)\b", value)
    return found[1] if found else "ethernet"
