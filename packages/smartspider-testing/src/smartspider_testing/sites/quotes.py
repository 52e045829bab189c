"""A site of quotes in the shapes that crawling tutorials use.

Lists, authors, tags, a table, data in a script, a JSON API, a login with a CSRF token, and a form with a view
state. The site refuses what a browser would not have sent: a login without the token of the session, a filter
without the view state of the form before. As a process: `python -m smartspider_testing.sites.quotes`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import escape
from typing import Any

from aiohttp import web

from smartspider.demo.process import serve_until_stopped

PAGE_SIZE = 10
PAGES = 10
AUTHORS = [f"Author {name}" for name in ("Ade", "Bao", "Chen", "Dara", "Emil", "Fay", "Gül", "Hana")]
TAGS = ["life", "love", "books", "humour", "truth", "time"]
QUOTES: list[dict[str, Any]] = [
    {
        "text": f"“Quote {number}: things & people”",
        "author": AUTHORS[number * 5 % len(AUTHORS)],
        "tags": [TAGS[(number + step) % len(TAGS)] for step in range(number % 4)],
    }
    for number in range(PAGES * PAGE_SIZE)
]
_NO_TAG = "----------"


def slug(author: str) -> str:
    """Return the name of an author in URLs."""
    return author.replace(" ", "-")


def birth_date(author: str) -> str:
    """Return the birth date on an author's page."""
    return f"March {AUTHORS.index(author) + 1}, 19{AUTHORS.index(author)}0"


def goodreads(author: str) -> str:
    """Return the link that only signed-in readers see beside an author."""
    return f"/goodreads/{slug(author)}"


@asynccontextmanager
async def serving_quotes(port: int = 0) -> AsyncIterator[str]:
    """Serve the site on loopback; yield its URL."""
    app = web.Application()
    app.add_routes(
        [
            web.get("/", _list),
            web.get("/page/{number}/", _list),
            web.get("/tag/{tag}/", _list),
            web.get("/tag/{tag}/page/{number}/", _list),
            web.get("/author/{author}/", _author),
            web.get("/tableful/", _table),
            web.get("/tableful/page/{number}/", _table),
            web.get("/js/", _script),
            web.get("/js/page/{number}/", _script),
            web.get("/api/quotes", _api),
            web.get("/login", _login_form),
            web.post("/login", _login),
            web.get("/search.aspx", _search),
            web.post("/filter.aspx", _filter),
        ]
    )
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", port)
        await site.start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()


def _html(body: str, status: int = 200) -> web.Response:
    text = f"<!doctype html><html><head><title>Quotes</title></head><body>{body}</body></html>"
    return web.Response(text=text, status=status, content_type="text/html")


def _page_of(request: web.Request) -> tuple[list[dict[str, Any]], str, int]:
    """Return the quotes of a page, the prefix of its list and its number; 404 beyond the last."""
    tag = request.match_info.get("tag")
    found = [quote for quote in QUOTES if tag is None or tag in quote["tags"]]
    number = int(request.match_info.get("number", "1"))
    shown = found[(number - 1) * PAGE_SIZE : number * PAGE_SIZE]
    if not shown:
        raise web.HTTPNotFound
    prefix = request.path.partition("page/")[0]
    return shown, prefix, number if number * PAGE_SIZE < len(found) else 0


def _pager(prefix: str, number: int) -> str:
    following = (
        f'<li class="next"><a href="{prefix}page/{number + 1}/">Next &rarr;</a></li>' if number else ""
    )
    return f'<nav><ul class="pager">{following}</ul></nav>'


async def _list(request: web.Request) -> web.Response:
    shown, prefix, number = _page_of(request)
    is_signed_in = "session" in request.cookies and "user" in request.cookies
    return _html(
        "".join(_quote(quote, is_signed_in=is_signed_in) for quote in shown) + _pager(prefix, number)
    )


def _quote(quote: dict[str, Any], *, is_signed_in: bool = False) -> str:
    author = quote["author"]
    tags = "".join(f'<a class="tag" href="/tag/{tag}/page/1/">{tag}</a>' for tag in quote["tags"])
    more = f' <a class="goodreads" href="{goodreads(author)}">(Goodreads page)</a>' if is_signed_in else ""
    return (
        f'<div class="quote"><span class="text" itemprop="text">{escape(quote["text"])}</span>'
        f'<span>by <small class="author">{author}</small> <a href="/author/{slug(author)}/">(about)</a>{more}'
        f'</span><div class="tags">Tags: {tags}</div></div>'
    )


