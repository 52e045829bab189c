"""`cookie upload|grab|list|show|check|lock|unlock|delete`."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import click
import msgspec

from smartspider.cli.exit_codes import code_of_findings
from smartspider.cli.identities.vault import run_in_vault
from smartspider.cli.lazy_group import CommandGroup
from smartspider.cli.target import Target, collect, with_target
from smartspider.cli.terminal.output import print_line, printed
from smartspider.core.plurals import count

if TYPE_CHECKING:
    from smartspider.views.identities.cookies import (
        CookieCheckView,
        CookieDetailsView,
        CookieSetView,
        GrabbedView,
        UploadedView,
    )

F = TypeVar("F", bound=Callable[..., Any])
REF = click.argument("cookie_id", metavar="ID|NAME")


def _title(one: CookieSetView) -> str:
    return f"cookies {one.id}" + (f" {one.name}" if one.name else "") + f" for {one.domain}"


def _state(one: CookieSetView) -> str:
    return one.state + (f": {one.reason}" if one.reason else "")


def _uploaded_message(made: UploadedView, place: str = "") -> str:
    left_out = [f"{made.foreign} of other domains"] if made.foreign else []
    left_out += [f"{made.expired} expired"] if made.expired else []
    rest = f" ({' and '.join(left_out)} left out)" if left_out else ""
    return f'{_title(made)}{place}: {count(made.cookies, "cookie")}{rest}, for "cookie_id": {made.id}'


def _grabbed_message(made: GrabbedView) -> str:
    from smartspider.cli.identities.browsers.profiles import TITLES

    container = f", container {made.container}" if made.container else ""
    return _uploaded_message(made, f" from {TITLES[made.browser]}, profile {made.profile}{container}")


def _print_sets(found: list[CookieSetView]) -> None:
    from smartspider.cli.times import format_time

    for one in found:
        parts = [f"{one.id:>4}  {one.domain}", *([one.name] if one.name else []), one.owner, _state(one)]
        parts += [count(one.cookies, "cookie"), f"{one.lent} of {one.limit} lent"]
        parts += (
            [f"{count(one.usage_count, 'request')}, last {format_time(one.last_used)}"]
            if one.last_used
            else []
        )
        print_line("  ".join([*parts, *(["shared"] if one.shared else [])]))


def _print_details(found: CookieDetailsView) -> None:
    from smartspider.cli.times import format_time

    _print_sets([found])
    for one in found.names:
        where = one.domain if one.host_only else f".{one.domain}"
        ends = "" if one.expires_at is None else f"  until {format_time(one.expires_at)}"
        print_line(f"      {one.name}  {where}{one.path}{'  secure' if one.secure else ''}{ends}")


def _print_check(found: CookieCheckView) -> None:
    what = f"signed in, http {found.status}" if found.ok else found.reason
    print_line(f"{_title(found.cookies)}: {what} ({found.url})")


def _state_message(found: CookieSetView) -> str:
    return f"{_title(found)}: {_state(found)}"


_LOGIN = (
    click.option("--domain", required=True, metavar="DOMAIN", help="The domain whose hosts get them."),
    click.option("--name", default="", metavar="NAME", help="A name; cookies with this name are replaced."),
    click.option(
        "--shared/--private", default=None, help="For the tasks of all users, or of the owner only."
    ),
    click.option(
        "--limit", type=int, default=None, metavar="N", help="Requests at the same time.  [default: 4]"
    ),
    click.option("--check-url", default=None, metavar="URL", help="A page that only a login gets."),
    click.option(
        "--signed-out",
        multiple=True,
        metavar="KEY=VALUE",
        help="What pages without a login look like: status=403, url=/login, selector=CSS or json=JMESPATH.",
    ),
)


class Login(msgspec.Struct, frozen=True):
    """The options of a command that stores cookies."""

    domain: str
    name: str
    shared: bool | None
    limit: int | None
    check_url: str | None
    signed_out: dict[str, Any] | None


def with_login(command: F) -> F:
    """Add the options of a login; the command gets them as `login`."""

    @functools.wraps(command)
    def wrapper(*args: Any, **options: Any) -> Any:
        from smartspider.services.identities.cookies import normal_domain

        domain = normal_domain(options.pop("domain"))
        rule = _rule(options.pop("signed_out"))
        rest = {name: options.pop(name) for name in ("name", "shared", "limit", "check_url")}
        return command(*args, login=Login(domain=domain, signed_out=rule, **rest), **options)

    for option in reversed(_LOGIN):
        wrapper = option(wrapper)
    return wrapper  # type: ignore[return-value]  # with the signature that click sees


def _rule(written: tuple[str, ...]) -> dict[str, Any] | None:
    found: dict[str, Any] = {}
    for one in written:
        key, equals, value = one.partition("=")
        if not equals or key not in {"status", "url", "selector", "json"}:
            raise click.UsageError(f"--signed-out {one!r} is not KEY=VALUE: status, url, selector, json.")
        if key == "status":
            if not value.isdecimal():
                raise click.UsageError(f"--signed-out {one!r}: a status is a number.")
            found["status"] = [*found.get("status", []), int(value)]
        else:
            found[key] = value
    return found or None


@click.group(cls=CommandGroup)
def cookie() -> None:
    """Manage cookies of logins, which tasks send by use_cookie or cookie_id."""


@cookie.command()
@click.argument("file", metavar="FILE|-", type=click.File("rb"))
@with_login
@with_target
@printed(message=_uploaded_message)
def upload(file: BinaryIO, login: Login, target: Target) -> UploadedView:
    """Store the cookies of a login, encrypted. FILE is a Cookie header, Set-Cookie headers, cookies.txt, the
    JSON of a browser extension or of Playwright, or a HAR file; only cookies of the domain are read from it.
    """
    try:
        text = file.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise click.UsageError("The file is not UTF-8 text.") from error
    return _store(target, login, text)


@cookie.command()
@with_login
@click.option(
    "--browser",
    type=click.Choice(["chrome", "chromium", "firefox", "edge"]),
    default=None,
    help="Only this one.  [default: the first with cookies of the domain]",
)
@click.option(
    "--browser-profile",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=None,
    metavar="DIR",
    help="Folder of a browser's profile.  [default: those in their usual places]",
)
@with_target
@printed(message=_grabbed_message)
def grab(login: Login, browser: str | None, browser_profile: Path | None, target: Target) -> GrabbedView:
    """Store the cookies that a browser on this machine has for a domain, encrypted, as `cookie upload` does.
    The browser may run. No other cookies are read, and no values are shown.
    """
    from smartspider.cli.identities.browsers.grab import find_cookies
    from smartspider.views.identities.cookies import GrabbedView

    found = find_cookies(login.domain, browser, browser_profile, time.time())
    made = _store(target, login, found.cookies)
    profile = found.profile
    return GrabbedView(
        **msgspec.structs.asdict(made),
        browser=profile.browser,
        profile=profile.name,
        container=found.container or None,
    )


def _store(target: Target, login: Login, written: str | list[dict[str, Any]]) -> UploadedView:
    from smartspider.core.cookies.formats import parse_cookies, written_cookies

    parsed = parse_cookies(written, login.domain, time.time())
    made = run_in_vault(
        target,
        lambda operations: operations.upload_cookies(
            domain=login.domain,
            cookies=written_cookies(parsed.cookies, login.domain),
            name=login.name,
            shared=login.shared,
            limit=login.limit,
            check_url=login.check_url,
            signed_out=login.signed_out,
        ),
        creates=True,
    )
    return msgspec.structs.replace(made, foreign=parsed.foreign, expired=parsed.expired)


@cookie.command("list")
@click.option("--domain", default=None, metavar="DOMAIN", help="Only those of a domain.")
@with_target
@printed(_print_sets)
def list_cookies(domain: str | None, target: Target) -> list[CookieSetView]:
    """List cookies. Values are never shown."""
    return run_in_vault(target, lambda operations: collect(partial(operations.list_cookies, domain=domain)))


@cookie.command()
@REF
@with_target
@printed(_print_details)
def show(cookie_id: str, target: Target) -> CookieDetailsView:
    """Show the names of cookies. Values are never shown."""
    return run_in_vault(target, lambda operations: operations.get_cookies(cookie_id))


@cookie.command()
@REF
@click.option("--url", default=None, metavar="URL", help="Instead of their --check-url.")
@with_target
@printed(_print_check, exit_code=lambda found: code_of_findings(is_ok=found.ok))
def check(cookie_id: str, url: str | None, target: Target) -> CookieCheckView:
    """Fetch a page with cookies: they are set aside if the site does not know the login. The exit code is 6
    then.
    """
    return run_in_vault(target, lambda operations: operations.check_cookies(cookie_id, url=url))


@cookie.command()
@REF
@with_target
@printed(message=_state_message)
def lock(cookie_id: str, target: Target) -> CookieSetView:
    """Set cookies aside: no run uses them until they are unlocked."""
    return run_in_vault(target, lambda operations: operations.lock_cookies(cookie_id))


@cookie.command()
@REF
@with_target
@printed(message=_state_message)
def unlock(cookie_id: str, target: Target) -> CookieSetView:
    """Make cookies active again."""
    return run_in_vault(target, lambda operations: operations.unlock_cookies(cookie_id))


@cookie.command()
@REF
@with_target
@printed(message="deleted")
def delete(cookie_id: str, target: Target) -> dict[str, Any]:
    """Delete cookies."""
    run_in_vault(target, lambda operations: operations.delete_cookies(cookie_id))
    return {"id": cookie_id, "deleted": True}
