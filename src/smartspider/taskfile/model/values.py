"""Scalar values of a task: names, URLs, patterns, headers, durations, with their error messages."""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from smartspider.core.datetimes import parse_iso_datetime
from smartspider.core.patterns.pattern import PATTERN_ERRORS
from smartspider.core.requests.urls import host_of, is_url, normal_url, origin_of
from smartspider.taskfile.timing import check_cron, check_timezone

WRONG_VALUE = "wrong_value"

_FOLDER_NAME_BYTES = 255
_HTTP = re.compile(r"\s*https?://", re.IGNORECASE)
_DURATION = re.compile(r"[1-9][0-9]*[smhdw]")
_UNIT_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_TEMPLATE = re.compile(r"\{[^{}]+\}")
_HEADER_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_FRAMING = frozenset({"content-length", "transfer-encoding"})
"""Headers that define where a request ends: a wrong one makes the host wait forever or see two requests."""


def invalid_value(reason: str, hint: str = "") -> PydanticCustomError:
    """Return an error whose message continues after the value: `"x" is not an http(s) URL`."""
    return PydanticCustomError(WRONG_VALUE, "{reason}", {"reason": reason, "hint": hint})


def _task_name(value: str) -> str:
    value = unicodedata.normalize("NFC", value)  # one name, however an editor or a file system composes it
    if value.startswith("."):
        raise invalid_value("starts with a dot", "the name is used as a folder name")
    for char in value:
        if char not in "_-." and unicodedata.category(char)[0] not in "LMN":
            raise invalid_value(
                f"contains {char!r}", "use letters, digits, '_', '-' and '.': the name is a folder name"
            )
    if len(value.encode()) > _FOLDER_NAME_BYTES:
        raise invalid_value("is too long for a folder name", f"at most {_FOLDER_NAME_BYTES} bytes of UTF-8")
    return value


def check_url(value: str) -> tuple[str, str] | None:
    """Return the reason and a hint if a URL is invalid, else None."""
    if _HTTP.match(value) is None:
        hint = "" if ":" in value else f"write https://{value.strip()}"
        return "is not an http(s) URL", hint or "it must start with http:// or https://"
    if not is_url(value):
        return "is not a URL that can be fetched", "check the host name and the port"
    return None


def _http_url(value: str) -> str:
    if reason_and_hint := check_url(value):
        raise invalid_value(*reason_and_hint)
    return value


def _origin(value: str) -> str:
    normal = normal_url(_http_url(value))
    if normal is None or normal != f"{origin_of(normal)}/":
        hint = "scheme, host and port only" if normal is None else f"write {origin_of(normal)}"
        raise invalid_value("is more than an origin", hint)
    return value


def _template_url(value: str) -> str:
    """Accept templates; the URL is checked once values are inserted."""
    return value if _TEMPLATE.search(value) else _http_url(value)


def validate_pattern(value: str) -> str:
    """Return the pattern if it compiles, else raise."""
    try:
        re.compile(value)
    except PATTERN_ERRORS as error:
        raise invalid_value(
            f"is not a regular expression: {error}", "Python's syntax; a literal dot is \\."
        ) from error
    return value


def host_in_punycode(domain: str) -> str | None:
    """Return a domain as it appears in a normalized URL, or None if it is not a plain host name."""
    has_port = ":" in domain and not domain.startswith("[")
    normal = None if has_port or re.search(r"[\s/?#@\\]", domain) else normal_url(f"http://{domain}/")
    return None if normal is None else host_of(normal)


def _domain(value: str) -> str:
    if value.startswith(("*.", ".")):
        bare = value.lstrip("*.")
        raise invalid_value("starts with a dot or a star", f"write {bare!r}: subdomains are included")
    if host_in_punycode(value) is None:
        normal = normal_url(value)
        hint = f"write {host_of(normal)!r}" if normal else "no scheme, no port, no path"
        raise invalid_value("is not a host name", hint)
    return value


def _duration(value: str) -> str:
    if _DURATION.fullmatch(value) is None:
        raise invalid_value("is not a duration", "a number and s, m, h, d or w, like '12h' or '7d'")
    return value


def duration_s(value: str) -> float:
    """Return the seconds of a duration such as `7d`."""
    return float(value[:-1]) * _UNIT_S[value[-1]]


def validate_moment(value: str) -> str:
    """Return the value if it is a duration or an ISO date or datetime, else raise."""
    if _DURATION.fullmatch(value) is None:
        try:
            parse_iso_datetime(value)
        except ValueError as error:
            raise invalid_value(
                "is neither a duration nor a date", "like '7d', '12h' or '2026-01-31'"
            ) from error
    return value