async def _author(request: web.Request) -> web.Response:
    author = request.match_info["author"].replace("-", " ")
    if author not in AUTHORS:
        raise web.HTTPNotFound
    return _html(
        f'<div class="author-details"><h3 class="author-title">{author}\n    </h3>'
        f'<p><strong>Born:</strong> <span class="author-born-date">{birth_date(author)}</span></p>'
        f'<div class="author-description">\n  About {author}.\n</div></div>'
    )


async def _table(request: web.Request) -> web.Response:
    shown, prefix, number = _page_of(request)
    rows = "".join(
        f'<tr style="border-bottom: 0px"><td>{escape(quote["text"])} Author: {quote["author"]}</td></tr>'
        f"<tr><td>Tags: {' '.join(f'<a>{tag}</a>' for tag in quote['tags'])}</td></tr>"
        for quote in shown
    )
    return _html(f"<table><tbody>{rows}</tbody></table>{_pager(prefix, number)}")


async def _script(request: web.Request) -> web.Response:
    shown, prefix, number = _page_of(request)
    data = json.dumps([{**quote, "author": {"name": quote["author"]}} for quote in shown], indent=4)
    return _html(
        f"<script>\n    var data = {data};\n    for (var i in data) {{ show(data[i].text); }}\n</script>"
        + _pager(prefix, number)
    )


async def _api(request: web.Request) -> web.Response:
    number = int(request.query.get("page", "1"))
    shown = QUOTES[(number - 1) * PAGE_SIZE : number * PAGE_SIZE]
    return web.json_response({"has_next": number < PAGES, "page": number, "quotes": shown})


def _token(session: str) -> str:
    return hashlib.sha256(f"csrf of {session}".encode()).hexdigest()[:24]


async def _login_form(request: web.Request) -> web.Response:
    session = request.cookies.get("session") or "first+session/=" + str(len(QUOTES))
    answer = _html(
        '<form action="/login" method="post" accept-charset="utf-8">'
        f'<input type="hidden" name="csrf_token" value="{_token(session)}"/>'
        '<input type="text" name="username"/><input type="password" name="password"/>'
        '<input type="submit" value="Login"/></form>'
    )
    answer.headers["Set-Cookie"] = f"session={session}; Path=/; HttpOnly"
    return answer


async def _login(request: web.Request) -> web.Response:
    form = await request.post()
    session = request.cookies.get("session", "")
    if form.get("csrf_token") != _token(session) or form.get("password") != "open & sesame":
        return _html("<p>Error while logging in</p>", 403)
    answer = web.Response(status=302, headers={"Location": "/"})
    answer.headers["Set-Cookie"] = "user=signed-in; Path=/"
    return answer


def _state(author: str) -> str:
    return hashlib.sha256(f"state of {author}".encode()).hexdigest() + "+/=="


def _form(author: str, state: str, body: str = "") -> web.Response:
    chosen = {True: " selected", False: ""}
    authors = "".join(
        f'<option value="{name}"{chosen[name == author]}>{name}</option>' for name in (_NO_TAG, *AUTHORS)
    )
    of_author = sorted({tag for quote in QUOTES if quote["author"] == author for tag in quote["tags"]})
    tags = "".join(f'<option value="{name}">{name}</option>' for name in (_NO_TAG, *of_author))
    return _html(
        f'<form name="filterform" id="filterform" action="/filter.aspx" method="post">'
        f'<select name="author" id="author">{authors}</select><select name="tag" id="tag">{tags}</select>'
        f'<input type="submit" name="submit_button" value="Search"/>'
        f'<input type="hidden" name="__VIEWSTATE" id="__VIEWSTATE" value="{state}"/></form>{body}'
    )


async def _search(_request: web.Request) -> web.Response:
    return _form(_NO_TAG, _state(_NO_TAG))


async def _filter(request: web.Request) -> web.Response:
    form = await request.post()
    author, tag = str(form.get("author", "")), str(form.get("tag", ""))
    is_search = "submit_button" in form
    if form.get("__VIEWSTATE") != _state(author if is_search else _NO_TAG):
        return _html("<p>the view state is not of this form</p>", 500)
    shown = (
        [quote for quote in QUOTES if quote["author"] == author and tag in quote["tags"]] if is_search else []
    )
    body = "".join(
        f'<div class="quote"><span class="content">{escape(quote["text"])}</span>'
        f'<span class="author">{author}</span><span class="tag">{tag}</span></div>'
        for quote in shown
    )
    return _form(author, _state(author), body)


def main() -> None:
    """Serve until stdin closes or a signal arrives."""
    asyncio.run(serve_until_stopped(serving_quotes()))


if __name__ == "__main__":
    main()
