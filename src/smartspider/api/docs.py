"""The page at `/api/docs`, which renders the OpenAPI document without external resources."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import lru_cache
from importlib import resources

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response


async def page(_request: Request) -> Response:
    """Return the page."""
    text, policy = _page()
    return HTMLResponse(text, headers={"Content-Security-Policy": policy})


@lru_cache(maxsize=1)
def _page() -> tuple[str, str]:
    """Return the page and a content security policy that allows only its own script and style."""
    text = (resources.files(__package__) / "docs.html").read_text(encoding="utf-8")
    hashes = {
        kind: " ".join(_hash(part) for part in re.findall(rf"<{kind}>(.*?)</{kind}>", text, re.DOTALL))
        for kind in ("script", "style")
    }
    policy = (
        f"default-src 'none'; connect-src 'self'; script-src {hashes['script']}; "
        f"style-src {hashes['style']}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return text, policy


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
