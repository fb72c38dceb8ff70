"""DeepSpeed's ``ds_report`` (deepspeed/env_report.py): dotted keys, a table of operators, warnings."""

from __future__ import annotations

import re

from envdoctor.facts.pasted import words
from envdoctor.facts.pasted.draft import STATED, Draft
from envdoctor.facts.pasted.page import Page, normal, pair
from envdoctor.values.pattern import Pattern

FORMAT = "ds_report"
_OPERATOR = Pattern(r"[\w.-]+(?:\s[\s.]*)?\[(?:NO|YES|OKAY|FAIL)\](?:[\s.]*\[(?:NO|YES|OKAY|FAIL)\])?")


def read(page: Page, draft: Draft) -> None:
    built = any(re.search(r"\[YES\]", text) and _OPERATOR.fullmatch(text) for _, text in page.left())
    for number, text in page.left():
        if _OPERATOR.fullmatch(text) or re.match(r"op name \.+ installed|DeepSpeed (?:C\+\+|general env)", text):
            page.take(number)
            draft.format(FORMAT)
            continue
        found = pair(text)
        if found is None:
            continue
        key, value = normal(found[0]), found[1]
        if key == "deepspeed info":
            version = words.version(value)
            if version:
                draft.package("deepspeed", version, STATED)
        elif key in ("deepspeed wheel compiled w.", "deepspeed wheel compiled w") and not built:
            draft.remark(found[0], value)  # nothing was compiled: operators are built when they are first used
        elif key in ("deepspeed wheel compiled w.", "deepspeed wheel compiled w"):
            torch = re.search(r"torch (\d+\.\d+)", value)
            cuda = re.search(r"cuda (\d+\.\d+)", value)
            draft.extension(
                "deepspeed",
                torch=torch[1] if torch else None,
                cuda=cuda[1] if cuda and cuda[1] != "0.0" else None,
            )
        elif key not in ("deepspeed install path", "torch install path") or not value.startswith("["):
            continue
        page.take(number)
        draft.format(FORMAT)
