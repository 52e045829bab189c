"""Errors and answers become verdicts in one pure function."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import format_datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smartspider.core import errors
from smartspider.core.frontier.cause import CauseCode, cause_of_error, cause_of_status
from smartspider.core.frontier.lease import FencingToken, Lease, SendWindow
from smartspider.core.frontier.verdict import Close, CookieNews, HostNews, RetryLater
from smartspider.core.pages.extraction import Item, RejectedItem
from smartspider.core.pages.page import Page
from smartspider.core.requests.request import make_request
from smartspider.core.runs.plan import RetryPolicy
from smartspider.engine.retry_or_close import REACTIONS, ROBOTS_HOLD_S, Judgement, Reading, judge

NOW = 1_700_000_000.0
POLICY = RetryPolicy(max_attempts=4, backoff_s=1.0, max_backoff_s=300.0)
RETRIED = [
    *(errors.EmptyAnswer, errors.TokenUnavailable),
    *(errors.NameNotResolved, errors.ConnectFailed, errors.ConnectionDropped, errors.TimedOut),
    *(errors.ProxyFailed, errors.ProxyRefused, errors.RobotsUnavailable, errors.BadResponse),
]
ENDING = {
    errors.TlsFailed: "dead",
    errors.TooLarge: "dead",
    errors.BadEncoding: "dead",
    errors.TooManyRedirects: "dead",
    errors.BadRedirect: "dead",
    errors.SecretsWithheld: "dead",
    errors.PrivateAddress: "skipped",
    errors.RobotsDisallowed: "skipped",
    errors.SignedOut: "dead",
    errors.PoolFailed: "dead",
    errors.LayerFailed: "broken",
    errors.NotReadable: "broken",
    errors.PatternTimeout: "broken",
    errors.Unreadable: "broken",
    errors.FetchFailed: "dead",
}
OF_COOKIES = [errors.CookieRetry, errors.CookiesSignedOut, errors.NoCookies]
UNCOUNTED = [errors.ProxyRetry, errors.NoProxy, *OF_COOKIES]
REJECTED = RejectedItem("why", {})
ITEMS: list[Item] = [{"name": "a"}]


def lease(attempts: int = 0) -> Lease:
    request = make_request("http://h.example/")
    return Lease(FencingToken(1, 1), 1, 1, request, SendWindow(0.0, 0.0, 0.0), NOW + 60, attempts)


def page(status: int, **headers: str) -> Page:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Page("http://h.example/", status, named, b"", "utf-8", NOW)


def answered(
    status: int, *, attempts: int = 0, policy: RetryPolicy = POLICY, retry_after: str | None = None
) -> Judgement:
    headers = {} if retry_after is None else {"retry_after": retry_after}
    return judge(lease(attempts), Reading(page(status, **headers)), policy, 0.5)


def date(at: float) -> str:
    return format_datetime(datetime.fromtimestamp(at, UTC), usegmt=True)


def failures(kind: type[errors.FetchFailed]) -> list[type[errors.FetchFailed]]:
    own = [one for one in kind.__subclasses__() if one.__module__.startswith("smartspider.")]
    return [kind, *(deep for one in own for deep in failures(one))]


def test_every_way_to_fail_has_its_reaction() -> None:
    assert set(REACTIONS) == set(failures(errors.FetchFailed))
    assert set(REACTIONS) == {*RETRIED, *ENDING, *UNCOUNTED}


@pytest.mark.parametrize("kind", failures(errors.FetchFailed), ids=lambda kind: kind.__name__)
def test_every_failure_gets_a_verdict_with_its_reason(kind: type[errors.FetchFailed]) -> None:
    verdict, news = judge(lease(), kind("it is so"), POLICY, 0.5)
    assert verdict.reason == f"{kind.code}: it is so"
    if kind in ENDING:
        assert isinstance(verdict, Close)
        assert verdict.state == ENDING[kind]
        assert (verdict.items, verdict.children) == ([], [])
    else:
        assert isinstance(verdict, RetryLater)
        assert verdict.counts is (kind not in UNCOUNTED)
    assert all(one.reason == verdict.reason for one in news)


@pytest.mark.parametrize("kind", RETRIED, ids=lambda kind: kind.__name__)
def test_a_failure_that_goes_on_is_buried_with_the_number_of_attempts(kind: type[errors.FetchFailed]) -> None:
    for attempts in range(3):
        assert isinstance(judge(lease(attempts), kind("x"), POLICY, 0.5).verdict, RetryLater)
    verdict, news = judge(lease(3), kind("x"), POLICY, 0.5)
    assert verdict == Close("dead", f"{kind.code}: x (4 attempts)", cause=cause_of_error(kind("x")))
    silent = {errors.ProxyFailed, errors.ProxyRefused, errors.BadResponse, errors.EmptyAnswer}
    assert (news == ()) is (kind in {*silent, errors.TokenUnavailable})


def test_a_failure_of_a_plug_in_is_buried_like_any_unknown_one() -> None:
    class Invented(errors.TimedOut):
        code = "invented"

    assert judge(lease(), Invented("x"), POLICY, 0.5) == Judgement(
        Close("dead", "invented: x", cause="fetch_failed")
    )


def test_only_a_host_that_gave_no_answer_counts_towards_its_circuit() -> None:
    judged = {kind: judge(lease(), kind("x"), POLICY, 0.0).news for kind in REACTIONS}
    assert {
        kind
        for kind, news in judged.items()
        if any(isinstance(one, HostNews) and one.is_unreachable for one in news)
    } == {*(errors.NameNotResolved, errors.ConnectFailed, errors.ConnectionDropped, errors.TimedOut)}
    assert judged[errors.TimedOut] == (HostNews(is_unreachable=True, slow_down=True, reason="timeout: x"),)


def test_a_host_without_robots_is_held_and_its_request_waits_as_long() -> None:
    verdict, news = judge(lease(), errors.RobotsUnavailable("x"), POLICY, 0.0)
    (host,) = news
    assert isinstance(host, HostNews)
    assert host.hold_s == ROBOTS_HOLD_S
    assert isinstance(verdict, RetryLater)
    assert verdict.delay_s == ROBOTS_HOLD_S


@pytest.mark.parametrize("status", [200, 201, 203, 204, 206, 299])
def test_a_good_answer_is_stored_with_what_it_holds(status: int) -> None:
    child = make_request("http://h.example/child")
    close = Close("done", status=status, items=ITEMS, children=[child], rejected=[REJECTED])
    assert judge(lease(), Reading(page(status), close), POLICY, 0.5) == Judgement(close)


def test_a_good_answer_whose_status_the_task_retries_is_retried() -> None:
    policy = msgspec.structs.replace(POLICY, on_status=frozenset({202}))
    reading = Reading(page(202), Close("done", status=202, items=ITEMS))
    assert isinstance(judge(lease(), reading, policy, 0.5).verdict, RetryLater)


@pytest.mark.parametrize("status", [301, 304])
def test_the_verdict_of_the_reader_holds_for_a_redirect(status: int) -> None:
    close = Close("redirect", "to http://o.example/", status, children=[make_request("http://o.example/")])
    policy = msgspec.structs.replace(POLICY, on_status=frozenset({status}))
    assert judge(lease(), Reading(page(status), close), policy, 0.5) == Judgement(close)


@pytest.mark.parametrize("status", [404, 410])
def test_a_page_that_is_not_there_is_missing_and_nobody_is_to_blame(status: int) -> None:
    assert answered(status) == Judgement(Close("missing", f"http {status}", status, cause="not_found"))


@pytest.mark.parametrize("status", [100, 300, 304, 400, 401, 403, 406, 451, 501, 505, 999])
def test_an_answer_that_says_no_is_buried_at_once_and_the_host_is_well(status: int) -> None:
    assert answered(status) == Judgement(
        Close("dead", f"http {status}", status, cause=cause_of_status(status))
    )


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 520, 524])
def test_an_error_that_may_pass_is_tried_again_until_attempts_run_out(status: int) -> None:
    verdict, news = answered(status)
    assert verdict == RetryLater(0.5, f"http {status}", status, cause=cause_of_status(status))
    assert news == (HostNews(slow_down=status in {429, 503}, reason=f"http {status}"),)
    assert answered(status, attempts=3) == Judgement(
        Close("dead", f"http {status} (4 attempts)", status, cause=cause_of_status(status)), news
    )


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("value", ["120", date(NOW + 120)])
def test_retry_after_holds_the_host_and_is_never_shortened(status: int, value: str) -> None:
    verdict, news = answered(status, retry_after=value)
    assert isinstance(verdict, RetryLater)
    assert verdict.delay_s == 120.0
    (host,) = news
    assert isinstance(host, HostNews)
    assert host.hold_s == 120.0
    last = answered(status, attempts=3, retry_after=value)
    assert isinstance(last.verdict, Close)
    assert last.news == news


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        *((401, "forbidden"), (403, "forbidden"), (451, "forbidden"), (404, "not_found"), (410, "not_found")),
        *((429, "rate_limited"), (400, "http_client_error"), (499, "http_client_error")),
        *((500, "http_server_error"), (599, "http_server_error")),
        *((100, "unexpected_status"), (202, "unexpected_status"), (399, "unexpected_status")),
        *((600, "unexpected_status"), (999, "unexpected_status")),
    ],
)
def test_every_status_has_a_cause(status: int, cause: CauseCode) -> None:
    assert cause_of_status(status) == cause


@pytest.mark.parametrize("kind", failures(errors.FetchFailed), ids=lambda kind: kind.__name__)
def test_the_cause_of_an_error_is_its_code(kind: type[errors.FetchFailed]) -> None:
    """All failures of proxies have one cause, and so have all of cookies and all of layers."""
    code = "proxy" if issubclass(kind, errors.ProxyFailed) else kind.code
    code = "signed_out" if kind in OF_COOKIES else code
    code = "layer_failed" if issubclass(kind, errors.LayerFailed) else code
    assert cause_of_error(kind("x")) == code
    assert judge(lease(3), kind("x"), POLICY, 0.5).verdict.cause == code


@pytest.mark.parametrize("value", ["soon", "-1", date(NOW - 60)])
def test_a_retry_after_that_says_nothing_leaves_the_back_off(value: str) -> None:
    verdict, _ = answered(429, retry_after=value)
    assert isinstance(verdict, RetryLater)
    assert verdict.delay_s == 0.5


@pytest.mark.parametrize("status", [408, 500, 503])
def test_retry_after_is_kept_on_every_answer_that_is_tried_again(status: int) -> None:
    verdict, news = answered(status, retry_after="120")
    assert isinstance(verdict, RetryLater)
    assert verdict.delay_s == 120.0
    (host,) = news
    assert isinstance(host, HostNews)
    assert host.hold_s == 120.0


def test_a_missing_page_that_the_task_tries_again_ends_as_missing() -> None:
    policy = RetryPolicy(max_attempts=1, on_status=frozenset({404}))
    assert answered(404, policy=policy)[0] == Close("missing", "http 404", 404, cause="not_found")
    assert isinstance(answered(404, policy=RetryPolicy(on_status=frozenset({404})))[0], RetryLater)


@pytest.mark.parametrize("retry_after", [None, "0", "30"])
def test_a_host_that_asks_for_mercy_is_heard_also_where_the_task_does_not_retry(
    retry_after: str | None,
) -> None:
    verdict, news = answered(429, policy=RetryPolicy(on_status=frozenset({500})), retry_after=retry_after)
    assert verdict == Close("dead", "http 429", 429, cause="rate_limited")
    (host,) = news
    assert isinstance(host, HostNews)
    assert host.slow_down
    assert not host.is_unreachable


def test_the_task_decides_what_is_tried_again() -> None:
    assert isinstance(answered(403, policy=RetryPolicy(on_status=frozenset({403}))).verdict, RetryLater)
    assert isinstance(answered(500, policy=RetryPolicy(on_status=frozenset())).verdict, Close)


@given(
    st.integers(0, 50),
    st.floats(0.0, 1.0, exclude_max=True),
    st.one_of(st.none(), st.integers(0, 100_000)),
    st.sampled_from([429, 503]),
)
def test_delays_are_bounded_by_the_policy_and_never_under_retry_after(
    attempts: int, chance: float, asked_s: int | None, status: int
) -> None:
    policy = RetryPolicy(max_attempts=100, backoff_s=2.0, max_backoff_s=60.0)
    headers = {} if asked_s is None else {"retry_after": str(asked_s)}
    verdict, _ = judge(lease(attempts), Reading(page(status, **headers)), policy, chance)
    assert isinstance(verdict, RetryLater)
    assert float(asked_s or 0) <= verdict.delay_s <= max(60.0, float(asked_s or 0))


@pytest.mark.parametrize(
    ("page_type", "state"), [("@sitemap", "missing"), ("@robots", "missing"), ("default", "dead")]
)
def test_a_sitemap_that_was_only_guessed_may_be_refused(page_type: str, state: str) -> None:
    taken = lease()
    guess = msgspec.structs.replace(taken, request=msgspec.structs.replace(taken.request, page=page_type))
    verdict, _ = judge(guess, Reading(page(403)), POLICY, 0.5)
    assert verdict == Close(state, "http 403", 403, cause="forbidden")  # type: ignore[arg-type] # one of the states


def test_an_answer_that_wants_credentials_says_that_they_were_not_sent() -> None:
    withheld = msgspec.structs.replace(page(401), withheld=True)
    verdict = judge(lease(), Reading(withheld), POLICY, 0.5).verdict
    assert isinstance(verdict, Close)
    assert "fetch.send_secrets_to" in verdict.reason


@pytest.mark.parametrize("kind", UNCOUNTED)
def test_a_failure_of_a_proxy_or_of_cookies_uses_up_no_attempt_and_slows_no_host(
    kind: type[errors.ProxyRetry | errors.CookieRetry],
) -> None:
    error = kind("it is so")
    judgement = judge(lease(attempts=3), error, POLICY, 0.5)
    cause = cause_of_error(error)
    assert judgement == Judgement(
        RetryLater(error.wait_s, f"{error.code}: it is so", counts=False, cause=cause)
    )


def test_cookies_that_a_site_does_not_know_are_news_of_them_and_not_of_the_host() -> None:
    error = errors.CookiesSignedOut("cookies 3 are signed out", set_id=3, title="cookies 3", owner="ann")
    (news,) = judge(lease(), error, POLICY, 0.5).news
    assert news == CookieNews(set_id=3, title="cookies 3", owner="ann", reason="cookies 3 are signed out")
