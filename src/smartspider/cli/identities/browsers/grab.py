"""Find the cookies of a domain in the browsers on this machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from smartspider.cli.identities.browsers.chromium import chromium_cookies
from smartspider.cli.identities.browsers.databases import EXPORT
from smartspider.cli.identities.browsers.firefox import firefox_cookies
from smartspider.cli.identities.browsers.profiles import (
    TITLES,
    BrowserProfile,
    find_profiles,
    profiles_in,
)
from smartspider.core.cookies.sets import is_in_domain
from smartspider.core.errors import NotFound, SmartSpiderError


class FoundCookies(msgspec.Struct, frozen=True):
    """The cookies of a domain in a profile of a browser, in the form of EditThisCookie."""

    profile: BrowserProfile
    container: int
    """Number of the container tab of Firefox; 0: none."""
    cookies: list[dict[str, Any]]

    @property
    def title(self) -> str:
        """Browser, profile and container, for messages."""
        return self.profile.title + (f", container {self.container}" if self.container else "")


def find_cookies(domain: str, browser: str | None, folder: Path | None, now: float) -> FoundCookies:
    """Return the first cookies of a domain that have not all expired. Only they are read out.

    Without a browser all are looked into. `folder`: a profile elsewhere, or a folder with profiles.
    """
    profiles = _profiles(browser, folder)
    failures: list[SmartSpiderError] = []
    expired: list[str] = []
    for profile in profiles:
        try:
            found = _read(profile, domain)
        except SmartSpiderError as failure:
            failures.append(failure)
            continue
        for one in found:
            if any(
                cookie["expirationDate"] is None or cookie["expirationDate"] > now for cookie in one.cookies
            ):
                return one
            expired.append(one.title)
    if failures:
        raise failures[0]
    if expired:
        message = f"all cookies for {domain} in {'; '.join(expired)} are expired"
        raise NotFound(message, hint="log in again with the browser")
    seen = "; ".join(dict.fromkeys(profile.title for profile in profiles))
    hint = f"log in with the browser. Cookies that end with it are not on its disk: {EXPORT}"
    raise NotFound(f"there are no cookies for {domain} in {seen}", hint=hint)


def _profiles(browser: str | None, folder: Path | None) -> list[BrowserProfile]:
    browsers = [browser] if browser else list(TITLES)
    if folder is None:
        found = find_profiles(browsers)
        where = "on this machine"
    else:
        # The files of Chrome, Chromium and Edge are alike.
        found = [
            one
            for kind in ([browser] if browser else ["firefox", "chromium"])
            for one in profiles_in(kind, folder)
        ]
        where = f"in {folder}"
    if not found:
        names = ", ".join(TITLES[one] for one in browsers)
        hint = f"name the folder of a profile by --browser-profile, or {EXPORT}"
        raise NotFound(f"there is no profile of {names} {where}", hint=hint)
    return found


def _read(profile: BrowserProfile, domain: str) -> list[FoundCookies]:
    is_ours = _reaches(domain)
    if profile.browser == "firefox":
        return [FoundCookies(profile, *one) for one in firefox_cookies(profile, is_ours).items()]
    cookies = chromium_cookies(profile, is_ours)
    return [FoundCookies(profile, 0, cookies)] if cookies else []


def _reaches(domain: str) -> Callable[..., bool]:
    """Return the test for cookies that hosts of a domain get, by the host of a cookie. With a dot before it,
    hosts below it get the cookie as well.
    """

    def is_ours(host: object) -> bool:
        written = str(host).lower()
        bare = written.removeprefix(".")
        return is_in_domain(bare, domain) or (bare != written and is_in_domain(domain, bare))

    return is_ours