def age_or_moment(value: str) -> tuple[float | None, float | None]:
    """Return a duration in seconds, or the timestamp of a date (UTC by default)."""
    if _DURATION.fullmatch(value) is not None:
        return duration_s(value), None
    return None, parse_iso_datetime(value).timestamp()


def _cron(value: str) -> str:
    if reason_and_hint := check_cron(value):
        raise invalid_value(*reason_and_hint)
    return value


def _timezone(value: str) -> str:
    if reason_and_hint := check_timezone(value):
        raise invalid_value(*reason_and_hint)
    return value


def _header_name(value: str) -> str:
    if _HEADER_NAME.fullmatch(value) is None:
        raise invalid_value("is not a header name", "letters, digits and '-'")
    if value.lower() in _FRAMING:
        raise invalid_value("defines where a request ends", "remove it; it is computed from the body")
    return value


def _without_controls(value: str) -> str:
    if any(unicodedata.category(char) == "Cc" and char != "\t" for char in value):
        raise invalid_value("contains a line break or another control character")
    return value


def _headers(value: dict[str, str]) -> dict[str, str]:
    seen: dict[str, str] = {}
    for name in value:
        if other := seen.get(name.lower()):
            raise invalid_value(
                f"has a duplicate header: {other!r} and {name!r}", "header names are case-insensitive"
            )
        seen[name.lower()] = name
    return value


def _param(value: str) -> str:
    if re.search(r"[&=#\s]", value):
        raise invalid_value("is not the name of a query parameter", "the name alone, without '=' and '&'")
    return value


MAX_EXPRESSION = 20_000
"""Maximum characters of an expression; compiling much longer ones takes minutes."""
Text = Annotated[str, Field(min_length=1)]
Selector = Annotated[str, Field(min_length=1, max_length=MAX_EXPRESSION)]
TaskName = Annotated[
    str,
    Field(min_length=1, max_length=100),
    AfterValidator(_task_name),
    WithJsonSchema(
        {
            "type": "string",
            "minLength": 1,
            "maxLength": 100,
            "pattern": r"^[^.\s/\\:*?\"<>|][^\s/\\:*?\"<>|]*$",
        }
    ),
]
HttpUrl = Annotated[
    str,
    AfterValidator(_http_url),
    WithJsonSchema({"type": "string", "pattern": r"^\s*[hH][tT][tT][pP][sS]?://"}),
]
Origin = Annotated[
    str,
    AfterValidator(_origin),
    WithJsonSchema({"type": "string", "pattern": r"^\s*[hH][tT][tT][pP][sS]?://[^/?#@]+/?\s*$"}),
]
TemplateUrl = Annotated[
    str,
    AfterValidator(_template_url),
    WithJsonSchema({"type": "string", "pattern": r"^\s*([hH][tT][tT][pP][sS]?://|.*\{[^{}]+\})"}),
]
Pattern = Annotated[str, Field(min_length=1, max_length=MAX_EXPRESSION), AfterValidator(validate_pattern)]
Domain = Annotated[
    str,
    Field(min_length=1),
    AfterValidator(_domain),
    WithJsonSchema({"type": "string", "pattern": r"^[^\s/?#@\\*.][^\s/?#@\\]*$"}),
]
Duration = Annotated[
    str, AfterValidator(_duration), WithJsonSchema({"type": "string", "pattern": "^[1-9][0-9]*[smhdw]$"})
]
Cron = Annotated[
    str,
    AfterValidator(_cron),
    WithJsonSchema({"type": "string", "pattern": r"^\s*(@[A-Za-z]+|\S+(\s+\S+){4,5})\s*$"}),
]
Timezone = Annotated[str, AfterValidator(_timezone)]
HeaderName = Annotated[str, AfterValidator(_header_name)]
HeaderValue = Annotated[str, AfterValidator(_without_controls)]
Headers = Annotated[dict[HeaderName, HeaderValue], AfterValidator(_headers)]
UserAgent = Annotated[str, Field(min_length=1), AfterValidator(_without_controls)]
Param = Annotated[str, Field(min_length=1), AfterValidator(_param)]
Method = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
Priority = Annotated[int, Field(ge=-1_000_000, le=1_000_000)]
Depth = Annotated[int, Field(ge=0, le=1_000_000)]
Count = Annotated[int, Field(ge=1, le=1_000_000_000_000)]
Share = Annotated[float, Field(gt=0, le=1)]
