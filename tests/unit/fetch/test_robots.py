from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smartspider.core.errors import ConnectionDropped, PrivateAddress, RobotsDisallowed, RobotsUnavailable
from smartspider.core.pages.page import header_forbids_follow
from smartspider.core.runs.plan import FetchPlan
from smartspider.fetch.headers import HeaderPlan
from smartspider.fetch.robots_file import MAX_BYTES, MAX_WILDCARDS, RobotsFile
from smartspider.fetch.robots_policy import KEEP_S, KEEP_UNAVAILABLE_S, RobotsPolicy
from smartspider.interfaces.robots_cache import RobotsAnswer
from smartspider_testing.permits import FreePermit

RULES = b"User-agent: *\nDisallow: /secret\nAllow: /secret/open\nCrawl-delay: 2\n"


def site_with(net: Any, robots: bytes, **pages: bytes) -> Any:
    named = {f"/{name}": page for name, page in pages.items()}
    return net.site({"/robots.txt": robots, "/a": net.http(b"a"), "/secret/open": net.http(b"o"), **named})


async def test_robots_is_read_once_and_obeyed(net: Any) -> None:
    async with site_with(net, net.http(RULES)) as site, net.stack(obeys=True) as fetcher:
        assert net.robots.allowed_if_known(f"{site.url}/a") is None
        assert (await fetcher.fetch(net.exchange(net.asks(f"{site.url}/a")))).body == b"a"
        with pytest.raises(RobotsDisallowed, match=rf"{site.url} forbids /secret/x \(Disallow: /secret\)"):
            await fetcher.fetch(net.exchange(net.asks(f"{site.url}/secret/x")))
        assert (await fetcher.fetch(net.exchange(net.asks(f"{site.url}/secret/open")))).body == b"o"
        assert net.robots.allowed_if_known(f"{site.url}/a") is True
        assert net.robots.allowed_if_known(f"{site.url}/secret/x") is False
        file = RobotsFile(RULES)
        assert file.deciding_line(f"{site.url}/secret/x") == "Disallow: /secret"
        assert file.deciding_line(f"{site.url}/secret/open") == "Allow: /secret/open"
        assert file.deciding_line(f"{site.url}/a") is None
    assert [seen.target for seen in site.seen] == ["/robots.txt", "/a", "/secret/open"]
    assert net.permit.entered == ["127.0.0.1", "page", "page"]
    assert net.cache.delays == {"127.0.0.1": 2.0}
    assert site.seen[0].headers["user-agent"].startswith("SmartSpider/")


async def test_concurrent_fetches_wait_for_one_robots_request(net: Any) -> None:
    async with site_with(net, net.http(RULES)) as site, net.stack(obeys=True) as fetcher:
        await asyncio.gather(*(fetcher.fetch(net.exchange(net.asks(f"{site.url}/a"))) for _ in range(8)))
    assert [seen.target for seen in site.seen].count("/robots.txt") == 1


async def test_a_cancelled_leader_is_replaced_by_a_waiter(net: Any) -> None:
    class Closed(FreePermit):
        def another(self, host: str) -> FreePermit:
            return Stuck(host)

    class Stuck(FreePermit):
        async def enter(self) -> None:
            is_stuck.set()
            await asyncio.Event().wait()

    is_stuck = asyncio.Event()
    async with site_with(net, net.http(RULES)) as site, net.stack(obeys=True) as fetcher:
        leader = asyncio.create_task(fetcher.fetch(net.exchange(net.asks(f"{site.url}/a"), Closed())))
        await is_stuck.wait()
        waiter = asyncio.create_task(fetcher.fetch(net.exchange(net.asks(f"{site.url}/a"))))
        await asyncio.sleep(0)
        leader.cancel()
        assert (await waiter).body == b"a"
        assert leader.cancelled()


@pytest.mark.parametrize("status", ["401 No", "403 No", "404 No", "410 Gone", "429 Slow", "300 Choose"])
async def test_without_a_robots_file_everything_is_allowed(net: Any, status: str) -> None:
    async with site_with(net, net.http(b"Disallow: /", status)) as site, net.stack(obeys=True) as fetcher:
        assert (await fetcher.fetch(net.exchange(net.asks(f"{site.url}/a")))).body == b"a"
        assert net.robots.allowed_if_known(f"{site.url}/anything") is True
    assert net.cache.answers[site.url].body is None


async def test_a_broken_server_forbids_everything_for_a_minute(net: Any) -> None:
    pages = {"/robots.txt": net.http(b"", "503 Down"), "/a": net.http(b"a")}
    async with net.site(pages) as site, net.stack(obeys=True) as fetcher:
        for _ in range(2):
            with pytest.raises(RobotsUnavailable, match=f"{site.url} answers 503"):
                await fetcher.fetch(net.exchange(net.asks(f"{site.url}/a")))
        assert len(site.seen) == 1
        assert net.robots.allowed_if_known(f"{site.url}/a") is None
        assert net.cache.answers == {}
        pages["/robots.txt"] = net.http(b"")
        net.clock.at += KEEP_UNAVAILABLE_S
        assert (await fetcher.fetch(net.exchange(net.asks(f"{site.url}/a")))).body == b"a"


