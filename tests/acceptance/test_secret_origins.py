"""Secret headers and bodies stay at the origins of the entries, in every way that HTTP and pages have to lead
elsewhere.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.acceptance.workshop import Site, Workshop, written_site

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(120)]

SECRETS = {
    "Authorization": "Bearer canary-authorization",
    "Cookie": "sid=canary-cookie",
    "Ocp-Apim-Subscription-Key": "canary-subscription",
    "X-Custom": "canary-custom",
    "Accept-Language": "${TOKEN}",
}
BODY = {"user": "canary-user", "password": "${TOKEN}"}
STATUSES = (301, 302, 303, 307, 308)


def locations(port: int) -> dict[str, str]:
    """Ways to write a Location on another origin."""
    return {
        "port": f"http://127.0.0.1:{port}",
        "host": f"http://127.0.0.2:{port}",
        "name": f"http://localhost:{port}",
        "relative": f"//127.0.0.1:{port}",
        "upper": f"HTTP://LOCALHOST:{port}",
        "dot": f"http://127.0.0.1.:{port}",
        "user": f"http://user:word@127.0.0.1:{port}",
        "fooled": f"http://127.0.0.1:1@127.0.0.1:{port}",
        "decimal": f"http://2130706433:{port}",
        "hex": f"http://0x7f000001:{port}",
        "short": f"http://127.1:{port}",
        "octal": f"http://0177.0.0.1:{port}",
        "backslash": f"\\\\127.0.0.1:{port}",
        "slashes": f"http:////127.0.0.1:{port}",
        "tab": f"ht\ttp://127.0.0.1:{port}",
        "wide": f"http://%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1:{port}",
        "mapped": f"http://[::ffff:127.0.0.1]:{port}",
        "zeros": f"http://127.0.0.1:0{port}",
    }


def redirect(location: str, status: int = 302) -> list[dict[str, Any]]:
    return [{"status": status, "headers": {"Location": location}}]


def forms(port: int) -> dict[str, tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Each form: what is added to its entry, and the answers of the entry, which lead to `/t/NAME`."""
    targets = locations(port)
    found: dict[str, Any] = {}
    for status in STATUSES:
        for kind in ("port", "host", "name"):
            for method in ({}, {"body": BODY}):
                name = f"{status}-{kind}{'-post' if method else ''}"
                found[name] = (method, redirect(f"{targets[kind]}/t/{name}", status))
    for kind, start in targets.items():
        found[f"location-{kind}"] = ({}, redirect(f"{start}/t/location-{kind}"))
    here = f"http://127.0.0.1:{port}/t"
    found["put"] = ({"method": "PUT", "body": BODY}, redirect(f"{here}/put", 301))
    found["chain"] = ({}, redirect("/again/chain"))
    found["links"] = ({"page": "links"}, [{"body": f'<a class="plain" href="{here}/links">x</a>'}])
    found["keyed"] = ({"page": "links"}, [{"body": f'<a class="keyed" href="{here}/keyed">x</a>'}])
    found["posted"] = ({"page": "links"}, [{"body": f'<a class="posted" href="{here}/posted">x</a>'}])
    found["next"] = ({"page": "next"}, [{"body": f'<a class="next" href="{here}/next">x</a>'}])
    posted = f'<a class="next" href="{here}/next-post">x</a>'
    found["next-post"] = ({"page": "next", "body": BODY}, [{"body": posted}])
    link = {"Link": f'<{here}/header>; rel="next"'}
    found["header"] = ({"page": "header"}, [{"body": "<p>x</p>", "headers": link}])
    based = f'<base href="{here}/"><a class="plain" href="base">x</a>'
    found["base"] = ({"page": "links"}, [{"body": based}])
    found["refresh"] = ({}, [{"body": "x", "headers": {"Refresh": f"0; url={here}/refresh"}}])
    for kind in ("port", "host", "name"):
        for method in ({}, {"body": BODY}):
            name = f"meta-{kind}{'-post' if method else ''}"
            content = f"0; url={targets[kind]}/t/{name}"
            found[name] = (method, [{"body": f'<meta http-equiv="refresh" content="{content}">'}])
    return found


UNSENT = {f"{status}-{kind}-post" for status in (307, 308) for kind in ("port", "host", "name")}
UNSENT |= {"put", "posted", "refresh"}
"""Forms that send nothing at all: a body that may hold secrets, or a way that is not followed."""


