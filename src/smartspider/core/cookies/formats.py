"""Read cookies in the formats that browsers, extensions and tools write them in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec

from smartspider.core.cookies.jar import MAX_COOKIES_PER_DOMAIN, Cookie, keeps_prefix
from smartspider.core.cookies.set_cookie import (
    FOREVER,
    MAX_ATTRIBUTE_BYTES,
    MAX_COOKIE_BYTES,
    SetCookie,
    parse_set_cookie,
)
from smartspider.core.cookies.sets import is_in_domain
from smartspider.core.errors import Problem, RequestInvalid
from smartspider.core.requests.domains import is_public_suffix

FORMATS = (
    "a Cookie header, Set-Cookie headers, a Netscape cookies.txt, the JSON of EditThisCookie or of a"
    ' Playwright storage state, {"name": "value"}, or a HAR file'
)
_ATTRIBUTE = re.compile(
    r";\s*(?:(?:path|domain|expires|max-age|samesite)\s*=|(?:secure|httponly|partitioned)\s*(?:;|$))",
    re.IGNORECASE,
)
_CONTROLS = re.compile(r"[\x00-\x1f\x7f;\ud800-\udfff]")
_LATEST = 1e15
_NETSCAPE_COLUMNS = 7
_HTTP_ONLY = "#HttpOnly_"


class WrittenCookie(msgspec.Struct, frozen=True):
    """A cookie as it was written. `place` names it in messages; empty `domain`: that of the upload."""

    place: str
    name: str
    value: str
    domain: str = ""
    path: str = "/"
    is_host_only: bool = False
    is_secure: bool = False
    expires_at: float = FOREVER


class ParsedCookies(msgspec.Struct, frozen=True):
    """The cookies of a domain, and how many were left out."""

    cookies: tuple[Cookie, ...]
    foreign: int = 0
    """Cookies of other domains."""
    expired: int = 0


def parse_cookies(written: str | Sequence[Any] | Mapping[str, Any], domain: str, now: float) -> ParsedCookies:
    """Return the cookies that a site in a domain gets; raise `RequestInvalid` for what is no cookie.

    Cookies of other domains and expired ones are left out, as exports of browsers have many.
    """
    found = list(_read(written, now))
    ours = [one for one in found if not one.domain or _belongs(one.domain, domain)]
    if found and not ours:
        others = ", ".join(sorted({one.domain for one in found})[:3])
        raise _invalid("cookies", f"all of them are for other domains ({others})", f"none is for {domain}")
    for one in ours:
        _check(one)
    living = [one for one in ours if one.expires_at > now]
    if ours and not living:
        raise _invalid("cookies", "all of them are expired", "log in again and export them anew")
    if not living:
        raise _invalid("cookies", "there are none", f"known formats: {FORMATS}")
    if len(living) > MAX_COOKIES_PER_DOMAIN:
        what = f"there are {len(living)}, more than the {MAX_COOKIES_PER_DOMAIN} that a site may set"
        raise _invalid("cookies", what, "upload those that the login needs")
    last = {_key(one, domain): one for one in living}
    cookies = tuple(
        Cookie(
            key_domain,
            path,
            name,
            one.value.encode(),
            int(now * 1e6) + number,
            now,
            one.is_host_only,
            one.is_secure or one.name.lower().startswith(("__secure-", "__host-")),
            one.expires_at,
        )
        for number, ((key_domain, path, name), one) in enumerate(last.items())
    )
    return ParsedCookies(cookies, len(found) - len(ours), len(ours) - len(living))


def written_cookies(cookies: Iterable[Cookie], domain: str) -> list[dict[str, object]]:
    """Return cookies of an upload for a domain in the form of EditThisCookie."""
    return [
        {
            "name": one.name.decode(),
            "value": one.value.decode(),
            "domain": "" if one.domain == domain and not one.is_host_only else one.domain,
            "path": one.path,
            "hostOnly": one.is_host_only,
            "secure": one.is_secure,
            **({} if one.expires_at == FOREVER else {"expirationDate": one.expires_at}),
        }
        for one in cookies
    ]


def _key(one: WrittenCookie, domain: str) -> tuple[str, str, bytes]:
    return one.domain or domain, one.path if one.path.startswith("/") else "/", one.name.encode()


def _belongs(cookie_domain: str, domain: str) -> bool:
    """Return whether hosts of a domain get a cookie: it is for that domain, one below it, or one above."""
    return is_in_domain(cookie_domain, domain) or is_in_domain(domain, cookie_domain)


def _check(one: WrittenCookie) -> None:
    if not one.name or "=" in one.name or _CONTROLS.search(one.name):
        raise _invalid(one.place, "has no usable name", "a name has no '=', ';' or control characters")
    if _CONTROLS.search(one.value):
        raise _invalid(one.place, f"the value of {one.name} has a ';' or control characters")
    if len(one.name.encode()) + len(one.value.encode()) > MAX_COOKIE_BYTES:
        raise _invalid(one.place, f"{one.name} is longer than {MAX_COOKIE_BYTES} bytes")
    for attribute, text in (("domain", one.domain), ("path", one.path)):
        if _CONTROLS.search(text) or len(text.encode()) > MAX_ATTRIBUTE_BYTES:
            raise _invalid(one.place, f"the {attribute} of {one.name} is too long or has control characters")
    if one.domain and "." in one.domain and is_public_suffix(one.domain):
        what = f"{one.name} is for {one.domain}, under which everybody can register a domain"
        raise _invalid(one.place, what, "browsers refuse such cookies; leave it out")
    is_bound = bool(one.domain) and not one.is_host_only
    cookie = SetCookie(
        one.name.encode(), b"", one.domain if is_bound else "", one.path, is_secure=one.is_secure
    )
    if not keeps_prefix(cookie) and (one.domain or one.is_secure):
        what = f"{one.name} promises by its name what its attributes do not hold"
        raise _invalid(one.place, what, "__Host- cookies are secure, have the path / and no domain")


def _read(written: str | Sequence[Any] | Mapping[str, Any], now: float) -> Iterator[WrittenCookie]:
    if not isinstance(written, str):
        yield from _read_json(written, now)
        return
    text = written.lstrip("\ufeff").strip()
    if text[:1] in {"{", "["}:
        try:
            found = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            raise _invalid("cookies", "begin like JSON but are none") from None
        yield from _read_json(found, now)
        return
    lines = [line.strip("\r") for line in text.split("\n")]
    if any(_is_netscape(line) for line in lines):
        yield from _read_netscape(lines)
        return
    for number, line in enumerate(filter(None, map(str.strip, lines)), 1):
        yield from _read_header(line, f"line {number}", now)


def _read_header(line: str, place: str, now: float) -> Iterator[WrittenCookie]:
    name, colon, rest = line.partition(":")
    kind = name.strip().lower() if colon else ""
    if kind == "set-cookie" or (kind != "cookie" and _ATTRIBUTE.search(line)):
        yield _set_cookie(rest.strip() if kind == "set-cookie" else line, place, now)
        return
    for pair in (rest if kind == "cookie" else line).split(";"):
        if pair.strip():
            name, equals, value = pair.strip().partition("=")
            if not equals:
                raise _invalid(place, "is in no known format of cookies", f"known formats: {FORMATS}")
            yield WrittenCookie(place, name.strip(), value.strip())


def _set_cookie(line: str, place: str, now: float, host: str = "") -> WrittenCookie:
    parsed = parse_set_cookie(line.encode(errors="replace"), now)
    if parsed is None:
        raise _invalid(place, "is a Set-Cookie header that browsers ignore")
    return WrittenCookie(
        place,
        parsed.name.decode(errors="replace"),
        parsed.value.decode(errors="replace"),
        parsed.domain or host,
        parsed.path or "/",
        is_host_only=bool(host) and not parsed.domain,
        is_secure=parsed.is_secure,
        expires_at=parsed.expires_at,
    )


def _is_netscape(line: str) -> bool:
    if line.startswith("#") and not line.startswith(_HTTP_ONLY):
        return "Netscape HTTP Cookie File" in line or "HTTP Cookie File" in line
    return line.count("\t") >= _NETSCAPE_COLUMNS - 1


def _read_netscape(lines: Iterable[str]) -> Iterator[WrittenCookie]:
    for number, line in enumerate(lines, 1):
        row = line.removeprefix(_HTTP_ONLY)
        if not row.strip() or row.startswith("#"):
            continue
        columns = row.split("\t")
        if len(columns) == _NETSCAPE_COLUMNS - 1:
            columns.append("")
        if len(columns) != _NETSCAPE_COLUMNS:
            raise _invalid(f"line {number}", f"has {len(columns)} columns instead of {_NETSCAPE_COLUMNS}")
        domain, includes_subdomains, path, secure, expires, name, value = columns
        try:
            moment = float(expires or 0)
        except ValueError:
            raise _invalid(f"line {number}", "the fifth column is no time") from None
        yield WrittenCookie(
            f"line {number}",
            name,
            value,
            _domain(domain),
            path or "/",
            is_host_only=includes_subdomains.upper() != "TRUE",
            is_secure=secure.upper() == "TRUE",
            expires_at=moment if moment > 0 else FOREVER,
        )


def _read_json(found: Any, now: float) -> Iterator[WrittenCookie]:
    if isinstance(found, list | tuple):
        for number, one in enumerate(found):
            yield _object(one, f"cookies.{number}")
    elif isinstance(found, dict) and isinstance(found.get("log"), dict):
        yield from _read_har(found["log"], now)
    elif isinstance(found, dict) and isinstance(found.get("cookies"), list):
        for number, one in enumerate(found["cookies"]):
            yield _object(one, f"cookies.{number}", has_dots="origins" in found)
    elif isinstance(found, dict):
        for name, value in found.items():
            if not isinstance(value, str | int | float):
                raise _invalid(f"cookies.{name}", "is no text", f"known formats: {FORMATS}")
            yield WrittenCookie(f"cookies.{name}", str(name), str(value))
    else:
        raise _invalid("cookies", "are in no known format", f"known formats: {FORMATS}")


def _object(one: Any, place: str, *, has_dots: bool = False) -> WrittenCookie:
    """Read the object of one cookie. `has_dots`: a domain without a leading dot is a host alone."""
    if not isinstance(one, dict) or not isinstance(one.get("name"), str):
        raise _invalid(place, "is no cookie", 'write {"name": ..., "value": ..., "domain": ...}')
    value, domain, path = one.get("value", ""), one.get("domain") or "", one.get("path") or "/"
    if not isinstance(value, str) or not isinstance(domain, str) or not isinstance(path, str):
        raise _invalid(place, "value, domain and path are texts")
    expires = next(
        (one[key] for key in ("expirationDate", "expires", "expiry", "expires_at") if one.get(key)), None
    )
    moment = float(min(expires, _LATEST)) if isinstance(expires, int | float) and expires > 0 else FOREVER
    is_host_only = one.get("hostOnly") is True or (has_dots and not domain.startswith("."))
    return WrittenCookie(
        place, one["name"], value, _domain(domain), path, is_host_only, bool(one.get("secure")), moment
    )


def _read_har(log: dict[str, Any], now: float) -> Iterator[WrittenCookie]:
    """Read the exchanges of a browser in their order: what was sent, then what was set."""
    entries = log.get("entries")
    for number, entry in enumerate(entries if isinstance(entries, list) else []):
        place = f"log.entries.{number}"
        request, response = _part(entry, "request"), _part(entry, "response")
        host = _host(str(request.get("url", "")))
        if not host:
            continue
        for name, value in _headers(request):
            if name == "cookie":
                for pair in value.split(";"):
                    key, _, text = pair.strip().partition("=")
                    if key:
                        is_bound = key.lower().startswith("__host-")
                        is_secure = is_bound or key.lower().startswith("__secure-")
                        yield WrittenCookie(place, key, text, host, "/", is_bound, is_secure)
        for name, value in _headers(response):
            if name == "set-cookie":
                for line in value.split("\n"):
                    yield _set_cookie(line, place, now, host)


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _part(entry: Any, name: str) -> dict[str, Any]:
    part = entry.get(name) if isinstance(entry, dict) else None
    return part if isinstance(part, dict) else {}


def _headers(part: dict[str, Any]) -> Iterator[tuple[str, str]]:
    headers = part.get("headers")
    for one in headers if isinstance(headers, list) else []:
        if isinstance(one, dict):
            yield str(one.get("name", "")).lower(), str(one.get("value", ""))


def _domain(text: str) -> str:
    return text.strip().lower().removeprefix(".")


def _invalid(place: str, what: str, hint: str = "") -> RequestInvalid:
    return RequestInvalid(f"{place}: {what}", (Problem(place, what, hint),), hint=hint)
