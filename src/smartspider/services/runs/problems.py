"""List what went wrong in a run by cause and host, with advice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from smartspider.core.datetimes import format_time
from smartspider.core.frontier.cause import ProblemCause, ProblemKind
from smartspider.core.redaction.redactor import without_userinfo
from smartspider.installation.installation import Installation
from smartspider.services.inputs import parse_cursor
from smartspider.store.diagnostics.problems import GROUPS, ProblemExample, ProblemGroup
from smartspider.views.explain import ProblemAction, ProblemExampleView, ProblemGroupView
from smartspider.views.listed import Listed

USUAL_KINDS: tuple[ProblemKind, ...] = ("failed", "lost", "rejected")


class Advice(NamedTuple):
    """A sentence about what to try, and the actions that do it."""

    text: str
    actions: tuple[ProblemAction, ...] = ()


_UNREACHABLE = Advice("Check that the host is up and its name is right, then retry.", ("retry", "hold_host"))
_FULL_OF_REDIRECTS = Advice("Open the URL in a browser to see where it leads.", ("edit_task", "retry"))
_BY_RULE = Advice("A rule of the task leaves these out; change it if they are wanted.", ("edit_task",))

ADVICE: dict[ProblemCause, Advice] = {
    "dns": _UNREACHABLE,
    "connect": _UNREACHABLE,
    "dropped": Advice("Give the host a longer delay, then retry.", ("slow_host", "retry")),
    "tls": Advice("Check the certificate of the host; if it is renewed, retry.", ("retry",)),
    "timeout": Advice(
        "Give the host a longer delay or the task a longer timeout, then retry.",
        (*("slow_host", "tune_timeout", "retry"),),
    ),
    "proxy": Advice("Check the proxy and its password, then retry.", ("retry", "edit_task")),
    "host_down": Advice("Wait until the host answers again, then retry.", ("retry",)),
    "forbidden": Advice(
        "The host refuses these pages: check cookies, headers and robots.txt, slow down, then retry.",
        ("slow_host", "hold_host", "edit_task", "retry"),
    ),
    "not_found": Advice("Check the links or the entry URLs that lead here.", ("open_rules", "edit_task")),
    "rate_limited": Advice(
        "Give the host a longer delay or hold it for a while, then retry.",
        (*("slow_host", "hold_host", "retry"),),
    ),
    "http_client_error": Advice(
        "The host rejects the request: check its method, headers and body.", ("edit_task", "retry")
    ),
    "http_server_error": Advice(
        "The host has a fault: wait, slow down, then retry.", (*("retry", "slow_host", "hold_host"),)
    ),
    "unexpected_status": Advice(
        "See what the URL answers, then change the task or retry.", (*("edit_task", "retry"),)
    ),
    "bad_response": Advice("See what the URL answers; it is not HTTP as it should be.", ("retry",)),
    "bad_encoding": Advice(
        "The body cannot be decompressed: retry, or ask for another encoding.", (*("retry", "edit_task"),)
    ),
    "too_large": Advice("Raise `fetch.max_bytes` in the task, then retry.", ("edit_task", "retry")),
    "empty_answer": Advice("See whether the pages have content in a browser, then retry.", ("retry",)),
    "redirects": _FULL_OF_REDIRECTS,
    "bad_redirect": _FULL_OF_REDIRECTS,
    "robots_unavailable": Advice("Wait until robots.txt can be fetched, then retry.", ("retry",)),
    "secrets_withheld": Advice(
        "Name the origin in `fetch.send_secrets_to` of the task, then retry.", (*("edit_task", "retry"),)
    ),
    "layer_failed": Advice("See what the layer that `reason` names says of the answer.", ("edit_task",)),
    "not_readable": Advice(
        "The page is not what the rules expect: change its page type or leave it out.",
        (*("open_rules", "edit_task"),),
    ),
    "pattern_timeout": Advice("Simplify the regular expression that `reason` names.", ("open_rules",)),
    "unreadable": Advice(
        "The page takes a worker too much time or memory: simplify the rules or leave it out.",
        (*("open_rules", "edit_task"),),
    ),
    "not_storable": Advice(
        "Change the rules so that the rows can be stored, then retry.", ("open_rules", "retry")
    ),
    "signed_out": Advice("Sign in again: give the task valid cookies, then retry.", ("edit_task", "retry")),
    "known_page": Advice("The pages are gone, or need a sign-in; check where they redirect.", ("edit_task",)),
    "no_items": Advice("Compare the layout of these pages with the selectors.", ("open_rules",)),
    "fetch_failed": Advice("Read `reason`, then retry.", ("retry",)),
    "other": Advice("Read `reason`, then retry.", ("retry",)),
    "host_held": Advice("Wait until the host takes requests again, then retry.", ("slow_host", "retry")),
    "robots": Advice("robots.txt disallows these; leave them out.", ("edit_task",)),
    "private_address": Advice("Allow the address with SMARTSPIDER_ALLOW_PRIVATE if it is yours.", ()),
    "limit": Advice("A limit of the task ended the run; raise it to fetch these.", ("edit_task",)),
    "run_ended": Advice("The run ended before these were fetched; start another one.", ()),
    "missing_field": Advice("Check the selector of the field: the layout may have changed.", ("open_rules",)),
    "refused_value": Advice(
        "Check the selector of the field, and the step that refuses its values.", (*("open_rules",),)
    ),
}
"""Advice by cause; the other causes are rules of the task."""


def advice_on(group: ProblemGroup) -> Advice:
    """Return what to try about a group; a retry only if it would reopen its requests."""
    advice = ADVICE.get(group.cause, _BY_RULE)
    actions = tuple(action for action in advice.actions if action != "retry" or group.can_retry)
    if group.can_retry and "retry" not in actions:
        actions = (*actions, "retry")
    return Advice(advice.text, actions)


async def list_problems(
    installation: Installation,
    run_id: int,
    kinds: Sequence[ProblemKind],
    *,
    cursor: str | None,
    limit: int,
) -> Listed[ProblemGroupView]:
    """Return what went wrong in a run, the most harmful first. A cursor is a place in that order, which an
    active run may change.
    """
    run = await installation.store.get_run(run_id)
    place = min(parse_cursor(cursor) or 0, GROUPS)
    found = await installation.diagnostics.problems(
        run.id, frozenset(kinds or USUAL_KINDS), after=place, limit=limit + 1
    )
    views = [_problem_view(group, example) for group, example in found[:limit]]
    return Listed(views, str(place + limit) if len(found) > limit else None)


def _problem_view(group: ProblemGroup, example: ProblemExample) -> ProblemGroupView:
    advice = advice_on(group)
    return ProblemGroupView(
        kind=group.kind,
        cause=group.cause,
        host=example.host,
        count=group.count,
        is_at_least=group.is_cut,
        first_at=format_time(group.first_at),
        last_at=format_time(group.last_at),
        step=group.step,
        field=group.field,
        example=ProblemExampleView(
            str(example.page_id), without_userinfo(example.url), without_userinfo(example.reason)
        ),
        advice=advice.text,
        actions=list(advice.actions),
    )
