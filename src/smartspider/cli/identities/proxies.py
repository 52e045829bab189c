"""`proxy add|list|check|ban|remove`."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from smartspider.cli.exit_codes import code_of_findings
from smartspider.cli.identities.vault import run_in_vault
from smartspider.cli.lazy_group import CommandGroup
from smartspider.cli.target import Target, collect, with_target
from smartspider.cli.terminal.output import print_line, printed

if TYPE_CHECKING:
    from smartspider.views.identities.proxies import ProxyCheckView, ProxyView

ID = click.argument("proxy_id", metavar="ID")


def _added_message(made: ProxyView) -> str:
    return f'proxy {made.id} {made.url}: tasks with "proxy_pool": "{made.pool}" in fetch use it'


def _banned_message(found: ProxyView) -> str:
    from smartspider.cli.times import format_time

    state = f"banned until {format_time(found.banned_until)}" if found.banned_until else "not banned"
    return f"proxy {found.id} {found.url}: {state}"


def _print_proxies(found: list[ProxyView]) -> None:
    from smartspider.cli.times import format_time

    for one in found:
        parts = [f"{one.id:>4}  {one.pool}  {one.url}  weight {one.weight:g}"]
        parts += [f"{one.requests} requests, {one.failures} failed"] if one.requests else ["never used"]
        parts += [] if one.latency_s is None else [f"{one.latency_s:.2f} s"]
        parts += [f"used {format_time(one.used_at)}"] if one.used_at else []
        parts += [f"banned until {format_time(one.banned_until)}"] if one.banned_until else []
        print_line("  ".join([*parts, *([one.error] if one.error else [])]))


def _print_check(found: ProxyCheckView) -> None:
    what = f"works: http {found.status} in {found.elapsed_s} s" if found.ok else found.error
    print_line(f"proxy {found.proxy.id} {found.proxy.url}: {what}")


@click.group(cls=CommandGroup)
def proxy() -> None:
    """Manage pools of proxies, which tasks name as fetch.proxy_pool."""


@proxy.command()
@click.argument("url", metavar="URL|-")
@click.option("--pool", default="default", show_default=True, metavar="NAME", help="The pool to add it to.")
@click.option(
    "--weight", type=float, default=1.0, show_default=True, help="How often it is chosen, beside the others."
)
@with_target
@printed(message=_added_message)
def add(url: str, pool: str, weight: float, target: Target) -> ProxyView:
    """Add a proxy: http, https, socks5 or socks5h, with user:password@ if needed. - reads the URL from
    standard input, which keeps its password out of the process list.
    """
    whole = sys.stdin.readline() if url == "-" else url
    return run_in_vault(
        target, lambda operations: operations.add_proxy(url=whole, pool=pool, weight=weight), creates=True
    )


@proxy.command("list")
@click.option("--pool", default=None, metavar="NAME", help="Only those of a pool.")
@with_target
@printed(_print_proxies)
def list_proxies(pool: str | None, target: Target) -> list[ProxyView]:
    """List proxies, without their passwords."""
    return run_in_vault(target, lambda operations: collect(partial(operations.list_proxies, pool=pool)))


@proxy.command()
@ID
@click.option("--url", default="http://example.com/", show_default=True, help="The page to fetch.")
@with_target
@printed(_print_check, exit_code=lambda found: code_of_findings(is_ok=found.ok))
def check(proxy_id: str, url: str, target: Target) -> ProxyCheckView:
    """Fetch a page through a proxy. The exit code is 6 if that fails."""
    return run_in_vault(target, lambda operations: operations.check_proxy(proxy_id, url=url))


@proxy.command()
@ID
@click.option("--seconds", type=float, default=3600.0, show_default=True, help="Length; 0 ends a ban.")
@with_target
@printed(message=_banned_message)
def ban(proxy_id: str, seconds: float, target: Target) -> ProxyView:
    """Send no request through a proxy for a time."""
    return run_in_vault(target, lambda operations: operations.ban_proxy(proxy_id, seconds=seconds))


@proxy.command()
@ID
@with_target
@printed(message="removed")
def remove(proxy_id: str, target: Target) -> dict[str, Any]:
    """Remove a proxy."""
    run_in_vault(target, lambda operations: operations.remove_proxy(proxy_id))
    return {"id": proxy_id, "removed": True}
