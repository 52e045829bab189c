"""Names of headers, parameters and keys: which ones hold secrets, and which ones are harmless."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

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
MAX_NAME_CHARS = 200
"""Names are looked at, and kept, up to this length."""
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

HARMLESS_HEADERS = frozenset(
    " accept accept-charset accept-datetime accept-encoding accept-language accept-ranges accept-version"
    " api-version cache-control connection content-disposition content-encoding content-language"
    " content-length content-type date depth device-memory dnt downlink dpr ect expect expires from host"
    " if-match if-modified-since if-none-match if-range if-unmodified-since keep-alive last-modified"
    " max-forwards origin pragma prefer priority range referer referrer rtt save-data sec-gpc te trailer"
    " transfer-encoding upgrade upgrade-insecure-requests user-agent vary via viewport-width width"
    " x-api-version x-github-api-version x-http-method-override x-requested-with".split()
)
"""Headers that describe a request and identify nobody, in lower case."""
_HARMLESS_HEADER_STARTS = ("sec-ch-", "sec-fetch-")

HARMLESS_PARAMETERS = frozenset(
    # paging
    " page pages pageno page_no pagenum page_num pagenumber page_number pageindex page_index pagesize"
    " page_size per_page perpage p pg pn limit offset start end skip take first last count size rows num"
    " max max_results maxresults results top from to begin step cursor after before next prev since"
    " until"
    # search and order
    " q query keyword keywords search term terms text s wd sort sortby sort_by order orderby order_by"
    " order_dir dir direction asc desc filter filters facet facets"
    # what is shown
    " id ids item itemid item_id product productid product_id pid sku asin isbn ean article articleid"
    " article_id post postid post_id thread threadid thread_id topic story category categoryid"
    " category_id cat cat_id tag tags section group type kind brand make model name title slug genre"
    " subject author artist publisher collection series season episode chapter issue volume edition"
    " level status state condition color colour price price_min price_max min_price max_price min max"
    " rating stars year month day week date time datetime start_date end_date date_from date_to city"
    " country region location place zip postcode lat lon lng latitude longitude radius bbox zoom lang"
    " language locale hl gl currency unit units"
    # how it is shown
    " action view tab mode layout display theme format fmt output alt fields include exclude expand"
    " embed version ver v api_version api-version schema pretty indent download width height quality"
    " operation operationname operation_name"
    # where a visitor came from
    " ref referrer source src utm_source utm_medium utm_campaign utm_term utm_content".split()
)
"""Query parameters and keys of bodies that select what is shown, in lower case."""


def is_secret_name(name: str) -> bool:
    """Return whether a key names a secret: `access_token`, `X-Api-Key`; not `token_id`."""
    return _is_secret_name(name[:MAX_NAME_CHARS])


@lru_cache(maxsize=4096)
def _is_secret_name(name: str) -> bool:
    parts = [part.lower() for part in _PARTS.findall(name)]
    pairs = {f"{first} {second}" for first, second in pairwise(parts)}
    if not _SECRET_PAIRS.isdisjoint(pairs):
        return True
    return bool(parts) and parts[-1] not in _HARMLESS_ENDS and not _SECRET_WORDS.isdisjoint(parts)


def is_harmless_header(name: str) -> bool:
    """Return whether a header holds no secret by its name; every header that is not known may hold one."""
    lowered = name.lower()
    return lowered in HARMLESS_HEADERS or lowered.startswith(_HARMLESS_HEADER_STARTS)


_PLAIN_VALUE = re.compile(
    r"-?\d{1,6}(?:\.\d{1,4})?|true|false|yes|no|on|off|null|none|.{0,3}", re.IGNORECASE | re.DOTALL
)
"""Values that are too short to be a secret: small numbers, switches, three characters."""
_LONG_WORD = re.compile(r"[A-Za-z0-9+/=_.~-]{20,}")


def is_harmless_parameter(name: str, value: str) -> bool:
    """Return whether a query parameter or a value of a body is no secret: by its name, or because it is too
    short for one. A long random value is a secret under any name.
    """
    lowered = name.lower().removesuffix("[]")
    if lowered in HARMLESS_PARAMETERS:
        return not looks_random(value)
    return not is_secret_name(name) and _PLAIN_VALUE.fullmatch(value) is not None


def looks_random(value: str) -> bool:
    """Return whether a text contains a long word that mixes letters and digits, such as a key or a token."""
    return any(
        any(map(str.isdigit, word)) and any(map(str.isalpha, word)) and not _is_readable(word)
        for word in _LONG_WORD.findall(value)
    )


def _is_readable(word: str) -> bool:
    """True for words joined by hyphens, underscores, dots or slashes, such as a slug, a path or a date."""
    parts = re.split(r"[-_./+=~]", word)
    return all(len(part) < 12 or part.isalpha() or part.isdigit() for part in parts)
