"""Decide the verdict of an answer or an error, in one pure function. Nothing else retries."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from smartspider.core import errors
from smartspider.core.frontier.cause import CauseCode, cause_of_error, cause_of_status
from smartspider.core.frontier.lease import Lease
from smartspider.core.frontier.verdict import (
    Close,
    ClosedState,
    CookieNews,
    Culprit,
    HostNews,
    News,
    RetryLater,
    Verdict,
)
from smartspider.core.pages.page import Page, retry_after_s
from smartspider.core.pages.rules import ROBOTS_PAGE, SITEMAP_PAGE
from smartspider.core.runs.plan import RetryPolicy
from smartspider.engine.link_filter import ChildRequests

MISSING = frozenset({404, 410})
REFUSING = frozenset({429, 503})
ROBOTS_HOLD_S = 60.0
WITHHELD = ": secret headers are not sent to this origin unless fetch.send_secrets_to names it"


class Reading(msgspec.Struct, frozen=True):
    """An answer that was read."""

    page: Page
    close: Close | None = None
    """The verdict if the status is accepted; None if the status alone decides."""
    children: ChildRequests | None = None
    """The links to remember once the page is stored."""
    doubt: str = ""
    """Why to look again once before `close` applies."""


class Reaction(NamedTuple):
    """The consequence of a kind of failure."""

    ends: ClosedState | None
    """The state it ends in at once; None: it is retried until attempts run out."""
    blames: Culprit = "url"
    slows_down: bool = False
    hold_s: float | None = None


REACTIONS: dict[type[errors.FetchFailed], Reaction] = {
    errors.NameNotResolved: Reaction(None, "host"),
    errors.ConnectFailed: Reaction(None, "host"),
    errors.ConnectionDropped: Reaction(None, "host"),
    errors.BadResponse: Reaction(None),
    errors.TimedOut: Reaction(None, "host", slows_down=True),
    errors.ProxyFailed: Reaction(None),
    errors.ProxyRefused: Reaction(None),
    errors.ProxyRetry: Reaction(None, "proxy"),
    errors.NoProxy: Reaction(None, "proxy"),
    errors.PoolFailed: Reaction("dead", "proxy"),
    errors.CookieRetry: Reaction(None, "cookies"),
    errors.CookiesSignedOut: Reaction(None, "cookies"),
    errors.NoCookies: Reaction(None, "cookies"),
    errors.RobotsUnavailable: Reaction(None, hold_s=ROBOTS_HOLD_S),
    errors.TlsFailed: Reaction("dead"),
    errors.TooLarge: Reaction("dead"),
    errors.BadEncoding: Reaction("dead"),
    errors.TooManyRedirects: Reaction("dead"),
    errors.BadRedirect: Reaction("dead"),
    errors.SecretsWithheld: Reaction("dead"),
    errors.PrivateAddress: Reaction("skipped"),
    errors.RobotsDisallowed: Reaction("skipped"),
    errors.EmptyAnswer: Reaction(None),
    errors.SignedOut: Reaction("dead"),
    errors.LayerFailed: Reaction("broken"),
    errors.TokenUnavailable: Reaction(None),
    errors.NotReadable: Reaction("broken"),
    errors.PatternTimeout: Reaction("broken"),
    errors.Unreadable: Reaction("broken"),
    errors.FetchFailed: Reaction("dead"),
}
"""Every kind of failed fetch and its consequence."""


class Failure(NamedTuple):
    """A failed attempt."""

    reason: str
    cause: CauseCode
    status: int | None = None
    hold_s: float | None = None


class Judgement(NamedTuple):
    """A verdict, and the observations it rests on."""

    verdict: Verdict
    news: tuple[News, ...] = ()


def judge(
    lease: Lease, outcome: Reading | errors.FetchFailed, policy: RetryPolicy, chance: float
) -> Judgement:
    """Decide what happens to a leased request. `chance` in [0, 1) is the jitter of the backoff."""
    if isinstance(outcome, errors.FetchFailed):
        return _judge_failure(lease, outcome, policy, chance)
    status = outcome.page.status
    if outcome.doubt and lease.attempts == 0 and not policy.is_exhausted(1):
        return Judgement(_retry(lease, Failure(outcome.doubt, "no_items", status), policy, chance))
    if outcome.close is not None and not (200 <= status < 300 and status in policy.on_status):
        return Judgement(outcome.close)
    return _judge_status(lease, outcome.page, policy, chance)


def _judge_status(lease: Lease, page: Page, policy: RetryPolicy, chance: float) -> Judgement:
    status = page.status
    reason = f"http {status}" + (WITHHELD if page.withheld else "")
    is_guess = lease.request.page in (ROBOTS_PAGE, SITEMAP_PAGE) and 400 <= status < 500
    ends: ClosedState = "missing" if status in MISSING or is_guess else "dead"
    is_refusing, is_retried = status in REFUSING, status in policy.on_status
    news = None
    if is_refusing or is_retried:
        hold_s = retry_after_s(page.headers.get("retry-after"), page.fetched_at)
        news = HostNews(slow_down=is_refusing, hold_s=hold_s, reason=reason)
    failure = Failure(reason, cause_of_status(status), status, news.hold_s if news else None)
    verdict: Verdict = Close(ends, reason, status, cause=failure.cause)
    if is_retried:
        retry = _retry(lease, failure, policy, chance)
        verdict = verdict if ends == "missing" and isinstance(retry, Close) else retry
    return _judgement(verdict, news)


def _judge_failure(lease: Lease, error: errors.FetchFailed, policy: RetryPolicy, chance: float) -> Judgement:
    if isinstance(error, errors.ProxyRetry | errors.CookieRetry):  # neither the URL nor its host failed
        reason, cause = f"{error.code}: {error.message}", cause_of_error(error)
        return Judgement(RetryLater(error.wait_s, reason, counts=False, cause=cause), _cookie_news(error))
    reaction = REACTIONS.get(type(error), REACTIONS[errors.FetchFailed])
    reason = f"{error.code}: {error.message}"
    news = None
    if reaction.blames == "host" or reaction.hold_s is not None:
        news = HostNews(reaction.blames == "host", reaction.slows_down, reaction.hold_s, reason=reason)
    if reaction.ends is not None:
        return _judgement(Close(reaction.ends, reason, cause=cause_of_error(error)), news)
    failure = Failure(reason, cause_of_error(error), hold_s=reaction.hold_s)
    return _judgement(_retry(lease, failure, policy, chance), news)


def _cookie_news(error: errors.FetchFailed) -> tuple[CookieNews, ...]:
    if not isinstance(error, errors.CookiesSignedOut) or not error.set_id:
        return ()
    return (CookieNews(set_id=error.set_id, title=error.title, owner=error.owner, reason=error.message),)


def _judgement(verdict: Verdict, host: HostNews | None) -> Judgement:
    return Judgement(verdict, () if host is None else (host,))


def _retry(lease: Lease, failure: Failure, policy: RetryPolicy, chance: float) -> Verdict:
    """Retry after the backoff, and not before the host's hold ends; bury after the last attempt."""
    failures = lease.attempts + 1
    if policy.is_exhausted(failures):
        reason = f"{failure.reason} ({failures} attempt{'s' if failures > 1 else ''})"
        return Close("dead", reason, failure.status, cause=failure.cause)
    delay_s = max(policy.delay_s(failures, chance), failure.hold_s or 0.0)
    return RetryLater(delay_s, failure.reason, failure.status, cause=failure.cause)
