"""A secret that goes in comes out nowhere: not in a log, an answer, a metric, an export or a file of logs."""

from __future__ import annotations

import contextlib
import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import pytest
from tests.acceptance.server import Server, served
from tests.acceptance.workshop import Site, Workshop, html, until, written_site
from tests.unit.api.test_secrets_shown import HEADERS, PARAMETERS

from smartspider_testing.waiting import WAIT_S

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(120)]

ADMIN = "canary-admin-7Jw3xq"
MASTER = "canary-master-Qk29zzLr"
PASSWORD = "canary-password-Zp41mm"
SMTP = "canary-smtp-Rr80vv"
HOOK = "canary-hook-Yt55cc"
HOOK_QUERY = "canary-hookquery-Gd31ww"
HEADER = "canary-header-Bn77kk"
COOKIE = "canary-cookie-Hx12ll"
ENTRY_HEADER = "canary-entryheader-Wq09pp"
USERINFO = "canary-userinfo-Vc63ss"
QUERY = "canary-query-Mf48dd"
LATER = "canary-later-Xe90rr"
NAMED = {name: f"canary-named-{name.lower()}-word" for name in PARAMETERS}
KEYED = {name: f"canary-keyed-{name.lower()}-word" for name in HEADERS}
"""Parameters and headers of real services, whose names do not say that they are secret."""


def task(site: Site, name: str, **more: Any) -> dict[str, Any]:
    """A task full of secrets: of three pages one is there, one breaks off and one is refused."""
    return {
        "name": name,
        "entry_urls": [
            site.url("/"),
            {"url": site.url("/broken"), "headers": {"X-Api-Key": ENTRY_HEADER}},
            f"http://user:{USERINFO}@127.0.0.1:{site.port}/refused?token={QUERY}",
            {"url": site.url(f"/named?{urlencode(NAMED)}"), "headers": KEYED},
        ],
        "selectors": {"fields": {"title": "h1::text"}},
        "fetch": {"headers": {"Authorization": f"Bearer {HEADER}", "Cookie": f"sid={COOKIE}; lang=en"}},
        "politeness": {"robots": "ignore", "delay_s": 0, "adaptive": False},
        "retry": {"max_attempts": 2, "backoff_s": 0},
        **more,
    }


@pytest.fixture
def site(workshop: Workshop) -> Iterator[Site]:
    echo = html("Hello", ["/nowhere"])
    with written_site(
        workshop.folder.parent,
        routes={
            "/": [echo],
            "/broken": [{"status": 500, "body": ENTRY_HEADER}],
            f"/refused?token={QUERY}": [{"status": 403, "body": "no"}],
            f"/named?{urlencode(NAMED)}": [
                {"status": 302, "headers": {"Location": f"ftp://h/{'/'.join(KEYED.values())}"}}
            ],
        },
    ) as made:
        yield made


class Ears:
    """Everything the server said, and where."""

    def __init__(self, server: Server, **headers: str) -> None:
        self._server = server
        self._headers = headers
        self.heard: dict[str, str] = {}

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> Any:
        answer = self._server.ask(method, path, body, **self._headers, **headers)
        number = len(self.heard)
        path = path.partition("?")[0] if "canary" in path else path
        self.heard[f"{number}: {method} {path} -> {answer.status}"] = f"{answer.headers}{answer.body!r}"
        with contextlib.suppress(ValueError):
            return answer.json

    def without_token(self, path: str) -> None:
        connection = http.client.HTTPConnection(urlsplit(self._server.url).netloc, timeout=WAIT_S)
        connection.request("GET", path)
        self.heard[f"open {path}"] = repr(connection.getresponse().read())
        connection.close()


def leaks(heard: dict[str, str], secrets: list[str]) -> list[str]:
    """Which secret is heard where, as it is or as it is written in a URL."""
    return [
        f"{secret} in {where}: …{text[max(text.find(secret) - 150, 0) :][:300]}…"
        for where, text in heard.items()
        for secret in secrets
        if secret in text or quote(secret, safe="") in text
    ]


def files_of_logs(folder: Path) -> dict[str, str]:
    """The files with logs, and what else a person may hand on."""
    return {
        str(path): path.read_text(encoding="utf-8", errors="replace")
        for path in (folder / "data" / "logs").rglob("*")
        if path.is_file()
    }


def look_everywhere(ears: Ears, run: str, site: Site) -> None:
    """Ask for everything that may be told of a run."""
    for part in ("", "/metrics", "/failures", "/pages", "/receipt", "/explain-stall", "/logs"):
        ears.ask("GET", f"/api/runs/{run}{part}")
    for path in ("/", "/broken", f"/refused?token={QUERY}", f"/named?{urlencode(NAMED)}"):
        ears.ask("GET", f"/api/explain?run_id={run}&url={quote(site.url(path), safe='')}")
    for part in ("", "/count", "/coverage", "/rejects", "/cleaning"):
        ears.ask("GET", f"/api/results{part}?run_id={run}")
    for form in ("csv", "json", "jsonl", "xml"):
        ears.ask("POST", f"/api/results/export?run_id={run}&format={form}")
    for path in ("/api/audit?limit=1000", "/api/logs?limit=1000", "/api/nodes", "/api/tokens", "/api/users"):
        ears.ask("GET", path)
    for path in ("/metrics", "/api/sd/prometheus", "/api/runs", "/api/tasks", "/api/schedules"):
        ears.ask("GET", path)
    for path in ("/healthz", "/readyz", "/api/openapi.json", "/api/tasks"):
        ears.without_token(path)