def task(site: Site, port: int) -> dict[str, Any]:
    entries = [{"url": site.url(f"/f/{name}"), **more} for name, (more, _) in forms(port).items()]
    keyed = {"headers": {"X-Sent": "${TOKEN}", "X-Other": "canary-other"}}
    links = [
        {"selector": "a.plain", "to": "leaf"},
        {"selector": "a.keyed", "to": "leaf", "request": keyed},
        {"selector": "a.posted", "to": "leaf", "request": {"body": BODY}},
    ]
    return {
        "name": "origins",
        "entry_urls": entries,
        "fetch": {"headers": SECRETS},
        "sitemaps": [site.url("/sitemap.xml")],
        "selectors": {"fields": {"title": "h1::text"}},
        "pages": {
            "links": {"follow": links},
            "next": {"pagination": {"type": "next_link", "selector": "a.next"}},
            "header": {"pagination": {"type": "header_link"}},
            "leaf": {"selectors": {"fields": {"title": "h1::text"}}},
        },
        "politeness": {"delay_s": 0, "adaptive": False},
        "alerts": {"consecutive_failures": None},
        "retry": {"max_attempts": 1},
    }


def test_no_redirect_link_or_sitemap_takes_a_secret_to_another_origin(workshop: Workshop) -> None:
    sitemap = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>{}</loc></url></urlset>'
    hosts = ["127.0.0.1", "127.0.0.2"]
    with written_site(workshop.folder, prefixes={"/t/": {"body": "<h1>other</h1>"}}, hosts=hosts) as other:
        here = other.url("/t")
        routes = {f"/f/{name}": answers for name, (_, answers) in forms(other.port).items()}
        routes["/again/chain"] = redirect(f"{here}/chain", 307)
        routes["/sitemap.xml"] = [{"body": sitemap.format(f"{here}/sitemap")}]
        routes["/robots.txt"] = redirect(f"{here}/robots")
        with written_site(workshop.folder, routes=routes) as site:
            workshop.write(task(site, other.port))
            env = {"SMARTSPIDER_VAR_TOKEN": "canary-token", "SMARTSPIDER_ALLOW_PRIVATE": "1"}
            done = workshop.crawl(env=env)
            own = [arrival for arrival in site.log() if arrival.path.startswith("/f/")]
        arrivals = other.ask("/_log")
    names = forms(other.port).keys()
    assert len(names) >= 40
    assert {arrival.path.removeprefix("/f/") for arrival in own} == names, done.err
    assert all("canary-token" in arrival.headers["accept-language"] for arrival in own)
    paths = [arrival["path"] for arrival in arrivals]
    reached = {path.removeprefix("/t/") for path in paths if path.startswith("/t/")}
    assert reached == {*names, "sitemap", "robots"} - UNSENT
    leaks = [arrival["path"] for arrival in arrivals if "canary" in json.dumps(arrival) or arrival["body"]]
    assert leaks == []
    why = workshop.run("why", site.url("/f/307-host-post"), "--json").out
    assert "secrets_withheld" in why
    assert "canary" not in why


def test_origins_that_the_task_names_get_its_secrets(workshop: Workshop) -> None:
    hosts = ["127.0.0.1", "127.0.0.2"]
    with written_site(workshop.folder, prefixes={"/t/": {"body": "<h1>other</h1>"}}, hosts=hosts) as other:
        names = ["307-port-post", "307-host-post", "302-host", "links", "keyed", "posted", "next-post"]
        chosen = {name: form for name, form in forms(other.port).items() if name in names}
        with written_site(
            workshop.folder, routes={f"/f/{name}": answers for name, (_, answers) in chosen.items()}
        ) as site:
            whole = task(site, other.port)
            whole["entry_urls"] = [
                {"url": site.url(f"/f/{name}"), **more} for name, (more, _) in chosen.items()
            ]
            whole["fetch"]["send_secrets_to"] = [f"http://{host}:{other.port}" for host in hosts]
            del whole["sitemaps"]
            workshop.write(whole)
            env = {"SMARTSPIDER_VAR_TOKEN": "canary-token", "SMARTSPIDER_ALLOW_PRIVATE": "1"}
            workshop.crawl(env=env).expect(0)
        arrivals = {arrival.path.removeprefix("/t/"): arrival for arrival in other.log()}
    for name in names:
        assert arrivals[name].headers["x-custom"] == "canary-custom", name
        if name.endswith("post") or name == "posted":
            assert b"canary-token" in arrivals[name].body, name
    assert arrivals["keyed"].headers["x-sent"] == "canary-token"
