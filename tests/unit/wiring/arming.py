"""A keeper that tries to vouch for the frontier of a cluster."""

from __future__ import annotations

import logging

import pytest

from smartspider.installation.installation import Installation
from smartspider.keeper.duties import build_arming_duties


async def warned_of(installation: Installation, caplog: pytest.LogCaptureFixture) -> str:
    """The one line that says why it cannot, however often it tries."""
    assert installation.remote_frontier is not None
    term = await installation.remote_frontier.leadership.take("keeper", 60.0)
    assert term is not None
    (arming,) = build_arming_duties(installation.remote_frontier)
    with caplog.at_level(logging.WARNING):
        await arming.do(term)
        await arming.do(term)
    (line,) = [record.getMessage() for record in caplog.records if "is not serving" in record.getMessage()]
    return line
