"""The secrets of a task: found before anything is sent, and registered so that no log shows them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any
from urllib.parse import unquote_plus

import msgspec

from smartspider.core.errors import SettingInvalid
from smartspider.core.redaction.redactor import Redactor
from smartspider.core.requests.request import Extras
from smartspider.core.requests.secrets import SecretValues, has_references, references_in
from smartspider.core.runs.plan import Plan
from smartspider.installation.settings import VARIABLE
from smartspider.interfaces.secret_source import SecretSource, SecretUse

MAX_ENTRIES = 20_000
"""Entries whose URLs are searched for secrets."""
MAX_REGISTERED = 5_000
"""Headers, query parameters and values of bodies that are registered for a task, of each."""
MAX_VALUES = 50
"""A parameter with more values than this is what the task asks for, not a credential."""
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")


async def read_secrets(source: SecretSource, plan: Plan, use: SecretUse) -> SecretValues:
    """Return the values of all secrets that a plan refers to. Raise `SettingInvalid` for the first that is
    missing, or that a header cannot carry.
    """
    names = plan.secrets
    if not names:
        return {}
    values = await source.find(names, use)
    for name in sorted(names):
        if name not in values:
            raise SettingInvalid(
                f"the task refers to ${{{name}}}, but there is no secret {name}"
                f" and {VARIABLE}{name} is not set",
                hint=f"store it by `smartspider secret set {name}`, set the variable in the environment or in"
                f" .env, or write $${{{name}}} for the literal text",
            )
    for name in sorted(_names_in_headers(plan)):
        if _CONTROLS.search(values[name]):
            raise SettingInvalid(
                f"the secret {name} has a line break or control character, which no header can carry",
                hint="check the value for a stray line break",
            )
    return values


def register_secrets(redactor: Redactor, plan: Plan, secrets: SecretValues) -> None:
    """Register the secrets of a plan: named ones, and the values of headers, queries and bodies whose names
    are not known to be harmless.
    """
    redactor.add(*secrets.values())
    headers = (header for one in _all_headers(plan) for header in one)
    redactor.add_headers(islice(_unreferring(headers), MAX_REGISTERED))
    parameters = (
        (name, value)
        for name, values in _entry_parameters(plan).items()
        if len(values) <= MAX_VALUES
        for value in values
    )
    bodies = (pair for extras in _distinct_extras(plan) for pair in _body_values(extras))
    for pairs in (parameters, bodies):
        for name, value in islice(_unreferring(pairs), MAX_REGISTERED):
            redactor.add_parameter(name, value)


def _unreferring(pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield distinct names and values that refer to no secret."""
    return (pair for pair in dict.fromkeys(pairs) if not has_references(pair[1]))


def _entry_parameters(plan: Plan) -> dict[str, set[str]]:
    """Return the query parameters of entry URLs, each with at least the first of its values."""
    found: dict[str, set[str]] = {}
    for entry in islice(plan.entries, MAX_ENTRIES):
        query = entry.url.partition("?")[2]
        for part in query.split("&") if query else ():
            name, _, value = part.partition("=")
            values = found.setdefault(unquote_plus(name), set())
            if len(values) <= MAX_VALUES:
                values.add(unquote_plus(value))
    return found


def _body_values(extras: Extras) -> Iterator[tuple[str, str]]:
    """Yield the names and texts in the body of a request: a form or JSON."""
    body = extras.body
    if not body:
        return
    try:
        yield from _texts("", msgspec.json.decode(body))
    except msgspec.DecodeError:
        for part in body.decode(errors="replace").split("&"):
            name, is_pair, value = part.partition("=")
            if is_pair:
                yield unquote_plus(name), unquote_plus(value)


def _texts(name: str, value: Any) -> Iterator[tuple[str, str]]:
    match value:
        case str():
            yield name, value
        case list():
            for each in value:
                yield from _texts(name, each)
        case dict():
            for key, each in value.items():
                yield from _texts(key, each)


def _distinct_extras(plan: Plan) -> list[Extras]:
    return list({id(entry.extras): entry.extras for entry in islice(plan.entries, MAX_ENTRIES)}.values())


def _all_headers(plan: Plan) -> list[tuple[tuple[str, str], ...]]:
    """Return the headers of the task, of its entries and of requests that links lead to."""
    entries = {id(entry.extras): entry.extras for entry in plan.entries}
    headers = [tuple(plan.fetch.all_headers), *(extras.headers for extras in entries.values())]
    rules = (rule for page in plan.pages.values() for rule in page.follow)
    return [*headers, *(rule.request.headers for rule in rules if rule.request)]


def _names_in_headers(plan: Plan) -> set[str]:
    """Return the names of the secrets in the task's headers."""
    return set(references_in([text for one in _all_headers(plan) for _, text in one]))
