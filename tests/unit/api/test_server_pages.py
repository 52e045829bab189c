"""What the pages about server, API and settings say is what there is."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
from tests.unit.api.asking import Caller

from smartspider.api import problems
from smartspider.api.limits import ApiLimits
from smartspider.api.middleware import timing
from smartspider.api.middleware.authentication import PUBLIC_PATHS
from smartspider.api.routes import task_document
from smartspider.cli.server.up import up
from smartspider.core.access import AREAS, GRANTS, ROLES
from smartspider.core.errors import SettingInvalid
from smartspider.core.notifications import NOTIFICATION_EVENTS
from smartspider.installation.settings import PREFIX, SETTING_NAMES, Settings, read_settings
from smartspider.keeper.keeper import TERM_S
from smartspider.services.access import secrets, session_tokens, sign_in, sign_in_limits
from smartspider.services.live import hub
from smartspider.services.metrics import DESCRIPTIONS
from smartspider.services.notifications import notifier, webhook
from smartspider.services.notifications.messages import NotificationBody
from smartspider.services.results import exports
from smartspider.store.notifications import MAX_TARGETS
from smartspider.store.schedules import KEPT_FIRINGS, MAX_PER_TASK
from smartspider.taskfile.timing import MAX_BACKLOG, NICKNAMES
from smartspider.wiring.opening import SERVER as FOLDER
from smartspider.wiring.preview import previews
from smartspider.wiring.processes.process_group import SLOTS

DOCS = Path(__file__).parents[3] / "docs"
SERVER = (DOCS / "server.md").read_text()
API = (DOCS / "api.md").read_text()
CLI = (DOCS / "cli.md").read_text()
TASKS = (DOCS / "tasks.md").read_text()
METHODS = ("get", "post", "put", "patch", "delete")


def section(text: str, heading: str) -> str:
    return re.split(r"^#+ ", text.partition(f"# {heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def table(text: str) -> list[list[str]]:
    """The cells of the first table of a text, without its head."""
    lines = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert lines is not None
    rows = lines[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]


def rights() -> list[list[str]]:
    """What each role may do, area by area."""
    rows = []
    for area in AREAS:
        verbs = [
            ", ".join(verb for verb in ("read", "write") if f"{area}:{verb}" in GRANTS[role])
            for role in ROLES
        ]
        rows.append([f"`{area}`", *(text or "no" for text in verbs)])
    return rows


def metrics() -> list[list[str]]:
    return [[f"`{name}`", about] for name, about in (*DESCRIPTIONS.items(), (timing.NAME, timing.ABOUT))]


def operations(document: dict[str, Any]) -> list[list[str]]:
    """Every call of the document, with the right it needs."""
    rows = []
    for path, calls in document["paths"].items():
        for method in METHODS:
            if (call := calls.get(method)) is not None:
                needs = call.get("x-needs") or ("a token" if call.get("security") else "nothing")
                rows.append(
                    [f"`{method.upper()} {path}`", f"`{call['operationId']}`", call["summary"], needs]
                )
    return rows


def test_the_rights_shown_are_the_rights() -> None:
    assert table(section(SERVER, "Roles and scopes")) == rights()
    assert [role for role in ROLES if f"`{role}`" not in SERVER] == []


def test_every_setting_is_shown_once_with_its_default() -> None:
    rows = [row for text in (CLI, SERVER) for row in table(section(text, "Settings"))]
    shown = [(name, row[1].strip("`")) for row in rows for name in re.findall(r"`(\w+)`", row[0])]
    names = (*SETTING_NAMES, "var_name")
    assert sorted(name for name, _ in shown) == sorted(PREFIX + name.upper() for name in names)
    given = {name: text for name, text in shown if text != "none"}
    assert read_settings(given, Path("/nowhere")) == Settings()
    for name, text in given.items():
        with pytest.raises(SettingInvalid, match=name):
            read_settings({name: f"{text}?"}, Path("/nowhere"))


def test_the_metrics_shown_are_the_metrics() -> None:
    assert table(section(SERVER, "Metrics")) == metrics()


async def test_the_calls_shown_are_those_of_the_document(api: Caller) -> None:
    document = (await api.get("/api/openapi.json")).expect(200).json
    assert table(section(API, "All calls")) == operations(document)


def test_the_notices_and_nicknames_shown_are_those_there_are() -> None:
    assert [row[0].strip("`") for row in table(section(SERVER, "Notifications"))] == list(NOTIFICATION_EVENTS)
    (cron,) = [row for row in table(section(TASKS, "`schedule`")) if row[0] == "`cron`"]
    assert [name for name in NICKNAMES if f"`{name}`" not in cron[2]] == []


def test_the_options_of_up_shown_are_its_options_with_their_defaults() -> None:
    shown = {row[0].strip("`"): row[1].strip("`") for row in table(SERVER)}
    options = [one for one in up.params if isinstance(one, click.Option)]
    # -q and -v, which every command gets from its group, are documented once for all.
    wanted = {one.opts[0]: one for one in options if one.expose_value}
    assert list(shown) == list(wanted)
    for name, option in wanted.items():
        default = "off" if option.is_flag else option.default or f"./.smartspider/{FOLDER}"
        assert shown[name] == str(default)


def test_the_notice_shown_has_the_keys_of_one() -> None:
    code = re.search(r"^```json\n(.*?)^```$", section(SERVER, "Notifications"), re.MULTILINE | re.DOTALL)
    assert code is not None
    shown = msgspec.json.decode(code[1])
    told = msgspec.convert({name: value for name, value in shown.items() if name != "id"}, NotificationBody)
    assert notifier.numbered_message(shown["id"], msgspec.json.encode(told)).body == msgspec.json.encode(
        shown
    )


def test_the_problems_shown_have_their_statuses() -> None:
    shown = {int(row[0]) for row in table(section(API, "Problems"))}
    assert shown == {status for _, status, _ in problems.STATUSES} | set(problems.CODES)


def test_what_is_open_to_all_is_named() -> None:
    assert [path for path in PUBLIC_PATHS if f"`{path}`" not in section(API, "Signing in")] == []


@pytest.mark.parametrize("is_changed", [False, True])
def test_the_check_of_a_webhook_that_is_shown_works(is_changed: bool) -> None:
    code = re.search(r"^```python\n(.*?)^```$", SERVER, re.MULTILINE | re.DOTALL)
    assert code is not None
    shown: dict[str, Any] = {}
    exec(code[1], shown)
    body, now = b'{"id":"1"}', str(int(time.time()))
    headers = {
        "X-SmartSpider-Timestamp": now,
        "X-SmartSpider-Signature": webhook.signature("whsec_x", now, body),
    }
    assert shown["is_genuine"]("whsec_x", headers, body + b" " * is_changed) is not is_changed


def test_the_numbers_shown_are_the_numbers() -> None:
    text, streams = " ".join(SERVER.split()), hub.HubLimits().slots
    for sentence in (
        f"each with {SLOTS} slots for requests in flight",
        f"at most {TERM_S:g} s later",
        f"valid for {session_tokens.LIFETIME_S // 60} minutes",
        f"valid for {sign_in.REFRESH_LIFETIME_S / 86_400:g} days",
        f"at least {secrets.MIN_PASSWORD_LENGTH} characters",
        f"one in {1 / sign_in_limits.OF_NAME.per_s:g} s and one in {1 / sign_in_limits.OF_ADDRESS.per_s:g} s",
        f"by up to {sign_in_limits.MAX_DELAY_S:g} s",
        f"at least {secrets.MIN_ADMIN_TOKEN_LENGTH} characters",
        f"{previews.PreviewLimits().time_limit_s:g} s each",
        f"| exports, downloads of files and comparisons | {exports.SLOTS.total // 2} at a time of one user,",
        f"| streams | {streams.total // 2:,} of one user, {streams.total:,} in all |",
        f"{ApiLimits().min_bytes_per_s / 1024:g} KiB/s",
        f"| schedules | {MAX_PER_TASK} of one task |",
        f"| notifications | {MAX_TARGETS:,} targets |",
        f"YAML {task_document.MAX_YAML_BYTES:,} bytes",
        f"at most {MAX_BACKLOG} missed starts are started",
        f"lists the last {KEPT_FIRINGS:,}",
    ):
        assert sentence in text, sentence
    waits = ("30 s", *(f"{wait_s / 60:g}" for wait_s in notifier.BACKOFF_S[1:]))
    assert "after {}, {}, {} and {} minutes".format(*waits) in text
