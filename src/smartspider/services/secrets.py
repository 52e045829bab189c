"""The secrets of a task: found before anything is sent."""

from __future__ import annotations

import re

from smartspider.core.errors import SettingInvalid
from smartspider.core.requests.secrets import SecretValues, references_in
from smartspider.core.runs.plan import Plan
from smartspider.installation.settings import VARIABLE
from smartspider.interfaces.secret_source import SecretSource

_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")


async def read_secrets(source: SecretSource, plan: Plan) -> SecretValues:
    """Return the values of all secrets that a plan refers to. Raise `SettingInvalid` for the first that is
    missing, or that a header cannot carry.
    """
    names = plan.secrets
    if not names:
        return {}
    values = await source.find(names)
    for name in sorted(names):
        if name not in values:
            raise SettingInvalid(
                f"the task refers to ${{{name}}}, but {VARIABLE}{name} is not set",
                hint="set it in the environment or in .env, name a file in"
                f" {VARIABLE}{name}_FILE, or write $${{{name}}} for the literal text",
            )
    for name in sorted(_names_in_headers(plan)):
        if _CONTROLS.search(values[name]):
            raise SettingInvalid(
                f"{VARIABLE}{name} has a line break or control character, which no header can carry",
                hint="check the value for a stray line break",
            )
    return values


def _names_in_headers(plan: Plan) -> set[str]:
    """Return the names of the secrets in the task's headers."""
    entries = {id(entry.extras): entry.extras for entry in plan.entries}
    headers = [tuple(plan.fetch.all_headers), *(extras.headers for extras in entries.values())]
    headers += [rule.request.headers for page in plan.pages.values() for rule in page.follow if rule.request]
    return set(references_in([text for one in headers for _, text in one]))
