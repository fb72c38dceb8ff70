"""How a file-reading probe answers: one line of JSON per section, so that what was found survives what comes after."""

from __future__ import annotations

import json
import sys
import time

TYPE_CHECKING = False  # importing typing would take a probe longer than most of its work
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, TextIO


def tell(stream: TextIO, section: str, read: Callable[[], Any]) -> None:
    """Write the section's value, or the error that reading it raised and its place, and the time it took."""
    started = time.perf_counter()
    answer: Dict[str, Any] = {"section": section}
    try:
        answer.update(result="success", value=read())
    except Exception as error:
        answer.update(result="error", error="%s: %s%s" % (type(error).__name__, error, _place(sys.exc_info()[2])))
    answer["seconds"] = round(time.perf_counter() - started, 4)
    stream.write(json.dumps(answer) + "\n")
    stream.flush()


def _place(traceback: Any) -> str:
    place = ""
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename.replace("\\", "/").rpartition("/")[2]
        place = " (%s line %d)" % (file, traceback.tb_lineno)
        traceback = traceback.tb_next
    return place
