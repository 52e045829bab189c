"""Removal of secrets from logs and messages, by key, by header and by value."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any
from urllib.parse import quote, quote_plus, unquote, urlsplit

REDACTED = "[redacted]"
MIN_CHARS = 4
"""Minimum length of a secret: shorter values would match ordinary text."""
MIN_PART_CHARS = 6
"""Shorter parts of a header are ordinary words and are not redacted."""
MAX_DEPTH = 12
MAX_VALUES = 5_000
"""Maximum number of known encodings; the oldest are dropped."""
MAX_CHARS = 20_000
"""Longer text is truncated."""

_SECRET_WORDS = frozenset(
    "password passwd passphrase pwd pass secret token tokens cookie cookies authorization auth credential"
    " credentials apikey accesskey privatekey masterkey secretkey signature jwt bearer ticket sessionid csrf"
    " xsrf otp pin".split()
)
_SECRET_PAIRS = frozenset(
    ("api key", "access key", "private key", "master key", "secret key", "session id", "set cookie")
)
_HARMLESS_ENDS = frozenset(
    "id ids count name names type kind at s ttl expires expiry url uri length size is role".split()
)
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_NAMES = (
    r"pass(?:word|wd|phrase)?|pwd|secret|token|cookie|auth(?:orization)?|credential|api[-_.]?key"
    r"|(?:access|private|master|secret)[-_.]?key|signature|jwt|ticket|session[-_.]?id|csrf|xsrf"
)
_HINTS = (
    *("pass", "pwd", "secret", "token", "cookie", "auth", "credential", "key", "signature", "jwt", "ticket"),
    *(
        "session",
        "csrf",
        "xsrf",
        "bearer",
        "basic",
        "digest",
        "@",
        "eyj",
        "sst_",
        "ssr_",
        "ssk_",
        "sig=",
        "sid=",
    ),
)
"""Text without any of these cannot match the patterns below."""
_USERINFO = re.compile(
    r"(?<=://)(?:[^\s/?#@\"'<>]{1,500}|[^\s/?#@\"'<>:]{0,200}:(?!\d{1,5}[/?#])[^\s@\"'<>]{1,200})@"
)
_HEADER = re.compile(
    r"(?P<name>\b(?:proxy-)?authorization|\b(?:set-)?cookie2?)(?P<mid>[\"']?\s{0,4}[:=]\s{0,4})"
    r"(?P<value>\"[^\"]*\"?|'[^']*'?|[^\r\n\"'}\]]+)",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"\b(bearer|basic|digest)\s{1,4}[A-Za-z0-9._~+/=-]{6,}", re.IGNORECASE)
_NAMED = re.compile(
    rf"(?P<name>(?:{_NAMES})[\w-]{{0,40}})(?P<mid>[\"']?\s{{0,4}}[:=]\s{{0,4}})"
    r"(?P<value>\"(?:[^\"\\]|\\.)*\"?|'(?:[^'\\]|\\.)*'?|\[[^\]]*\]?|\{[^}]*\}?|[^\s&\"'<>]+)",
    re.IGNORECASE,
)
_NAME_BEFORE = re.compile(r"[\w.-]*\Z")
_SHORT_QUERY = re.compile(r"(?<=[?&;])(key|sig|sid)=([^\s&;#\"'<>]{8,})", re.IGNORECASE)
_SHAPED = re.compile(r"\beyJ[\w-]{8,4000}\.[\w-]{8,4000}\.[\w-]*|\bss[trk]_[\w-]{16,}")
_REFERENCE = re.compile(r"(?:[A-Za-z]+ )?\$\{[A-Za-z_]\w*\}", re.ASCII)
"""`Bearer ${NAME}` names a secret but does not contain it."""
_PLAIN = frozenset(("true", "false", "none", "null"))


def without_userinfo(text: str) -> str:
    """Return text with the credentials removed from its URLs."""
    return _USERINFO.sub(f"{REDACTED}@", text) if "@" in text else text


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Return whether a key names a secret: `access_token`, `X-Api-Key`; not `token_id`."""
    parts = [part.lower() for part in _PARTS.findall(name[:200])]
    pairs = {f"{first} {second}" for first, second in pairwise(parts)}
    if not _SECRET_PAIRS.isdisjoint(pairs):
        return True
    return bool(parts) and parts[-1] not in _HARMLESS_ENDS and not _SECRET_WORDS.isdisjoint(parts)


