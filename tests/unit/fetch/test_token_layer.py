"""The layer `token`, against a server that hands out tokens and checks them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from smartspider.core.errors import LayerFailed, TaskInvalid, TokenUnavailable
from smartspider.core.requests.origins import OriginTrust
from smartspider.fetch.layers import compile_layers
from smartspider.fetch.page_transports import MAX_TOKEN_BYTES
from smartspider.fetch.tokens import KEEP_FAILED_S, KEEP_REFUSED_S, KEEP_UNUSED_S
from smartspider_testing.waiting import WAIT_S

BODY = {"user": "ann", "secret": "${KEY}"}
KEY = 'pa"ss\\word'


class Site:
    """Answers `/token` with `t1`, `t2`, ...; the other pages accept the newest unless it is revoked."""

    def __init__(self, net: Any) -> None:
        self._net = net
        self.url = ""
        self.asked: list[Any] = []
        self.pages: list[tuple[str, str]] = []
        """The targets and tokens of the other requests."""
        self.valid: set[str] = set()
        self.answer: Callable[[str], bytes] = lambda token: net.http(
            json.dumps({"access_token": token, "expires_in": 3600}).encode()
        )
        self.holds: Callable[[], Awaitable[object]] | None = None

    async def handle(self, seen: Any, writer: asyncio.StreamWriter) -> None:
        if seen.target == "/token":
            self.asked.append(seen)
            if self.holds is not None:
                await self.holds()
            token = f"t{len(self.asked)}"
            self.valid = {token}
            writer.write(self.answer(token))
            return
        token = seen.headers.get("x-api-token") or seen.headers.get("authorization", "")
        token = token.removeprefix("Bearer ")
        self.pages.append((seen.target, token))
        status = "200 OK" if token in self.valid else "401 Unauthorized"
        writer.write(self._net.http(b"page", status))


@asynccontextmanager
async def opened(net: Any, **options: Any) -> AsyncIterator[Any]:
    """A site, and a function that fetches a path of it through the layer."""
    site = Site(net)
    async with net.serve(site.handle) as server:
        site.url = server.url
        layer = {"use": "token", "url": f"{server.url}/token", "body": BODY, **options}
        stack = net.stack(layers=[layer], secrets={"KEY": KEY}, trusted=[server.url])
        async with stack as fetcher:
            yield site, lambda path: fetcher.fetch(net.exchange(net.asks(f"{server.url}{path}")))


async def test_one_token_serves_all_requests_and_passes_the_gate(net: Any) -> None:
    async with opened(net) as (site, fetch):
        started, go = asyncio.Event(), asyncio.Event()

        async def hold() -> None:
            started.set()
            await go.wait()

        site.holds = hold
        async with asyncio.timeout(WAIT_S), asyncio.TaskGroup() as group:
            pages = [group.create_task(fetch(f"/{number}")) for number in range(3)]
            await started.wait()
            go.set()
    assert [page.result().status for page in pages] == [200, 200, 200]
    (asked,) = site.asked
    assert (asked.method, json.loads(asked.body)) == ("POST", {"user": "ann", "secret": KEY})
    assert (asked.headers["content-type"], asked.headers["accept"][:16]) == (*["application/json"] * 2,)
    assert asked.headers["user-agent"].startswith("SmartSpider/")
    assert "authorization" not in asked.headers
    assert sorted(site.pages) == [("/0", "t1"), ("/1", "t1"), ("/2", "t1")]
    assert net.tokens == ["t1"]
    assert sorted(net.permit.entered) == ["127.0.0.1", "page", "page", "page"]


async def test_a_token_is_renewed_before_it_expires(net: Any) -> None:
    async with opened(net) as (site, fetch):
        for after_s in (0, 3539, 2):
            net.clock.at += after_s
            await fetch("/a")
    assert [token for _, token in site.pages] == ["t1", "t1", "t2"]


async def test_a_token_that_expires_at_once_is_requested_once_for_each_page(net: Any) -> None:
    async with opened(net) as (site, fetch), asyncio.timeout(WAIT_S):
        site.answer = lambda token: net.http(b'{"access_token": "%s", "expires_in": 1e-12}' % token.encode())
        for _ in range(2):
            assert (await fetch("/a")).status == 200
    assert [token for _, token in site.pages] == ["t1", "t2"]


async def test_a_rejected_token_is_renewed_once_for_a_request(net: Any) -> None:
    async with opened(net) as (site, fetch):
        await fetch("/a")
        site.valid = set()
        page = await fetch("/b")
        assert page.status == 200
        assert site.pages == [("/a", "t1"), ("/b", "t1"), ("/b", "t2")]
        assert net.permit.entered == ["127.0.0.1", "page", "page", "127.0.0.1", "127.0.0.1"]


async def test_a_token_that_was_never_accepted_is_not_renewed_for_each_page(net: Any) -> None:
    async with opened(net, value="Token {token}") as (site, fetch):
        for _ in range(3):
            assert (await fetch("/a")).status == 401
        assert (len(site.asked), len(site.pages)) == (1, 3)
        net.clock.at += KEEP_UNUSED_S
        await fetch("/a")
    assert (len(site.asked), len(site.pages)) == (2, 5)


async def test_a_refused_token_is_not_asked_for_again_by_each_page(net: Any) -> None:
    async with opened(net) as (site, fetch):
        site.answer = lambda _: net.http(b"wrong password", "403 Forbidden")
        for _ in range(3):
            with pytest.raises(LayerFailed) as caught:
                await fetch("/a")
            assert caught.value.message == f"layers[0] token, for its token: {site.url}/token answers 403"
        assert (len(site.asked), site.pages) == (1, [])
        net.clock.at += KEEP_REFUSED_S
        with pytest.raises(LayerFailed):
            await fetch("/a")
    assert len(site.asked) == 2


@pytest.mark.parametrize("status", ["503 Busy", "429 Too Many Requests", ""])
async def test_a_token_that_cannot_be_had_for_now_is_asked_for_again_later(net: Any, status: str) -> None:
    async with opened(net) as (site, fetch):
        good, site.answer = site.answer, lambda _: net.http(b"", status) if status else b"nonsense\r\n\r\n"
        for _ in range(2):
            with pytest.raises(TokenUnavailable, match=r"layers\[0\] token, for its token: "):
                await fetch("/a")
        assert len(site.asked) == 1
        site.answer = good
        net.clock.at += KEEP_FAILED_S
        assert (await fetch("/a")).status == 200


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"<html>", "the answer is not JSON"),
        (b'{"error": "x"}', "the answer has nothing at 'access_token'"),
        (
            b'{"access_token": "a\\r\\nX: 1"}',
            "the answer has no token: it is no text that a header can carry",
        ),
        (b'{"access_token": {"a": 1}}', "the answer has no token"),
        (b'{"access_token": "' + b"a" * 20_000 + b'"}', "the answer has no token"),
        (b"[" * 5_000, "the answer is not JSON"),
        (b" " * (MAX_TOKEN_BYTES + 1), "is too large for one with a token"),
    ],
)
async def test_an_answer_without_a_token_ends_the_page(net: Any, answer: bytes, message: str) -> None:
    async with opened(net) as (site, fetch):
        site.answer = lambda _: net.http(answer)
        with pytest.raises(LayerFailed, match=message):
            await fetch("/a")
    assert site.pages == []


async def test_a_token_may_come_in_a_header_and_go_into_another_as_it_is(net: Any) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    into = {"header": "X-Api-Token", "value": "{token}"}
    async with opened(net, from_header="X-Token", expires_in=100, headers=headers, **into) as (site, fetch):
        site.answer = lambda token: net.http(b"", X_Token=token)
        for after_s in (0, 89, 2):
            net.clock.at += after_s
            assert (await fetch("/a")).status == 200
    assert [token for _, token in site.pages] == ["t1", "t1", "t2"]
    assert site.asked[0].body == b"user=ann&secret=pa%22ss%5Cword"


async def test_a_token_goes_only_where_secrets_may_go(net: Any) -> None:
    async with net.serve(net.http(b"", "401 Unauthorized")) as other:
        layer = {"use": "token", "url": "http://h.example/token"}
        async with net.stack(layers=[layer], secrets={}, trusted=["http://h.example/"]) as fetcher:
            page = await fetcher.fetch(net.exchange(net.asks(other.url)))
    assert (page.status, page.withheld) == (401, True)
    (seen,) = other.seen
    assert "authorization" not in seen.headers
    with pytest.raises(TaskInvalid) as caught:
        compile_layers([layer], ["default"], {}, OriginTrust(["http://other.example/"]))
    (problem,) = caught.value.problems
    expected = (
        "the request for its token is not sent to http://h.example, which is not an origin of the task's"
    )
    assert (problem.path, problem.message) == ("layers[0]", f"{expected} entries")
    assert problem.hint == "add it to fetch.send_secrets_to if you trust it"


async def test_robots_txt_holds_for_the_request_for_a_token(net: Any) -> None:
    pages = {"/robots.txt": net.http(b"User-agent: *\nDisallow: /token\n"), "/a": net.http(b"page")}
    async with net.site(pages) as site:
        layer = {"use": "token", "url": f"{site.url}/token"}
        stack = net.stack(layers=[layer], secrets={}, trusted=[site.url], obeys=True)
        async with stack as fetcher:
            with pytest.raises(LayerFailed, match=r"for its token: robots\.txt of .* forbids /token"):
                await fetcher.fetch(net.exchange(net.asks(f"{site.url}/a")))
    assert [seen.target for seen in site.seen] == ["/robots.txt"]


@pytest.mark.parametrize(
    ("options", "path", "message"),
    [
        ({"url": "ftp://h/"}, ".url", "it is not an http or https URL"),
        ({"url": "http://h/?k=${KEY}"}, ".url", "a URL is logged, and holds no secret"),
        ({"method": "DELETE"}, ".method", "it is not one of GET, POST, PUT"),
        ({"expr": "a", "from_header": "b"}, ".from_header", "expr says already where the token is"),
        ({"expr": "a["}, ".expr", '"a[" is not JMESPath'),
        ({"expires_in": 0}, ".expires_in", "it is not positive"),
        ({"header": ""}, ".header", '"" is not a header name'),
        ({"headers": {"é": "1"}}, ".headers.é", '"é" is not a header name'),
        ({"value": "Bearer"}, ".value", "it has no {token}"),
        ({"value": "{tokn}"}, ".value", "there is nothing named {tokn}"),
    ],
)
def test_wrong_options_of_a_token_are_named(options: dict[str, Any], path: str, message: str) -> None:
    with pytest.raises(TaskInvalid) as caught:
        compile_layers([{"use": "token", "url": "http://h.example/token", **options}], ["default"])
    (problem,) = caught.value.problems
    assert problem.path == f"layers[0]{path}"
    assert problem.message.startswith(message)
