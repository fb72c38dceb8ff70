"""Where a server may send whoever reads a lock, an index or a wheel from it."""

from __future__ import annotations

import urllib.error
import urllib.request
from typing import Any


class Redirects(urllib.request.HTTPRedirectHandler):
    """Never from https to anything that can be read on the way, nor to a file of this machine; HEAD stays HEAD."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        if not newurl.startswith(("https:", req.full_url.partition("/")[0])):
            raise urllib.error.URLError("redirected away from https")
        further = super().redirect_request(req, fp, code, msg, headers, newurl)
        if further is not None:
            further.method = req.get_method()
        return further
