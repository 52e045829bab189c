"""The page at `/api/docs`: the OpenAPI document made readable, from this server alone."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import lru_cache
from importlib import resources

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response


async def page(_request: Request) -> Response:
    """The page."""
    text, policy = _page()
    return HTMLResponse(text, headers={"Content-Security-Policy": policy})


@lru_cache(maxsize=1)
def _page() -> tuple[str, str]:
    """The page, and a policy that lets nothing run but what it brings itself."""
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