def test_a_secret_appears_in_no_log_answer_metric_or_export(workshop: Workshop, site: Site) -> None:
    environment = {
        "SMARTSPIDER_ADMIN_TOKEN": ADMIN,
        "SMARTSPIDER_MASTER_KEY": MASTER,
        "SMARTSPIDER_ALLOW_PRIVATE": "127.0.0.1",
        "SMARTSPIDER_SMTP_URL": f"smtp://post:{SMTP}@127.0.0.1:9",
        "SMARTSPIDER_MAIL_FROM": "spider@example.com",
        "SMARTSPIDER_LOG_LEVEL": "debug",
    }
    with served(workshop, "--workers", "1", environment=environment) as server:
        ears = Ears(server)
        ears.ask("POST", "/api/users", {"name": "ann", "password": PASSWORD, "role": "operator"})
        for password in (PASSWORD, PASSWORD + "?"):
            made = server.ask("POST", "/api/auth/token", {"username": "ann", "password": password}).json
            if password != PASSWORD:
                ears.heard["a wrong password"] = json.dumps(made)
            else:
                session = made
        token = server.ask("POST", "/api/tokens", {"name": "robot", "role": "operator"}).expect(201).json
        shown_once = [token["token"], session["access_token"], session["refresh_token"]]
        hook = f"http://hook:{HOOK}@127.0.0.1:{site.port}/hook?token={HOOK_QUERY}"
        events = ["run.finished", "run.failed", "run.paused"]
        target = server.ask(
            "POST", "/api/notifications", {"kind": "webhook", "address": hook, "events": events}
        ).expect(201)
        mail = {"kind": "email", "address": "ann@example.com", "events": events}
        letters = server.ask("POST", "/api/notifications", mail).expect(201)
        shown_once.append(target.json["secret"])

        made_task = ears.ask("POST", "/api/tasks", task(site, "secrets"))
        ears.ask("POST", "/api/tasks", task(site, "secrets"))
        ears.ask("POST", "/api/tasks?dry_run=true", task(site, "secrets", nonsense=1))
        ears.ask("POST", "/api/tasks?dry_run=true&preview=true", task(site, "secrets2"))
        ears.ask("POST", "/api/preview", {"url": site.url("/"), "task": task(site, "x"), "rules": "h1"})
        run = ears.ask("POST", f"/api/tasks/{made_task['id']}/start")["run_id"]
        server.until_state(run, "completed", "failed")
        changed = task(site, "secrets", fetch={"headers": {"Authorization": f"Bearer {LATER}"}})
        server.ask("PUT", "/api/tasks/secrets", changed).expect(200)
        for each in (target.json["id"], letters.json["id"]):
            ears.ask("POST", f"/api/notifications/{each}/test")

            def is_tried(path: str = f"/api/notifications/{each}/deliveries") -> bool:
                found = server.ask("GET", path).json["items"]
                return bool(found) and found[0]["tries"] > 0

            until(is_tried, "a notice to be tried")
            ears.ask("GET", f"/api/notifications/{each}/deliveries")
        look_everywhere(ears, run, site)
        ears.ask("POST", f"/api/runs/{run}/retry", {"which": "failed"})
        viewer = server.ask("POST", "/api/tokens", {"name": "eye", "role": "viewer"}).json["token"]
        shown_once.append(viewer)
        own = server.ask("GET", "/api/tasks/secrets/versions/1").expect(200).body.decode()
        assert all(secret in own for secret in (HEADER, COOKIE, ENTRY_HEADER, USERINFO, QUERY))
        for path in ("", "/versions", "/versions/1", "/versions/2"):
            ears.ask("GET", f"/api/tasks/secrets{path}", Authorization=f"Bearer {viewer}")
        for path in ("/api/notifications", "/api/audit"):
            ears.ask("GET", path, Authorization=f"Bearer {viewer}")
        others = Ears(server, Authorization=f"Bearer {viewer}")
        look_everywhere(others, run, site)
    told = ears.heard | files_of_logs(workshop.folder)
    told["stdout"] = "\n".join(server.command.out.decode().splitlines()[1:])
    told["stderr"] = server.command.err
    secrets = [ADMIN, MASTER, PASSWORD, SMTP, HOOK, HOOK_QUERY, HEADER, COOKIE, ENTRY_HEADER, USERINFO]
    found = leaks(told, [*secrets, *KEYED.values(), LATER, *shown_once])
    found += leaks(others.heard, [*secrets, QUERY, *NAMED.values(), *KEYED.values(), LATER, *shown_once])
    # A query is part of what a request is, so the owner sees it where requests are listed, and nowhere else.
    lists = ("/pages", "/failures", "/api/explain", "dry_run=true&preview")
    elsewhere = {where: text for where, text in told.items() if not any(map(where.count, lists))}
    found += leaks(elsewhere, [QUERY, *NAMED.values()])
    assert not found, "\n".join(found)
    assert len(told) > 40
    assert NAMED["sig"] in "".join(text for where, text in told.items() if "/pages" in where)
    assert "sig=[redacted]" in "".join(files_of_logs(workshop.folder).values())
    assert "ftp://h/[redacted]/[redacted]" in "".join(
        text for where, text in told.items() if "/failures" in where
    )
