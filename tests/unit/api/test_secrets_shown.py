"""The secrets of a task over REST: shown to its owner and to admins, and to nobody else."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

import pytest
from tests.unit.api.asking import Caller
from tests.unit.api.doors import make_token
from tests.unit.api.test_runs_route import begin

from smartspider.core.frontier.verdict import Close, Settlement
from smartspider.core.logs import LogLine
from smartspider.core.requests.refusal import LeftOutLink, Refusal
from smartspider.operations.services import Services
from smartspider.operations.table import OPERATIONS

HEADERS = (
    *("Authorization", "Cookie", "X-Api-Key", "Ocp-Apim-Subscription-Key", "x-functions-key"),
    *("X-Goog-Api-Key", "DD-API-KEY", "DD-APPLICATION-KEY", "X-Auth-Email", "X-Auth-Key", "X-RapidAPI-Key"),
    *("X-Shopify-Access-Token", "X-Algolia-API-Key", "X-Algolia-Application-Id", "X-Vault-Token"),
    *("Private-Token", "X-Figma-Token", "X-Parse-Session", "apikey", "appkey", "X-Amz-Security-Token"),
    *("x-ms-client-secret", "X-Plex-Account", "X-Custom-Thing", "X-CSRF", "X-Session", "X-User"),
    *("X-Hub-Signature-256", "X-Subscription", "Account"),
)
PARAMETERS = (
    *("api_key", "apikey", "key", "token", "access_token", "sig", "signature", "X-Amz-Signature", "sv"),
    *("se", "X-Amz-Credential", "code", "appid", "app_id", "client_id", "client_secret", "hdnts", "Policy"),
    *("sid", "Key-Pair-Id", "subscription-key", "wskey", "session", "PHPSESSID", "jsessionid", "auth"),
    *("hash", "hmac", "passcode", "user", "username", "email", "account", "k", "t", "st", "nonce"),
    *("ticket", "id_token"),
)
BODY = ("login", "secretAnswer", "user", "otp_code", "csrfmiddlewaretoken", "deviceKey")


def canary(kind: str, name: str) -> str:
    """A value that no answer holds by chance."""
    return f"canary-{kind}-{name.lower()}-word"


QUERY = urlencode({name: canary("query", name) for name in PARAMETERS})
ENTRY = f"http://ann:canary-password@127.0.0.1:1/list?page=2&q=tea&{QUERY}"
NEXT = f"http://127.0.0.1:1/list?page=3&{QUERY}"
TASK: dict[str, Any] = {
    "name": "shop",
    "entry_urls": [
        ENTRY,
        {"url": NEXT, "body": {name: canary("body", name) for name in BODY}},
        {"url": "http://127.0.0.1:1/form", "body": urlencode({name: canary("body", name) for name in BODY})},
        {"url": "http://127.0.0.1:1/text", "body": "<login>canary-text</login>"},
        {"url": "http://127.0.0.1:1/api", "graphql": {"query": "{a}", "variables": {"pw": "canary-graphql"}}},
        {"url": "http://127.0.0.1:1/?pw={pw}", "each": {"pw": ["canary-each"]}},
    ],
    "follow": [
        {
            "selector": "a",
            "request": {"headers": {"X-Other": "canary-follow"}, "body": {"pw": "canary-follow"}},
        }
    ],
    "selectors": {"items": ".item", "fields": {"title": "h2::text", "body": ".body", "headers": ".headers"}},
    "variables": {"deviceKey": "canary-variable"},
    "fetch": {"headers": {**{name: canary("header", name) for name in HEADERS}, "Accept": "text/html"}},
    "politeness": {"delay_s": 0},
}


@pytest.fixture
async def owner(api: Caller, services: Services) -> Caller:
    return api.with_token(await make_token(services, "owner", "operator"))


@pytest.fixture
async def run_id(owner: Caller, services: Services) -> str:
    """A run in which everything went wrong that says why, with a URL, a Location or an echoed header."""
    (await owner.post("/api/tasks", TASK)).expect(201)
    changed = {**TASK, "fetch": {"headers": {"X-Api-Key": "canary-new"}}, "entry_urls": [NEXT]}
    (await owner("PUT", "/api/tasks/shop", json=changed)).expect(200)
    started = await owner.post("/api/tasks/shop/start", {"version": 1})
    run = str(started.expect(202).json["run_id"])
    worker, installation = await begin(services, run), services.installation
    leases = (await installation.frontier.lease(worker, 10, [int(run)])).leases
    reason = f"bad_redirect: the Location /login?{QUERY}#access_token=canary-fragment is not a URL"
    link = LeftOutLink(b"n" * 16, NEXT, Refusal("robots", f"see {NEXT}"), is_next_page=True)
    rows = [{"title": "tea"}]
    verdicts = [
        Close("dead", reason, status=302),
        Close("missing", reason, status=404),
        Close("done", status=200, items=rows, left_out=[link]),
        *(Close("broken", reason, status=200) for _ in leases[3:]),
    ]
    settled = [Settlement(lease, verdict) for lease, verdict in zip(leases, verdicts, strict=True)]
    await installation.ledger.settle(settled)
    await installation.logs.add([LogLine(1.0, 20, "page.closed", reason, "w", run_id=int(run), url=NEXT)])
    await installation.frontier.hold_host("127.0.0.1", 60.0, f"Retry-After of {NEXT}")
    await installation.store.set_state(
        int(run), "failed", f"no entry URL could be fetched: {ENTRY}: {reason}"
    )
    return run


async def look_everywhere(caller: Caller, run_id: str) -> dict[str, str]:
    """Call every operation that reads, and the exports; the answers by path."""
    known = {"run_id": run_id, "task_id": "shop", "number": "1", "host": "127.0.0.1"}
    paths = []
    for operation in OPERATIONS:
        if operation.method == "GET" and operation.is_routed and operation.path_names <= known.keys():
            paths.append(operation.path.format(**known))
            if "run_id" in operation.parameters and "run_id" not in operation.path_names:
                paths.append(f"{paths[-1]}?run_id={run_id}")
    paths.remove("/api/explain")
    paths += [f"/api/explain?url={quote(url, safe='')}" for url in (ENTRY, NEXT, "http://127.0.0.1:1/form")]
    paths += [
        "/api/tasks/shop/versions/2",
        f"/api/runs/{run_id}/events",
        f"/api/runs/{run_id}/events?snapshot=1",
    ]
    heard = {path: (await caller.get(path)).body.decode() for path in paths}
    for form in ("jsonl", "csv"):
        path = f"/api/results/export?run_id={run_id}&format={form}&envelope=true"
        heard[path] = (await caller.post(path)).expect(200).body.decode()
    return heard


@pytest.mark.parametrize("role", ["viewer", "operator"])
async def test_others_see_no_header_parameter_or_body(
    api: Caller, services: Services, run_id: str, role: Any
) -> None:
    other = api.with_token(await make_token(services, "other", role))
    heard = await look_everywhere(other, run_id)
    assert len(heard) > 35
    leaks = [
        f"{path}: {text[max(text.find('canary') - 60, 0) :][:160]}"
        for path, text in heard.items()
        if "canary" in text
    ]
    assert not leaks, "\n".join(leaks)
    pages = heard[f"/api/runs/{run_id}/pages"]
    assert "page=2&q=tea&api_key=[redacted]" in pages
    spec = (await other.get("/api/tasks/shop/versions/1")).json["spec"]
    assert spec["fetch"]["headers"]["Accept"] == "text/html"
    assert spec["selectors"] == TASK["selectors"]


async def test_the_owner_and_admins_see_all_of_it(api: Caller, owner: Caller, run_id: str) -> None:
    for caller in (api, owner):
        shown = (await caller.get("/api/tasks/shop/versions/1")).expect(200).body.decode()
        assert all(canary("header", name) in shown for name in HEADERS)
        assert all(canary("body", name) in shown for name in BODY)
        for path in (f"/api/runs/{run_id}/pages", f"/api/explain?url={quote(NEXT, safe='')}"):
            shown = (await caller.get(path)).expect(200).body.decode()
            assert all(canary("query", name) in shown for name in PARAMETERS)
        assert "canary-password" not in (await caller.get(f"/api/runs/{run_id}/pages")).body.decode()


async def test_naming_an_own_task_beside_the_run_of_another_shows_nothing_more(
    api: Caller, services: Services, run_id: str
) -> None:
    other = api.with_token(await make_token(services, "other", "operator"))
    (await other.post("/api/tasks", {**TASK, "name": "own", "entry_urls": ["http://127.0.0.1:1/"]})).expect(
        201
    )
    for path in ("results", "logs"):
        told = (await other.get(f"/api/{path}?task_id=own&run_id={run_id}")).body.decode()
        assert "canary" not in told
