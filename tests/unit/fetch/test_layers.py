"""Layers of a task change what is sent and what is read, and one that fails ends its page by name."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from smartspider.core.errors import LayerFailed, SecretsWithheld, TaskInvalid, TimedOut
from smartspider.core.frontier.lease import FencingToken, Lease, SendWindow
from smartspider.core.requests.origins import UNNAMED
from smartspider.core.runs.plan import FetchPlan
from smartspider.core.workers import activity
from smartspider.engine.runtime import SystemClock
from smartspider.fetch.layers import LayerContext, compile_layers, layers_around
from smartspider.plugins.kinds import LAYER
from smartspider.plugins.registry import known
from smartspider_testing.plugin_packages import install_package

SOURCE = """
import msgspec
from smartspider.core.pages.page import Page
from smartspider.core.workers import activity
from smartspider.interfaces.layer import LayerRefused, LayerRequest, Token

seen = []


class Mark:
    def __init__(self, name: str):
        self.name = name

    def before_request(self, request):
        seen.append(activity.current())
        sign = "&" if "?" in request.url else "?"
        return msgspec.structs.replace(
            request,
            url=f"{request.url}{sign}{self.name}=1",
            headers=(*request.headers, ("X-Mark", self.name)),
            body=(request.body or b"") + self.name.encode(),
        )

    def after_response(self, page, request):
        assert self.name in request.url
        body = page.body + self.name.encode()
        return msgspec.structs.replace(page, url="http://other.example/", status=500, body=body)


class Bad:
    def __init__(self, how: str):
        self.how = how

    def before_request(self, request):
        match self.how:
            case "host": return msgspec.structs.replace(request, url="http://10.0.0.1/")
            case "path": return msgspec.structs.replace(request, url=request.url.replace("/?", "/more?"))
            case "method": return msgspec.structs.replace(request, method="DELETE")
            case "nothing": return None
            case "headers": return msgspec.structs.replace(request, headers={"a": 1})
            case "prints": print("to nobody")
        return request

    def after_response(self, page, request):
        match self.how:
            case "raises": raise ValueError("no key")
            case "exits": raise SystemExit(3)
            case "refuses": raise LayerRefused("the signature is wrong")
            case "loops":
                while True: pass
            case "text": return page.text
            case "body": return msgspec.structs.replace(page, body="text")
            case "charset": return msgspec.structs.replace(page, charset="utf-9")
            case "huge": return msgspec.structs.replace(page, body=bytes(50_000_000))
        return page


class Neither:
    pass


class Tokened:
    def __init__(self, url: str, how: str = ""):
        self.url, self.how = url, how

    def token_request(self):
        match self.how:
            case "no request": return None
            case "no url": return LayerRequest("GET", "h/", (), None, "@token")
            case "fails": raise ValueError("no clock")
        return LayerRequest("GET", self.url, (), None, "@token")

    def read_token(self, page):
        return page.text if self.how == "no token" else Token(page.text)

    def with_token(self, request, token):
        if self.how == "no result": return token
        return msgspec.structs.replace(request, url=f"{request.url}?t={token}")


class Picky:
    def __init__(self, key: str = ""):
        raise ValueError(f"needs a key {key}".strip())

    def before_request(self, request): ...
