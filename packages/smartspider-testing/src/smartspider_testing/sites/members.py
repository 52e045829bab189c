"""A site behind a login: ten pages of a list, thirty pages of its entries, and nothing for strangers.

    python -m smartspider_testing.sites.members --refusal words --rotates 1

The login has a CSRF token that belongs to a cookie. Strangers are redirected to the login, or read that they
should sign in. With `--rotates 1` every answer replaces the cookie of the session, and only the one that was
sent last stays good beside it; with a larger number, so many before. `/_stats` tells what happened. With
`--sessions 3` three sessions are open from the start, whose cookies `session_cookie` gives, and
`/_end?session=1` ends one. `/_open?session=1` opens one for a browser, which keeps its cookie for a day.
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from smartspider.demo.process import serve_until_stopped

PAGES = 10
PER_PAGE = 3
ENTRIES = tuple(f"entry {number}" for number in range(1, PAGES * PER_PAGE + 1))
CANARY = "c4n4ry"
"""Part of every cookie value: it must not appear in any output."""


def session_cookie(number: int) -> str:
    """Return the cookie of a session that is open from the start."""
    return f"session={CANARY}-open-{number}"


class Members:
    """The site and its sessions."""

    def __init__(
        self, *, refusal: str, rotates: int, delay_s: float, ends_at: int, sessions: int = 0
    ) -> None:
        self._refuses_by_words = refusal == "words"
        self._rotates = rotates
        self._delay_s = delay_s
        self._ends_at = ends_at
        self._forms: dict[str, str] = {}
        self._good: dict[str, int] = {}
        """The session of each value of the cookie that is good."""
        self._values: dict[int, list[str]] = {}
        self._has_ended = False
        self.stats: dict[str, Any] = {"logins": 0, "refused": [], "served": [], "most": {}}
        self._now: Counter[int] = Counter()
        for number in range(1, sessions + 1):
            self._open(number)

    def app(self) -> web.Application:
        """Return the application."""
        app = web.Application()
        app.add_routes(
            [
                web.get("/login", self._form),
                web.post("/login", self._login),
                web.get(r"/list/{number:\d+}", self._list),
                web.get(r"/entry/{number:\d+}", self._entry),
                web.get("/_stats", self._stats),
                web.get("/forbidden", self._forbidden),
                web.get("/_open", self._open_session),
                web.get("/_end", self._end_session),
            ]
        )
        return app

    async def _form(self, _request: web.Request) -> web.Response:
        token, cookie = secrets.token_hex(8), f"{CANARY}-{secrets.token_hex(8)}"
        self._forms[cookie] = token
        answer = _html(
            '<h1>Sign in</h1><form action="/login" method="post"><input name="user"/>'
            '<input type="password" name="password"/>'
            f'<input type="hidden" name="csrf" value="{token}"/></form>'
        )
        answer.set_cookie("form", cookie, httponly=True)
        return answer

    async def _login(self, request: web.Request) -> web.Response:
        form = await request.post()
        if form.get("csrf") != self._forms.get(request.cookies.get("form", ""), "?"):
            return _html("<h1>Wrong token</h1>", 403)
        if (form.get("user"), form.get("password")) != ("ann", "open sesame"):
            return _html("<h1>Wrong password</h1>", 403)
        self.stats["logins"] += 1
        answer = web.Response(status=302, headers={"Location": "/list/1"})
        self._renew(answer, session=self.stats["logins"], sent="")
        answer.del_cookie("form")
        return answer

    async def _list(self, request: web.Request) -> web.Response:
        number = int(request.match_info["number"])
        if number == self._ends_at and not self._has_ended:
            self._has_ended = True
            self._good.clear()
        entries = range((number - 1) * PER_PAGE + 1, number * PER_PAGE + 1)
        links = "".join(f'<li><a class="entry" href="/entry/{entry}">{entry}</a></li>' for entry in entries)
        more = f'<a class="next" href="/list/{number + 1}">more</a>' if number < PAGES else ""
        return await self._shown(request, f"<h1>List {number}</h1><ul>{links}</ul>{more}")

    async def _entry(self, request: web.Request) -> web.Response:
        number = int(request.match_info["number"])
        return await self._shown(request, f'<h1 class="name">entry {number}</h1>')

    async def _shown(self, request: web.Request, body: str) -> web.Response:
        sent = request.cookies.get("session", "")
        session = self._good.get(sent, 0)
        self._now[session] += 1
        self.stats["most"][session] = max(self._now[session], self.stats["most"].get(session, 0))
        try:
            await asyncio.sleep(self._delay_s)
        finally:
            self._now[session] -= 1
        if sent not in self._good:
            self.stats["refused"].append(request.path)
            if self._refuses_by_words:
                return _html("<h1>Please sign in</h1>")
            return web.Response(status=302, headers={"Location": "/login"})
        self.stats["served"].append(request.path)
        answer = _html(body)
        if self._rotates:
            self._renew(answer, session=session, sent=sent)
        return answer

    def _renew(self, answer: web.Response, *, session: int, sent: str) -> None:
        value = f"{CANARY}-{secrets.token_hex(8)}"
        values = [old for old in self._values.get(session, []) if old != sent]
        values += [sent, value] if sent else [value]
        for old in values[: -1 - self._rotates]:
            self._good.pop(old, None)
        self._values[session] = values[-1 - self._rotates :]
        self._good[value] = session
        answer.set_cookie("session", value, httponly=True)

    def _open(self, number: int) -> None:
        value = session_cookie(number).partition("=")[2]
        self._good[value] = -number
        self._values[-number] = [value]

    async def _forbidden(self, _request: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": "/login"})

    async def _open_session(self, request: web.Request) -> web.Response:
        number = int(request.query["session"])
        self._open(number)
        answer = web.json_response({})
        name, _, value = session_cookie(number).partition("=")
        answer.set_cookie(name, value, max_age=86_400, httponly=True)
        return answer

    async def _end_session(self, request: web.Request) -> web.Response:
        for value in self._values.pop(-int(request.query["session"]), []):
            self._good.pop(value, None)
        return web.json_response({})

    async def _stats(self, _request: web.Request) -> web.Response:
        return web.json_response(self.stats)


@asynccontextmanager
async def serving_members(members: Members) -> AsyncIterator[str]:
    """Serve the site on a free port of loopback."""
    runner = web.AppRunner(members.app(), handler_cancellation=True)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}/"
    finally:
        await runner.cleanup()


def cookie_task(base: str, **more: Any) -> dict[str, Any]:
    """Return a task that takes all entries with cookies of the vault."""
    task = members_task(base, **more)
    pages = {"entry": task["pages"]["entry"]}
    kept = {key: value for key, value in task.items() if key != "follow"}
    return {
        "use_cookie": True,
        **kept,
        "entry_urls": [f"{base}/list/1"],
        **task["pages"]["list"],
        "pages": pages,
    }


def members_task(base: str, **more: Any) -> dict[str, Any]:
    """Return a task that signs in and takes all entries."""
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    body = "user=ann&password=open+sesame&csrf={token}"
    return {
        "name": "members",
        "entry_urls": [f"{base}/login"],
        "emit": False,
        "selectors": {"items": "form", "fields": {"token": "input[name=csrf]::attr(value)"}},
        "follow": [
            {
                "selector": "input[name=csrf]::attr(value)",
                "to": "list",
                "request": {"url": f"{base}/login", "method": "POST", "headers": form, "body": body},
            }
        ],
        "pages": {
            "list": {
                "emit": False,
                "pagination": {"type": "next_link", "selector": "a.next"},
                "follow": [{"selector": "a.entry", "to": "entry"}],
                "selectors": {"items": "a.entry", "fields": {"name": {"expr": "::text"}}},
            },
            "entry": {"selectors": {"fields": {"name": "h1.name::text"}}},
        },
        "politeness": {"robots": "ignore", "delay_s": 0},
        "retry": {"backoff_s": 0},
        **more,
    }


def _html(body: str, status: int = 200) -> web.Response:
    text = f"<!DOCTYPE html><title>Members</title>{body}"
    return web.Response(text=text, content_type="text/html", status=status)


def main() -> None:
    """Serve until stdin closes or a signal arrives."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--refusal", choices=("redirect", "words"), default="redirect")
    parser.add_argument("--rotates", type=int, default=0)
    parser.add_argument("--delay-ms", type=float, default=0.0)
    parser.add_argument("--ends-at", type=int, default=0, help="list page that ends all sessions, once")
    parser.add_argument("--sessions", type=int, default=0, help="sessions that are open from the start")
    told = parser.parse_args()
    members = Members(
        refusal=told.refusal,
        rotates=told.rotates,
        delay_s=told.delay_ms / 1000,
        ends_at=told.ends_at,
        sessions=told.sessions,
    )
    asyncio.run(serve_until_stopped(serving_members(members)))


if __name__ == "__main__":
    main()
