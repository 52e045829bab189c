"""Secrets in headers and bodies reach the server, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.server import Server, served
from tests.acceptance.workshop import Finished, Site, Workshop, written_site

pytestmark = pytest.mark.acceptance

TOKEN = "canary-4711-token"
PASSWORD = 'canary"pass&word'
VARIABLES = {"SMARTSPIDER_VAR_API_TOKEN": TOKEN, "SMARTSPIDER_VAR_PASSWORD": PASSWORD}
ROUTES: dict[str, list[dict[str, Any]]] = {
    "/api": [
        {"data": {"rows": [{"id": 1}, {"id": 2}], "next": "a${API_TOKEN}"}},
        {"data": {"rows": [{"id": 3}]}},
    ],
    "/moved": [{"status": 307, "headers": {"Location": "http://127.0.0.2:1/api"}}],
    "/broken": [{"status": 500, "body": "no"}],
}


FRESH = {"crawl": ("--fresh",), "dry-run": ()}
"""Another port of the site makes it another task."""


def keyed_task(site: Site, **more: Any) -> dict[str, Any]:
    """A task for an API that wants a key in a header and a password in a body."""
    entry = {
        "url": site.url("/api"),
        "headers": {"X-Extra": "literal $${API_TOKEN} {key}"},
        "body": {"user": "ann", "password": "${PASSWORD}"},
    }
    return {
        "name": "keyed",
        "entry_urls": [entry],
        "fetch": {"headers": {"Authorization": "Bearer ${API_TOKEN}"}},
        "selectors": {
            "items": {"type": "jmespath", "expr": "rows[]"},
            "fields": {"id": {"type": "jmespath", "expr": "id"}},
        },
        "pagination": {"type": "cursor", "expr": "next", "param": "cursor", "in": "body"},
        "politeness": {"robots": "ignore", "delay_s": 0},
        "retry": {"max_attempts": 1},
        **more,
    }


def assert_unseen(workshop: Workshop, *finished: Finished) -> None:
    """Assert that no output and no file below the working folder holds a secret."""
    values = [TOKEN, PASSWORD, 'canary\\"pass', "canary%22pass"]
    texts = {f"output {number}": one.out + one.err for number, one in enumerate(finished)}
    for path in workshop.folder.rglob("*"):
        if path.is_file():
            texts[str(path)] = path.read_bytes().decode("latin-1")
    for name, text in texts.items():
        assert not [value for value in values if value in text], name


def test_a_secret_is_sent_and_appears_nowhere_else(workshop: Workshop) -> None:
    with written_site(workshop.folder, routes=ROUTES) as site:
        task = keyed_task(site)
        task["entry_urls"] += [
            {"url": site.url("/broken"), "headers": {"X-Key": "${API_TOKEN}"}},
            {"url": site.url("/moved"), "body": "p=${PASSWORD}", "method": "PUT"},
        ]
        workshop.write(task)
        log_level = {"SMARTSPIDER_LOG_LEVEL": "debug"}
        done = workshop.crawl("-o", "rows.jsonl", "--workers", 2, env=VARIABLES | log_level)
        assert done.json["items"] == 3, done.err
        seen = {arrival.path: arrival for arrival in site.log()}
        first, second = (arrival for arrival in site.log() if arrival.path == "/api")
    assert first.headers["authorization"] == f"Bearer {TOKEN}"
    assert first.headers["x-extra"] == "literal ${API_TOKEN} {key}"
    assert b'"password":"canary\\"pass&word"' in first.body
    # The cursor came from the page, so it is no reference.
    assert b'"cursor":"a${API_TOKEN}"' in second.body
    assert second.headers["authorization"] == f"Bearer {TOKEN}"
    assert seen["/broken"].headers["x-key"] == TOKEN
    # A body with a secret is not sent on to another host.
    moved = workshop.run("why", site.url("/moved"), "--json")
    others = [
        workshop.run("why", site.url("/api")),
        workshop.run("why", site.url("/broken"), "--json"),
        workshop.run("logs"),
        workshop.run("run", "show", "--json"),
        workshop.run("task", "show", "keyed", "--json"),
    ]
    assert "${PASSWORD}" in moved.out, moved.out + moved.err
    assert_unseen(workshop, done, moved, *others)


def test_a_dry_run_uses_the_secrets_and_shows_none(workshop: Workshop) -> None:
    with written_site(workshop.folder, routes=ROUTES) as site:
        workshop.write(keyed_task(site))
        done = workshop.run("dry-run", "task.json", "--json", env=VARIABLES).expect(0)
        assert site.log()[0].headers["authorization"] == f"Bearer {TOKEN}"
    assert_unseen(workshop, done)


@pytest.mark.parametrize("command", [("crawl",), ("crawl", "--workers", "2"), ("dry-run",)])
def test_a_missing_secret_is_named_before_anything_is_sent(
    workshop: Workshop, command: tuple[str, ...]
) -> None:
    with written_site(workshop.folder, routes=ROUTES) as site:
        workshop.write(keyed_task(site))
        name, *options = command
        env = {"SMARTSPIDER_VAR_PASSWORD": PASSWORD}
        refused = workshop.run(name, "task.json", *options, env=env).expect(2)
        assert site.log() == []
    assert "SMARTSPIDER_VAR_API_TOKEN" in refused.err
    assert "Traceback" not in refused.err
    assert_unseen(workshop, refused)


def test_secrets_come_from_dotenv_and_files_too(workshop: Workshop, tmp_path: Path) -> None:
    (workshop.folder / ".env").write_text(f"SMARTSPIDER_VAR_API_TOKEN='{TOKEN}'\n")
    (tmp_path / "password").write_text(f"{PASSWORD}\n")
    with written_site(workshop.folder, routes=ROUTES) as site:
        workshop.write(keyed_task(site))
        env = {"SMARTSPIDER_VAR_PASSWORD_FILE": str(tmp_path / "password")}
        workshop.crawl("--workers", 2, env=env).expect(0)
        assert {arrival.headers["authorization"] for arrival in site.log()} == {f"Bearer {TOKEN}"}
        assert b"canary" in site.log()[0].body


def test_stored_secrets_are_sent_and_no_file_shows_them(workshop: Workshop) -> None:
    """By one worker, by two, and by a dry run; also with another master key."""
    for name, value in (("API_TOKEN", TOKEN), ("PASSWORD", PASSWORD)):
        assert workshop.run("secret", "set", name, "--json", stdin=f"{value}\n").json["version"] == 1
    for command in (("crawl",), ("crawl", "--workers", "2"), ("dry-run",)):
        with written_site(workshop.folder, routes=ROUTES) as site:
            workshop.write(keyed_task(site))
            done = workshop.run(command[0], "task.json", *command[1:], *FRESH[command[0]]).expect(0)
            assert {arrival.headers["authorization"] for arrival in site.log()} == {f"Bearer {TOKEN}"}
            assert b'"password":"canary\\"pass&word"' in site.log()[0].body
        rotated = workshop.run("vault", "rotate").expect(0)
        assert_unseen(workshop, done, rotated, workshop.run("secret", "list", "--json").expect(0))
    assert workshop.run("vault", "verify", "--json").json == {"ok": True, "values": 2, "damaged": []}


def test_a_server_gives_a_stored_secret_to_the_tasks_of_its_owner(workshop: Workshop) -> None:
    """And to those of others once it is shared; runs go on while the master key is replaced."""

    def crawl(server: Server, site: Site, name: str, **headers: str) -> str:
        server.ask("POST", "/api/tasks", keyed_task(site, name=name), **headers).expect(201)
        run_id = str(server.ask("POST", f"/api/tasks/{name}/start", **headers).expect(202).json["run_id"])
        ended = server.until_state(run_id, "completed", "failed")
        return f"{ended['state']} {ended['reason']}"

    with written_site(workshop.folder, routes=ROUTES) as site, served(workshop) as server:
        for name, value in (("API_TOKEN", TOKEN), ("PASSWORD", PASSWORD)):
            server.ask("PUT", f"/api/secrets/{name}", {"value": value}).expect(200)
        made = server.ask("POST", "/api/tokens", {"name": "bob", "role": "operator"}).expect(201).json
        bob = {"Authorization": f"Bearer {made['token']}"}
        assert crawl(server, site, "own").startswith("completed")
        assert "belongs to admin" in crawl(server, site, "foreign", **bob)
        server.ask("PUT", "/api/secrets/API_TOKEN", {"value": "mine"}, **bob).expect(403)
        for name, value in (("API_TOKEN", TOKEN), ("PASSWORD", PASSWORD)):
            server.ask("PUT", f"/api/secrets/{name}", {"value": value, "shared": True}).expect(200)
        assert server.ask("POST", "/api/vault/rotate").expect(200).json["rewrapped"] == 2
        preview = server.ask(
            "POST", "/api/tasks?dry_run=true&preview=true", keyed_task(site, name="shown"), **bob
        ).expect(200)
        assert preview.json["preview"] == [{"id": 3}]
        assert crawl(server, site, "shared", **bob).startswith("completed")
        assert {one.headers["authorization"] for one in site.log()} == {f"Bearer {TOKEN}"}
        (workshop.folder / "seen").write_bytes(preview.body)
    assert_unseen(workshop)


def test_headers_with_secrets_stay_at_the_origin_of_the_entries(workshop: Workshop) -> None:
    routes = {
        "/list": [{"body": '<h1>list</h1><a class="child" href="http://127.0.0.2:PORT/other">x</a>'}],
        "/other": [{"body": "<h1>other</h1>"}],
    }
    with written_site(workshop.folder, routes={"/other": routes["/other"]}, hosts=["127.0.0.2"]) as other:
        body = routes["/list"][0]["body"].replace("PORT", str(other.port))
        with written_site(workshop.folder, routes={"/list": [{"body": body}]}) as site:
            task = {
                "name": "two_hosts",
                "entry_urls": [site.url("/list")],
                "fetch": {"headers": {"X-Custom": "${API_TOKEN}"}},
                "selectors": {"fields": {"title": "h1::text"}},
                "follow": [{"selector": "a.child"}],
                "scope": {"domains": ["127.0.0.1", "127.0.0.2"]},
                "politeness": {"robots": "ignore", "delay_s": 0},
            }
            workshop.write(task)
            env = VARIABLES | {"SMARTSPIDER_ALLOW_PRIVATE": "1"}
            assert workshop.crawl(env=env).expect(0).json["pages"] == 2
            assert site.log()[0].headers["x-custom"] == TOKEN
        arrivals = [arrival for arrival in other_log(other) if arrival["path"] == "/other"]
    assert "x-custom" not in arrivals[0]["headers"]


def other_log(site: Site) -> list[dict[str, Any]]:
    """Return the requests of a site that listens on another address than the usual one."""
    site.authority = f"127.0.0.2:{site.port}"
    log: list[dict[str, Any]] = site.ask("/_log")
    return log
