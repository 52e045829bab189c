"""`fetch`: one URL, as a crawl would fetch it."""

from __future__ import annotations

import sys

import click


@click.command()
@click.argument("url")
@click.option("--json", "as_json", is_flag=True, help="Print everything about the answer as one JSON object.")
@click.option("--head", "only_head", is_flag=True, help="Show the status and headers only.")
@click.option("--ignore-robots", is_flag=True, help="Fetch although robots.txt forbids it.")
def fetch(url: str, *, as_json: bool, only_head: bool, ignore_robots: bool) -> None:
    """Fetch one URL with the crawler's own layers and print its body; status and headers go to stderr."""
    from smartspider.cli.output import print_json, say
    from smartspider.wiring.fetch_one import fetch_one
    from smartspider.wiring.loop import run_loop

    page = run_loop(fetch_one(url, obey_robots=not ignore_robots))
    if as_json:
        print_json(
            {
                "url": url,
                "final_url": page.url,
                "status": page.status,
                "headers": page.headers,
                "charset": page.charset,
                "bytes": len(page.body),
                "elapsed_s": round(page.elapsed_s, 4),
                "redirects": list(page.hops),
                "text": "" if only_head else page.text,
            }
        )
        return
    for hop in page.hops:
        say(f"redirected from {hop}")
    say(f"{page.status} {page.url} ({len(page.body)} bytes, {page.charset}, {page.elapsed_s:.3f} s)")
    for name, value in page.headers.items():
        say(f"{name}: {value}")
    if not only_head:
        sys.stdout.write(page.text)