"""
POINTS = """[smartspider.layers]
mark = spider_layers:Mark
bad = spider_layers:Bad
neither = spider_layers:Neither
picky = spider_layers:Picky
tokened = spider_layers:Tokened
"""
MARKS = ({"use": "mark", "name": "a"}, {"use": "mark", "name": "b", "pages": ["default", "default"]})


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    install_package(tmp_path, "spider-layers", SOURCE, POINTS)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("spider_layers", None)


async def test_layers_act_in_the_order_of_the_task_on_what_is_sent_and_read(net: Any) -> None:
    async with net.serve(net.http(b"page ")) as server, net.stack(layers=MARKS) as fetcher:
        request = net.asks(f"{server.url}/p?q=1", method="POST", body=b"x")
        page = await fetcher.fetch(net.exchange(request))
    (seen,) = server.seen
    assert (seen.target, seen.headers["x-mark"], seen.body) == ("/p?q=1&a=1&b=1", "b", b"xab")
    assert (page.body, page.url, page.status) == (b"page ab", request.url, 200)


async def test_a_layer_is_for_its_page_types_and_never_for_files_and_sitemaps(net: Any) -> None:
    async with net.serve(net.http(b"page ")) as server, net.stack(layers=MARKS) as fetcher:
        for page in ("other", "@sitemap"):
            await fetcher.fetch(net.exchange(msgspec.structs.replace(net.asks(server.url), page=page)))
    assert [seen.target for seen in server.seen] == ["/?a=1", "/"]


async def test_every_hop_passes_the_layers_anew_and_robots_txt_passes_none(net: Any) -> None:
    pages = {
        "/robots.txt": net.http(b"", "404 Not Found"),
        "/old?a=1&b=1": net.http(b"", "302 Found", Location="/new"),
        "/new?a=1&b=1": net.http(b"new "),
    }
    async with net.site(pages) as site, net.stack(layers=MARKS, obeys=True) as fetcher:
        page = await fetcher.fetch(net.exchange(net.asks(f"{site.url}/old")))
    assert [seen.target for seen in site.seen] == ["/robots.txt", "/old?a=1&b=1", "/new?a=1&b=1"]
    assert (page.url, page.hops, page.body) == (f"{site.url}/new", (f"{site.url}/old",), b"new ab")


@pytest.mark.parametrize("status", ["404 Not Found", "503 Busy", "204 No Content"])
async def test_answers_without_success_or_body_are_judged_as_they_are(net: Any, status: str) -> None:
    answer = b"HTTP/1.1 204 No Content\r\n\r\n" if status.startswith("204") else net.http(b"x", status)
    layer = {"use": "bad", "how": "raises"}
    async with net.serve(answer) as server, net.stack(layers=[layer]) as fetcher:
        page = await fetcher.fetch(net.exchange(net.asks(server.url)))
    assert page.status == int(status[:3])


@pytest.mark.parametrize(
    ("how", "when", "what"),
    [
        ("host", "before the request", "changed more than the query of the URL, headers and the body"),
        ("path", "before the request", "changed more than the query"),
        ("method", "before the request", "changed more than the query"),
        ("nothing", "before the request", "returned NoneType instead of a LayerRequest"),
        ("headers", "before the request", "returned an invalid LayerRequest: Expected `array`, got `object`"),
        ("raises", "after the answer", "raised ValueError: no key"),
        ("exits", "after the answer", "raised SystemExit: 3"),
        ("refuses", "after the answer", "the signature is wrong"),
        ("loops", "after the answer", "took more than 0.2 s"),
        ("text", "after the answer", "returned str instead of a Page"),
        ("body", "after the answer", "returned an invalid Page: Expected `bytes`, got `str`"),
        ("charset", "after the answer", "returned an invalid Page: unknown encoding: utf-9"),
        ("huge", "after the answer", "the body has 50000000 bytes, more than max_bytes allows (1000)"),
    ],
)
async def test_a_layer_that_fails_ends_its_page_by_name(net: Any, how: str, when: str, what: str) -> None:
    layers = [{"use": "mark", "name": "a"}, {"use": "bad", "how": how}]
    plan = FetchPlan(max_bytes=1000)
    async with net.serve(net.http(b"ok")) as server, net.stack(plan, layers=layers, layer_s=0.2) as fetcher:
        with pytest.raises(LayerFailed) as caught:
            await fetcher.fetch(net.exchange(net.asks(server.url)))
    assert caught.value.message.startswith(f"layers[1] bad, {when}: {what}")
    assert len(server.seen) == (when == "after the answer")


async def test_a_layer_with_secrets_is_for_the_origins_that_these_may_be_sent_to(net: Any) -> None:
    layers = [{"use": "mark", "name": "${KEY}"}, {"use": "mark", "name": "b"}]
    async with net.serve(net.http(b"page ", "401 Unauthorized")) as server:
        for trusted, target in (((server.url,), "/?k3y=1&b=1"), (("http://h.example/",), "/?b=1")):
            async with net.stack(layers=layers, secrets={"KEY": "k3y"}, trusted=trusted) as fetcher:
                page = await fetcher.fetch(net.exchange(net.asks(server.url)))
                assert (server.seen[-1].target, page.withheld) == (target, "k3y" not in target)
        async with net.stack(layers=layers, secrets={"KEY": "k3y"}) as fetcher:
            with pytest.raises(SecretsWithheld, match="the body that layers with secrets change is not sent"):
                await fetcher.fetch(net.exchange(net.asks(server.url, method="POST", body=b"{}")))
    assert len(server.seen) == 2


def test_a_layer_that_rejects_its_options_does_not_tell_a_secret() -> None:
    with pytest.raises(TaskInvalid) as caught:
        compile_layers([{"use": "picky", "key": "${KEY}"}], ["default"], {"KEY": "s3cret-value"})
    assert caught.value.problems[0].message == "the layer 'picky' rejects its options: needs a key [redacted]"


@pytest.mark.parametrize(
    ("how", "what"),
    [
        ("no request", "for its token: returned an invalid LayerRequest: NoneType"),
        ("no url", "for its token: returned an invalid LayerRequest: LayerRequest"),
        ("fails", "for its token: raised ValueError: no clock"),
        ("no token", "for its token: returned str instead of a Token"),
        ("no result", "before the request: returned str instead of a LayerRequest"),
    ],
)
async def test_an_installed_layer_that_fails_at_its_token_is_named(net: Any, how: str, what: str) -> None:
    async with net.serve(net.http(b"t1")) as server:
        layer = {"use": "tokened", "url": f"{server.url}/token", "how": how}
        async with net.stack(layers=[layer], trusted=[server.url]) as fetcher:
            with pytest.raises(LayerFailed) as caught:
                await fetcher.fetch(net.exchange(net.asks(server.url)))
    assert caught.value.message == f"layers[0] tokened, {what}"


async def test_an_installed_layer_may_put_a_token_into_the_query(net: Any) -> None:
    async with net.serve(net.http(b"t1")) as server:
        layer = {"use": "tokened", "url": f"{server.url}/token"}
        async with net.stack(layers=[layer], trusted=[server.url]) as fetcher:
            await fetcher.fetch(net.exchange(net.asks(server.url)))
    assert [seen.target for seen in server.seen] == ["/token", "/?t=t1"]


async def test_what_a_layer_prints_is_no_result(net: Any, capsys: pytest.CaptureFixture[str]) -> None:
    layer = {"use": "bad", "how": "prints"}
    async with net.serve(net.http(b"ok")) as server, net.stack(layers=[layer]) as fetcher:
        await fetcher.fetch(net.exchange(net.asks(server.url)))
    assert capsys.readouterr().out == ""


async def test_an_error_does_not_tell_what_a_layer_added_to_the_url(net: Any) -> None:
    async def silent(_seen: Any, _writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    async with net.serve(silent) as server, net.stack(FetchPlan(timeout_s=0.1), layers=MARKS) as fetcher:
        with pytest.raises(TimedOut) as caught:
            await fetcher.fetch(net.exchange(net.asks(f"{server.url}/p")))
    assert caught.value.message.startswith(f"{server.url}/p: ")


async def test_a_supervisor_sees_which_request_a_layer_works_on(net: Any) -> None:
    from importlib import import_module

    async with net.serve(net.http(b"ok")) as server, net.stack(layers=MARKS) as fetcher:
        request = net.asks(server.url)
        lease = Lease(FencingToken(1, 1), 7, 1, request, SendWindow(0.0, 0.0, 0.0), 60.0)
        await fetcher.fetch(msgspec.structs.replace(net.exchange(request), lease=lease))
    records = import_module("spider_layers").seen
    assert [record.stage_name for record in records] == ["layers[0]", "layers[1]"]
    assert all(record.url_id == 7 and record.is_reading for record in records)
    assert not activity.current().is_reading


def test_a_task_without_layers_has_none_in_its_stack() -> None:
    context = LayerContext(SystemClock(), 20.0, UNNAMED)
    assert layers_around(compile_layers((), ("default",)), FetchPlan(), context) is None


def test_everything_wrong_with_layers_is_said_at_once_with_its_path() -> None:
    wrong: list[dict[str, Any]] = [
        {"use": "jsn"},
        {"use": "json"},
        {"use": "json", "expr": "a[", "pages": ["default"]},
        {"use": "json", "expr": 3},
        {"use": "json", "expr": "a", "exprr": "b"},
        {"use": "neither"},
        {"use": "picky"},
    ]
    with pytest.raises(TaskInvalid) as caught:
        compile_layers(wrong, ["default"])
    found = [(problem.path, problem.message, problem.hint) for problem in caught.value.problems]
    assert found == [
        (
            "layers[0].use",
            "there is no layer 'jsn'",
            "did you mean 'json'? known: " + ", ".join(known(LAYER)),
        ),
        ("layers[1].expr", "the key 'expr' is missing", "options: expr, media_type"),
        ("layers[2].expr", '"a[" is not JMESPath: Invalid jmespath expression: Incomplete expression:', ""),
        ("layers[3].expr", "3 is invalid: expected `str`, got `int`", ""),
        ("layers[4].exprr", "unknown key 'exprr'", "did you mean 'expr'?"),
        (
            "layers[5]",
            "the plug-in 'neither' did not return a layer",
            "a layer has before_request or after_response",
        ),
        ("layers[6]", "the layer 'picky' rejects its options: needs a key", ""),
    ]


@pytest.mark.parametrize(
    ("answer", "options", "body", "media_type"),
    [
        (b'{"data": {"html": "<p>\\u00e9</p>"}}', {"expr": "data.html"}, "<p>é</p>", "text/html"),
        (b'{"rows": ["<p>1", "<p>2"]}', {"expr": "rows"}, "<p>1\n<p>2", "text/html"),
        (b'call({"f": "<rss/>"})', {"expr": "f", "media_type": "text/xml"}, "<rss/>", "text/xml"),
        (b'{"data": [{"a": 1}]}', {"expr": "data"}, '[{"a":1}]', "application/json"),
    ],
)
async def test_json_takes_the_part_of_an_answer_that_is_the_page(
    net: Any, answer: bytes, options: dict[str, Any], body: str, media_type: str
) -> None:
    response = net.http(answer, Content_Type="application/json", X_Own="1")
    async with net.serve(response) as server, net.stack(layers=[{"use": "json", **options}]) as fetcher:
        page = await fetcher.fetch(net.exchange(net.asks(server.url)))
    assert (page.text, page.media_type, page.headers["x-own"]) == (body, media_type, "1")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"<p>sorry</p>", "the answer is not JSON"),
        (b'{"html": null}', "the answer has nothing at 'html'"),
        (b'{"html": []}', "the answer has nothing at 'html'"),
    ],
)
async def test_json_refuses_an_answer_without_the_part(net: Any, answer: bytes, reason: str) -> None:
    async with (
        net.serve(net.http(answer)) as server,
        net.stack(layers=[{"use": "json", "expr": "html"}]) as fetcher,
    ):
        with pytest.raises(LayerFailed, match=rf"layers\[0\] json, after the answer: {reason}"):
            await fetcher.fetch(net.exchange(net.asks(server.url)))
