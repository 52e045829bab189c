from __future__ import annotations

from typing import Any

import msgspec
import pytest

from smartspider import __version__
from smartspider.core.requests.origins import OriginTrust
from smartspider.core.runs.plan import FetchPlan
from smartspider.fetch.headers import HeaderPlan, user_agent


def test_the_user_agent_says_who_we_are_and_whom_to_write_to() -> None:
    assert user_agent() == f"SmartSpider/{__version__}"
    assert user_agent("mailto:me@example.com") == f"SmartSpider/{__version__} (+mailto:me@example.com)"


async def test_requests_say_who_asks_and_what_is_understood(net: Any) -> None:
    async with net.site({"/": net.http()}) as site, net.stack() as fetcher:
        await fetcher.fetch(net.exchange(net.asks(site.url)))
    headers = site.seen[0].headers
    assert headers["user-agent"] == user_agent()
    assert headers["accept-encoding"] == "gzip, deflate, br, zstd"
    assert headers["accept"].startswith("text/html")
    assert "accept-language" in headers
    assert headers["host"] == f"127.0.0.1:{site.port}"


async def test_the_request_beats_the_task_and_the_task_beats_the_defaults(net: Any) -> None:
    plan = FetchPlan(headers=(("ACCEPT", "x/y"), ("X-Task", "t"), ("X-Both", "t")))
    async with net.site({"/": net.http()}) as site, net.stack(plan) as fetcher:
        await fetcher.fetch(net.exchange(net.asks(site.url, headers=(("x-both", "r"), ("X-Own", "o")))))
    headers = site.seen[0].headers
    assert headers["accept"] == "x/y"
    assert (headers["x-task"], headers["x-both"], headers["x-own"]) == ("t", "r", "o")


def test_a_host_always_sees_the_same_user_agent() -> None:
    plan = HeaderPlan(FetchPlan(user_agents=("one", "two", "three")))
    seen = {host: plan.agent_of(host) for host in (f"h{number}.example" for number in range(30))}
    assert set(seen.values()) == {"one", "two", "three"}
    assert all(plan.agent_of(host) == agent for host, agent in seen.items())
    assert dict(plan.page_extras("http://h1.example/").headers)["User-Agent"] == seen["h1.example"]
    assert dict(plan.robots_extras("h1.example").headers)["User-Agent"] == seen["h1.example"]


def test_robots_requests_carry_nothing_of_the_task() -> None:
    plan = HeaderPlan(FetchPlan(headers=(("Authorization", "secret"),)))
    assert "Authorization" not in dict(plan.robots_extras("h").headers)
    assert dict(plan.page_extras("http://h/").headers)["Authorization"] == "secret"


@pytest.mark.parametrize(
    ("url", "is_trusted"),
    [
        ("http://h/a", True),
        ("https://h/a", True),
        ("http://h:8080/", False),
        ("http://other/", False),
        ("https://p:8443/", True),
        ("http://p:8443/", False),
        ("http://s/", False),
        ("https://named/x", True),
        ("http://named/x", False),
        ("http://user:pw@h/", True),
        ("http://h./", False),
    ],
)
def test_credentials_of_the_task_go_to_the_origins_of_its_entries(url: str, is_trusted: bool) -> None:
    secrets = (("Authorization", "x"), ("X-Functions-Key", "y"), ("Referer", "a ${KEY}"))
    plan = FetchPlan(headers=(*secrets, ("Accept-Language", "z")))
    trust = OriginTrust(["http://h/", "https://p:8443/list", "https://s/"], named=["https://named"])
    headers = HeaderPlan(plan, trust=trust)
    sent = dict(headers.page_extras(url).headers)
    assert all((name in sent) is is_trusted for name, _ in secrets)
    assert sent["Accept-Language"] == "z"


async def test_a_page_type_has_its_own_headers_and_user_agent(net: Any) -> None:
    own = FetchPlan(headers=(("Accept", "application/json"),), user_agents=("mine",))
    plan = FetchPlan(headers=(("Accept", "x/y"),), pages={"detail": own})
    async with net.site({"/": net.http()}) as site, net.stack(plan) as fetcher:
        for page in ("default", "detail"):
            await fetcher.fetch(net.exchange(msgspec.structs.replace(net.asks(site.url), page=page)))
    assert [seen.headers["accept"] for seen in site.seen] == ["x/y", "application/json"]
    assert [seen.headers["user-agent"] for seen in site.seen] == [user_agent(), "mine"]


def test_credentials_of_a_page_type_go_to_the_origins_of_the_entries() -> None:
    plan = FetchPlan(pages={"detail": FetchPlan(headers=(("Authorization", "x"),))})
    own = HeaderPlan(plan, trust=OriginTrust(iter(["http://h/"]))).of_page("detail")
    assert "Authorization" in dict(own.page_extras("http://h/a").headers)
    assert "Authorization" not in dict(own.page_extras("http://other/").headers)
