"""Collect the secrets of settings and tasks, which are redacted in logs."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from smartspider.core.redaction import Redactor, is_secret_name
from smartspider.core.runs.plan import Plan
from smartspider.installation.settings import Settings

MIN_PART_LENGTH = 6
"""Shorter parts of a header are ordinary words and are not redacted."""


def build_redactor(settings: Settings) -> Redactor:
    """Build a redactor with the secrets of the installation."""
    redactor = Redactor((settings.admin_token, settings.master_key))
    if settings.mail is not None:
        redactor.add(settings.mail.password)
    for url in (settings.proxy, settings.store_url, settings.frontier_url):
        redactor.add(*_password(url))
    return redactor


def add_secrets(redactor: Redactor, plan: Plan) -> None:
    """Add the secret headers of a task."""
    headers = [*plan.fetch.headers, *(header for entry in plan.entries for header in entry.extras.headers)]
    for name, value in headers:
        if is_secret_name(name):
            redactor.add(value, *(part for part in _parts(value) if len(part) >= MIN_PART_LENGTH))


def _password(url: str) -> list[str]:
    try:
        password = urlsplit(url).password
    except ValueError:  # not a URL, but it may contain a password
        password = url.partition("://")[2].rpartition("@")[0].partition(":")[2]
        return [url, password, unquote(password)] if password else [url]
    return [password, unquote(password)] if password else []


def _parts(value: str) -> list[str]:
    """`Bearer x` → x; `a=x; b=y` → x, y."""
    words = [piece.strip().rpartition(" ")[2] for piece in value.split(";")]
    return [word for piece in words for word in (piece, piece.partition("=")[2])]