async def test_a_network_failure_is_the_failure_of_the_page(net: Any) -> None:
    async def drop(_seen: Any, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.05)
        writer.close()

    async with net.serve(drop) as server, net.stack(obeys=True) as fetcher:
        results = await asyncio.gather(
            *(fetcher.fetch(net.exchange(net.asks(f"{server.url}/a"))) for _ in range(3)),
            return_exceptions=True,
        )
    assert all(isinstance(result, ConnectionDropped) for result in results)
    assert [seen.target for seen in server.seen] == ["/robots.txt"]


async def test_robots_is_read_again_after_a_day(net: Any) -> None:
    pages = {"/robots.txt": net.http(b""), "/a": net.http(b"a")}
    async with net.site(pages) as site, net.stack(obeys=True) as fetcher:
        await fetcher.fetch(net.exchange(net.asks(f"{site.url}/a")))
        pages["/robots.txt"] = net.http(b"User-agent: SmartSpider\nDisallow: /")
        net.clock.at += KEEP_S - 1
        await fetcher.fetch(net.exchange(net.asks(f"{site.url}/a")))
        net.clock.at += 1
        with pytest.raises(RobotsDisallowed):
            await fetcher.fetch(net.exchange(net.asks(f"{site.url}/a")))


async def test_what_the_store_knows_is_not_asked_for(net: Any) -> None:
    async with site_with(net, net.http(b"")) as site, net.stack(obeys=True) as fetcher:
        now = net.clock.now()
        net.cache.answers[site.url] = RobotsAnswer(site.url, 200, RULES, now, now + 100)
        with pytest.raises(RobotsDisallowed):
            await fetcher.fetch(net.exchange(net.asks(f"{site.url}/secret")))
        assert not site.seen
        net.clock.at += 100
        net.cache.answers[site.url] = RobotsAnswer(site.url, 200, RULES, now, now + 200)
        with pytest.raises(RobotsDisallowed):
            await fetcher.fetch(net.exchange(net.asks(f"{site.url}/secret")))
    assert not site.seen


async def test_files_are_kept_as_far_as_there_is_room_those_asked_for_last(
    net: Any,
) -> None:
    """Parsed they are large, and a broad crawl meets very many; the store has them all."""
    now = net.clock.now()
    origins = [f"http://h{number}.example" for number in range(4)]
    for origin, body in zip(origins, (RULES, RULES, RULES, None), strict=True):
        net.cache.answers[origin] = RobotsAnswer(origin, 200, body, now, now + 100)
    async with net.transport() as transport:
        robots = RobotsPolicy(
            transport,
            headers=HeaderPlan(FetchPlan()),
            cache=net.cache,
            clock=net.clock,
            max_bytes=2 * len(RULES),
        )
        for number in (0, 1, 0, 3, 2, 2):
            await robots.check(net.exchange(net.asks(f"{origins[number]}/a")))
    known = [robots.allowed_if_known(f"{origin}/a") for origin in origins]
    assert known == [True, None, True, True]


async def test_redirects_of_robots_are_followed_also_to_other_hosts(net: Any) -> None:
    async with net.site({"/rules": net.http(b"User-agent: *\nDisallow: /a")}) as other:
        elsewhere = f"http://localhost:{other.port}/rules"
        async with (
            site_with(net, net.http(b"", "301 M", Location=elsewhere)) as site,
            net.stack(obeys=True) as fetcher,
        ):
            with pytest.raises(RobotsDisallowed, match=site.url):
                await fetcher.fetch(net.exchange(net.asks(f"{site.url}/a")))
    assert net.permit.entered == ["127.0.0.1", "localhost"]


async def test_a_redirect_of_robots_to_a_private_address_is_refused(net: Any) -> None:
    async with (
        site_with(net, net.http(b"", "301 M", Location="http://10.0.0.1/robots.txt")) as site,
        net.stack(text="", entries=(site.url,), obeys=True) as fetcher,
    ):
        with pytest.raises(PrivateAddress):
            await fetcher.fetch(net.exchange(net.asks(f"{site.url}/a")))


async def test_too_many_redirects_of_robots_count_as_no_file(net: Any) -> None:
    async with (
        site_with(net, net.http(b"", "301 M", Location="/robots.txt")) as site,
        net.stack(obeys=True) as fetcher,
    ):
        assert (await fetcher.fetch(net.exchange(net.asks(f"{site.url}/a")))).body == b"a"
    assert len(site.seen) == 7


