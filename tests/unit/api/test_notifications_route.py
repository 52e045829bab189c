"""Notices over REST."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import msgspec
import pytest
from tests.unit.api.asking import ADMIN_TOKEN, SETTINGS, Caller, open_services, serving

from smartspider.installation.setting_parsers import parse_mail_server
from smartspider.operations.services import Services

HOOK = {"kind": "webhook", "address": "https://hooks.example.com/in?key=hidden", "events": ["run.failed"]}
MAIL = {"kind": "email", "address": "ann@example.com", "events": ["run.finished", "run.few_rows"]}


@pytest.fixture
async def services(tmp_path: Path) -> AsyncIterator[Services]:
    """One with a mail server in its settings, at which nobody listens."""
    mail = parse_mail_server("smtp://127.0.0.1:1", "spider@example.com")
    settings = msgspec.structs.replace(SETTINGS, mail=mail)
    async with open_services(tmp_path / "data", settings) as opened:
        yield opened


async def test_email_is_refused_where_no_mail_server_is_set(tmp_path: Path) -> None:
    async with (
        open_services(tmp_path / "other", SETTINGS) as other,
        serving(other) as base,
        aiohttp.ClientSession() as session,
    ):
        api = Caller(session, base, ADMIN_TOKEN)
        problem = (await api.post("/api/notifications", MAIL)).expect(422).json
        assert "SMARTSPIDER_SMTP_URL" in problem["detail"]
        assert [one["path"] for one in problem["errors"]] == ["kind"]
        assert (await api.get("/api/notifications")).expect(200).json["items"] == []
        target = await other.installation.notifications.add_target(
            "email", "ann@example.com", ("run.failed",), task_id=None, actor="ann"
        )
        tried = (await api.post(f"/api/notifications/{target.id}/test")).expect(200).json
        assert (tried["delivered"], "SMARTSPIDER_SMTP_URL" in tried["error"]) == (False, True)


async def test_the_secret_of_a_webhook_is_told_once(api: Caller, services: Services) -> None:
    answer = (await api.post("/api/notifications", HOOK)).expect(201)
    made = answer.json
    assert made["secret"] == services.installation.keys.webhook_secret(int(made["id"]))
    assert answer.headers["Location"] == f"/api/notifications/{made['id']}"
    shown = (await api.get(f"/api/notifications/{made['id']}")).expect(200).json
    assert "secret" not in shown
    assert shown["address"] == HOOK["address"]
    assert (await api.post("/api/notifications", MAIL)).expect(201).json["secret"] is None


async def test_others_see_only_where_a_webhook_is(api: Caller) -> None:
    for body in (HOOK, MAIL):
        (await api.post("/api/notifications", body)).expect(201)
    viewer = api.with_token(
        (await api.post("/api/tokens", {"name": "eye", "role": "viewer"})).expect(201).json["token"]
    )
    shown = (await viewer.get("/api/notifications")).expect(200).json["items"]
    assert [one["address"] for one in shown] == ["https://hooks.example.com/…", "…@example.com"]
    (await viewer.post("/api/notifications", HOOK)).expect(403)
    (await viewer("DELETE", "/api/notifications/1")).expect(403)
    (await viewer.post("/api/notifications/1/test")).expect(403)


async def test_an_operator_changes_only_what_is_theirs(api: Caller) -> None:
    (await api.post("/api/notifications", HOOK)).expect(201)
    (await api.post("/api/tasks", {"name": "shop", "entry_urls": ["http://a.example/"]})).expect(201)
    operator = api.with_token(
        (await api.post("/api/tokens", {"name": "op", "role": "operator"})).expect(201).json["token"]
    )
    (await operator("DELETE", "/api/notifications/1")).expect(403)
    (await operator("PATCH", "/api/notifications/1", json={"enabled": False})).expect(403)
    (await operator.post("/api/notifications", {**HOOK, "task_id": "shop"})).expect(403)
    own = (await operator.post("/api/notifications", HOOK)).expect(201).json
    (await operator("PATCH", f"/api/notifications/{own['id']}", json={"enabled": False})).expect(200)
    (await operator("PATCH", f"/api/notifications/{own['id']}", json={"task_id": "shop"})).expect(403)
    (await operator("DELETE", f"/api/notifications/{own['id']}")).expect(204)


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"address": "ftp://a.example/"}, "address"),
        ({"address": "http://"}, "address"),
        ({"kind": "pigeon"}, "kind"),
        ({"events": []}, "events"),
        ({"events": ["run.begun"]}, "events"),
        ({"kind": "email", "address": "ann"}, "address"),
        ({"kind": "email", "address": "ann@example.com,bob@example.com"}, "address"),
        ({"kind": "email", "address": "ann@example.com\nBcc: bob@example.com"}, "address"),
        ({"more": 1}, "more"),
    ],
)
async def test_what_is_wrong_is_named(api: Caller, change: dict[str, object], path: str) -> None:
    problem = (await api.post("/api/notifications", {**HOOK, **change})).expect(422).json
    assert any(one["path"].startswith(path) for one in problem["errors"]), problem


@pytest.mark.parametrize("host", ["169.254.169.254", "10.0.0.1", "[::1]", "localhost"])
async def test_private_addresses_are_refused_with_the_setting(api: Caller, host: str) -> None:
    problem = (await api.post("/api/notifications", {**HOOK, "address": f"http://{host}/"})).expect(422).json
    assert "SMARTSPIDER_ALLOW_PRIVATE" in problem["detail"]


async def test_each_channel_says_what_it_needs(api: Caller, tmp_path: Path) -> None:
    found = {
        one["kind"]: one for one in (await api.get("/api/notifications/channels")).expect(200).json["items"]
    }
    assert {kind: one["address"] for kind, one in found.items()} == {
        "webhook": "url",
        "email": "email",
        "slack": "url",
    }
    assert {kind for kind, one in found.items() if one["is_signed"]} == {"webhook"}
    assert all(one["usable"] for one in found.values())
    for kind, one in found.items():
        body = {"kind": kind, "address": one["example"], "events": ["run.failed"]}
        (await api.post("/api/notifications", body)).expect(201)
    async with (
        open_services(tmp_path / "other", SETTINGS) as other,
        serving(other) as base,
        aiohttp.ClientSession() as session,
    ):
        without = (await Caller(session, base, ADMIN_TOKEN).get("/api/notifications/channels")).json["items"]
        (mail,) = [one for one in without if not one["usable"]]
        assert (mail["kind"], "SMARTSPIDER_SMTP_URL" in mail["hint"]) == ("email", True)


async def test_a_change_leaves_what_is_not_given_and_the_audit_has_no_address(
    api: Caller, services: Services
) -> None:
    (await api.post("/api/tasks", {"name": "shop", "entry_urls": ["http://a.example/"]})).expect(201)
    made = (await api.post("/api/notifications", {**HOOK, "task_id": "shop"})).expect(201).json
    path = f"/api/notifications/{made['id']}"

    async def change(**body: object) -> dict[str, object]:
        changed: dict[str, object] = (await api("PATCH", path, json=body)).expect(200).json
        assert changed == (await api.get(path)).expect(200).json
        return changed

    before = {name: value for name, value in made.items() if name != "secret"}
    assert await change() == before
    assert await change(enabled=False) == {**before, "enabled": False}
    other = "https://hooks.example.com/other?key=hidden"
    assert await change(address=other, enabled=True) == {**before, "address": other}
    moved = await change(events=["run.paused", "run.paused"], task_id="")
    assert moved == {**before, "address": other, "events": ["run.paused"], "task_id": None, "task": None}
    assert (made["task"], await change(task_id="shop")) == (
        "shop",
        {**moved, "task_id": made["task_id"], "task": "shop"},
    )
    assert (await api.get("/api/notifications")).json["items"] == [(await api.get(path)).json]
    entries = [
        one for one in await services.installation.audit.entries() if one.action == "notification.changed"
    ]
    assert len(entries) == 4
    assert not [one for one in entries if b"hidden" in one.detail]
    assert b'"address_changed":true' in entries[-2].detail


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"address": "ftp://a.example/"}, 422),
        ({"address": "http://10.0.0.1/"}, 422),
        ({"events": []}, 422),
        ({"kind": "slack"}, 422),
        ({"task_id": "nothing"}, 404),
    ],
)
async def test_a_wrong_change_changes_nothing(api: Caller, change: dict[str, object], status: int) -> None:
    made = (await api.post("/api/notifications", HOOK)).expect(201).json
    (await api("PATCH", f"/api/notifications/{made['id']}", json=change)).expect(status)
    shown = (await api.get(f"/api/notifications/{made['id']}")).json
    assert {**shown, "secret": made["secret"]} == made


async def test_a_target_is_tried_out(api: Caller, services: Services) -> None:
    (await api.post("/api/notifications", {**HOOK, "address": "http://127.0.0.1:1/"})).expect(201)
    tried = (await api.post("/api/notifications/1/test")).expect(200).json
    assert tried["delivered"] is False
    assert "127.0.0.1" in tried["error"]
    (entry,) = [
        one for one in await services.installation.audit.entries() if one.action == "notification.tested"
    ]
    assert (entry.actor, entry.subject) == ("admin", "notification:1")


async def test_deliveries_are_listed(api: Caller, services: Services) -> None:
    (await api.post("/api/notifications", HOOK)).expect(201)
    notices = services.installation.notifications
    term = await services.installation.leadership.take("keeper", 100.0)
    assert term is not None
    for event in (1, 2, 3):
        await notices.put([(1, event, "run.failed", 7, b"{}")], epoch=term.epoch)
    await notices.mark_delivered(1, epoch=term.epoch)
    await notices.mark_failed(2, "no", retry_at=None, epoch=term.epoch)
    shown = (await api.get("/api/notifications/1/deliveries?limit=2")).expect(200).json
    rest = (await api.get(f"/api/notifications/1/deliveries?cursor={shown['next']}")).expect(200).json
    listed = shown["items"] + rest["items"]
    assert [(one["id"], one["state"], one["run_id"]) for one in listed] == [
        ("3", "waiting", "7"),
        ("2", "given_up", "7"),
        ("1", "delivered", "7"),
    ]
    (await api.get("/api/notifications/9/deliveries")).expect(404)
    (await api.get("/api/notifications/9")).expect(404)


async def test_no_answer_and_no_audit_entry_holds_the_address_of_a_webhook(
    api: Caller, services: Services
) -> None:
    (await api.post("/api/notifications", HOOK)).expect(201)
    (await api("DELETE", "/api/notifications/1")).expect(204)
    assert "hidden" not in str([one.detail for one in await services.installation.audit.entries()])
