"""Removal of secrets from logs and messages, by name and by value."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, quote_plus, unquote, unquote_plus, urlsplit

from smartspider.core.redaction.known_values import MIN_BYTES, RecentValues, ValueIndex, replace_spans
from smartspider.core.redaction.names import (
    MAX_NAME_CHARS,
    is_harmless_header,
    is_harmless_parameter,
    is_secret_name,
    looks_random,
)

REDACTED = "[redacted]"
MIN_CHARS = 4
"""Minimum length of a secret: shorter values would match ordinary text."""
MIN_PART_CHARS = 6
"""Shorter parts of a header are ordinary words and are not redacted."""
MAX_DEPTH = 12
MAX_NAMES = 500
MAX_PREFIX_CHARS = 40
MAX_PREFIX_BYTES = 60
"""Longer names of parameters are registered by their end, or not at all."""
MAX_CHARS = 20_000
"""Longer text is truncated."""

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
_PLAIN = frozenset(("true", "false", "none", "null"))


def is_reference(value: str) -> bool:
    """Return whether a value only names a secret: `Bearer ${NAME}`."""
    return _REFERENCE.fullmatch(value) is not None


def without_userinfo(text: str) -> str:
    """Return text with the credentials removed from its URLs."""
    return _USERINFO.sub(f"{REDACTED}@", text) if "@" in text else text


class Redactor:
    """Removes secrets from text and values. Secrets are known by value and by name.

    `pin` registers those of the installation, which are never dropped; `add` those of tasks, of which the
    newest are kept: several hundred thousand.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._pinned, self._recent = ValueIndex(), RecentValues()
        self._names: dict[str, str] = {}
        """Names of fields, redacted; the same few names are in every log line."""
        self.pin(*values)

    def pin(self, *values: str) -> None:
        """Register secrets of the installation; they are redacted wherever they occur, in any common
        encoding.
        """
        self._register(self._pinned, values)

    def pin_url(self, url: str) -> None:
        """Register the password in a URL of the installation."""
        try:
            password = urlsplit(url).password
        except ValueError:  # not a URL, but it may contain a password
            password = url.partition("://")[2].rpartition("@")[0].partition(":")[2]
            self.pin(url)
        if password:
            self.pin(password, unquote(password))

    def add(self, *values: str) -> None:
        """Register secrets of a task."""
        self._register(self._recent, values)

    def add_headers(self, headers: Iterable[tuple[str, str]]) -> None:
        """Register the values of headers that may hold secrets, and the parts of these values."""
        for name, value in headers:
            if not is_harmless_header(name):
                self.add(*(part for part in (value, *_parts(value)) if len(part) >= MIN_PART_CHARS))

    def add_parameter(self, name: str, value: str) -> None:
        """Register a query parameter: its value is redacted where it follows the name, and everywhere if it
        looks like a secret.
        """
        if is_harmless_parameter(name, value):
            return
        if is_secret_name(name) or looks_random(value):
            self.add(value)
        self._names.clear()
        prefix = f"{name[-MAX_PREFIX_CHARS:]}="
        for spelled in {value, quote(value, safe=""), quote_plus(value), unquote_plus(value)}:
            start = prefix.encode("utf-8", "surrogatepass")
            form = start + spelled.encode("utf-8", "surrogatepass")
            if spelled and len(start) < MAX_PREFIX_BYTES and len(form) >= MIN_BYTES:
                self._recent.add(form, len(start))

    def _register(self, known: ValueIndex | RecentValues, values: Iterable[str]) -> None:
        self._names.clear()
        for value in values:
            for form in _encodings(value.strip()):
                known.add(form)

    def text(self, text: str) -> str:
        """Return text with secrets redacted."""
        is_cut = len(text) > MAX_CHARS
        text = self._without_known(text[: 2 * MAX_CHARS] if is_cut else text)
        if is_cut:  # only now, or the start of a secret would remain
            text = f"{text[:MAX_CHARS]}…"
        lower = text.lower()
        if not any(hint in lower for hint in _HINTS):
            return text
        text = _USERINFO.sub(f"{REDACTED}@", text)
        text = _HEADER.sub(_redacted, text)
        text = _SCHEME.sub(rf"\1 {REDACTED}", text)
        text = _NAMED.sub(_redacted_if_secret, text)
        text = _SHORT_QUERY.sub(rf"\1={REDACTED}", text)
        return _SHAPED.sub(REDACTED, text)

    def _without_known(self, text: str) -> str:
        data = text.encode("utf-8", "surrogatepass")
        spans = [*self._pinned.spans(data), *self._recent.spans(data)]
        if not spans:
            return text
        # A piece of a long value may begin or end within a character.
        return replace_spans(data, spans, REDACTED.encode()).decode("utf-8", "replace")

    def value(self, value: Any, depth: int = 0) -> Any:
        """Return any value with secrets redacted; the value of a secret key is replaced as a whole."""
        if isinstance(value, bool | int | float) or value is None:
            return value
        if depth >= MAX_DEPTH:
            return REDACTED
        if isinstance(value, Mapping):
            return {self._name(str(key)): self._under(str(key), one, depth) for key, one in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self.value(one, depth + 1) for one in value]
        if isinstance(value, bytes | bytearray | memoryview):
            value = bytes(value).decode("utf-8", "replace")
        return self.text(str(value))

    def fields(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return named values with secrets redacted."""
        return {self._name(name): self._under(name, value, 0) for name, value in fields.items()}

    def _name(self, name: str) -> str:
        if len(name) > MAX_NAME_CHARS:
            return self.text(name)
        if name not in self._names:
            if len(self._names) >= MAX_NAMES:
                self._names.clear()
            self._names[name] = self.text(name)
        return self._names[name]

    def _under(self, name: str, value: Any, depth: int) -> Any:
        if value in (None, "", b"") or isinstance(value, bool):
            return value
        if isinstance(value, str) and is_reference(value):
            return value
        return REDACTED if is_secret_name(name) else self.value(value, depth + 1)


def _parts(value: str) -> list[str]:
    """`Bearer x` → x; `a=x; b=y` → x, y."""
    words = [piece.strip().rpartition(" ")[2] for piece in value.split(";")]
    return [word for piece in words for word in (piece, piece.partition("=")[2])]


def _encodings(value: str) -> set[bytes]:
    """Return a value as plain text and as encoded in URLs, JSON and base64; nothing for a short value."""
    if len(value) < MIN_CHARS:
        return set()
    plain = value.encode("utf-8", "replace")
    coded = {base64.b64encode(plain).decode(), base64.urlsafe_b64encode(plain).decode()}
    forms = {
        value,
        quote(value, safe="", errors="replace"),
        quote(value, errors="replace"),
        quote_plus(value, errors="replace"),
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        *(code.rstrip("=") for code in coded),
    }
    return {form.encode("utf-8", "surrogatepass") for form in forms}


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
