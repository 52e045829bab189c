"""Errors and answers become verdicts here, in one pure function; nobody else retries."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from smartspider.core import errors
from smartspider.core.frontier.lease import Lease
from smartspider.core.frontier.verdict import Close, ClosedState, HostNews, RetryLater, Validators, Verdict
from smartspider.core.pages.extraction import Item, RejectedItem, StepCount, ValueChange
from smartspider.core.pages.headers import retry_after_s
from smartspider.core.pages.page import Page
from smartspider.core.pages.rules import ROBOTS_PAGE, SITEMAP_PAGE
from smartspider.core.requests.request import Request
from smartspider.core.requests.retry import RetryPolicy

MISSING = frozenset({404, 410})
REFUSING = frozenset({429, 503})
ROBOTS_HOLD_S = 60.0


class Reading(msgspec.Struct, frozen=True):
    """A page that was read: what it holds and where it leads."""

    page: Page
    items: list[Item] = []
    keys: list[tuple[bytes, ...]] = []
    children: list[Request] = []
    next_pages: list[Request] = []
    """Children that depend on an item of the page being new."""
    links: list[Request] = []
    """All requests the page leads to, where later runs ask whether it changed."""
    rejected: list[RejectedItem] = []
    changes: list[ValueChange] = []
    counts: dict[str, StepCount] = {}
    validators: Validators | None = None
    is_unchanged: bool = False
    """The server said 304: the page is as an earlier run stored it."""
    landed: Request | None = None
    """Where redirects on the host ended, when that is another request."""
    moved: bool = False
    """The answer is a redirect to another host, which is the only child."""
    refusal: str = ""
    """Why the page may not be kept after all (it was redirected out of scope)."""


class Reaction(NamedTuple):
    """What a kind of failure leads to."""

    ends: ClosedState | None
    """The state it ends in at once; None: it is tried again until attempts run out."""
    blames_host: bool = False
    slows_down: bool = False
    hold_s: float | None = None


REACTIONS: dict[type[errors.FetchFailed], Reaction] = {
    errors.NameNotResolved: Reaction(None, blames_host=True),
    errors.ConnectFailed: Reaction(None, blames_host=True),
    errors.ConnectionDropped: Reaction(None, blames_host=True),
    errors.TimedOut: Reaction(None, blames_host=True, slows_down=True),
    errors.ProxyFailed: Reaction(None),
    errors.RobotsUnavailable: Reaction(None, hold_s=ROBOTS_HOLD_S),
    errors.TlsFailed: Reaction("dead"),
    errors.TooLarge: Reaction("dead"),
    errors.BadEncoding: Reaction("dead"),
    errors.TooManyRedirects: Reaction("dead"),
    errors.BadRedirect: Reaction("dead"),
    errors.PrivateAddress: Reaction("skipped"),
    errors.RobotsDisallowed: Reaction("skipped"),
    errors.NotReadable: Reaction("broken"),
    errors.FetchFailed: Reaction("dead"),
}
"""Every way a fetch can fail, and what then happens."""


class Judgement(NamedTuple):
    """A verdict, and what it says about the host."""

    verdict: Verdict
    news: HostNews | None = None


def judge(
    lease: Lease, outcome: Reading | errors.FetchFailed, policy: RetryPolicy, chance: float
) -> Judgement:
    """What happens to a leased request. `chance` in [0, 1) is the jitter of the back-off."""
    if isinstance(outcome, errors.FetchFailed):
        return _judge_failure(lease, outcome, policy, chance)
    if outcome.refusal:
        return Judgement(Close("skipped", outcome.refusal, outcome.page.status))
    if outcome.moved:
        target = outcome.children[0].url if outcome.children else "a URL outside the scope"
        return Judgement(Close("redirect", f"to {target}", outcome.page.status, children=outcome.children))
    if outcome.is_unchanged:
        return Judgement(Close("done", "not modified", outcome.page.status, is_unchanged=True))
    if 200 <= outcome.page.status < 300 and outcome.page.status not in policy.on_status:
        return Judgement(_stored(outcome))
    return _judge_status(lease, outcome.page, policy, chance)


def _stored(reading: Reading) -> Close:
    return Close(
        "done" if reading.landed is None else "redirect",
        status=reading.page.status,
        items=reading.items,
        keys=reading.keys,
        children=reading.children,
        next_pages=reading.next_pages,
        links=reading.links,
        rejected=reading.rejected,
        changes=reading.changes,
        counts=reading.counts,
        validators=reading.validators,
        landed=reading.landed,
    )


def _judge_status(lease: Lease, page: Page, policy: RetryPolicy, chance: float) -> Judgement:
    status = page.status
    reason = f"http {status}"
    is_guess = lease.request.page in (ROBOTS_PAGE, SITEMAP_PAGE) and 400 <= status < 500
    ends: ClosedState = "missing" if status in MISSING or is_guess else "dead"
    is_refusing, is_retried = status in REFUSING, status in policy.on_status
    news = None
    if is_refusing or is_retried:
        hold_s = retry_after_s(page.headers.get("retry-after"), page.fetched_at)
        news = HostNews(slow_down=is_refusing, hold_s=hold_s, reason=reason)
    if not is_retried:
        return Judgement(Close(ends, reason, status), news)
    judgement = _again(lease, reason, policy, chance, news=news, status=status)
    if ends == "missing" and isinstance(judgement.verdict, Close):
        return Judgement(Close(ends, reason, status), news)
    return judgement


def _judge_failure(lease: Lease, error: errors.FetchFailed, policy: RetryPolicy, chance: float) -> Judgement:
    reaction = REACTIONS.get(type(error), REACTIONS[errors.FetchFailed])
    reason = f"{error.code}: {error.message}"
    news = None
    if reaction.blames_host or reaction.slows_down or reaction.hold_s is not None:
        news = HostNews(reaction.blames_host, reaction.slows_down, reaction.hold_s, reason)
    if reaction.ends is not None:
        return Judgement(Close(reaction.ends, reason), news)
    return _again(lease, reason, policy, chance, news=news, status=None)


def _again(
    lease: Lease,
    reason: str,
    policy: RetryPolicy,
    chance: float,
    *,
    news: HostNews | None,
    status: int | None,
) -> Judgement:
    failures = lease.attempts + 1
    if policy.is_exhausted(failures):
        return Judgement(
            Close("dead", f"{reason} ({failures} attempt{'s' if failures > 1 else ''})", status), news
        )
    delay_s = policy.delay_s(failures, chance)
    if news is not None and news.hold_s is not None:
        delay_s = max(delay_s, news.hold_s)
    return Judgement(RetryLater(delay_s, reason, status), news)
