from __future__ import annotations

from typing import Any

import pytest

from smartspider.core.cookies.jar import MAX_COOKIES_PER_DOMAIN, CookieJar
from smartspider.core.cookies.set_cookie import parse_cookie_date
from smartspider.core.errors import TooLarge
from smartspider.core.runs.plan import FetchPlan

HOST = "https://shop.example.co.uk"


@pytest.fixture
def cookies(net: Any) -> CookieJar:
    return CookieJar(net.clock.now)


RAW = [
    b'id="quoted value"',
    b"id=a b,c",
    b'id={"a":1}',
    b"id=a=b==",
    b"id=\xe4\xb8\xad",
    b"id=\xd6\xd0",
    b"id=caf\xe9",
    b"id=%E4%B8",
    b"id=\\073",
    b"id=",
]


@pytest.mark.parametrize("pair", RAW, ids=repr)
async def test_a_cookie_goes_back_byte_for_byte(net: Any, pair: bytes) -> None:
    async def answer(_seen: Any, writer: Any) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nSet-Cookie:  " + pair + b" ; Path=/\r\n\r\n")

    async with net.serve(answer) as server, net.transport() as transport:
        await transport.fetch(net.exchange(net.asks(server.url)))
        for extras in ({}, {"method": "POST", "body": b"some body"}):
            await transport.fetch(net.exchange(net.asks(server.url, **extras)))
            assert server.seen[-1].headers["cookie"].encode("latin-1") == pair
            assert server.seen[-1].body == extras.get("body", b"")
    assert server.connections == 1


async def test_bytes_of_the_session_stand_beside_cookies_of_the_request(net: Any) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nSet-Cookie: a=\xff\r\nSet-Cookie: b=2\r\n\r\n"
    async with net.serve(answer) as server, net.transport() as transport:
        await transport.fetch(net.exchange(net.asks(server.url)))
        await transport.fetch(net.exchange(net.asks(server.url, headers=(("Cookie", "own=1; b=0;"),))))
    assert server.seen[1].headers["cookie"] == "own=1; a=\xff; b=2"


async def test_a_refused_body_does_not_cost_its_cookie(net: Any) -> None:
    answer = net.http(b"too much", Set_Cookie="id=7")
    async with net.serve(answer) as server, net.transport(FetchPlan(max_bytes=2)) as transport:
        for _ in range(2):
            with pytest.raises(TooLarge):
                await transport.fetch(net.exchange(net.asks(server.url)))
    assert server.seen[1].headers["cookie"] == "id=7"


@pytest.mark.parametrize(
    ("header", "url", "sent"),
    [
        (b"a=1", f"{HOST}/other", True),
        (b"a=1", "https://www.shop.example.co.uk/", False),
        (b"a=1; Domain=example.co.uk", "https://www.example.co.uk/", True),
        (b"a=1; Domain=.EXAMPLE.co.uk", f"{HOST}/", True),
        (b"a=1; Domain=example.co.uk", "https://badexample.co.uk/", False),
        (b"a=1; Domain=co.uk", f"{HOST}/", False),
        (b"a=1; Domain=www.shop.example.co.uk", f"{HOST}/", False),
        (b"a=1; Domain=other.example", f"{HOST}/", False),
        (b"a=1; Path=/dir", f"{HOST}/dir/page", True),
        (b"a=1; Path=/dir", f"{HOST}/directory", False),
        (b"a=1; Path=dir", f"{HOST}/", True),
        (b"a=1; Secure", f"{HOST}/", True),
        (b"a=1; Secure", f"{HOST.replace('https', 'http')}/", False),
        (b"a=1; Max-Age=0", f"{HOST}/", False),
        (b"a=1; Max-Age=60", f"{HOST}/", True),
        (b"a=1; Max-Age=x", f"{HOST}/", True),
        (b"a=1; Max-Age=99999999999999999999", f"{HOST}/", True),
        (b"a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", f"{HOST}/", False),
        (b"a=1; Expires=nonsense", f"{HOST}/", True),
        (b"a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=60", f"{HOST}/", True),
        (b"a=1\x01", f"{HOST}/", False),
        (b"a", f"{HOST}/", False),
        (b"=1", f"{HOST}/", False),
        (b"a=" + b"x" * 5000, f"{HOST}/", False),
        (b"__Secure-a=1", f"{HOST}/", False),
        (b"__Secure-a=1; Secure", f"{HOST}/", True),
        (b"__Host-a=1; Secure; Path=/", f"{HOST}/", True),
        (b"__Host-a=1; Secure; Path=/; Domain=example.co.uk", f"{HOST}/", False),
    ],
)
def test_a_cookie_is_sent_where_browsers_send_it(
    cookies: CookieJar, header: bytes, url: str, *, sent: bool
) -> None:
    cookies.store(f"{HOST}/", [header])
    assert (cookies.header_for(url) is not None) is sent