async def test_a_bad_redirect_of_robots_counts_as_no_file(net: Any) -> None:
    async with (
        site_with(net, net.http(b"", "302 F", Location="mailto:x")) as site,
        net.stack(obeys=True) as fetcher,
    ):
        assert (await fetcher.fetch(net.exchange(net.asks(f"{site.url}/a")))).body == b"a"


async def test_every_hop_of_a_page_is_asked_for(net: Any) -> None:
    moved = net.http(b"", "302 F", Location="/secret/x")
    async with site_with(net, net.http(RULES), moved=moved) as site, net.stack(obeys=True) as fetcher:
        with pytest.raises(RobotsDisallowed):
            await fetcher.fetch(net.exchange(net.asks(f"{site.url}/moved")))
    assert [seen.target for seen in site.seen] == ["/robots.txt", "/moved"]


async def test_robots_itself_may_always_be_read(net: Any) -> None:
    async with (
        site_with(net, net.http(b"User-agent: *\nDisallow: /")) as site,
        net.stack(obeys=True) as fetcher,
    ):
        page = await fetcher.fetch(net.exchange(net.asks(f"{site.url}/robots.txt")))
    assert page.body.startswith(b"User-agent")


async def test_a_huge_robots_file_is_read_up_to_the_limit(net: Any) -> None:
    start = b"User-agent: *\nDisallow: /secret\n"
    padding = b"Disallow: /%s\n" % (b"x" * 85)
    huge = start + padding * (MAX_BYTES // len(padding)) + b"Disallow: /a\n" * 10_000
    async with site_with(net, net.http(huge)) as site, net.stack(obeys=True) as fetcher:
        assert (await fetcher.fetch(net.exchange(net.asks(f"{site.url}/a")))).body == b"a"
        assert net.robots.allowed_if_known(f"{site.url}/secret") is False


def test_half_a_rule_at_the_end_of_a_cut_file_is_no_rule() -> None:
    line = b"Disallow: /only/this/one\n"
    body = b"User-agent: *\n"
    body += b"#" * (MAX_BYTES - len(body) - 12) + b"\n" + line
    assert body[:MAX_BYTES].endswith(b"\nDisallow: /")
    assert RobotsFile(body[:MAX_BYTES]).allows("http://h/x")


def test_a_byte_order_mark_does_not_hide_the_first_group() -> None:
    assert not RobotsFile(b"\xef\xbb\xbf" + RULES).allows("http://h/secret")


def test_our_own_group_beats_the_one_for_everybody() -> None:
    ours = b"User-agent: other\nUser-agent: SMARTSPIDER\nDisallow: /no\nCrawl-delay: 999"
    file = RobotsFile(b"User-agent: *\nDisallow: /\n\n" + ours)
    assert file.allows("http://h/yes")
    assert not file.allows("http://h/no")
    assert file.deciding_line("http://h/no") == "Disallow: /no"
    assert file.crawl_delay_s == 300.0


PATHS = st.text("/ab.?=*$", max_size=12)
LINES = st.lists(st.tuples(st.sampled_from(["Allow", "Disallow"]), PATHS.map("/".__add__)), max_size=6)


def decide(rules: list[tuple[str, str]], path: str) -> str | None:
    """The line that decides, found with regular expressions: the longest match, and Allow before Disallow."""
    found = []
    for field, pattern in rules:
        body, end = (pattern[:-1], r"\Z") if pattern.endswith("$") else (pattern, "")
        if re.match(".*".join(map(re.escape, body.split("*"))) + end, path):
            found.append((len(pattern), field == "Allow", f"{field}: {pattern}"))
    return max(found)[2] if found else None


@given(ours=LINES, everybody=LINES, path=st.text("/ab.?=*$", max_size=8))
def test_the_longest_match_of_our_group_decides(ours: Any, everybody: Any, path: str) -> None:
    text = "".join(
        f"User-agent: {agent}\n" + "".join(f"{field}: {value}\n" for field, value in lines) + "\n"
        for agent, lines in (("*", everybody), ("SmartSpider", ours))
    )
    url = f"http://h.example/{path}"
    file = RobotsFile(text.encode())
    line = decide(ours, f"/{path}")
    assert file.deciding_line(url) == line
    assert file.allows(url) is (line is None or line.startswith("Allow"))


@pytest.mark.parametrize("agent", ["*", "* ", "*\t# everybody", "* all of you"])
def test_a_star_is_everybody(agent: str) -> None:
    assert not RobotsFile(f"User-agent: {agent}\nDisallow: /".encode()).allows("http://h/x")


@pytest.mark.parametrize("agent", ["*WordPress*", "*bot", "**", "WordPress*", "", "+*"])
def test_a_star_in_a_name_is_not_everybody(agent: str) -> None:
    assert RobotsFile(f"User-agent: {agent}\nDisallow: /".encode()).allows("http://h/x")


@pytest.mark.parametrize(
    "text",
    [
        "user-agent *\ndisallow /x",
        "UserAgent: *\nDissallow: /x",
        "User agent:*\rDisallow:/x\r",
        "Sitemap: http://h/s.xml\nUser-agent: *\nDisallow: /x # not this",
        "\xefUser-agent: *\nDisallow: /x",
        "User-agent: a\nSitemap: http://h/s.xml\nUser-agent: *\nDisallow: /x",
    ],
)
def test_frequent_mistakes_are_understood(text: str) -> None:
    file = RobotsFile(text.encode("latin-1"))
    assert not file.allows("http://h/x/y")
    assert file.allows("http://h/y")


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("/中", "/%E4%B8%AD"),
        ("/%e4%b8%ad", "/%E4%B8%AD"),
        ("/~me", "/%7Eme"),
        ("/%7eme", "/~me"),
        ("/a%2A", "/a*b"),
        ("/a$b", "/a$bc"),
        ("/a%24", "/a$bc"),
    ],
)
def test_patterns_and_paths_are_compared_in_one_spelling(pattern: str, path: str) -> None:
    file = RobotsFile(f"User-agent: *\nDisallow: {pattern}".encode())
    assert not file.allows(f"http://h{path}")
    assert file.allows("http://h/a")


