"""The customer account of the shop: a login form with a CSRF token, and orders for whoever is signed in."""

from __future__ import annotations

import secrets

from aiohttp import web

from smartspider.demo import catalogue, pages

PATH = "/account/orders"
LOGIN_PATH = "/account/login"
USER, PASSWORD = "demo", "lantern-7"
COOKIE = "session"
PER_PAGE = 5
ORDERS = 12
MAX_SESSIONS = 1_000

SESSIONS = web.AppKey("sessions", dict[str, tuple[str, bool]])
"""The CSRF token of each session, and whether it is signed in."""


def add_account(app: web.Application) -> None:
    """Add the login form and the orders."""
    app[SESSIONS] = {}
    app.router.add_get(LOGIN_PATH, _form)
    app.router.add_post(LOGIN_PATH, _sign_in)
    app.router.add_get(PATH, _orders)


def _answer(request: web.Request, title: str, body: str, *, status: int = 200) -> web.Response:
    text = pages.document(title, body, path=request.path, base=f"http://{request.host}")
    return web.Response(text=text, content_type="text/html", status=status)


def _session(request: web.Request) -> tuple[str, bool]:
    return request.app[SESSIONS].get(request.cookies.get(COOKIE, ""), ("", False))


def _start_session(request: web.Request, answer: web.Response, token: str, *, is_signed_in: bool) -> None:
    """Give the visitor a new session, in place of the one before."""
    sessions, key = request.app[SESSIONS], secrets.token_urlsafe()
    sessions.pop(request.cookies.get(COOKIE, ""), None)
    sessions[key] = (token, is_signed_in)
    while len(sessions) > MAX_SESSIONS:
        del sessions[next(iter(sessions))]
    answer.set_cookie(COOKIE, key, httponly=True, samesite="Lax")


async def _form(request: web.Request) -> web.Response:
    token = secrets.token_urlsafe()
    body = f"""<h1>Sign in</h1>
<form class="login" method="post" action="{LOGIN_PATH}">
<input type="hidden" name="csrf" value="{token}">
<label>Name <input name="user"></label>
<label>Password <input name="password" type="password"></label>
<button>Sign in</button>
</form>"""
    answer = _answer(request, "Sign in", body)
    _start_session(request, answer, token, is_signed_in=False)
    return answer


async def _sign_in(request: web.Request) -> web.Response:
    sent, (token, _) = await request.post(), _session(request)
    if not token or sent.get("csrf") != token:
        return _answer(request, "Sign in", "<p>The form has expired.</p>", status=403)
    if (sent.get("user"), sent.get("password")) != (USER, PASSWORD):
        return _answer(request, "Sign in", "<p>The name or the password is wrong.</p>", status=403)
    answer = web.Response(status=303, headers={"Location": PATH})
    _start_session(request, answer, token, is_signed_in=True)
    return answer


async def _orders(request: web.Request) -> web.Response:
    if not _session(request)[1]:
        raise web.HTTPFound(LOGIN_PATH)
    number = {"2": 2, "3": 3}.get(request.query.get("page", ""), 1)
    ordered = catalogue.products()[:ORDERS][PER_PAGE * (number - 1) : PER_PAGE * number]
    rows = "".join(f"<tr><td>{one.sku}</td><td>{one.title}</td></tr>\n" for one in ordered)
    more = f'<a class="next" href="{PATH}?page={number + 1}">more</a>' if PER_PAGE * number < ORDERS else ""
    return _answer(request, "Orders", f'<h1>Orders</h1>\n<table class="orders">\n{rows}</table>\n{more}')
