"""`email`, `phone` and `url`: addresses in canonical form."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from smartspider.core.requests.query_encoding import encode_query
from smartspider.core.requests.urls import normal_url
from smartspider.interfaces.step import PageContext, StepFailed
from smartspider.pipeline.steps.base import LOOKED_AT, Converter, require_short_text, type_name
from smartspider.plugins.options import InvalidOption

_NAMED = re.compile(r"[^<>]*<([^<>]+)>\s*")
_ADDRESS = re.compile(
    r"(?P<local>[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*)"
    r"@(?P<domain>(?:[^\W_](?:[\w-]*[^\W_])?\.)+[^\W\d_](?:[\w-]*[^\W_])?)"
)
_LONGEST_LOCAL = 64
_LETTER = "A-Za-z0-9\u00df-\u024f"
"""Latin letters and digits: Chinese is written without spaces around an address."""
_LOCAL_INSIDE = re.compile(rf"(?<![{_LETTER}_.+%-])[{_LETTER}_](?:[{_LETTER}_.+%'-]*[{_LETTER}_+-])?\Z")
_DOMAIN_INSIDE = re.compile(
    rf"(?:[{_LETTER}](?:[{_LETTER}-]{{0,61}}[{_LETTER}])?\.){{1,8}}[A-Za-z][A-Za-z0-9-]{{1,62}}(?![{_LETTER}@-])"
)
_IDEOGRAPH = re.compile("[\u2e80-\uffff]")
_LONGEST_TEXT = 10_000
_MOST_ADDRESSES = 100


class EmailStep(Converter):
    """Extracts the one address in a text such as `mailto:Ann@Example.COM?subject=x`, `Ann <ann@example.com>`
    or `Write to ann@example.com.`, with the domain in lower case. A text with several addresses fails.
    """

    kind = "text"

    def apply(self, value: Any, _: PageContext) -> str:
        """Return the address."""
        if not isinstance(value, str):
            raise StepFailed(f"is {type_name(value)}, not an e-mail address")
        if len(value) > _LONGEST_TEXT:
            raise StepFailed("is too long for an e-mail address")
        text = value.strip()
        if text[:7].lower() == "mailto:":
            text = unquote(text[7:].partition("?")[0]).strip()
        named = _NAMED.fullmatch(text)
        whole = named[1].strip() if named else text
        found = (
            _ADDRESS.fullmatch(whole) if len(whole) <= LOOKED_AT and not _IDEOGRAPH.search(whole) else None
        )
        if found is not None and len(found["local"]) <= _LONGEST_LOCAL:
            return f"{found['local']}@{found['domain'].lower()}"
        addresses = _addresses_in(text)
        if len(addresses) > 1:
            raise StepFailed("has several e-mail addresses")
        if not addresses:
            raise StepFailed("is not an e-mail address")
        return addresses.pop()


def _addresses_in(text: str) -> set[str]:
    """Return the addresses in a text."""
    found: set[str] = set()
    at = text.find("@")
    for _ in range(_MOST_ADDRESSES):
        if at < 0:
            break
        local = _LOCAL_INSIDE.search(text[max(at - _LONGEST_LOCAL - 1, 0) : at])
        domain = _DOMAIN_INSIDE.match(text, at + 1)
        if local is not None and domain is not None and len(local[0]) <= _LONGEST_LOCAL:
            found.add(f"{local[0]}@{domain[0].lower()}")
        at = text.find("@", at + 1)
    return found


_PHONE_CACHE = 1024


class PhoneStep(Converter):
    """Converts a valid telephone number to E.164, such as +4930901820. `region` (ISO code) is the country of
    numbers without a country code; without it such numbers fail.
    """

    kind = "text"

    def __init__(self, *, region: str | None = None) -> None:
        self._region = None if region is None else _region_code(region)
        self._parse = lru_cache(_PHONE_CACHE)(self._parsed)

    def apply(self, value: Any, _: PageContext) -> str:
        """Return the number."""
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**15:
            value = str(value)
        found = self._parse(require_short_text(value, "a telephone number"))
        if found is None:
            raise StepFailed("is not a valid telephone number")
        return found

    def _parsed(self, text: str) -> str | None:
        import phonenumbers

        try:
            number = phonenumbers.parse(text.strip().removeprefix("tel:"), self._region)
        except phonenumbers.NumberParseException:
            return None
        if not phonenumbers.is_valid_number(number):
            return None
        return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)


def _region_code(region: str) -> str:
    import phonenumbers

    code = region.upper()
    if code not in phonenumbers.SUPPORTED_REGIONS:
        raise InvalidOption(
            "region", f"{region!r} is not a region", "a country's ISO code, like 'DE' or 'CN'"
        )
    return code


_LONGEST_URL = 65_536


class UrlStep(Converter):
    """Converts a link to an absolute http(s) URL, in WHATWG form. `fragment` keeps the part after `#`."""

    kind = "text"

    def __init__(self, *, fragment: bool = False) -> None:
        self._keeps_fragment = fragment

    def apply(self, value: Any, context: PageContext) -> str:
        """Return the URL."""
        if not isinstance(value, str):
            raise StepFailed(f"is {type_name(value)}, not a URL")
        if not value or len(value) > _LONGEST_URL or value.isspace():
            raise StepFailed("is not a URL")
        link = encode_query(value, context.charset)
        normal = normal_url(link, context.base, keeps_fragment=self._keeps_fragment)
        if normal is None:
            raise StepFailed("is not an http(s) URL")
        return normal