def test_an_address_shares_no_cookies(cookies: CookieJar) -> None:
    cookies.store("http://10.0.0.1/", [b"a=1; Domain=0.0.1", b"b=2"])
    assert cookies.header_for("http://9.0.0.1/") is None
    assert cookies.header_for("http://10.0.0.1/") == b"b=2"


def test_a_secure_cookie_is_not_taken_from_an_open_connection(cookies: CookieJar) -> None:
    cookies.store("http://h.example/", [b"a=1; Secure"])
    assert cookies.header_for("https://h.example/") is None


def test_longer_paths_and_older_cookies_come_first(cookies: CookieJar) -> None:
    cookies.store(f"{HOST}/a/b", [b"one=1; Path=/", b"two=2", b"three=3; Path=/"])
    cookies.store(f"{HOST}/a/b", [b"one=again; Path=/"])
    assert cookies.header_for(f"{HOST}/a/c") == b"two=2; one=again; three=3"


def test_a_cookie_ends_when_its_time_has_come(cookies: CookieJar, net: Any) -> None:
    cookies.store(HOST, [b"a=1; Max-Age=60"])
    net.clock.at += 59
    assert cookies.header_for(f"{HOST}/") == b"a=1"
    net.clock.at += 1
    assert cookies.header_for(f"{HOST}/") is None


def test_a_header_that_was_sent_before_follows_every_change(cookies: CookieJar, net: Any) -> None:
    for header, wanted in [
        (b"a=1; Path=/; Domain=example.co.uk; Max-Age=100", b"a=1"),
        (b"b=2; Path=/; Secure", b"a=1; b=2"),
        (b"a=3; Path=/; Domain=example.co.uk; Max-Age=100", b"a=3; b=2"),
        (b"deep=4; Path=/cart", b"a=3; b=2"),
        (b"b=; Path=/; Max-Age=0", b"a=3"),
    ]:
        cookies.store(f"{HOST}/", [header])
        for path in ("/", "/x", "/"):
            assert cookies.header_for(f"{HOST}{path}") == wanted
    assert cookies.header_for(f"{HOST}/cart") == b"deep=4; a=3"
    assert cookies.header_for("http://shop.example.co.uk/") == b"a=3"
    assert cookies.header_for("https://other.example.co.uk/") == b"a=3"
    net.clock.at += 101
    assert cookies.header_for(f"{HOST}/") is None
    assert cookies.header_for("https://other.example.co.uk/") is None


def test_the_oldest_cookies_of_a_domain_give_way(cookies: CookieJar) -> None:
    cookies.store(f"{HOST}/", [b"c%d=1" % number for number in range(MAX_COOKIES_PER_DOMAIN + 5)])
    header = cookies.header_for(f"{HOST}/")
    assert header is not None
    assert header.startswith(b"c5=1; ")
    assert header.count(b"=") == MAX_COOKIES_PER_DOMAIN


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("Wed, 21 Oct 2015 07:28:00 GMT", 1445412480.0),
        ("Wednesday, 21-Oct-15 07:28:00 GMT", 1445412480.0),
        ("Wed Oct 21 07:28:00 2015", 1445412480.0),
        ("21 oct 2015 7:28:0", 1445412480.0),
        ("Wed, 21 Oct 1500 07:28:00 GMT", None),
        ("Wed, 32 Oct 2015 07:28:00 GMT", None),
        ("Wed, 21 Oct 2015", None),
        ("", None),
    ],
)
def test_cookie_dates_are_read_however_they_are_written(text: str, moment: float | None) -> None:
    assert parse_cookie_date(text) == moment
