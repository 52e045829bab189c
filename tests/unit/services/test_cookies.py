"""Cookies of logins: who may do what with them, and that only a lease shows a value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from smartspider.core.access import Principal
from smartspider.core.cookies.sets import SignedOutRule
from smartspider.core.errors import Conflict, Forbidden, NotFound, RequestInvalid, SettingInvalid
from smartspider.core.pages.page import Page
from smartspider.services.identities import cookies
from smartspider.services.metrics import gather_metrics
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task
from smartspider.wiring.opening import open_folder

CANARY = "canary-90b2"
ANN, BOB = Principal("ann", "operator"), Principal("bob", "operator")
UPLOADER, WORKER = Principal("token:up", "uploader"), Principal("token:w", "worker")
TASK = {"name": "t", "entry_urls": ["http://www.site.example/"], "selectors": {"fields": {"title": "h1"}}}


def holding(folder: Path, text: str) -> list[Path]:
    """Return the files that hold a text."""
    return [one for one in folder.rglob("*") if one.is_file() and text.encode() in one.read_bytes()]


async def test_an_uploader_uploads_and_a_worker_borrows_and_neither_does_more(tmp_path: Path) -> None:
    with open_folder(tmp_path) as folder:
        made = await cookies.upload(
            folder, UPLOADER, domain=".Site.Example", cookies=f"sid={CANARY}", limit=1
        )
        assert (made.domain, made.owner, made.shared, made.state) == (
            "site.example",
            "token:up",
            False,
            "active",
        )
        lease = await cookies.lease_cookies(folder, WORKER, "www.site.example")
        assert [(one.name, one.value, one.domain) for one in lease.cookies] == [
            ("sid", CANARY, ".site.example")
        ]
        with pytest.raises(Conflict, match="free"):
            await cookies.lease_cookies(folder, WORKER, "site.example")
        assert (await cookies.renew_lease(folder, WORKER, lease.lease_id)).ttl_s == lease.ttl_s
        await cookies.release_lease(folder, WORKER, lease.lease_id, "invalid")
        for over in ("x", "x.y", lease.lease_id):
            with pytest.raises(Conflict, match="over"):
                await cookies.renew_lease(folder, WORKER, over)
        found = await cookies.get_cookies(folder, made.id)
        assert (found.state, found.usage_count, found.lent) == ("invalid", 1, 0)
        for refused in (
            cookies.lease_cookies(folder, UPLOADER, "site.example"),
            cookies.lease_cookies(folder, ANN, "site.example"),
            cookies.upload(folder, WORKER, domain="site.example", cookies="a=1"),
            cookies.delete_cookies(folder, UPLOADER, made.id),
            cookies.delete_cookies(folder, ANN, made.id),
            cookies.lock_cookies(folder, BOB, made.id, is_locked=True),
        ):
            with pytest.raises(Forbidden):
                await refused


async def test_a_value_stands_in_no_answer_and_no_file(tmp_path: Path) -> None:
    with open_folder(tmp_path) as folder:
        made = await cookies.upload(folder, ANN, domain="site.example", cookies=f"sid={CANARY}", name="main")
        shown = await cookies.get_cookies(folder, "main")
        listed = await cookies.list_cookies(folder, domain="site.example", cursor=None, limit=10)
        assert CANARY.encode() not in msgspec.json.encode([made, shown, listed])
        assert [one.name for one in shown.names] == ["sid"]
        families = {family.name: family.values for family in (await gather_metrics(folder))[0]}
        assert families["smartspider_cookie_sets"][("state", "active"),] == 1
        await cookies.delete_cookies(folder, ANN, "main")
        with pytest.raises(NotFound, match="main"):
            await cookies.get_cookies(folder, "main")
    assert holding(tmp_path, CANARY) == []


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ({"domain": "co.uk"}, "domain"),
        ({"domain": "com"}, "domain"),
        ({"domain": "site.example:80"}, "domain"),
        ({"domain": "http://site.example"}, "domain"),
        ({"domain": " "}, "domain"),
        ({"cookies": ""}, "cookies"),
        ({"cookies": [{"name": "a", "value": "1", "domain": "other.example"}]}, "cookies"),
        ({"name": "7"}, "name"),
        ({"name": "lease"}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"name": "a/b"}, "name"),
        ({"name": ".."}, "name"),
        ({"limit": 0}, "limit"),
        ({"check_url": "http://other.example/"}, "check_url"),
        ({"signed_out": {"selector": "form["}}, "signed_out.selector"),
        ({"signed_out": {"json": "a["}}, "signed_out.json"),
        ({"signed_out": {"status": [200]}}, "signed_out.status"),
        ({"signed_out": {"status": "x"}}, "signed_out"),
        ({"signed_out": {"css": "x"}}, "signed_out.css"),
        ({"signed_out": {"url": "\ud800"}}, "signed_out"),
    ],
)
async def test_a_bad_upload_is_refused_by_its_key_and_changes_nothing(
    tmp_path: Path, options: dict[str, Any], path: str
) -> None:
    with open_folder(tmp_path) as folder:
        with pytest.raises(RequestInvalid) as refused:
            await cookies.upload(folder, ANN, **{"domain": "site.example", "cookies": "a=canary", **options})
        assert refused.value.problems[0].path == path
        assert refused.value.hint
        assert "canary" not in refused.value.message
        assert (await cookies.list_cookies(folder, domain=None, cursor=None, limit=10)).items == []


async def test_a_name_belongs_to_its_owner_and_its_domain(tmp_path: Path) -> None:
    with open_folder(tmp_path) as folder:
        await cookies.upload(folder, ANN, domain="site.example", cookies="a=1", name="main")
        with pytest.raises(Forbidden):
            await cookies.upload(folder, BOB, domain="site.example", cookies="a=2", name="main")
        with pytest.raises(Conflict):
            await cookies.upload(folder, ANN, domain="other.example", cookies="a=2", name="main")


async def test_a_task_uses_what_its_owner_may_use(tmp_path: Path) -> None:
    with open_folder(tmp_path) as folder:
        made = await cookies.upload(folder, ANN, domain="site.example", cookies="a=1", name="main")
        by_domain = compile_task(parse_task({**TASK, "use_cookie": True}))
        by_name = compile_task(parse_task({**TASK, "cookie_id": "main"}))
        elsewhere = compile_task(parse_task({**TASK, "cookie_id": 1, "entry_urls": ["http://b.example/"]}))
        for plan in (by_domain, by_name):
            await cookies.check_cookies(folder, plan, "ann")
        for plan, owner, error in (
            (by_domain, "bob", SettingInvalid),
            (by_domain, "", SettingInvalid),
            (by_name, "bob", Forbidden),
            (elsewhere, "ann", SettingInvalid),
        ):
            with pytest.raises(error):
                await cookies.check_cookies(folder, plan, owner)
        await cookies.upload(folder, ANN, domain="site.example", cookies="a=1", name="main", is_shared=True)
        await cookies.check_cookies(folder, by_name, "bob")
        await cookies.lock_cookies(folder, ANN, made.id, is_locked=True)
        for plan in (by_domain, by_name):
            with pytest.raises(SettingInvalid, match=r"no cookies for site\.example are active"):
                await cookies.check_cookies(folder, plan, "ann")


@pytest.mark.parametrize(
    ("rule", "page", "is_found"),
    [
        ({}, {"status": 401}, True),
        ({}, {"status": 403}, False),
        ({"status": (403,)}, {"status": 403}, True),
        ({"url": "/login"}, {"url": "http://a.example/login?next=1"}, True),
        ({"selector": "form#login"}, {"body": b"<form id=login>"}, True),
        ({"selector": "form#login"}, {"body": b"<h1>in</h1>"}, False),
        ({"json": "error == 'login'"}, {"body": b'{"error": "login"}'}, True),
        ({"json": "error == 'login'"}, {"body": b'{"error": null}'}, False),
        ({"json": "error"}, {"body": b"no json"}, False),
        ({"selector": "form#login"}, {"body": b"<div>" * 100_000}, False),
    ],
)
def test_the_rule_of_a_site_tells_a_page_without_a_login(
    rule: dict[str, Any], page: dict[str, Any], is_found: bool
) -> None:
    values = {"url": "http://a.example/", "status": 200, "body": b"", **page}
    found = Page(values["url"], values["status"], {}, values["body"], "utf-8", 0.0)
    assert bool(cookies.find_signed_out(found, SignedOutRule(**rule))) == is_found