class Redactor:
    """Removes secrets from text and values. `add` registers secrets by value."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: dict[str, None] = {}
        self._exact: re.Pattern[str] | None = None
        self.add(*values)

    def add(self, *values: str) -> None:
        """Register secret values; they are redacted wherever they occur, in any common encoding."""
        forms = {form for value in values for form in _encodings(value.strip()) if len(form) >= MIN_CHARS}
        if not forms <= self._values.keys():
            self._values |= dict.fromkeys(forms)
            for oldest in list(self._values)[: max(len(self._values) - MAX_VALUES, 0)]:
                del self._values[oldest]
            longest_first = sorted(self._values, key=lambda form: (-len(form), form))
            self._exact = re.compile("|".join(map(re.escape, longest_first)))

    def add_url(self, url: str) -> None:
        """Register the password in a URL."""
        try:
            password = urlsplit(url).password
        except ValueError:  # not a URL, but it may contain a password
            password = url.partition("://")[2].rpartition("@")[0].partition(":")[2]
            self.add(url)
        if password:
            self.add(password, unquote(password))

    def add_headers(self, headers: Iterable[tuple[str, str]]) -> None:
        """Register the values of headers with secret names, and the parts of these values."""
        for name, value in headers:
            if is_secret_name(name):
                self.add(value, *(part for part in _parts(value) if len(part) >= MIN_PART_CHARS))

    def text(self, text: str) -> str:
        """Return text with secrets redacted."""
        if len(text) > MAX_CHARS:
            text = f"{text[:MAX_CHARS]}…"
        if self._exact is not None:
            text = self._exact.sub(REDACTED, text)
        lower = text.lower()
        if not any(hint in lower for hint in _HINTS):
            return text
        text = _USERINFO.sub(f"{REDACTED}@", text)
        text = _HEADER.sub(_redacted, text)
        text = _SCHEME.sub(rf"\1 {REDACTED}", text)
        text = _NAMED.sub(_redacted_if_secret, text)
        text = _SHORT_QUERY.sub(rf"\1={REDACTED}", text)
        return _SHAPED.sub(REDACTED, text)

    def value(self, value: Any, depth: int = 0) -> Any:
        """Return any value with secrets redacted; the value of a secret key is replaced as a whole."""
        if isinstance(value, bool | int | float) or value is None:
            return value
        if depth >= MAX_DEPTH:
            return REDACTED
        if isinstance(value, Mapping):
            return {self.text(str(key)): self._under(str(key), one, depth) for key, one in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self.value(one, depth + 1) for one in value]
        if isinstance(value, bytes | bytearray | memoryview):
            value = bytes(value).decode("utf-8", "replace")
        return self.text(str(value))

    def fields(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return named values with secrets redacted."""
        return {self.text(name): self._under(name, value, 0) for name, value in fields.items()}

    def _under(self, name: str, value: Any, depth: int) -> Any:
        if value in (None, "", b"") or isinstance(value, bool):
            return value
        if isinstance(value, str) and _REFERENCE.fullmatch(value):
            return value
        return REDACTED if is_secret_name(name) else self.value(value, depth + 1)


def _parts(value: str) -> list[str]:
    """`Bearer x` → x; `a=x; b=y` → x, y."""
    words = [piece.strip().rpartition(" ")[2] for piece in value.split(";")]
    return [word for piece in words for word in (piece, piece.partition("=")[2])]


def _encodings(value: str) -> set[str]:
    """Return a value as plain text and as encoded in URLs, JSON and base64."""
    if len(value) < MIN_CHARS:
        return set()
    plain = value.encode("utf-8", "replace")
    coded = {base64.b64encode(plain).decode(), base64.urlsafe_b64encode(plain).decode()}
    return {
        value,
        quote(value, safe="", errors="replace"),
        quote(value, errors="replace"),
        quote_plus(value, errors="replace"),
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        *(code.rstrip("=") for code in coded),
    }


def _redacted(found: re.Match[str]) -> str:
    return f"{found['name']}{found['mid']}{_quoted_like(found['value'])}"


def _redacted_if_secret(found: re.Match[str]) -> str:
    value = found["value"].strip("\"'")
    start = found.start()
    before = _NAME_BEFORE.search(found.string[max(start - 40, 0) : start])
    name = f"{before[0] if before else ''}{found['name']}"
    if value.startswith(REDACTED) or value.lower() in _PLAIN or not is_secret_name(name):
        return found[0]
    return _redacted(found)


def _quoted_like(value: str) -> str:
    mark = value[0] if value[0] in "\"'" else ""
    return f"{mark}{REDACTED}{mark}"
