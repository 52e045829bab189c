"""Looks at pages over REST."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.unit.api.asking import ADMIN_TOKEN, Caller, open_services, serving

from smartspider.core.errors import PrivateAddress
from smartspider.core.requests.politeness import PolitenessPolicy
from smartspider.installation.settings import Settings
from smartspider.operations.services import Services
from smartspider.services.fair_limit import SlotLimits
from smartspider.services.preview.preview import PageError, build_preview, require_public
from smartspider.wiring.preview.previews import PreviewLimits, Previews
from smartspider_testing.sites.answers import page
from smartspider_testing.sites.costly_pages import NESTED_COUNT, paragraphs
from smartspider_testing.sites.scripted import ScriptableSite

LIST = (
    "<h1>Shop</h1><div class=p><h2>Tea</h2><i>3</i></div><div class=p><h2>Milk</h2></div>"
    "<a class=next href=/2>next</a>"
)
RULES = {"items": ".p", "fields": {"title": "h2::text", "price": "i::text"}}


@pytest.fixture
async def site() -> AsyncIterator[ScriptableSite]:
    async with ScriptableSite() as site:
        site.on("/", page(LIST)).on("/2", page("<div class=p><h2>Salt</h2></div>"))
        yield site


def task(site: ScriptableSite, **more: Any) -> dict[str, Any]:
    return {
        "name": "shop",
        "entry_urls": [site.url()],
        "selectors": RULES,
        "pagination": {"type": "next_link", "selector": "a.next"},
        **more,
    }


@pytest.mark.parametrize(
    ("given", "items"),
    [
        ({"selectors": RULES}, [{"title": "Tea", "price": "3"}, {"title": "Milk", "price": None}]),
        ({"rules": "//h2/text()"}, [{"value": ["Tea", "Milk"]}]),
        ({"task": {"pages": {"x": {"selectors": {"fields": {"t": "h1"}}}}}, "page": "x"}, [{"t": "Shop"}]),
    ],
)
async def test_rules_in_any_form_are_tried(
    api: Caller, site: ScriptableSite, given: dict[str, Any], items: list[dict[str, Any]]
) -> None:
    answer = (await api.post("/api/preview", {"url": site.url(), **given})).expect(200).json
    assert answer["status"] == 200
    assert answer["url"] == site.url()
    assert answer["engine"]
    assert answer["items"] == items


async def test_a_look_says_what_is_odd(api: Caller, site: ScriptableSite) -> None:
    rules = {"items": ".p", "fields": {"title": "h2", "none": ".none"}}
    answer = (await api.post("/api/preview", {"url": site.url(), "rules": rules})).expect(200).json
    (warning,) = answer["warnings"]
    assert "'none'" in warning
    missing = (await api.post("/api/preview", {"url": site.url("/none"), "rules": rules})).expect(200).json
    assert missing["status"] == 404
    assert len(missing["warnings"]) == 2


@pytest.mark.parametrize(
    "body",
    [
        {"url": "http://x.example/"},
        {"url": "http://x.example/", "rules": "a", "selectors": {"fields": {}}},
        {"url": "http://x.example/", "rules": " "},
        {"url": "http://x.example/", "rules": "p[["},
        {"url": "http://x.example/", "selectors": {"items": "p"}},
        {"url": "x.example", "rules": "a"},
        {"url": "ftp://x.example/", "rules": "a"},
        {"rules": "a"},
        {"url": "http://x.example/", "rules": "a", "extra": 1},
        {"url": "http://x.example/", "rules": "a", "page": "none"},
        {"url": "http://x.example/", "task": {"fetch": {"mode": "browser"}, "selectors": RULES}},
    ],
)
async def test_wrong_rules_are_refused_before_anything_is_fetched(api: Caller, body: dict[str, Any]) -> None:
    problem = (await api.post("/api/preview", body)).expect(422).json
    assert problem["detail"]
    assert problem["code"] in ("task_invalid", "request_invalid")


async def test_a_site_that_is_not_there_is_no_server_error(api: Caller) -> None:
    problem = (await api.post("/api/preview", {"url": "http://127.0.0.1:9/", "rules": "a"})).expect(422)
    assert problem.json["code"] == "connect"


async def test_robots_are_obeyed(api: Caller, site: ScriptableSite) -> None:
    site.on("/robots.txt", page("User-agent: *\nDisallow: /"))
    problem = (await api.post("/api/preview", {"url": site.url(), "rules": "h1"})).expect(422)
    assert problem.json["code"] == "robots"
    assert site.requests("/") == []


@pytest.fixture
async def strict(tmp_path: Path) -> AsyncIterator[Caller]:
    """An API whose installation opens no private address."""
    settings = Settings(admin_token=ADMIN_TOKEN)
    async with (
        open_services(tmp_path / "strict", settings) as services,
        serving(services) as base,
        aiohttp.ClientSession() as session,
    ):
        yield Caller(session, base, ADMIN_TOKEN)


async def test_private_addresses_are_refused_with_the_setting(strict: Caller, site: ScriptableSite) -> None:
    """However they are asked for, also when the task names them as its entries."""
    looks = [
        await strict.post("/api/preview", {"url": site.url(), "rules": "h1"}),
        await strict.post("/api/preview", {"url": site.url(host="localhost"), "rules": "h1"}),
        await strict.post("/api/preview", {"url": f"http://[::ffff:127.0.0.1]:{site.port}/", "rules": "h1"}),
        await strict.post("/api/tasks?dry_run=true&preview=true", task(site)),
    ]
    for look in looks:
        problem = look.expect(422).json
        assert problem["code"] == "private_address"
        assert "SMARTSPIDER_ALLOW_PRIVATE" in problem["detail"]
    assert site.log == []


def test_a_look_that_was_only_refused_says_so() -> None:
    """A name is judged where it is resolved; that is told as if it had been judged at once."""
    refused = PageError("http://intranet/", "private_address: intranet resolves to 10.0.0.1")
    with pytest.raises(PrivateAddress, match="intranet resolves"):
        require_public(build_preview([], [refused], []))
    require_public(build_preview([], [refused, PageError("http://x/", "timeout")], []))
    require_public(build_preview([], [], []))


async def test_a_dry_run_previews_rows_as_a_crawl_finds_them(
    api: Caller, site: ScriptableSite, services: Services
) -> None:
    answer = (await api.post("/api/tasks?dry_run=true&preview=true", task(site))).expect(200).json
    assert answer["valid"] is True
    assert [row["title"] for row in answer["preview"]] == ["Tea", "Milk", "Salt"]
    assert [seen["url"] for seen in answer["look"]["pages"]] == [site.url(), site.url("/2")]
    assert answer["look"]["pages"][0]["next_pages"] == [site.url("/2")]
    filled = {one["field"]: (one["filled"], one["items"]) for one in answer["look"]["coverage"]}
    assert filled == {"title": (3, 3), "price": (1, 3)}
    assert (await api.get("/api/tasks")).json["items"] == []
    assert await services.installation.store.find_runs() == []


async def test_a_dry_run_fetches_no_more_pages_than_asked(api: Caller, site: ScriptableSite) -> None:
    await api.post("/api/tasks?dry_run=true&preview=true&pages=1", task(site))
    assert site.requests("/2") == []
    (await api.post("/api/tasks?dry_run=true&preview=true&pages=21", task(site))).expect(422)
    (await api.post("/api/tasks?dry_run=true&preview=true", task(site, nonsense=1))).expect(200)
    assert len(site.requests("/")) == 1


async def test_pages_that_cannot_be_had_are_told(api: Caller, site: ScriptableSite) -> None:
    missing = task(site, entry_urls=[site.url("/none")], retry={"max_attempts": 1})
    answer = (await api.post("/api/tasks?dry_run=true&preview=true", missing)).expect(200).json
    assert answer["preview"] == []
    (failure,) = answer["look"]["failures"]
    assert failure["url"] == site.url("/none")
    assert "404" in failure["reason"]


async def test_a_rule_of_politeness_turned_off_for_a_look_is_in_the_audit(
    api: Caller, site: ScriptableSite
) -> None:
    rude = task(site, politeness={"robots": "ignore"})
    (await api.post("/api/tasks?dry_run=true&preview=true&pages=1", rude)).expect(200)
    entries = (await api.get("/api/audit?action=politeness.overridden")).json["items"]
    assert [(one["actor"], one["subject"]) for one in entries] == [("admin", "preview")]


async def test_looks_share_the_gate_of_a_host(api: Caller, site: ScriptableSite) -> None:
    """All that touch a host keep its distance: looks among each other, and those of tasks."""
    looks = await asyncio.gather(
        api.post("/api/preview", {"url": site.url(), "rules": "h1"}),
        api.post("/api/tasks?dry_run=true&preview=true&pages=1", task(site)),
    )
    assert [look.status for look in looks] == [200, 200]
    gaps = [later.arrived_at - earlier.arrived_at for earlier, later in pairwise(site.log)]
    assert len(gaps) >= 2
    assert min(gaps) > PolitenessPolicy().delay_s * 0.8


async def test_an_expression_that_never_ends_is_ended(
    services: Services, api: Caller, site: ScriptableSite
) -> None:
    """And the API answers others meanwhile."""
    services.previews = Previews(services.installation, PreviewLimits(time_limit_s=2.0, grace_s=0.5))
    site.on("/long", page(paragraphs()))
    hostile = {"v": {"type": "xpath", "expr": NESTED_COUNT}}
    look = asyncio.create_task(api.post("/api/preview", {"url": site.url("/long"), "rules": hostile}))
    answered = 0
    while not look.done():
        (await api.get("/healthz")).expect(200)
        answered += 1
    assert answered >= 5
    assert (await look).expect(422).json["code"] == "timeout"


async def test_too_many_looks_are_sent_away(services: Services, api: Caller) -> None:
    services.previews = Previews(services.installation, PreviewLimits(slots=SlotLimits(total=0)))
    answer = (await api.post("/api/preview", {"url": "http://127.0.0.1:9/", "rules": "a"})).expect(429)
    assert int(answer.headers["Retry-After"]) > 0


async def test_a_look_learns_no_secret(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The process that reads foreign pages has none of the installation's."""
    monkeypatch.setenv("SMARTSPIDER_MASTER_KEY", "a canary of a key")
    seen: dict[str, Any] = {}

    async def spy(*_command: str, **options: Any) -> Any:
        seen.update(options)
        raise FileNotFoundError

    # the environment of a process is visible only here
    monkeypatch.setattr(asyncio, "create_subprocess_exec", spy)
    settings = Settings(admin_token="a canary of a key", master_key="a canary of a key")
    async with open_services(tmp_path / "data", settings) as services:
        with pytest.raises(FileNotFoundError):
            await services.previews.preview_page("http://x.example/", {}, "ann")
    assert "a canary of a key" not in str(seen["env"])
    assert os.environ["SMARTSPIDER_MASTER_KEY"] == "a canary of a key"
