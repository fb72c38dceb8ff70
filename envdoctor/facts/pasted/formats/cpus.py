"""CPUs that there are and CPUs that are allowed, out of cgroup files, container options and sentences."""

from __future__ import annotations

import re

from envdoctor.facts.pasted import words
from envdoctor.facts.pasted.draft import INFERRED, LISTED, STATED, Draft
from envdoctor.facts.pasted.page import Page
from envdoctor.values.pattern import Pattern

_MAX = Pattern(r"\bcpu\.max\s{0,40}[:=]?\s{0,40}['\"]?(\d{3,9}) (\d{3,9})\b")
_QUOTA = Pattern(r"\bcfs_quota_us\s{0,40}[:=]?\s{0,40}(\d{3,9})\b")
_PERIOD = Pattern(r"\bcfs_period_us\s{0,40}[:=]?\s{0,40}(\d{3,9})\b")
_OPTION = Pattern(r"--cpus[= ](\d{1,4}(?:\.\d{1,3})?)\b")
_COUNT = r"(\d{1,4}(?:\.\d{1,3})?)[ -](?:v?cpus?|cpu|cores?|core)\b"
_LIMITED = Pattern(
    rf"\b(?:container|pod|cgroup|job|notebook|instance)\b[^.;:|]{{0,40}}?"
    rf"\b(?:has|have|with|gets?|got|limited to|pinned to|allowed|restricted to|of)\b[^.;:|]{{0,16}}?{_COUNT}"
    rf"|{_COUNT}[^.;:|]{{0,12}}\b(?:pod|container|cgroup)\b[^.;:|]{{0,8}}\b(?:limit|quota)"
    rf"|\b(?:limit(?:ed)?|quota|restricted|pinned)\b[^.;:|]{{0,12}}\b(?:to|of) {_COUNT}",
    re.IGNORECASE,
)
_HOST = Pattern(
    rf"\b(?:host|machine|server|node)\b[^.;|]{{0,30}}?{_COUNT}|{_COUNT} (?:host|machine|server|node)\b", re.IGNORECASE
)
_PERIODS = Pattern(
    r"\bnr_periods\s{0,40}[:=]?\s{0,40}(\d{1,12})\b.{0,40}?\bnr_throttled\s{0,40}[:=]?\s{0,40}(\d{1,12})\b"
)


def read(page: Page, draft: Draft) -> None:
    """Claims only: the lines stay, for they say other things too."""
    for _, text in page.left():
        lower = text.lower()
        if not any(word in lower for word in ("cpu", "core", "cfs_", "nr_periods")):
            continue
        if found := _MAX.search(text):
            draft.claim("host.cpu_quota", _share(found[1], found[2]), STATED)
        elif (quota := _QUOTA.search(text)) and (period := _PERIOD.search(text)):
            draft.claim("host.cpu_quota", _share(quota[1], period[1]), STATED)
        if found := _OPTION.search(text):
            draft.claim("host.cpu_quota", float(found[1]), LISTED)
        elif found := _LIMITED.search(text):
            draft.claim("host.cpu_quota", float(next(filter(None, found.groups()))), INFERRED)
        if found := _HOST.search(text):
            draft.claim("host.cpus", words.number(next(filter(None, found.groups()))), INFERRED)
        if found := re.fullmatch(r"CPU\(s\):\s*(\d{1,5})", text):
            draft.claim("host.cpus", int(found[1]), LISTED)
        if found := _PERIODS.search(text):
            draft.claim("host.cpu_periods", int(found[1]))
            draft.claim("host.cpu_throttled", int(found[2]))


def _share(quota: str, period: str) -> float | None:
    """CPUs; None for a period of no time at all, which no kernel has."""
    return int(quota) / int(period) if int(period) else None
