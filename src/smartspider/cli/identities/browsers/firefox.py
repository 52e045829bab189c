"""Read the cookies of Firefox, which keeps them unencrypted."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from smartspider.cli.identities.browsers.databases import opened_copy
from smartspider.cli.identities.browsers.profiles import BrowserProfile

_MILLISECONDS_SINCE = 16
"""Version of the schema from which `expiry` is in milliseconds."""
_CONTAINER = re.compile(r"\^userContextId=(\d+)")
_COOKIES = """
SELECT name, value, host, path, expiry, isSecure, originAttributes FROM moz_cookies
WHERE name <> '' AND is_ours(host) ORDER BY id
"""


def firefox_cookies(profile: BrowserProfile, is_ours: Callable[..., bool]) -> dict[int, list[dict[str, Any]]]:
    """Return cookies, in the form of EditThisCookie, by the number of their container; 0: of no container.

    Partitioned ones, which belong to a site inside another, and those of private windows are left out.
    """
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    with opened_copy(profile, is_ours) as connection:
        unit = 1000 if connection.pragma("user_version") >= _MILLISECONDS_SINCE else 1
        for name, value, host, path, expiry, is_secure, attributes in connection.execute(_COOKIES):
            container = _CONTAINER.fullmatch(attributes)
            if attributes and container is None:
                continue
            cookie = {
                "name": name,
                "value": value,
                "domain": host,
                "hostOnly": not host.startswith("."),
                "path": path,
                "secure": bool(is_secure),
                "expirationDate": expiry / unit,
            }
            found[int(container[1]) if container else 0].append(cookie)
    return dict(sorted(found.items()))