def test_bytes_that_are_not_utf_8_are_compared_as_bytes() -> None:
    file = RobotsFile(b"User-agent: *\nDisallow: /caf\xe9")
    assert not file.allows("http://h/caf%E9")
    assert file.deciding_line("http://h/caf%E9") == "Disallow: /caf\ufffd"


def test_a_pattern_of_many_stars_is_quick() -> None:
    file = RobotsFile(b"User-agent: *\nDisallow: /" + b"*a" * 200 + b"*b$")
    assert file.allows("http://h/" + "a" * 20_000)


@pytest.mark.parametrize("delay", ["x", "-1", "nan", "inf", ""])
def test_a_delay_that_is_no_number_is_none(delay: str) -> None:
    assert RobotsFile(f"User-agent: *\nCrawl-delay: {delay}".encode()).crawl_delay_s is None


@pytest.mark.parametrize(
    ("value", "forbids"),
    [
        ("nofollow", True),
        ("noindex, NoFollow", True),
        ("none", True),
        ("noindex", False),
        ("otherbot: nofollow", False),
        ("otherbot: noindex, nofollow", False),
        ("otherbot: nofollow, SmartSpider: none", True),
        ("smartspider: noindex, nofollow", True),
        ("unavailable_after: 25 Jun 2010 15:00:00 PST, nofollow", True),
        ("max-snippet: 10, nofollow", True),
        ("", False),
    ],
)
def test_the_robots_header_is_understood(value: str, *, forbids: bool) -> None:
    assert header_forbids_follow({"x-robots-tag": value}) is forbids


def test_without_the_robots_header_links_are_followed() -> None:
    assert not header_forbids_follow({})


@pytest.mark.parametrize(
    ("agent", "is_ours"),
    [
        ("S", False),
        ("Smart", False),
        ("SmartSpiderX", False),
        ("smartspider", True),
        ("SmartSpider/0.1", True),
    ],
)
def test_only_our_whole_name_is_ours(agent: str, is_ours: bool) -> None:
    text = f"User-agent: {agent}\nDisallow: /ours\n\nUser-agent: *\nDisallow: /all\n"
    file = RobotsFile(text.encode())
    assert file.allows("http://h.example/ours") is not is_ours
    assert file.allows("http://h.example/all") is is_ours


def test_more_wildcards_than_can_be_tried_forbid_what_comes_before_them() -> None:
    rules = [f"Disallow: /shop/*a*b{number}\n" for number in range(MAX_WILDCARDS + 1)]
    file = RobotsFile("".join(["User-agent: *\nAllow: /shop/open/\n", *rules, "Disallow: /*/x\n"]).encode())
    assert not file.allows("http://h.example/shop/ab7")
    assert not file.allows("http://h.example/shop/anything")
    assert not file.allows("http://h.example/elsewhere")
    assert file.allows("http://h.example/shop/open/y")


def test_rules_without_wildcards_are_found_in_any_number() -> None:
    rules = "".join(f"Disallow: /{number}/\nAllow: /{number}/open\n" for number in range(15_000))
    file = RobotsFile(f"User-agent: *\n{rules}Disallow: /exact$\nDisallow: /tail*\n".encode())
    assert not file.allows("http://h.example/14999/x")
    assert file.allows("http://h.example/14999/open/x")
    assert file.allows("http://h.example/exactly")
    assert not file.allows("http://h.example/exact")
    assert not file.allows("http://h.example/tails")
