"""Read the cookies of Chrome, Chromium and Edge, which encrypt their values."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from smartspider.cli.identities.browsers.databases import EXPORT, opened_copy
from smartspider.cli.identities.browsers.profiles import TITLES, BrowserProfile
from smartspider.core.errors import NotAllowed
from smartspider.core.extras import require_extra

_BUS = "DBUS_SESSION_BUS_ADDRESS"
_NO_BUS = "none:by=smartspider"
_BY_KEYRING, _APP_BOUND = "v11", "v20"
"""First letters of values whose key is in the keyring of Linux, and of those that only Chrome decrypts."""


def chromium_cookies(profile: BrowserProfile, is_ours: Callable[..., bool]) -> list[dict[str, Any]]:
    """Return cookies in the form of EditThisCookie. Partitioned ones, which belong to a site inside another,
    are left out.

    The library that decrypts them gets a database with these rows only.
    """
    with opened_copy(profile, is_ours) as connection:
        columns = {row[1] for row in connection.execute("PRAGMA table_info(cookies)")}
        partitioned = " OR top_frame_site_key <> ''" if "top_frame_site_key" in columns else ""
        connection.execute(f"DELETE FROM cookies WHERE name = '' OR NOT is_ours(host_key){partitioned}")  # noqa: S608 - no input
        schemes = {
            scheme
            for (scheme,) in connection.execute(
                "SELECT DISTINCT CAST(substr(encrypted_value, 1, 3) AS TEXT) FROM cookies"
            )
        }
        if not schemes:
            return []
        if _APP_BOUND in schemes:
            what = f"{TITLES[profile.browser]} lets no other program decrypt the cookies of {profile.name}"
            raise NotAllowed(what, hint=EXPORT)
        require_extra(f"reading {TITLES[profile.browser]}", "browser-cookies")
        return _decrypted(profile, connection.filename, has_keyring=_BY_KEYRING in schemes)


def _decrypted(profile: BrowserProfile, database: str, *, has_keyring: bool) -> list[dict[str, Any]]:
    import browser_cookie3

    read = {
        "chrome": browser_cookie3.chrome,
        "chromium": browser_cookie3.chromium,
        "edge": browser_cookie3.edge,
    }
    try:
        with nullcontext() if has_keyring else _no_keyring():
            cookies = list(read[profile.browser](cookie_file=database))
    except Exception:  # noqa: BLE001 - it raises what D-Bus, the keyring and the ciphers raise
        raise NotAllowed(
            f"cannot decrypt the cookies of {profile.title}: the keyring with their key is locked or out of"
            " reach, or they are of another browser",
            hint=f"run it in your desktop session, name the browser by --browser, or {EXPORT}",
        ) from None
    return [
        {
            "name": one.name,
            "value": one.value or "",
            "domain": one.domain,
            "hostOnly": not one.domain.startswith("."),
            "path": one.path,
            "secure": one.secure,
            "expirationDate": one.expires,
        }
        for one in cookies
    ]


@contextmanager
def _no_keyring() -> Iterator[None]:
    """Let the library find no session bus. It takes the key that all installations have then, and asks nobody
    to unlock a keyring; without an address it would fail.
    """
    kept = os.environ.get(_BUS)
    os.environ[_BUS] = _NO_BUS
    try:
        yield
    finally:
        if kept is None:
            del os.environ[_BUS]
        else:
            os.environ[_BUS] = kept
