"""Secrets a process is handed, so that they are in nothing it tells."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from smartspider.core.redaction import Redactor, is_secret_name
from smartspider.core.runs.plan import Plan
from smartspider.installation.settings import Settings

SHORTEST_PART = 6
"""Shorter parts of a header are words that stand everywhere."""


def redactor_of(settings: Settings) -> Redactor:
    """One that knows the secrets of the installation."""
    redactor = Redactor((settings.admin_token, settings.master_key))
    if settings.mail is not None:
        redactor.add(settings.mail.password)
    for url in (settings.proxy, settings.store_url, settings.frontier_url):
        redactor.add(*_password(url))
    return redactor


def add_secrets(redactor: Redactor, plan: Plan) -> None:
    """Have it know what the headers of a task hold."""
    headers = [*plan.fetch.headers, *(header for entry in plan.entries for header in entry.extras.headers)]
    for name, value in headers:
        if is_secret_name(name):
            redactor.add(value, *(part for part in _parts(value) if len(part) >= SHORTEST_PART))


def _password(url: str) -> list[str]:
    try:
        password = urlsplit(url).password
    except ValueError:  # it may mean something all the same
        password = url.partition("://")[2].rpartition("@")[0].partition(":")[2]
        return [url, password, unquote(password)] if password else [url]
    return [password, unquote(password)] if password else []


def _parts(value: str) -> list[str]:
    """`Bearer x` → x; `a=x; b=y` → x, y."""
    words = [piece.strip().rpartition(" ")[2] for piece in value.split(";")]
    return [word for piece in words for word in (piece, piece.partition("=")[2])]
